"""L-BFGS, on the objective where it is smooth and inside a proximal-point method where not."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from concordant.solvers.base import Run

STALLED = "no further descent"


class Lbfgs:
    """Quasi-Newton descent that stops on the certified gap.

    Run on a piecewise-linear objective, L-BFGS stalls at a kink and proves nothing. Such a
    route is smoothed: ``strength/2 |mu - centre|**2`` is taken off each example's bonus. The
    maximisers of one stage are the centre of the next, which makes the stages steps of the
    proximal-point method on the dual (the method of multipliers on the primal): they converge
    without the strength going to zero, and intercepts need no special care. The maximisers are
    also the dual point of the certificate.

    Parameters
    ----------
    strength : float, default=0.3
        First strength of the smoothing, in units of the largest cost.
    mu : ndarray, default=None
        First centre, as an earlier result's `mu`.
    memory : int, default=10
        Pairs kept.
    """

    def __init__(self, strength: float = 0.3, mu: np.ndarray | None = None, memory: int = 10):
        self.strength = strength
        self.mu = mu
        self.memory = memory

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        weights = objective.start() if start is None else start
        if objective.smooth:
            self._stage(objective, weights, 0.0, None, run)
            return
        strength, centre = self.strength * objective.scale, self.mu
        floor = 1e-3 * strength
        stalls = 0
        while run.n_iter < run.max_iter and stalls < 8:
            gap = run.gap
            weights, stop = self._stage(objective, weights, strength, centre, run)
            if stop:
                return
            centre = objective.dual_point(weights, strength, centre)
            run.mu = centre
            if run.record(weights, objective.primal(weights), objective.dual(centre)):
                return
            if run.gap > 0.5 * gap:  # slow: let the next stage move further
                strength = max(strength / 3.0, floor)
            stalls = stalls + 1 if run.gap > 0.99 * gap else 0
        if stalls:
            run.reason = STALLED

    def _stage(
        self,
        objective: Any,
        weights: np.ndarray,
        strength: float,
        centre: np.ndarray | None,
        run: Run,
    ) -> tuple[np.ndarray, bool]:
        """Minimise one smoothing until its gradient no longer matters or the gap is met."""
        shape = weights.shape
        last: dict[str, Any] = {}
        stop = False

        def function(flat: np.ndarray) -> tuple[float, np.ndarray]:
            at = flat.reshape(shape)
            value, gradient, bounds = objective.value_gradient(at, strength, centre)
            last.update(at=flat.copy(), value=value, gradient=gradient, bounds=bounds)
            return value, gradient.ravel()

        def callback(intermediate_result: Any) -> None:
            nonlocal stop
            if not np.array_equal(intermediate_result.x, last["at"]):
                function(intermediate_result.x)
            at = intermediate_result.x.reshape(shape)
            primal, dual = last["bounds"]
            # What descent can still gain; the rest of the gap is smoothing.
            descent = objective.descent_left(last["gradient"])
            smoothing = primal - last["value"]
            enough = strength and descent <= 0.2 * max(smoothing, run.tol * abs(primal) / 4.0)
            ripe = descent <= 0.5 * run.tol * abs(primal) or run.n_iter % 50 == 49
            if objective.has_intercept and ripe and not enough:
                dual = objective.dual(objective.dual_point(at, strength, centre))
            stop = run.record(at, primal, dual)
            if stop or enough:
                raise StopIteration

        limit = max(run.max_iter - run.n_iter, 1)
        options = {"maxiter": limit, "maxfun": 20 * limit, "maxcor": self.memory, "maxls": 50}
        result = minimize(
            function,
            weights.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=callback,
            options=options | {"ftol": 0.0, "gtol": 0.0},
        )
        weights = result.x.reshape(shape)
        if strength == 0.0 and not stop and run.n_iter < run.max_iter:
            # Descent ended at machine precision: one last certificate.
            primal = objective.value_gradient(weights)[2].primal
            if not run.record(weights, primal, objective.dual(objective.dual_point(weights))):
                run.reason = STALLED
        return weights, stop
