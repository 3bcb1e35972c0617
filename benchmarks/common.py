"""What the benchmarks share: their form, timing in turns, peak memory, results on disk."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import source_digest, write_json
from experiments.report import Table

RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Benchmark:
    """Work that gives numbers, and the tables of the numbers.

    `measure` takes whether to be quick and returns what goes into the JSON file; `tables` reads
    nothing else.
    """

    name: str
    title: str
    method: str
    measure: Callable[[bool], dict[str, Any]]
    tables: Callable[[dict[str, Any]], list[Table]]

    def run(self, quick: bool, folder: Path) -> str:
        """Measure, write the numbers, return the section of the page."""
        content = {"machine": machine(), **self.measure(quick)}
        write_json(folder / f"{self.name}.json", content)
        return self.text(content)

    def text(self, content: dict[str, Any]) -> str:
        command = f"`python -m benchmarks {self.name}`"
        tables = "\n\n".join(table.text() for table in self.tables(content))
        where = content["machine"]
        made = f"{where['cpu']}, {where['cores']} cores; " + ", ".join(
            f"{name} {number}" for name, number in where["versions"].items()
        )
        return f"## {self.title}\n\n{command}: {made}.\n\n{self.method}\n\n{tables}\n"


def machine() -> dict[str, Any]:
    """Where the numbers come from."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "versions": {"python": platform.python_version()} | {n: version(n) for n in PACKAGES},
        "source": source_digest(),
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def in_turns(functions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Least seconds of each function. They are called in turns, so that what else the machine
    does meets them alike; the first call is not timed."""
    for function in functions.values():
        function()
    least = dict.fromkeys(functions, np.inf)
    for _ in range(rounds):
        for name, function in functions.items():
            least[name] = min(least[name], seconds(function))
    return least


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def times(ratio: float) -> str:
    """A ratio as text, with two digits that count."""
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"
