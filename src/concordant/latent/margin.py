"""The convex problem of the weights, and two solvers with a certificate.

Costs of answers are fixed, and so is what each bag should answer: a point of its choices' convex
hull, at its label (`target`, weights over choices). The problem and its dual stand in
`kernels.margin`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from concordant.executor import SERIAL, Executor, chunks
from concordant.solvers import Run
from concordant.structures import Pairs

#: Rows of a bag among which one visit moves mass.
ROOM = 32


class Bounds(NamedTuple):
    """A primal and a dual value of the problem."""

    primal: float
    dual: float


@dataclass
class Features:
    """All choices' features: scores, their transpose, and the form that kernels take."""

    x: Any
    executor: Executor = field(default=SERIAL)

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Scores of every choice under every label, ``(N, k)``, from weights ``(k, d)``."""
        out = np.empty((self.x.shape[0], len(weights)))
        transposed = np.ascontiguousarray(weights.T)

        def run(rows: slice) -> None:
            out[rows] = self.x[rows] @ transposed

        self.executor.map(run, chunks(len(out)))
        return out

    def combine(self, parts: np.ndarray) -> np.ndarray:
        """``sum parts[h, y] x_h`` for every label, ``(k, d)``; rows of zeros cost nothing."""
        used = np.flatnonzero(parts.any(axis=1))
        whole = len(used) == len(parts)

        def run(piece: slice) -> np.ndarray:
            rows = piece if whole else used[piece]
            return np.asarray((self.x[rows].T @ parts[rows]).T)

        sums = self.executor.map(run, chunks(len(used)))
        return sum(sums, start=np.zeros((parts.shape[1], self.x.shape[1])))

    @property
    def arrays(self) -> tuple[Any, ...]:
        """(dense, x, data, indices, indptr), one of the two forms being empty."""
        none = np.zeros(0, dtype=np.int64)
        if sp.issparse(self.x):
            return False, np.zeros((0, 0)), self.x.data, self.x.indices, self.x.indptr
        return True, self.x, np.zeros(0), none, none


@dataclass
class MarginProblem:
    """Bags with fixed expected costs and targets."""

    features: Features
    structure: Pairs
    labels: np.ndarray
    costs: np.ndarray
    target: np.ndarray
    weight: np.ndarray

    @property
    def size(self) -> float:
        """What one unit of loss on every bag would cost."""
        return float(self.weight.sum())

    def value(self, weights: np.ndarray, scores: np.ndarray | None = None) -> float:
        """The objective at these weights."""
        scores = self.features.scores(weights) if scores is None else scores
        highest = self.structure.largest((scores + self.costs).max(axis=1))
        own = np.take_along_axis(scores, self._own[:, None], axis=1)[:, 0]
        reached = self.structure.total(self.target * own)
        return float(0.5 * np.vdot(weights, weights) + self.weight @ (highest - reached))

    @property
    def _own(self) -> np.ndarray:
        return self.structure.spread(self.labels)

    def weights_of(self, mu: np.ndarray) -> np.ndarray:
        """``W(mu)``."""
        parts = -mu
        parts[np.arange(len(mu)), self._own] += self.target
        return self.features.combine(self.structure.scale(self.weight, parts))

    def dual(self, mu: np.ndarray, weights: np.ndarray) -> float:
        """The dual at mu, whose weights are known."""
        gain = self.weight @ self.structure.dot(self.costs, mu)
        return float(gain - 0.5 * np.vdot(weights, weights))

    def first_mu(self) -> np.ndarray:
        """A dual point: every bag at the first choice of its target. One choice a target gives
        weights of zero."""
        mu = np.zeros(self.structure.shape)
        first = self.structure.first_largest(self.target) + self.structure.offsets[:-1]
        mu[first, self.labels] = 1.0
        return mu

    def bounds_at(self, weights: np.ndarray) -> Bounds:
        """Bounds from the answers with the largest augmented scores."""
        scores = self.features.scores(weights)
        mu = self.structure.argmax(scores + self.costs)
        return Bounds(self.value(weights, scores), self.dual(mu, self.weights_of(mu)))


class FrankWolfe:
    """Block-coordinate Frank-Wolfe with pairwise steps (after Lacoste-Julien et al., ICML 2013,
    and Osokin et al., ICML 2016).

    Whole passes alternate with cheap ones over the choices that carry mass. Bags whose gap was
    small are left out of three whole passes in four; certificates look at all.

    Parameters
    ----------
    mu : ndarray of shape (N, k), default=None
        A dual point to start from; changed in place.
    """

    def __init__(self, mu: np.ndarray | None = None):
        self.mu = mu

    def run(self, objective: MarginProblem, start: Any, run: Run, rng: np.random.Generator) -> None:
        """Sweep until `run` says stop."""
        state = _Sweeps(objective, self.mu, rng)
        run.mu = state.mu
        while True:
            found = state.whole_pass(run.target if run.gap < np.inf else np.inf)
            if found <= 2.0 * run.target or run.n_iter + 1 >= run.max_iter or run.n_iter % 8 == 0:
                weights = objective.weights_of(state.mu)
                state.weights[:] = weights  # rid of what rounding has gathered
                primal, dual = objective.value(weights), objective.dual(state.mu, weights)
                if run.record(weights, primal, dual):
                    return
            else:
                run.n_iter += 1
            state.cheap_passes()


class _Sweeps:
    """The dual point, its weights, and scratch space for sweeps over bags."""

    def __init__(self, problem: MarginProblem, mu: np.ndarray | None, rng: np.random.Generator):
        self.problem, self.rng = problem, rng
        self.mu = problem.first_mu() if mu is None else mu
        self.weights = problem.weights_of(self.mu)
        n, k = problem.structure.n_examples, problem.structure.n_classes
        largest = max(int(problem.structure.sizes.max()), ROOM)
        self.scores = np.empty((largest, k))
        self.rows, self.gram = np.empty(ROOM, dtype=np.int64), np.empty((ROOM, ROOM))
        self.work = np.empty((3, ROOM, k))
        self.gaps = np.full(n, np.inf)
        self.gaps[problem.weight == 0.0] = 0.0
        self.passes = 0

    def whole_pass(self, target: float) -> float:
        """Visit the bags worth it, at random; returns the sum of all bags' last known gaps."""
        used = self.problem.weight > 0.0
        if self.passes % 4:
            used &= self.gaps > 0.1 * target / len(self.gaps)
        self.passes += 1
        self._sweep(self.rng.permutation(np.flatnonzero(used)), True, self.gaps)
        return float(self.gaps.sum())

    def cheap_passes(self, most: int = 6) -> None:
        """Visit only choices with mass, as long as that pays."""
        order = np.flatnonzero(self.problem.weight > 0.0)
        inside, first = np.zeros(len(self.gaps)), np.inf
        for _ in range(most):
            self._sweep(self.rng.permutation(order), False, inside)
            left = float(inside.sum())
            first = min(first, left)
            if left <= 0.1 * min(first, float(self.gaps.sum())) or left < 1e-300:
                return

    def _sweep(self, order: np.ndarray, whole: bool, gaps: np.ndarray) -> None:
        from concordant.kernels.margin import sweep

        problem = self.problem
        sweep(
            problem.features.arrays, problem.structure.offsets, order, whole, problem.weight,
            problem.costs, self.mu, self.weights, self.scores, self.rows, self.gram, self.work,
            gaps,
        )  # fmt: skip


