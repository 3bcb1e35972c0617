"""Checks of what the user passes in, and the training sample in canonical form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight

#: Above this many stored values a sample is taken as it is: finding equal rows costs a sort.
MERGE_LIMIT = 2_000_000


class Sample(NamedTuple):
    """Rows to train on: features, label codes, weights, and where they stood in the input."""

    x: Any
    y: np.ndarray
    weight: np.ndarray
    loss_weight: np.ndarray
    index: np.ndarray


def check_finite(x: Any) -> None:
    """Name the first cell that is not a number."""
    data = x.data if sp.issparse(x) else x
    # A finite sum proves all finite; otherwise (or if the sum overflows) look.
    with np.errstate(all="ignore"):
        if np.isfinite(data.sum()):
            return
    bad = ~np.isfinite(data)
    if not bad.any():
        return
    if sp.issparse(x):
        at = int(bad.argmax())
        row = int(np.searchsorted(x.indptr, at, side="right")) - 1
        column, value = int(x.indices[at]), data[at]
    else:
        row, column = (int(v) for v in np.argwhere(bad)[0])
        value = x[row, column]
    what = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(f"Input X contains {what}, first in row {row}, column {column}.")


def check_weights(weights: Any, x: Any, name: str) -> np.ndarray:
    """Finite, non-negative weights, one an example; ones if None."""
    weights = _check_sample_weight(weights, x, dtype=np.float64)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"{name} must be finite and >= 0, but row {row} has {weights[row]}")
    return weights


def prepare(x: Any, y: np.ndarray, weight: np.ndarray, loss_weight: np.ndarray) -> Sample:
    """Drop rows of zero weight, and on small samples merge equal rows in a canonical order.

    A weight of k then means exactly k copies, and the order of rows means nothing.
    """
    sample = Sample(x, y, weight, loss_weight, np.arange(len(y)))
    if (weight == 0).any():
        sample = _rows(sample, np.flatnonzero(weight), sample.weight)
    size = sample.x.nnz if sp.issparse(sample.x) else sample.x.size
    if size > MERGE_LIMIT or len(sample.y) > 20_000:
        return sample
    first, inverse = _groups(sample)
    merged = np.bincount(inverse, sample.weight[: len(inverse)])
    return _rows(sample, first, merged[inverse])


def _rows(sample: Sample, rows: np.ndarray, weight: np.ndarray) -> Sample:
    x, y, _, loss_weight, index = sample
    return Sample(x[rows], y[rows], weight[rows], loss_weight[rows], index[rows])


def _groups(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """First row of each set of equal rows, in an order that depends on their values only, and
    the set of every row."""
    extra = np.column_stack([sample.y.astype(float), sample.loss_weight])
    if not sp.issparse(sample.x):
        table = np.ascontiguousarray(np.column_stack([sample.x, extra]) + 0.0)
        keys = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    else:
        x = sample.x.copy()
        x.sum_duplicates()
        x.eliminate_zeros()
        keys = np.empty(len(sample.y), dtype=object)
        for i in range(len(keys)):
            span = slice(x.indptr[i], x.indptr[i + 1])
            keys[i] = (
                x.indices[span].astype(np.int64).tobytes(),
                x.data[span].tobytes(),
                extra[i].tobytes(),
            )
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse.ravel()
