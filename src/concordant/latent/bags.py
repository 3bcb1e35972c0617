"""Bags: examples whose label is known and whose choice is not, and batches of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from concordant.losses import PairLoss
from concordant.losses.base import check_costs
from concordant.losses.boxes import check_boxes
from concordant.structures import PairCosts, Pairs


class Bag:
    """One example with a choice to make: the features of every choice.

    Parameters
    ----------
    features : array or sparse matrix of shape (m, d)
        One row a choice. Neither copied nor changed; may be memory-mapped.
    boxes : array-like of shape (m, 4), default=None
        Where each choice is, ``x1, y1, x2, y2`` with ``x1 < x2`` and ``y1 < y2``.
    costs : array-like of shape (m, m) or (k m, k m), default=None
        Costs of answers for the loss `PairMatrix`, ``costs[answer, truth]``.
    conditional : array or sparse matrix of shape (m, d'), default=None
        Features of the choices for the distribution of the latent choice given the label, where
        they are not `features`.

    Examples
    --------
    >>> import numpy as np, concordant as cc
    >>> cc.Bag(np.eye(3), boxes=[[0, 0, 2, 2], [1, 0, 3, 2], [2, 0, 4, 2]])
    Bag(3 choices, 3 features, boxes)
    """

    def __init__(
        self, features: Any, boxes: Any = None, costs: Any = None, conditional: Any = None
    ):
        self.features = _table(features, "features")
        m = self.features.shape[0]
        self.boxes = None if boxes is None else check_boxes(boxes, area=True)
        if self.boxes is not None and len(self.boxes) != m:
            raise ValueError(f"a bag of {m} choices has {len(self.boxes)} boxes")
        self.costs = None if costs is None else check_costs(costs, "costs")
        if self.costs is not None:
            rows, columns = self.costs.shape
            if rows != columns or rows % m:
                raise ValueError(
                    f"costs of a bag of {m} choices must have shape ({m}, {m}), or that times the "
                    f"number of labels, got {self.costs.shape}"
                )
        self.conditional = None if conditional is None else _table(conditional, "conditional")
        if self.conditional is not None and self.conditional.shape[0] != m:
            raise ValueError(
                f"a bag of {m} choices has {self.conditional.shape[0]} rows of conditional features"
            )

    @property
    def n_choices(self) -> int:
        """Number of choices."""
        return int(self.features.shape[0])

    def __repr__(self) -> str:
        words = [f"{self.n_choices} choices", f"{self.features.shape[1]} features"]
        words += ["boxes"] if self.boxes is not None else []
        words += ["costs"] if self.costs is not None else []
        if self.conditional is not None:
            words.append(f"{self.conditional.shape[1]} conditional features")
        return f"Bag({', '.join(words)})"


def _table(features: Any, name: str) -> Any:
    """A 2-D table of numbers with at least one row and column."""
    if not sp.issparse(features):
        features = np.asanyarray(features)
        if features.dtype.kind not in "fiub":
            raise TypeError(f"{name} must hold numbers, got dtype {features.dtype}")
    if features.ndim != 2:
        raise ValueError(f"{name} must have shape (choices, features), got {features.shape}")
    if features.shape[0] == 0:
        raise ValueError(f"a bag needs at least one choice; {name} has shape {features.shape}")
    if features.shape[1] == 0:
        raise ValueError(f"{name} must have at least one column")
    return features


def bind_costs(
    loss: PairLoss,
    bags: Sequence[Bag],
    structure: Pairs,
    classes: np.ndarray,
    weight: np.ndarray | None = None,
) -> PairCosts:
    """Costs of this loss on these bags; `weight` multiplies those of each bag."""
    from concordant.kernels import bags as kernels

    labels = np.ascontiguousarray(loss.label_costs(classes), dtype=float)
    geometry, table, start = np.zeros((5, 0)), np.zeros(0), np.zeros(0, dtype=np.int64)
    kind = {"nothing": kernels.NOTHING, "zero_one": kernels.ZERO_ONE}.get(loss.choices)
    if loss.choices == "overlap":
        kind, geometry = kernels.OVERLAP, _geometry(bags)
    elif loss.choices == "table":
        full, table, start = _tables(bags, len(classes))
        kind = kernels.FULL if full else kernels.TABLE
    if weight is None:
        weight = np.ones(len(bags))
    between_choices = 0.0 if loss.choices in ("nothing", "table") else 1.0
    scale = float(max(labels.max(), table.max(initial=0.0), between_choices)) or 1.0
    arrays = (kind, structure.offsets, labels, geometry, table, start, weight)
    return PairCosts(structure, arrays, scale)


def _geometry(bags: Sequence[Bag]) -> np.ndarray:
    """The boxes of all choices, with their areas, one row a coordinate."""
    for i, bag in enumerate(bags):
        if bag.boxes is None:
            raise ValueError(f"the overlap loss needs boxes, but bag {i} has none")
    boxes = np.concatenate([bag.boxes for bag in bags])
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return np.ascontiguousarray(np.column_stack([boxes, area]).T)


def _tables(bags: Sequence[Bag], k: int) -> tuple[bool, np.ndarray, np.ndarray]:
    """Whether the bags price whole pairs, and their matrices one after the other."""
    for i, bag in enumerate(bags):
        if bag.costs is None:
            raise ValueError(f"the loss needs the costs of every bag, but bag {i} has none")
        if len(bag.costs) not in (bag.n_choices, k * bag.n_choices):
            raise ValueError(
                f"bag {i} has {bag.n_choices} choices and costs of shape {bag.costs.shape}; with "
                f"{k} labels they must have {bag.n_choices} or {k * bag.n_choices} rows"
            )
    full = [len(bag.costs) != bag.n_choices for bag in bags]  # type: ignore[arg-type]
    if k > 1 and len(set(full)) > 1:
        one = full.index(not full[0])
        raise ValueError(f"bag 0 and bag {one} do not agree on whether costs price labels too")
    start = np.concatenate([[0], np.cumsum([bag.costs.size for bag in bags])])  # type: ignore[union-attr]
    table = np.concatenate([bag.costs.ravel() for bag in bags])  # type: ignore[union-attr]
    return full[0], table, start[:-1].astype(np.int64)


def pack(bags: Sequence[Bag], conditional: bool = False) -> tuple[np.ndarray, Any]:
    """Offsets of the bags, and all their choices' features below each other.

    Dense features become one C-contiguous float64 array, sparse ones one CSR matrix. Bags that
    are consecutive rows of one float array already, such as slices of a memory-mapped file, are
    not copied.
    """
    tables = [_features(bag, conditional) for bag in bags]
    for i, table in enumerate(tables):
        if table.shape[1] != tables[0].shape[1]:
            raise ValueError(
                f"bag {i} has {table.shape[1]} features a choice, bag 0 has {tables[0].shape[1]}"
            )
    offsets = np.concatenate([[0], np.cumsum([table.shape[0] for table in tables])])
    offsets = offsets.astype(np.int64)
    x = _joined(tables)
    _check_finite(x, offsets)
    return offsets, x


def _features(bag: Bag, conditional: bool) -> Any:
    return bag.conditional if conditional and bag.conditional is not None else bag.features


def _joined(tables: list[Any]) -> Any:
    if any(sp.issparse(table) for table in tables):
        x = sp.vstack([sp.csr_matrix(table) for table in tables], format="csr", dtype=np.float64)
        x.sum_duplicates()
        indices, indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
        return sp.csr_matrix((x.data, indices, indptr), shape=x.shape)
    return _shared(tables) if _are_consecutive(tables) else _copied(tables)


def _copied(tables: list[Any]) -> np.ndarray:
    return np.ascontiguousarray(np.concatenate(tables), dtype=np.float64)


def _are_consecutive(tables: list[Any]) -> bool:
    """All are C-contiguous floats, each beginning where the one before ends, in one buffer."""
    first = tables[0]
    if first.dtype not in (np.float32, np.float64):
        return False
    at = first.ctypes.data
    for table in tables:
        together = table.dtype == first.dtype and table.flags.c_contiguous
        if not together or table.ctypes.data != at or _root(table) is not _root(first):
            return False
        at += table.nbytes
    return True


def _root(array: Any) -> Any:
    """The array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _shared(tables: list[Any]) -> np.ndarray:
    """The rows of consecutive tables, without a copy."""
    shape = (sum(len(table) for table in tables), tables[0].shape[1])
    first = np.asarray(tables[0])
    return np.lib.stride_tricks.as_strided(first, shape, first.strides, writeable=False)


def _check_finite(x: Any, offsets: np.ndarray) -> None:
    """An error that names the first bag and choice with a feature that is no number."""
    data = x.data if sp.issparse(x) else x
    with np.errstate(all="ignore"):
        if np.isfinite(data.sum()):
            return
    bad = ~np.isfinite(data)
    if not bad.any():
        return
    at = int(bad.argmax()) if sp.issparse(x) else int(bad.any(axis=1).argmax())
    row = int(np.searchsorted(x.indptr, at, side="right")) - 1 if sp.issparse(x) else at
    bag = int(np.searchsorted(offsets, row, side="right")) - 1
    raise ValueError(
        f"Input X contains NaN or infinity, first in bag {bag}, choice {row - offsets[bag]}"
    )
