"""Alternate between the features and the examples (Douglas and Rachford 1956; ADMM).

The objective is a penalty of the function f plus a sum over examples of its scores. Each half is
easy: for the penalty ``rho/2 |scores - y|**2`` leaves a ridge regression, whose matrix is
factorised once; for the sum it leaves the proximal question of every example, in closed form. In
terms of z, whose limit gives both,

    mu = answers of the proximal question at scores z, strength c / rho, centre parts(y)
    g  = z - c / rho (mu - parts(y))
    f  = the regression on 2 g - z
    z += RELAX (f - g)

Every step moves all weights at once, whatever their correlations, which is what block steps and
gradients suffer from where C times the size of the features is large.

Both halves bound the optimum: f from above, mu from below. Their gap is the sum of

    Q = |W_f - V(mu)|**2 / 2       and       L = sum_i c_i (example i's gap at f and mu_i),

of which Q grows with rho and L falls. The best rho has them about equal, whatever the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.solvers.base import Run
from concordant.solvers.lbfgs import Lbfgs

RELAX = 1.6
#: Steps before the first certificate; the next come when their number has grown by a fifth.
FIRST_LOOK = 5
#: Steps before rho may change, and again after each change: a new factor costs many steps.
PATIENCE = 20
#: Where the gap has not halved in so many steps, features are few or dependent, and L-BFGS, which
#: learns their few directions, takes over.
LONG = 200
#: Rho changes if it seems wrong by this factor, and by `BOLD` at most.
WRONG, BOLD = 1.7, 30.0


class Splitting:
    """Douglas-Rachford splitting with a certificate, for problems that are stiff.

    Parameters
    ----------
    mu : ndarray, default=None
        Dual point to start from, as an earlier result's `mu`.
    rho : float, default=None
        First weight of the squares.
    """

    def __init__(self, mu: np.ndarray | None = None, rho: float | None = None):
        self.mu = mu
        self.rho = rho

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        parts = objective.rest_point()
        rho = objective.firmness() if self.rho is None else self.rho
        weights = objective.start() if start is None else start
        mu = parts if self.mu is None else self.mu
        reach = (objective.weight / rho)[:, None]
        z = objective.scores(objective.vector(weights)) + reach * (mu - parts)
        regress = objective.regression(rho)
        steps, change = 0, PATIENCE
        since, halved = 0, np.inf  # the steps before the gap was last seen to halve, and it
        while True:
            due = min(max(FIRST_LOOK, steps // 5), run.max_iter - run.n_iter)
            for step in range(due):
                mu = objective.dual_point(z, reach[:, 0], parts)
                g = z - reach * (mu - parts)
                weights, f = regress(2.0 * g - z)
                if step < due - 1:
                    z += RELAX * (f - g)
            steps += due
            run.mu = mu
            primal, dual = objective.primal(weights, f), objective.dual(mu)
            if primal - max(dual, run.dual) <= run.target_at(primal):
                primal = objective.primal(weights)  # f is as exact as the factorisation only
            if run.record(weights, primal, dual, due):
                return
            if run.gap <= 0.5 * halved:
                since, halved = steps, run.gap
            elif steps >= since + LONG:
                Lbfgs(0.1, mu).run(objective, run.weights, run, rng)
                return
            apart, unlike = objective.parting(weights, f, mu)
            factor = (max(unlike, 1e-300) / max(apart, 1e-300)) ** 0.25
            if steps >= change and not 1.0 / WRONG < factor < WRONG:
                rho *= min(max(factor, 1.0 / BOLD), BOLD)
                reach = (objective.weight / rho)[:, None]
                del regress  # two such matrices at a time would be one too many
                regress = objective.regression(rho)
                z = g + reach * (mu - parts)  # the same g and mu
                change = steps + PATIENCE
            else:
                z += RELAX * (f - g)
