"""The report's pictures, as SVG text that takes its colours from the page.

Matplotlib draws in stand-in colours, which become CSS variables afterwards, so that one picture
is right on a light and on a dark page. Each picture comes in two shapes, for wide and for narrow
windows, because text that shrinks with its picture cannot be read on a phone.
"""

from __future__ import annotations

import io
import re
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.report.wording import loss_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from concordant.report.results import Comparison

INK, MUTED, GRID, ACCENT, PAPER = "#010203", "#040506", "#070809", "#0a0b0c", "#0d0e0f"
SERIES = [f"#1000{i:02x}" for i in range(8)]
_VARIABLES = {INK: "ink", MUTED: "muted", GRID: "line", ACCENT: "accent", PAPER: "paper"} | {
    colour: f"s{i}" for i, colour in enumerate(SERIES)
}
_DASHES = ["-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5))]
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # real text: small, sharp, selectable
    "text.parse_math": False,  # a label "$x" is a label
    "font.family": ["sans-serif"],
    "axes.unicode_minus": True,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
}


def loss_figure(comparison: Comparison, narrow: bool) -> str:
    """Mean loss and interval of every candidate."""
    outcomes = comparison.outcomes[::-1]
    height = (0.36 if narrow else 0.33) * len(outcomes) + 0.7
    colours = {"best": ACCENT, "tied": INK, "worse": MUTED}

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.axvline(comparison.best.mean, color=ACCENT, linewidth=1, linestyle=(0, (3, 3)))
        for i, o in enumerate(outcomes):
            low, high = o.interval
            colour = colours[comparison.place(o)]
            axes.plot([low, high], [i, i], color=colour, linewidth=2, solid_capstyle="round")
            axes.plot(
                [o.mean], [i], "o", color=colour, markersize=7, markeredgewidth=1.6,
                markerfacecolor=colour if o.is_route else PAPER,
            )  # fmt: skip
        wrap = 17 if narrow else 60
        titles = ["\n".join(textwrap.wrap(o.title, wrap)) for o in outcomes]
        axes.set_yticks(range(len(outcomes)), titles, color=INK)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.locator_params(axis="x", nbins=4 if narrow else 8)
        axes.set_xlabel("mean loss (smaller is better)")

    return _svg(draw, height, narrow, "loss")


def cost_figure(comparison: Comparison, narrow: bool) -> str:
    """Share of the best candidate's loss by action and truth, with counts and costs."""
    problem = comparison.problem
    rows, columns = problem.costs.shape
    width, letter = (4.0, 0.09) if narrow else (6.2, 0.1)  # inches
    cell = min(width / columns, 1.1)  # few labels would make a poster
    height = min(max(cell * rows, 1.5), 7.5) + 0.6

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _draw_cells(axes, comparison, narrow)
        axes.set_xlim(-0.5, columns - 0.5)
        axes.set_ylim(rows - 0.5, -0.5)
        fits = int(width / columns / letter)  # letters below one column
        axes.set_xticks(*_ticks(problem.classes, max(fits, 3), at_most=int(width / 0.3)), color=INK)
        axes.set_yticks(*_ticks(problem.actions, 10 if narrow else 18, at_most=25), color=INK)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_xlabel("truth")
        axes.set_ylabel("answer")

    return _svg(draw, height, narrow, "cost", wide_width=8.0)


