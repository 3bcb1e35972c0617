"""Scoring predictions by a loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.losses import LabelLoss, find_loss


def _codes(values: np.ndarray, names: np.ndarray, what: str) -> np.ndarray:
    """Position of each value among the names; NaN matches NaN."""
    table = {_key(name): i for i, name in enumerate(names.tolist())}
    codes = np.array([table.get(_key(v), -1) for v in values.tolist()], dtype=np.int64)
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise ValueError(f"row {row}: {values.tolist()[row]!r} is not a known {what}")
    return codes


def _key(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and np.isnan(value) else value


def action_costs(
    y_true: np.ndarray, action: np.ndarray, loss: LabelLoss, labels: np.ndarray
) -> np.ndarray:
    """Cost of each prediction, ``(n,)``; `labels` are the classes, sorted."""
    matrix, actions = loss.resolve(labels)
    return matrix[_codes(action, actions, "action"), _codes(y_true, labels, "label")]


def mean_loss(
    y_true: Any, action: Any, loss: Any = "zero_one", *, labels: Any = None,
    sample_weight: Any = None,
) -> float:  # fmt: skip
    """Mean cost of actions against the true labels.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    action : array-like of shape (n,)
        Predicted labels, or other actions of the loss.
    loss : str or loss, default="zero_one"
    labels : array-like, default=None
        All classes. Ordered losses take ranks from their sorted order. By default the labels
        that occur in `y_true`, and for plain label losses in `action`.
    sample_weight : array-like of shape (n,), default=None

    Examples
    --------
    >>> import concordant as cc
    >>> cc.metrics.mean_loss([1, 2, 3], [1, 3, 1], "absolute")
    1.0
    >>> cc.metrics.mean_loss(["a", "b"], ["a", "abstain"], cc.losses.Abstain(cost=0.3))
    0.15
    """
    loss = find_loss(loss)
    y_true, action = np.asarray(y_true), np.asarray(action)
    if y_true.ndim != 1 or y_true.shape != action.shape:
        raise ValueError(f"y_true {y_true.shape} and action {action.shape} must be 1-D and alike")
    if len(y_true) == 0:
        raise ValueError("there are no predictions to score")
    if labels is None:
        labels = _labels(y_true, action, loss)
    each = action_costs(y_true, action, loss, np.unique(np.asarray(labels)))
    return float(np.average(each, weights=sample_weight))


def _labels(y_true: np.ndarray, action: np.ndarray, loss: LabelLoss) -> np.ndarray:
    """Classes as far as they can be seen: an action that the loss does not know is a label."""
    named = getattr(loss, "label_names", None)
    if named is not None and named() is not None:
        return np.unique(np.asarray(named()))
    seen = np.unique(y_true)
    actions = {_key(a) for a in loss.resolve(seen)[1].tolist()}
    extra = [a for a in action.tolist() if _key(a) not in actions]
    return np.unique(np.concatenate([seen, np.array(extra, dtype=seen.dtype)])) if extra else seen


def make_scorer(loss: Any = "zero_one", **kwargs: Any) -> Any:
    """A scikit-learn scorer: minus the mean loss, so that larger is better.

    Examples
    --------
    >>> import concordant as cc
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = cross_val_score(
    ...     cc.Classifier("absolute"), X, y, scoring=cc.metrics.make_scorer("absolute")
    ... )
    >>> bool(scores.mean() > -0.1)
    True
    """
    from sklearn.metrics import make_scorer as sklearn_make_scorer

    return sklearn_make_scorer(mean_loss, greater_is_better=False, loss=find_loss(loss), **kwargs)
