"""Pictures as SVG text that takes its colours from the page.

Matplotlib draws in stand-in colours, which become CSS variables afterwards, so that one picture
is right on a light and on a dark page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from concordant.plots.base import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID, ACCENT, PAPER = "#010203", "#040506", "#070809", "#0a0b0c", "#0d0e0f"
SERIES = [f"#1000{i:02x}" for i in range(8)]
_VARIABLES = {INK: "ink", MUTED: "muted", GRID: "line", ACCENT: "accent", PAPER: "paper"} | {
    colour: f"s{i}" for i, colour in enumerate(SERIES)
}
DASHES = ["-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5))]
PAGE = Palette(ink=INK, muted=MUTED, grid=GRID, accent=ACCENT, paper=PAPER)
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


def svg(
    draw: Callable[[Figure], None],
    height: float,
    narrow: bool,
    name: str,
    wide_width: float = 10.0,
) -> str:
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


def plain_ticks(axes: Axes) -> None:
    """0.01 instead of typeset powers, which need the mathematics that is switched off."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("e-0", "e-")))
        axis.set_minor_formatter(NullFormatter())
