"""The report's pictures and their descriptions in words.

Each picture comes in two shapes, for wide and for narrow windows, because text that shrinks with
its picture cannot be read on a phone.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.plots import (
    CalibrationDisplay,
    ConvergenceDisplay,
    CostMapDisplay,
    CoverageDisplay,
    LossDisplay,
)
from concordant.plots.calibration import reliability
from concordant.plots.convergence import relative_gap
from concordant.plots.coverage import coverage_curve
from concordant.report.svg import DASHES, MUTED, PAGE, SERIES, plain_ticks, svg
from concordant.report.wording import loss_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from concordant.report.results import Comparison, Outcome

#: Lines in one picture: more cannot be told apart.
MOST_LINES = 5


def loss_figure(comparison: Comparison, narrow: bool) -> str:
    """Mean loss and interval of every candidate."""
    height = (0.36 if narrow else 0.33) * len(comparison.outcomes) + 0.7

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        display = LossDisplay.from_comparison(comparison, ax=axes, palette=PAGE)
        wrap = 17 if narrow else 60
        titles = ["\n".join(textwrap.wrap(name, wrap)) for name in display.names[::-1]]
        axes.set_yticks(range(len(titles)), titles)
        axes.locator_params(axis="x", nbins=4 if narrow else 8)

    return svg(draw, height, narrow, "loss")


def cost_figure(comparison: Comparison, narrow: bool) -> str:
    """Share of the best candidate's loss by action and truth, with counts and costs."""
    problem = comparison.problem
    rows, columns = problem.costs.shape
    width, letter = (4.0, 0.09) if narrow else (6.2, 0.1)  # inches
    cell = min(width / columns, 1.1)  # few labels would make a poster
    height = min(max(cell * rows, 1.5), 7.5) + 0.6
    counts, _ = comparison.cost_map()

    def draw(figure: Figure) -> None:
        shown = "share" if narrow else "all"
        fits = int(width / columns / letter)  # letters below one column
        CostMapDisplay(
            counts, problem.costs, problem.actions.tolist(), problem.classes.tolist()
        ).plot(
            figure.subplots(),
            numbers=shown if columns <= 12 else "none",  # more columns leave no room
            palette=PAGE,
            letters=(max(fits, 3), 10 if narrow else 18),
            most_names=(int(width / 0.3), 25),
        )

    return svg(draw, height, narrow, "cost", wide_width=8.0)


def coverage_figure(comparison: Comparison, narrow: bool) -> str:
    """Mean loss of the surest answers, for the best candidates that say how sure they are."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for i, o in enumerate(hesitant(comparison)):
            CoverageDisplay(*_coverage(comparison, o), name=o.title).plot(axes, **_line(i))
        axes.grid()
        _legend(figure, narrow)

    return svg(draw, 4.2 if narrow else 3.6, narrow, "coverage")


def calibration_figure(comparison: Comparison, narrow: bool) -> str:
    """Probabilities against frequencies, for the best candidates that have probabilities."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for i, o in enumerate(probabilistic(comparison)):
            display = CalibrationDisplay(*_calibration(comparison, o), name=o.title)
            display.plot(axes, palette=PAGE, **_line(i), markersize=5)
        axes.grid()
        _legend(figure, narrow)

    return svg(draw, 4.8 if narrow else 4.2, narrow, "calibration", wide_width=8.0)


