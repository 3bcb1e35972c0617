"""Exponentiated gradient steps on the dual of the log loss and of smoothed hinges and games.

The loss of a sentence is ``tau log Z((scores + costs) / tau)`` less the answer's score: with tau 1
and no costs the log loss, with the costs of the answer's labels a hinge. A point `mu` of its
polytope is kept with the scores `theta` that have it as their marginals. With ``s = scores +
costs`` the dual's gradient there is ``s - tau theta``, so a step is ``theta += rate (s / tau -
theta)``: with rate 1 it ends at the marginals of the present weights. It is taken if the dual does
not fall, its gain being

    tau (entropy' - entropy) + <s, mu' - mu> - c/2 |features' (mu' - mu)|**2.

To second order a step gains ``rate D - rate**2/2 (D + Q)``, with ``D = <s - tau theta, mu' - mu>
/ rate`` and ``Q = c |features' (mu' - mu)|**2 / rate**2``: so every step tells the best rate of the
sentence's next, ``D / (D + Q)``, and about its gap, ``D / 2``. There must be no intercepts.

A game is a hinge whose costs are those of the predictor's strategies, which follow from the point:
``p = argmin <p, L mu_t> + tau/2 |p|**2`` at every node, whose value is a smooth and concave bonus.
What a step loses because that bonus is bent counts twice in Q.

A sentence that was never visited rests at its answer, which no finite scores have as marginals.
Its first step goes to ``scores + trust * answer``, with the least of some trusts that gains.

Kept numbers are of single precision: scores are rounded before their marginals are taken, and
changes are taken between rounded marginals, so nothing drifts.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.chains import viterbi
from concordant.kernels.tokens import (
    attained,
    chain_marginals,
    collect,
    longest_of,
    prepare_table,
    sentence_scores,
)
from concordant.kernels.vector import kernel

#: Trials at one visit, and at the first, whose trust begins here and doubles.
TRIALS, FIRST_TRIALS, TRUST = 3, 10, 2.5
FIRST_RATE, LEAST_RATE, GROWTH = 0.3, 1e-8, 4.0


@kernel
def strategy(costs, mu, tau, play, price):
    """The predictor's smoothed answer to the marginals of a node, and the value.

    The simplex projection of ``-L mu / tau``, its threshold by Michelot's method.
    """
    r, k = costs.shape
    low = np.inf
    for a in range(r):
        price[a] = 0.0
        for j in range(k):
            price[a] += costs[a, j] * mu[j]
        low = min(low, price[a])
    level = low + tau  # p = max(level - price, 0) / tau, the level falling until p sums to 1
    while True:
        mass, number = 0.0, 0
        for a in range(r):
            if price[a] < level:
                mass, number = mass + price[a], number + 1
        fresh = (tau + mass) / number
        if not fresh < level:
            break
        level = fresh
    value = -0.5 * tau
    for a in range(r):
        play[a] = max(level - price[a], 0.0) / tau
        value += play[a] * (price[a] + 0.5 * tau * play[a])
    return value


@kernel
def add_costs(
    costs, game, tau, node_weight, codes, start, stop, mu, play, price, prices, scores
):  # fmt: skip
    """Add to a sentence's scores what each label costs the predictor: against the answer, or in
    the game against its strategies; returns the latter's smoothed value."""
    value, k = 0.0, scores.shape[1]
    for t in range(stop - start):
        weight = node_weight[start + t]
        if game:
            value += weight * strategy(costs, mu[t], tau, play, price)
        for j in range(k):
            if game:
                prices[t, j] = 0.0
                for a in range(costs.shape[0]):
                    prices[t, j] += weight * play[a] * costs[a, j]
            else:
                prices[t, j] = weight * costs[j, codes[start + t]]
            scores[t, j] += prices[t, j]
    return value


@kernel
def expected_cost(costs, game, node_weight, codes, start, stop, mu, price):
    """Of the labels against the answer, or of the predictor's best strategies against them."""
    out, k = 0.0, mu.shape[1]
    for t in range(stop - start):
        least = np.inf
        for a in range(costs.shape[0] if game else 1):
            cost = 0.0
            for j in range(k):
                cost += mu[t, j] * (costs[a, j] if game else costs[j, codes[start + t]])
            least = min(least, cost)
        out += node_weight[start + t] * least
    return out


@kernel
def value_of_plays(given, first, last, codes, weight, tau, costs, node_weight, mu):
    """Weighted sum of the best replies to the strategies that follow from `mu`: it bounds the
    value of the games from above."""
    indptr, indices, values, begin, labels, weights, transitions, intercept, offsets = given
    k, longest = transitions.shape[0], longest_of(offsets, range(first, last))
    scores, best, prices = np.empty((longest, k)), np.empty((longest, k)), np.empty((longest, k))
    play, price = np.empty(costs.shape[0]), np.empty(costs.shape[0])
    answer, value = np.empty(longest, np.int64), np.empty(1)
    ends, where, tables = np.zeros(2, np.int64), np.zeros(1, np.int64), transitions.reshape(1, k, k)
    out = 0.0
    for i in range(first, last):
        start, stop = offsets[i], offsets[i + 1]
        sentence_scores(
            indptr, indices, values, begin, labels, weights, intercept, start, stop, scores
        )
        add_costs(
            costs, True, tau, node_weight, codes, start, stop, mu[start:stop], play, price, prices,
            scores,
        )  # fmt: skip
        ends[1] = stop - start
        viterbi(scores, tables, ends, where, 0, best, answer, value)
        out += weight[i] * value[0]
    return out


@kernel
def follow(weights, transitions, places, amounts, number, shift, times):
    """Change weights as the steps of another stream did."""
    for at in range(number):
        weights[places[at]] += times * amounts[at]
    for a in range(shift.shape[0]):
        for b in range(shift.shape[0]):
            transitions[a, b] += times * shift[a, b]


