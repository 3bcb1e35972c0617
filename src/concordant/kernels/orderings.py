"""Orderings that agree with as much pairwise preference as possible (feedback arc set).

``w[a, b] = -w[b, a]`` is the preference for a before b; the value of an ordering is the sum of
``w[a, b]`` over a placed before b. Finding the largest is NP-hard; `best_subset` does it by
dynamic programming over sets of items, for up to a dozen of them. `eades` is the greedy of
Eades, Lin and Smyth (1993). `insert` moves single items to their best place until no such move
gains; it never lowers the value.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.vector import kernel, reduction

BLOCK = 32


@kernel
def preferences(weights, offsets, items, grades, w):
    """Fill w with ``sum_i weights_i (g_ia - g_ib)`` over rows i that grade both a and b.

    Row i has ``items[offsets[i]:offsets[i + 1]]``, increasing, with their grades.
    """
    w[:] = 0.0
    for i in range(weights.shape[0]):
        alpha = weights[i]
        if alpha == 0.0:
            continue
        for s in range(offsets[i], offsets[i + 1]):
            a, grade = items[s], grades[s]
            for t in range(s + 1, offsets[i + 1]):
                w[a, items[t]] += alpha * (grade - grades[t])
    _mirror(w)


@kernel
def _mirror(w):
    """Copy minus the upper triangle below the diagonal, block by block for the cache."""
    n = w.shape[0]
    for top in range(0, n, BLOCK):
        for left in range(top, n, BLOCK):
            for a in range(top, min(top + BLOCK, n)):
                for b in range(max(left, a + 1), min(left + BLOCK, n)):
                    w[b, a] = -w[a, b]


@kernel
def value(w, order):
    total = 0.0
    for p in range(order.shape[0]):
        row = w[order[p]]
        for q in range(p + 1, order.shape[0]):
            total += row[order[q]]
    return total


@kernel
def eades(w, order):
    """Write an ordering: sinks go last, sources first, else whoever gives most more than takes."""
    n = w.shape[0]
    balance = np.zeros(n)
    gives, takes = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for a in range(n):
        for b in range(n):
            balance[a] += w[a, b]
            gives[a] += w[a, b] > 0.0
            takes[a] += w[a, b] < 0.0
    left = np.ones(n, np.bool_)
    first, last = 0, n - 1
    while first <= last:
        chosen, sink = -1, False
        for a in range(n):
            if not left[a]:
                continue
            if gives[a] == 0:
                chosen, sink = a, True
                break
            if takes[a] == 0:
                chosen = a
                break
            if chosen < 0 or balance[a] > balance[chosen]:
                chosen = a
        if sink:
            order[last] = chosen
            last -= 1
        else:
            order[first] = chosen
            first += 1
        left[chosen] = False
        row = w[chosen]
        for a in range(n):
            balance[a] += row[a]
            gives[a] -= row[a] < 0.0
            takes[a] -= row[a] > 0.0


@reduction
def _block(row, order, start, stop, sign):
    """Sum of the signed entries of a block, and of the positive ones among them."""
    total, above = 0.0, 0.0
    for k in range(start, stop):
        v = sign * row[order[k]]
        total += v
        above += v if v > 0.0 else 0.0
    return total, above


@kernel
def _best_place(row, order, here, threshold):
    """The place with the largest gain for the item at `here`, if one exceeds the threshold.

    Running sums along the order, block by block; a block whose positive entries cannot lift the
    running sum above the best gain so far is passed over.
    """
    best, place = threshold, here
    run, stop = 0.0, here
    while stop > 0:
        start = max(stop - BLOCK, 0)
        total, above = _block(row, order, start, stop, 1.0)
        if run + above > best:
            inside = run
            for k in range(stop - 1, start - 1, -1):
                inside += row[order[k]]
                if inside > best:
                    best, place = inside, k
        run += total
        stop = start
    run, start = 0.0, here + 1
    while start < order.shape[0]:
        stop = min(start + BLOCK, order.shape[0])
        total, above = _block(row, order, start, stop, -1.0)
        if run + above > best:
            inside = run
            for k in range(start, stop):
                inside -= row[order[k]]
                if inside > best:
                    best, place = inside, k
        run += total
        start = stop
    return place


@kernel
def _move(order, place, here, there):
    item = order[here]
    step = 1 if there > here else -1
    for k in range(here, there, step):
        order[k] = order[k + step]
        place[order[k]] = k
    order[there] = item
    place[item] = there


@kernel
def insert(w, order, most_passes):
    """Improve an ordering in place, until no insertion gains; returns the number of passes.

    After a move only the items it passed are looked at again; when none is left, all are, so
    that at the end no single insertion gains.
    """
    n = order.shape[0]
    place = np.empty(n, np.int64)
    for k in range(n):
        place[order[k]] = k
    threshold = 0.0
    for a in range(n):
        for b in range(n):
            threshold = max(threshold, abs(w[a, b]))
    threshold *= 1e-6  # gains that are rounding would go round in circles
    again = np.ones(n, np.bool_)
    whole = True
    for passes in range(most_passes):
        moved = False
        for item in range(n):
            if not again[item]:
                continue
            again[item] = False
            here = place[item]
            there = _best_place(w[item], order, here, threshold)
            if there == here:
                continue
            moved = True
            _move(order, place, here, there)
            for k in range(min(here, there), max(here, there) + 1):
                again[order[k]] = True
            again[item] = False
        if not moved:
            if whole:
                return passes + 1
            again[:] = True
        whole = not moved
    return most_passes


@kernel
def best_subset(w, order):
    """Write the best ordering of a dozen items at most: dynamic programming over sets."""
    n = w.shape[0]
    size = 1 << n
    best, last = np.full(size, -np.inf), np.zeros(size, np.int64)
    best[0] = 0.0
    for chosen in range(size):
        for a in range(n):
            if chosen >> a & 1:
                continue
            gain = 0.0
            for b in range(n):
                if b != a and not chosen >> b & 1:
                    gain += w[a, b]
            after = chosen | 1 << a
            if best[chosen] + gain > best[after]:
                best[after], last[after] = best[chosen] + gain, a
    chosen = size - 1
    for p in range(n - 1, -1, -1):
        order[p] = last[chosen]
        chosen ^= 1 << last[chosen]
