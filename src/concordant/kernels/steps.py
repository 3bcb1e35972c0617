"""Steps on one sentence of a corpus after another: in the dual, and of online methods.

The arguments are those of `concordant.kernels.tokens`.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.chains import viterbi
from concordant.kernels.tokens import collect, sentence_scores, spread
from concordant.kernels.vector import kernel


@kernel
def block_steps(
    indptr, indices, values, begin, labels, weights, transitions, intercept, offsets, chosen,
    places, atoms, atom_tables, atom_bonus, weight, mu, mu_tables, bonus, moved, touched,
    amounts, steps,
):  # fmt: skip
    """One exact line search on the dual for each of these sentences, towards its atom.

    An atom is a point of the sentence's polytope with (a lower bound of) its bonus; `mu`,
    `mu_tables` and `bonus` are the present ones of all sentences. The way down is
    ``d = atom - mu``; along it the dual gains ``step * gap - step**2 / 2 * |features' c d|**2``,
    the bonus being concave. `weights` and `transitions` follow; there must be no intercepts, whose
    dual is a constraint. `moved`, `touched` and `amounts` are scratch (see `collect`);
    `steps` gets the gap of every sentence.
    """
    k = transitions.shape[0]
    longest = 0
    for i in range(chosen.shape[0]):
        longest = max(longest, offsets[chosen[i] + 1] - offsets[chosen[i]])
    scores, change = np.empty((longest, k)), np.empty((longest, k))
    pair_change = np.empty((k, k))
    for i in range(chosen.shape[0]):
        example = chosen[i]
        start, stop, c = offsets[example], offsets[example + 1], weight[example]
        length = stop - start
        sentence_scores(
            indptr, indices, values, begin, labels, weights, intercept, start, stop, scores
        )
        gap, square = atom_bonus[i] - bonus[example], 0.0
        for t in range(length):
            for j in range(k):
                change[t, j] = atoms[places[i] + t, j] - mu[start + t, j]
                if change[t, j] != 0.0:
                    gap += scores[t, j] * change[t, j]
        number = collect(
            indptr, indices, values, begin, labels, change, start, stop, moved, touched, amounts
        )
        for a in range(k):
            for b in range(k):
                pair_change[a, b] = atom_tables[i, a, b] - mu_tables[example, a, b]
                if pair_change[a, b] != 0.0:  # a forbidden transition scores minus infinity
                    gap += transitions[a, b] * pair_change[a, b]
                square += pair_change[a, b] ** 2
        for at in range(number):
            square += amounts[at] ** 2
        steps[i] = gap
        step = 0.0
        if gap > 0.0:
            step = 1.0 if c * square <= gap else gap / (c * square)
        spread(-step * c, weights, touched, amounts, number)
        if step == 0.0:
            continue
        for t in range(length):
            for j in range(k):
                mu[start + t, j] += step * change[t, j]
        for a in range(k):
            for b in range(k):
                if pair_change[a, b] != 0.0:
                    transitions[a, b] -= step * c * pair_change[a, b]
                mu_tables[example, a, b] += step * pair_change[a, b]
        bonus[example] += step * (atom_bonus[i] - bonus[example])


@kernel
def online_steps(
    indptr, indices, values, begin, labels, weights, transitions, intercept, offsets, order, codes,
    weight, node_weight, costs, rule, fit_intercept, seen, total, total_transitions,
    total_intercept, moved, touched, amounts,
):  # fmt: skip
    """A pass of the perceptron (rule 0) or of passive-aggressive updates (rule 1).

    The totals keep ``sum_t t * update_t``, so that the average of the weights after every example
    is the weights less the total over their number. Returns the number of examples seen.
    """
    k, longest = transitions.shape[0], 0
    for i in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    scores, change, best = np.empty((longest, k)), np.empty((longest, k)), np.empty((longest, k))
    answer, value = np.empty(longest, np.int64), np.empty(1)
    ends, where, shift = np.zeros(2, np.int64), np.zeros(1, np.int64), np.empty(k)
    pair_change = np.empty((k, k))
    for example in order:
        if weight[example] == 0.0:
            continue
        start, stop = offsets[example], offsets[example + 1]
        ends[1] = length = stop - start
        sentence_scores(
            indptr, indices, values, begin, labels, weights, intercept, start, stop, scores
        )
        worth = 0.0
        for t in range(length):
            truth = codes[start + t]
            worth += scores[t, truth]
            if t > 0:
                worth += transitions[codes[start + t - 1], truth]
            if rule == 1:
                for j in range(k):
                    scores[t, j] += node_weight[start + t] * costs[j, truth]
        viterbi(scores, transitions.reshape(1, k, k), ends, where, 0, best, answer, value)
        seen += 1
        change[:length], pair_change[:], shift[:] = 0.0, 0.0, 0.0
        for t in range(length):
            truth = codes[start + t]
            change[t, truth] += 1.0
            change[t, answer[t]] -= 1.0
            shift[truth] += 1.0
            shift[answer[t]] -= 1.0
            if t > 0:
                pair_change[codes[start + t - 1], truth] += 1.0
                pair_change[answer[t - 1], answer[t]] -= 1.0
        number = collect(
            indptr, indices, values, begin, labels, change, start, stop, moved, touched, amounts
        )
        step = 1.0
        if rule == 1:
            square = 0.0
            for at in range(number):
                square += amounts[at] ** 2
            for a in range(k):
                square += shift[a] ** 2 if fit_intercept else 0.0
                for b in range(k):
                    square += pair_change[a, b] ** 2
            gap = value[0] - worth
            step = min(weight[example], gap / square) if square > 0.0 else 0.0
        spread(step * seen, total, touched, amounts, number)
        spread(step, weights, touched, amounts, number)
        for a in range(k):
            if fit_intercept:
                intercept[a] += step * shift[a]
                total_intercept[a] += step * seen * shift[a]
            for b in range(k):
                if pair_change[a, b] != 0.0:
                    transitions[a, b] += step * pair_change[a, b]
                    total_transitions[a, b] += step * seen * pair_change[a, b]
    return seen
