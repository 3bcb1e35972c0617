"""Pairwise surrogates for rankings, the baselines of the loss trick, trained with a certificate.

Scores of items are linear in the features of an example, ``f = W x``; training minimises
``1/2 |W|**2 + sum_i price_i sum over pairs``, the pairs as in `concordant.kernels.pairs`: the
hinge of RankSVM (Herbrich et al. 1999) and the logistic loss (Dekel et al. 2004), each weighted
by the difference of grades, and the structured hinge (Tsochantaridis et al. 2005) whose joint
features add up over pairs, with pairs ordered independently in its inner maximisation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from concordant.solvers.base import Run

#: Name -> number in `concordant.kernels.pairs`.
KINDS = {"hinge": 0, "logistic": 1, "struct": 2}


class Bounds(NamedTuple):
    """Values of the training problem and of a dual point, and the smoothed gradient."""

    primal: float
    dual: float
    smooth: float
    gradient: np.ndarray


class PairwiseObjective:
    """A pairwise training problem: values, gradients, and bounds of its minimum.

    The multipliers m of the pairs at any W are a dual point: with ``V = sum m price (x (e_a -
    e_b)')`` its value is ``sum (dual values) - 1/2 |V|**2``, and V is what the smoothed gradient
    lacks of W.
    """

    def __init__(self, kind: str, x: np.ndarray, grades: np.ndarray, price: np.ndarray):
        known = ~np.isnan(grades)
        self.kind = KINDS[kind]
        self.x = x
        self.offsets = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        self.items = np.nonzero(known)[1]
        self.grades = grades[known]
        self.price = price
        self.shape = (grades.shape[1], x.shape[1])
        self.scratch = np.empty(len(self.items)), np.empty(len(self.items))
        self.size = float(self.bounds(np.zeros(self.shape), 0.0).primal)

    def bounds(self, weights: np.ndarray, strength: float) -> Bounds:
        """Everything at some weights."""
        from concordant.kernels.pairs import evaluate

        gradient = np.empty(self.shape)
        value, smooth, dual = evaluate(
            weights, self.x, self.offsets, self.items, self.grades, self.price, self.kind,
            strength, *self.scratch, gradient,
        )  # fmt: skip
        penalty = 0.5 * float(np.vdot(weights, weights))
        dual -= 0.5 * float(np.vdot(gradient, gradient))
        return Bounds(value + penalty, dual, smooth + penalty, weights + gradient)

    def bounds_at(self, weights: np.ndarray) -> Bounds:
        """Without smoothing."""
        return self.bounds(weights, 0.0)


class Smoothing:
    """L-BFGS on the smoothed problem, the strength of which falls until the gap is closed.

    Where the problem is smooth from the start one stage is enough.
    """

    STAGES = 12
    STEPS = 60

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        """Improve on `start`, reporting every evaluation to `run`."""
        weights = np.zeros(objective.shape) if start is None else start
        strength = 1.0
        for _ in range(self.STAGES):
            weights, stop = self._stage(objective, weights, strength, run)
            if stop:
                return
            strength *= 0.3

    def _stage(
        self, objective: Any, weights: np.ndarray, strength: float, run: Run
    ) -> tuple[np.ndarray, bool]:
        """Until the gap is closed, or what smoothing adds to it is what is left."""
        stop = False

        class Enough(Exception):
            pass

        def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal stop
            at = flat.reshape(objective.shape)
            bounds = objective.bounds(at, strength)
            stop = run.record(at, bounds.primal, bounds.dual)
            if stop:
                raise Enough
            return bounds.smooth, bounds.gradient.ravel()

        try:
            found = minimize(
                value, weights.ravel(), jac=True, method="L-BFGS-B",
                options={"maxiter": self.STEPS, "gtol": 1e-9, "ftol": 1e-12},
            )  # fmt: skip
        except Enough:
            return weights, True
        return found.x.reshape(objective.shape), False
