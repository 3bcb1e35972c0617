"""How fast training closed its certified gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.plots.base import axes_of, last_step, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def relative_gap(history: Mapping[str, Sequence[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Seconds, and the best certificate so far over the size of the objective; finite entries."""
    objective, gap = np.array(history["objective"]), np.array(history["gap"])
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.minimum.accumulate(gap / np.abs(objective))
    known = np.isfinite(relative)
    return np.array(history["seconds"])[known], np.maximum(relative[known], 1e-16)


class ConvergenceDisplay:
    """Certified relative duality gap against seconds of training.

    Parameters
    ----------
    seconds, gap : ndarray of shape (n_passes,)
    name : str, default=None

    Attributes
    ----------
    line_, ax_, figure_ : what was drawn, and where

    Examples
    --------
    >>> import concordant as cc
    >>> model = cc.Classifier(surrogate="log", tol=1e-3).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    >>> bool(cc.plots.ConvergenceDisplay.from_estimator(model).gap[-1] <= 1e-3)
    True
    """

    def __init__(self, seconds: np.ndarray, gap: np.ndarray, *, name: str | None = None):
        self.seconds, self.gap, self.name = seconds, gap, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Axes | None = None, **line: Any
    ) -> ConvergenceDisplay:
        """Of a fitted estimator with a ``history_``."""
        name = name_of(estimator, name)
        return cls(*relative_gap(last_step(estimator).history_), name=name).plot(ax, **line)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **line: Any
    ) -> ConvergenceDisplay:
        """Draw the curve with a dot at its end; keywords go to ``ax.plot``."""
        ax = axes_of(ax)
        label = self.name if name is None else name
        (self.line_,) = ax.plot(self.seconds, self.gap, **({"label": label} | line))
        ax.plot(self.seconds[-1:], self.gap[-1:], "o", color=self.line_.get_color(), markersize=6)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("seconds of training")
        ax.set_ylabel("certified relative gap")
        self.ax_, self.figure_ = ax, ax.figure
        return self
