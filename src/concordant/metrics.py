"""Scoring predictions by a loss."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import make_scorer as sklearn_make_scorer

from concordant.losses import LabelLoss, find_loss

_NAN = object()  # NaN is not equal to itself, so it needs a stand-in as a key


def _key(value: Any) -> Any:
    return _NAN if isinstance(value, float) and np.isnan(value) else value


def rank_codes(values: np.ndarray, names: np.ndarray, what: str) -> np.ndarray:
    """Position of each value among the names; NaN matches NaN."""
    table = {_key(name): i for i, name in enumerate(names.tolist())}
    codes = np.array([table.get(_key(v), -1) for v in values.tolist()], dtype=np.int64)
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise ValueError(
            f"row {row}: {values.tolist()[row]!r} is not a known {what}; known are "
            f"{', '.join(map(repr, names.tolist()[:20]))}"
        )
    return codes


def check_weights(weights: Any, n: int, name: str) -> np.ndarray:
    """Finite, non-negative weights, one an example; ones if None."""
    if weights is None:
        return np.ones(n)
    weights = np.array(weights, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(
            f"{name} must be 1D with one weight a row, shape ({n},), got {weights.shape}"
        )
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"{name} must be finite and >= 0, but row {row} has {weights[row]}")
    return weights


def check_labels(y: np.ndarray, name: str) -> None:
    """Labels are all strings or all numbers, none missing; else an error names the row."""
    if y.dtype.kind in "biuSU":
        return
    if y.dtype.kind == "f":
        bad = ~np.isfinite(y)
        if bad.any():
            row = int(bad.argmax())
            what = "NaN" if np.isnan(y[row]) else "infinity"
            raise ValueError(f"Input {name} contains {what}, first in row {row}")
        return
    values = y.tolist()
    for row, value in enumerate(values):
        if not isinstance(value, (str, bytes, numbers.Real)) or value != value:
            raise ValueError(f"Input {name} contains NaN or no label: row {row} has {value!r}")
        if isinstance(value, numbers.Real) != isinstance(values[0], numbers.Real):
            raise ValueError(
                f"{name} mixes strings and numbers: row 0 has {values[0]!r}, row {row} {value!r}"
            )


def action_costs(
    y_true: np.ndarray, action: np.ndarray, loss: LabelLoss, labels: np.ndarray
) -> np.ndarray:
    """Cost of each prediction, ``(n,)``; `labels` are the classes, sorted."""
    matrix, actions = loss.resolve(labels)
    return matrix[rank_codes(action, actions, "action"), rank_codes(y_true, labels, "label")]


def weighted_mean(values: np.ndarray, sample_weight: Any) -> float:
    """Mean of the values, each as often as its weight says."""
    weight = check_weights(sample_weight, len(values), "sample_weight")
    if not weight.any():
        raise ValueError("sample_weight is zero for every example")
    return float(np.average(values, weights=weight))


def _column(values: Any, name: str) -> np.ndarray:
    """A 1-D array that keeps the type of each value: numpy would make 1 and "a" two strings."""
    column = np.asarray(values)
    if column.ndim != 1:
        raise ValueError(f"{name} must be 1-D, got shape {column.shape}")
    if column.dtype.kind in "SU" and not all(isinstance(v, (str, bytes)) for v in values):
        column = np.array(list(values), dtype=object)
    return column


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
        All classes, in their order: ordered losses take ranks from it. By default the labels
        that occur in `y_true`, and for plain label losses in `action`, sorted. A grade that
        occurs in neither is then no step between its neighbours.
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
    y_true, action = _column(y_true, "y_true"), _column(action, "action")
    if len(y_true) != len(action):
        raise ValueError(f"y_true has {len(y_true)} rows, action has {len(action)}")
    if len(y_true) == 0:
        raise ValueError("there are no predictions to score")
    check_labels(y_true, "y_true")
    labels = _labels(y_true, action, loss) if labels is None else _distinct(labels)
    return weighted_mean(action_costs(y_true, action, loss, labels), sample_weight)


def _labels(y_true: np.ndarray, action: np.ndarray, loss: LabelLoss) -> np.ndarray:
    """Classes as far as they can be seen: an action that the loss does not know is a label, if
    it could be one."""
    named = loss.label_names()
    if named is not None:
        return _column(named, "labels")
    seen = np.unique(y_true)
    actions = {_key(a) for a in loss.resolve(seen)[1].tolist()}
    kind = (str, bytes) if isinstance(seen.tolist()[0], (str, bytes)) else numbers.Real
    extra = [a for a in action.tolist() if _key(a) not in actions]
    extra = [a for a in extra if isinstance(a, kind) and a == a]
    return np.unique(np.array(seen.tolist() + extra)) if extra else seen


def _distinct(labels: Any) -> np.ndarray:
    labels = _column(labels, "labels")
    if len(set(labels.tolist())) < len(labels):
        raise ValueError(f"labels names one of its labels twice: {labels.tolist()}")
    return labels


def known_labels(classes: np.ndarray, y: np.ndarray, loss: LabelLoss) -> np.ndarray:
    """All labels of the loss if it names them, else the classes of a model, among which those
    of `y` that it lacks are sorted if they can be."""
    named = loss.label_names()
    if named is not None:
        return _column(named, "labels")
    known = set(classes.tolist())
    numeric = y.dtype.kind in "biuf"
    if known.issuperset(y.tolist()) or not _is_sorted(classes):
        return classes
    if numeric != (classes.dtype.kind in "biuf"):
        return classes
    return np.unique(np.concatenate([classes, y]))


def _is_sorted(classes: np.ndarray) -> bool:
    return bool(np.array_equal(classes, np.unique(classes)))


def make_scorer(loss: Any = "zero_one", **kwargs: Any) -> Any:
    """A scikit-learn scorer: minus the mean loss, so that larger is better.

    Labels have the order and number that the scored model knows (``classes_``), so that a fold
    without one of the grades prices the others as `score` does.

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
    return _LossScorer(mean_loss, -1, {"loss": find_loss(loss), **kwargs}, "predict")


