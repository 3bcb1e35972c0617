"""Sparse features of tokens times weights, and sums over sentences of what chains answer.

Token t has the features ``indices[indptr[t]:indptr[t + 1]]`` with `values` (an empty array means
ones). Feature f has weights for the labels ``labels[begin[f]:begin[f + 1]]``, stored in that order
from ``weights[begin[f]]`` on; with `labels` empty it has one for each of the k labels. So a
vocabulary of strings has weights only for the labels that a string was seen with.

A corpus has one table of transition weights, and its sentences are short. Each sentence's scores
are therefore made, asked and turned into a gradient in scratch space that stays in cache.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.chains import (
    SAFE,
    backward,
    careful_backward,
    careful_forward,
    exp_table,
    finite_range,
    forward,
    node_range,
    viterbi,
)
from concordant.kernels.vector import kernel


@kernel
def longest_of(offsets, chosen):
    """Tokens of the longest of these sentences."""
    longest = 0
    for i in chosen:
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@kernel
def mark_pairs(indptr, indices, codes, marks):
    """Set the bit of every pair of a feature and a label that occur together, ``(d, words)``."""
    for t in range(codes.shape[0]):
        if codes[t] >= 0:
            word, bit = codes[t] >> 5, np.uint32(1) << np.uint32(codes[t] & 31)
            for a in range(indptr[t], indptr[t + 1]):
                marks[indices[a], word] |= bit


@kernel
def list_pairs(marks, begin, labels):
    """The marked labels of feature f, from ``labels[begin[f]]`` on, where there is room for them;
    `begin` is written."""
    number = 0
    for f in range(marks.shape[0]):
        begin[f] = number
        for label in range(32 * marks.shape[1]):
            if marks[f, label >> 5] >> np.uint32(label & 31) & np.uint32(1):
                if number < labels.shape[0]:
                    labels[number] = label
                number += 1
    begin[marks.shape[0]] = number


@kernel
def add_scores(indptr, indices, values, begin, labels, weights, start, stop, out):
    """Add the scores of the tokens from `start` to `stop` to the rows of `out`."""
    k, ones, full = out.shape[1], values.shape[0] == 0, labels.shape[0] == 0
    for t in range(start, stop):
        row = out[t - start]
        for a in range(indptr[t], indptr[t + 1]):
            f = indices[a]
            value = 1.0 if ones else values[a]
            first = begin[f]
            if full:
                for j in range(k):
                    row[j] += value * weights[first + j]
            else:
                for place in range(first, begin[f + 1]):
                    row[labels[place]] += value * weights[place]


@kernel
def add_gradient(indptr, indices, values, begin, labels, residual, start, stop, gradient):
    """The transpose: add ``features' residual`` to the gradient."""
    k, ones, full = residual.shape[1], values.shape[0] == 0, labels.shape[0] == 0
    for t in range(start, stop):
        row = residual[t - start]
        for a in range(indptr[t], indptr[t + 1]):
            f = indices[a]
            value = 1.0 if ones else values[a]
            first = begin[f]
            if full:
                for j in range(k):
                    gradient[first + j] += value * row[j]
            else:
                for place in range(first, begin[f + 1]):
                    gradient[place] += value * row[labels[place]]


@kernel
def sentence_scores(indptr, indices, values, begin, labels, weights, intercept, start, stop, out):
    """Scores of one sentence's tokens, written to the first rows of `out`."""
    for t in range(stop - start):
        for j in range(out.shape[1]):
            out[t, j] = intercept[j]
    add_scores(indptr, indices, values, begin, labels, weights, start, stop, out)


@kernel
def batch_scores(
    indptr, indices, values, begin, labels, weights, intercept, offsets, chosen, places, out
):
    """Scores of some sentences: that of ``chosen[i]`` from row ``places[i]`` on."""
    for i in range(chosen.shape[0]):
        start, stop = offsets[chosen[i]], offsets[chosen[i] + 1]
        here = out[places[i] : places[i] + stop - start]
        sentence_scores(
            indptr, indices, values, begin, labels, weights, intercept, start, stop, here
        )


