"""Solve on the examples that matter and add those the answer gets wrong.

At the solution of a hinge-like route most examples rest at ``mu = parts(y)``: they pull at no
weight, and the dual with them held there is the training problem of the others. A step of the
dual on a kernel costs a row of its matrix, so leaving them out saves the square of their share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.solvers.base import Run
from concordant.solvers.dual import DualAscent

FIRST = 0.1  # share of the examples to begin with


class WorkingSet:
    """Rounds of `DualAscent` on a growing set of examples, certified on all of them.

    Each round solves its examples to a share of the gap that the others leave, drops those at
    rest, and takes in those with a positive surrogate, largest first, at most doubling the set.
    When nearly all are in, the whole problem is solved as it stands.

    Parameters
    ----------
    mu : ndarray, default=None
        Dual point to start from, as an earlier result's `mu`.
    smallest : int, default=500
        Fewer examples are never set aside.
    """

    def __init__(self, mu: np.ndarray | None = None, smallest: int = 500):
        self.mu = mu
        self.smallest = smallest

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        n = objective.n_examples
        weights = objective.start() if start is None else start
        mu = objective.rest_point() if self.mu is None else self.mu.copy()
        active = objective.moving(mu)
        if len(active) == 0:
            size = min(n, max(self.smallest, int(FIRST * n)))
            active = np.sort(rng.permutation(n)[:size])
        gap = 1.0
        while len(active) < 0.8 * n:
            part = objective.restrict(active)
            tol = np.clip(0.1 * gap, 0.5 * run.tol, 0.1)
            inner = run.nested(tol)
            inner_start = objective.narrow(weights, active)
            try:
                DualAscent(mu[active], thrifty=True).run(part, inner_start, inner, rng)
            except KeyboardInterrupt:
                if inner.weights is not None:
                    weights = objective.widen(inner.weights, active)
                    run.record(weights, objective.primal(weights), -np.inf, inner.n_iter)
                raise
            assert inner.weights is not None
            assert inner.mu is not None
            mu = objective.rest_point()
            mu[active] = inner.mu
            run.mu, weights = mu, objective.widen(inner.weights, active)
            primal, values = objective.primal_values(weights)
            dual = inner.dual + objective.rest_value(np.setdiff1d(np.arange(n), active))
            if run.record(weights, primal, dual, passes=inner.n_iter):
                return
            gap = (primal - dual) / max(abs(primal), run.floor)
            active = self._next(objective, active, mu, values)
        DualAscent(mu, thrifty=True).run(objective, weights, run, rng)

    def _next(
        self, objective: Any, active: np.ndarray, mu: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        """Those of the old set that moved or are not yet settled, and the worst of the others."""
        keep = np.union1d(objective.moving(mu), active[values[active] > 0.0])
        outside = np.setdiff1d(np.flatnonzero(values > 0.0), active)
        room = max(self.smallest, len(active))
        worst = outside[np.argsort(-values[outside], kind="stable")[:room]]
        return np.union1d(keep, worst)
