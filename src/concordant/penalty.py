"""The penalty on the weights: ridge, lasso or both, and its conjugate for certificates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Penalty(NamedTuple):
    """``l2/2 |W|**2 + l1 |W|_1``. Intercepts are never penalised."""

    l2: float = 1.0
    l1: float = 0.0

    def value(self, w: np.ndarray) -> float:
        value = 0.5 * self.l2 * float(np.vdot(w, w))
        return value + self.l1 * float(np.abs(w).sum()) if self.l1 else value

    def shrink(self, v: np.ndarray) -> np.ndarray:
        """``argmax_W <V, W> - penalty(W)``, for l2 > 0: the weights of a dual point."""
        if not self.l1:
            return v / self.l2 if self.l2 != 1.0 else v
        return np.sign(v) * np.maximum(np.abs(v) - self.l1, 0.0) / self.l2

    def conjugate(self, v: np.ndarray) -> float:
        """``max_W <V, W> - penalty(W)``; for l2 = 0 it is 0 where |V| <= l1, else infinite."""
        excess = np.maximum(np.abs(v) - self.l1, 0.0) if self.l1 else v
        if self.l2 > 0.0:
            return 0.5 * float(np.vdot(excess, excess)) / self.l2
        return 0.0 if not np.any(excess > 1e-12 * self.l1) else np.inf

    def proximal(self, w: np.ndarray, step: float) -> np.ndarray:
        """``argmin_V |V - W|**2 / 2 + step * penalty(V)``."""
        shrunk = np.sign(w) * np.maximum(np.abs(w) - step * self.l1, 0.0) if self.l1 else w
        return shrunk / (1.0 + step * self.l2)