def _ticks(labels: np.ndarray, letters: int, at_most: int) -> tuple[list[int], list[str]]:
    """Places and shortened names, every second (third, …) one where there are too many."""
    names = [str(label) for label in labels.tolist()]
    places = list(range(0, len(names), -(-len(names) // at_most)))
    short = [n if len(n) <= letters else f"{n[: letters - 1]}…" for n in names]
    return places, [short[i] for i in places]


def _draw_cells(axes: Axes, comparison: Comparison, narrow: bool) -> None:
    from matplotlib.patches import Rectangle

    counts, share = comparison.cost_map()
    total, strongest = share.sum() or 1.0, share.max() or 1.0
    for i, j in np.ndindex(*share.shape):
        part = float(share[i, j])
        square: dict[str, Any] = {"xy": (j - 0.48, i - 0.48), "width": 0.96, "height": 0.96}
        axes.add_patch(Rectangle(**square, facecolor=GRID, alpha=0.35, linewidth=0))
        if part > 0:
            alpha = 0.08 + 0.57 * part / strongest
            axes.add_patch(Rectangle(**square, facecolor=ACCENT, alpha=alpha, linewidth=0))
        if counts[i, j] > 0 and share.shape[1] <= 12:  # more columns leave no room for numbers
            cost = float(comparison.problem.costs[i, j])
            _cell_text(axes, (j, i), float(counts[i, j]), cost, 100 * part / total, narrow)


def _cell_text(
    axes: Axes, at: tuple[int, int], count: float, cost: float, percent: float, narrow: bool
) -> None:
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    x, y = at
    number = f"{round(count, 1):g}"
    if cost == 0:
        axes.text(x, y, number, color=MUTED, **centred)
    elif narrow:
        axes.text(x, y, f"{percent:.0f} %" if percent >= 0.5 else "<1 %", **centred)
    else:
        axes.text(x, y - 0.14, f"{percent:.1f} %", fontweight="bold", **centred)
        axes.text(x, y + 0.2, f"{number} × {cost:g}", fontsize=10, **centred)


def convergence_figure(comparison: Comparison, narrow: bool) -> str:
    """Certified relative gap against seconds, one fit of each route on all the data."""
    routes = [o for o in comparison.outcomes if o.history is not None]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for i, o in enumerate(routes):
            assert o.history is not None
            seconds, gap = relative_gap(o.history)
            style: dict[str, Any] = {"color": SERIES[i % 8], "label": o.title, "linewidth": 1.8}
            style["linestyle"] = _DASHES[(i // 2) % len(_DASHES)]
            axes.plot(seconds, gap, **style)
            axes.plot(seconds[-1:], gap[-1:], "o", color=SERIES[i % 8], markersize=6)
        axes.axhline(comparison.protocol.tol, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("seconds of training")
        axes.set_ylabel("certified relative gap")
        axes.grid()
        _plain_ticks(axes)
        where = {"loc": "outside lower center", "ncols": 2} if narrow else {
            "loc": "outside right upper"
        }  # fmt: skip
        figure.legend(frameon=False, handlelength=2.6, **where)

    return _svg(draw, 4.6 if narrow else 4.0, narrow, "convergence")


def relative_gap(history: dict[str, list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Seconds, and the best certificate so far over the size of the objective; finite entries."""
    objective, gap = np.array(history["objective"]), np.array(history["gap"])
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.minimum.accumulate(gap / np.abs(objective))
    known = np.isfinite(relative)
    return np.array(history["seconds"])[known], np.maximum(relative[known], 1e-16)


def _plain_ticks(axes: Axes) -> None:
    """0.01 instead of typeset powers, which need the mathematics that is switched off."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("e-0", "e-")))
        axis.set_minor_formatter(NullFormatter())


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


def _svg(draw: Any, height: float, narrow: bool, name: str, wide_width: float = 10.0) -> str:
    """Run `draw` on a figure in the page's style and return inline SVG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    size = 11 if narrow else 12
    name = f"{name}-{'narrow' if narrow else 'wide'}"
    out = io.StringIO()
    style: Any = _STYLE | {"font.size": size, "svg.hashsalt": name}  # the stubs list every key
    with rc_context(style):
        figure = Figure(figsize=(4.75 if narrow else wide_width, height), layout="constrained")
        draw(figure)
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    return _inline(out.getvalue(), name)


def _inline(svg: str, name: str) -> str:
    """Only the element, with the page's colours and fonts, and ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.S)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg, count=2)
    svg = re.sub(r'^<svg[^>]*?(viewBox="[^"]*")[^>]*>', r"<svg \1>", svg)
    # Tags only: between them stand the user's labels, which may look like anything.
    return re.sub(r"<[^>]+>", lambda tag: _restyle(tag[0], name), svg)


def _restyle(tag: str, name: str) -> str:
    tag = re.sub(r'\bid="', f'id="{name}-', tag)
    tag = tag.replace('xlink:href="#', f'href="#{name}-').replace("url(#", f"url(#{name}-")
    tag = re.sub(r"(font: [^;\"]*?\d+px)[^;\"]*", r"\1 var(--font)", tag)
    for colour, variable in _VARIABLES.items():
        tag = tag.replace(colour, f"var(--{variable})")
    return tag
