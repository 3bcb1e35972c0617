"""Compiled passes of dual coordinate ascent, one kernel a kind of features.

Each visits examples in the given order, solves the route's proximal question at the example's
scores with its features' squared norm as strength, and moves the weights by the change of mu.
They call the route's compiled block, so one pass serves every route.

`v` holds the dual weights: the weights themselves under a ridge penalty, and before the soft
threshold ``l1`` and the division by ``l2`` of an elastic net. Its last row is the intercept
when `pull` > 0, the strength with which intercepts follow.

An example whose mu did not change rests for a while, twice as long each time: at the solution
most hinge-like examples never change again. Certificates look at all examples, so this cannot
make a wrong answer pass.
"""

from __future__ import annotations

from concordant.oracles.blocks import kernel

LONGEST_REST = 5  # as a power of two
ROUNDING = 1e-14  # a change of mu that is none


@kernel
def may_rest(i, rest):
    if rest[i] > 0:
        rest[i] -= 1
        return True
    return False


@kernel
def settle(i, weight, mu, new, change, rest, quiet):
    """Store the new mu; `change` becomes the residual ``-weight * (new - old)``."""
    moved = False
    for j in range(new.shape[0]):
        change[j] = 0.0
        if abs(new[j] - mu[i, j]) > ROUNDING:
            change[j] = weight * (mu[i, j] - new[j])
            mu[i, j] = new[j]
            moved = True
    if moved:
        quiet[i] = 0
    else:
        quiet[i] = min(quiet[i] + 1, LONGEST_REST)
        rest[i] = (1 << quiet[i]) - 1
    return moved


@kernel
def soft(v, l1, l2):
    if v > l1:
        return (v - l1) / l2
    if v < -l1:
        return (v + l1) / l2
    return 0.0


@kernel
def dense_pass(
    x, order, block, params, costs, work, norms, target, weight, loss_weight, l2, l1, pull,
    mu, v, rest, quiet,
):  # fmt: skip
    d, k = x.shape[1], mu.shape[1]
    f, new, change, scratch = work[:k], work[k : 2 * k], work[2 * k : 3 * k], work[3 * k :]
    plain = l1 == 0.0
    for i in order:
        if may_rest(i, rest):
            continue
        for j in range(k):
            f[j] = v[d, j] if pull > 0.0 else 0.0
        for a in range(d):
            xa = x[i, a]
            if xa != 0.0:
                if plain:
                    xa /= l2
                    for j in range(k):
                        f[j] += xa * v[a, j]
                else:
                    for j in range(k):
                        f[j] += xa * soft(v[a, j], l1, l2)
        strength = weight[i] * (norms[i] / l2 + pull)
        if strength <= 0.0:
            continue
        block(f, target[i], loss_weight[i], params, costs, strength, mu[i], scratch, new)
        if settle(i, weight[i], mu, new, change, rest, quiet):
            for a in range(d):
                xa = x[i, a]
                if xa != 0.0:
                    for j in range(k):
                        v[a, j] += xa * change[j]
            if pull > 0.0:
                for j in range(k):
                    v[d, j] += pull * change[j]


@kernel
def sparse_pass(
    indptr, indices, data, order, block, params, costs, work, norms, target, weight,
    loss_weight, l2, l1, pull, mu, v, rest, quiet,
):  # fmt: skip
    k = mu.shape[1]
    d = v.shape[0] - 1
    f, new, change, scratch = work[:k], work[k : 2 * k], work[2 * k : 3 * k], work[3 * k :]
    for i in order:
        if may_rest(i, rest):
            continue
        for j in range(k):
            f[j] = v[d, j] if pull > 0.0 else 0.0
        for at in range(indptr[i], indptr[i + 1]):
            a = indices[at]
            for j in range(k):
                f[j] += data[at] * soft(v[a, j], l1, l2)
        strength = weight[i] * (norms[i] / l2 + pull)
        if strength <= 0.0:
            continue
        block(f, target[i], loss_weight[i], params, costs, strength, mu[i], scratch, new)
        if settle(i, weight[i], mu, new, change, rest, quiet):
            for at in range(indptr[i], indptr[i + 1]):
                a = indices[at]
                for j in range(k):
                    v[a, j] += data[at] * change[j]
            if pull > 0.0:
                for j in range(k):
                    v[d, j] += pull * change[j]


@kernel
def kernel_pass(
    gram, mean, level, order, block, params, costs, work, norms, target, weight, loss_weight, pull,
    mu, beta, scores, intercept, total, base, rest, quiet,
):  # fmt: skip
    """As above with scores in place of weights: a change of mu adds a row of the kernel.

    `scores` have one row a class and are products with `gram` as it stands; `total` and `base`
    correct them for the mean (see `KernelScorer`). Few classes change in a step, so a row of the
    kernel is added to few of them, each contiguous.
    """
    k = scores.shape[0]
    f, new, change, scratch = work[:k], work[k : 2 * k], work[2 * k : 3 * k], work[3 * k :]
    for i in order:
        if may_rest(i, rest):
            continue
        strength = weight[i] * (norms[i] + pull)
        if strength <= 0.0:
            continue
        for j in range(k):
            f[j] = scores[j, i] - mean[i] * total[j] + (base[j] + intercept[j])
        block(f, target[i], loss_weight[i], params, costs, strength, mu[i], scratch, new)
        if settle(i, weight[i], mu, new, change, rest, quiet):
            for j in range(k):
                if change[j] != 0.0:
                    add_multiple(change[j], gram[i], 0, gram.shape[1], scores[j])
                    beta[i, j] += change[j]
                    total[j] += change[j]
                    base[j] += (level - mean[i]) * change[j]
                    if pull > 0.0:
                        intercept[j] += pull * change[j]


@kernel
def add_multiple(factor, x, start, stop, out):
    """``out += factor * x`` from `start` to `stop`."""
    for r in range(start, stop):
        out[r] += factor * x[r]


@kernel
def add_rows(gram, beta, active, start, stop, out):
    """Columns `start` to `stop` of ``beta' gram``, of which only the rows `active` are not zero."""
    for i in active:
        for j in range(beta.shape[1]):
            if beta[i, j] != 0.0:
                add_multiple(beta[i, j], gram[i], start, stop, out[j])


@kernel
def copy_block(gram, rows, start, stop, out):
    """Rows `start` to `stop` of the matrix between the examples `rows`."""
    for a in range(start, stop):
        source = gram[rows[a]]
        for b in range(rows.shape[0]):
            out[a, b] = source[rows[b]]
