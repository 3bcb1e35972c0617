"""Mean loss with its interval, one row a route."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from concordant.plots.base import PALETTE, Palette, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from concordant.report import Comparison


class LossDisplay:
    """Mean losses and intervals, best first.

    Parameters
    ----------
    names : sequence of str
    means : sequence of float
    intervals : sequence of (float, float)
    filled : sequence of bool, default=None
        Whether each marker is filled; all by default. In a comparison: routes, not baselines.
    colours : sequence of colours, default=None
        The best in the accent colour by default, the others in ink.

    Attributes
    ----------
    ax_, figure_ : the axes drawn on, and their figure

    Examples
    --------
    >>> import concordant as cc
    >>> display = cc.plots.LossDisplay(["a", "b"], [0.1, 0.2], [(0.0, 0.2), (0.1, 0.3)]).plot()
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['b', 'a']
    """

    def __init__(
        self,
        names: Sequence[str],
        means: Sequence[float],
        intervals: Sequence[tuple[float, float]],
        *,
        filled: Sequence[bool] | None = None,
        colours: Sequence[Any] | None = None,
    ):
        self.names, self.means, self.intervals = list(names), list(means), list(intervals)
        self.filled = [True] * len(self.names) if filled is None else list(filled)
        self.colours = colours

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, ax: Axes | None = None, palette: Palette = PALETTE
    ) -> LossDisplay:
        """Of what `concordant.report.compare` found; significantly worse ones are pale."""
        shades = {"best": palette.accent, "tied": palette.ink, "worse": palette.muted}
        found = comparison.outcomes
        return cls(
            [o.title for o in found],
            [o.mean for o in found],
            [o.interval for o in found],
            filled=[o.is_route for o in found],
            colours=[shades[comparison.place(o)] for o in found],
        ).plot(ax, palette=palette)

    def plot(self, ax: Axes | None = None, *, palette: Palette = PALETTE) -> LossDisplay:
        """Draw it."""
        ax = axes_of(ax)
        best = min(self.means)
        colours = self.colours or [palette.accent if m == best else palette.ink for m in self.means]
        ax.axvline(best, color=palette.accent, linewidth=1, linestyle=(0, (3, 3)))
        places = range(len(self.names) - 1, -1, -1)
        for i, mean, (low, high), filled, colour in zip(
            places, self.means, self.intervals, self.filled, colours
        ):
            ax.plot([low, high], [i, i], color=colour, linewidth=2, solid_capstyle="round")
            ax.plot(
                [mean], [i], "o", color=colour, markersize=7, markeredgewidth=1.6,
                markerfacecolor=colour if filled else palette.paper,
            )  # fmt: skip
        ax.set_yticks(range(len(self.names)), self.names[::-1], color=palette.ink)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(axis="x")
        ax.set_axisbelow(True)
        ax.set_xlabel("mean loss (smaller is better)")
        self.ax_, self.figure_ = ax, ax.figure
        return self
