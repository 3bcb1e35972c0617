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
    thrifty : bool, default=False
        Certify only when the number of passes has grown by a quarter: on a kernel a certificate
        costs more than a pass.
    """

    def __init__(self, mu: np.ndarray | None = None, finish: bool = True, thrifty: bool = False):
        self.mu = mu
        self.finish = finish
        self.thrifty = thrifty

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        state = objective.dual_start(start, self.mu)
        looks: list[tuple[int, float]] = [(0, np.inf)]
        while True:
            seen = looks[-1][0]
            passes = min(1 + self.thrifty * (seen // 4), run.max_iter - run.n_iter)
            for _ in range(passes):
                objective.dual_pass(state, rng.permutation(objective.n_examples))
            weights, bounds = objective.state_bounds(state)
            run.mu = state.mu
            if run.record(weights, bounds.primal, bounds.dual, passes):
                return
            looks.append((seen + passes, run.gap))
            if self.finish and _crawls(looks, run.target):
                heir = Lbfgs(0.1, state.mu) if objective.ridge else Fista()
                heir.run(objective, run.weights, run, rng)
                return


def _crawls(looks: list[tuple[int, float]], target: float) -> bool:
    """Whether, at the recent rate, more passes are missing than were made (and many).

    `looks` are the gaps seen, each with the number of passes before it.
    """
    made, gap = looks[-1]
    if made < 2 * PATIENCE or target <= 0.0:
        return False
    then, before = next(look for look in reversed(looks) if look[0] <= made - PATIENCE)
    shrink = np.log(max(before, 1e-300) / max(gap, 1e-300)) / (made - then)
    return bool(np.log(max(gap, 1e-300) / target) > shrink * max(made, 50))
