"""Any solver, for thresholds that must not cross.

Thresholds that cross in a solution are tied, as in isotonic regression, and the problem is solved
again; a tie whose multiplier has the wrong sign is cut, once. The certificate is one of the problem
with ordered thresholds whatever is tied (`FoldedObjective.dual_in_order`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.solvers.base import Run, Solver

#: How often a certificate that is missing is worth a more exact solution.
TRIES = 3
CROSSED = "thresholds kept in order"


class Ordered:
    """Rounds of another solver on problems with some thresholds tied.

    Parameters
    ----------
    solver : Solver
    """

    def __init__(self, solver: Solver):
        self.solver = solver

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        try:
            self.solver.run(objective, start, run, rng)
        except KeyboardInterrupt:
            if run.weights is not None:
                best, run.weights, run.primal = run.weights, None, np.inf
                _keep(objective, best, run, 0)
            raise
        assert run.weights is not None
        weights, thresholds = run.weights, objective.thresholds(run.weights)
        ties = np.zeros(len(thresholds) - 1, bool)  # of a threshold and the next
        cut = ties.copy()
        if not _crossing(thresholds, ties).any():
            return
        # What is on record crosses; its lower bound is one here too.
        run.weights, run.primal, run.mu, run.reason = None, np.inf, None, "max_iter"
        tol, tries = run.tol, 0
        while run.n_iter < run.max_iter:
            ties |= _crossing(thresholds, ties)
            part = objective.tied(ties)
            inner = run.nested(tol, 1.0)
            try:
                self.solver.run(part, part.convert(weights, objective), inner, rng)
            except KeyboardInterrupt:
                if inner.weights is not None:
                    weights = objective.convert(inner.weights, part)
                _keep(objective, weights, run, inner.n_iter)
                raise
            assert inner.weights is not None
            weights = objective.convert(inner.weights, part)
            thresholds = objective.thresholds(weights)
            if _crossing(thresholds, ties).any():
                run.n_iter += inner.n_iter
                continue
            run.mu = inner.mu
            if run.mu is None:
                run.mu = part.dual_point(part.scores(part.vector(inner.weights)))
            dual, pulls = objective.dual_in_order(run.mu, ties)
            weights = objective.in_order(weights)
            if run.record(weights, objective.primal(weights), dual, inner.n_iter):
                return
            wrong = ties & (pulls < 0.0) & ~cut
            if not wrong.any():  # the multipliers are not exact enough
                tol, tries = 0.1 * tol, tries + 1
            if tries > TRIES:
                run.reason = CROSSED
                return
            ties, cut = ties & ~wrong, cut | wrong
        _keep(objective, weights, run, 0)


def _keep(objective: Any, weights: np.ndarray, run: Run, passes: int) -> None:
    """Put these weights on record, with their thresholds in order."""
    weights = objective.in_order(weights)
    run.record(weights, objective.primal(weights), -np.inf, passes)


def _crossing(thresholds: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Of the thresholds that are not tied, which lie above the next."""
    return ~ties & (np.diff(thresholds) < 0.0)