def convergence_figure(comparison: Comparison, narrow: bool) -> str:
    """Certified relative gap against seconds, one fit of each route on all the data."""
    routes = [o for o in comparison.outcomes if o.history is not None]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for i, o in enumerate(routes):
            assert o.history is not None
            ConvergenceDisplay(*relative_gap(o.history), name=o.title).plot(axes, **_line(i))
        axes.axhline(comparison.protocol.tol, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
        axes.grid()
        plain_ticks(axes)
        _legend(figure, narrow)

    return svg(draw, 4.6 if narrow else 4.0, narrow, "convergence")


def hesitant(comparison: Comparison) -> list[Outcome]:
    """The best candidates whose answers come with a doubt, and differ in it."""
    found = [o for o in comparison.outcomes if o.doubt is not None and np.ptp(o.doubt) > 0]
    return found[:MOST_LINES]


def probabilistic(comparison: Comparison) -> list[Outcome]:
    """The best candidates with probabilities, none twice under another decision rule."""
    found: list[Outcome] = []
    seen: list[np.ndarray] = []
    for o in comparison.outcomes:
        if o.proba is not None and not any(np.array_equal(o.proba, other) for other in seen):
            found.append(o)
            seen.append(o.proba)
    return found[:MOST_LINES]


def _coverage(comparison: Comparison, outcome: Outcome) -> tuple[np.ndarray, np.ndarray]:
    """Of all repetitions together, thinned to what a picture shows."""
    assert outcome.doubt is not None
    p = comparison.problem
    cost = p.costs[outcome.actions, p.y]
    coverage, loss = coverage_curve(cost.ravel(), outcome.doubt.ravel())
    kept = np.unique(np.linspace(0, len(coverage) - 1, 200).round().astype(int))
    kept = kept[coverage[kept] >= min(10 / len(p.y), 1.0)]  # a mean of few shows noise
    return coverage[kept], loss[kept]


def _calibration(
    comparison: Comparison, outcome: Outcome
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    assert outcome.proba is not None
    right = outcome.proba.argmax(axis=2) == comparison.problem.y
    return reliability(outcome.proba.max(axis=2).ravel().astype(float), right.ravel())


def _line(i: int) -> dict[str, Any]:
    return {
        "color": SERIES[i % 8],
        "linewidth": 1.8,
        "linestyle": DASHES[(i // 2) % len(DASHES)],
    }


def _legend(figure: Figure, narrow: bool) -> None:
    if narrow:
        figure.legend(frameon=False, handlelength=2.6, loc="outside lower center", ncols=2)
    else:
        figure.legend(frameon=False, handlelength=2.6, loc="outside right upper")


def loss_alt(comparison: Comparison) -> str:
    """The loss figure in words."""
    rows = (
        f"{o.title} {loss_text(o.mean)} ({loss_text(o.interval[0])} to {loss_text(o.interval[1])})"
        for o in comparison.outcomes
    )
    return f"Mean loss with 95 % interval, best first: {'; '.join(rows)}."


def cost_alt(comparison: Comparison) -> str:
    """The cost map in words: its largest cells."""
    _, share = comparison.cost_map()
    p, total = comparison.problem, share.sum() or 1.0
    largest = np.argsort(-share, axis=None)[:3]
    cells = []
    for i, j in zip(*np.unravel_index(largest, share.shape)):
        percent = f"{100 * share[i, j] / total:.0f} %"
        cells.append(f"answering {p.actions[i]} where the truth is {p.classes[j]}, {percent}")
    return f"Where the loss of {comparison.best.title} comes from; most: {'; '.join(cells)}."


def convergence_alt(comparison: Comparison) -> str:
    """The convergence figure in words: where each line ends."""
    ends = []
    for o in comparison.outcomes:
        if o.history is not None:
            seconds, gap = relative_gap(o.history)
            if len(gap):
                ends.append(f"{o.title} {gap[-1]:.0e} after {seconds[-1]:.2g} s")
    return f"Certified relative gap over time; last values: {'; '.join(ends)}."


def coverage_alt(comparison: Comparison) -> str:
    """The coverage figure in words: each line at half and at full coverage."""
    found = []
    for o in hesitant(comparison):
        coverage, loss = _coverage(comparison, o)
        half = float(np.interp(0.5, coverage, loss))
        found.append(f"{o.title} {loss_text(half)} on the surer half, {loss_text(o.mean)} on all")
    return f"Mean loss against share of examples answered: {'; '.join(found)}."


def calibration_alt(comparison: Comparison) -> str:
    """The calibration figure in words: the mean distance of each line from the diagonal."""
    found = []
    for o in probabilistic(comparison):
        error = CalibrationDisplay(*_calibration(comparison, o)).error
        found.append(f"{o.title} {error:.3f}")
    return (
        "Probability of the most probable label against how often it is right; mean distance: "
        f"{'; '.join(found)}."
    )
