"""Losses of assignments as prices of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.structures.base import PartLoss

if TYPE_CHECKING:
    from concordant.structures.assignments import Assignments


class PairPrices(PartLoss):
    """``sum of prices * p * (1 - q)``: the price of each part of the answer that is not true."""

    def __init__(self, structure: Assignments, prices: np.ndarray):
        self.structure = structure
        self.prices = np.ascontiguousarray(prices, dtype=float)
        self.scale = float(self.prices.max(initial=0.0)) or 1.0

    @classmethod
    def of(
        cls, structure: Assignments, loss: Any, weight: Sequence[np.ndarray] | None = None
    ) -> PairPrices:
        """Prices of a miss and of a false pair, times a weight of each row (n,) or pair (n, m).

        `loss` is "hamming" or has `prices`, such as `concordant.losses.Matching`.
        """
        if not (isinstance(loss, str) and loss == "hamming") and not hasattr(loss, "prices"):
            raise TypeError(
                f"{loss!r} does not decompose over assignments; use 'hamming' or Matching(...)"
            )
        miss, false = (1.0, 1.0) if isinstance(loss, str) else loss.prices()
        prices = np.zeros(structure.starts[-1])
        for e, (grid, n) in enumerate(zip(structure.grids(prices), structure.rows)):
            m = structure.columns[e]
            factor = np.ones(n) if weight is None else np.asarray(weight[e], dtype=float)
            grid[:n, :m] = false * (factor[:, None] if factor.ndim == 1 else factor)
            if structure.slack:
                grid[:n, m] = miss * (factor if factor.ndim == 1 else 1.0)
        return cls(structure, np.where(structure.allowed, prices, 0.0))

    def on(self, structure: Any) -> PairPrices:
        return PairPrices(structure, self.prices[structure.within])

    def of_actions(self, q: np.ndarray) -> np.ndarray:
        return self.prices * (1.0 - q)

    def of_truths(self, p: np.ndarray) -> np.ndarray:
        """Each row of a grid adds up to one in the truth: its cost of all that `p` does there
        can be put on every part, less what is right."""
        structure = self.structure
        cost = self.prices * p
        total = np.add.reduceat(cost, structure.row_starts)
        out = np.repeat(total, structure.row_sizes) - cost
        out[structure.places.columns] = 0.0
        return np.where(structure.allowed, out, 0.0)
