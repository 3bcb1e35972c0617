"""Euclidean projection on the polytope of a grid's answers (see `assignment`), compiled.

- `project`: the projection ``max(X - a_i - b_j, 0)``, the multipliers a and b found by a semismooth
  Newton method on the dual (Li, Sun and Toh 2020).
- `round_to_feasible`: an exactly feasible point near an almost feasible one.
- `proximal_rows`: the proximal question of every example of a batch.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.assignment import (
    PARTIAL,
    TALL,
    WIDE,
    best,
    kernel,
    lap_scratch,
    potentials,
    write_parts,
)
from concordant.kernels.symmetric import back_solve, factor

NEWTON_STEPS = 100
TOLERANCE = 1e-12
#: Violation of a sum that rounding to a feasible point may repair.
ENOUGH = 1e-7


@kernel
def _threshold(values, size):
    """The t with ``sum (values - t)_+ = 1``: drop what is below, until nothing is (Michelot)."""
    t, used = -np.inf, size + 1
    while True:
        total, count = 0.0, 0
        for k in range(size):
            if values[k] > t:
                total += values[k]
                count += 1
        if count >= used or count == 0:
            return t
        t, used = (total - 1.0) / count, count


@kernel
def _thresholds(x, n, m, slack, a, b, line):
    """One round of exact minimisation in a, then in b: a start for Newton's method."""
    for i in range(n):
        for j in range(m):
            line[j] = x[i, j] - b[j]
        if slack:
            line[m] = x[i, m]
        a[i] = _threshold(line, m + slack)
    for j in range(m):
        for i in range(n):
            line[i] = x[i, j] - a[i]
        if slack:
            line[n] = x[n, j]
        b[j] = _threshold(line, n + slack)


@kernel
def _dual_value(x, n, m, slack, a, b, p, rows, cols):
    """The dual function; writes the point p and what is missing to one in rows and columns."""
    value = 0.0
    for i in range(n):
        rows[i] = 1.0
        value += a[i]
    for j in range(m):
        cols[j] = 1.0
        value += b[j]
    for i in range(n + slack):
        shift = a[i] if i < n else 0.0
        for j in range(m + slack):
            part = max(x[i, j] - shift - (b[j] if j < m else 0.0), 0.0)
            if i == n and j == m:
                part = 0.0
            p[i, j] = part
            value += 0.5 * part * part
            if i < n:
                rows[i] -= part
            if j < m:
                cols[j] -= part
    return value


@kernel
def _largest(rows, n, cols, m):
    worst = 0.0
    for i in range(n):
        worst = max(worst, abs(rows[i]))
    for j in range(m):
        worst = max(worst, abs(cols[j]))
    return worst


@kernel
def _newton_step(p, n, m, slack, ridge, rows, cols, schur, diagonal, scaled, active, da, db):
    """Solve (H + ridge) (da, db) = -(rows, cols) by the Schur complement on the columns.

    H is the generalised Hessian [[diag r, M], [M', diag c]] with M the pairs in use and r, c
    their number in each row and column, slack included.
    """
    for j in range(m):
        for k in range(m):
            schur[j, k] = 0.0
        schur[j, j] = ridge + (1.0 if slack and p[n, j] > 0.0 else 0.0)
        db[j] = -cols[j]
    for i in range(n):
        used = 0
        for j in range(m):
            if p[i, j] > 0.0:
                active[used] = j
                used += 1
                schur[j, j] += 1.0
        own = used + ridge + (1.0 if slack and p[i, m] > 0.0 else 0.0)
        share = 1.0 / own
        da[i] = share
        for s in range(used):
            j = active[s]
            db[j] += share * rows[i]
            for t in range(s + 1):
                schur[j, active[t]] -= share
    factor(schur, m, diagonal, scaled)
    back_solve(schur, m, diagonal, db)
    for i in range(n):
        total = -rows[i]
        for j in range(m):
            if p[i, j] > 0.0:
                total -= db[j]
        da[i] *= total


