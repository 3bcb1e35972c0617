"""Blocks of the margin surrogates: hinge, Weston-Watkins, Lee-Lin-Wahba, one-vs-rest, squares.

`costs` is the k x k table ``D[j, y]``: what label j, acted on, costs when y is the truth.
"""

from __future__ import annotations

from concordant.oracles.blocks import kernel
from concordant.oracles.entropy import augmented
from concordant.oracles.simplex import clip_into, clip_root, project


@kernel
def hinge_block(scores, target, weight, params, costs, strength, centre, work, mu):
    """``max_j f_j + w D[j, y]``: bonus ``w <D_y, mu>`` on the simplex."""
    k = scores.shape[0]
    raised = work[:k]
    best = augmented(scores, target, weight, costs, raised)
    upper = raised[best]
    if strength == 0.0:
        mu[:] = 0.0
        mu[best] = 1.0
        return upper, weight * costs[best, target]
    for j in range(k):
        raised[j] = centre[j] + max((raised[j] - upper) / strength, -1e100)
    project(raised, mu)
    bonus = 0.0
    for j in range(k):
        bonus += weight * costs[j, target] * mu[j]
    return upper, bonus


@kernel
def pairwise_block(scores, target, weight, params, costs, strength, centre, work, mu):
    """Weston and Watkins: ``sum_{j != y} [w D_jy + f_j - f_y]_+``.

    mu_j = d_j in [0, 1] for the other labels and ``mu_y = 1 - sum d``. The proximal terms
    couple only through that sum, so d_j = clip(.. - u, 0, 1) with one unknown u.
    """
    k = scores.shape[0]
    value, bonus = 0.0, 0.0
    if strength == 0.0:
        total = 0.0
        for j in range(k):
            gap = weight * costs[j, target] + scores[j] - scores[target]
            mu[j] = 0.0
            if j != target and gap > 0.0:
                mu[j] = 1.0
                total += 1.0
                value += gap
                bonus += weight * costs[j, target]
        mu[target] = 1.0 - total
        return value + scores[target], bonus
    x, cap = work[:k], work[k : 2 * k]
    for j in range(k):
        gap = weight * costs[j, target] + scores[j] - scores[target]
        x[j] = centre[j] + gap / strength
        cap[j] = 1.0
        if j != target and gap > 0.0:
            value += gap
    x[target], cap[target] = 0.0, 0.0
    u = clip_root(x, cap, -1.0, 1.0 - centre[target])
    clip_into(x, cap, u, mu)
    mu[target] = 0.0
    total = 0.0
    for j in range(k):
        total += mu[j]
        bonus += weight * costs[j, target] * mu[j]
    mu[target] = 1.0 - total
    return value + scores[target], bonus


@kernel
def centred_block(scores, target, weight, params, costs, strength, centre, work, mu):
    """Lee, Lin and Wahba: ``sum_{j != y} w D_jy [1 + g_j]_+`` with g = f - mean(f).

    Their sum-to-zero constraint is the projection g. ``mu - e_y = d - mean(d)`` with
    ``0 <= d_j <= w D_jy`` and d_y = 0.
    """
    k = scores.shape[0]
    mean = 0.0
    for j in range(k):
        mean += scores[j] / k
    value, total = 0.0, 0.0
    x, cap = work[:k], work[k : 2 * k]
    for j in range(k):
        cap[j] = weight * costs[j, target] if j != target else 0.0
        value += cap[j] * max(1.0 + scores[j] - mean, 0.0)
    if strength == 0.0:
        for j in range(k):
            mu[j] = cap[j] if 1.0 + scores[j] - mean > 0.0 else 0.0
    else:
        shift = 0.0  # makes `centre - e_y` sum to zero, whatever it was
        for j in range(k):
            shift += centre[j] / k
        shift -= 1.0 / k
        for j in range(k):
            x[j] = centre[j] - shift + (1.0 + scores[j] - mean) / strength
        x[target] = 0.0
        u = clip_root(x, cap, float(k), 0.0)
        clip_into(x, cap, u, mu)
        mu[target] = 0.0
    for j in range(k):
        total += mu[j]
    for j in range(k):
        mu[j] -= total / k
    mu[target] += 1.0
    return value + scores[target], total


@kernel
def one_vs_rest_block(scores, target, weight, params, costs, strength, centre, work, mu):
    """A binary hinge a label: ``[1 - f_y]_+ + sum_{j != y} [1 + f_j]_+``."""
    value, bonus = 0.0, 0.0
    for j in range(scores.shape[0]):
        sign = -1.0 if j == target else 1.0
        gap = 1.0 + sign * scores[j]
        value += max(gap, 0.0)
        at = 1.0 if j == target else 0.0
        if strength == 0.0:
            d = 1.0 if gap > 0.0 else 0.0
        else:
            d = min(max(sign * (centre[j] - at) + gap / strength, 0.0), 1.0)
        mu[j] = at + sign * d
        bonus += d
    return value + scores[target], bonus


@kernel
def square_block(scores, target, weight, params, costs, strength, centre, work, mu):
    """``|f - w e_y|**2 / 2``: bonus ``-|mu - (1-w) e_y|**2 / 2`` on the whole space."""
    upper, bonus = 0.0, 0.0
    for j in range(scores.shape[0]):
        rest = 1.0 - weight if j == target else 0.0
        upper += 0.5 * scores[j] * scores[j] + rest * scores[j]
        pull = strength * centre[j] if strength > 0.0 else 0.0
        mu[j] = (scores[j] + rest + pull) / (1.0 + strength)
        bonus -= 0.5 * (mu[j] - rest) * (mu[j] - rest)
    return upper, bonus
