"""The work on one cell: two stages of tuning, then a fit and a test on every split.

A cell is one small JSON file that is rewritten after every step, so an interrupted run goes on
where it was, and a later run can add splits.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from experiments import common
from experiments.tuned.problem import Problem
from experiments.tuned.protocol import Cell, Effort, Protocol


def started(file: Path, protocol: Protocol) -> dict[str, Any]:
    """What the file holds of this protocol; empty if nothing."""
    state = common.read_json(file)
    return state if state.get("protocol") == protocol.as_json() else {}


def gather(folder: Path, protocol: Protocol, key: str) -> list[dict[str, Any]]:
    """What is known of every cell that has been tested on a split; it says itself what made it."""
    states = [started(path, protocol) for path in sorted(folder.glob("*.json"))]
    dropped = ("protocol", "tuning")
    return [
        {name: value for name, value in state.items() if name not in dropped}
        for state in states
        if state.get(key)
    ]


class Work(ABC):
    """Everything done for one cell, with its file kept up to date.

    A subclass says what the data and the model of a cell are and how well a model does; the
    order of a grid is that from the smoothest to the least smooth.
    """

    #: Name of what is measured, and whether more of it is better.
    key: ClassVar[str]
    more_is_better: ClassVar[bool] = False

    def __init__(self, cell: Cell, protocol: Protocol, folder: Path, origin: dict[str, Any]):
        self.cell, self.protocol = cell, protocol
        self.file = cell.file(folder)
        self.state = started(self.file, protocol) or self.new_state()
        if origin not in self.state["provenance"]:
            self.state["provenance"].append(origin)
        self.x, self.y = self.data()
        self.clock = time.perf_counter()

    # What a table says of its cells.

    @abstractmethod
    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Features and labels."""

    @abstractmethod
    def split(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Training and test rows."""

    @abstractmethod
    def model(self, effort: Effort, **own: Any) -> Any:
        """The method of the cell."""

    @abstractmethod
    def measure(self, model: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What is measured, of each row."""

    def record(self, model: Any, x: np.ndarray, y: np.ndarray) -> Any:
        """What a test leaves behind; the mean of what is measured, by default."""
        return float(np.mean(self.measure(model, x, y)))

    def constant(self, exponent: float, n: int) -> float:
        """C for a place of the grid and so many training rows."""
        return 2.0**exponent

    #: Whether linear scores get a constant feature.
    one = True

    def problem(self, train: np.ndarray, test: np.ndarray) -> Problem:
        return Problem(self.cell.kernel, self.x[train], self.x[test], self.one)

    # The file.

    def new_state(self) -> dict[str, Any]:
        effort = {"count": 0, "at_bound": 0, "largest_gap": 0.0}
        return {
            "cell": list(self.cell),
            "protocol": self.protocol.as_json(),
            "provenance": [],
            "tuning": {},
            self.key: {},
            "effort": {"tuning": effort, "testing": dict(effort)},
            "seconds": 0.0,
        }

    def save(self) -> None:
        now = time.perf_counter()
        self.state["seconds"] += now - self.clock
        self.clock = now
        common.write_json(self.file, self.state)

    def note(self, what: str, model: Any) -> None:
        """Count a fit and keep its certificate."""
        effort, gap = self.state["effort"][what], common.relative_gap(model)
        effort["count"] += 1
        effort["at_bound"] += gap > model.tol
        effort["largest_gap"] = max(effort["largest_gap"], gap)

    # Tuning.

    def tune(self) -> tuple[float, int | None]:
        """Exponents of C and gamma, by two stages of cross-validation on the first split."""
        protocol = self.protocol
        train, test = self.split(0)
        train = train[: protocol.rows(self.cell.kernel, len(train))]
        problem = self.problem(train, test[:1])
        gammas = (None,) if problem.linear else protocol.gamma
        c, gamma = self.stage(1, problem, self.y[train], protocol.c, gammas)
        near = (None,) if gamma is None else tuple(gamma + int(step) for step in protocol.around)
        cs = tuple(c + step for step in protocol.around)
        return self.stage(2, problem, self.y[train], cs, near)

    def stage(
        self, number: int, problem: Problem, y: np.ndarray, cs: tuple[float, ...], gammas: tuple
    ) -> tuple[float, int | None]:
        """The best pair of a grid; the first of equals, that is the smoothest."""
        key = [common.SEED, 1000 + number, *self.cell.dataset.encode()]
        order = np.random.default_rng(key).permutation(len(y))
        folds = np.array_split(order, self.protocol.folds)
        scores = {}
        for gamma in gammas:
            known = self.state["tuning"].setdefault(f"stage {number}, gamma {gamma}", {})
            if not all(str(c) in known for c in cs):
                known.update(self.validate(problem, y, folds, cs, gamma))
                self.save()
            scores.update({(c, gamma): known[str(c)] for c in cs})
        sign = 1.0 if self.more_is_better else -1.0
        return max(scores, key=lambda pair: sign * scores[pair])

    def validate(
        self,
        problem: Problem,
        y: np.ndarray,
        folds: list[np.ndarray],
        cs: tuple[float, ...],
        gamma: int | None,
    ) -> dict[str, float]:
        """What cross-validation measures at each C; a fit starts from that at the C before."""
        values, _ = problem.at(gamma)
        total = dict.fromkeys(cs, 0.0)
        for i, held in enumerate(folds):
            rows = np.concatenate(folds[:i] + folds[i + 1 :])
            x, x_held = problem.pick(values, rows, rows), problem.pick(values, held, rows)
            model = self.model(self.protocol.tuning, warm_start=True)
            for c in cs:
                common.quiet_fit(model.set_params(C=self.constant(c, len(rows))), x, y[rows])
                self.note("tuning", model)
                total[c] += float(np.sum(self.measure(model, x_held, y[held])))
        return {str(c): total[c] / len(y) for c in cs}

    # Testing.

    def test(self, c: float, gamma: int | None, splits: int) -> None:
        """What is measured on every split with the chosen constants."""
        for number in range(splits):
            if str(number) in self.state[self.key]:
                continue
            train, test = self.split(number)
            x, x_test = self.problem(train, test).at(gamma)
            model = self.model(self.protocol.testing, C=self.constant(c, len(train)))
            common.quiet_fit(model, x, self.y[train])
            self.note("testing", model)
            self.state[self.key][str(number)] = self.record(model, x_test, self.y[test])
            self.save()


def work(
    kind: type[Work],
    cell: Cell,
    splits: int,
    protocol: Protocol,
    folder: Path,
    origin: dict[str, Any],
) -> None:
    """Bring one cell to a number of splits; nothing is done if it is there."""
    if len(started(cell.file(folder), protocol).get(kind.key, ())) >= splits:
        return
    job = kind(cell, protocol, folder, origin)
    c, gamma = job.tune()
    job.state["chosen"] = {"C": c, "gamma": gamma}
    job.test(c, gamma, splits)
    mean = np.mean(np.array(list(job.state[kind.key].values())), axis=0)
    seconds = job.state["seconds"]
    print(f"{' '.join(cell)}, {splits} splits: {np.round(mean, 4)} ({seconds:.0f} s)", flush=True)
