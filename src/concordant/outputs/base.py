"""The contract of a decoder: ``argmin over y of sum_i alpha_i loss(y, y_i)``, alpha of any sign.

A decoder sees the weights only through ``sums = alpha @ targets``. Where the loss is bilinear in
a short description of the truths, that description is the targets and one product serves any
number of examples; otherwise they are indicators of the distinct truths and the sums are the
weights themselves.

`guarantee` says how good an answer is, in a sentence: exact, or approximate and with what
bound. Bounds count in units of the weighted loss that is minimised.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from concordant.losses.outputs import OutputLoss


class Options(NamedTuple):
    """What the user may say about the answers."""

    candidates: Any = "training"
    bounds: tuple[float, float] | None = None


class Decoder(ABC):
    """Best actions under weighted sums of a loss against known truths.

    Attributes
    ----------
    targets : ndarray or CSR matrix of shape (n, r)
        What the weights are summed against.
    exact : bool
        Whether answers are global minima, but for rounding.
    guarantee : str
    most_rows : int
        How many rows to decode at a time; few where each is a search, so that threads share them.
    """

    targets: Any
    most_rows: int = 1 << 30
    exact: bool = True
    guarantee: str = "exact"

    @abstractmethod
    def __init__(self, loss: OutputLoss, truths: np.ndarray, options: Options):
        """Prepare for these truths, canonical outputs of `loss`."""

    @abstractmethod
    def decode(self, sums: np.ndarray) -> np.ndarray:
        """Best action for each row of sums."""


def indicators(codes: np.ndarray, count: int) -> sp.csr_matrix:
    """One row an example, with a one in the column of its code."""
    n = len(codes)
    return sp.csr_matrix((np.ones(n), codes, np.arange(n + 1)), shape=(n, count))


def distinct(rows: np.ndarray) -> tuple[np.ndarray, sp.csr_matrix]:
    """The different outputs among `rows`, and the indicators of each row's."""
    if rows.dtype == object:
        keys = [_key(row) for row in rows]
        place: dict[Any, int] = {}
        codes = np.array([place.setdefault(key, len(place)) for key in keys], dtype=np.int64)
        _, first = np.unique(codes, return_index=True)
    else:
        _, first, codes = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        codes = codes.ravel()
    return rows[first], indicators(codes, len(first))


def _key(value: Any) -> Any:
    """Something hashable that is equal for equal outputs; the object's identity at worst."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, list):
        return "list", tuple(_key(v) for v in value)
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def columns(rows: np.ndarray) -> np.ndarray:
    """Outputs as a table: numbers become its one column."""
    return rows[:, None] if rows.ndim == 1 else rows
