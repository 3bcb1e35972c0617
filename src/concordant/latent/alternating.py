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
        self.settled = True
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

    def value(
        self,
        weights: np.ndarray | None = None,
        scores: np.ndarray | None = None,
        importance: np.ndarray | None = None,
    ) -> float:
        """``1/2 |w|^2 + sum_i C_i xi_i``, here or at other weights or C_i."""
        weights = self.weights if weights is None else weights
        scores = self.scores if scores is None else scores
        importance = self.examples.weight if importance is None else importance
        ridge = 0.5 * np.vdot(weights, weights)
        return float(ridge + importance @ self.slack(scores, self.expected))

    def convex_step(self, target: np.ndarray, importance: np.ndarray, tol: float) -> None:
        """Solve the convex problem with this target; keep its weights if they are better."""
        examples = self.examples
        problem = MarginProblem(
            examples.features, examples.structure, examples.labels, self.expected, target,
            importance,
        )  # fmt: skip
        run = Run(tol, self.settings.inner_max_iter, floor=problem.size * examples.costs.scale)
        solver = INNER[self.settings.inner]()
        if isinstance(solver, FrankWolfe):
            solver.mu = self.mu
        solver.run(problem, None, run, self.rng)
        assert run.weights is not None
        scores = examples.features.scores(run.weights)
        self.mu, self.trace.gap, self.settled = run.mu, run.gap, run.reason == "tol"
        before = self.value(importance=importance)
        if self.value(run.weights, scores, importance) <= before:
            self.weights, self.scores = run.weights, scores

    def descend_weights(self, target: np.ndarray, most: int, rest: float = 0.0) -> np.ndarray:
        """The concave-convex procedure, at most so many rounds; returns the next target. `rest`
        is what the objective has besides."""
        value, tol = self.value(), self.settings.tol
        for _ in range(most):
            self.convex_step(target, self.examples.weight, 0.25 * tol)
            decrease, value = value - self.value(), self.value()
            self.trace.note("weights", value + rest)
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

    def end(self, theta: np.ndarray | None, objective: float, reason: str) -> Fit:
        trace = self.trace
        if reason == "tol" and not self.settled:
            reason = "max_iter of a convex problem inside"
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
        gain = self.route.beta * float(examples.weight @ diversity)
        return self.conditional.penalty(theta) - gain

    def objective(self) -> float:
        """The whole objective."""
        return self.value() + self.rest(self.conditional.theta, self.p, self.expected)

    def theta_step(self) -> None:
        """Move theta; halve the step until the objective does not rise, or stay."""
        examples, conditional = self.examples, self.conditional
        proposed = conditional.propose(self.scores, 0.25 * self.settings.tol * self.size)
        slack = examples.weight @ self.slack(self.scores, self.expected)
        before = slack + self.rest(conditional.theta, self.p, self.expected)
        step = 1.0
        while step > 0.01:
            theta = conditional.theta + step * (proposed - conditional.theta)
            p = conditional.distribution(theta)
            expected = examples.costs.expected(examples.labels, p)
            slack = examples.weight @ self.slack(self.scores, expected)
            if slack + self.rest(theta, p, expected) <= before:
                conditional.theta, self.p, self.expected = theta, p, expected
                return
            step *= 0.5

    def run(self, start: np.ndarray) -> Fit:
        """Descend from where latent SVM ends that begins at a first target."""
        first = Completion(self.examples, 1, self.settings, self.rng)
        found = first.run(start)
        self.weights, self.scores = found.weights, self.examples.features.scores(found.weights)
        self.mu, self.trace.gap, self.settled = first.mu, found.gap, first.settled
        if found.reason == "interrupted":
            return self.end(self.conditional.theta, self.objective(), found.reason)
        reason = "max_iter"
        try:
            reason = self._take_turns()
        except KeyboardInterrupt:
            reason = "interrupted"
        return self.end(self.conditional.theta, self.objective(), reason)

    def _take_turns(self) -> str:
        target = self.examples.completed(self.scores)
        self.theta_step()
        value = self.objective()
        for _ in range(self.settings.max_iter):
            self.trace.n_iter += 1
            rest = self.rest(self.conditional.theta, self.p, self.expected)
            target = self.descend_weights(target, self.settings.max_iter, rest)
            self.theta_step()
            decrease, value = value - self.objective(), self.objective()
            self.trace.note("theta", value)
            if decrease <= self.settings.tol * self.size:
                return "tol"
        return "max_iter"


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
        """Descend from a first target, which the first turn's loss is measured against too.

        Where that is no single choice the first turn does not count: its loss is another one.
        """
        settings, reason, best = self.settings, "max_iter", np.inf
        soft = bool(((start > 0.0) & (start < 1.0)).any())
        kept: Fit | None = None
        try:
            self.set_distribution(start)
            target = self.self_paced_start(start) if settings.self_paced else start
            for turn in range(settings.max_iter):
                self.trace.n_iter += 1
                target = self.descend_weights(target, self.rounds)
                value, counts = self.value(), turn > 0 or not soft
                if value < best:
                    kept = self.end(None, value, "tol")
                if counts and best - value <= settings.tol * self.size:
                    reason = "tol"
                    break
                best = min(best, value) if counts else np.inf
                self.set_distribution(target)
        except KeyboardInterrupt:
            if kept is None:
                raise
            reason = "interrupted"
        assert kept is not None
        if kept.reason == "tol":
            kept = kept._replace(reason=reason)
        return kept._replace(n_iter=self.trace.n_iter)
