"""Losses between rows of discrete entries: sets of labels, equal-length sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.losses.outputs import OutputLoss, numbers, refuse
from concordant.losses.reals import positive


class Hamming(OutputLoss):
    """How many entries of two rows differ.

    Parameters
    ----------
    normalize : bool, default=False
        Divide by the number of entries.
    permutations : bool, default=False
        Outputs, and so predictions, are permutations of ``0..m-1``.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.Hamming()([[1, 0, 1]], [[1, 1, 0]])
    array([2.])
    """

    def __init__(self, normalize: bool = False, permutations: bool = False):
        self.normalize = normalize
        self.permutations = permutations

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        if self.permutations:
            return check_permutations(outputs, name)
        rows = np.asarray(outputs)
        if rows.dtype == object and rows.ndim == 1 and len(rows) and np.ndim(rows[0]) == 1:
            lengths = [len(row) for row in rows]
            refuse(np.array(lengths) != lengths[0], rows, name, "rows must be of equal length")
            rows = np.stack([np.asarray(row) for row in rows])
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise ValueError(f"{name} must have shape (n, entries), got {rows.shape}")
        if rows.dtype.kind == "f":
            refuse(np.isnan(rows), rows, name, "is missing")
        return rows

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        wrong = (actions != truths).sum(axis=1).astype(float)
        return wrong / truths.shape[1] if self.normalize else wrong


class _SetLoss(OutputLoss):
    """A loss between sets, written as rows of 0 and 1."""

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        rows = numbers(outputs, name, (2,))
        refuse((rows != 0.0) & (rows != 1.0), rows, name, "a set is a row of 0 and 1")
        return rows.astype(np.int8)


class Jaccard(_SetLoss):
    """One minus intersection over union of two sets; two empty sets agree.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.Jaccard()([[1, 1, 0]], [[0, 1, 1]])
    array([0.66666667])
    """

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        both = (actions & truths).sum(axis=1)
        either = (actions | truths).sum(axis=1)
        return 1.0 - np.where(either > 0, both / np.maximum(either, 1), 1.0)

    def table(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        both = actions.astype(float) @ truths.T.astype(float)
        either = actions.sum(axis=1)[:, None] + truths.sum(axis=1) - both
        return 1.0 - np.where(either > 0, both / np.maximum(either, 1), 1.0)


class FMeasure(_SetLoss):
    """One minus the F measure of two sets; two empty sets agree.

    Parameters
    ----------
    beta : float, default=1.0
        Weight of recall against precision.
    """

    def __init__(self, beta: float = 1.0):
        self.beta = beta

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        square = positive(self, "beta", self.beta) ** 2
        both = (1.0 + square) * (actions & truths).sum(axis=1)
        size = actions.sum(axis=1) + square * truths.sum(axis=1)
        return 1.0 - np.where(size > 0, both / np.where(size > 0, size, 1.0), 1.0)


def check_permutations(outputs: Any, name: str) -> np.ndarray:
    """Rows that hold each of ``0..m-1`` once."""
    rows = np.asarray(outputs)
    if rows.ndim != 2 or rows.shape[1] == 0 or rows.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold permutations, shape (n, items), got {rows.shape}")
    bad = (np.sort(rows, axis=1) != np.arange(rows.shape[1])).any(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"{name}, row {row}: {rows[row].tolist()[:10]} is no permutation of "
            f"0..{rows.shape[1] - 1}"
        )
    return rows.astype(np.int64)