class _LossScorer(type(sklearn_make_scorer(mean_loss))):  # type: ignore[misc]
    """scikit-learn's scorer, told the classes of the model that it scores."""

    def _score(
        self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **kwargs: Any
    ) -> float:
        classes = getattr(estimator, "classes_", None)
        if classes is not None and "labels" not in {**self._kwargs, **kwargs}:
            y = _column(y_true, "y_true")
            kwargs["labels"] = known_labels(np.asarray(classes), y, self._kwargs["loss"])
        return float(super()._score(method_caller, estimator, X, y_true, **kwargs))


class PhraseScores(NamedTuple):
    """Accuracy of labels; precision, recall and F1 of phrases."""

    accuracy: float
    precision: float
    recall: float
    f1: float


def phrase_scores(y_true: Any, y_pred: Any) -> PhraseScores:
    """Precision, recall and F1 of whole phrases, by the rule of the CoNLL shared tasks.

    Labels are "O", "B-type" and "I-type" (also "E-", "S-"; types may be missing). A phrase counts
    if its first and last token and its type are right. An "I-" begins one after "O" or another
    type.

    Parameters
    ----------
    y_true, y_pred : lists of sequences of labels

    Examples
    --------
    >>> import concordant as cc
    >>> cc.metrics.phrase_scores([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "B-NP"]])
    PhraseScores(accuracy=0.66..., precision=0.5, recall=1.0, f1=0.66...)
    """
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} sequences, y_pred has {len(y_pred)}")
    right = tokens = hits = wanted = found = 0
    for i, (true, pred) in enumerate(zip(y_true, y_pred)):
        true, pred = [str(label) for label in true], [str(label) for label in pred]
        if len(true) != len(pred):
            raise ValueError(
                f"sequence {i} has {len(true)} labels in y_true, {len(pred)} in y_pred"
            )
        right += sum(a == b for a, b in zip(true, pred))
        tokens += len(true)
        ours, theirs = phrases(true), phrases(pred)
        wanted, found, hits = wanted + len(ours), found + len(theirs), hits + len(ours & theirs)
    precision, recall = hits / found if found else 0.0, hits / wanted if wanted else 0.0
    both = precision + recall
    f1 = 2.0 * precision * recall / both if both else 0.0
    return PhraseScores(right / tokens if tokens else 0.0, precision, recall, f1)


def phrases(labels: list[str]) -> set[tuple[str, int, int]]:
    """Type, first and last position of each phrase of a sequence."""
    out = set()
    begin, before, kind_before = -1, "O", ""
    for t, label in enumerate([*labels, "O"]):
        tag, _, kind = label.partition("-")
        inside = begin >= 0
        if inside and (tag in "OBS" or before in "ES" or kind != kind_before):
            out.add((kind_before, begin, t - 1))
            inside = False
        if tag != "O" and not inside:
            begin = t
        elif tag == "O":
            begin = -1
        before, kind_before = tag, kind
    return out
