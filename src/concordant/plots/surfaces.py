"""Surrogates as functions of the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.plots.base import axes_of
from concordant.surrogates import evaluate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SurfaceDisplay:
    """A surrogate's value over the scores of two labels (a curve) or three (a map).

    Only differences of scores matter: the last label's score is held at zero.

    Parameters
    ----------
    axis : ndarray of shape (m,)
        Values that each free score takes.
    values : ndarray of shape (m,) or (m, m)
        For three labels, rows are the second score and columns the first.
    truth : int
    name : str, default=None

    Attributes
    ----------
    ax_, figure_ : the axes drawn on, and their figure

    Examples
    --------
    >>> import concordant as cc
    >>> display = cc.plots.SurfaceDisplay.from_surrogate("hinge", n_labels=2, at=3)
    >>> display.values  # truth is the first label; scores -3, 0, 3
    array([4., 1., 0.])
    """

    def __init__(
        self, axis: np.ndarray, values: np.ndarray, *, truth: int = 0, name: str | None = None
    ):
        self.axis, self.values, self.truth, self.name = axis, values, truth, name

    @classmethod
    def from_surrogate(
        cls, surrogate: Any, loss: Any = "zero_one", *, n_labels: int = 3, truth: int = 0,
        limit: float = 3.0, at: int = 121, ax: Axes | None = None, **style: Any,
    ) -> SurfaceDisplay:  # fmt: skip
        """Of a route under a loss, free scores between ``-limit`` and `limit`."""
        if n_labels not in (2, 3):
            raise ValueError(f"a surface shows 2 or 3 labels, got n_labels={n_labels!r}")
        axis = np.linspace(-limit, limit, at)
        grid = np.meshgrid(*[axis] * (n_labels - 1))
        scores = np.column_stack([g.ravel() for g in grid] + [np.zeros(grid[0].size)])
        values, _ = evaluate(surrogate, scores, np.full(len(scores), truth), loss=loss)
        name = surrogate if isinstance(surrogate, str) else repr(surrogate)
        return cls(axis, values.reshape(grid[0].shape), truth=truth, name=name).plot(ax, **style)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **style: Any
    ) -> SurfaceDisplay:
        """Draw it; keywords go to ``ax.plot`` or ``ax.contourf``."""
        ax = axes_of(ax)
        label = self.name if name is None else name
        if self.values.ndim == 1:
            ax.plot(self.axis, self.values, **({"label": label} | style))
            ax.set_xlabel("first score less the second")
            ax.set_ylabel("surrogate")
        else:
            ax.contourf(self.axis, self.axis, self.values, **({"levels": 15} | style))
            ax.set_xlabel("first score less the third")
            ax.set_ylabel("second score less the third")
            ax.set_aspect("equal")
            ax.set_title(label or "")
        self.ax_, self.figure_ = ax, ax.figure
        return self
