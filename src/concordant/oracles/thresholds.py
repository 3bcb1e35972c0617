"""The block of ordinal margins: a binary loss at every threshold between two neighbouring ranks.

With gaps ``g_j = f_{j+1} - f_j`` and signs ``s_j = +1`` where the true rank lies above threshold
j, else -1, the surrogate is ``sum_j c_j phi(s_j g_j)``; phi is the hinge, the logistic loss or
the squared hinge, and ``c_j = costs[j, target]``. In terms of ``u_j``, its slopes in the gaps,

    mu = e_y + D'u,   (D'u)_j = u_{j-1} - u_j,   u_j = -s_j d_j,   d_j >= 0

so that u is minus the running sum of ``mu - e_y``, and the bonus is ``-sum_j conjugate_j(d_j)``.

The proximal question is a denoising of the path 0..k-1: with ``a = centre - e_y``,

    minimise over z:  sum_j c_j phi(s_j (g_j + t (z_{j+1} - z_j))) / t + |z - a|**2 / 2

for strength t, and ``mu - e_y = a - z``. For the hinge a forward pass of piecewise linear
derivatives, cut off at the slopes the hinge allows, solves it exactly (Johnson 2013, for the fused
lasso); for the smooth losses Newton's method does, with one tridiagonal system a step.
"""

from __future__ import annotations

import numpy as np

from concordant.oracles.blocks import kernel

HINGE, LOGISTIC, SQUARED_HINGE = 0.0, 1.0, 2.0


@kernel
def margin(base, z):
    """The binary loss at z, minus its slope d there, and its curvature."""
    if base == HINGE:
        return max(1.0 - z, 0.0), 1.0 if z < 1.0 else 0.0, 0.0
    if base == SQUARED_HINGE:
        rest = max(1.0 - z, 0.0)
        return rest * rest, 2.0 * rest, 2.0 if z < 1.0 else 0.0
    small = np.exp(-abs(z))
    d = small / (1.0 + small) if z > 0.0 else 1.0 / (1.0 + small)
    return np.log1p(small) + max(-z, 0.0), d, d * (1.0 - d)


@kernel
def price(base, c, d):
    """``-conjugate`` of c times the binary loss: what the slope d is worth."""
    if base == HINGE:
        return d
    if c <= 0.0:
        return 0.0
    if base == SQUARED_HINGE:
        return d - d * d / (4.0 * c)
    share = min(max(d / c, 0.0), 1.0)
    total = 0.0
    if share > 0.0:
        total -= share * np.log(share)
    if share < 1.0:
        total -= (1.0 - share) * np.log1p(-share)
    return c * total


@kernel
def write(target, u, mu):
    """``mu = e_y + D'u``."""
    k = mu.shape[0]
    for j in range(k):
        above = u[j] if j < k - 1 else 0.0
        below = u[j - 1] if j > 0 else 0.0
        mu[j] = below - above
    mu[target] += 1.0


@kernel
def block(scores, target, weight, params, costs, strength, centre, work, mu):
    """Weights act on examples, never inside (see `Surrogate.weighs`)."""
    k = scores.shape[0]
    base, u = params[0], work[:k]
    value, bonus = 0.0, 0.0
    for j in range(k - 1):
        sign, c = 1.0 if j < target else -1.0, costs[j, target]
        z = sign * (scores[j + 1] - scores[j])
        here, d, _ = margin(base, z)
        value += c * here
        bonus += c * (here + d * z)  # the price of d, which is attained at z
        u[j] = -sign * c * d
    if strength > 0.0:
        if base == HINGE:
            denoise(scores, target, costs, strength, centre, work[k:], u)
        else:
            newton(base, scores, target, costs, strength, centre, work[k:], u)
        bonus = 0.0
        for j in range(k - 1):
            sign = 1.0 if j < target else -1.0
            bonus += price(base, costs[j, target], -sign * u[j])
    write(target, u, mu)
    return value + scores[target], bonus


def scratch(n_classes: int) -> int:
    """Work space that `block` wants."""
    return 14 * n_classes


