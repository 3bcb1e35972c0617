"""Block steps for the convex problem of the weights, one bag at a time.

    minimise 1/2 |W|^2 + sum_i C_i (max over (y, h) of [w_y·x_h + c_i(y, h)] - w_{y_i}·t_i)

where ``t_i`` is the bag's target, an average of its choices' features. Its dual has a
distribution mu_i over the cells (h, y) of every bag,

    W(mu) = sum_i C_i (t_i at y_i - sum mu_i(h, y) x_h at y),
    dual  = sum_i C_i <c_i, mu_i> - 1/2 |W(mu)|^2,

and at W = W(mu) the gap is the sum of the blocks' Frank-Wolfe gaps,
``C_i (max(s_i) - <s_i, mu_i>)`` with s = scores + c.

A plain Frank-Wolfe step asks for one pass over a bag's features and moves towards one cell. The
pass is what costs, so a visit makes more of it: it takes the best choice of every label and the
choices that carry mu, computes the few inner products between them, and moves mass between their
cells by pairwise steps until this small problem is nearly solved. A visit to the choices that
carry mu alone needs no pass at all.

`features` is (dense, x, data, indices, indptr): rows of a C-contiguous array, or of a CSR matrix.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.vector import kernel, reduction


@reduction
def dense_dot(x, r, w, y):
    total = 0.0
    for j in range(x.shape[1]):
        total += x[r, j] * w[y, j]
    return total


@reduction
def sparse_dot(data, indices, lo, hi, w, y):
    total = 0.0
    for at in range(lo, hi):
        total += data[at] * w[y, indices[at]]
    return total


@kernel
def dot(features, r, w, y):
    """Row r of the features times row y of the weights."""
    dense, x, data, indices, indptr = features
    if dense:
        return dense_dot(x, r, w, y)
    return sparse_dot(data, indices, indptr[r], indptr[r + 1], w, y)


@kernel
def row_product(features, r, s):
    """Inner product of two rows of the features."""
    dense, x, data, indices, indptr = features
    if dense:
        return dense_dot(x, r, x, s)
    total = 0.0
    a, b = indptr[r], indptr[s]
    while a < indptr[r + 1] and b < indptr[s + 1]:
        if indices[a] == indices[b]:
            total += data[a] * data[b]
            a += 1
            b += 1
        elif indices[a] < indices[b]:
            a += 1
        else:
            b += 1
    return total


@kernel
def add_row(features, r, factor, w, y):
    """``w[y] += factor * features[r]``."""
    dense, x, data, indices, indptr = features
    if dense:
        for j in range(x.shape[1]):
            w[y, j] += factor * x[r, j]
    else:
        for at in range(indptr[r], indptr[r + 1]):
            w[y, indices[at]] += factor * data[at]


@kernel
def pairwise_steps(gram, size, strength, scores, mu, tol, steps):
    """Maximise ``<scores, mu> - strength/2 |sum mu x|^2`` from here by moving mass between cells.

    Cells are (row, label) of the first `size` rows; `gram` holds the rows' inner products, and
    cells of different labels are orthogonal. Mass goes to the best cell from the one whose step
    gains most. `scores` are the gradient and follow. Ends when no cell with mass is more than
    `tol` below the best.
    """
    k = scores.shape[1]
    for _ in range(steps):
        top, a, ya = -np.inf, 0, 0
        for r in range(size):
            for j in range(k):
                if scores[r, j] > top:
                    top, a, ya = scores[r, j], r, j
        gain, step, b, yb = 0.0, 0.0, -1, -1
        for r in range(size):
            for j in range(k):
                lead = top - scores[r, j]
                if mu[r, j] > 0.0 and lead > tol:
                    bend = gram[a, a] + gram[r, r]
                    if j == ya:
                        bend -= 2.0 * gram[a, r]
                    bend *= strength
                    t = mu[r, j]
                    if bend * t > lead:
                        t = lead / bend
                    if t * (lead - 0.5 * bend * t) > gain:
                        gain, step, b, yb = t * (lead - 0.5 * bend * t), t, r, j
        if b < 0:
            return
        mu[a, ya] += step
        mu[b, yb] = 0.0 if step == mu[b, yb] else mu[b, yb] - step
        for r in range(size):
            scores[r, ya] -= strength * step * gram[a, r]
            scores[r, yb] += strength * step * gram[b, r]


@kernel
def choose_rows(scores, mu, lo, m, rows):
    """Rows of a bag to move mass between; returns how many.

    The best row comes first, then the best of every label that beats the average, then the rows
    with mass, the worst first: best and worst are there however short `rows` is.
    """
    k, room = mu.shape[1], rows.shape[0]
    mean, top, best = 0.0, -np.inf, 0
    for h in range(m):
        for y in range(k):
            if mu[lo + h, y] > 0.0:
                mean += mu[lo + h, y] * scores[h, y]
            if scores[h, y] > top:
                top, best = scores[h, y], h
    rows[0], size = best, 1
    for y in range(k):
        best = 0
        for h in range(1, m):
            if scores[h, y] > scores[best, y]:
                best = h
        if scores[best, y] > mean and 2 * size < room and not holds(rows, size, best):
            rows[size] = best
            size += 1
    floor = -np.inf
    while size < room:
        worst, least = -1, np.inf
        for h in range(m):
            for y in range(k):
                low = scores[h, y]
                if mu[lo + h, y] > 0.0 and low < least and low >= floor:
                    if not holds(rows, size, h):
                        worst, least = h, low
        if worst < 0:
            break
        rows[size] = worst
        size += 1
        floor = least
    return size


@kernel
def holds(rows, size, h):
    found = False
    for at in range(size):
        found = found or rows[at] == h
    return found


@kernel
def visit(features, lo, hi, strength, costs, mu, w, whole, scores, rows, gram, work):
    """One block step on the bag with rows lo..hi; returns its gap before, divided by `strength`.

    Unless `whole`, choices without mass are left out, and so is what they add to the gap.
    """
    m, k = hi - lo, w.shape[0]
    mean, top = 0.0, -np.inf
    for h in range(m):
        active = whole
        for y in range(k):
            active = active or mu[lo + h, y] > 0.0
        for y in range(k):
            scores[h, y] = -np.inf
            if active:
                scores[h, y] = dot(features, lo + h, w, y) + costs[lo + h, y]
                mean += mu[lo + h, y] * scores[h, y]
                top = max(top, scores[h, y])
    gap = top - mean
    if not gap > 1e-14 * (abs(top) + abs(mean)):
        return max(gap, 0.0)
    size = choose_rows(scores, mu, lo, m, rows)
    cells, old, new = work[0], work[1], work[2]
    for a in range(size):
        for b in range(a + 1):
            gram[a, b] = row_product(features, lo + rows[a], lo + rows[b])
            gram[b, a] = gram[a, b]
        for y in range(k):
            cells[a, y] = scores[rows[a], y]
            old[a, y] = mu[lo + rows[a], y]
            new[a, y] = old[a, y]
    pairwise_steps(gram, size, strength, cells, new, 0.1 * gap, 10 * size)
    for a in range(size):
        for y in range(k):
            if new[a, y] != old[a, y]:
                mu[lo + rows[a], y] = new[a, y]
                add_row(features, lo + rows[a], strength * (old[a, y] - new[a, y]), w, y)
    return gap


@kernel
def sweep(features, offsets, order, whole, weight, costs, mu, w, scores, rows, gram, work, gaps):
    """Visit the bags in this order; `gaps` gets the gap that each was found with."""
    for i in order:
        gaps[i] = weight[i] * visit(
            features, offsets[i], offsets[i + 1], weight[i], costs, mu, w, whole, scores, rows,
            gram, work,
        )  # fmt: skip
