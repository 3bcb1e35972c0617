"""Sums over all assignments of a grid: exactly for small ones, by Bethe's approximation else.

Scores are first made relative to the dual of the best assignment (`potentials`): every weight
``exp(score)`` is then at most 1 and the best assignment counts 1, so nothing over- or underflows.

*Exact.* A table over the sets of columns in use, row after row, adds up positive terms only and
gives all marginals with one pass back and one forth, in ``O(rows 2^columns columns)``. Ryser's
formula takes as long for the sum alone, once more for each marginal, and cancels.

*Bethe.* Belief propagation between rows and columns. With weights w and messages x, y of the two
sides, ``x_ij = 1/(alone_i + sum_{k != j} w_ik y_ik)``, y alike, the belief in a pair is
``w x y / (1 + w x y)`` (Huang and Jebara 2009, Vontobel 2013).
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.assignment import best, kernel, lap_scratch, potentials
from concordant.kernels.transport import round_to_feasible

ROUNDS = 10_000
HUGE = 1e150


@kernel
def _weights(scores, n, m, slack, kind, lap, answer, w, r, c):
    """Weights of pairs, rows alone and columns alone; returns the logarithm of their unit."""
    best(scores, n, m, slack, kind, answer, lap)
    potentials(scores, n, m, kind, lap, r, c)
    unit = 0.0
    for i in range(n):
        unit += r[i]
    for j in range(m):
        unit += c[j]
    for i in range(n):
        for j in range(m):
            w[i, j] = np.exp(scores[i, j] - r[i] - c[j])
    for i in range(n):
        r[i] = np.exp(scores[i, m] - r[i]) if slack else 0.0
    for j in range(m):
        c[j] = np.exp(scores[n, j] - c[j]) if slack else 0.0
    return unit


@kernel
def _exact(w, r, c, rows, cols, ahead, behind, mu):
    """Sum over assignments of `rows` to `cols`, and the marginals of pairs.

    ``behind[i, S]`` is the sum over what the rows from i on can do once the columns in S are
    used, ``ahead[S]`` that over the rows before.
    """
    sets = 1 << cols
    for s in range(sets):
        total = 1.0
        for j in range(cols):
            if not s >> j & 1:
                total *= c[j]
        behind[rows, s] = total
    for i in range(rows - 1, -1, -1):
        for s in range(sets):
            total = r[i] * behind[i + 1, s]
            for j in range(cols):
                if not s >> j & 1:
                    total += w[i, j] * behind[i + 1, s | 1 << j]
            behind[i, s] = total
    ahead[:sets] = 0.0
    ahead[0] = 1.0
    whole = behind[0, 0]
    for i in range(rows):
        for j in range(cols):
            mu[i, j] = 0.0
        for s in range(sets - 1, -1, -1):  # larger sets first: they need the smaller ones as of now
            if ahead[s] > 0.0:
                for j in range(cols):
                    if not s >> j & 1:
                        mu[i, j] += ahead[s] * behind[i + 1, s | 1 << j]
            total = r[i] * ahead[s]
            for j in range(cols):
                if s >> j & 1:
                    total += w[i, j] * ahead[s ^ 1 << j]
            ahead[s] = total
        for j in range(cols):
            mu[i, j] *= w[i, j] / whole
    return whole


@kernel
def _alone(mu, n, m, slack, kind):
    """What pairs leave of each row and column."""
    if not slack:
        return
    for i in range(n):
        mu[i, m] = 1.0 if kind >= 2 else 0.0
    for j in range(m):
        mu[n, j] = 1.0 if kind == 1 or kind == 3 else 0.0
    mu[n, m] = 0.0
    for i in range(n):
        for j in range(m):
            if kind >= 2:
                mu[i, m] = max(mu[i, m] - mu[i, j], 0.0)
            if kind == 1 or kind == 3:
                mu[n, j] = max(mu[n, j] - mu[i, j], 0.0)


@kernel
def _propagate(w, r, c, n, m, x, y):
    """Messages until they move no more; returns the largest relative change of the last round."""
    for i in range(n):
        for j in range(m):
            y[i, j] = 1.0
            x[i, j] = 1.0
    moved = np.inf
    for _ in range(ROUNDS):
        if moved < 1e-13:
            break
        moved = 0.0
        for i in range(n):
            total = r[i]
            for j in range(m):
                total += w[i, j] * y[i, j]
            for j in range(m):
                rest = total - w[i, j] * y[i, j]
                if rest < 1e-6 * total:  # cancellation: add up the others
                    rest = r[i]
                    for k in range(m):
                        if k != j:
                            rest += w[i, k] * y[i, k]
                x[i, j] = min(1.0 / rest, HUGE) if rest > 0.0 else HUGE
        for j in range(m):
            total = c[j]
            for i in range(n):
                total += w[i, j] * x[i, j]
            for i in range(n):
                rest = total - w[i, j] * x[i, j]
                if rest < 1e-6 * total:
                    rest = c[j]
                    for k in range(n):
                        if k != i:
                            rest += w[k, j] * x[k, j]
                new = min(1.0 / rest, HUGE) if rest > 0.0 else HUGE
                moved = max(moved, abs(new - y[i, j]) / max(new, y[i, j]))
                y[i, j] = new
    return moved


@kernel
def sum_rows(scores, allowed, starts, n, m, slack, kind, exact, first, last, mu, partition):
    """Marginals of examples first..last-1, and where they are `exact` the logarithm of the sum."""
    most_n, most_m, sets, side = n[first:last].max(), m[first:last].max(), 1, 1
    for e in range(first, last):
        if exact[e]:
            sets = max(sets, 1 << min(n[e], m[e]))
        side = max(side, n[e], m[e])
    lap, answer = lap_scratch(most_n, most_m), np.empty(most_n + 1, np.int64)
    w, r, c = np.empty((most_n, most_m)), np.empty(most_n + 1), np.empty(most_m + 1)
    ahead, behind, turned = np.empty(sets), np.empty((side + 1, sets)), np.empty((side, side))
    x, y = np.empty((most_n, most_m)), np.empty((most_n, most_m))
    for e in range(first, last):
        ne, me = n[e], m[e]
        shape = (ne + slack, me + slack)
        grid = scores[starts[e] : starts[e + 1]].reshape(shape)
        here = mu[starts[e] : starts[e + 1]].reshape(shape)
        unit = _weights(grid, ne, me, slack, kind[e], lap, answer, w, r, c)
        if not exact[e]:
            _propagate(w, r, c, ne, me, x, y)
            for i in range(ne):
                for j in range(me):
                    odds = w[i, j] * x[i, j] * y[i, j]
                    here[i, j] = odds / (1.0 + odds) if odds < HUGE else 1.0
            _alone(here, ne, me, slack, kind[e])
            okay = allowed[starts[e] : starts[e + 1]].reshape(shape)
            round_to_feasible(here, okay, ne, me, slack, kind[e], r, c)
            continue
        if me <= ne:
            whole = _exact(w, r, c, ne, me, ahead, behind, here)
        else:
            whole = _exact(w.T.copy(), c, r, me, ne, ahead, behind, turned)
            for i in range(ne):
                for j in range(me):
                    here[i, j] = turned[j, i]
        partition[e] = unit + np.log(whole)
        _alone(here, ne, me, slack, kind[e])
