"""Block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013) with gap sampling (Osokin et al. 2016).

The classical way to train a structural SVM: one best answer an example, a step of exact length
towards it in the dual, and no other oracle. It works for every route; where a structure answers
the proximal question fast, `dual` and `lbfgs` come nearer to the optimum in less time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.solvers.base import Run

#: Passes between two that look at every example, so that old gaps do not mislead.
FRESH = 10


class BlockFrankWolfe:
    """Passes of n steps on examples drawn in proportion to their last gaps."""

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        state = objective.vertex_start(start)
        n = objective.n_examples
        gaps = np.full(n, np.inf)
        passes = 0
        while True:
            if passes % FRESH == 0 or not gaps.any():
                order = rng.permutation(n)
            else:
                order = rng.choice(n, n, p=gaps / gaps.sum())
            objective.vertex_pass(state, order, gaps)
            passes += 1
            weights = objective.primal_weights(state)
            bounds = objective.bounds(weights, state.mu)
            run.mu = state.mu
            if run.record(weights, bounds.primal, bounds.dual):
                return
