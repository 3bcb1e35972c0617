"""Games whose costs are convex in the predicted index: absolute, squared, pinball, any V.

For a fixed mean of p, two neighbouring actions serve every column at once, so the game is

    min over m in [0, r-1] of  max_j [ f_j + L_j(m) ]

with ``L_j`` column j interpolated between rows: a convex function of one variable. Absolute
and squared distance have closed forms (thesis, Theorems 2.4 and 2.5, here in O(k)); the rest
is a search over rows and exact cuts inside one cell. `params` is ``(shape, scale)``.

The proximal question has the same shape: the adversary's answer to a mean m is the projection
q(m) of ``centre + (f + L(m))/strength``, and ``<q(m), L_{i+1} - L_i>`` is the slope in cell i.
"""

from __future__ import annotations

import numpy as np

from concordant.oracles.blocks import kernel, reduction
from concordant.oracles.games.zero_one import greedy
from concordant.oracles.simplex import dot, largest, smoothed_scores, threshold

GENERAL, ABSOLUTE, SQUARED = 0.0, 1.0, 2.0


def recognise(costs):
    r, k = costs.shape
    if r < 2:
        return None
    if r == k:
        distance = np.abs(np.arange(k)[:, None] - np.arange(k))
        for shape, power in ((ABSOLUTE, 1), (SQUARED, 2)):
            scale = costs[0, 1]
            if scale > 0 and np.array_equal(costs, scale * distance**power):
                return (shape, scale)
    bends = np.diff(costs, n=2, axis=0)
    rounding = 4e-16 * costs.max()  # a pinball's straight pieces are not quite straight
    if r == 2 or (bends >= -rounding).all():
        return (GENERAL, 1.0)
    return None


def scratch(n_actions, n_classes):
    return n_actions + 4 * n_classes


@kernel
def play(scores, params, costs, work, p, q):
    return solve(scores, params, 1.0, costs, work, p, q)


@kernel
def solve(scores, params, weight, costs, work, p, q):
    if weight == 0.0:
        p[:] = 0.0
        return greedy(scores, p[:1], q)  # no loss: q is the largest score, and any row will do
    if params[0] == ABSOLUTE:
        return solve_absolute(scores, weight * params[1], p, q)
    if params[0] == SQUARED:
        return solve_squared(scores, weight * params[1], work, p, q)
    return solve_general(scores, weight, costs, p, q)


@kernel
def mix(m, p):
    """Write the two-row strategy of mean m."""
    p[:] = 0.0
    i = min(int(m), p.shape[0] - 2)
    p[i + 1] = m - i
    p[i] = 1.0 - p[i + 1]


@kernel
def solve_absolute(scores, scale, p, q):
    """The mean of p is ``(f_j* - f_i*)/2`` plus the middle of i* and j*, and lies between."""
    value, i, j = absolute_adversary(scores, scale, q)
    m = 0.5 * ((scores[j] - scores[i]) / scale + (i + j))
    mix(min(max(m, float(i)), float(j)), p)
    return value


@kernel
def absolute_adversary(scores, scale, q):
    """``max_i (f_i - i)`` at i*, ``max_j (f_j + j)`` at j*: the value is their mean and q puts
    half on each.
    """
    top = largest(scores)
    low, high = scores[0] - top, scores[0] - top
    i, j = 0, 0
    for label in range(1, scores.shape[0]):
        left = (scores[label] - top) - scale * label
        right = (scores[label] - top) + scale * label
        if left > low:
            low, i = left, label
        if right > high:
            high, j = right, label
    q[:] = 0.0
    q[i] += 0.5
    q[j] += 0.5
    return top + 0.5 * ((scores[i] - top) + (scores[j] - top) + scale * (j - i)), i, j


@kernel
def solve_squared(scores, scale, work, p, q):
    value, left, right, at, _ = squared_adversary(scores, scale, work, q)
    if at < 0:
        p[:] = 0.0
        p[left] = 1.0
        return value
    m = 0.5 * ((scores[right] - scores[left]) / (scale * (right - left)) + left + right)
    mix(min(max(m, at - 1.0), float(at)), p)
    return value