@kernel
def _shift(x, n, m, slack, a, b):
    """Scores less their multipliers, in place: what matters of them is of size 1 then."""
    for i in range(n + slack):
        shift = a[i] if i < n else 0.0
        for j in range(m + slack):
            x[i, j] -= shift + (b[j] if j < m else 0.0)


@kernel
def project(x, n, m, slack, kind, a, b, warm, lap, answer, room, p):
    """Euclidean projection of the grid `x`, which is overwritten, on its polytope, into `p`.

    `a` and `b` are the multipliers, read first if `warm`, else those of the best answer. Returns
    the largest violation of a row or column sum that is left.
    """
    schur, diagonal, scaled, active, line, rows, cols, da, db, ta, tb, ga, gb = room
    if not warm:
        best(x, n, m, slack, kind, answer, lap)
        potentials(x, n, m, kind, lap, a, b)
    _shift(x, n, m, slack, a, b)
    ga[:n], gb[:m] = 0.0, 0.0
    if not warm:
        for _ in range(2):
            _thresholds(x, n, m, slack, ga, gb, line)
    value = _dual_value(x, n, m, slack, ga, gb, p, rows, cols)
    violation = _largest(rows, n, cols, m)
    for _ in range(NEWTON_STEPS):
        if violation <= TOLERANCE:
            break
        ridge = min(max(0.1 * violation, 1e-7), 1e-2)
        # The dual is minimised: its gradient is what is missing to one.
        _newton_step(p, n, m, slack, ridge, rows, cols, schur, diagonal, scaled, active, da, db)
        slope = 0.0
        for i in range(n):
            slope += da[i] * rows[i]
        for j in range(m):
            slope += db[j] * cols[j]
        step, old, before = 1.0, value, violation
        noise = 1e-14 * (1.0 + abs(old))
        for _ in range(30):
            for i in range(n):
                ta[i] = ga[i] + step * da[i]
            for j in range(m):
                tb[j] = gb[j] + step * db[j]
            value = _dual_value(x, n, m, slack, ta, tb, p, rows, cols)
            violation = _largest(rows, n, cols, m)
            if value <= old + 1e-4 * step * slope or (value <= old + noise and violation < before):
                break
            step *= 0.5
        ga[:n], gb[:m] = ta[:n], tb[:m]
        if violation >= before and value >= old - noise:
            break  # rounding is all that is left
    for i in range(n):
        a[i] += ga[i]
    for j in range(m):
        b[j] += gb[j]
    return violation


@kernel
def project_scratch(n, m):
    """Room for `project` on grids of up to n rows and m columns."""
    size = max(n, m) + 1
    return (
        np.empty((m + 1, m + 1)),
        np.empty(size),
        np.empty(size),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
    )


@kernel
def round_to_feasible(p, allowed, n, m, slack, kind, rows, cols):
    """Make row and column sums exact: scale down what is too much, then fill what is missing.

    Slack takes what is missing where it is allowed; elsewhere it is spread in proportion.
    Mass that would fall on a forbidden pair is dropped; returns how much that was.
    """
    for i in range(n):
        total = 0.0
        for j in range(m + slack):
            total += p[i, j]
        if total > 1.0:
            for j in range(m + slack):
                p[i, j] /= total
    for j in range(m):
        total = 0.0
        for i in range(n + slack):
            total += p[i, j]
        if total > 1.0:
            for i in range(n + slack):
                p[i, j] /= total
    missing, room = 0.0, 0.0
    for i in range(n):
        rows[i] = 1.0
        for j in range(m + slack):
            rows[i] -= p[i, j]
        rows[i] = max(rows[i], 0.0)
        if kind == PARTIAL:
            p[i, m] += rows[i]
            rows[i] = 0.0
        missing += rows[i]
    for j in range(m):
        cols[j] = 1.0
        for i in range(n + slack):
            cols[j] -= p[i, j]
        cols[j] = max(cols[j], 0.0)
        if kind == PARTIAL:
            p[n, j] += cols[j]
            cols[j] = 0.0
        if kind == WIDE:
            cols[j] += p[n, j]
        room += cols[j]
    if kind == PARTIAL:
        return 0.0
    if kind == TALL:
        room = 0.0
        for j in range(m):
            room += cols[j]
        spread = 0.0
        for i in range(n):
            rows[i] += p[i, m]
            spread += rows[i]
        dropped = _fill(p, allowed, n, m, rows, cols, spread)
        for i in range(n):
            p[i, m] = 1.0
            for j in range(m):
                p[i, m] -= p[i, j]
            p[i, m] = max(p[i, m], 0.0)
        return dropped
    dropped = _fill(p, allowed, n, m, rows, cols, room if kind == WIDE else missing)
    if kind == WIDE:
        for j in range(m):
            p[n, j] = 1.0
            for i in range(n):
                p[n, j] -= p[i, j]
            p[n, j] = max(p[n, j], 0.0)
    return dropped


