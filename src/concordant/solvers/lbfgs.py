"""L-BFGS, on the objective where it is smooth and inside a proximal-point method where not.

Written out rather than taken from scipy for three things scipy's cannot do: inner products of
a kernel (the method then works in function space, one product with the kernel a step); a line
search that costs no pass over the features, because scores are linear in the weights; and a
stop on the duality gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.solvers.base import Run

STALLED = "no further descent"
#: With intercepts a certificate costs about as much as a step, so one is asked for after this
#: many steps, then each time their number has doubled, and where it can be hoped for.
FIRST_LOOK = 8
#: So many examples a weight make a sum of kinks nearly smooth.
MANY = 100
#: Share of the first strength where the smoothing is by entropy.
ENTROPIC = 0.07
#: Weights up to which more pairs there cost nothing beside the marginals, and save steps.
SMALL = 20_000
#: Gap, in units of the one asked for, above which an objective that is dear is not evaluated.
NEAR = 10.0
#: Near the end of such a stage its objective proper is evaluated once in so many steps.
VALUE_EVERY = 8


class Lbfgs:
    """Quasi-Newton descent that stops on the certified gap.

    Run on a piecewise-linear objective, L-BFGS stalls at a kink and proves nothing. Such a
    route is smoothed: ``strength/2 |mu - centre|**2`` is taken off each example's bonus. The
    maximisers of one stage are the centre of the next, which makes the stages steps of the
    proximal-point method on the dual (the method of multipliers on the primal): they converge
    without the strength going to zero, and intercepts need no special care. The maximisers are
    also the dual point of the certificate. Routes on chains and graphs are smoothed by entropy
    instead, which falls from stage to stage.

    Where examples are very many against weights, kinks drown in the sum: a stage without
    smoothing, whose steps are cheap, comes first and ends when it no longer gains.

    Parameters
    ----------
    strength : float, default=0.3
        First strength of the smoothing, in units of the largest cost.
    mu : ndarray, default=None
        First centre, as an earlier result's `mu`.
    memory : int, default=10
        Pairs kept.
    """

    def __init__(self, strength: float = 0.3, mu: np.ndarray | None = None, memory: int = 10):
        self.strength = strength
        self.mu = mu
        self.memory = memory

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        weights = objective.vector(objective.start() if start is None else start.copy())
        if objective.smooth:
            self._stage(objective, weights, 0.0, None, run)
            return
        strength, centre = self.strength * objective.scale, self.mu
        if objective.entropic:  # log k at most, where a square is 1: less is enough
            strength *= ENTROPIC
            if weights.at.size <= SMALL:
                self.memory = max(self.memory, 30)
        floor = 1e-3 * strength
        stalls = 0
        if centre is None and objective.n_examples >= MANY * weights.at.size:
            weights, stop = self._stage(objective, weights, 0.0, None, run)
            if stop:
                return
            strength, run.reason = 0.03 * strength, "max_iter"
        while run.n_iter < run.max_iter and stalls < 8:
            gap = run.gap
            weights, stop = self._stage(objective, weights, strength, centre, run)
            if stop:
                run.settle(objective)
                return
            centre, dual = objective.dual_at(objective.scores(weights), strength, centre)
            run.mu = centre
            primal = np.inf  # the stage has left a bound, which will do until the end is near
            if objective.quick_primal or run.primal - dual <= NEAR * run.target:
                primal = objective.primal(weights.at)
            if run.record(weights.at, primal, dual):
                return
            if objective.entropic:  # there is no centre: the strength has to fall
                strength, floor = strength / 3.0, 0.0
            elif run.gap > 0.5 * gap:  # slow: let the next stage move further
                strength = max(strength / 3.0, floor)
            stalls = stalls + 1 if run.gap > 0.99 * gap else 0
        if stalls:
            run.reason = STALLED

    def _stage(
        self,
        objective: Any,
        weights: Any,
        strength: float,
        centre: np.ndarray | None,
        run: Run,
    ) -> tuple[Any, bool]:
        """Minimise one smoothing until its gradient no longer matters or the gap is met."""
        scores = objective.scores(weights)
        loss = objective.loss(scores, strength, centre)
        pull = objective.pullback(loss)
        gradient = objective.gradient(weights, pull)
        pairs: list[tuple[Any, Any, float]] = []
        moved, next_look, next_value = False, run.n_iter + FIRST_LOOK, run.n_iter
        share = 1.0  # of the gap that hope saw when it was last put to the test
        rough, slow = strength == 0.0 and not objective.smooth, 0
        while True:
            (primal, dual), hope = objective.free_bounds(weights, loss, pull)
            # What descent can still gain; the rest of the gap is smoothing.
            descent = objective.descent_left(gradient)
            smoothing = max(loss.blur, run.tol * abs(primal) / 4.0)
            enough = moved and strength > 0.0 and descent <= 0.2 * smoothing
            if rough and moved:
                slow = slow + 1 if run.primal - primal <= 0.1 * run.tol * abs(primal) else 0
                enough = slow >= 3
            if objective.has_intercept and not enough:
                close = primal - hope <= share * run.target_at(primal)
                if close or run.n_iter + 1 >= next_look:
                    dual = objective.dual_value(scores, strength, centre)
                    share = min(1.0, (primal - hope) / max(primal - dual, 1e-300))
                    next_look = run.n_iter + 1 + max(FIRST_LOOK, run.n_iter)
            left = primal - max(dual, run.dual)
            if (
                objective.entropic
                and run.n_iter >= next_value
                and left <= 2.0 * run.target < np.inf
            ):
                primal = objective.primal(weights.at)  # less than the smoothed value: enough?
                next_value = run.n_iter + VALUE_EVERY
            if run.record(weights.at, primal, dual):
                run.mu = objective.dual_point(scores, strength, centre) if strength else None
                return weights, True
            if enough:
                return weights, False
            direction = _direction(gradient, pairs)
            first = 1.0 if pairs else 0.0
            step, loss, scores = search(
                objective, weights, gradient, direction, scores, loss, strength, centre, first
            )
            if step == 0.0:
                if strength == 0.0:
                    run.reason = STALLED
                    dual = objective.dual_value(scores)
                    run.record(weights.at, primal, dual)
                return weights, False
            weights, moved = weights.plus(step, direction), True
            pull = objective.pullback(loss)
            old, gradient = gradient, objective.gradient(weights, pull)
            move, change = direction.times(step), gradient.plus(-1.0, old)
            curvature = move.dot(change)
            if curvature > 1e-14 * change.dot(change):
                pairs = [*pairs[-self.memory + 1 :], (move, change, curvature)]


def _direction(gradient: Any, pairs: list[tuple[Any, Any, float]]) -> Any:
    """Minus the inverse Hessian's estimate times the gradient (two-loop recursion)."""
    out = gradient.times(-1.0)
    shares = []
    for move, change, curvature in reversed(pairs):
        share = move.dot(out) / curvature
        shares.append(share)
        out = out.plus(-share, change)
    if pairs:
        _, change, curvature = pairs[-1]
        out = out.times(curvature / change.dot(change))
    for (move, change, curvature), share in zip(pairs, reversed(shares)):
        out = out.plus(share - change.dot(out) / curvature, move)
    return out


