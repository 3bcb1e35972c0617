"""Solve on the examples that matter and add those the answer gets wrong.

At the solution of a hinge-like route most examples rest at ``mu = parts(y)``: they pull at no
weight, and the dual with them held there is the training problem of the others. A step of the
dual on a kernel costs a row of its matrix, so leaving them out saves the square of their share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from concordant.solvers.base import Run
from concordant.solvers.dual import DualAscent, heir

FIRST = 0.1  # share of the examples to begin with


class WorkingSet:
    """Rounds of `DualAscent` on a growing set of examples, certified on all of them.

    Each round solves its examples to a share of the gap that the others leave, drops those at
    rest, and takes in those with a positive surrogate, largest first, at most doubling the set.
    When nearly all are in, the whole problem is solved as it stands. Passes are counted as those
    over all examples that take as long.

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
        gap, slow = 1.0, False
        left = np.zeros(n, dtype=bool)
        while len(active) < 0.8 * n:
            part = objective.restrict(active)
            tol = np.clip(0.1 * gap, 0.5 * run.tol, 0.1)
            share = (len(active) / n) ** 2
            inner = run.nested(tol, share)
            inner_start = objective.narrow(weights, active)
            try:
                ascent = DualAscent(mu[active])
                solver = heir(part, mu[active]) if slow else ascent
                solver.run(part, inner_start, inner, rng)
                slow = slow or ascent.slow
            except KeyboardInterrupt:
                if inner.weights is not None:
                    weights = objective.widen(part.plain(inner.weights), active)
                    passes = math.ceil(share * inner.n_iter)
                    run.record(weights, objective.primal(weights), -np.inf, passes)
                raise
            assert inner.weights is not None
            if inner.mu is None:
                inner.mu = part.dual_point(part.scores(part.vector(inner.weights)))
            mu = objective.rest_point()
            mu[active] = inner.mu
            run.mu, weights = mu, objective.widen(part.plain(inner.weights), active)
            primal, values = objective.primal_values(weights)
            dual = inner.dual + objective.rest_value(np.setdiff1d(np.arange(n), active))
            if run.record(weights, primal, dual, passes=math.ceil(share * inner.n_iter)):
                return
            gap = (primal - dual) / max(abs(primal), run.floor)
            active = self._next(active, objective.moving(mu), values, left)
        solver = heir(objective, mu) if slow else DualAscent(mu)
        solver.run(objective, weights, run, rng)

    def _next(
        self, active: np.ndarray, moving: np.ndarray, values: np.ndarray, left: np.ndarray
    ) -> np.ndarray:
        """Those of the old set that moved or are not yet settled, and the worst of the others.

        `left` notes who has left the set. Nobody leaves twice: where an example pulls hard at the
        weights, sets would go round in circles.
        """
        keep = np.union1d(moving, active[(values[active] > 0.0) | left[active]])
        left[np.setdiff1d(active, keep)] = True
        outside = np.setdiff1d(np.flatnonzero(values > 0.0), active)
        room = max(self.smallest, len(active))
        worst = outside[np.argsort(-values[outside], kind="stable")[:room]]
        return np.union1d(keep, worst)
