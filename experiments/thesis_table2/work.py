"""The work on one cell: two stages of tuning, then a fit and a test on every split.

A cell is one small JSON file that is rewritten after every step, so an interrupted run goes on
where it was, and a later run can add splits.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

import concordant as cc
from experiments import common
from experiments.thesis_table2.problem import Problem, split
from experiments.thesis_table2.protocol import Cell, Effort, Protocol


def started(file: Path, protocol: Protocol) -> dict[str, Any]:
    """What the file holds of this protocol; empty if nothing."""
    state = common.read_json(file)
    return state if state.get("protocol") == protocol.as_json() else {}


def new_state(cell: Cell, protocol: Protocol) -> dict[str, Any]:
    effort = {"count": 0, "at_bound": 0, "largest_gap": 0.0}
    return {
        "cell": list(cell),
        "protocol": protocol.as_json(),
        "provenance": [],
        "tuning": {},
        "accuracy": {},
        "effort": {"tuning": effort, "testing": dict(effort)},
        "seconds": 0.0,
    }


class Work:
    """Everything done for one cell, with its file kept up to date."""

    def __init__(self, cell: Cell, protocol: Protocol, folder: Path, origin: dict[str, Any]):
        self.cell, self.protocol = cell, protocol
        self.file = cell.file(folder)
        self.state = started(self.file, protocol) or new_state(cell, protocol)
        if origin not in self.state["provenance"]:
            self.state["provenance"].append(origin)
        self.x, self.y = common.load_table(cell.dataset)
        self.clock = time.perf_counter()

    def save(self) -> None:
        now = time.perf_counter()
        self.state["seconds"] += now - self.clock
        self.clock = now
        common.write_json(self.file, self.state)

    def model(self, effort: Effort, **own: Any) -> cc.Classifier:
        return cc.Classifier(
            surrogate=self.cell.method,
            kernel=None if self.cell.kernel == "linear" else "precomputed",
            fit_intercept=False,
            tol=effort.tol,
            max_iter=effort.passes(self.cell.kernel),
            random_state=common.SEED,
            n_jobs=1,
            **own,
        )

    def note(self, what: str, model: cc.Classifier) -> None:
        """Count a fit and keep its certificate."""
        effort, gap = self.state["effort"][what], common.relative_gap(model)
        effort["count"] += 1
        effort["at_bound"] += gap > model.tol
        effort["largest_gap"] = max(effort["largest_gap"], gap)

    # Tuning.

    def tune(self) -> tuple[int, int | None]:
        """Exponents of C and gamma, by two stages of cross-validation on the first split."""
        protocol = self.protocol
        train, test = split(self.cell.dataset, len(self.y), 0)
        train = train[: protocol.rows(self.cell.kernel, len(train))]
        problem = Problem(self.cell.kernel, self.x[train], self.x[test[:1]])
        gammas = (None,) if problem.linear else protocol.gamma
        c, gamma = self.stage(1, problem, self.y[train], protocol.c, gammas)
        near = (None,) if gamma is None else tuple(gamma + step for step in protocol.around)
        cs = tuple(c + step for step in protocol.around)
        return self.stage(2, problem, self.y[train], cs, near)

    def stage(
        self, number: int, problem: Problem, y: np.ndarray, cs: tuple[int, ...], gammas: tuple
    ) -> tuple[int, int | None]:
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
        return max(scores, key=scores.__getitem__)

    def validate(
        self,
        problem: Problem,
        y: np.ndarray,
        folds: list[np.ndarray],
        cs: tuple[int, ...],
        gamma: int | None,
    ) -> dict[str, float]:
        """Cross-validated accuracy at each C; a fit starts from that at the C before."""
        values, _ = problem.at(gamma)
        right = dict.fromkeys(cs, 0)
        for i, held in enumerate(folds):
            rows = np.concatenate(folds[:i] + folds[i + 1 :])
            x, x_held = problem.pick(values, rows, rows), problem.pick(values, held, rows)
            model = self.model(self.protocol.tuning, warm_start=True)
            for c in cs:
                common.quiet_fit(model.set_params(C=2.0**c), x, y[rows])
                self.note("tuning", model)
                right[c] += int(np.sum(model.predict(x_held) == y[held]))
        return {str(c): right[c] / len(y) for c in cs}

    # Testing.

    def test(self, c: int, gamma: int | None, splits: int) -> None:
        """Accuracy on every split with the chosen constants."""
        for number in range(splits):
            if str(number) in self.state["accuracy"]:
                continue
            train, test = split(self.cell.dataset, len(self.y), number)
            x, x_test = Problem(self.cell.kernel, self.x[train], self.x[test]).at(gamma)
            model = self.model(self.protocol.testing, C=2.0**c)
            common.quiet_fit(model, x, self.y[train])
            self.note("testing", model)
            score = float(np.mean(model.predict(x_test) == self.y[test]))
            self.state["accuracy"][str(number)] = score
            self.save()


def work(cell: Cell, splits: int, protocol: Protocol, folder: Path, origin: dict[str, Any]) -> None:
    """Bring one cell to a number of splits; nothing is done if it is there."""
    if len(started(cell.file(folder), protocol).get("accuracy", ())) >= splits:
        return
    job = Work(cell, protocol, folder, origin)
    c, gamma = job.tune()
    job.state["chosen"] = {"C": c, "gamma": gamma}
    job.test(c, gamma, splits)
    accuracy = 100 * np.mean(list(job.state["accuracy"].values()))
    seconds = job.state["seconds"]
    print(f"{' '.join(cell)}, {splits} splits: {accuracy:.1f} ({seconds:.0f} s)", flush=True)
