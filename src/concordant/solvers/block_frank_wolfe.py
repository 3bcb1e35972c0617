"""Block-coordinate Frank-Wolfe with gap sampling, for corpora of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.solvers.base import Run


class BlockFrankWolfe:
    """Passes of exact line searches on the dual, most often where the gap is.

    Sentences are drawn in proportion to the gap they last showed; every `refresh` passes all are
    visited, in random order, so that no estimate grows old (Osokin et al. 2016).
    """

    def __init__(self, refresh: int = 4):
        self.refresh = refresh

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        state = objective.block_start()
        n, passes = objective.n_examples, 0
        while True:
            order = rng.permutation(n)
            if passes % self.refresh:
                total = float(state.gaps.sum())
                if total > 0.0:
                    order = rng.choice(n, n, p=state.gaps / total)
            objective.block_pass(state, order)
            passes += 1
            primal, dual = objective.block_bounds(state)
            if run.record(state.weights, primal, dual):
                return
