"""The table in a terminal: rich where there is one, plain text elsewhere."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from concordant.report import wording

if TYPE_CHECKING:
    from concordant.report.results import Comparison, Failure, Outcome

LEGEND = (
    "±: 95 % interval. p: {test} against the best, Holm-adjusted. "
    "C: most frequent choice. fit s: once, all data, one thread. gap: largest certified "
    "relative duality gap over the splits, * where training stopped early. °: a baseline."
)
STYLES = {"best": "bold green", "tied": "", "worse": "dim"}


def table(comparison: Comparison) -> Any:
    """A `rich.table.Table` of the candidates, best first."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    found = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    found.add_column("route", overflow="fold")
    for name in ("mean loss", "p", "acc.", "C", "fit s", "gap"):
        found.add_column(name, justify="right", no_wrap=True)
    for o in comparison.outcomes:
        cells = (
            _marked(o),
            f"{wording.loss_text(o.mean)} ± {wording.half_text(o)}",
            wording.p_text(o, comparison.best),
            wording.accuracy_text(o),
            wording.C_text(o),
            wording.seconds_text(o.seconds),
            wording.gap_text(o),
        )
        found.add_row(*(Text(cell) for cell in cells), style=STYLES[comparison.place(o)])
    for failure in comparison.failures:
        found.add_row(Text(_marked(failure)), Text("failed"), style="red")
    return found


def _marked(row: Outcome | Failure) -> str:
    return row.title if row.is_route else f"{row.title} °"


def notes(comparison: Comparison) -> list[str]:
    """Why the rows without numbers have none, and which C a wider grid might improve."""
    lines = [f"{f.title} failed: {f.reason}" for f in comparison.failures]
    grid = wording.grid_text(comparison)
    return lines + [grid] * bool(grid)


def legend(comparison: Comparison) -> str:
    """What the columns mean."""
    return LEGEND.format(test=wording.TEST_NAMES[comparison.test])


def plain(comparison: Comparison, width: int = 100) -> str:
    """Table and recommendation as text without colours."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    console.print(table(comparison))
    for line in [*notes(comparison), comparison.recommendation()]:
        console.print(line, markup=False)
    return str(console.file.getvalue()).strip("\n")  # type: ignore[attr-defined]
