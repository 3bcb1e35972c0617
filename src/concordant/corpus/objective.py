"""The training problem of a corpus, for the solvers that know of `Objective`.

It never holds the scores of all tokens. A pass makes the scores of one sentence, asks, and adds
to a gradient in the weights, so `Loss.residual` is that gradient. What solvers call "scores" are
here the weights themselves: all they do with scores is to follow them along a line.

The dual point of a pass is not held either. Its first term (`Loss.gain`) and its weights (minus
the gradient) are all that the dual needs; with unpenalised intercepts it is repaired by mixing in
true labels that are changed at random (see `SmoothedRoute.balance`), which asks for one more pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from concordant.corpus.data import Features, Layout, parts
from concordant.executor import SERIAL, Executor
from concordant.objective import Bounds, Loss, Vector
from concordant.penalty import Penalty
from concordant.surrogates.base import transport


class Model(NamedTuple):
    """What a corpus is trained for.

    `alpha` is the share of the log loss; with `adversarial` the rest is a game, else a hinge.
    """

    costs: np.ndarray
    alpha: float
    adversarial: bool = False


class DualPoint(NamedTuple):
    """What the dual needs to know of a point: its first term and its weights."""

    gain: float
    weights: np.ndarray


class CorpusObjective:
    """A corpus, its answers and a route, as `Lbfgs`, `Fista` and the block solvers see them.

    Parameters
    ----------
    features : Features
    layout : Layout
    codes : ndarray of shape (N,)
        Labels of tokens, -1 where unknown.
    model : Model
    weight : ndarray of shape (n,)
        C times the sample weights.
    node_weight : ndarray of shape (N,), default=None
        Multiplies the loss at each token.
    allowed : ndarray of bool of shape (k, k), default=None
        Which label may follow which.
    """

    entropic = True

    def __init__(
        self,
        features: Features,
        layout: Layout,
        codes: np.ndarray,
        model: Model,
        weight: np.ndarray,
        node_weight: np.ndarray | None = None,
        penalty: Penalty | None = None,
        allowed: np.ndarray | None = None,
        executor: Executor = SERIAL,
    ):
        self.features, self.layout, self.model = features, layout, model
        self.codes = np.ascontiguousarray(codes, dtype=np.int64)
        self.weight = np.ascontiguousarray(weight, dtype=float)
        n, N, k = features.n_sentences, features.n_tokens, layout.n_classes
        self.node_weight = np.ones(N) if node_weight is None else node_weight
        #: The log loss has no loss inside: it takes a sentence's mean node weight.
        self.log_weight = (
            np.add.reduceat(self.node_weight, features.offsets[:-1]) / features.lengths
        )
        self.penalty, self.executor = penalty or Penalty(), executor
        self.n_examples = n
        self.smooth = model.alpha == 1.0
        self.ridge = self.penalty.l1 == 0.0
        self.has_intercept = layout.fit_intercept
        self.blocked = np.zeros((k, k))
        if allowed is not None:
            self.blocked[~allowed] = -np.inf
        largest = float(self.node_weight.max(initial=0.0)) * float(model.costs.max())
        self.scale = largest or 1.0
        sizes = np.bincount(np.repeat(np.arange(n), features.lengths), self.node_weight, n)
        self.size = float(self.weight @ sizes) * (float(model.costs.max()) or 1.0)
        self.parts = parts(features.offsets, layout.size)

    def arrays(self, weights: np.ndarray) -> tuple[np.ndarray, ...]:
        """The arguments that all kernels of `concordant.kernels.tokens` begin with."""
        f, layout = self.features, self.layout
        node, transitions, free = layout.split(weights)
        return (
            f.indptr, f.indices, f.values, layout.begin, layout.labels, node,
            transitions + self.blocked, np.ascontiguousarray(free), f.offsets,
        )  # fmt: skip

    # Vectors and the penalty, as in `Objective`.

    def start(self) -> np.ndarray:
        """Weights of zero."""
        return np.zeros(self.layout.size)

    def vector(self, weights: np.ndarray) -> Vector:
        return Vector(weights, weights)

    def scores(self, vector: Vector) -> np.ndarray:
        """The weights: see the module's docstring."""
        return vector.at

    def free(self, weights: np.ndarray) -> np.ndarray:
        """A view of the intercepts."""
        return weights[self.layout.n_penalised :]

    def penalised(self, weights: np.ndarray) -> np.ndarray:
        """A view of the other weights."""
        return weights[: self.layout.n_penalised]

    def square(self, vector: Vector) -> float:
        own = self.penalised(vector.at)
        return float(own @ own)

    def penalty_value(self, weights: np.ndarray) -> float:
        return self.penalty.value(self.penalised(weights))

    def proximal(self, weights: np.ndarray, step: float) -> np.ndarray:
        """Proximal step of the penalty; intercepts stay."""
        moved = self.penalty.proximal(weights, step)
        self.free(moved)[...] = self.free(weights)
        return moved

    # Primal.

    def loss(
        self, weights: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> Loss:
        """The sum over sentences at these weights; `strength` smooths the hinge by entropy."""
        from concordant.kernels.tokens import smooth_pass

        given, model, k = self.arrays(weights), self.model, self.layout.n_classes
        tau = strength or 1.0

        def run(part: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
            sums, gradient = np.zeros(2), np.zeros(self.layout.size)
            node, pairs, free = self.layout.split(gradient)
            smooth_pass(
                *given, *part, self.codes, self.weight, self.log_weight, self.node_weight,
                model.costs, model.alpha, tau, sums, node, pairs, free,
            )  # fmt: skip
            return sums, gradient

        done = self.executor.map(run, self.parts)
        value, gain = np.sum([sums for sums, _ in done], axis=0)
        gradient = done[0][1]
        for _, more in done[1:]:
            gradient += more
        dot = float(gradient @ weights)
        return Loss(float(value), gradient, float(value), float(gain), float(value - gain - dot))

    def pullback(self, loss: Loss) -> Vector:
        """Gradient of the sum over sentences."""
        return Vector(loss.residual, loss.residual)

    def gradient(self, weights: Vector, pull: Vector) -> Vector:
        """Gradient of the whole objective under a ridge."""
        out = pull.at + self.penalty.l2 * weights.at
        self.free(out)[...] = self.free(pull.at)
        return Vector(out, out)

    def free_bounds(self, weights: Vector, loss: Loss, pull: Vector) -> Bounds:
        """Bounds that cost nothing more; the dual one only without intercepts."""
        primal = loss.upper + 0.5 * self.penalty.l2 * self.square(weights)
        if self.has_intercept:
            return Bounds(primal, -np.inf)
        return Bounds(primal, loss.gain - self.penalty.conjugate(self.penalised(pull.at)))

    def curvature(self, along: np.ndarray) -> float:
        """A guess of the loss's second derivative along this change of weights."""
        size = float(self.weight @ self.features.square_norms()) / max(len(along), 1)
        return 0.25 / self.scale * size * float(along @ along)

    def descent_left(self, gradient: Vector) -> float:
        """About how much of the gap is due to this gradient."""
        free = self.scale * float(np.abs(self.free(gradient.at)).sum())
        return 0.5 * gradient.dot(gradient) / max(self.penalty.l2, 1e-300) + free

    def loss_gradient(self, weights: np.ndarray, strength: float = 0.0) -> tuple[float, np.ndarray]:
        loss = self.loss(weights, strength)
        return loss.value, loss.residual

    def primal(self, weights: np.ndarray, scores: np.ndarray | None = None) -> float:
        """The objective, without smoothing."""
        value = self.loss(weights).value if self.smooth else self.plain_value(weights)
        return value + self.penalty_value(weights)

    def plain_value(self, weights: np.ndarray) -> float:
        """The sum of the surrogates with a hinge that is not smoothed."""
        from concordant.corpus.oracles import hinge_value

        alpha = self.model.alpha
        hinge = hinge_value(self, weights)
        if alpha == 0.0:
            return hinge
        log = self.like(self.model._replace(alpha=1.0)).loss(weights).value
        return alpha * log + (1.0 - alpha) * hinge

    def like(self, model: Model) -> CorpusObjective:
        """The same corpus under another route."""
        allowed = None if not self.blocked.any() else self.blocked == 0.0
        return CorpusObjective(
            self.features, self.layout, self.codes, model, self.weight, self.node_weight,
            self.penalty, allowed, self.executor,
        )  # fmt: skip

    # Dual.

    def dual_point(
        self, weights: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> DualPoint:
        """The maximisers of the (smoothed) surrogates at these weights."""
        loss = self.loss(weights, strength)
        return DualPoint(loss.gain, -loss.residual)

    def dual_at(
        self, weights: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> tuple[DualPoint, float]:
        point = self.dual_point(weights, strength)
        return point, self.dual(point)

    def bounds_at(self, weights: np.ndarray) -> Bounds:
        """Primal value at `weights` and the dual value of the maximisers there."""
        return Bounds(self.primal(weights), self.dual_at(weights)[1])

    def dual(self, point: DualPoint) -> float:
        """The dual value near a point, at a feasible one."""
        gain, weights = point
        if self.has_intercept:
            gain, weights = self._balance(point)
        own = self.penalised(weights)
        if self.penalty.l2 == 0.0:
            largest = float(np.abs(own).max(initial=0.0))
            share = min(1.0, self.penalty.l1 / largest) if largest else 1.0
            gain, own = share * gain, share * own
        return gain - self.penalty.conjugate(own)

    def _balance(self, point: DualPoint) -> DualPoint:
        """A point near this one whose labels add up to the answers'."""
        c = np.repeat(self.weight * self._mass(), self.features.lengths)
        want = np.bincount(self.codes, c, self.layout.n_classes)
        surplus = -self.free(point.weights)
        ratio = float(np.max(surplus / np.maximum(want, 1e-300), initial=0.0))
        if ratio <= 0.0:
            return point
        if ratio > 1e15:
            return DualPoint(0.0, np.zeros_like(point.weights))
        t = ratio / (1.0 + ratio)
        odds = transport(want, np.maximum(want - surplus / ratio, 0.0))
        other = self._relabelled(odds)
        weights = (1.0 - t) * point.weights + t * other
        return DualPoint((1.0 - t) * point.gain, weights)

    def _mass(self) -> np.ndarray:
        """The share of each sentence's answer that is a free mixture."""
        return self.model.alpha * self.log_weight + 1.0 - self.model.alpha

    def _relabelled(self, odds: np.ndarray) -> np.ndarray:
        """Dual weights where every true label is changed at random by these odds."""
        from concordant.kernels.tokens import add_gradient

        out = self.start()
        node, pairs, free = self.layout.split(out)
        arrays, k = self.arrays(out), self.layout.n_classes
        offsets, mass = self.features.offsets, self.weight * self._mass()
        away = np.eye(k) - odds
        for first, last in self.parts:
            start, stop = offsets[first], offsets[last]
            c = np.repeat(mass[first:last], self.features.lengths[first:last])
            residual = c[:, None] * away[self.codes[start:stop]]
            add_gradient(*arrays[:5], residual, start, stop, node)
            free += residual.sum(axis=0)
        counts = self.transition_counts(mass)
        pairs += counts - odds.T @ counts @ odds
        return out

    def transition_counts(self, weight: np.ndarray) -> np.ndarray:
        """How often each label follows each in the answers, sentences weighted, ``(k, k)``."""
        k, last = self.layout.n_classes, self.features.offsets[1:] - 1
        left = np.delete(np.arange(len(self.codes)), last)
        places = self.codes[left] * k + self.codes[left + 1]
        known = (self.codes[left] >= 0) & (self.codes[left + 1] >= 0)
        c = np.repeat(weight, self.features.lengths - 1)
        return np.bincount(places[known], c[known], k * k).reshape(k, k)

    # Block steps on the dual: see `concordant.corpus.blocks`.

    def block_start(self) -> Any:
        """A dual point whose weights are zero."""
        from concordant.corpus.blocks import start

        return start(self)

    def block_pass(self, state: Any, order: np.ndarray) -> None:
        """One exact line search for each of these sentences."""
        from concordant.corpus.blocks import block_pass

        block_pass(self, state, order)

    def block_bounds(self, state: Any) -> tuple[float, float]:
        """Primal value at the state's weights and dual value at its point."""
        from concordant.corpus.blocks import certify

        return certify(self, state)
