"""Losses of assignments: what a wrong partner costs."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


class Matching(BaseEstimator):
    """Rows with a wrong partner, and rows left alone wrongly, each at its own price.

    With both prices 1 it is the Hamming loss: the number of rows whose partner is not the true
    one, where being alone counts as a partner.

    Parameters
    ----------
    miss : float, default=1
        Price of leaving a row alone that has a partner.
    false : float, default=1
        Price of giving a row a partner that is not its own.

    Examples
    --------
    >>> import concordant as cc
    >>> loss = cc.losses.Matching(miss=1, false=3)
    >>> loss([[0, 2, -1]], [[0, 1, 2]])  # right, false, missed
    array([4.])
    """

    def __init__(self, miss: float = 1.0, false: float = 1.0):
        self.miss = miss
        self.false = false

    def prices(self) -> tuple[float, float]:
        """Checked prices of a miss and of a false partner."""
        for name, price in (("miss", self.miss), ("false", self.false)):
            if not isinstance(price, numbers.Real) or isinstance(price, bool):
                raise TypeError(f"Matching needs a number as {name}=, got {price!r}")
            if not 0.0 <= price < np.inf:
                raise ValueError(f"Matching needs {name} finite and >= 0, got {price!r}")
        if self.miss == self.false == 0.0:
            raise ValueError("Matching(miss=0, false=0) prices nothing")
        return float(self.miss), float(self.false)

    def __call__(self, action: Sequence[Any], truth: Sequence[Any]) -> np.ndarray:
        """Loss of each example: columns of its rows, -1 for alone, predicted and true."""
        miss, false = self.prices()
        if len(action) != len(truth):
            raise ValueError(f"{len(action)} predicted examples, {len(truth)} true ones")
        out = np.empty(len(truth))
        for i, (here, right) in enumerate(zip(action, truth)):
            here, right = np.asarray(here), np.asarray(right)
            if here.shape != right.shape:
                raise ValueError(f"example {i} has {len(right)} rows, its prediction {len(here)}")
            out[i] = np.where(here < 0, miss, false)[here != right].sum()
        return out


def find_matching(loss: Any) -> Matching:
    """The loss of this name, or the object itself."""
    if isinstance(loss, str) and loss == "hamming":
        return Matching()
    if isinstance(loss, Matching):
        return loss
    if isinstance(loss, str):
        raise ValueError(f"unknown loss {loss!r} of assignments; use 'hamming' or Matching(...)")
    raise TypeError(
        f"{type(loss).__name__} does not decompose over assignments; use 'hamming' or Matching(...)"
    )