@kernel
def squared_adversary(scores, scale, work, q):
    """Maximise ``env(x) - max_i (2ix - i**2)`` over the mean x of q, with env the upper concave
    hull of the points ``(j, f_j + j**2)``, all in units of `scale`.

    A concave function less a convex one with kinks at the half-integers l - 1/2: on a hull
    edge of slope s the sum turns down at ``l = ceil(s/2)``, if that kink lies on the edge, else
    at a vertex, where q and p are pure. Returns (value, left end, right end, l, weight of the
    right end), with l = -1 for a vertex.
    """
    k = scores.shape[0]
    x, g, slope = work[:k], work[k : 2 * k], work[2 * k : 3 * k]
    top = largest(scores)
    inverse = 1.0 / scale
    last = 0
    x[0], g[0] = 0.0, (scores[0] - top) * inverse
    for j in range(1, k):
        here = (scores[j] - top) * inverse + j * j
        rise = (here - g[last]) / (j - x[last])
        while last > 0 and rise >= slope[last - 1]:
            last -= 1
            rise = (here - g[last]) / (j - x[last])
        slope[last] = rise
        last += 1
        x[last], g[last] = j, here
    q[:] = 0.0
    edge = 0
    while edge < last:
        turn = np.ceil(0.5 * slope[edge])
        if turn - 0.5 < x[edge + 1]:
            break
        edge += 1
    left = int(x[edge])
    if edge == last or turn - 0.5 <= x[edge]:
        q[left] = 1.0
        return scores[left], left, left, -1, 0.0
    right = int(x[edge + 1])
    w = (turn - 0.5 - left) / (right - left)
    spread = (1.0 - w) * (turn - left) ** 2 + w * (right - turn) ** 2
    q[left] = 1.0 - w
    q[right] = w
    value = scores[left] + w * (scores[right] - scores[left]) + scale * spread
    return value, left, right, int(turn), w


@reduction
def row_value(scores, top, weight, row):
    """``max_j f_j + L_ij - top``: what pure row i lets the adversary reach."""
    value = (scores[0] - top) + weight * row[0]
    for j in range(1, scores.shape[0]):
        value = max(value, (scores[j] - top) + weight * row[j])
    return value


@kernel
def solve_general(scores, weight, costs, p, q):
    """Least row by bisection on the convex sequence of row values, then exact cuts in the two
    cells beside it.
    """
    r = p.shape[0]
    top = largest(scores)
    lo, hi = 0, r - 1
    while lo < hi:
        middle = (lo + hi) // 2
        here = row_value(scores, top, weight, costs[middle])
        if row_value(scores, top, weight, costs[middle + 1]) < here:
            lo = middle + 1
        else:
            hi = middle
    best = row_value(scores, top, weight, costs[lo])
    value, m, left, right = best, float(lo), -1, -1
    for i in range(max(lo - 1, 0), min(lo + 1, r - 1)):
        v, t, j1, j2 = cell(scores, top, weight, costs, i)
        if j1 >= 0 and v < value:
            value, m, left, right = v, i + t, j1, j2
    q[:] = 0.0
    if left < 0:
        kink(scores, top, weight, costs, lo, best, q)
    else:
        i = min(int(m), r - 2)
        fall = costs[i + 1, left] - costs[i, left]
        rise = costs[i + 1, right] - costs[i, right]
        share = rise / (rise - fall) if rise > fall else 1.0
        q[left] += share
        q[right] += 1.0 - share
    mix(m, p)
    return top + value


@kernel
def cell(scores, top, weight, costs, i):
    """Minimum over t in [0, 1] of ``max_j (1-t) a_j + t b_j`` between rows i and i+1.

    Returns (value, t, falling line, rising line); the lines are -1 where the minimum is at an
    end. Meet the active falling and rising line, take in the line that is highest above the
    meeting point, until none is: finite, because no line comes twice.
    """
    k = scores.shape[0]
    falling, rising = 0, 0
    a1, b1, a2, b2 = -np.inf, -np.inf, -np.inf, -np.inf
    for j in range(k):
        a = (scores[j] - top) + weight * costs[i, j]
        b = (scores[j] - top) + weight * costs[i + 1, j]
        if a > a1 or (a == a1 and b > b1):  # highest at t = 0 and just after
            a1, b1, falling = a, b, j
        if b > b2 or (b == b2 and a > a2):  # highest at t = 1 and just before
            a2, b2, rising = a, b, j
    if b1 >= a1:
        return a1, 0.0, -1, -1
    if b2 <= a2:
        return b2, 1.0, -1, -1
    value, t = a1, 0.0
    for _ in range(2 * k):
        t = (a1 - a2) / ((b2 - a2) - (b1 - a1))
        value = (1.0 - t) * a1 + t * b1
        height, line, a_line, b_line = value + 1e-15 * abs(value), -1, 0.0, 0.0
        for j in range(k):
            a = (scores[j] - top) + weight * costs[i, j]
            b = (scores[j] - top) + weight * costs[i + 1, j]
            here = (1.0 - t) * a + t * b
            if here > height:
                height, line, a_line, b_line = here, j, a, b
        if line < 0 or line == falling or line == rising:
            break
        if b_line < a_line:
            falling, a1, b1 = line, a_line, b_line
        elif b_line > a_line:
            rising, a2, b2 = line, a_line, b_line
        else:  # a flat line above all others: q sits on it
            return height, t, line, line
    return value, t, falling, rising


