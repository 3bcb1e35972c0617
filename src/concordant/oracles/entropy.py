"""Blocks whose bonus has an entropy: log loss, and the hybrid of log loss and hinge.

The proximal question of the entropy separates, given the multiplier nu of ``sum_j x_j = 1``,
into ``rate * x_j + log x_j = r_j - nu``: Lambert's function, here by Newton's method.
"""

from __future__ import annotations

import numpy as np

from concordant.oracles.blocks import kernel
from concordant.oracles.simplex import dot, largest, project


@kernel
def softmax(scores, out):
    """Write the softmax and return the log-partition."""
    top = largest(scores)
    total = 0.0
    for j in range(scores.shape[0]):
        out[j] = np.exp(scores[j] - top)
        total += out[j]
    for j in range(scores.shape[0]):
        out[j] /= total
    return top + np.log(total)


@kernel
def log_sum_exp(x):
    top = largest(x)
    total = 0.0
    for j in range(x.shape[0]):
        total += np.exp(x[j] - top)
    return top + np.log(total)


@kernel
def entropy(x):
    total = 0.0
    for j in range(x.shape[0]):
        if x[j] > 0.0:
            total -= x[j] * np.log(x[j])
    return total


@kernel
def plus_log(t):
    """The y > 0 with ``y + log y = t``."""
    if t < -40.0:
        return np.exp(t)
    return polish(t, rough_plus_log(t))


@kernel
def rough_plus_log(t):
    if t > 2.0:
        return t - np.log(t)
    power = np.exp(min(t, 1.0))
    return power / (1.0 + 0.6 * power)


@kernel
def plus_log_near(t, y):
    """The same from a y > 0 that may be near."""
    if abs(t - y - np.log(y)) > 0.5 * (1.0 + y):
        return plus_log(t)
    return polish(t, y)


@kernel
def polish(t, y):
    """An iteration of the fourth order (Fritsch, Shafer and Crowley 1973), one logarithm a step."""
    for _ in range(20):
        left = t - y - np.log(y)
        one = 1.0 + y
        q = 2.0 * one * (one + left * (2.0 / 3.0))
        change = left / one * (q - left) / (q - 2.0 * left)
        y += change * y
        if abs(change) <= 1e-4:  # the error was that, and is its fourth power
            break
    return y


@kernel
def prox_entropy(r, rate, out):
    """Maximise ``<r, x> + entropy(x) - rate/2 |x|**2`` on the simplex.

    Newton's method on nu from the left of the root of a convex decreasing function.
    """
    k = r.shape[0]
    nu = softmax(r, out) - rate
    shift = np.log(rate)
    for step_number in range(60):
        total, slope = 0.0, 0.0
        for j in range(k):
            t = r[j] - nu + shift
            near = step_number > 0 and out[j] > 1e-3
            y = plus_log_near(t, rate * out[j]) if near else plus_log(t)
            out[j] = y / rate
            total += out[j]
            slope += out[j] / (1.0 + y)
        step = (total - 1.0) / slope
        nu += step
        if abs(total - 1.0) <= 1e-14 or abs(step) <= 1e-16 * abs(nu):
            break
    total = 0.0
    for j in range(k):
        total += out[j]
    for j in range(k):
        out[j] /= total


@kernel
def log_block(scores, target, weight, params, costs, strength, centre, work, mu):
    """Bonus = entropy. Weights act on examples, never inside (see `Surrogate.weighs`)."""
    k = scores.shape[0]
    if strength == 0.0:
        value = softmax(scores, mu)
        return value, value - dot(scores, mu)
    r = work[:k]
    top = largest(scores)
    for j in range(k):
        r[j] = max(scores[j] - top, -1e100) + strength * centre[j]
    prox_entropy(r, strength, mu)
    return softmax(scores, r), entropy(mu)


@kernel
def augmented(scores, target, weight, costs, out):
    """``max_j f_j + w D[j, y]`` and where."""
    best = 0
    for j in range(scores.shape[0]):
        out[j] = scores[j] + weight * costs[j, target]
        if out[j] > out[best]:
            best = j
    return best


