"""Stochastic dual coordinate ascent with exact block steps (Shalev-Shwartz and Zhang 2013).

Each step solves one example's part of the dual exactly, which for the games is the proximal
form of the equilibrium. No step size, and the dual point is a certificate at every pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.solvers.base import Run
from concordant.solvers.lbfgs import Lbfgs
from concordant.solvers.proximal import Fista

PATIENCE = 20


class DualAscent:
    """Passes over the examples in random order.

    Coordinate ascent crawls where the data are few against C times their size. When the gap
    closes so slowly that the passes still to come would outnumber those made, a primal method
    takes over.

    Parameters
    ----------
    mu : ndarray, default=None
        Dual point to start from, as an earlier result's `mu`.
    finish : bool, default=True
        Whether to hand over, to `Lbfgs` or under an elastic net to `Fista`.
    """

    def __init__(self, mu: np.ndarray | None = None, finish: bool = True):
        self.mu = mu
        self.finish = finish

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        state = objective.dual_start(start, self.mu)
        while True:
            objective.dual_pass(state, rng.permutation(objective.n_examples))
            weights = objective.primal_weights(state)
            bounds = objective.bounds(weights, state.mu)
            run.mu = state.mu
            if run.record(weights, bounds.primal, bounds.dual):
                return
            if self.finish and _crawls(run):
                heir = Lbfgs(0.1, state.mu) if objective.ridge else Fista()
                heir.run(objective, run.weights, run, rng)
                return


def _crawls(run: Run) -> bool:
    """Whether, at the recent rate, more passes are missing than were made (and many)."""
    gaps = run.history["gap"]
    if len(gaps) < 2 * PATIENCE or run.tol <= 0.0:
        return False
    shrink = np.log(max(gaps[-PATIENCE - 1], 1e-300) / max(gaps[-1], 1e-300)) / PATIENCE
    missing = np.log(max(gaps[-1], 1e-300) / max(run.target, 1e-300))
    return bool(missing > shrink * max(len(gaps), 50))