@kernel
def denoise(scores, target, costs, strength, centre, work, u):
    """The hinge's proximal question: forward with cut derivatives, then back along the path.

    The derivative of what the path so far costs, as a function of its last z, is a row of linear
    pieces: `at` holds where they meet, `slope` and `rise` by how much slope and intercept change
    there; they live between `left` and `right`.
    """
    k = scores.shape[0]
    a, tau, z = work[:k], work[k : 2 * k], work[2 * k : 3 * k]
    low, high = work[3 * k : 4 * k], work[4 * k : 5 * k]
    at, slope, rise = work[5 * k : 7 * k], work[7 * k : 9 * k], work[9 * k : 11 * k]
    reach, steepest = 0.0, 0.0
    for j in range(k):
        a[j] = centre[j] - (1.0 if j == target else 0.0)
        reach = max(reach, abs(a[j]))
    for j in range(k - 1):
        steepest = max(steepest, costs[j, target])
    reach = 2.0 * reach + 4.0 * steepest + 1.0  # a kink farther away is never crossed
    left, right = k, k - 1
    first, first_rise, last, last_rise = 1.0, -a[0], 1.0, -a[0]
    for j in range(k - 1):
        c = costs[j, target]
        sign = 1.0 if j < target else -1.0
        bottom, top = (-c, 0.0) if j < target else (0.0, c)
        kink = (sign - (scores[j + 1] - scores[j])) / strength
        tau[j] = min(max(kink, -reach), reach)
        low[j] = (bottom - first_rise) / first
        while left <= right and low[j] > at[left]:
            first += slope[left]
            first_rise += rise[left]
            left += 1
            low[j] = (bottom - first_rise) / first
        high[j] = (top - last_rise) / last
        while left <= right and high[j] < at[right]:
            last -= slope[right]
            last_rise -= rise[right]
            right -= 1
            high[j] = (top - last_rise) / last
        left -= 1
        at[left], slope[left], rise[left] = low[j], first, first_rise - bottom
        right += 1
        at[right], slope[right], rise[right] = high[j], -last, top - last_rise
        for knot in range(left, right + 1):
            at[knot] += tau[j]
            rise[knot] -= slope[knot] * tau[j]
        first, first_rise = 1.0, bottom - a[j + 1]
        last, last_rise = 1.0, top - a[j + 1]
    z[k - 1] = -first_rise / first
    while left <= right and z[k - 1] > at[left]:
        first += slope[left]
        first_rise += rise[left]
        left += 1
        z[k - 1] = -first_rise / first
    for j in range(k - 2, -1, -1):
        z[j] = min(max(z[j + 1] - tau[j], low[j]), high[j])
    total = 0.0
    for j in range(k - 1):
        total += z[j] - a[j]
        c = costs[j, target]
        bottom, top = (-c, 0.0) if j < target else (0.0, c)
        follow = z[j + 1] - tau[j]
        if follow <= low[j]:
            u[j] = bottom
        elif follow >= high[j]:
            u[j] = top
        else:
            u[j] = min(max(total, bottom), top)


@kernel
def newton(base, scores, target, costs, strength, centre, work, u):
    """The smooth losses' proximal question, in ``x = strength * z``, from x = 0 (mu = centre)."""
    k = scores.shape[0]
    a, x, move = work[:k], work[k : 2 * k], work[2 * k : 3 * k]
    bend, trial, ratio = work[3 * k : 4 * k], work[4 * k : 5 * k], work[5 * k : 6 * k]
    for j in range(k):
        a[j] = centre[j] - (1.0 if j == target else 0.0)
        x[j] = 0.0
    value = smooth_value(base, scores, target, costs, strength, a, x, u, bend)
    last = 4  # steps too small for the value to show; the gradient still sees them
    for _ in range(100):
        for j in range(k):  # minus the gradient, times the strength
            above = u[j] if j < k - 1 else 0.0
            below = u[j - 1] if j > 0 else 0.0
            move[j] = strength * (a[j] - (below - above)) - x[j]
        decrease = solve_tridiagonal(strength, bend, move, ratio)
        small = decrease <= 1e-9 * strength * abs(value)
        last -= small
        if not decrease > 0.0 or last < 0:
            return
        step = 1.0
        while True:
            for j in range(k):
                trial[j] = x[j] + step * move[j]
            new = smooth_value(base, scores, target, costs, strength, a, trial, u, bend)
            if small or new <= value - 1e-4 * step * decrease / strength or step < 1e-16:
                break
            step *= 0.5
        for j in range(k):
            x[j] = trial[j]
        value = new


@kernel
def smooth_value(base, scores, target, costs, strength, a, x, u, bend):
    """The smoothed path's objective at x; slopes into u, curvatures into bend."""
    k = scores.shape[0]
    value = 0.0
    for j in range(k):
        value += 0.5 * x[j] * x[j] / strength - a[j] * x[j]
    for j in range(k - 1):
        sign = 1.0 if j < target else -1.0
        c = costs[j, target]
        gap = (scores[j + 1] - scores[j]) + (x[j + 1] - x[j])
        here, d, curve = margin(base, sign * gap)
        value += c * here
        u[j] = -sign * c * d
        bend[j] = c * curve
    return value


@kernel
def solve_tridiagonal(strength, bend, move, ratio):
    """Solve ``(I + strength D' diag(bend) D) move = move`` in place; return the product of the
    two sides, the squared length of the step in that matrix."""
    k = move.shape[0]
    for j in range(k):
        trial = move[j]
        ratio[j] = 0.0
        above = strength * bend[j] if j < k - 1 else 0.0
        below = strength * bend[j - 1] if j > 0 else 0.0
        diagonal = 1.0 + above + below
        if j > 0:
            diagonal += below * ratio[j - 1]
            trial += below * move[j - 1]
        ratio[j] = -above / diagonal
        move[j] = trial / diagonal
    for j in range(k - 2, -1, -1):
        move[j] -= ratio[j] * move[j + 1]
    total = 0.0
    for j in range(k):
        total += move[j] * move[j]
        if j < k - 1:
            total += strength * bend[j] * (move[j + 1] - move[j]) ** 2
    return total
