"""The one loop around every solver: stopping, history, progress, interruption, the best so far.

A solver has a `run(objective, start, run, rng)` method that reports each pass to the `Run` it
is given and stops when told to.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np


class Solver(Protocol):
    """What `minimise` asks of a solver."""

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        """Improve on `start`, reporting every pass to `run` until it says stop."""


class BrokenCertificate(ArithmeticError):
    """A lower bound on the minimum lies above a value of the objective."""


@dataclass(frozen=True)
class Result:
    """What a solver leaves behind."""

    weights: np.ndarray
    objective: float
    gap: float
    n_iter: int
    reason: str
    history: dict[str, list[float]]
    mu: np.ndarray | None = None


@dataclass
class Validation:
    """Ends a run once a loss on other data no longer falls, and keeps the weights of the least.

    Parameters
    ----------
    loss : callable
        From weights to their loss.
    patience : int
        Passes without a smaller one after which to stop.
    """

    loss: Callable[[np.ndarray], float]
    patience: int
    least: float = np.inf
    weights: np.ndarray | None = None
    waited: int = 0

    def anew(self) -> Validation:
        """For another run."""
        return Validation(self.loss, self.patience)

    def look(self, weights: np.ndarray, passes: int) -> float:
        """The loss of these weights, after some more passes."""
        loss = self.loss(weights)
        self.waited += passes
        if loss < self.least or self.weights is None:
            self.least, self.weights, self.waited = loss, weights.copy(), 0
        return loss

    @property
    def over(self) -> bool:
        """Whether to stop."""
        return self.waited >= self.patience


@dataclass
class Run:
    """Keeps the best weights and the best bounds, and decides when to stop.

    The primal and the dual value may come from different passes: each bounds the optimum.
    """

    tol: float
    max_iter: int
    report: Callable[[int, float, float, float], None] | None = None
    floor: float = 0.0
    weights: np.ndarray | None = None
    mu: np.ndarray | None = None
    primal: float = np.inf
    dual: float = -np.inf
    n_iter: int = 0
    reason: str = "max_iter"
    history: dict[str, list[float]] = field(
        default_factory=lambda: {"objective": [], "gap": [], "seconds": []}
    )
    started: float = field(default_factory=time.perf_counter)
    validation: Validation | None = None

    @property
    def gap(self) -> float:
        return max(self.primal - self.dual, 0.0)

    @property
    def target(self) -> float:
        """The absolute gap at which `tol`, a relative one, is met.

        An objective below `floor` counts as that much: where the optimum is 0, rounding alone
        would leave a relative gap for ever.
        """
        return self.target_at(self.primal)

    def target_at(self, primal: float) -> float:
        """The same if this were the objective reached."""
        return self.tol * max(abs(primal), self.floor)

    def nested(self, tol: float, share: float) -> Run:
        """A run on part of the problem, where a pass costs this `share` of one on the whole.

        Its passes show on the line of this one, whose bounds they leave alone.
        """

        def report(n_iter: int, objective: float, gap: float, seconds: float) -> None:
            if self.report is not None:
                since = time.perf_counter() - self.started
                self.report(self.n_iter + math.ceil(share * n_iter), self.primal, self.gap, since)

        left = max(int((self.max_iter - self.n_iter) / share), 1)
        return Run(tol, left, report, self.floor)

    def settle(self, objective: Any) -> None:
        """Replace an upper bound on the objective at the best weights by its value."""
        self.primal = min(self.primal, objective.primal(self.weights))
        self.history["objective"][-1], self.history["gap"][-1] = self.primal, self.gap
        if self.report is not None:
            self.report(self.n_iter, self.primal, self.gap, self.history["seconds"][-1])

    def certify(self, objective: Any) -> None:
        """A lower bound at the best weights, if the solver was stopped before it had one."""
        if self.gap < np.inf or self.weights is None:
            return
        self.dual = objective.bounds_at(self.weights).dual
        self.check()
        self.history["gap"][-1] = self.gap

    def check(self) -> None:
        """No minimum can lie between bounds in the wrong order: the problem is not convex, or
        too badly scaled for its arithmetic."""
        rounding = 1e-6 * max(abs(self.primal), abs(self.dual)) + self.floor
        if np.isfinite(self.primal) and self.dual > self.primal + rounding:
            raise BrokenCertificate(
                f"the dual bound {self.dual:.6g} lies above the objective {self.primal:.6g}"
            )

    def record(self, weights: np.ndarray, primal: float, dual: float, passes: int = 1) -> bool:
        """Note the end of a pass, or of several on some of the data; returns whether to stop."""
        self.n_iter += passes
        if primal < self.primal or self.weights is None:
            self.primal, self.weights = primal, weights.copy()
        self.dual = max(self.dual, dual)
        self.check()
        seconds = time.perf_counter() - self.started
        for key, value in (("objective", self.primal), ("gap", self.gap), ("seconds", seconds)):
            self.history[key].append(float(value))
        if self.report is not None:
            self.report(self.n_iter, self.primal, self.gap, seconds)
        if self.validation is not None:
            losses = self.history.setdefault("validation_loss", [])
            losses.append(self.validation.look(weights, passes))
        if self.gap <= self.target:
            self.reason = "tol"
            return True
        if self.validation is not None and self.validation.over:
            self.reason = "validation"
            return True
        return self.n_iter >= self.max_iter


def minimise(
    solver: Solver,
    objective: Any,
    start: np.ndarray | None = None,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    random_state: int | None = 0,
    report: Callable[[int, float, float, float], None] | None = None,
    validation: Validation | None = None,
) -> Result:
    """Minimise `objective` and certify the answer; an interrupt keeps the best so far.

    With a `validation` the answer is the weights with the least loss there, not those with the
    least objective; its certificate is theirs.
    """
    run = Run(tol, max_iter, report, floor=1e-9 * objective.size)
    run.validation = None if validation is None else validation.anew()
    try:
        if start is None or not _settled(solver, objective, start, run):
            solver.run(objective, start, run, np.random.default_rng(random_state))
    except KeyboardInterrupt:
        if run.weights is None:
            raise
        run.reason = "interrupted"
    run.certify(objective)
    assert run.weights is not None
    if run.validation is not None and run.validation.weights is not None:
        run.weights, run.mu = run.validation.weights, None
        run.primal = objective.primal(run.weights)
    return Result(run.weights, run.primal, run.gap, run.n_iter, run.reason, run.history, run.mu)


def _settled(solver: Solver, objective: Any, start: np.ndarray, run: Run) -> bool:
    """Put the start on record; whether it is good enough as it is."""
    run.mu = getattr(solver, "mu", None)
    if run.mu is None:
        bounds = objective.bounds_at(start)
    else:
        bounds = objective.bounds(start, run.mu)
    return run.record(start, bounds.primal, bounds.dual)
