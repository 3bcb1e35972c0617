"""Compiled passes of dual coordinate ascent on thresholded scores.

A change of mu by r moves the one score by ``(ranks.r) |x|**2`` and the offsets by `spread` r, so
that an example's proximal question has the matrix ``strength ranks ranks' + spread`` in place of a
multiple of the identity. With `grip`, a bound on spread, it is

    maximise  <f, mu> + bonus(mu) - strength/2 (ranks.(mu - c))**2 - grip/2 |mu - c|**2

which the route's own block answers once the price alpha of the first square is known:
``mu(alpha)`` is its answer at ``f - alpha ranks``, and alpha is the root of the increasing
``alpha - strength ranks.(mu(alpha) - c)``.
"""

from __future__ import annotations

import numpy as np

from concordant.oracles.blocks import kernel
from concordant.oracles.simplex import dot
from concordant.scorers.passes import may_rest, settle, soft

#: Share of the first error at which the search for the price ends.
EXACT = 1e-7
#: Largest slope at which a search begins.
STEEPEST = 100.0


@kernel
def step(
    s, square, i, block, params, costs, work, target, weight, loss_weight, ranks, grip, spread,
    offsets, moved, mu, rest, quiet, slope,
):  # fmt: skip
    """Example i's exact step; returns the change of what multiplies its features, and the slope
    with which the search for the price was over, where the next one begins (1 at first)."""
    k = ranks.shape[0]
    f, shifted, new, change = work[:k], work[k : 2 * k], work[2 * k : 3 * k], work[3 * k : 4 * k]
    scratch = work[4 * k :]
    for j in range(k):
        f[j] = s * ranks[j] + offsets[j]
    strength, held = weight[i] * square, weight[i] * grip
    if held <= 0.0:
        return 0.0, slope
    old = dot(ranks, mu[i])
    block(f, target[i], loss_weight[i], params, costs, held, mu[i], scratch, new)
    wrong = -strength * (dot(ranks, new) - old)
    if abs(wrong) > 1e-14:
        # The root lies between 0 and -wrong, because the slope is at least 1.
        a, b, last, at_last, alpha = 0.0, -wrong, 0.0, wrong, -wrong / slope
        for trial in range(60):
            for j in range(k):
                shifted[j] = f[j] - alpha * ranks[j]
            block(shifted, target[i], loss_weight[i], params, costs, held, mu[i], scratch, new)
            here = alpha - strength * (dot(ranks, new) - old)
            if abs(here) <= EXACT * abs(wrong):
                break
            if (here > 0.0) == (wrong > 0.0):
                a = alpha
            else:
                b = alpha
            if abs(b - a) <= 1e-14 * abs(alpha):
                break
            middle, guess = 0.5 * (a + b), a
            if trial % 4 < 3 and here != at_last:
                guess = alpha - here * (alpha - last) / (here - at_last)
                guess = min(max(guess, min(a, b)), max(a, b))
            last, at_last = alpha, here
            alpha = middle if guess == a else guess
        slope = min(-wrong / alpha, STEEPEST) if wrong * alpha < 0.0 else 1.0
    if not settle(i, weight[i], mu, new, change, rest, quiet):
        return 0.0, slope
    for j in range(k):
        moved[j] += change[j]
        for l in range(k):
            offsets[j] += spread[j, l] * change[l]
    return dot(ranks, change), slope


@kernel
def dense_pass(
    x, l2, l1, v, order, block, params, costs, work, squares, target, weight, loss_weight, ranks,
    grip, spread, offsets, moved, mu, rest, quiet,
):  # fmt: skip
    slope = 1.0
    for i in order:
        if may_rest(i, rest):
            continue
        s = 0.0
        for a in range(x.shape[1]):
            s += x[i, a] * soft(v[a], l1, l2)
        change, slope = step(
            s, squares[i] / l2, i, block, params, costs, work, target, weight, loss_weight, ranks,
            grip, spread, offsets, moved, mu, rest, quiet, slope,
        )  # fmt: skip
        if change != 0.0:
            for a in range(x.shape[1]):
                v[a] += change * x[i, a]


@kernel
def sparse_pass(
    indptr, indices, data, l2, l1, v, order, block, params, costs, work, squares, target, weight,
    loss_weight, ranks, grip, spread, offsets, moved, mu, rest, quiet,
):  # fmt: skip
    slope = 1.0
    for i in order:
        if may_rest(i, rest):
            continue
        s = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            s += data[at] * soft(v[indices[at]], l1, l2)
        change, slope = step(
            s, squares[i] / l2, i, block, params, costs, work, target, weight, loss_weight, ranks,
            grip, spread, offsets, moved, mu, rest, quiet, slope,
        )  # fmt: skip
        if change != 0.0:
            for at in range(indptr[i], indptr[i + 1]):
                v[indices[at]] += change * data[at]


#: Changes that are added to all scores at a time: one stream of memory is slower than several.
LINES = 4


@kernel
def kernel_pass(
    gram, beta, scores, order, block, params, costs, work, squares, target, weight, loss_weight,
    ranks, grip, spread, offsets, moved, mu, rest, quiet,
):  # fmt: skip
    waiting, amount, held = np.zeros(LINES, np.int64), np.zeros(LINES), 0
    slope = 1.0
    for i in order:
        if may_rest(i, rest):
            continue
        s = scores[i]
        for a in range(held):
            s += amount[a] * gram[waiting[a], i]
        change, slope = step(
            s, squares[i], i, block, params, costs, work, target, weight, loss_weight,
            ranks, grip, spread, offsets, moved, mu, rest, quiet, slope,
        )  # fmt: skip
        if change != 0.0:
            beta[i] += change
            waiting[held], amount[held] = i, change
            held += 1
            if held == LINES:
                add_lines(gram, waiting, amount, scores)
                held = 0
    amount[held:] = 0.0
    add_lines(gram, waiting, amount, scores)


@kernel
def add_lines(gram, waiting, amount, scores):
    """``scores += gram[waiting].T @ amount``."""
    a, b, c, d = gram[waiting[0]], gram[waiting[1]], gram[waiting[2]], gram[waiting[3]]
    x, y, z, w = amount[0], amount[1], amount[2], amount[3]
    for r in range(scores.shape[0]):
        scores[r] += (x * a[r] + y * b[r]) + (z * c[r] + w * d[r])
