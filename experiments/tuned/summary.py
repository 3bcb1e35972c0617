"""A table of losses from finished cells: ours beside the published ones, effort and findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.report import Table
from experiments.tuned.marks import indistinguishable
from experiments.tuned.protocol import SPLITS, Cell

Done = dict[Cell, dict[str, Any]]
Rows = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Published:
    """A published table of mean losses: a row a data set, a column a method."""

    kernel: str
    methods: dict[str, str]
    #: Data set -> mean and standard deviation of each method.
    cells: dict[str, list[tuple[float, float]]]
    averages: tuple[float, ...]
    bold: tuple[int, ...]


def losses(state: dict[str, Any], key: str, count: int | None = None) -> np.ndarray:
    """What was measured on the first splits, in their order; its first number if there are more."""
    values = state[key]
    rows = np.array([values[name] for name in sorted(values, key=int)], dtype=float)
    return (rows if rows.ndim == 1 else rows[:, 0])[:count]


class Comparison:
    """One published table and the cells that are done of it.

    `suffix` is what the names of our data sets have more than the published ones.
    """

    def __init__(self, published: Published, done: Done, key: str, suffix: str = ""):
        self.published, self.done, self.key, self.suffix = published, done, key, suffix

    def row(self, dataset: str) -> dict[str, np.ndarray]:
        """Losses of each method that is done, on the splits that all of them have."""
        cells = {m: Cell(dataset + self.suffix, self.published.kernel, m) for m in self.methods}
        cells = {method: cell for method, cell in cells.items() if cell in self.done}
        shared = min((len(self.done[cell][self.key]) for cell in cells.values()), default=0)
        return {m: losses(self.done[cell], self.key, shared) for m, cell in cells.items()}

    @property
    def methods(self) -> dict[str, str]:
        return self.published.methods

    def complete(self) -> Rows:
        """The data sets on which every method is done."""
        rows = {dataset: self.row(dataset) for dataset in self.published.cells}
        return {name: row for name, row in rows.items() if len(row) == len(self.methods)}

    def bold(self) -> dict[str, set[str]]:
        """The marks of the rows on all splits."""
        return {
            name: indistinguishable(row, more_is_better=False)
            for name, row in self.complete().items()
            if splits_of(row) >= SPLITS
        }

    def table(self, caption: str) -> Table:
        header = ["data set", "splits"]
        for short in self.methods.values():
            header += [short, "published"]
        bold = self.bold()
        rows = []
        for dataset, cells in self.published.cells.items():
            results = self.row(dataset)
            line = [dataset, str(splits_of(results))]
            for method, cell in zip(self.methods, cells, strict=True):
                marked = method in bold.get(dataset, ())
                line += [_text(results.get(method), marked), "{:.3f} ({:.2f})".format(*cell)]
            rows.append(line)
        rows += [self._averages(), self._marks(bold)]
        return Table(caption, header, rows)

    def averages(self) -> list[tuple[float, float]]:
        """Mean over the complete rows of each method: ours, and the published on the same."""
        rows = self.complete()
        whole = len(rows) == len(self.published.cells)
        out = []
        for i, method in enumerate(self.methods):
            ours = float(np.mean([row[method].mean() for row in rows.values()]))
            same = float(np.mean([self.published.cells[name][i][0] for name in rows]))
            out.append((ours, self.published.averages[i] if whole else same))
        return out

    def _averages(self) -> list[str]:
        rows = self.complete()
        line = [f"average of {len(rows)}", ""]
        if not rows:
            return line + [""] * (2 * len(self.methods))
        return line + [f"{value:.3f}" for pair in self.averages() for value in pair]

    def _marks(self, bold: dict[str, set[str]]) -> list[str]:
        line = [f"best or not worse, of {len(bold)}", ""]
        for method, number in zip(self.methods, self.published.bold, strict=True):
            ours = sum(method in some for some in bold.values())
            line += [str(ours), f"{number} of {len(self.published.cells)}"]
        return line

    def findings(self) -> list[str]:
        """How much is done, the order of the averages, and every mean that lies apart."""
        cells = {
            (name, method): self.row(name)[method]
            for name in self.published.cells
            for method in self.row(name)
        }
        if not cells:
            return []
        whole = sum(len(values) >= SPLITS for values in cells.values())
        total = len(self.published.cells) * len(self.methods)
        out = [f"{len(cells)} of {total} cells are done, {whole} of them on all {SPLITS} splits."]
        if self.complete():
            out.append(self._order())
        near, far = 0, []
        for (name, method), values in cells.items():
            mean, sd = self.published.cells[name][list(self.methods).index(method)]
            if abs(values.mean() - mean) <= sd:
                near += 1
            else:
                far.append(f"{name} {self.methods[method]} {values.mean() - mean:+.3f}")
        out.append(f"{near} means are within one published standard deviation.")
        if far:
            out.append(f"Outside it (ours less published): {'; '.join(far)}.")
        return out

    def _order(self) -> str:
        orders = []
        for values in zip(*self.averages(), strict=True):
            ranked = sorted(zip(values, self.methods.values(), strict=True))
            orders.append(" < ".join(f"{short} {value:.3f}" for value, short in ranked))
        return (
            f"Averages over the {len(self.complete())} complete data sets: {orders[0]}; published "
            f"on the same: {orders[1]}."
        )


def splits_of(results: dict[str, np.ndarray]) -> int:
    """Splits in a row."""
    return len(next(iter(results.values()), ()))


def _text(values: np.ndarray | None, bold: bool) -> str:
    if values is None:
        return "not run"
    spread = f" ({values.std(ddof=1):.2f})" if len(values) > 1 else ""
    text = f"{values.mean():.3f}{spread}"
    return f"**{text}**" if bold else text


def effort_table(done: Done, methods: dict[str, str], caption: str) -> Table:
    """Fits, how many met the bound on passes, and the largest certified gaps."""
    header = ["kernel", "method", "cells", "tuning fits", "at the bound"]
    header += ["test fits", "at the bound", "largest gap there", "minutes"]
    rows = []
    for kernel in ("linear", "gaussian"):
        for method, short in methods.items():
            states = [state for cell, state in done.items() if cell[1:] == (kernel, method)]
            if states:
                rows.append([kernel, short, str(len(states)), *_effort(states)])
    return Table(caption, header, rows)


def _effort(states: list[dict[str, Any]]) -> list[str]:
    row = []
    for what in ("tuning", "testing"):
        efforts = [state["effort"][what] for state in states]
        row += [str(sum(effort[key] for effort in efforts)) for key in ("count", "at_bound")]
    gap = max(state["effort"]["testing"]["largest_gap"] for state in states)
    return [*row, f"{gap:.1e}", f"{sum(state['seconds'] for state in states) / 60:.1f}"]


def numbers(text: str) -> dict[str, list[tuple[float, float]]]:
    """Lines of a name, then pairs of mean and standard deviation."""
    out = {}
    for line in text.strip().split("\n"):
        name, *values = line.split()
        pairs = [float(value) for value in values]
        out[name] = list(zip(pairs[::2], pairs[1::2], strict=True))
    return out
