"""Projections on the simplex and its relatives, for one example at a time."""

from __future__ import annotations

import numpy as np

from concordant.oracles.blocks import kernel, reduction


@reduction
def dot(a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@reduction
def largest(x):
    top = x[0]
    for j in range(1, x.shape[0]):
        top = max(top, x[j])
    return top


@kernel
def lower(scores, out):
    """Write ``scores - max(scores)`` and return the maximum: what the players see of scores,
    without the size they share."""
    top = largest(scores)
    for j in range(scores.shape[0]):
        out[j] = scores[j] - top
    return top


@reduction
def excess(x, t):
    """``sum_j (x_j - t)_+`` and how many terms are positive."""
    above, number = 0.0, 0.0
    for j in range(x.shape[0]):
        rest = x[j] - t
        above += rest if rest > 0.0 else 0.0
        number += 1.0 if rest > 0.0 else 0.0
    return above, number


@kernel
def threshold(x, total):
    """The t with ``sum_j (x_j - t)_+ = total``, for total > 0.

    The left side is convex and decreasing in t. Newton's method from the left
    of the root never overshoots and each step drops entries for good, so it
    ends after at most k steps; from ``max(x) - total`` it usually takes three.
    """
    t = largest(x) - total
    count = x.shape[0] + 1.0
    while True:
        above, number = excess(x, t)
        if number >= count or number == 0.0:  # (more of them only by rounding)
            return t
        count = number
        t += (above - total) / number


@kernel
def project(x, out):
    """Euclidean projection of `x` on the probability simplex. May be called in place."""
    t = threshold(x, 1.0)
    total = 0.0
    for j in range(x.shape[0]):
        out[j] = max(x[j] - t, 0.0)
        total += out[j]
    for j in range(x.shape[0]):
        out[j] /= total


@kernel
def clip_root(x, upper, slope, total):
    """The u with ``sum_j clip(x_j - u, 0, upper_j) + slope * u = total``.

    The left side is piecewise linear and monotone as long as `slope` is not
    between 0 and the number of entries. Newton's method inside a bracket,
    with bisection where it leaves the bracket.
    """
    k = x.shape[0]
    lo, hi = x[0], x[0]
    reach = 1.0 + abs(total)
    for j in range(k):
        reach += upper[j]
        lo = min(lo, x[j])
        hi = max(hi, x[j])
    if slope != 0.0:
        lo = min(lo, 0.0) - reach
        hi = max(hi, 0.0) + reach
    else:
        lo -= reach
    rising = slope > 0.0
    u = 0.5 * (lo + hi)
    for _ in range(200):
        value = slope * u - total
        derivative = slope
        for j in range(k):
            rest = x[j] - u
            if rest >= upper[j]:
                value += upper[j]
            elif rest > 0.0:
                value += rest
                derivative -= 1.0
        if value == 0.0:
            return u
        if (value > 0.0) == rising:
            hi = u
        else:
            lo = u
        step = u - value / derivative if derivative != 0.0 else lo - 1.0
        if not lo < step < hi:
            step = 0.5 * (lo + hi)
        if step == u or abs(step - u) <= 4e-16 * abs(u):
            return step
        u = step
    return u


@kernel
def clip_into(x, upper, u, out):
    """``out_j = clip(x_j - u, 0, upper_j)``."""
    for j in range(x.shape[0]):
        out[j] = min(max(x[j] - u, 0.0), upper[j])


@kernel
def smoothed_scores(scores, strength, centre, out):
    """``centre + scores / strength``, whose projection maximises
    ``<scores, mu> - strength/2 |mu - centre|**2``. Scores are shifted to keep precision.
    """
    top = largest(scores)
    for j in range(scores.shape[0]):
        # The floor keeps tiny strengths from overflowing: no label so far below can matter.
        out[j] = centre[j] + max((scores[j] - top) / strength, -1e100)


def project_rows(x: np.ndarray) -> np.ndarray:
    """Project every row of a matrix on the simplex."""
    out = np.empty_like(x)
    _project_rows(x, out)
    return out


@kernel
def _project_rows(x, out):
    for i in range(x.shape[0]):
        project(x[i], out[i])
