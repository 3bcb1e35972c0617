"""Block descent over the weights and the distribution of the choices.

The weights move by the concave-convex procedure: each bag's best choice at its own label is held
fixed where it is subtracted, which leaves the convex problem of `margin`. Its solution is kept
only if the objective itself, not the convex bound, is lower; so it never rises.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from concordant.latent.conditional import Examples, LogLinear
from concordant.latent.margin import INNER, FrankWolfe, MarginProblem
from concordant.solvers import Run
from concordant.surrogates.latent import Dissimilarity

Report = Callable[[int, float, float, float], None]

#: Share of the examples with which a self-paced start begins, and its growth (Kumar, Packer and
#: Koller, NIPS 2010, admit half of the examples first and divide their threshold by 1.3).
FIRST_SHARE, GROWTH = 0.5, 1.3


@dataclass
class Settings:
    """How to descend."""

    tol: float = 1e-3
    max_iter: int = 100
    inner: str = "frank_wolfe"
    inner_max_iter: int = 1000
    self_paced: bool = False
    report: Report | None = None


class Fit(NamedTuple):
    """Where a descent ended. `gap` certifies the last convex problem of the weights only: the
    problem as a whole is not convex."""

    weights: np.ndarray
    theta: np.ndarray | None
    p: np.ndarray
    objective: float
    gap: float
    n_iter: int
    reason: str
    history: dict[str, list[Any]]


@dataclass
class Trace:
    """Notes the objective after every step."""

    report: Report | None
    n_iter: int = 0
    gap: float = np.inf
    history: dict[str, list[Any]] = field(
        default_factory=lambda: {"objective": [], "gap": [], "seconds": [], "step": []}
    )
    started: float = field(default_factory=time.perf_counter)

    def note(self, step: str, objective: float) -> None:
        seconds = time.perf_counter() - self.started
        values = (("objective", objective), ("gap", self.gap), ("seconds", seconds), ("step", step))
        for key, value in values:
            self.history[key].append(value)
        if self.report is not None:
            self.report(self.n_iter, objective, self.gap, seconds)


class Descent:
    """The weights, their scores and the costs under the current P, and the steps that move them."""

    def __init__(self, examples: Examples, settings: Settings, rng: np.random.Generator):
        self.examples, self.settings, self.rng = examples, settings, rng
        self.trace = Trace(settings.report)
        k, d = examples.structure.n_classes, examples.features.x.shape[1]
        self.weights = np.zeros((k, d))
        self.scores = np.zeros(examples.structure.shape)
        self.mu: np.ndarray | None = None
        self.set_distribution(examples.uniform())

    @property
    def size(self) -> float:
        """The unit of tolerances: C times the number of examples times the largest cost."""
        return float(self.examples.weight.sum()) * self.examples.costs.scale

    def set_distribution(self, p: np.ndarray) -> None:
        """Measure losses against choices distributed as `p`."""
        self.p = p
        self.expected = self.examples.costs.expected(self.examples.labels, p)

    def slack(self, scores: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """``xi_i`` at scores and expected costs."""
        structure = self.examples.structure
        own = self.examples.own(scores)
        reached = structure.largest(own)
        known = np.flatnonzero(self.examples.known >= 0)
        reached[known] = own[structure.offsets[known] + self.examples.known[known]]
        return structure.largest((scores + expected).max(axis=1)) - reached

    def value(self) -> float:
        """``1/2 |w|^2 + sum_i C_i xi_i``."""
        ridge = 0.5 * np.vdot(self.weights, self.weights)
        return float(ridge + self.examples.weight @ self.slack(self.scores, self.expected))

    def convex_step(self, target: np.ndarray, weight: np.ndarray, tol: float) -> None:
        """Solve the convex problem with this target; keep its weights if they are better."""
        examples, old = self.examples, (self.weights, self.scores, self.value_of(weight))
        problem = MarginProblem(
            examples.features, examples.structure, examples.labels, self.expected, target, weight
        )
        run = Run(tol, self.settings.inner_max_iter, floor=problem.size * examples.costs.scale)
        solver = INNER[self.settings.inner]()
        if isinstance(solver, FrankWolfe):
            solver.mu = self.mu
        solver.run(problem, None, run, self.rng)
        assert run.weights is not None
        self.mu, self.trace.gap = run.mu, run.gap
        self.weights, self.scores = run.weights, examples.features.scores(run.weights)
        if self.value_of(weight) > old[2]:
            self.weights, self.scores = old[:2]

    def value_of(self, weight: np.ndarray) -> float:
        """The value with these weights of the examples."""
        ridge = 0.5 * np.vdot(self.weights, self.weights)
        return float(ridge + weight @ self.slack(self.scores, self.expected))

    def descend_weights(
        self, target: np.ndarray, most: int, offset: Callable[[], float] = float
    ) -> np.ndarray:
        """The concave-convex procedure, at most so many rounds; returns the next target."""
        value, tol = self.value(), self.settings.tol
        for _ in range(most):
            self.convex_step(target, self.examples.weight, 0.25 * tol)
            decrease, value = value - self.value(), self.value()
            self.trace.note("weights", value + offset())
            target = self.examples.completed(self.scores)
            if decrease <= tol * self.size:
                break
        return target

    def self_paced_start(self, target: np.ndarray) -> np.ndarray:
        """Weights from the easiest examples first, ever more of them; returns the next target."""
        examples, tol = self.examples, self.settings.tol
        self.convex_step(target, examples.weight, tol)
        share = FIRST_SHARE
        while share < 1.0:
            slack = self.slack(self.scores, self.expected)
            easy = slack <= np.quantile(slack, share)
            target = examples.completed(self.scores)
            self.convex_step(target, np.where(easy, examples.weight, 0.0), tol)
            share *= GROWTH
        return examples.completed(self.scores)

    def begin(self, start: np.ndarray) -> np.ndarray:
        """The first target: the start, or what a self-paced start makes of it."""
        return self.self_paced_start(start) if self.settings.self_paced else start

    def end(self, theta: np.ndarray | None, objective: float, reason: str) -> Fit:
        trace = self.trace
        return Fit(
            self.weights, theta, self.p, objective, trace.gap, trace.n_iter, reason, trace.history
        )


class Agreement(Descent):
    """Weights and a log-linear P in turns, until a round lowers the objective by no more than
    tol times C, summed over the examples."""

    def __init__(
        self,
        examples: Examples,
        route: Dissimilarity,
        settings: Settings,
        rng: np.random.Generator,
    ):
        super().__init__(examples, settings, rng)
        self.route = route
        self.conditional = LogLinear(route, examples, rng)

    def rest(self, theta: np.ndarray, p: np.ndarray, expected: np.ndarray) -> float:
        """The terms without the weights: ``J/2 |theta|^2 - beta sum_i C_i H_i``."""
        examples = self.examples
        diversity = examples.structure.total(p * examples.own(expected))
        return self.conditional.penalty(theta) - self.route.beta * float(
            examples.weight @ diversity
        )

    def objective(self) -> float:
        """The whole objective."""
        return self.value() + self._rest_now()

    def _rest_now(self) -> float:
        return self.rest(self.conditional.theta, self.p, self.expected)

    def theta_step(self) -> None:
        """Move theta; halve the step until the objective falls, or stay."""
        tol = 0.25 * self.settings.tol * self.size
        before, old = self.objective(), (self.conditional.theta, self.p, self.expected)
        proposed = self.conditional.propose(self.scores, tol)
        step = 1.0
        while step > 0.01:
            theta = old[0] + step * (proposed - old[0])
            self.set_distribution(self.conditional.distribution(theta))
            self.conditional.theta = theta
            if self.objective() <= before:
                return
            step *= 0.5
        self.conditional.theta, self.p, self.expected = old

    def begin(self, start: np.ndarray) -> np.ndarray:
        first = Completion(self.examples, 1, self.settings, self.rng)
        self.weights = first.run(start).weights
        self.scores = self.examples.features.scores(self.weights)
        return self.examples.completed(self.scores)

    def run(self, start: np.ndarray) -> Fit:
        """Descend from a first target."""
        settings, reason = self.settings, "max_iter"
        try:
            target = self.begin(start)
            self.theta_step()
            value = self.objective()
            for _ in range(settings.max_iter):
                self.trace.n_iter += 1
                target = self.descend_weights(target, settings.max_iter, self._rest_now)
                self.theta_step()
                decrease, value = value - self.objective(), self.objective()
                self.trace.note("theta", value)
                if decrease <= settings.tol * self.size:
                    reason = "tol"
                    break
        except KeyboardInterrupt:
            if self.trace.n_iter == 0:
                raise
            reason = "interrupted"
        return self.end(self.conditional.theta, self.objective(), reason)


class Completion(Descent):
    """Weights against completed choices, and choices completed by the weights, in turns.

    With one round of the concave-convex procedure a turn this is latent SVM, with all its rounds
    iterative latent SVM. A turn changes what the loss is measured against, so the objective may
    rise; the best turn is kept, and the first that is no better is the last.
    """

    def __init__(
        self, examples: Examples, rounds: int | None, settings: Settings, rng: np.random.Generator
    ):
        super().__init__(examples, settings, rng)
        self.rounds = rounds or settings.max_iter

    def run(self, start: np.ndarray) -> Fit:
        """Descend from a first target, which the first turn's loss is measured against too."""
        settings, reason, best = self.settings, "max_iter", np.inf
        kept: Fit | None = None
        try:
            self.set_distribution(start)
            target = self.begin(start)
            for _ in range(settings.max_iter):
                self.trace.n_iter += 1
                target = self.descend_weights(target, self.rounds)
                value = self.value()
                decrease, best = best - value, min(best, value)
                if decrease > 0.0:
                    kept = self.end(None, value, reason)
                if decrease <= settings.tol * self.size:
                    reason = "tol"
                    break
                self.set_distribution(target)
        except KeyboardInterrupt:
            if kept is None:
                raise
            reason = "interrupted"
        assert kept is not None
        return kept._replace(reason=reason, n_iter=self.trace.n_iter)
