"""One example with its answer: an assignment, or a place in an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.plots.base import axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MatchingDisplay:
    """Confidence of every pair of one example, with the answer and the truth.

    Parameters
    ----------
    confidence : ndarray of shape (n, m)
    answer : ndarray of shape (n,)
        Column of each row; -1 for none.
    truth : ndarray of shape (n,), default=None

    Attributes
    ----------
    image_, ax_, figure_ : what was drawn, and where

    Examples
    --------
    >>> import concordant as cc
    >>> X, y = cc.datasets.make_pairs(6, 3, random_state=0)
    >>> model = cc.Matcher(tol=1e-2).fit(X, y)
    >>> display = cc.plots.MatchingDisplay.from_estimator(model, X[0], y[0])
    >>> display.confidence.shape
    (3, 3)
    """

    def __init__(self, confidence: np.ndarray, answer: Any, truth: Any = None):
        self.confidence = np.asarray(confidence, dtype=float)
        self.answer = np.asarray(answer)
        self.truth = None if truth is None else np.asarray(truth)

    @classmethod
    def from_estimator(
        cls, estimator: Any, x: Any, y: Any = None, *, ax: Axes | None = None, **style: Any
    ) -> MatchingDisplay:
        """Of a fitted `Matcher` and one example; the hinge has no doubts to show."""
        answer = np.asarray(estimator.predict([x])[0])
        if hasattr(estimator, "predict_marginals"):
            confidence = np.asarray(estimator.predict_marginals([x])[0])[:, : np.shape(x)[1]]
        else:
            confidence = (answer[:, None] == np.arange(np.shape(x)[1])).astype(float)
        return cls(confidence, answer, y).plot(ax, **style)

    def plot(self, ax: Axes | None = None, **style: Any) -> MatchingDisplay:
        """Draw it; keywords go to ``ax.imshow``."""
        ax = axes_of(ax)
        shown: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": 1} | style
        self.image_ = ax.imshow(self.confidence, **shown)
        if self.truth is not None:
            self._mark(ax, self.truth, "o", markersize=14, markerfacecolor="none", color="black")
        self._mark(ax, self.answer, "x", color="tab:red", label="answer")
        ax.set_xlabel("column")
        ax.set_ylabel("row")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @staticmethod
    def _mark(ax: Axes, columns: np.ndarray, marker: str, **style: Any) -> None:
        rows = np.flatnonzero(columns >= 0)
        ax.plot(columns[rows], rows, marker, **({"label": "truth"} | style))


class PlaceDisplay:
    """An image with the box of an answer, and the true one if it is known.

    Parameters
    ----------
    boxes : ndarray of shape (n_choices, 4)
        Corners x1, y1, x2, y2 of every choice.
    label : object
    choice : int
    image : ndarray, default=None
    truth : int, default=None
        The true choice.

    Attributes
    ----------
    ax_, figure_ : the axes drawn on, and their figure

    Examples
    --------
    >>> import concordant as cc
    >>> display = cc.plots.PlaceDisplay([[0, 0, 4, 4], [2, 2, 6, 6]], "cat", 1).plot()
    >>> display.ax_.get_title()
    'cat'
    """

    def __init__(
        self, boxes: Any, label: Any, choice: int, *, image: Any = None, truth: int | None = None
    ):
        self.boxes = np.asarray(boxes, dtype=float)
        self.label, self.choice, self.image, self.truth = label, choice, image, truth

    @classmethod
    def from_estimator(
        cls, estimator: Any, bag: Any, *, image: Any = None, truth: int | None = None,
        ax: Axes | None = None,
    ) -> PlaceDisplay:  # fmt: skip
        """Of a fitted `LatentClassifier` and one bag with boxes."""
        if bag.boxes is None:
            raise ValueError("the bag has no boxes to draw")
        label, choice = estimator.predict_latent([bag])[0]
        return cls(bag.boxes, label, choice, image=image, truth=truth).plot(ax)

    def plot(self, ax: Axes | None = None) -> PlaceDisplay:
        """Draw it."""
        from matplotlib.patches import Rectangle

        ax = axes_of(ax)
        if self.image is not None:
            ax.imshow(self.image, cmap="gray")
        else:
            ax.set_xlim(self.boxes[:, 0].min(), self.boxes[:, 2].max())
            ax.set_ylim(self.boxes[:, 3].max(), self.boxes[:, 1].min())
            ax.set_aspect("equal")
        for choice, colour in ((self.truth, "tab:green"), (self.choice, "tab:red")):
            if choice is not None:
                x1, y1, x2, y2 = self.boxes[choice]
                box = Rectangle((x1, y1), x2 - x1, y2 - y1, fill=False, color=colour, linewidth=2)
                ax.add_patch(box)
        ax.set_title(str(self.label))
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        return self
