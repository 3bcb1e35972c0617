"""Accelerated proximal gradient, for penalties with a kink: lasso and elastic net."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.solvers.base import Run
from concordant.solvers.lbfgs import ENTROPIC


class Fista:
    """FISTA with backtracking and restarts (Beck and Teboulle 2009; O'Donoghue and Candes 2015).

    Routes that are not smooth are smoothed as in `Lbfgs`.
    """

    def __init__(self, strength: float = 0.3):
        self.strength = strength

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        weights = objective.start() if start is None else start
        strength = 0.0 if objective.smooth else self.strength * objective.scale
        if objective.entropic:
            strength *= ENTROPIC
        step = 1.0
        while True:
            weights, step, stop = self._stage(objective, weights, strength, step, run)
            if stop or strength == 0.0:
                return
            strength /= 4.0
            step /= 4.0

    def _stage(
        self, objective: Any, weights: np.ndarray, strength: float, step: float, run: Run
    ) -> tuple[np.ndarray, float, bool]:
        point, momentum, previous_total = weights, 1.0, np.inf
        since = 0  # iterations without a certificate, which costs about as much as one of them
        while True:
            value, gradient = objective.loss_gradient(point, strength)
            new, step, total = self._descend(objective, point, value, gradient, strength, step)
            move = float(np.abs(new - weights).max(initial=0.0))
            if total > previous_total:  # the momentum overshot: restart it
                momentum = 1.0
            faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            point = new + (momentum - 1.0) / faster * (new - weights)
            weights, momentum, previous_total = new, faster, total
            step *= 1.1
            due = min(10, run.max_iter - run.n_iter)
            since += 1
            if since >= due or move == 0.0:
                scores = objective.scores(objective.vector(weights))
                primal = objective.primal(weights, scores)
                run.mu, dual = objective.dual_at(scores, strength)
                stop, since = run.record(weights, primal, dual, since), 0
                if stop:
                    return weights, step, True
                smoothing = primal - total
                if strength and (run.gap <= 2.0 * smoothing or move == 0.0):
                    return weights, step, False
                if move == 0.0:
                    run.reason = "no further descent"
                    return weights, step, True

    @staticmethod
    def _descend(
        objective: Any, point: np.ndarray, value: float, gradient: np.ndarray, strength: float,
        step: float,
    ) -> tuple[np.ndarray, float, float]:  # fmt: skip
        while True:
            new = objective.proximal(point - step * gradient, step)
            difference = new - point
            model = value + float(np.vdot(gradient, difference))
            model += float(np.vdot(difference, difference)) / (2.0 * step)
            new_value = objective.loss_gradient(new, strength)[0]
            if new_value <= model + 1e-12 * abs(model) or step < 1e-300:
                return new, step, new_value + objective.penalty_value(new)
            step *= 0.5
