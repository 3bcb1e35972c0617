"""Block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013) with gap sampling (Osokin et al. 2016).

The classical way to train a structural SVM: one best answer an example, a step of exact length
towards it in the dual, and no other oracle. It works for every route; where a structure answers
the proximal question fast, `dual` and `lbfgs` come nearer to the optimum in less time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.solvers.base import Run


class BlockFrankWolfe:
    """Passes of n steps on examples drawn in proportion to the gap they last showed.

    Parameters
    ----------
    refresh : int, default=4
        Every so many passes visit all examples, in random order, so that no gap grows old.
    """

    def __init__(self, refresh: int = 4):
        self.refresh = refresh

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        state = objective.block_start(start)
        n, passes = objective.n_examples, 0
        while True:
            order = rng.permutation(n)
            total = float(state.gaps.sum())
            if passes % self.refresh and total > 0.0:
                order = rng.choice(n, n, p=state.gaps / total)
            objective.block_pass(state, order)
            passes += 1
            weights, primal, dual = objective.block_bounds(state)
            run.mu = state.mu
            if run.record(weights, primal, dual):
                return