def search(
    objective: Any,
    weights: Any,
    gradient: Any,
    direction: Any,
    scores: np.ndarray,
    loss: Any,
    strength: float = 0.0,
    centre: np.ndarray | None = None,
    first: float = 0.0,
) -> tuple[float, Any, np.ndarray]:
    """A step along `direction` that descends and flattens the slope (Wolfe's conditions).

    `first` is the first step to try; 0 asks for a guess from the curvature.

    The penalty is a parabola along the way and scores move on a line, so a trial costs one
    evaluation of the surrogates. Returns a step of 0 where none can be found.
    """
    slope = gradient.dot(direction)
    if not slope < 0.0:
        return 0.0, loss, scores
    along = objective.scores(direction)
    bend = objective.penalty.l2 * objective.square(direction)
    tilt = slope - float(np.vdot(loss.residual, along))  # the penalty's share of the slope
    noise = 1e-13 * abs(loss.value)
    low, low_slope, high, high_slope = 0.0, slope, np.inf, np.inf
    step = first or -slope / (bend + objective.curvature(along))
    for _ in range(40):
        moved = scores + step * along
        trial = objective.loss(moved, strength, centre)
        new_slope = tilt + step * bend + float(np.vdot(trial.residual, along))
        gained = trial.value - loss.value + step * tilt + 0.5 * step**2 * bend
        if gained > 1e-4 * step * slope + noise or new_slope > -0.9 * slope:
            high, high_slope = step, new_slope
        elif new_slope < 0.9 * slope:
            low, low_slope = step, new_slope
        else:
            return step, trial, moved
        if np.isinf(high):
            step *= 4.0
        else:
            share = -low_slope / (high_slope - low_slope) if high_slope > 0.0 else 0.5
            step = low + min(max(share, 0.1), 0.9) * (high - low)
            if high - low <= 1e-12 * high:
                break
    return 0.0, loss, scores
