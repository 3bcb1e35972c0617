"""The training problem of a corpus, for the solvers that know of `Objective`.

It never holds the scores of all tokens. A pass makes the scores of one sentence, asks, and adds
to a gradient in the weights, so `Loss.residual` is that gradient. What solvers call "scores" are
here the weights themselves: all they do with scores is to follow them along a line.

The dual point of a pass is not held either. Its first term (`Loss.gain`) and its weights (minus
the gradient) are all that the dual needs; with unpenalised intercepts it is repaired by mixing in
true labels that are changed at random, or allowed labellings where pairs are forbidden (see
`NodeRoute.balance`), which asks for one more pass.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from concordant.corpus.balance import DualPoint, balanced, relabelled
from concordant.corpus.data import Features, Layout, parts
from concordant.corpus.intercepts import Multipliers, wider, with_constant
from concordant.executor import SERIAL, Executor, chunks
from concordant.objective import Bounds, Loss, Vector
from concordant.penalty import Penalty
from concordant.structures.pairwise import spans


class Model(NamedTuple):
    """What a corpus is trained for.

    `alpha` is the share of the log loss; with `adversarial` the rest is a game, else a hinge.
    """

    costs: np.ndarray
    alpha: float
    adversarial: bool = False


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
    forbidden : ndarray of bool of shape (k, k), default=None
        Which label must not follow which.
    gold : ndarray, default=None
        Features of the answers, where they are not those of `codes`.
    """

    entropic = quick_primal = True

    def __init__(
        self,
        features: Features,
        layout: Layout,
        codes: np.ndarray,
        model: Model,
        weight: np.ndarray,
        node_weight: np.ndarray | None = None,
        penalty: Penalty | None = None,
        forbidden: np.ndarray | None = None,
        gold: np.ndarray | None = None,
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
        #: The part of each sentence's weight that is a free mixture of answers.
        self.mass = self.weight * (model.alpha * self.log_weight + 1.0 - model.alpha)
        self.penalty, self.executor = penalty or Penalty(), executor
        self.n_examples = n
        self.smooth = model.alpha == 1.0
        self.ridge = self.penalty.l1 == 0.0
        self.has_intercept = layout.fit_intercept
        self.forbidden = forbidden
        self.blocked = np.zeros((k, k)) if forbidden is None else np.where(forbidden, -np.inf, 0.0)
        largest = float(self.node_weight.max(initial=0.0)) * float(model.costs.max())
        self.scale = largest or 1.0
        sizes = np.bincount(np.repeat(np.arange(n), features.lengths), self.node_weight, n)
        self.size = float(self.weight @ sizes) * (float(model.costs.max()) or 1.0)
        self.parts = parts(features.offsets, layout.size)
        #: Of the corpus without intercepts that stands for one with them in block methods.
        self.multipliers: Multipliers | None = None
        #: Features of the answers, as a point of weight space: what they score is linear in it.
        self.gold = relabelled(self, np.eye(k)) if gold is None else gold

    def arrays(self, weights: np.ndarray) -> tuple[np.ndarray, ...]:
        """The arguments that all kernels of `concordant.kernels.tokens` begin with."""
        f, layout = self.features, self.layout
        node, transitions, free = layout.split(weights)
        if self.multipliers is not None:
            free = self.multipliers.base
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
        if strength == 0.0 and not self.smooth:
            value, gain, gradient = self._plain_totals(weights)
        else:
            value, gain, gradient = self._totals(weights, strength or 1.0, masked=False)
        value -= float(self.gold @ weights)
        gradient -= self.gold
        dot = float(gradient @ weights)
        return Loss(value, gradient, value, gain, value - gain - dot)

    def _plain_totals(self, weights: np.ndarray) -> tuple[float, float, np.ndarray]:
        """As `_totals`, with a hinge that is not smoothed, or with the game in its place."""
        from concordant.corpus.oracles import atom_totals

        value, gain, gradient = atom_totals(self, weights)
        alpha = self.model.alpha
        if alpha > 0.0:
            log = self.like(self.model._replace(alpha=1.0))._totals(weights, 1.0, masked=False)
            value = alpha * log[0] + (1.0 - alpha) * value
            gain = alpha * log[1] + (1.0 - alpha) * gain
            gradient = alpha * log[2] + (1.0 - alpha) * gradient
        return value, gain, gradient

    def _totals(
        self, weights: np.ndarray, tau: float, masked: bool
    ) -> tuple[float, float, np.ndarray]:
        """Weighted sum of the log-partitions, first term of the dual, gradient."""
        from concordant.kernels.tokens import smooth_pass

        given, model = self.arrays(weights), self.model
        alpha = 1.0 if masked else model.alpha

        def run(part: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
            sums, gradient = np.zeros(2), np.zeros(self.layout.size)
            node, pairs, free = self.layout.split(gradient)
            smooth_pass(
                *given, *part, self.codes, masked, self.weight, self.log_weight, self.node_weight,
                model.costs, alpha, tau, sums, node, pairs, free,
            )  # fmt: skip
            return sums, gradient

        done = self.executor.map(run, self.parts)
        value, gain = np.sum([sums for sums, _ in done], axis=0).tolist()
        gradient = done[0][1]
        for _, more in done[1:]:
            gradient += more
        return value, gain, gradient

    def expected_parts(self, weights: np.ndarray) -> np.ndarray:
        """Features of the labelings that agree with the known labels, expected under `weights`:
        what `gold` is for the log route where some labels are unknown."""
        return self._totals(weights, 1.0, masked=True)[2]

    def likelihood(self, weights: np.ndarray) -> float:
        """The objective of the log route for the known labels alone (not convex)."""
        value = self._totals(weights, 1.0, masked=False)[0]
        return value - self._totals(weights, 1.0, masked=True)[0] + self.penalty_value(weights)

    def best_completion(self, weights: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The labelling with the largest score that agrees with the known labels."""
        from concordant.corpus.oracles import batch

        out = np.empty_like(known)
        for rows in chunks(self.n_examples, 512):
            chain, scores, tokens = batch(self, weights, np.arange(rows.start, rows.stop))
            fixed = np.flatnonzero(known[tokens] >= 0)
            chain.keep_only(scores, fixed, known[tokens][fixed])
            out[tokens] = chain.decode(scores)[0]
        return out

    def with_answers(self, codes: np.ndarray, gold: np.ndarray | None = None) -> CorpusObjective:
        """The same sentences with other answers."""
        return CorpusObjective(
            self.features, self.layout, codes, self.model, self.weight, self.node_weight,
            self.penalty, self.forbidden, gold, self.executor,
        )  # fmt: skip

    def pullback(self, loss: Loss) -> Vector:
        """Gradient of the sum over sentences."""
        return Vector(loss.residual, loss.residual)

    def gradient(self, weights: Vector, pull: Vector) -> Vector:
        """Gradient of the whole objective under a ridge."""
        out = pull.at + self.penalty.l2 * weights.at
        self.free(out)[...] = self.free(pull.at)
        return Vector(out, out)

    def free_bounds(self, weights: Vector, loss: Loss, pull: Vector) -> tuple[Bounds, float]:
        """Bounds that cost nothing more, the dual one only without intercepts, and a dual value to
        hope for: that for the intercepts as they are."""
        primal = loss.upper + 0.5 * self.penalty.l2 * self.square(weights)
        hope = loss.gain - self.penalty.conjugate(self.penalised(pull.at))
        if not self.has_intercept:
            return Bounds(primal, hope), hope
        hope += float(np.vdot(self.free(weights.at), self.free(pull.at)))
        return Bounds(primal, -np.inf), hope

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
        if self.model.adversarial:
            return self.loss(weights).value + self.penalty_value(weights)
        from concordant.kernels.tokens import value_pass

        given, model = self.arrays(weights), self.model

        def run(part: tuple[int, int]) -> float:
            return value_pass(
                given, *part, self.codes, self.weight, self.log_weight, self.node_weight,
                model.costs, model.alpha,
            )  # fmt: skip

        value = sum(self.executor.map(run, self.parts)) - float(self.gold @ weights)
        return value + self.penalty_value(weights)

    def take(self, rows: np.ndarray) -> CorpusObjective:
        """The problem of some of the sentences."""
        tokens = spans(self.features.offsets, rows)
        return CorpusObjective(
            self.features.take(rows), self.layout, self.codes[tokens], self.model,
            self.weight[rows], self.node_weight[tokens], self.penalty, self.forbidden,
        )  # fmt: skip

    def sample_gradient(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Unbiased estimate, from a few sentences, of the gradient of the sum over sentences."""
        return self.n_examples / len(rows) * self.take(rows).loss(weights).residual

    def penalty_gradient(self, weights: np.ndarray) -> np.ndarray:
        """A subgradient of the penalty, zero for intercepts."""
        gradient = self.penalty.l2 * weights + self.penalty.l1 * np.sign(weights)
        self.free(gradient)[...] = 0.0
        return gradient

    def like(self, model: Model) -> CorpusObjective:
        """The same corpus under another route."""
        return CorpusObjective(
            self.features, self.layout, self.codes, model, self.weight, self.node_weight,
            self.penalty, self.forbidden, self.gold, self.executor,
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

    def dual_value(
        self, weights: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> float:
        return self.dual_at(weights, strength, centre)[1]

    def bounds_at(self, weights: np.ndarray) -> Bounds:
        """Primal value at `weights` and the dual value of the maximisers there."""
        return Bounds(self.primal(weights), self.dual_value(weights))

    def dual(self, point: DualPoint) -> float:
        """The dual value near a point, at a feasible one."""
        gain, weights = point
        if self.has_intercept:
            gain, weights = balanced(self, point)
        own = self.penalised(weights)
        if self.penalty.l2 == 0.0:
            largest = float(np.abs(own).max(initial=0.0))
            share = min(1.0, self.penalty.l1 / largest) if largest else 1.0
            gain, own = share * gain, share * own
        return gain - self.penalty.conjugate(own)

    @cached_property
    def extremes(self) -> list[np.ndarray]:
        """For each label, dual weights of the allowed labellings with most of it."""
        out, unknown = [], np.full_like(self.codes, -1)
        for unit in np.eye(self.layout.n_classes):
            weights = self.start()
            self.free(weights)[...] = unit
            most = self.best_completion(weights, unknown)
            out.append(self.gold - self.with_answers(most).gold)
        return out

    def online_pass(
        self, weights: np.ndarray, total: np.ndarray, seen: int, order: np.ndarray, rule: int
    ) -> int:
        """Update the weights after each sentence; see `solvers/online.py`."""
        from concordant.kernels.steps import online_steps

        given, layout = self.arrays(weights), self.layout
        _, transitions, free = layout.split(weights)
        totals = layout.split(total)
        work, kept = given[6].copy(), np.ascontiguousarray(free)
        seen = online_steps(
            *given[:6], work, kept, given[8], order, self.codes, self.weight, self.node_weight,
            self.model.costs, rule, layout.fit_intercept, seen, *totals, *self.scratch(),
        )  # fmt: skip
        open_ = self.blocked == 0.0
        transitions[open_] = work[open_]
        free[...] = kept
        return int(seen)

    def scratch(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Zeros as many as node weights, and room for what one sentence can touch."""
        most = self.most_touched()
        return np.zeros(self.layout.n_nodes), np.empty(most, np.int64), np.empty(most)

    def most_touched(self) -> int:
        """A bound of the node weights that a sentence touches."""
        places = np.diff(self.features.indptr[self.features.offsets])
        return int(places.max(initial=0)) * self.layout.n_classes

    # Methods on the dual keep intercepts apart: see `concordant.corpus.intercepts`.

    @cached_property
    def blocks(self) -> CorpusObjective:
        """The problem whose sentences they visit."""
        if not self.has_intercept:
            return self
        multipliers = Multipliers(self)
        features = with_constant(self.features, np.sqrt(multipliers.pull))
        inside = CorpusObjective(
            features, wider(self.layout), self.codes, self.model, self.weight, self.node_weight,
            self.penalty, self.forbidden, multipliers.inside(self.gold), self.executor,
        )  # fmt: skip
        inside.multipliers = multipliers
        return inside

    def whole(self, weights: np.ndarray) -> tuple[CorpusObjective, np.ndarray, np.ndarray]:
        """The problem that this one stands for; its weights, and those of the dual point, for
        such weights."""
        if self.multipliers is None:
            return self, weights, weights
        own = self.multipliers
        return own.outside, own.primal(weights), own.dual(weights)

    # Block steps on the dual: see `concordant.corpus.blocks`.

    def block_start(self, weights: np.ndarray | None = None) -> Any:
        """The dual point whose weights are zero: no other is known for given weights."""
        from concordant.corpus.blocks import start

        return start(self.blocks)

    def block_pass(self, state: Any, order: np.ndarray) -> None:
        """One exact line search for each of these sentences."""
        from concordant.corpus.blocks import block_pass

        block_pass(self.blocks, state, order)

    def block_bounds(self, state: Any) -> tuple[np.ndarray, float, float]:
        """The state's weights, the primal value there, and the dual value at its point."""
        from concordant.corpus.blocks import certify

        return certify(self.blocks, state)

    # Exponentiated gradients on the dual: see `concordant.corpus.gibbs`.

    def gibbs_start(self) -> Any:
        """A dual point near the true answers."""
        from concordant.corpus.gibbs import start

        return start(self.blocks)

    def gibbs_pass(self, state: Any, order: np.ndarray) -> None:
        """One step for each of these sentences."""
        from concordant.corpus.gibbs import gibbs_pass

        gibbs_pass(self.blocks, state, order)

    def gibbs_bounds(self, state: Any) -> tuple[np.ndarray, float, float]:
        """The state's weights, the primal value there, and the dual value at its point."""
        from concordant.corpus.gibbs import certify

        return certify(self.blocks, state)
