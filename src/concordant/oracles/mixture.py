"""The best mixture of a few points: what remains of a hard problem once points are listed.

maximise over x in the simplex  <gain, x> - x' gram x / 2
"""

from __future__ import annotations

import numpy as np

from concordant.oracles.blocks import kernel
from concordant.oracles.games.matrix import lemke
from concordant.oracles.simplex import largest


def best_mixture(gain: np.ndarray, gram: np.ndarray) -> np.ndarray | None:
    """The exact maximiser, for a positive semidefinite `gram`; None if rounding spoils it."""
    m = len(gain)
    mixture, table, names = np.zeros(m), np.zeros((m + 1, m + 3)), np.empty(2 * m + 3)
    solved = _solve(np.ascontiguousarray(gain), np.ascontiguousarray(gram), table, names, mixture)
    return mixture if solved else None


@kernel
def _solve(gain, gram, table, names, x):
    """Optimality, with the multiplier u of the simplex, reads

        gram x + u - gain >= 0  orthogonal to  x >= 0,     1 - sum x >= 0  orthogonal to  u >= 0

    a linear complementarity problem, scaled here to about 1. A shift of `gain` keeps u > 0, so
    that x sums to one. Points out of use get exactly 0.
    """
    m = gain.shape[0]
    top, steepest, scale = largest(gain), 0.0, 0.0
    for j in range(m):
        scale = max(scale, top - gain[j])
        for b in range(m):
            steepest = max(steepest, abs(gram[j, b]))
    scale = max(scale, steepest)
    if not 0.0 < scale < np.inf:
        return False
    for j in range(m):
        for b in range(m):
            table[j, b] = gram[j, b] / scale
        table[j, m] = 1.0
        table[m, j] = -1.0
        table[j, m + 2] = -((gain[j] - top + steepest) / scale + 1.0)
    table[m, m + 2] = 1.0
    table[:, m + 1] = 1.0
    if not lemke(table, names):
        return False
    total = 0.0
    for row in range(m + 1):
        name = int(names[row]) - (m + 1)
        if 0 <= name < m:
            x[name] = max(table[row, m + 2], 0.0)
            total += x[name]
    for j in range(m):
        x[j] /= total
    return 0.5 < total < 2.0  # else it was not a solution
