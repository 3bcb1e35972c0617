"""Where the loss comes from: a confusion matrix that counts costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.plots.base import PALETTE, Answers, Palette, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CostMapDisplay:
    """Share of the whole loss by answer and truth.

    Parameters
    ----------
    counts : ndarray of shape (n_actions, k)
        Examples with each answer and truth.
    costs : ndarray of shape (n_actions, k)
    actions, labels : sequences
        Names of rows and columns.

    Attributes
    ----------
    share : ndarray of shape (n_actions, k)
        What each cell adds to the mean loss.
    ax_, figure_ : the axes drawn on, and their figure

    Examples
    --------
    >>> import concordant as cc
    >>> display = cc.plots.CostMapDisplay.from_predictions([1, 2, 3], [1, 3, 1], "absolute")
    >>> float(display.share.sum())
    1.0
    """

    def __init__(self, counts: np.ndarray, costs: np.ndarray, actions: Any, labels: Any):
        self.counts = np.asarray(counts, dtype=float)
        self.costs = np.asarray(costs, dtype=float)
        self.actions = list(actions)
        self.labels = list(labels)
        self.share = self.counts * self.costs / max(self.counts.sum(), 1.0)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        loss: Any = None,
        ax: Axes | None = None,
        **style: Any,
    ) -> CostMapDisplay:
        """Of a fitted classifier's predictions, priced by its own loss unless another is given."""
        return cls._of(Answers.from_estimator(estimator, X, y, loss)).plot(ax, **style)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        action: Any,
        loss: Any = "zero_one",
        *,
        labels: Any = None,
        ax: Axes | None = None,
        **style: Any,
    ) -> CostMapDisplay:
        """Of answers and true labels."""
        return cls._of(Answers.of(y_true, action, loss, labels)).plot(ax, **style)

    @classmethod
    def _of(cls, answers: Answers) -> CostMapDisplay:
        counts = np.zeros(answers.costs.shape)
        np.add.at(counts, (answers.action, answers.truth), 1.0)
        return cls(counts, answers.costs, answers.actions.tolist(), answers.labels.tolist())

    def plot(
        self, ax: Axes | None = None, *, numbers: str = "all", palette: Palette = PALETTE,
        letters: tuple[int, int] = (12, 18), most_names: tuple[int, int] = (24, 25),
    ) -> CostMapDisplay:  # fmt: skip
        """Draw it.

        Parameters
        ----------
        ax : Axes, default=None
        numbers : {"all", "share", "none"}, default="all"
            In each cell: share of the loss with examples × cost, the share, nothing.
        palette : Palette
        letters : (int, int), default=(12, 18)
            Letters of a name that fit below a column and beside a row.
        most_names : (int, int), default=(24, 25)
            Names along each axis; with more, every second (third, …) is shown.
        """
        ax = axes_of(ax)
        self._cells(ax, numbers, palette)
        rows, columns = self.share.shape
        ax.set_xlim(-0.5, columns - 0.5)
        ax.set_ylim(rows - 0.5, -0.5)
        ax.set_xticks(*_ticks(self.labels, letters[0], most_names[0]), color=palette.ink)
        ax.set_yticks(*_ticks(self.actions, letters[1], most_names[1]), color=palette.ink)
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set_xlabel("truth")
        ax.set_ylabel("answer")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _cells(self, ax: Axes, numbers: str, palette: Palette) -> None:
        from matplotlib.patches import Rectangle

        total, strongest = self.share.sum() or 1.0, self.share.max() or 1.0
        for i, j in np.ndindex(*self.share.shape):
            part = float(self.share[i, j])
            square: dict[str, Any] = {"xy": (j - 0.48, i - 0.48), "width": 0.96, "height": 0.96}
            ax.add_patch(Rectangle(**square, facecolor=palette.grid, alpha=0.35, linewidth=0))
            if part > 0:
                alpha = 0.08 + 0.57 * part / strongest
                ax.add_patch(
                    Rectangle(**square, facecolor=palette.accent, alpha=alpha, linewidth=0)
                )
            if self.counts[i, j] > 0 and numbers != "none":
                self._text(ax, i, j, 100 * part / total, numbers, palette)

    def _text(
        self, ax: Axes, i: int, j: int, percent: float, numbers: str, palette: Palette
    ) -> None:
        centred: dict[str, Any] = {"ha": "center", "va": "center"}
        number, cost = f"{round(float(self.counts[i, j]), 1):g}", float(self.costs[i, j])
        if cost == 0:
            ax.text(j, i, number, color=palette.muted, **centred)
        elif numbers == "share":
            ax.text(j, i, f"{percent:.0f} %" if percent >= 0.5 else "<1 %", **centred)
        else:
            ax.text(j, i - 0.14, f"{percent:.1f} %", fontweight="bold", **centred)
            ax.text(j, i + 0.2, f"{number} × {cost:g}", fontsize=10, **centred)


def _ticks(labels: list[Any], letters: int, at_most: int) -> tuple[list[int], list[str]]:
    """Places and shortened names, every second (third, …) one where there are too many."""
    names = [str(label) for label in labels]
    places = list(range(0, len(names), -(-len(names) // at_most)))
    short = [n if len(n) <= letters else f"{n[: letters - 1]}…" for n in names]
    return places, [short[i] for i in places]