@kernel
def gibbs_steps(
    given, chosen, codes, weight, tau, costs, game, node_weight, kept, caution, places, amounts,
    shift, moved,
):  # fmt: skip
    """A step for each of the sentences `chosen`; the weights in `given` follow.

    The quadratic term counts `caution` times, and so does a step in the weights in `given`. `kept`
    holds all sentences' scores and marginals (of nodes, and of pairs summed), entropies, expected
    costs (of a game the least ones), rates (0 before the first step) and gaps. Without `costs`
    there are none. What steps change is written down for `follow`: node weights
    at `places` by `amounts`, whose number is returned, and transitions by `shift`. `moved` is
    scratch (see `collect`).
    """
    indptr, indices, values, begin, labels, weights, transitions, intercept, offsets = given
    theta, theta_tables, mu, mu_tables, entropy, worth, rates, gaps = kept
    k, longest, used = transitions.shape[0], longest_of(offsets, chosen), 0
    scores, trial, change = np.empty((longest, k)), np.empty((longest, k)), np.empty((longest, k))
    trial_table, pairs, turn = np.empty((k, k)), np.empty((2, k, k)), np.empty((k, k))
    table, flipped = np.zeros((k, k)), np.zeros((k, k))
    work, small = np.empty((2, longest, k)), np.empty((3, k))
    norm, go = np.empty(longest), np.empty((longest, k, k))
    prices = np.empty((longest, k))
    play, price = np.empty(costs.shape[0]), np.empty(costs.shape[0])
    shift[:] = 0.0
    for example in chosen:
        start, stop, c = offsets[example], offsets[example + 1], weight[example]
        length, rate, trust = stop - start, rates[example], TRUST
        first, better = rate == 0.0, False
        sentence_scores(
            indptr, indices, values, begin, labels, weights, intercept, start, stop, scores
        )
        soft = 0.0
        if costs.shape[0] > 0:
            soft = add_costs(
                costs, game, tau, node_weight, codes, start, stop, mu[start:stop], play, price,
                prices, scores,
            )  # fmt: skip
        for _ in range(FIRST_TRIALS if first else TRIALS):
            for t in range(length):
                for j in range(k):
                    score = scores[t, j] / tau
                    if first:
                        score += trust if codes[start + t] == j else 0.0
                    else:
                        score = theta[start + t, j] + rate * (score - theta[start + t, j])
                    trial[t, j] = np.float32(score)
            for a in range(k):
                for b in range(k):
                    score, old = transitions[a, b] / tau, theta_tables[example, a, b]
                    if not first and score > -np.inf:
                        score = old + rate * (score - old)
                    trial_table[a, b] = np.float32(score)
            spread, top = prepare_table(trial_table, table, flipped)
            pairs[:] = 0.0
            partition = chain_marginals(
                trial, length, trial_table.reshape(1, k, k), spread, top, table, flipped, work,
                small, norm, go, pairs,
            )  # fmt: skip
            information = partition - attained(trial, length, trial_table, table, work[0], pairs)
            pull = tilt = square = 0.0
            for t in range(length):
                for j in range(k):
                    by = np.float64(np.float32(work[0, t, j])) - np.float64(mu[start + t, j])
                    change[t, j] = by
                    pull += scores[t, j] * by
                    tilt += tau * theta[start + t, j] * by
            number = collect(
                indptr, indices, values, begin, labels, change, start, stop, moved,
                places[used:], amounts[used:],
            )  # fmt: skip
            for a in range(k):
                for b in range(k):
                    pair = pairs[0, a, b] * table[a, b] + pairs[1, a, b]
                    by = np.float64(np.float32(pair)) - np.float64(mu_tables[example, a, b])
                    turn[a, b] = by
                    if by != 0.0:
                        pull += transitions[a, b] * by
                        tilt += tau * theta_tables[example, a, b] * by
                        square += by * by
            for place in range(used, used + number):
                square += amounts[place] ** 2
            bent = 0.0
            if game:
                bent = soft
                for t in range(length):
                    bent -= node_weight[start + t] * strategy(costs, work[0, t], tau, play, price)
                    for j in range(k):
                        bent += prices[t, j] * change[t, j]
            bend = caution * c * square + 2.0 * bent
            gain = tau * (information - entropy[example]) + pull - 0.5 * bend
            better = gain >= 0.0
            if not first:
                gaps[example] = 0.5 * c * max(pull - tilt, 0.0) / rate
                rate = rates[example] = best_rate(pull - tilt, bend, rate)
            elif better:
                gaps[example], rates[example] = c * gain, FIRST_RATE
            if better:
                break
            trust *= 2.0
        if not better:
            continue
        entropy[example] = information
        for place in range(used, used + number):
            amounts[place] *= -c
            weights[places[place]] += caution * amounts[place]
        used += number
        for t in range(length):
            for j in range(k):
                theta[start + t, j], mu[start + t, j] = trial[t, j], work[0, t, j]
        if costs.shape[0] > 0:
            worth[example] = expected_cost(
                costs, game, node_weight, codes, start, stop, mu[start:stop], price
            )
        for a in range(k):
            for b in range(k):
                transitions[a, b] -= caution * c * turn[a, b]
                shift[a, b] -= c * turn[a, b]
                mu_tables[example, a, b] += turn[a, b]
                theta_tables[example, a, b] = trial_table[a, b]
    return used


@kernel
def best_rate(slope, square, rate):
    """The rate at which a step would have gained most, from what one of this rate found."""
    if slope <= 0.0:
        return max(0.5 * rate, LEAST_RATE)
    best = slope / (slope + square / rate)
    return min(max(best, LEAST_RATE), GROWTH * rate, 1.0)
