"""Global minima in one variable of weighted sums of losses, under weights of both signs."""

from __future__ import annotations

import numpy as np

from concordant.kernels.vector import kernel


@kernel
def minimise_pieces(weights, start, owner, at, jump, lo, hi, best):
    """Minimise, for each row of weights, ``sum_i weights_i loss(y - v_i)`` over [lo, hi].

    The sum is quadratic in y between its knots. ``start[i]`` are the coefficients of term i left
    of all knots; at the knot ``at[e]``, increasing, those of term ``owner[e]`` change by
    ``jump[e]``. The minimum is at a knot, a bound or a vertex: one pass finds it.
    """
    for row in range(weights.shape[0]):
        w = weights[row]
        a, b, c = 0.0, 0.0, 0.0
        for i in range(w.shape[0]):
            a += w[i] * start[i, 0]
            b += w[i] * start[i, 1]
            c += w[i] * start[i, 2]
        left, lowest, where = lo, np.inf, lo
        for e in range(at.shape[0] + 1):
            right = hi if e == at.shape[0] else min(at[e], hi)
            if right >= left:
                for y in (left, right):
                    value = (a * y + b) * y + c
                    if value < lowest:
                        lowest, where = value, y
                if a > 0.0:
                    y = -0.5 * b / a
                    if left < y < right:
                        value = (a * y + b) * y + c
                        if value < lowest:
                            lowest, where = value, y
                left = right
            if e < at.shape[0]:
                if at[e] > hi:
                    break
                change = w[owner[e]]
                a += change * jump[e, 0]
                b += change * jump[e, 1]
                c += change * jump[e, 2]
        best[row] = where


@kernel
def _lowest_on_knots(w, knots, order, values, mu):
    """Minimise ``F(z) + mu z**2`` over [0, 1], F piecewise linear with known values at its knots.

    The first and last knots are 0 and 1. Returns the place and the value.
    """
    where, lowest = 0.0, np.inf
    for e in range(knots.shape[0]):
        value = values[e] + mu * knots[e] ** 2
        if value < lowest:
            where, lowest = knots[e], value
        if mu > 0.0 and e > 0 and knots[e] > knots[e - 1]:
            slope = (values[e] - values[e - 1]) / (knots[e] - knots[e - 1])
            z = -0.5 * slope / mu
            if knots[e - 1] < z < knots[e]:
                value = values[e] + slope * (z - knots[e]) + mu * z * z
                if value < lowest:
                    where, lowest = z, value
    return where, lowest


@kernel
def _values_at_knots(w, knots, order, values):
    """``sum_i w_i |z - z_i|`` at the knots; ``order[e]`` is the term of knot e, or -1."""
    slope, value = 0.0, 0.0
    for e in range(knots.shape[0]):
        if order[e] >= 0:
            slope -= w[order[e]]
            value += w[order[e]] * knots[e]
    values[0] = value
    for e in range(knots.shape[0]):
        if e > 0:
            value += slope * (knots[e] - knots[e - 1])
            values[e] = value
        if order[e] >= 0:
            slope += 2.0 * w[order[e]]


@kernel
def medians_on_sphere(weights, knots, order, rounds, best, bound):
    """Minimise ``sum_i weights_i sum_j |z_j - z_ij|`` over ``z >= 0, |z| = 1``, row by row.

    A multiplier for ``|z|**2 = 1`` separates the coordinates, whose global minima are found
    exactly. Its dual is concave and bounds the minimum from below (`bound`), whatever the signs.
    The minimisers at the two ends of the final bracket lie in and outside the ball; changing
    from one to the other coordinate by coordinate meets the sphere within one coordinate.
    """
    n_coordinates, n_knots = knots.shape
    values = np.empty((n_coordinates, n_knots))
    small, large, now = np.empty(n_coordinates), np.empty(n_coordinates), np.empty(n_coordinates)
    for row in range(weights.shape[0]):
        w = weights[row]
        size = 0.0
        for i in range(w.shape[0]):
            size += abs(w[i])
        for j in range(n_coordinates):
            _values_at_knots(w, knots[j], order[j], values[j])
        # At these ends the square decides alone: all ones, or next to nothing.
        low, high = -size - 1e-300, size * n_coordinates * 4.0 + 1e-300
        dual = -np.inf
        for side in range(2 + rounds):
            mu = low if side == 0 else (high if side == 1 else 0.5 * (low + high))
            total, norm = -mu, 0.0
            for j in range(n_coordinates):
                now[j], lowest = _lowest_on_knots(w, knots[j], order[j], values[j], mu)
                total += lowest
                norm += now[j] ** 2
            dual = max(dual, total)
            if norm >= 1.0:
                low = mu
                large[:] = now
            else:
                high = mu
                small[:] = now
        bound[row] = dual
        _meet(small, large, best[row])


@kernel
def _meet(small, large, z):
    """Change `small` into `large` coordinate by coordinate until the norm is one."""
    norm = 0.0
    for j in range(z.shape[0]):
        z[j] = small[j]
        norm += z[j] ** 2
    for j in range(z.shape[0]):
        rest = norm - z[j] ** 2
        if rest + large[j] ** 2 >= 1.0 and rest <= 1.0:
            z[j] = np.sqrt(1.0 - rest)
            return
        z[j] = large[j]
        norm = rest + z[j] ** 2