@kernel
def chain_marginals(
    nodes, length, tables, spread, top, table, flipped, work, small, norm, go, pairs
):
    """Marginals of one sentence of `length` into ``work[0]``, and its log-partition.

    `pairs` is increased by outer products that still want multiplying by the exponential table
    (first half), or, where scores are too wide for the scaled domain, by pair marginals (second).
    """
    if spread + node_range(nodes, 0, length) < SAFE:
        partition = forward(nodes, 0, length, table, work[0], work[1], norm)
        backward(length, flipped, work[0], work[1], norm, small, pairs[0])
        return partition + top * (length - 1)
    partition = careful_backward(nodes, 0, length, tables, 0, 0, small, small[2], go)
    if partition > -np.inf:
        careful_forward(0, length, 0, 0, small[2], go, work[0], pairs[1:])
    return partition


@kernel
def prepare_table(table, out, flipped):
    """Exponentials of a table and its range, if the scaled domain may be used with it at all."""
    spread = finite_range(table)
    top = exp_table(table, out, flipped) if spread < SAFE else 0.0
    return spread, top


@kernel
def smooth_pass(
    indptr, indices, values, begin, labels, weights, transitions, intercept, offsets, first, last,
    codes, masked, weight, log_weight, node_weight, costs, alpha, tau, sums, gradient,
    pair_gradient, free_gradient,
):  # fmt: skip
    """Log-partitions of the sentences from `first` to `last`, alpha parts plain and the rest
    raised by the costs of the true labels and smoothed, ``tau log Z((scores + costs of y) / tau)``.

    With `masked` only labelings that agree with the known labels (codes >= 0) count. Adds to
    `sums` the weighted total and the first term of the dual at the marginals; to the gradients
    those of the total.
    """
    k = transitions.shape[0]
    longest = 0
    for i in range(first, last):
        longest = max(longest, offsets[i + 1] - offsets[i])
    scores, raised = np.empty((longest, k)), np.empty((longest, k))
    residual = np.empty((longest, k))
    work, small = np.empty((2, longest, k)), np.empty((3, k))
    norm, go = np.empty(longest), np.empty((longest, k, k))
    plain, soft = transitions.reshape(1, k, k), (transitions / tau).reshape(1, k, k)
    table, flipped = np.zeros((k, k)), np.zeros((k, k))
    soft_table, soft_flipped = np.zeros((k, k)), np.zeros((k, k))
    spread, top = prepare_table(plain[0], table, flipped)
    soft_spread, soft_top = prepare_table(soft[0], soft_table, soft_flipped)
    pairs, soft_pairs, kept = np.zeros((2, k, k)), np.zeros((2, k, k)), np.zeros((2, k, k))
    for i in range(first, last):
        start, stop, c = offsets[i], offsets[i + 1], weight[i]
        length = stop - start
        sentence_scores(
            indptr, indices, values, begin, labels, weights, intercept, start, stop, scores
        )
        if masked:
            for t in range(length):
                for j in range(k):
                    if codes[start + t] >= 0 and codes[start + t] != j:
                        scores[t, j] = -np.inf
        residual[:length] = 0.0
        if alpha > 0.0:
            share = alpha * c * log_weight[i]
            kept[:] = 0.0
            partition = chain_marginals(
                scores, length, plain, spread, top, table, flipped, work, small, norm, go, kept
            )
            sums[0] += share * partition
            score = attained(scores, length, plain[0], table, work[0], kept)
            sums[1] += share * (partition - score)
            for t in range(length):
                for j in range(k):
                    residual[t, j] += share * work[0, t, j]
            for a in range(k):
                for b in range(k):
                    pairs[0, a, b] += share * kept[0, a, b]
                    pairs[1, a, b] += share * kept[1, a, b]
        if alpha < 1.0:
            share = (1.0 - alpha) * c
            for t in range(length):
                for j in range(k):
                    cost = node_weight[start + t] * costs[j, codes[start + t]]
                    raised[t, j] = (scores[t, j] + cost) / tau
            kept[:] = 0.0
            partition = chain_marginals(
                raised, length, soft, soft_spread, soft_top, soft_table, soft_flipped, work, small,
                norm, go, kept,
            )  # fmt: skip
            sums[0] += share * tau * partition
            for t in range(length):
                for j in range(k):
                    cost = node_weight[start + t] * costs[j, codes[start + t]]
                    sums[1] += share * cost * work[0, t, j]
                    residual[t, j] += share * work[0, t, j]
            for a in range(k):
                for b in range(k):
                    soft_pairs[0, a, b] += share * kept[0, a, b]
                    soft_pairs[1, a, b] += share * kept[1, a, b]
        add_gradient(indptr, indices, values, begin, labels, residual, start, stop, gradient)
        for t in range(length):
            for j in range(k):
                free_gradient[j] += residual[t, j]
    for a in range(k):
        for b in range(k):
            pair_gradient[a, b] += pairs[0, a, b] * table[a, b] + pairs[1, a, b]
            pair_gradient[a, b] += soft_pairs[0, a, b] * soft_table[a, b] + soft_pairs[1, a, b]


