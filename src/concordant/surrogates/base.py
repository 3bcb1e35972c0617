"""The waist of the library: the one operation of a route.

With parts(y) the indicator array of an answer, every surrogate is

    value(scores, y) = max_mu [ <scores, mu> + bonus(mu) ] - <scores, parts(y)> + constant(y)
    gradient         = mu* - parts(y)

and everything a solver or a certificate needs is one question,

    solve(scores, target, weight, strength, centre) -> (upper, mu, bonus)

the maximum of ``<scores, mu> + bonus(mu) - strength/2 |mu - centre|**2``: its maximiser, the
bonus there, and an upper bound on the maximum without the last term (the maximum itself where
`strength` is 0 and the route is exact). Gradient methods call it with strength 0, smoothing
with a small strength, dual coordinate ascent with the strength of an example's features and
its old `mu` as the centre. An example's duality gap is `upper` less the value attained at mu.

A `Surrogate` is a choice with its hyper-parameters, as a user writes it. `Surrogate.bind`
joins it to a structure (a batch of answers) and a loss, which gives a `Route`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from concordant.executor import SERIAL, Executor, chunks
from concordant.structures import Label, LabelCosts, PartLoss, Structure


def kernel_array(a: Any) -> np.ndarray:
    """As compiled code takes it: C-contiguous and writable float64 (read-only is another type)."""
    return np.require(a, dtype=np.float64, requirements=["C", "W"])


class Solution(NamedTuple):
    """Answer of a route: upper bounds (n,), maximisers (part array), bonuses (n,)."""

    upper: np.ndarray
    mu: np.ndarray
    bonus: np.ndarray


class Block(NamedTuple):
    """A compiled route on labels: see `concordant.oracles.blocks`."""

    function: Any
    params: np.ndarray
    costs: np.ndarray
    scratch: int


class Surrogate(BaseEstimator):
    """A route to training, before it knows the structure and the loss.

    Subclasses give `block` (compiled, for labels), `maximise` (strength 0, any structure),
    `bonus`, and where they differ from the defaults `constant`, `decision`, `probabilities`.
    """

    name: ClassVar[str]
    #: The gradient is continuous, so that quasi-Newton methods converge without smoothing.
    smooth: ClassVar[bool] = False
    #: The loss weight acts "inside" (on the loss) or on the whole "example".
    weighs: ClassVar[str] = "inside"
    #: `mu` is a mixture of answers (else the route has its own polytope).
    mixes_answers: ClassVar[bool] = True
    #: Thresholds of thresholded scores must not cross.
    ordered: bool = False
    #: `consistency` asks for a summary of a sample.
    summarises: ClassVar[bool] = False
    #: Scores are of labels, which may have an order (else of questions of the route's own).
    scores_labels: ClassVar[bool] = True

    def bind(self, structure: Structure, loss: Any) -> Route:
        """The route for this batch of answers under this loss."""
        bound = structure.loss(loss)
        if isinstance(structure, Label):
            assert isinstance(bound, LabelCosts)
            return self.label_route(structure.n_examples, bound)
        return Route(self, structure, bound)

    def label_route(self, n: int, loss: LabelCosts, executor: Executor | None = None) -> LabelRoute:
        """The route on n labels."""
        structure = Label(n, loss.costs.shape[1])
        return LabelRoute(self, structure, loss, self.block(loss), executor)

    def columns(self, n_classes: int) -> int:
        """Scores of an example: one a label, unless the route asks other questions."""
        return n_classes

    def labels_of(self, columns: int) -> int:
        """How many labels so many scores are for."""
        return columns

    @abstractmethod
    def block(self, loss: LabelCosts) -> Block:
        """The compiled kernel for labels."""

    def maximise(
        self, structure: Structure, loss: PartLoss, scores: np.ndarray, target: Any, w: np.ndarray
    ) -> Solution:
        """The maximum of ``<scores, mu> + bonus(mu)`` from the structure's own oracles."""
        raise TypeError(
            f"the {self.name!r} route is defined for labels only; "
            "use 'adversarial', 'log', 'hinge' or 'hybrid' on structures"
        )

    def proximal(
        self,
        structure: Structure,
        loss: PartLoss,
        scores: np.ndarray,
        target: Any,
        w: np.ndarray,
        strength: np.ndarray,
        centre: np.ndarray | None,
    ) -> Solution | None:
        """The proximal question from an oracle that the structure has for it.

        None where it has none: `Route.solve` then searches with the plain question alone.
        """
        return None

    @abstractmethod
    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        """``bonus(mu)`` of each example: the largest over all ways to write `mu`."""

    def constant(self, w: np.ndarray) -> np.ndarray:
        """The part of the value that depends on neither scores nor mu."""
        return np.zeros_like(w)

    def scale(self, loss: PartLoss) -> float:
        """Size of a score difference that matters, over that of `mu`: the largest cost, unless
        margins are fixed."""
        return loss.scale

    def size(self, loss: PartLoss) -> float:
        """Size of the surrogate at scores of zero."""
        return self.scale(loss)

    def mass(self, w: np.ndarray) -> np.ndarray:
        """The share of `mu` that is a free mixture of answers, the rest being parts(y)."""
        return np.ones_like(w)

    def balance(
        self, mu: np.ndarray, target: np.ndarray, weight: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        """A dual point near `mu` whose weighted total equals that of the answers.

        Unpenalised intercepts make the dual minus infinity elsewhere.
        """
        return self.repair(mu, target, w, self.surplus(mu, target, weight, w))

    def surplus(
        self, mu: np.ndarray, target: np.ndarray, weight: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        """What `repair` has to know of all examples: sums, so that it may be added up in parts."""
        have, truth, mass = self._shares(mu, target, w)
        return np.stack([(weight * mass) @ have, (weight * mass) @ truth])

    def repair(
        self, mu: np.ndarray, target: np.ndarray, w: np.ndarray, surplus: np.ndarray
    ) -> np.ndarray:
        """`balance` of some examples, given the `surplus` of all.

        For mixtures of labels one row-stochastic k x k map, applied to every example, restores the
        class totals.
        """
        share, truth, mass = self._shares(mu, target, w)
        return truth + mass[:, None] * (share @ transport(*surplus) - truth)

    def _shares(
        self, mu: np.ndarray, target: np.ndarray, w: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The free mixtures of answers inside `mu`, the answers, and the mixtures' mass."""
        truth, mass = np.eye(mu.shape[1])[target], self.mass(w)
        share = (mu - (1.0 - mass)[:, None] * truth) / np.maximum(mass, 1e-300)[:, None]
        return share, truth, mass

    def decision(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        """For labels: an array (n, n_actions) whose largest entry in a row is the action.

        By default the scores: an action has the largest score among the labels it stands for,
        minus infinity if there are none.
        """
        if loss.actions_are_labels:
            return scores
        decision = np.full((len(scores), len(loss.costs)), -np.inf)
        for label, action in enumerate(loss.own_action):
            decision[:, action] = np.maximum(decision[:, action], scores[:, label])
        return decision

    def turn(
        self, loss: LabelCosts, scores: np.ndarray, target: np.ndarray, j: int
    ) -> np.ndarray | None:
        """For smooth routes whose loss weights act outside: how mu changes with the j-th score,
        where there is a formula."""
        return None

    def has_probabilities(self, loss: Any) -> bool:
        """Whether `probabilities` gives any under this loss."""
        return False

    def summarise(
        self, loss: LabelCosts, scores: np.ndarray, weight: np.ndarray
    ) -> dict[str, float]:
        """What `consistency` wants to know of a sample; nothing for most routes."""
        return {}

    @abstractmethod
    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        """One sentence: is the route Fisher consistent for this loss, and when."""

    def node_consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        """The same for a loss summed over the nodes of sequences and graphs."""
        return "Not covered: this route is defined for labels only."

    def probabilities(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray | None:
        """Label probabilities, or None where the route has none."""
        return None


def transport(have: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Row-stochastic map that turns the totals `have` into `want`, moving only the surplus."""
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.where(have > 0, np.minimum(want / have, 1.0), 1.0)
    deficit = np.maximum(want - have, 0.0)
    moved = deficit / deficit.sum() if deficit.sum() > 0 else np.full(len(have), 1.0 / len(have))
    return np.diag(kept) + (1.0 - kept)[:, None] * moved


def both_ways(pulls: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted totals of what pulls up, and of what pulls down, ``(2, columns)``."""
    return np.stack([weight @ np.maximum(pulls, 0.0), weight @ np.maximum(-pulls, 0.0)])


def equal_ways(pulls: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Pulls up or down shrunk, column by column, until their `both_ways` totals are equal."""
    least = totals.min(axis=0)
    up, down = np.divide(least, totals, out=np.zeros_like(totals), where=totals > 0)
    return pulls * np.where(pulls > 0, up, down)


def cheapest_repair(shifts: np.ndarray, surplus: np.ndarray) -> np.ndarray | None:
    """The least weights (m,) >= 0 of points with these shifts (m, k) that make up for a surplus
    (k,), ``weights @ shifts = -surplus``; None if there are none."""
    from scipy.optimize import linprog

    size = float(np.abs(surplus).max(initial=0.0))
    if size == 0.0:
        return np.zeros(len(shifts))
    unit = float(np.abs(shifts).max(initial=0.0)) or 1.0
    found = linprog(np.ones(len(shifts)), A_eq=shifts.T / unit, b_eq=-surplus / size)
    if not found.success:
        return None
    # The program meets its equations to its own tolerance only; on its basis they can be solved.
    on = found.x > 1e-9
    exact = np.zeros_like(found.x)
    exact[on] = np.linalg.lstsq(shifts[on].T / unit, -surplus / size, rcond=None)[0]
    return np.maximum(exact if exact.min() >= 0.0 else found.x, 0.0) * size / unit


class Route:
    """A surrogate bound to a structure and a loss: the generic form, from plain oracles."""

    def __init__(self, surrogate: Surrogate, structure: Structure, loss: PartLoss):
        self.surrogate = surrogate
        self.structure = structure
        self.loss = loss

    @property
    def scale(self) -> float:
        """Size of a score difference that matters to the route under this loss."""
        return self.surrogate.scale(self.loss)

    @property
    def size(self) -> float:
        """What it typically costs to be wrong."""
        return self.surrogate.size(self.loss)

    def parts(self, target: Any) -> np.ndarray:
        return self.structure.parts(target)

    def solve(
        self,
        scores: np.ndarray,
        target: Any,
        weight: np.ndarray | None = None,
        strength: float | np.ndarray = 0.0,
        centre: np.ndarray | None = None,
    ) -> Solution:
        """The one question; see the module's docstring.

        Here `centre` must be a point of the route's polytope (or None, for 0): the search for
        the proximal solution starts from it.
        """
        from concordant.oracles.frank_wolfe import proximal_step

        w = self.weights(weight)
        if not np.any(strength):
            return self.surrogate.maximise(self.structure, self.loss, scores, target, w)
        strength = np.broadcast_to(strength, w.shape)
        own = self.surrogate.proximal(
            self.structure, self.loss, scores, target, w, strength, centre
        )
        return own or Solution(*proximal_step(self, scores, target, w, strength, centre))

    def weights(self, weight: np.ndarray | None) -> np.ndarray:
        if weight is None:
            return np.ones(self.structure.n_examples)
        return np.ascontiguousarray(weight, dtype=float)

    def bonus(self, mu: np.ndarray, target: Any, weight: np.ndarray | None = None) -> np.ndarray:
        w = self.weights(weight)
        return self.surrogate.bonus(self.structure, self.loss, mu, target, w)

    def constant(self, weight: np.ndarray | None = None) -> np.ndarray:
        return self.surrogate.constant(self.weights(weight))

    def total(self, weight: np.ndarray, target: Any) -> np.ndarray:
        """Weighted total of the answers' parts, for structures whose examples share them."""
        return self.structure.scale(weight, self.parts(target)).sum(axis=0)

    def values(
        self, scores: np.ndarray, target: Any, weight: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Surrogate value of each example and its gradient in the scores."""
        upper, mu, _ = self.solve(scores, target, weight)
        value = upper - self.at(scores, target) + self.constant(weight)
        return value, self.residual(mu, target)

    #: Smoothing is by entropy: `upper` of `solve` is then the smoothed value.
    entropic = False

    #: `upper` of `solve` with strength 0 is the value attained, not only a bound on it.
    exact = False

    def balance(
        self,
        mu: np.ndarray,
        bonus: np.ndarray | None,
        target: Any,
        weight: np.ndarray,
        w: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """A dual point near `mu` that unpenalised intercepts allow, and its bonus, if known."""
        return self.surrogate.balance(mu, target, weight, w), None

    def at(self, scores: np.ndarray, target: Any) -> np.ndarray:
        """``<scores, parts(y)>`` of each example."""
        return self.structure.dot(scores, self.parts(target))

    def residual(self, mu: np.ndarray, target: Any) -> np.ndarray:
        """``mu - parts(y)``. May reuse the memory of `mu`."""
        return mu - self.parts(target)

    def take(self, rows: slice | np.ndarray) -> tuple[Route, slice | np.ndarray]:
        """The route on some of the examples, and where their parts lie."""
        structure, where = self.structure.take(rows)
        return Route(self.surrogate, structure, self.loss.on(structure)), where


class LabelRoute(Route):
    """The same question answered by a compiled block, in chunks, by threads."""

    structure: Label
    loss: LabelCosts

    def __init__(
        self,
        surrogate: Surrogate,
        structure: Label,
        loss: LabelCosts,
        block: Block,
        executor: Executor | None = None,
    ):
        super().__init__(surrogate, structure, loss)
        self.block = block
        self.executor = executor or SERIAL

    def solve(
        self,
        scores: np.ndarray,
        target: np.ndarray,
        weight: np.ndarray | None = None,
        strength: float | np.ndarray = 0.0,
        centre: np.ndarray | None = None,
    ) -> Solution:
        from concordant.oracles.blocks import solve_rows

        scores = kernel_array(scores)
        n = scores.shape[0]
        target = np.ascontiguousarray(target, dtype=np.int64)
        w = self.weights(weight)
        strength = np.broadcast_to(np.asarray(strength, dtype=float), (n,))
        strength = np.ascontiguousarray(strength)
        if centre is None:
            centre = np.zeros_like(scores) if strength.any() else scores
        out = Solution(np.empty(n), np.empty_like(scores), np.empty(n))
        function, params, costs, scratch = self.block

        def run(rows: slice) -> None:
            solve_rows(
                function,
                scores[rows],
                target[rows],
                w[rows],
                params,
                costs,
                strength[rows],
                centre[rows],
                np.empty(scratch),
                out.mu[rows],
                out.upper[rows],
                out.bonus[rows],
            )

        self.executor.map(run, chunks(n))
        return out

    def turn(
        self, scores: np.ndarray, target: np.ndarray, weight: np.ndarray, j: int, width: float
    ) -> np.ndarray:
        """How mu changes with the j-th score; unless the route knows, from scores that differ by
        ``2 * width``."""
        known = self.surrogate.turn(self.loss, scores, target, j)
        if known is not None:
            return known
        shift = width * np.eye(scores.shape[1])[j]
        above = self.solve(scores + shift, target, weight).mu
        above -= self.solve(scores - shift, target, weight).mu
        above /= 2.0 * width
        return above

    exact = True

    def values(
        self, scores: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        from concordant.oracles.blocks import value_rows

        scores = kernel_array(scores)
        target = np.ascontiguousarray(target, dtype=np.int64)
        w = self.weights(weight)
        value, gradient = np.empty(len(scores)), np.empty_like(scores)
        function, params, costs, scratch = self.block

        def run(rows: slice) -> None:
            value_rows(
                function,
                scores[rows],
                target[rows],
                w[rows],
                params,
                costs,
                np.empty(scratch),
                value[rows],
                gradient[rows],
            )

        self.executor.map(run, chunks(len(scores)))
        return value + self.constant(weight), gradient

    def total(self, weight: np.ndarray, target: np.ndarray) -> np.ndarray:
        return np.bincount(target, weight, self.structure.n_classes)

    def at(self, scores: np.ndarray, target: np.ndarray) -> np.ndarray:
        return scores[np.arange(len(scores)), target]

    def residual(self, mu: np.ndarray, target: np.ndarray) -> np.ndarray:
        mu[np.arange(len(mu)), target] -= 1.0
        return mu

    def take(self, rows: slice | np.ndarray) -> tuple[LabelRoute, slice | np.ndarray]:
        structure, where = self.structure.take(rows)
        route = type(self)(self.surrogate, structure, self.loss, self.block, self.executor)
        return route, where
