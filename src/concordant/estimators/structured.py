"""What the estimators of structured answers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


def object_array(items: Iterable[Any]) -> np.ndarray:
    """A 1-D array with one object an example.

    ``np.array``, and assigning all at once, would turn objects of equal lengths into a table.
    """
    items = list(items)
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out


def check_examples(X: Any, y: Any = None) -> tuple[Sequence[Any], Any]:
    """Sequences of examples, at least one, and as many answers."""
    X = _as_sequence(X, "X")
    if len(X) == 0:
        raise ValueError("Found array with 0 sample(s): X has no examples")
    if y is None:
        return X, None
    y = _as_sequence(y, "y")
    if len(X) != len(y):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {len(X)} "
            f"examples, y has {len(y)}"
        )
    return X, y


def _as_sequence(items: Any, name: str) -> Sequence[Any]:
    if isinstance(items, (str, bytes, dict)) or not hasattr(items, "__iter__"):
        raise TypeError(f"{name} must be a list with one item an example, got {type(items)}")
    return items if hasattr(items, "__len__") and hasattr(items, "__getitem__") else list(items)


class StructuredEstimator(BaseEstimator):
    """An estimator whose examples are objects of different sizes.

    It is no scikit-learn classifier: that would make cross-validation read lists of labels as a
    table. `predict` returns a 1-D object array, one element an example, and subclasses pass
    `concordant.checks.check_structured_estimator`.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = None
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        return tags
