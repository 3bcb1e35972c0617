"""Online exponentiated gradients, for the log route on corpora of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.solvers.base import Run


class ExponentiatedGradient:
    """Passes of dual steps in random order; see `concordant.corpus.gibbs`."""

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        state = objective.gibbs_start()
        while True:
            objective.gibbs_pass(state, rng.permutation(objective.n_examples))
            weights, primal, dual = objective.gibbs_bounds(state)
            if run.record(weights, primal, dual):
                return
