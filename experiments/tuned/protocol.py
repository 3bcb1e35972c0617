"""How a table is tuned and tested, and its cells in the order of their cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

SPLITS = 20
#: Splits that every cell gets before any gets all: a table that is cut short is still whole.
FIRST_SPLITS = 5


class Effort(NamedTuple):
    """When a fit stops: at a relative gap, or at a number of passes."""

    tol: float
    linear: int
    gaussian: int

    def passes(self, kernel: str) -> int:
        return self.linear if kernel == "linear" else self.gaussian


class Protocol(NamedTuple):
    """The grids of the two stages (exponents of 2) and the effort of tuning and testing."""

    c: tuple[float, ...] = (0, 3, 6, 9, 12)
    gamma: tuple[int, ...] = (-12, -9, -6, -3, 0)
    around: tuple[float, ...] = (-2, -1, 0, 1, 2)
    folds: int = 5
    tuning: Effort = Effort(1e-3, 1000, 200)
    testing: Effort = Effort(1e-3, 3000, 500)
    #: The Gaussian kernel of more training rows than this is tuned on so many of them.
    tuning_rows: int = 1200

    def rows(self, kernel: str, available: int) -> int:
        """Training rows that a cell is tuned on."""
        return available if kernel == "linear" else min(available, self.tuning_rows)

    def as_json(self) -> dict[str, Any]:
        """The protocol as it comes back from a file."""
        values = self._asdict().items()
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values}


#: The grids of the thesis for C and gamma, and a small form of them.
FULL = Protocol()
QUICK = Protocol(
    (0, 3), (-6, -3), (0, 1), 3, tuning=Effort(1e-2, 50, 50), testing=Effort(1e-2, 100, 100)
)


class Cell(NamedTuple):
    """One entry of a table."""

    dataset: str
    kernel: str
    method: str

    def file(self, folder: Path) -> Path:
        return folder / f"{self.dataset}-{self.kernel}-{self.method}.json"


class Job(NamedTuple):
    """A cell to be brought to a number of splits."""

    cell: Cell
    splits: int

    def cost(self, protocol: Protocol, size: Mapping[str, int]) -> float:
        """Operations so far, up to a constant: for the order of the work only."""
        kernel = self.cell.kernel
        tuned = protocol.rows(kernel, size["train"])
        width = size["d"] if kernel == "linear" else size["train"]
        grid = len(protocol.c) * (1 if kernel == "linear" else len(protocol.gamma))
        tuning = 2 * grid * protocol.folds * protocol.tuning.passes(kernel)
        per_tuning_pass = tuned * (width if kernel == "linear" else tuned)
        testing = self.splits * protocol.testing.passes(kernel) * size["train"] * width
        return size["k"] * (tuning * per_tuning_pass + testing)


def jobs(
    cells: list[Cell], splits: int, protocol: Protocol, sizes: Mapping[str, Mapping[str, int]]
) -> list[Job]:
    """Every cell at `FIRST_SPLITS` and then at all splits, the cheapest first.

    The sort is stable, so the methods of one data set and kernel stay together.
    """
    first, then = min(FIRST_SPLITS, splits), splits
    work = [Job(cell, count) for count in dict.fromkeys((first, then)) for cell in cells]
    return sorted(work, key=lambda job: job.cost(protocol, sizes[job.cell.dataset]))
