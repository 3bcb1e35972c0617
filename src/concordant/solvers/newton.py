"""Newton's method with a Hessian from some of the examples, for few weights and many examples.

Thresholded scores of d features and k labels have d + k weights: a Hessian costs about as much as
a pass over the data, and an error of a few percent in it, as left by a sample, still leaves steps
that gain a digit or two each (Byrd et al. 2011).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import eigh

from concordant.solvers.base import Run
from concordant.solvers.lbfgs import Lbfgs, search

#: Steps after which a certificate is asked for in any case.
LOOK_EVERY = 8
#: Steps without gain after which kinks are blamed, and steps after which the sample is.
PATIENCE, STEPS = 3, 50


class Newton:
    """Damped Newton steps that stop on the certified gap.

    Where examples are many, the problem of the sample is solved first. A route with kinks is left
    to `Lbfgs` unless examples are so many that the kinks drown in their sum: the Hessian is then
    that of a local average, and the rest, if any, is again for `Lbfgs`.

    Parameters
    ----------
    sample : int, default=20_000
        Most examples that make the Hessian.
    mu : ndarray, default=None
        Dual point to start from, for routes with kinks.
    """

    def __init__(self, sample: int = 20_000, mu: np.ndarray | None = None):
        self.sample = sample
        self.mu = mu

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        n = objective.n_examples
        many = n > 4 * self.sample
        if objective.smooth or (many and self.mu is None):
            rows = np.arange(n)
            if n > self.sample:
                rows = np.sort(rng.permutation(n)[: self.sample])
            if many and start is None:
                start = self._of_sample(objective, rows, run, rng)
            if self._descend(objective, start, rows, run):
                return
            start, run.reason = run.weights, "max_iter"
        Lbfgs(mu=self.mu).run(objective, start, run, rng)

    def _of_sample(
        self, objective: Any, rows: np.ndarray, run: Run, rng: np.random.Generator
    ) -> np.ndarray:
        """The solution of the sample alone."""
        part = objective.restrict(rows)
        inner = run.nested(max(run.tol, 1e-3), len(rows) / objective.n_examples)
        solver: Any = self if objective.smooth else Lbfgs()
        try:
            solver.run(part, None, inner, rng)
        except KeyboardInterrupt:
            if inner.weights is not None:
                best = objective.widen(inner.weights, rows)
                run.record(best, objective.primal(best), -np.inf)
            raise
        assert inner.weights is not None
        run.n_iter += math.ceil(inner.n_iter * len(rows) / objective.n_examples)
        return objective.widen(inner.weights, rows)

    def _descend(
        self, objective: Any, start: np.ndarray | None, rows: np.ndarray, run: Run
    ) -> bool:
        """Returns whether to stop, rather than to go on with another method."""
        weights = objective.vector(objective.start() if start is None else start.copy())
        scores = objective.scores(weights)
        loss = objective.loss(scores)
        since, slow, last = 0, 0, run.n_iter + STEPS
        while True:
            pull = objective.pullback(loss)
            gradient = objective.gradient(weights, pull)
            (primal, dual), _ = objective.free_bounds(weights, loss, pull)
            since, slow = since + 1, slow + 1 if run.primal - primal <= 0.0 else 0
            near = objective.descent_left(gradient) <= 2.0 * run.tol * abs(primal)
            if objective.has_intercept and (near or since >= LOOK_EVERY):
                dual, since = objective.dual_value(scores), 0
            if run.record(weights.at, primal, dual):
                return True
            hessian = objective.hessian(scores, rows)
            if slow >= PATIENCE or run.n_iter >= last or not np.isfinite(hessian).all():
                return False
            direction = objective.vector(-_solve(hessian, gradient.at))
            step, loss, scores = search(
                objective, weights, gradient, direction, scores, loss, first=1.0
            )
            if step == 0.0:
                return False
            weights = weights.plus(step, direction)


def _solve(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Directions without curvature, such as a shift of all scores, count as nearly flat."""
    values, vectors = eigh(hessian)
    values = np.maximum(values, 1e-9 * max(values[-1], 1e-300))
    return vectors @ ((vectors.T @ gradient) / values)