class CuttingPlane:
    """The 1-slack cutting-plane method (Joachims, Finley and Yu, Machine Learning 2009).

    One plane a pass bounds the whole sum from below; the weights minimise over all planes so
    far. Published with this problem; kept for comparison.
    """

    def run(self, objective: MarginProblem, start: Any, run: Run, rng: np.random.Generator) -> None:
        """Add planes until `run` says stop."""
        weights = np.zeros(objective.features.combine(np.zeros(objective.structure.shape)).shape)
        slopes: list[np.ndarray] = []
        gains: list[float] = []
        gram, alpha = np.zeros((0, 0)), np.zeros((0, 1))
        while True:
            scores = objective.features.scores(weights)
            mu = objective.structure.argmax(scores + objective.costs)
            slopes.append(objective.weights_of(mu).ravel())
            gains.append(float(objective.weight @ objective.structure.dot(objective.costs, mu)))
            primal = objective.value(weights, scores)
            gram = _with_row(gram, np.array([slope @ slopes[-1] for slope in slopes]))
            alpha = np.vstack([alpha, [[0.0 if len(alpha) else 1.0]]])
            dual = self._solve(gram, np.array(gains), alpha, primal, run)
            if run.record(weights, primal, dual):
                return
            weights = np.tensordot(alpha[:, 0], slopes, axes=1).reshape(weights.shape)

    @staticmethod
    def _solve(
        gram: np.ndarray, gains: np.ndarray, alpha: np.ndarray, primal: float, run: Run
    ) -> float:
        """Weights of the planes, in place, and the dual value they reach."""
        from concordant.kernels.margin import pairwise_steps

        scores = (gains - gram @ alpha[:, 0])[:, None]
        tol = 0.1 * run.target if run.gap < np.inf else 1e-6 * abs(primal)
        pairwise_steps(gram, len(gains), 1.0, scores, alpha, tol, 100_000)
        return float(gains @ alpha[:, 0] - 0.5 * alpha[:, 0] @ gram @ alpha[:, 0])


def _with_row(gram: np.ndarray, row: np.ndarray) -> np.ndarray:
    """A Gram matrix with one more vector."""
    out = np.empty((len(row), len(row)))
    out[:-1, :-1] = gram
    out[-1], out[:, -1] = row, row
    return out


#: Name -> solver of the convex problem.
INNER: dict[str, type] = {"frank_wolfe": FrankWolfe, "cutting_plane": CuttingPlane}
