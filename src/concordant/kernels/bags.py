"""Costs of (label, choice) answers, bag by bag.

A batch of bags is flat: the choices of bag i are the rows ``offsets[i]..offsets[i+1]``. The cost
of answering (y, h) when (y', h') is the truth is

    scale_i * (labels[y, y'] + [y = y'] D_i[h, h']),

and `kind` says what D is: nothing, 1 - [h = h'], 1 - IoU of two boxes, or a table a bag. The IoU
is computed where it is needed: stored, it would take m² numbers a bag, and beyond the cache it
would be no faster to read. The last kind is a full table over (label, choice) pairs, label-major,
which replaces the whole bracket.

`geometry` has five rows (x1, y1, x2, y2, area), so that the inner loops use vector registers;
bag i's table starts at ``start[i]`` of the flat `table`.
"""

from __future__ import annotations

from concordant.kernels.vector import kernel, reduction

NOTHING, ZERO_ONE, OVERLAP, TABLE, FULL = range(5)


@reduction
def overlap_product(geometry, lo, hi, p, out):
    """``out = (1 - IoU) p`` within one bag."""
    x1, y1, x2, y2 = geometry[0], geometry[1], geometry[2], geometry[3]
    area = geometry[4]
    for h in range(lo, hi):
        left, top, right, bottom, own = x1[h], y1[h], x2[h], y2[h], area[h]
        total = 0.0
        for g in range(lo, hi):
            width = max(min(right, x2[g]) - max(left, x1[g]), 0.0)
            height = max(min(bottom, y2[g]) - max(top, y1[g]), 0.0)
            shared = width * height
            total += p[g - lo] * (1.0 - shared / (own + area[g] - shared))
        out[h - lo] = total


@reduction
def product(matrix, first, column, width, m, p, out):
    """``out = M p`` for the (m, m) block of a flat matrix of `width` columns whose first entry
    is ``matrix[first]`` and whose first column is `column`."""
    for h in range(m):
        at = first + h * width + column
        total = 0.0
        for g in range(m):
            total += matrix[at + g] * p[g]
        out[h] = total


@reduction
def transposed_product(matrix, first, column, width, m, q, out):
    """``out = M' q`` for the same block."""
    out[:m] = 0.0
    for h in range(m):
        at = first + h * width + column
        weight = q[h]
        for g in range(m):
            out[g] += weight * matrix[at + g]


@kernel
def cost_of_truth(costs, i, y, label, p, out):
    """Cost of answering (label, h), for every h, when the truth is (y, h') with weights `p`."""
    kind, offsets, labels, geometry, table, start, scale = costs
    lo, hi = offsets[i], offsets[i + 1]
    m, k = hi - lo, labels.shape[0]
    total = 0.0
    for h in range(m):
        total += p[h]
    base = labels[label, y] * total
    if kind == FULL:
        product(table, start[i] + label * m * k * m, y * m, k * m, m, p, out)
        base = 0.0
    elif label != y or kind == NOTHING:
        out[:m] = 0.0
    elif kind == ZERO_ONE:
        for h in range(m):
            out[h] = total - p[h]
    elif kind == OVERLAP:
        overlap_product(geometry, lo, hi, p, out)
    else:
        product(table, start[i], 0, m, m, p, out)
    for h in range(m):
        out[h] = scale[i] * (out[h] + base)


@kernel
def cost_of_answer(costs, i, y, label, q, out):
    """The transpose: the cost at each true (y, h') of answers (label, h) with weights `q`."""
    kind, offsets, labels, geometry, table, start, scale = costs
    lo, hi = offsets[i], offsets[i + 1]
    m, k = hi - lo, labels.shape[0]
    total = 0.0
    for h in range(m):
        total += q[h]
    base = labels[label, y] * total
    if kind == FULL:
        transposed_product(table, start[i] + label * m * k * m, y * m, k * m, m, q, out)
        base = 0.0
    elif label != y or kind == NOTHING:
        out[:m] = 0.0
    elif kind == ZERO_ONE:
        for h in range(m):
            out[h] = total - q[h]
    elif kind == OVERLAP:
        overlap_product(geometry, lo, hi, q, out)
    else:
        transposed_product(table, start[i], 0, m, m, q, out)
    for h in range(m):
        out[h] = scale[i] * (out[h] + base)


@kernel
def expected_costs(costs, first, last, target, p, work, out):
    """Expected cost of every answer of bags first..last, ``out[h, y]``, under ``p`` for the true
    choice and the true label ``target``."""
    offsets, labels = costs[1], costs[2]
    for i in range(first, last):
        lo, hi = offsets[i], offsets[i + 1]
        for y in range(labels.shape[0]):
            cost_of_truth(costs, i, target[i], y, p[lo:hi], work)
            for h in range(hi - lo):
                out[lo + h, y] = work[h]


@kernel
def expected_over_labels(costs, first, last, mu, of_answers, work, row, out):
    """Cost of every answer when the truth is distributed as the parts `mu`, ``(N, k)``; with
    `of_answers`, the cost at every truth of answers distributed so."""
    offsets, k = costs[1], costs[2].shape[0]
    for i in range(first, last):
        lo, hi = offsets[i], offsets[i + 1]
        m = hi - lo
        out[lo:hi] = 0.0
        for y in range(k):
            for h in range(m):
                row[h] = mu[lo + h, y]
            for z in range(k):
                if of_answers:
                    cost_of_answer(costs, i, z, y, row, work)
                else:
                    cost_of_truth(costs, i, y, z, row, work)
                for h in range(m):
                    out[lo + h, z] += work[h]
