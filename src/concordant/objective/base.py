"""The regularised training problem, its gradient, its dual and its certificate.

    minimise  penalty(W) + sum_i c_i * value_i(scores_i(W, b), y_i)

over weights W and unpenalised intercepts b. For any dual point mu (one part array, of each
example's own polytope) whose weighted total equals that of the answers where there are
intercepts,

    dual(mu) = sum_i c_i [bonus_i(mu_i) + constant_i] - conjugate(V(mu)),
    V(mu)    = sum_i c_i * features_i (parts(y_i) - mu_i)

is a lower bound on the minimum. A solver needs nothing else of the library: it asks for values
and gradients (a sum over chunks of the data), or for passes of exact block steps on the dual,
and in both cases for `bounds`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from concordant.executor import SERIAL, Executor
from concordant.objective.sums import (
    Bounds,
    DualState,
    Examples,
    Loss,
    Vector,
    sum_losses,
    surrogates_of,
)
from concordant.penalty import Penalty
from concordant.scorers import Scorer
from concordant.surrogates import Route


class Objective:
    """A training problem as solvers see it.

    Parameters
    ----------
    scorer : Scorer
        Features to scores, linear in the weights.
    route : Route
        The surrogate, bound to structure and loss.
    target : array
        Answers as the structure takes them.
    weight : ndarray of shape (n,)
        ``C`` times the sample weights.
    loss_weight : ndarray of shape (n,), default=None
        Multiplies the loss inside the route.
    penalty : Penalty
    executor : Executor
    """

    def __init__(
        self,
        scorer: Scorer,
        route: Route,
        target: Any,
        weight: np.ndarray,
        loss_weight: np.ndarray | None = None,
        penalty: Penalty | None = None,
        executor: Executor = SERIAL,
    ):
        self.scorer = scorer
        self.route = route
        self.target = target
        self.weight = np.ascontiguousarray(weight, dtype=float)
        self.loss_weight = route.weights(loss_weight)
        self.penalty = penalty or Penalty()
        self.executor = executor
        self.n_examples = scorer.n_examples
        self.smooth = route.surrogate.smooth
        #: Smoothing is by entropy and has no centre.
        self.entropic = route.entropic
        #: A value costs no more than a smoothed one, or there is no other bound.
        self.quick_primal = route.exact or route.entropic
        #: The penalty is the square of a norm, so that quasi-Newton methods may be used.
        self.ridge = self.penalty.l1 == 0.0
        #: There is a `hessian`, small enough for Newton's method.
        self.newton = False
        #: Thresholds must not cross.
        self.in_order_only = False
        self.has_intercept = scorer.free(scorer.start()).size > 0
        norms = scorer.square_norms()
        self._norms = norms
        #: The scores' regression on the features can be had.
        self.regresses = scorer.regresses and self.ridge and self.penalty.l2 > 0.0
        #: Block steps run in a compiled loop, not one example at a time.
        self.compiled = getattr(route, "block", None) is not None
        #: Strength of a block step against the scores that matter: how slowly the dual moves.
        self.stiffness = float(np.mean(self.weight * norms)) / self.route.scale
        #: Typical size of a difference of scores that matters, over that of mu.
        self.scale = self.route.scale
        #: Typical size of the objective: what it costs to be wrong everywhere.
        with np.errstate(over="ignore"):
            self.size = float(self.weight.sum()) * route.size
        self._pull = scorer.pull(norms) if self.has_intercept else 0.0

    @property
    def everything(self) -> Examples:
        """All examples."""
        return Examples(self.route, self.target, self.weight, self.loss_weight)

    # Primal. Scores and their transpose are sums over chunks of data (see `Scorer.pieces`);
    # everything between them is per example.

    def start(self) -> np.ndarray:
        """Weights of zero."""
        return self.scorer.start()

    def unpenalised(self) -> np.ndarray:
        """Which weights are intercepts."""
        mask = np.zeros(self.scorer.start().shape, dtype=bool)
        self.scorer.free(mask)[...] = True
        return mask

    def vector(self, weights: np.ndarray) -> Vector:
        """Weights together with their image under the penalty's inner product.

        Beside a kernel, whose scores would follow them slowly, intercepts have an inner product of
        their own: as of a feature of squared size `_pull`.
        """
        image = self.scorer.image(weights)
        if image is not weights:
            self.scorer.free(image)[...] /= self._pull or 1.0
        return Vector(weights, image)

    def scores(self, vector: Vector) -> np.ndarray:
        """Scores of every example, from the image where that is cheaper."""
        return self.scorer.scores_of(vector.at, vector.image)

    def loss(
        self, scores: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> Loss:
        """The sum over examples at these scores, smoothed by `strength`.

        Smoothing subtracts ``strength/2 |mu - centre|**2`` from each example's bonus.
        """
        return sum_losses(self.everything, scores, strength, centre)

    def pullback(self, loss: Loss) -> Vector:
        """Gradient of the sum over examples, and minus the dual weights of its maximisers."""
        return self._pulled(self.scorer.pullback(loss.residual))

    def _pulled(self, weights: np.ndarray) -> Vector:
        """A transposed change of scores as weights, under the inner product of `vector`."""
        if not self.scorer.euclidean:
            self.scorer.free(weights)[...] *= self._pull
        return self.vector(weights)

    def gradient(self, weights: Vector, pull: Vector) -> Vector:
        """Gradient of the whole objective under a ridge, in the penalty's inner product."""
        bare = Vector(weights.at.copy(), weights.image)
        if weights.image is weights.at:
            bare.image = bare.at
            self.scorer.free(bare.at)[...] = 0.0
        else:
            bare.image = weights.image.copy()
            self.scorer.free(bare.at)[...] = 0.0
            self.scorer.free(bare.image)[...] = 0.0
        return pull.plus(self.penalty.l2, bare)

    def square(self, vector: Vector) -> float:
        """``|W|**2`` in the penalty's inner product, without intercepts."""
        free = float(np.vdot(self.scorer.free(vector.at), self.scorer.free(vector.image)))
        return vector.dot(vector) - free

    def free_bounds(self, weights: Vector, loss: Loss, pull: Vector) -> tuple[Bounds, float]:
        """Bounds that cost nothing more, the dual one only without intercepts, and a dual value to
        hope for: that for the intercepts as they are, whose repair takes `dual`."""
        primal = loss.upper + 0.5 * self.penalty.l2 * self.square(weights)
        hope = loss.gain - 0.5 * self.square(pull) / self.penalty.l2
        if not self.has_intercept:
            return Bounds(primal, hope), hope
        hope += float(np.vdot(self.scorer.free(weights.at), self.scorer.free(pull.image)))
        return Bounds(primal, -np.inf), hope

    def curvature(self, along: np.ndarray) -> float:
        """A guess of the loss's second derivative along this change of scores."""
        squares = self.route.structure.dot(along, along)
        return 0.25 / self.scale * float(self.weight @ squares)

    def descent_left(self, gradient: Vector) -> float:
        """About how much of the gap is due to this gradient: half its square by the strong
        convexity of the ridge, and for intercepts the price of the dual's repair."""
        free = self.scale * float(np.abs(self.scorer.free(gradient.image)).sum())
        return 0.5 * gradient.dot(gradient) / max(self.penalty.l2, 1e-300) + free

    def loss_gradient(self, weights: np.ndarray, strength: float = 0.0) -> tuple[float, np.ndarray]:
        """Value and gradient of the (smoothed) sum over examples."""
        loss = self.loss(self.scores(self.vector(weights)), strength)
        return loss.value, self.pullback(loss).at

    def sample_gradient(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Unbiased estimate, from a few examples, of the gradient of the sum over examples."""
        scorer = self.scorer.take(rows)
        route, _ = self.route.take(rows)
        target = self.target[rows]
        mu = route.solve(scorer.scores(weights), target, self.loss_weight[rows]).mu
        share = self.n_examples / len(rows)
        residual = route.structure.scale(share * self.weight[rows], mu - route.parts(target))
        return scorer.pullback(residual)

    # Dual: exact block steps.

    def dual_start(
        self, weights: np.ndarray | None = None, mu: np.ndarray | None = None
    ) -> DualState:
        """The dual point `mu` (default: the answers, so W = 0) with the intercepts given."""
        n = self.n_examples
        rest = np.zeros((2, n), np.int64)
        if mu is None:
            state = DualState(self.route.parts(self.target), self.start(), rest[0], rest[1])
        else:
            state = DualState(mu.copy(), self.dual_weights(mu), rest[0], rest[1])
            self.scorer.free(state.weights)[...] = 0.0
        if weights is not None:
            self.scorer.free(state.weights)[...] = self.scorer.free(weights)
        return state

    def dual_weights(self, mu: np.ndarray) -> np.ndarray:
        """V(mu), the weights of a dual point (before an elastic net's soft threshold)."""
        residual = self.route.residual(mu.copy(), self.target)
        return self.scorer.pullback(self.route.structure.scale(-self.weight, residual))

    def dual_pass(self, state: DualState, order: np.ndarray) -> None:
        """One exact block step on each example in `order`, then a step of the intercepts.

        Intercepts have no penalty, so their dual is a constraint: weighted mu totals equal
        those of the answers. They follow by the method of multipliers, with `_pull` the
        strength of its quadratic term: inside the pass they are a feature of that squared
        size, and after it they move once more by what is left of the constraint.
        """
        block = getattr(self.route, "block", None)
        problem = (
            self._norms,
            self.target,
            self.weight,
            self.loss_weight,
            self.penalty.l2,
            self.penalty.l1,
            self._pull,
        )
        if block is None or not self.scorer.dual_pass(state, order, block, problem):
            self._plain_pass(state, order)
        self._move_intercepts(state)

    def _move_intercepts(self, state: DualState) -> None:
        """The step of the multipliers after a pass."""
        if self.has_intercept:
            step = self._free_residual(state.mu)
            self.scorer.free(state.weights)[...] += self._pull * step

    def _free_residual(self, mu: np.ndarray) -> np.ndarray:
        """What is left of the constraint that intercepts put on the dual."""
        if self.compiled:  # labels: no need of the features
            total = self.route.total(self.weight, self.target) - self.weight @ mu
            return self.scorer.free_step(total)
        return self.scorer.free(self.dual_weights(mu))

    def _plain_pass(self, state: DualState, order: np.ndarray) -> None:
        """The pass for structures without a compiled one: one batch of one at a time.

        Its step is `Route.solve` with the strength that bounds how an example's change of mu
        acts on the weights, so that the dual never decreases, however rough the solution.
        """
        free = self.scorer.free_norms()
        for i in order:
            rows = slice(int(i), int(i) + 1)
            scorer = self.scorer.take(rows)
            route, where = self.route.take(rows)
            target, w, c = self.target[rows], self.loss_weight[rows], self.weight[i]
            strength = c * (self._norms[i] / self.penalty.l2 + self._pull * free[i])
            if strength <= 0.0:
                continue
            old = state.mu[where].copy()
            scores = scorer.scores(self.primal_weights(state))
            new = route.solve(scores, target, w, strength, old).mu
            state.mu[where] = new
            change = scorer.pullback(c * (old - new))
            scorer.free(change)[...] *= self._pull
            state.weights += change

    # Dual: steps towards a best answer, for methods that ask for nothing else.

    def block_start(self, weights: np.ndarray | None = None) -> DualState:
        """`dual_start`, with each example's bonus in the cache; a lower bound once it moves."""
        if self.penalty.l1:
            raise ValueError("solver='block_frank_wolfe' needs penalty='l2'; use 'fista'")
        state = self.dual_start(weights)
        state.cache = self.route.bonus(state.mu, self.target, self.loss_weight).copy()
        state.gaps = np.full(self.n_examples, np.inf)
        return state

    def block_pass(self, state: DualState, order: np.ndarray) -> None:
        """A Frank-Wolfe step of exact length on each example in `order`; notes their gaps."""
        route, c, bonuses, gaps = self.route, self.weight, state.cache, state.gaps
        assert bonuses is not None
        assert gaps is not None
        for i in order:
            rows = slice(int(i), int(i) + 1)
            scorer = self.scorer.take(rows)
            one, where = route.take(rows)
            scores = scorer.scores(self.primal_weights(state))
            _, vertex, bonus = one.solve(scores, self.target[rows], self.loss_weight[rows])
            away = vertex - state.mu[where]
            gap = float(one.structure.dot(scores, away)[0] + bonus[0] - bonuses[i])
            gaps[i] = c[i] * max(gap, 0.0)
            change = scorer.pullback(c[i] * away)
            free = scorer.free(change)
            square = float(np.vdot(free, free))
            bend = (float(np.vdot(change, change)) - square) / self.penalty.l2
            bend += self._pull * square
            free *= self._pull
            step = min(1.0, gaps[i] / bend) if bend > 0.0 else float(gap > 0.0)
            state.mu[where] += step * away
            state.weights -= step * change
            bonuses[i] += step * (bonus[0] - bonuses[i])
        self._move_intercepts(state)

    def block_bounds(self, state: DualState) -> tuple[np.ndarray, float, float]:
        """The state's weights, the primal value there, and the dual value at its point."""
        weights = self.primal_weights(state)
        return weights, *self.bounds(weights, state.mu)

    def primal_weights(self, state: DualState) -> np.ndarray:
        """The weights W of a dual state."""
        if not self.penalty.l1 and self.penalty.l2 == 1.0:
            return state.weights
        weights = self.penalty.shrink(state.weights)
        self.scorer.free(weights)[...] = self.scorer.free(state.weights)
        return weights

    # Some of the examples, the others at rest at mu = parts(y), where they pull at no weight.

    def restrict(self, rows: np.ndarray) -> Objective:
        """The training problem of these examples alone."""
        scorer = self.scorer.restrict(rows)
        scorer.executor = self.executor
        return type(self)(
            scorer,
            self.route.take(rows)[0],
            self.target[rows],
            self.weight[rows],
            self.loss_weight[rows],
            self.penalty,
            self.executor,
        )

    def narrow(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Weights for the problem of these examples, as near as it has them."""
        return self.scorer.narrow(weights, rows)

    def widen(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """`plain` weights of the problem of these examples as weights of this one."""
        return self.scorer.widen(weights, rows)

    def plain(self, weights: np.ndarray) -> np.ndarray:
        """The same function by weights that do not depend on which examples there are."""
        return self.scorer.plain(weights)

    def rest_point(self) -> np.ndarray:
        """The dual point at which every example rests."""
        return self.route.parts(self.target)

    def rest_value(self, rows: np.ndarray) -> float:
        """What these examples add to the dual while they rest."""
        route, _ = self.route.take(rows)
        w = self.loss_weight[rows]
        bonus = route.bonus(route.parts(self.target[rows]), self.target[rows], w)
        return float(self.weight[rows] @ (bonus + route.constant(w)))

    def moving(self, mu: np.ndarray) -> np.ndarray:
        """The examples that do not rest at this dual point."""
        residual = self.route.residual(mu.copy(), self.target)
        return np.flatnonzero(self.route.structure.dot(residual, residual) > 0.0)

    # Features and examples apart, for methods that alternate between them.

    def firmness(self) -> float:
        """What ``rho/2 |scores - y|**2`` may begin with: dual weights over scores, in size."""
        reach = self.scale * float(np.mean(self._norms))
        return float(np.sqrt(np.mean(self.weight) / reach)) if reach > 0.0 else 1.0

    def regression(self, rho: float) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """The map from y to the weights that minimise ``penalty + rho/2 |scores - y|**2`` and
        their scores."""
        return self.scorer.regression(rho / self.penalty.l2)

    def parting(
        self, weights: np.ndarray, scores: np.ndarray, mu: np.ndarray
    ) -> tuple[float, float]:
        """The gap between weights and a dual point, but for the repair of intercepts: what is due
        to the penalty, and what to the examples."""
        upper = self.route.solve(scores, self.target, self.loss_weight).upper
        bonus = self.route.bonus(mu, self.target, self.loss_weight)
        attained = self.route.structure.dot(scores, mu) + bonus
        away = weights - self.dual_weights(mu) / self.penalty.l2
        return self.penalty_value(away), float(self.weight @ (upper - attained))

    # The penalty, for methods that treat it apart.

    def penalty_value(self, weights: np.ndarray) -> float:
        return self.scorer.penalty_value(self.penalty, weights)

    def penalty_gradient(self, weights: np.ndarray) -> np.ndarray:
        """A subgradient of the penalty, zero for intercepts."""
        gradient = self.penalty.l2 * weights + self.penalty.l1 * np.sign(weights)
        self.scorer.free(gradient)[...] = 0.0
        return gradient

    def proximal(self, weights: np.ndarray, step: float) -> np.ndarray:
        """Proximal step of the penalty; intercepts stay."""
        moved = self.penalty.proximal(weights, step)
        self.scorer.free(moved)[...] = self.scorer.free(weights)
        return moved

    # The certificate.

    def bounds(self, weights: np.ndarray, mu: np.ndarray) -> Bounds:
        """Primal value at `weights` and dual value at `mu`, repaired where intercepts ask."""
        return Bounds(self.primal(weights), self.dual(mu))

    def look(self, state: DualState) -> tuple[np.ndarray, float, float]:
        """Weights of a dual state, the objective there, and a dual value to hope for.

        The last is the dual's for the intercepts as they are, the dual itself where there are none:
        what is left to pay is their repair, which asks for another pass over the features.
        """
        weights = self.primal_weights(state)
        scores = self.scorer.cached_scores(state)
        if scores is None:
            scores = self.scores(self.vector(weights))
        bonus = self.route.bonus(state.mu, self.target, self.loss_weight)
        hope = float(self.weight @ (bonus + self.route.constant(self.loss_weight)))
        hope -= self.scorer.conjugate_value(self.penalty, state.weights, scores)
        if self.has_intercept:
            left = self._free_residual(state.mu)
            hope -= float(np.vdot(self.scorer.free(state.weights), left))
        return weights, self.primal(weights, scores), hope

    def primal(self, weights: np.ndarray, scores: np.ndarray | None = None) -> float:
        """The objective at `weights`."""
        return self.primal_values(weights, scores)[0]

    def primal_values(
        self, weights: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        """The objective, and the surrogate of each example."""
        scores = self.scorer.scores(weights) if scores is None else scores
        values = surrogates_of(self.everything, scores)
        penalty = self.scorer.penalty_value(self.penalty, weights, scores)
        return float(self.weight @ values) + penalty, values

    def dual_point(
        self, scores: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> np.ndarray:
        """The (smoothed) maximisers mu at these scores."""
        return self.route.solve(scores, self.target, self.loss_weight, strength, centre).mu

    def dual_at(
        self, scores: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> tuple[np.ndarray, float]:
        """The (smoothed) maximisers at these scores and the dual value near them."""
        _, mu, bonus = self.route.solve(scores, self.target, self.loss_weight, strength, centre)
        return mu, self.dual(mu, bonus if self.route.entropic else None)

    def dual_value(
        self, scores: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> float:
        """The dual value near the (smoothed) maximisers at these scores."""
        return self.dual_at(scores, strength, centre)[1]

    def bounds_at(self, weights: np.ndarray) -> Bounds:
        """Primal value at `weights`, and the dual value at the maximisers there."""
        scores = self.scores(self.vector(weights))
        return Bounds(self.primal(weights, scores), self.dual_value(scores))

    def bonuses(self, weights: np.ndarray, mu: np.ndarray | None = None) -> np.ndarray:
        """Each example's bonus at `mu`, by default at the maximisers at these weights."""
        mu = self.dual_point(self.scores(self.vector(weights))) if mu is None else mu
        return self.route.bonus(mu, self.target, self.loss_weight)

    def dual(self, mu: np.ndarray, bonus: np.ndarray | None = None) -> float:
        """The dual value near `mu`, at a feasible point; `bonus` is a bound of mu's, if known."""
        if self.has_intercept:
            mu, bonus = self.route.balance(mu, bonus, self.target, self.weight, self.loss_weight)
        if self.penalty.l2 == 0.0:
            mu, share = self._shrink_to_feasible(mu)
            # A bonus that is known here is concave and never negative (see `NodeRoute.balance`).
            bonus = None if bonus is None else share * bonus
        if bonus is None:
            bonus = self.route.bonus(mu, self.target, self.loss_weight)
        gain = float(self.weight @ (bonus + self.route.constant(self.loss_weight)))
        return gain - self.scorer.conjugate_value(self.penalty, self.dual_weights(mu))

    def _shrink_to_feasible(self, mu: np.ndarray) -> tuple[np.ndarray, float]:
        """Without a ridge the dual asks for ``|V(mu)| <= l1``: move mu towards the answers, and
        say which share of the way it keeps."""
        largest = np.abs(self.scorer.penalised(self.dual_weights(mu))).max(initial=0.0)
        share = min(1.0, self.penalty.l1 / largest) if largest else 1.0
        truth = self.route.parts(self.target)
        return truth + share * (mu - truth), share
