"""Whether probabilities mean what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.metrics import rank_codes
from concordant.plots.base import PALETTE, Palette, axes_of, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 10


def reliability(
    confidence: np.ndarray, right: np.ndarray, bins: int = BINS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean confidence, share of right ones and size of bins with equally many examples.

    Examples of equal confidence share a bin, so there may be fewer.
    """
    order = np.argsort(confidence, kind="stable")
    confidence, right = confidence[order], np.asarray(right, dtype=float)[order]
    ideal = np.linspace(0, len(order), min(bins, len(order)) + 1)[1:-1].round().astype(int)
    edges = np.unique(np.searchsorted(confidence, confidence[ideal]))
    pieces = np.split(np.arange(len(order)), edges[edges > 0])
    means = [(confidence[p].mean(), right[p].mean(), len(p)) for p in pieces]
    return tuple(np.array(column) for column in zip(*means))  # type: ignore[return-value]


class CalibrationDisplay:
    """How often the most probable label is right, against its probability.

    Parameters
    ----------
    confidence, frequency, count : ndarray of shape (n_bins,)
        Mean probability of the most probable label, share of examples where it is the truth, and
        their number.
    name : str, default=None

    Attributes
    ----------
    error : float
        Mean distance of the two, weighted by the number of examples (expected calibration error).
    line_, ax_, figure_ : what was drawn, and where

    Examples
    --------
    >>> import concordant as cc
    >>> cc.plots.CalibrationDisplay.from_predictions(
    ...     ["a", "b"], [[0.8, 0.2], [0.3, 0.7]], labels=["a", "b"]
    ... ).error
    0.25
    """

    def __init__(
        self, confidence: np.ndarray, frequency: np.ndarray, count: np.ndarray, *,
        name: str | None = None,
    ):  # fmt: skip
        self.confidence, self.frequency, self.count = confidence, frequency, count
        self.name = name
        self.error = float(np.average(np.abs(confidence - frequency), weights=count))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, bins: int = BINS, name: str | None = None,
        ax: Axes | None = None, **line: Any,
    ) -> CalibrationDisplay:  # fmt: skip
        """Of a fitted classifier with `predict_proba`."""
        proba, labels = estimator.predict_proba(X), estimator.classes_
        name = name_of(estimator, name)
        return cls.from_predictions(y, proba, labels=labels, bins=bins, name=name, ax=ax, **line)

    @classmethod
    def from_predictions(
        cls, y_true: Any, proba: Any, *, labels: Any, bins: int = BINS, name: str | None = None,
        ax: Axes | None = None, **line: Any,
    ) -> CalibrationDisplay:  # fmt: skip
        """Of probabilities, one column a label of `labels`."""
        proba, labels = np.asarray(proba, dtype=float), np.asarray(labels)
        truth = rank_codes(np.asarray(y_true), labels, "label")
        top = proba.argmax(axis=1)
        found = reliability(proba.max(axis=1), top == truth, bins)
        return cls(*found, name=name).plot(ax, **line)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, palette: Palette = PALETTE,
        **line: Any,
    ) -> CalibrationDisplay:  # fmt: skip
        """Draw the curve and the diagonal; keywords go to ``ax.plot``."""
        ax = axes_of(ax)
        label = self.name if name is None else name
        ax.axline(
            (0, 0), slope=1, color=palette.muted, linewidth=1, linestyle=(0, (3, 3)), zorder=1
        )
        (self.line_,) = ax.plot(
            self.confidence, self.frequency, **({"marker": "o", "label": label} | line)
        )
        ax.set_xlabel("probability of the most probable label")
        ax.set_ylabel("share of examples where it is right")
        ax.set_xlim(0, 1.02)
        ax.set_ylim(0, 1.02)
        self.ax_, self.figure_ = ax, ax.figure
        return self