@kernel
def kink(scores, top, weight, costs, i, best, q):
    """The adversary when the predictor plays pure row i: lines active there, mixed so that
    moving up or down a row gains nothing.

    `j1` falls least to the right, `j2` rises least from the left. Mixed so that the slope to
    the right is 0, the slope to the left is at most 0 by convexity.
    """
    r = costs.shape[0]
    slack = 1e-14 * (abs(best) + weight * largest(costs[i]))
    j1, j2, right1, left2 = -1, -1, -np.inf, np.inf
    for j in range(scores.shape[0]):
        if (scores[j] - top) + weight * costs[i, j] < best - slack:
            continue
        if i + 1 < r and costs[i + 1, j] - costs[i, j] > right1:
            j1, right1 = j, costs[i + 1, j] - costs[i, j]
        if i > 0 and costs[i, j] - costs[i - 1, j] < left2:
            j2, left2 = j, costs[i, j] - costs[i - 1, j]
    if i == 0 or i == r - 1:
        q[j1 if i == 0 else j2] = 1.0
        return
    right2 = costs[i + 1, j2] - costs[i, j2]
    if right2 >= 0.0:
        q[j2] = 1.0
    elif right1 <= 0.0:
        q[j1] = 1.0
    else:
        share = -right2 / (right1 - right2)
        q[j1] += share
        q[j2] += 1.0 - share


@kernel
def answer(x, costs, i, t, weight, strength, mu, shifted):
    """q(m) at m = i + t, and the slope ``weight <q, L_{i+1} - L_i>`` of the game there, with
    the number and sum of slopes on its support, for Newton's step."""
    k = x.shape[0]
    for j in range(k):
        step = costs[i + 1, j] - costs[i, j]
        shifted[j] = x[j] + weight * (costs[i, j] + t * step) / strength
    level = threshold(shifted, 1.0)
    slope, number, total, squares = 0.0, 0, 0.0, 0.0
    for j in range(k):
        mu[j] = max(shifted[j] - level, 0.0)
        if mu[j] > 0.0:
            step = weight * (costs[i + 1, j] - costs[i, j])
            slope += mu[j] * step
            number += 1
            total += step
            squares += step * step
    curvature = (squares - total * total / number) / strength
    return slope, curvature


@kernel
def prox(scores, weight, costs, strength, centre, work, mu):
    """Minimise the smoothed game over the mean m: find the cell, then Newton inside it."""
    r, k = costs.shape
    p, x, shifted = work[:r], work[r : r + k], work[r + k : r + 2 * k]
    smoothed_scores(scores, strength, centre, x)
    lo, hi = 0, r - 2  # the first cell whose slope at its right end is >= 0
    while lo < hi:
        middle = (lo + hi) // 2
        slope, _ = answer(x, costs, middle, 1.0, weight, strength, mu, shifted)
        if slope >= 0.0:
            hi = middle
        else:
            lo = middle + 1
    a, b, t = 0.0, 1.0, 0.0
    tried_end = False
    for _ in range(100):
        slope, curvature = answer(x, costs, lo, t, weight, strength, mu, shifted)
        if slope >= 0.0:
            b = t
        if slope <= 0.0:
            a = t
        if a >= b:
            break
        step = t - slope / curvature if curvature > 0.0 else (2.0 if slope < 0.0 else -1.0)
        if abs(step - t) <= 1e-15 or b - a <= 1e-15:
            break
        if step >= 1.0 and b == 1.0 and not tried_end:
            step, tried_end = 1.0, True
        elif not a < step < b:
            step = 0.5 * (a + b)
        t = step
    total = 0.0
    for j in range(k):
        total += mu[j]
    for j in range(k):
        mu[j] /= total
    mix(lo + t, p)
    return two_row_bounds(scores, weight, costs, lo, t, mu)


@kernel
def two_row_bounds(scores, weight, costs, i, t, mu):
    """Upper bound from the predictor's mix, and the bonus ``min_i (L mu)_i``."""
    upper = -np.inf
    for j in range(costs.shape[1]):
        cost = costs[i, j] + t * (costs[i + 1, j] - costs[i, j])
        upper = max(upper, scores[j] + weight * cost)
    return upper, weight * least_row(costs, mu)


@kernel
def least_row(costs, mu):
    """``min_i (L mu)_i``, by bisection: the rows are a convex sequence."""
    lo, hi = 0, costs.shape[0] - 1
    while lo < hi:
        middle = (lo + hi) // 2
        if dot(costs[middle + 1], mu) < dot(costs[middle], mu):
            lo = middle + 1
        else:
            hi = middle
    return dot(costs[lo], mu)


@kernel
def block(scores, target, weight, params, costs, strength, centre, work, mu):
    if strength == 0.0:
        if weight > 0.0 and params[0] == ABSOLUTE:
            value, i, j = absolute_adversary(scores, weight * params[1], mu)
            return value, 0.5 * weight * params[1] * (j - i)
        if weight > 0.0 and params[0] == SQUARED:
            scale = weight * params[1]
            value, left, right, row, w = squared_adversary(scores, scale, work, mu)
            if row < 0:
                return value, 0.0
            return value, scale * ((1.0 - w) * (row - left) ** 2 + w * (right - row) ** 2)
        p = work[: costs.shape[0]]
        stack = work[costs.shape[0] :]
        value = solve(scores, params, weight, costs, stack, p, mu)
        return value, weight * least_row(costs, mu)
    return prox(scores, weight, costs, strength, centre, work, mu)