@kernel
def _fill(p, allowed, n, m, rows, cols, total):
    """Add the rank-one matrix ``rows cols' / total``."""
    dropped = 0.0
    if total <= 0.0:
        return dropped
    for i in range(n):
        for j in range(m):
            extra = rows[i] * cols[j] / total
            if extra > 0.0:
                if allowed[i, j]:
                    p[i, j] += extra
                else:
                    dropped += extra
    return dropped


@kernel
def proximal_rows(
    scores, allowed, starts, n, m, slack, kind, first, last, strength, centre, memory, answers, mu
):
    """Maximise ``<scores, mu> - strength/2 |mu - centre|**2`` in examples first..last-1.

    `memory` (n_examples, 1 + rows + columns) holds each example's last multipliers, behind a
    flag that is zero where there are none; empty for no memory.
    """
    most_n, most_m = n[first:last].max(), m[first:last].max()
    lap, room = lap_scratch(most_n, most_m), project_scratch(most_n, most_m)
    target = np.empty((most_n + 1) * (most_m + 1))
    a, b = np.empty(most_n + 1), np.empty(most_m + 1)
    rows, cols = np.empty(most_n + 1), np.empty(most_m + 1)
    for e in range(first, last):
        ne, me = n[e], m[e]
        shape, size = (ne + slack, me + slack), starts[e + 1] - starts[e]
        here = mu[starts[e] : starts[e + 1]]
        if not strength[e] > 0.0:
            grid = scores[starts[e] : starts[e + 1]].reshape(shape)
            if best(grid, ne, me, slack, kind[e], answers[e], lap) >= 0:
                return e
            write_parts(answers[e], ne, me, slack, here.reshape(shape))
            continue
        x, p = target[:size].reshape(shape), here.reshape(shape)
        violation, warm = np.inf, memory.shape[0] > 0 and memory[e, 0] > 0.0
        while violation > ENOUGH:
            for k in range(size):
                target[k] = scores[starts[e] + k] / strength[e] + centre[starts[e] + k]
            if warm:
                a[:ne] = memory[e, 1 : 1 + ne]
                b[:me] = memory[e, 1 + ne : 1 + ne + me]
            violation = project(x, ne, me, slack, kind[e], a, b, warm, lap, answers[e], room, p)
            if not warm:
                break
            warm = False
        okay = allowed[starts[e] : starts[e + 1]].reshape(shape)
        if violation > ENOUGH:  # scores so large that rounding leaves nothing but the best answer
            grid = scores[starts[e] : starts[e + 1]].reshape(shape)
            best(grid, ne, me, slack, kind[e], answers[e], lap)
            write_parts(answers[e], ne, me, slack, p)
        else:
            round_to_feasible(p, okay, ne, me, slack, kind[e], rows, cols)
        if memory.shape[0]:
            memory[e, 0] = 1.0
            memory[e, 1 : 1 + ne] = a[:ne]
            memory[e, 1 + ne : 1 + ne + me] = b[:me]
    return -1
