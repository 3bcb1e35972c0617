"""Loss against coverage: what is left when the least certain examples are handed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.plots.base import Answers, axes_of, last_step, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def coverage_curve(cost: np.ndarray, doubt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share of examples kept, most certain first, and their mean cost.

    Examples of equal doubt are kept or handed over together, so that their order means nothing.

    Examples
    --------
    >>> import numpy as np
    >>> coverage_curve(np.array([1.0, 0.0, 0.0, 1.0]), np.array([0.9, 0.1, 0.1, 0.5]))
    (array([0.5 , 0.75, 1.  ]), array([0.  , 0.33..., 0.5 ]))
    """
    order = np.argsort(doubt, kind="stable")
    last = np.append(np.flatnonzero(np.diff(doubt[order])), len(doubt) - 1)
    kept = last + 1
    return kept / len(doubt), np.cumsum(cost[order])[last] / kept


def doubt_of(estimator: Any, X: Any, costs: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """How little an estimator is sure of its answers: their expected cost under its
    probabilities, or, without any, minus the lead of the best action's score.

    `costs` are those of the loss on the estimator's classes, `rows` the answers as its rows.
    """
    if hasattr(estimator, "predict_proba"):
        return np.einsum("ij,ij->i", costs[rows], estimator.predict_proba(X))
    decision = estimator.decision_function(X)
    if decision.ndim == 1:
        return -np.abs(decision)
    top = np.partition(decision, -2, axis=1)
    return top[:, -2] - top[:, -1]


class CoverageDisplay:
    """Mean loss on the examples a model is surest of, against their share.

    Parameters
    ----------
    coverage, loss : ndarray of shape (m,)
    name : str, default=None

    Attributes
    ----------
    line_, ax_, figure_ : what was drawn, and where

    Examples
    --------
    >>> import concordant as cc
    >>> display = cc.plots.CoverageDisplay.from_predictions(
    ...     [0, 1, 1], [0, 1, 0], [0.1, 0.2, 0.5], "zero_one"
    ... )
    >>> display.loss
    array([0.  , 0.  , 0.33...])
    """

    def __init__(self, coverage: np.ndarray, loss: np.ndarray, *, name: str | None = None):
        self.coverage, self.loss, self.name = coverage, loss, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, loss: Any = None, name: str | None = None,
        ax: Axes | None = None, **line: Any,
    ) -> CoverageDisplay:  # fmt: skip
        """Of a fitted classifier; examples are ordered by the expected cost of their answers, or
        by the lead of the best score where there are no probabilities."""
        from concordant.losses import find_loss
        from concordant.metrics import rank_codes

        answers = Answers.from_estimator(estimator, X, y, loss)
        own = find_loss(getattr(last_step(estimator), "loss", "zero_one") if loss is None else loss)
        costs, actions = own.resolve(np.asarray(estimator.classes_))
        rows = rank_codes(answers.actions[answers.action], actions, "action")
        doubt = doubt_of(estimator, X, costs, rows)
        display = cls(*coverage_curve(answers.cost, doubt), name=name_of(estimator, name))
        return display.plot(ax, **line)

    @classmethod
    def from_predictions(
        cls, y_true: Any, action: Any, doubt: Any, loss: Any = "zero_one", *, labels: Any = None,
        name: str | None = None, ax: Axes | None = None, **line: Any,
    ) -> CoverageDisplay:  # fmt: skip
        """Of answers, true labels, and a number an example that grows with doubt."""
        answers = Answers.of(y_true, action, loss, labels)
        curve = coverage_curve(answers.cost, np.asarray(doubt, dtype=float))
        return cls(*curve, name=name).plot(ax, **line)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **line: Any
    ) -> CoverageDisplay:
        """Draw the curve; keywords go to ``ax.plot``."""
        ax = axes_of(ax)
        label = self.name if name is None else name
        (self.line_,) = ax.plot(
            self.coverage, self.loss, **({"drawstyle": "steps-post", "label": label} | line)
        )
        ax.set_xlabel("share of examples answered, surest first")
        ax.set_ylabel("their mean loss")
        ax.set_xlim(0, 1)
        ax.autoscale(axis="y")  # a bottom of ours switches it off, and more curves may come
        ax.set_ylim(0, ax.get_ylim()[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self
