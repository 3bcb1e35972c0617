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
from concordant.solvers.splitting import Splitting

PATIENCE = 20
#: The objective is looked at when the passes have grown by this part: a look visits all examples, a
#: pass those that do not rest.
SELDOM = 5
#: Block steps are worth so many times the passes made: those to come are cheaper, as examples come
#: to rest. Measured on mnist, where L-BFGS takes ten times as long to a gap of 1e-5.
FAR = 4.0
#: Before the gap is nearly closed it is certified when the passes are twice as many as the last
#: time, and first after twice as many as this.
FIRST_LOOK = 8
#: Stiffness (see `Objective`) from which splitting needs fewer steps than L-BFGS on a kernel: a
#: tenth at C = 64 on 1,000 rows. Where block steps are slow at less, the features are dependent.
SPLIT = 2.0


class DualAscent:
    """Passes over the examples in random order.

    Coordinate ascent crawls where the data are few against C times their size. When the gap
    closes so slowly that the passes still to come would outnumber those made by far, another
    method takes over.

    Parameters
    ----------
    mu : ndarray, default=None
        Dual point to start from, as an earlier result's `mu`.
    finish : bool, default=True
        Whether to hand over: to `Splitting` on stiff kernels, to `Fista` under an elastic net,
        else to `Lbfgs`.
    """

    def __init__(self, mu: np.ndarray | None = None, finish: bool = True):
        self.mu = mu
        self.finish = finish
        #: Another method has had to finish.
        self.slow = False

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        state = objective.dual_start(start, self.mu)
        looks: list[tuple[int, float]] = [(0, np.inf)]
        certified = FIRST_LOOK
        # What splitting does in its place is worth trying sooner.
        reach = 1.0 if _splits(objective) else FAR
        best, bound = np.inf, -np.inf
        while True:
            seen = looks[-1][0]
            passes = min(1 + seen // SELDOM, run.max_iter - run.n_iter)
            for _ in range(passes):
                objective.dual_pass(state, rng.permutation(objective.n_examples))
            seen += passes
            weights, primal, hope = objective.look(state)
            # With intercepts hope is one for those there are now, not for all.
            best, bound = min(best, primal), hope if objective.has_intercept else max(bound, hope)
            run.mu = state.mu
            dual = -np.inf
            last = run.n_iter + passes >= run.max_iter
            if best - bound <= run.target_at(best) or seen >= 2 * certified or last:
                (primal, dual), certified = objective.bounds(weights, state.mu), seen
            if run.record(weights, primal, dual, passes):
                return
            hoped = best - bound
            # Where hope is met and the certificate is not, intercepts are what is slow.
            looks.append((seen, run.gap if hoped <= run.target_at(best) else hoped))
            if self.finish and _crawls(looks, run.target, reach):
                self.slow = True
                heir(objective, state.mu).run(objective, run.weights, run, rng)
                return


def heir(objective: Any, mu: np.ndarray) -> Any:
    """What finishes where block steps are slow."""
    if not objective.ridge:
        return Fista()
    return Splitting(mu) if _splits(objective) else Lbfgs(0.1, mu)


def _splits(objective: Any) -> bool:
    return bool(objective.regresses and objective.stiffness > SPLIT)


def _crawls(looks: list[tuple[int, float]], target: float, reach: float) -> bool:
    """Whether, at the recent rate, `reach` times as many passes are missing as were made.

    `looks` are the gaps seen, each with the number of passes before it.
    """
    made, gap = looks[-1]
    if made < 2 * PATIENCE or target <= 0.0:
        return False
    then, before = next(look for look in reversed(looks) if look[0] <= made - PATIENCE)
    shrink = np.log(max(before, 1e-300) / max(gap, 1e-300)) / (made - then)
    return bool(np.log(max(gap, 1e-300) / target) > shrink * reach * max(made, 50))
