"""The best assignment of rows to columns, compiled.

An example is a *grid* of scores with n rows and m columns. With ``slack = 1`` it has one more
column, for rows that stay alone, and one more row, for columns that do; a part that is not
allowed has score minus infinity. Row i < n and column j < m must add up to one, so the grid's
answers are the vertices of a transport polytope: permutation matrices for n = m and no slack.

`assign` is the cheapest complete assignment (shortest augmenting paths, Jonker and Volgenant
1987; Crouse 2016), to which `best` reduces every kind of grid: with slack on both sides a pair
is worth what it adds over leaving both alone, if that is positive.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Division by zero gives infinity, as in NumPy, instead of a test at every division.
kernel = njit(cache=True, nogil=True, error_model="numpy")

#: Kinds of grid: as many rows as columns; columns may stay alone; rows may; both may.
SQUARE, WIDE, TALL, PARTIAL = 0, 1, 2, 3


@kernel
def assign(cost, rows, cols, col_of, row_of, u, v, work, path):
    """Give every row a column of its own, at least total cost; needs ``rows <= cols``.

    `u` and `v` receive the dual solution (``u_i + v_j <= cost_ij``, equal where assigned),
    `work` and `path` (two rows) are scratch. Returns -1, or a row for which no column is left
    at finite cost.
    """
    came, open_ = path[0], path[1]
    for j in range(cols):
        row_of[j] = -1
        v[j] = 0.0
    if rows == cols:  # else columns that stay free need v = 0
        for j in range(cols):
            v[j] = np.inf
        for i in range(rows):
            for j in range(cols):
                v[j] = min(v[j], cost[i, j])
        for j in range(cols):
            if v[j] == np.inf:
                v[j] = 0.0
    for i in range(rows):
        low, best = np.inf, -1
        for j in range(cols):
            reduced = cost[i, j] - v[j]
            if reduced < low or (reduced == low and best >= 0 and row_of[best] >= 0):
                low, best = reduced, j
        col_of[i] = -1
        u[i] = low
        if best < 0:
            return i
        if row_of[best] < 0:
            row_of[best] = i
            col_of[i] = best
    for start in range(rows):
        if col_of[start] >= 0:
            continue
        for j in range(cols):
            work[j] = np.inf
            open_[j] = j
        left, i, low, sink = cols, start, 0.0, -1
        while sink < 0:
            at, least = -1, np.inf
            base = low - u[i]
            for t in range(left):
                j = open_[t]
                reach = base + cost[i, j] - v[j]
                if reach < work[j]:
                    work[j] = reach
                    came[j] = i
                if work[j] < least or (work[j] == least and at >= 0 and row_of[j] < 0):
                    least, at = work[j], t
            if at < 0:
                return start
            low, j = least, open_[at]
            left -= 1
            open_[at] = open_[left]
            open_[left] = j
            if row_of[j] < 0:
                sink = j
            else:
                i = row_of[j]
        u[start] += low
        for t in range(left, cols):  # the columns reached, their rows in step
            j = open_[t]
            if row_of[j] >= 0:
                u[row_of[j]] += low - work[j]
            v[j] -= low - work[j]
        j = sink
        while True:
            i = came[j]
            row_of[j] = i
            j, col_of[i] = col_of[i], j
            if i == start:
                break
    return -1


@kernel
def best(scores, n, m, slack, kind, answer, lap):
    """The answer with the largest score: the column of each row, m where it stays alone.

    `scores` is the grid, `lap` the scratch of `lap_scratch`. Where columns or rows may stay
    alone, a pair counts for what it adds over that. Returns -1, or a row that cannot be placed.
    """
    cost, col_of, row_of, u, v, work, path = lap
    turned = n > m
    rows, cols = min(n, m), max(n, m)
    for i in range(n):
        alone = scores[i, m] if kind >= TALL else 0.0
        for j in range(m):
            worth = scores[i, j] - alone
            if kind == WIDE or kind == PARTIAL:
                worth -= scores[n, j]
            if kind == PARTIAL:
                worth = max(worth, 0.0)
            if turned:
                cost[j, i] = -worth
            else:
                cost[i, j] = -worth
    stuck = assign(cost, rows, cols, col_of, row_of, u, v, work, path)
    if stuck >= 0:
        return stuck
    for i in range(n):
        j = row_of[i] if turned else col_of[i]
        if j >= 0 and kind == PARTIAL and (cost[j, i] if turned else cost[i, j]) == 0.0:
            j = -1
        answer[i] = j if j >= 0 else m
    return -1


@kernel
def potentials(scores, n, m, kind, lap, rows, cols):
    """The dual of what `best` has just solved: ``rows_i + cols_j`` is at least the score of a
    pair, ``rows_i`` and ``cols_j`` at least that of staying alone, equal in the best answer."""
    u, v = lap[3], lap[4]
    few, many = (v, u) if n > m else (u, v)
    shift = 0.0
    if kind == PARTIAL:  # what is alone must not cost: move the surplus of one side to the other
        for r in range(min(n, m)):
            shift = max(shift, u[r])
    sign = -1.0 if n > m else 1.0
    for i in range(n):
        rows[i] = (scores[i, m] if kind >= TALL else 0.0) - few[i] + sign * shift
    for j in range(m):
        alone = scores[n, j] if kind == WIDE or kind == PARTIAL else 0.0
        cols[j] = alone - many[j] - sign * shift


@kernel
def lap_scratch(n, m):
    """Room for `best` on grids of up to n rows and m columns."""
    rows, cols = min(n, m), max(n, m)
    size = max(cols, 1)
    return (
        np.empty((max(rows, 1), size)),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty((2, size), np.int64),
    )


@kernel
def write_parts(answer, n, m, slack, parts):
    """The answer as an indicator grid."""
    parts[:, :] = 0.0
    if slack:
        for j in range(m):
            parts[n, j] = 1.0
    for i in range(n):
        j = answer[i]
        parts[i, j] = 1.0
        if slack and j < m:
            parts[n, j] = 0.0


@kernel
def best_rows(scores, starts, n, m, slack, kind, first, last, answers, mu):
    """`best` for examples first..last-1 of a batch; returns -1 or the example without an answer.

    `answers` is (n_examples, most rows); `mu` receives indicators where it is not empty.
    """
    lap = lap_scratch(n[first:last].max(), max(m[first:last].max(), n[first:last].max()))
    for e in range(first, last):
        shape = (n[e] + slack, m[e] + slack)
        grid = scores[starts[e] : starts[e + 1]].reshape(shape)
        if best(grid, n[e], m[e], slack, kind[e], answers[e], lap) >= 0:
            return e
        if mu.shape[0]:
            write_parts(answers[e], n[e], m[e], slack, mu[starts[e] : starts[e + 1]].reshape(shape))
    return -1