@kernel
def attained(scores, length, transitions, table, mu, pairs):
    """``<scores, mu>`` of one sentence."""
    out = 0.0
    for t in range(length):
        for j in range(mu.shape[1]):
            if mu[t, j] > 0.0:
                out += scores[t, j] * mu[t, j]
    for a in range(mu.shape[1]):
        for b in range(mu.shape[1]):
            share = pairs[0, a, b] * table[a, b] + pairs[1, a, b]
            if share > 0.0:
                out += transitions[a, b] * share
    return out


@kernel
def value_pass(given, first, last, codes, weight, log_weight, node_weight, costs, alpha):
    """The weighted total of `smooth_pass` without smoothing, and without gradients."""
    indptr, indices, values, begin, labels, weights, transitions, intercept, offsets = given
    k, longest = transitions.shape[0], longest_of(offsets, range(first, last))
    scores, work, small = np.empty((longest, k)), np.empty((2, longest, k)), np.empty((3, k))
    norm, go = np.empty(longest), np.empty((longest, k, k))
    table, flipped, tables = np.zeros((k, k)), np.zeros((k, k)), transitions.reshape(1, k, k)
    spread, top = prepare_table(transitions, table, flipped)
    answer, value = np.empty(longest, np.int64), np.empty(1)
    ends, where = np.zeros(2, np.int64), np.zeros(1, np.int64)
    out = 0.0
    for i in range(first, last):
        start, stop, c = offsets[i], offsets[i + 1], weight[i]
        length = stop - start
        sentence_scores(
            indptr, indices, values, begin, labels, weights, intercept, start, stop, scores
        )
        if alpha > 0.0:
            if spread + node_range(scores, 0, length) < SAFE:
                partition = forward(scores, 0, length, table, work[0], work[1], norm)
                partition += top * (length - 1)
            else:
                partition = careful_backward(scores, 0, length, tables, 0, 0, small, small[2], go)
            out += alpha * c * log_weight[i] * partition
        if alpha < 1.0:
            for t in range(length):
                for j in range(k):
                    scores[t, j] += node_weight[start + t] * costs[j, codes[start + t]]
            ends[1] = length
            viterbi(scores, tables, ends, where, 0, work[0], answer, value)
            out += (1.0 - alpha) * c * value[0]
    return out


@kernel
def collect(indptr, indices, values, begin, labels, change, start, stop, moved, touched, amounts):
    """Features of one sentence times the change of its parts: `amounts` at the places of the
    weights that `touched` lists; returns their number. `moved` (as long as the weights) must be
    zeros and is left so. (A place that was cancelled in between is listed again, with 0.)
    """
    ones, full, number = values.shape[0] == 0, labels.shape[0] == 0, 0
    for t in range(stop - start):
        still = True
        for j in range(change.shape[1]):
            still = still and change[t, j] == 0.0
        if still:
            continue
        for a in range(indptr[start + t], indptr[start + t + 1]):
            f = indices[a]
            value = 1.0 if ones else values[a]
            first = begin[f]
            for place in range(first, begin[f + 1]):
                by = value * change[t, place - first if full else labels[place]]
                if by != 0.0:
                    if moved[place] == 0.0:
                        touched[number] = place
                        number += 1
                    moved[place] += by
    for at in range(number):
        amounts[at] = moved[touched[at]]
        moved[touched[at]] = 0.0
    return number


@kernel
def spread(step, weights, touched, amounts, number):
    """Add `step` times what `collect` found to the weights."""
    for at in range(number):
        weights[touched[at]] += step * amounts[at]
