"""Exponentiated gradient steps on the dual of the log route, for sentences of a corpus.

A sentence's point `mu` is kept with the scores `theta` that have it as their marginals. The dual's
gradient there is ``scores - theta``, so a step is ``theta += rate (scores - theta)``: with rate 1
it ends at the marginals of the present weights. It is taken if the dual does not fall, its gain
being

    entropy' - entropy + <scores, mu' - mu> - c/2 |features' (mu' - mu)|**2.

To second order a step gains ``rate D - rate**2/2 (D + Q)``, with ``D = <scores - theta, mu' - mu>
/ rate`` and ``Q = c |features' (mu' - mu)|**2 / rate**2``: so every step tells the best rate of the
sentence's next, ``D / (D + Q)``, and about its gap, ``D / 2``. There must be no intercepts.

A sentence that was never visited rests at its answer, which no finite scores have as marginals.
Its first step goes to ``scores + trust * answer``, with the least of some trusts that gains.

Kept numbers are of single precision: scores are rounded before their marginals are taken, and
changes are taken between rounded marginals, so nothing drifts.
"""

from __future__ import annotations

import numpy as np

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
FIRST_RATE, LEAST_RATE, GROWTH = 0.3, 0.02, 4.0


@kernel
def follow(weights, transitions, places, amounts, number, shift, times):
    """Change weights as the steps of another stream did."""
    for at in range(number):
        weights[places[at]] += times * amounts[at]
    for a in range(shift.shape[0]):
        for b in range(shift.shape[0]):
            transitions[a, b] += times * shift[a, b]


@kernel
def gibbs_steps(given, chosen, codes, weight, kept, caution, places, amounts, shift, moved):
    """A step for each of the sentences `chosen`; the weights in `given` follow.

    The quadratic term counts `caution` times, and so does a step in the weights in `given`. `kept`
    holds all sentences' scores and marginals (of nodes, and of pairs summed), entropies, rates (0
    before the first step) and gaps. What steps change is written down for `follow`: node weights
    at `places` by `amounts`, whose number is returned, and transitions by `shift`. `moved` is
    scratch (see `collect`).
    """
    indptr, indices, values, begin, labels, weights, transitions, intercept, offsets = given
    theta, theta_tables, mu, mu_tables, entropy, rates, gaps = kept
    k, longest, used = transitions.shape[0], longest_of(offsets, chosen), 0
    scores, trial, change = np.empty((longest, k)), np.empty((longest, k)), np.empty((longest, k))
    trial_table, pairs, turn = np.empty((k, k)), np.empty((2, k, k)), np.empty((k, k))
    table, flipped = np.zeros((k, k)), np.zeros((k, k))
    work, small = np.empty((2, longest, k)), np.empty((3, k))
    norm, go = np.empty(longest), np.empty((longest, k, k))
    shift[:] = 0.0
    for example in chosen:
        start, stop, c = offsets[example], offsets[example + 1], weight[example]
        length, rate, trust = stop - start, rates[example], TRUST
        first, better = rate == 0.0, False
        sentence_scores(
            indptr, indices, values, begin, labels, weights, intercept, start, stop, scores
        )
        for _ in range(FIRST_TRIALS if first else TRIALS):
            for t in range(length):
                for j in range(k):
                    score = scores[t, j]
                    if first:
                        score += trust if codes[start + t] == j else 0.0
                    else:
                        score = theta[start + t, j] + rate * (score - theta[start + t, j])
                    trial[t, j] = np.float32(score)
            for a in range(k):
                for b in range(k):
                    score, old = transitions[a, b], theta_tables[example, a, b]
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
                    tilt += theta[start + t, j] * by
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
                        tilt += theta_tables[example, a, b] * by
                        square += by * by
            for place in range(used, used + number):
                square += amounts[place] ** 2
            gain = information - entropy[example] + pull - 0.5 * caution * c * square
            better = gain >= 0.0
            if not first:
                gaps[example] = 0.5 * c * max(pull - tilt, 0.0) / rate
                rate = rates[example] = best_rate(pull - tilt, caution * c * square, rate)
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
