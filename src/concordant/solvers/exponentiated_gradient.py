"""Online exponentiated gradients on the dual, for all routes on corpora of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.solvers.base import Run


class ExponentiatedGradient:
    """Passes of dual steps; see `concordant.corpus.gibbs`.

    Examples are drawn by the gap that they last showed, as in `BlockFrankWolfe`, but for a share
    of the draws. The sum of those gaps says when it is time for a certificate, which costs about
    half as much as a pass.

    Parameters
    ----------
    refresh : int, default=4
        Every so many passes visit all examples once, in random order.
    share : float, default=0.2
        Of the draws of other passes, those that do not look at gaps.
    """

    def __init__(self, refresh: int = 4, share: float = 0.2):
        self.refresh = refresh
        self.share = share

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        state = objective.gibbs_start()
        passes = looked = 0
        while True:
            objective.gibbs_pass(state, self._order(state.gaps, passes, rng))
            passes += 1
            last = run.n_iter + passes - looked >= run.max_iter
            last = last or objective.has_intercept  # a look also moves these
            if last or passes >= 2 * looked or state.left <= 2.0 * run.target:
                weights, primal, dual = objective.gibbs_bounds(state)
                if run.record(weights, primal, dual, passes - looked):
                    return
                looked = passes

    def _order(self, gaps: np.ndarray, passes: int, rng: np.random.Generator) -> np.ndarray:
        n, total = len(gaps), float(gaps.sum())
        if passes % self.refresh == 0 or total == 0.0:
            return rng.permutation(n)
        chance = (1.0 - self.share) * gaps / total + self.share / n
        return rng.choice(n, n, p=chance)
