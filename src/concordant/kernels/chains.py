"""Questions about scores of label sequences, for a batch of chains.

A batch is flat: `nodes` (N, k) has the scores of every position of every sequence, sequence i at
rows ``offsets[i]:offsets[i + 1]``; `tables` (M, k, k) has scores ``table[left, right]`` of
neighbouring labels. The edge between the positions t and t + 1 of sequence i uses the table
``first[i] + t * step``: a step of 0 is a table shared by all edges of a sequence (or, with all
of `first` equal, by the batch), a step of 1 one for each edge.

Max-plus recursions run in the plain domain. Sum-product runs in the scaled domain, with one
normalisation a position, wherever the range of the scores proves that nothing that matters can
underflow; elsewhere, and with forbidden transitions, in logarithms. The recursions add rows to
rows, so that they use vector registers without reordering any sum.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.vector import exp_shifted, kernel, largest, total

#: Largest range of scores (of a position r and a table s together) for the scaled domain. Its
#: numbers are at least exp(-s - r) on the way there and at most exp(3 s + 2 r) on the way back.
SAFE = 230.0


@kernel
def viterbi(nodes, tables, offsets, first, step, best, labels, values):
    """Best labels of each sequence and their score; the first of equals.

    `best` is scratch of as many rows as the longest sequence. It keeps the scores of prefixes;
    the way back finds the left neighbour again at k additions a position, which is cheaper than
    writing it down for every label.
    """
    k = nodes.shape[1]
    for i in range(offsets.shape[0] - 1):
        start, stop = offsets[i], offsets[i + 1]
        length = stop - start
        for j in range(k):
            best[0, j] = nodes[start, j]
        for t in range(1, length):
            table = tables[first[i] + (t - 1) * step]
            before, here, score = best[t - 1], best[t], nodes[start + t]
            lead = before[0]
            for j in range(k):
                here[j] = lead + table[0, j]
            for left in range(1, k):
                lead = before[left]
                for j in range(k):
                    reach = lead + table[left, j]
                    here[j] = reach if reach > here[j] else here[j]
            for j in range(k):
                here[j] += score[j]
        label = 0
        for j in range(1, k):
            if best[length - 1, j] > best[length - 1, label]:
                label = j
        values[i] = best[length - 1, label]
        labels[stop - 1] = label
        for t in range(length - 1, 0, -1):
            table = tables[first[i] + (t - 1) * step]
            came = 0
            for left in range(1, k):
                if best[t - 1, left] + table[left, label] > best[t - 1, came] + table[came, label]:
                    came = left
            label = came
            labels[start + t - 1] = label


@kernel
def finite_range(values):
    """Largest less smallest entry of a table; infinite if an entry is."""
    low, high = np.inf, -np.inf
    for a in range(values.shape[0]):
        for b in range(values.shape[1]):
            low, high = min(low, values[a, b]), max(high, values[a, b])
    return high - low if np.isfinite(low) and np.isfinite(high) else np.inf


@kernel
def node_range(nodes, start, stop):
    """Largest difference between two labels of one position."""
    widest = 0.0
    for t in range(start, stop):
        low = high = nodes[t, 0]
        for j in range(1, nodes.shape[1]):
            low, high = min(low, nodes[t, j]), max(high, nodes[t, j])
        if not np.isfinite(high - low):
            return np.inf
        widest = max(widest, high - low)
    return widest


@kernel
def exp_table(table, out, flipped):
    """``exp(table - max)`` and its transpose; returns the maximum."""
    top = -np.inf
    for a in range(table.shape[0]):
        top = max(top, largest(table[a]))
    for a in range(table.shape[0]):
        exp_shifted(table[a], top, out[a])
    for a in range(table.shape[0]):
        for b in range(table.shape[0]):
            flipped[b, a] = out[a, b]
    return top


@kernel
def rows_sum(weights, rows, out):
    """``out = weights @ rows``."""
    k = rows.shape[1]
    lead = weights[0]
    for j in range(k):
        out[j] = lead * rows[0, j]
    for a in range(1, rows.shape[0]):
        lead = weights[a]
        for j in range(k):
            out[j] += lead * rows[a, j]


@kernel
def outer_add(left, right, out):
    """``out += outer(left, right)``."""
    for a in range(left.shape[0]):
        lead = left[a]
        for b in range(right.shape[0]):
            out[a, b] += lead * right[b]


@kernel
def forward(nodes, start, stop, table, ahead, lift, norm):
    """Scaled forward recursion: prefix distributions into `ahead`, exponentials of the position
    scores into `lift`, normalisers into `norm`; returns the log-partition without the tables' top.
    """
    k = nodes.shape[1]
    partition = 0.0
    for t in range(stop - start):
        row = nodes[start + t]
        top = largest(row)
        exp_shifted(row, top, lift[t])
        if t == 0:
            for j in range(k):
                ahead[0, j] = lift[0, j]
        else:
            rows_sum(ahead[t - 1], table, ahead[t])
            for j in range(k):
                ahead[t, j] *= lift[t, j]
        mass = total(ahead[t])
        norm[t] = mass
        for j in range(k):
            ahead[t, j] /= mass
        partition += top + np.log(mass)
    return partition


@kernel
def backward(length, flipped, ahead, lift, norm, arrive, pairs):
    """Scaled backward recursion: turns `ahead` into marginals and adds to `pairs` the outer
    products that, times the exponential table, are the pair marginals."""
    k = ahead.shape[1]
    behind, reach = arrive[0], arrive[1]
    for j in range(k):
        behind[j] = 1.0
    for t in range(length - 1, 0, -1):
        scale = 1.0 / norm[t]
        for j in range(k):
            reach[j] = behind[j] * lift[t, j] * scale
            ahead[t, j] *= behind[j]
        outer_add(ahead[t - 1], reach, pairs)
        rows_sum(reach, flipped, behind)
    for j in range(k):
        ahead[0, j] *= behind[j]


@kernel
def careful_backward(nodes, start, stop, tables, first, step, arrive, behind, go):
    """Logarithms of the weights of suffixes, and the transition probabilities `go` (length - 1,
    k, k) that they imply; returns the log-partition. All zeros are transitions out of a label
    from which every way on is forbidden.
    """
    k = nodes.shape[1]
    length = stop - start
    onward, row = arrive[0], arrive[1]
    for j in range(k):
        behind[j] = 0.0
    for t in range(length - 2, -1, -1):
        table = tables[first + t * step]
        for b in range(k):
            onward[b] = nodes[start + t + 1, b] + behind[b]
        for a in range(k):
            for b in range(k):
                row[b] = table[a, b] + onward[b]
            top = largest(row)
            chance = go[t, a]
            if top == -np.inf:
                chance[:] = 0.0
                behind[a] = top
                continue
            exp_shifted(row, top, chance)
            mass = total(chance)
            scale = 1.0 / mass
            for b in range(k):
                chance[b] *= scale
            behind[a] = top + np.log(mass)
    for j in range(k):
        behind[j] += nodes[start, j]
    top = largest(behind)
    if top == -np.inf:
        return top
    exp_shifted(behind, top, row)
    mass = total(row)
    for j in range(k):
        behind[j] = row[j] / mass
    return top + np.log(mass)


@kernel
def careful_forward(start, stop, first, step, begin, go, mu, pairs):
    """Marginals along the transition probabilities, from the distribution of the first label."""
    k = begin.shape[0]
    for j in range(k):
        mu[start, j] = begin[j]
    for t in range(stop - start - 1):
        here, following, pair = mu[start + t], mu[start + t + 1], pairs[first + t * step]
        rows_sum(here, go[t], following)
        for a in range(k):
            lead, chance = here[a], go[t, a]
            for b in range(k):
                pair[a, b] += lead * chance[b]


@kernel
def marginals(nodes, tables, offsets, first, step, work, small, norm, go, partition, mu, pairs):
    """Log-partition of each sequence, marginals of positions, and of neighbours added to `pairs`.

    `pairs` has the layout of `tables` and must come in as zeros. `work` (2, longest, k), `small`
    (3 k + 3, k), `norm` (longest,) and `go` (longest, k, k) are scratch; memory of the last is
    touched in the careful case only.
    """
    k = nodes.shape[1]
    table, flipped, gather, arrive = (
        small[:k], small[k : 2 * k], small[2 * k : 3 * k], small[3 * k :],
    )  # fmt: skip
    ready, top, spread = -1, 0.0, np.inf
    for i in range(offsets.shape[0] - 1):
        start, stop = offsets[i], offsets[i + 1]
        if step == 0 and first[i] != ready:
            ready = first[i]
            spread = finite_range(tables[ready])
            if spread < SAFE:
                top = exp_table(tables[ready], table, flipped)
        shared = step == 0 and spread + node_range(nodes, start, stop) < SAFE
        if not shared:
            begin = small[3 * k + 2]
            partition[i] = careful_backward(
                nodes, start, stop, tables, first[i], step, arrive, begin, go
            )
            careful_forward(start, stop, first[i], step, begin, go, mu, pairs)
            continue
        ahead, length = work[0], stop - start
        partition[i] = forward(nodes, start, stop, table, ahead, work[1], norm)
        partition[i] += top * (length - 1)
        gather[:] = 0.0
        backward(length, flipped, ahead, work[1], norm, arrive, gather)
        for t in range(length):
            for j in range(k):
                mu[start + t, j] = ahead[t, j]
        for a in range(k):
            for b in range(k):
                pairs[ready, a, b] += gather[a, b] * table[a, b]


@kernel
def sample(nodes, tables, offsets, first, step, small, go, uniform, labels):
    """One sequence of labels an example from its distribution; `uniform` (N,) is the chance.

    `small` (3, k) and `go` (longest, k, k) are scratch.
    """
    for i in range(offsets.shape[0] - 1):
        start, stop = offsets[i], offsets[i + 1]
        careful_backward(nodes, start, stop, tables, first[i], step, small, small[2], go)
        chance = small[2]
        for t in range(stop - start):
            rest, chosen = uniform[start + t], -1
            for j in range(chance.shape[0]):
                if chance[j] > 0.0:
                    chosen = j
                    rest -= chance[j]
                    if rest < 0.0:
                        break
            labels[start + t] = chosen
            if start + t + 1 < stop:
                chance = go[t, chosen]


@kernel
def k_best(nodes, tables, first, step, scores, came, kept):
    """The best answers of one sequence, best first: labels (number, T) and scores.

    `scores` (T, k, number) and `came` (T, k, number) are scratch: the best ways to reach a label,
    and each one's left neighbour and rank there in one integer. Returns how many there are.
    """
    T, k, number = scores.shape
    scores[:] = -np.inf
    for j in range(k):
        scores[0, j, 0] = nodes[0, j]
    for t in range(1, T):
        table = tables[first + (t - 1) * step]
        for j in range(k):
            for left in range(k):
                for rank in range(number):
                    reach = scores[t - 1, left, rank] + table[left, j] + nodes[t, j]
                    if not _insert(scores[t, j], came[t, j], reach, left * number + rank):
                        break
    last_scores, last = kept[0], np.zeros(number, np.int64)
    last_scores[:] = -np.inf
    for j in range(k):
        for rank in range(number):
            if not _insert(last_scores, last, scores[T - 1, j, rank], j * number + rank):
                break
    labels = np.zeros((number, T), np.int64)
    found = 0
    while found < number and last_scores[found] > -np.inf:
        place = last[found]
        for t in range(T - 1, -1, -1):
            labels[found, t] = place // number
            place = came[t, place // number, place % number]
        found += 1
    return labels[:found]


@kernel
def _insert(scores, places, score, place):
    """Into a falling list, behind its equals; returns whether it was good enough."""
    number = scores.shape[0]
    if not score > scores[number - 1]:
        return False
    at = number - 1
    while at > 0 and scores[at - 1] < score:
        scores[at], places[at] = scores[at - 1], places[at - 1]
        at -= 1
    scores[at], places[at] = score, place
    return True
