"""Checks of what the user passes in, and the training sample in canonical form."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from concordant.metrics import check_labels, check_weights, rank_codes

#: Above this many stored values a sample is taken as it is: finding equal rows costs a sort.
MERGE_LIMIT = 2_000_000


class Sample(NamedTuple):
    """Rows to train on: features, label codes, weights, and where they stood in the input."""

    x: Any
    y: np.ndarray
    weight: np.ndarray
    loss_weight: np.ndarray
    origin: np.ndarray


def training_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    loss_weight: Any,
    order: list[Any] | None = None,
) -> tuple[Sample, np.ndarray]:
    """The sample to train on and the classes in it, in this order (by default sorted)."""
    precomputed = estimator.kernel == "precomputed"
    _check_answers(y)
    X, y = validate_data(
        estimator,
        X,
        y,
        accept_sparse=False if precomputed else "csr",
        dtype=np.float64,
        order="C",
        ensure_all_finite=False,  # `check_finite` names the cell
        multi_output=True,
    )
    check_finite(X, getattr(estimator, "feature_names_in_", None))
    if precomputed and X.shape[0] != X.shape[1]:
        raise ValueError(f"Precomputed matrix must be a square matrix, got shape {X.shape}")
    y = column_or_1d(y, warn=True)
    check_labels(y, "y")
    check_classification_targets(y)
    weight = check_weights(sample_weight, len(y), "sample_weight")
    loss_weight = check_weights(loss_weight, len(y), "loss_weight")
    if not weight.any():
        raise ValueError("sample_weight is zero for every example")
    used = weight > 0
    classes, codes = _encode(y, used, order)
    if precomputed:
        rows = np.flatnonzero(used)
        x = X if used.all() else X[np.ix_(rows, rows)]
        return Sample(x, codes[rows], weight[rows], loss_weight[rows], rows), classes
    return prepare(_canonical(X), codes, weight, loss_weight), classes


def _check_answers(y: Any) -> None:
    """None is missing or infinite: before a check that would not name the row."""
    if sp.issparse(y):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            labels = np.asarray(y)
        except (ValueError, TypeError, Warning):  # told better by the checks to come
            return
    if labels.ndim == 1 and labels.dtype.kind in "fO":
        check_labels(labels, "y")


def _encode(
    y: np.ndarray, used: np.ndarray, order: list[Any] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Classes of the used rows, and codes of all (0 where a row is not used)."""
    if order is None:
        classes, used_codes = np.unique(y[used], return_inverse=True)
    else:
        places = rank_codes(y, np.asarray(order), "category")
        found, used_codes = np.unique(places[used], return_inverse=True)
        classes = np.asarray(order)[found]
    codes = np.zeros(len(y), dtype=np.int64)
    codes[used] = used_codes
    return classes, codes


def label_order(y: Any, advice: str, categories: Any = None) -> list[Any] | None:
    """All labels in the order given, or declared by y as an ordered categorical (pandas) or an
    enum (polars). None for numbers, which ascend, and for strings, with a warning that ends in
    `advice`."""
    labels = np.asarray(y)
    if labels.ndim == 1 and labels.dtype.kind == "O":
        check_labels(labels, "y")
    if categories is not None:
        return _check_categories(categories)
    own = getattr(getattr(y, "dtype", None), "categories", None)
    if own is not None and getattr(y.dtype, "ordered", True):
        return _check_categories(own)
    if labels.ndim == 1 and labels.size and isinstance(labels.tolist()[0], (str, bytes)):
        warnings.warn(
            "string labels have no order of their own and are ordered alphabetically: "
            f"{', '.join(map(str, np.unique(labels.astype(str))[:20]))}; {advice}",
            UserWarning,
            stacklevel=4,  # where `fit` was called
        )
    return None


def _check_categories(categories: Any) -> list[Any]:
    """Labels in their order, each once."""
    if isinstance(categories, (str, bytes)) or not hasattr(categories, "__iter__"):
        raise TypeError(f"categories must be a sequence of labels, got {categories!r}")
    names = np.asarray(categories).tolist() if hasattr(categories, "dtype") else list(categories)
    if hasattr(categories, "to_list"):
        names = categories.to_list()
    if not names:
        raise ValueError("categories is empty")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"categories names {twice[0]!r} twice")
    return names


def features(estimator: Any, X: Any) -> Any:
    """Features to predict for, like those of training in number, names and kind."""
    X = validate_data(
        estimator,
        X,
        accept_sparse=False if estimator.kernel == "precomputed" else "csr",
        dtype=np.float64,
        ensure_all_finite=False,
        reset=False,
    )
    check_finite(X, getattr(estimator, "feature_names_in_", None))
    return X


def _canonical(x: Any) -> Any:
    """CSR without repeated cells, with the index type the kernels are compiled for."""
    if not sp.issparse(x):
        return x
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    if x.indices.dtype == np.int32 and x.indptr.dtype == np.int32:
        return x
    return type(x)((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape)


def check_finite(x: Any, names: Any = None) -> None:
    """Name the first cell that is not a number, by its column's name if there is one."""
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
    called = "" if names is None else f" ({names[column]!r})"
    raise ValueError(f"Input X contains {what}, first in row {row}, column {column}{called}.")


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
    x, y, _, loss_weight, origin = sample
    return Sample(x[rows], y[rows], weight[rows], loss_weight[rows], origin[rows])


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