@kernel
def hybrid_block(scores, target, weight, params, costs, strength, centre, work, mu):
    """``alpha * weight * log + (1 - alpha) * hinge``, the hinge's loss weighted inside.

    The maximiser is ``A x + B z + (1 - A - B) e_y`` with masses ``A = alpha weight``,
    ``B = 1 - alpha``, x the log part's and z the hinge's.
    """
    k = scores.shape[0]
    a, b = params[0] * weight, 1.0 - params[0]
    x, z, shifted, h = work[:k], work[k : 2 * k], work[2 * k : 3 * k], work[3 * k : 4 * k]
    best = augmented(scores, target, weight, costs, shifted)
    rest = 1.0 - a - b
    if strength == 0.0:
        upper = a * softmax(scores, x) + b * shifted[best] + rest * scores[target]
        for j in range(k):
            mu[j] = a * x[j]
        mu[best] += b
        mu[target] += rest
        return upper, upper - dot(scores, mu)
    upper = a * softmax(scores, x) + b * shifted[best] + rest * scores[target]
    top = largest(scores)
    for j in range(k):
        h[j] = max(scores[j] - top, -1e100) + strength * centre[j]
    h[target] -= strength * rest
    if a == 0.0 and b == 0.0:
        x[:] = 0.0
    elif a == 0.0:
        for j in range(k):
            z[j] = (h[j] + weight * costs[j, target]) / (strength * b)
        project(z, z)
    elif b == 0.0:
        prox_entropy(h, strength * a, x)
    else:
        prox_mixture(h, a, b, strength, target, weight, costs, shifted, x, z)
    gain = 0.0
    for j in range(k):
        mu[j] = 0.0
        if a > 0.0:
            mu[j] += a * x[j]
        if b > 0.0:
            mu[j] += b * z[j]
            gain += b * weight * costs[j, target] * z[j]
    if a > 0.0:
        gain += a * entropy(x)
    mu[target] += rest
    return upper, gain


@kernel
def prox_mixture(h, a, b, strength, target, weight, costs, g, x, z):
    """Both parts at once, from the proximal form of the hybrid itself:

        minimise over g:  a log sum exp(g) + b max(g + D_y) + |g - h|**2 / (2 strength).

    Given t = max(g + D_y) and the log-partition Z, every g_j is the smaller of ``t - D_jy`` and
    ``h_j - strength a x_j``, where ``x_j = exp(g_j - Z)``. Newton's method on t in a bracket,
    with one on Z inside; ``a x + b z = (h - g)/strength``, so that
    ``sum (h - g) = strength (a + b)`` at the solution, which falls as t grows.
    """
    k = h.shape[0]
    rate = strength * a
    prox_entropy(h, rate, x)  # without the hinge: its t is an upper bound
    low, high = -np.inf, -np.inf
    for j in range(k):
        cost = weight * costs[j, target]
        low = max(low, h[j] + cost)
        high = max(high, h[j] - rate * x[j] + cost)
    low = min(low - strength * (a + b), high)
    t = high
    z_last = np.nan
    for step in range(200):
        slope, z_last = partition_below(h, t, rate, target, weight, costs, z_last, g, x)
        excess, size = -strength * (a + b), strength
        for j in range(k):
            excess += h[j] - g[j]
            size += abs(h[j])
        if excess > 0.0:
            low = t
        else:
            high = t
        if abs(excess) <= 4e-16 * size or high - low <= 2e-16 * (abs(low) + abs(high)):
            break
        t += excess / slope
        if not low < t < high or step % 8 == 7:
            t = 0.5 * (low + high)
    total_x, total_z = 0.0, 0.0
    for j in range(k):
        tied = g[j] >= t - weight * costs[j, target]
        z[j] = max((h[j] - g[j]) / strength - a * x[j], 0.0) if tied else 0.0
        total_x += x[j]
        total_z += z[j]
    for j in range(k):
        x[j] /= total_x
        z[j] = z[j] / total_z if total_z > 0.0 else x[j]


