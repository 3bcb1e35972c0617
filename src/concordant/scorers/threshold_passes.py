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

from concordant.oracles.blocks import kernel
from concordant.oracles.simplex import dot
from concordant.scorers.passes import may_rest, settle, soft


@kernel
def step(
    s, square, i, block, params, costs, work, target, weight, loss_weight, ranks, grip, spread,
    offsets, moved, mu, rest, quiet,
):  # fmt: skip
    """Example i's exact step; returns the change of what multiplies its features."""
    k = ranks.shape[0]
    f, shifted, new, change = work[:k], work[k : 2 * k], work[2 * k : 3 * k], work[3 * k : 4 * k]
    scratch = work[4 * k :]
    for j in range(k):
        f[j] = s * ranks[j] + offsets[j]
    strength, held = weight[i] * square, weight[i] * grip
    if held <= 0.0:
        return 0.0
    old = dot(ranks, mu[i])
    block(f, target[i], loss_weight[i], params, costs, held, mu[i], scratch, new)
    alpha, wrong = 0.0, -strength * (dot(ranks, new) - old)
    if strength > 0.0 and abs(wrong) > 1e-14:
        # The root lies between 0 and -wrong, because the slope is at least 1.
        a, at_a, b = 0.0, wrong, -wrong
        at_b = 0.0
        for trial in range(60):
            if trial == 0:
                alpha = b
            elif trial % 3 == 2:
                alpha = 0.5 * (a + b)
            else:
                alpha = a - at_a * (b - a) / (at_b - at_a)
            for j in range(k):
                shifted[j] = f[j] - alpha * ranks[j]
            block(shifted, target[i], loss_weight[i], params, costs, held, mu[i], scratch, new)
            here = alpha - strength * (dot(ranks, new) - old)
            if abs(here) <= 1e-7 * abs(wrong):
                break
            same_side = (here > 0.0) == (at_a > 0.0)
            if trial == 0:
                if same_side:  # by rounding: the end is the root
                    break
                at_b = here
            elif same_side:
                a, at_a = alpha, here
            else:
                b, at_b = alpha, here
            if abs(b - a) <= 1e-14 * abs(alpha):
                break
    if not settle(i, weight[i], mu, new, change, rest, quiet):
        return 0.0
    for j in range(k):
        moved[j] += change[j]
        for l in range(k):
            offsets[j] += spread[j, l] * change[l]
    return dot(ranks, change)


@kernel
def dense_pass(
    x, l2, l1, v, order, block, params, costs, work, squares, target, weight, loss_weight, ranks,
    grip, spread, offsets, moved, mu, rest, quiet,
):  # fmt: skip
    for i in order:
        if may_rest(i, rest):
            continue
        s = 0.0
        for a in range(x.shape[1]):
            s += x[i, a] * soft(v[a], l1, l2)
        change = step(
            s, squares[i] / l2, i, block, params, costs, work, target, weight, loss_weight, ranks,
            grip, spread, offsets, moved, mu, rest, quiet,
        )  # fmt: skip
        if change != 0.0:
            for a in range(x.shape[1]):
                v[a] += change * x[i, a]


@kernel
def sparse_pass(
    indptr, indices, data, l2, l1, v, order, block, params, costs, work, squares, target, weight,
    loss_weight, ranks, grip, spread, offsets, moved, mu, rest, quiet,
):  # fmt: skip
    for i in order:
        if may_rest(i, rest):
            continue
        s = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            s += data[at] * soft(v[indices[at]], l1, l2)
        change = step(
            s, squares[i] / l2, i, block, params, costs, work, target, weight, loss_weight, ranks,
            grip, spread, offsets, moved, mu, rest, quiet,
        )  # fmt: skip
        if change != 0.0:
            for at in range(indptr[i], indptr[i + 1]):
                v[indices[at]] += change * data[at]


@kernel
def kernel_pass(
    gram, beta, scores, order, block, params, costs, work, squares, target, weight, loss_weight,
    ranks, grip, spread, offsets, moved, mu, rest, quiet,
):  # fmt: skip
    for i in order:
        if may_rest(i, rest):
            continue
        change = step(
            scores[i], squares[i], i, block, params, costs, work, target, weight, loss_weight,
            ranks, grip, spread, offsets, moved, mu, rest, quiet,
        )  # fmt: skip
        if change != 0.0:
            column = gram[i]
            for r in range(scores.shape[0]):
                scores[r] += change * column[r]
            beta[i] += change