@kernel
def partition_below(h, t, rate, target, weight, costs, z, g, x):
    """For a given t, write g and the x that sums to one; return how fast ``sum g`` grows with t,
    and the log-partition.

    The log-partition Z is found between its values at the least and at the greatest g there
    can be; Newton's method on the logarithm of ``sum x``, from the `z` and the x of a t nearby
    if there are any.
    """
    k = h.shape[0]
    shift = np.log(rate)
    for j in range(k):
        g[j] = min(t - weight * costs[j, target], h[j])
    high = log_sum_exp(g)
    for j in range(k):
        g[j] = min(t - weight * costs[j, target], h[j] - rate)
    low = log_sum_exp(g)
    if not low < z < high:
        z = high
    tied, loose = 0.0, 0.0
    for step in range(200):
        total, tied, loose = 0.0, 0.0, 0.0
        for j in range(k):
            limit = t - weight * costs[j, target]
            y = h[j] - z + shift
            if x[j] > 1e-3:
                x[j] = plus_log_near(y, rate * x[j]) / rate
            else:
                x[j] = plus_log(y) / rate
            g[j] = h[j] - rate * x[j]
            if g[j] >= limit:
                g[j] = limit
                x[j] = np.exp(limit - z)
                tied += x[j]
            else:
                loose += x[j] / (1.0 + rate * x[j])
            total += x[j]
        if total > 1.0:
            low = z
        else:
            high = z
        if abs(total - 1.0) <= 4e-15 or high - low <= 2e-16 * (abs(low) + abs(high)):
            break
        z += np.log(total) * total / (tied + loose)
        if not low < z < high or step % 8 == 7:
            z = 0.5 * (low + high)
    follow = tied / (tied + loose)
    slope = 0.0
    for j in range(k):
        if g[j] == t - weight * costs[j, target]:
            slope += 1.0
        else:
            slope += rate * x[j] / (1.0 + rate * x[j]) * follow
    return slope, z


@kernel
def split(nu, a, b, target, weight, costs, x, z):
    """Best split ``nu = A x + B z`` into a log part and a hinge part; returns its bonus.

    ``A H(x) + B w <D_y, z>`` is greatest at ``x_j = min(nu_j / A, exp(-w D_jy - t))`` with t
    such that x sums to one. If `nu` is not a valid sum, x and z are only made feasible.
    """
    k = nu.shape[0]
    if a == 0.0 and b == 0.0:  # a weightless example of the log loss: no part is free
        return 0.0
    if a == 0.0 or b == 0.0:
        for j in range(k):
            x[j] = max(nu[j], 0.0) / max(a, b)
            z[j] = x[j]
        project(x, x)
        project(z, z)
        gain = a * entropy(x) if a > 0.0 else 0.0
        for j in range(k):
            gain += b * weight * costs[j, target] * z[j]
        return gain
    least = np.inf
    for j in range(k):
        least = min(least, weight * costs[j, target])
    for j in range(k):
        z[j] = np.exp(least - weight * costs[j, target])
    # sum_j min(nu_j / A, s z_j) = 1 is concave and piecewise linear in s: Newton's method from the
    # left stays there and drops terms for good.
    s, total = 0.0, 0.0
    for _ in range(k + 1):
        slope = 0.0
        for j in range(k):
            slope += z[j] if s * z[j] < nu[j] / a else 0.0
        if slope <= 0.0:
            break
        step = (1.0 - total) / slope
        s += step
        total = 0.0
        for j in range(k):
            total += min(max(nu[j], 0.0) / a, s * z[j])
        if step <= 1e-16 * s:
            break
    for j in range(k):
        x[j] = min(max(nu[j], 0.0) / a, s * z[j])
    for j in range(k):
        x[j] = x[j] / total if total > 0.0 else 1.0 / k
        z[j] = max(nu[j] - a * x[j], 0.0) / b
    project(z, z)
    gain = a * entropy(x)
    for j in range(k):
        gain += b * weight * costs[j, target] * z[j]
    return gain


@kernel
def split_rows(nu, a, b, target, weight, costs, bonus):
    """The hybrid's bonus of every row; `a` is per example because weights are."""
    k = nu.shape[1]
    x, z = np.empty(k), np.empty(k)
    for i in range(nu.shape[0]):
        bonus[i] = split(nu[i], a[i], b, target[i], weight[i], costs, x, z)
