"""Training problems whose scores are kept in fewer numbers than there are labels.

Thresholded scores are one number an example and the offsets of the labels. Everything that is a
sum over examples is evaluated in blocks of rows, whose scores are unfolded when their turn comes,
so that nothing of the size examples x labels exists but dual points that someone keeps. Scores
and residuals, as solvers see them, are folded: those are linear in the unfolded ones, and their
inner product with a change of scores is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from concordant.objective.base import Objective
from concordant.objective.sums import Examples, Loss, Vector, sum_losses, surrogates_of
from concordant.scorers import ThresholdScorer
from concordant.surrogates import LabelRoute

#: Weights up to which a Newton step costs little beside a pass over the data.
FEW = 300
#: Width of a difference of scores whose mu tell the curvature of a route with kinks, as a share of
#: the largest cost, and of a smooth route.
WIDE, NARROW = 0.03, 1e-4

Piece = tuple[slice, Examples]


def pool(totals: np.ndarray, ties: np.ndarray, signed: bool) -> np.ndarray:
    """Totals ``(2, thresholds)`` of pulls up and down with each group of ties summed, so that
    these are made equal as a whole; `signed`, of groups cut until their partial sums are not
    negative when they are."""
    out = np.empty_like(totals)
    groups = np.split(np.arange(totals.shape[1]), np.flatnonzero(~ties) + 1)
    while groups:
        group = groups.pop()
        sums = totals[:, group].sum(axis=1)
        out[:, group] = sums[:, None]
        up, down = np.divide(sums.min(), sums, out=np.zeros(2), where=sums > 0.0)
        partial = np.cumsum(up * totals[0, group] - down * totals[1, group])[:-1]
        if signed and len(partial) and partial.min() < 0.0:
            at = int(partial.argmin()) + 1
            groups += [group[:at], group[at:]]
    return out


class FoldedObjective(Objective):
    """An `Objective` on thresholded scores, linear or of a kernel."""

    scorer: ThresholdScorer
    route: LabelRoute

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._pieces = [(rows, self._examples(rows)) for rows in self.scorer.pieces()]
        route, free = self.route.surrogate, self.scorer.thresholds_are_free
        self.in_order_only = route.ordered and free and self.scorer.n_classes > 2
        self._signed = False
        self.newton = self.scorer.euclidean and self.ridge and self.start().size <= FEW

    def _examples(self, rows: slice | np.ndarray) -> Examples:
        route, _ = self.route.take(rows)
        return Examples(route, self.target[rows], self.weight[rows], self.loss_weight[rows])

    def _map(self, function: Callable[[Piece], Any]) -> list[Any]:
        return self.executor.map(function, self._pieces)

    def scores(self, vector: Vector) -> np.ndarray:
        return self.scorer.folded(vector.at, vector.image)

    def loss(
        self, scores: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> Loss:
        residual = np.zeros_like(scores)

        def run(piece: Piece) -> Loss:
            rows, some = piece
            mine = None if centre is None else centre[rows]
            loss = sum_losses(some, self.scorer.unfold(scores, rows), strength, mine)
            residual[rows], totals = self.scorer.fold(loss.residual)
            return loss._replace(residual=totals)

        value, totals, upper, gain, blur = (sum(parts) for parts in zip(*self._map(run)))
        residual[self.n_examples :] = totals
        return Loss(value, residual, upper, gain, blur)

    def pullback(self, loss: Loss) -> Vector:
        return self._pulled(self.scorer.pull_folded(loss.residual))

    def curvature(self, along: np.ndarray) -> float:
        squares = np.concatenate(
            self._map(lambda piece: np.square(self.scorer.unfold(along, piece[0])).sum(axis=1))
        )
        return 0.25 / self.scale * float(self.weight @ squares)

    def hessian(self, scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Of the whole objective, estimated from these examples.

        The curvature of the surrogates is a difference of mu for each score. Where they have
        kinks it is that of the objective averaged over the width of the difference.
        """
        route, target, c, w = self._examples(rows)
        assert isinstance(route, LabelRoute)
        c = c * (self.weight.sum() / c.sum())
        unfolded = self.scorer.unfold(scores, rows)
        k, ranks = unfolded.shape[1], self.scorer.ranks
        width = (NARROW if self.smooth else WIDE) * self.scale
        slopes, totals = np.empty_like(unfolded), np.empty((k, k))
        for j in range(k):
            turn = route.turn(unfolded, target, w, j, width)
            slopes[:, j], totals[j] = c * (turn @ ranks), c @ turn
        out = self.scorer.curvature(rows, slopes, 0.5 * (totals + totals.T))
        ridge = np.zeros(len(out))
        self.scorer.penalised(ridge)[...] = self.penalty.l2
        return out + np.diag(ridge)

    def primal_values(
        self, weights: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        scores = self.scores(self.vector(weights)) if scores is None else scores
        values = np.concatenate(
            self._map(
                lambda piece: surrogates_of(piece[1], self.scorer.unfold(scores, piece[0])),
            )
        )
        penalty = self.scorer.penalty_value(self.penalty, weights, scores)
        return float(self.weight @ values) + penalty, values

    def dual_point(
        self, scores: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> np.ndarray:
        mu = np.empty((self.n_examples, self.scorer.n_classes))
        asked = self._maximisers(scores, strength, centre)

        def run(piece: Piece) -> None:
            mu[piece[0]] = asked(piece)

        self._map(run)
        return mu

    def _maximisers(
        self, scores: np.ndarray, strength: float, centre: np.ndarray | None
    ) -> Callable[[Piece], np.ndarray]:
        """The (smoothed) maximisers mu of a piece."""

        def mu(piece: Piece) -> np.ndarray:
            rows, some = piece
            mine = None if centre is None else centre[rows]
            unfolded = self.scorer.unfold(scores, rows)
            return some.route.solve(unfolded, some.target, some.loss_weight, strength, mine).mu

        return mu

    def dual_at(
        self, scores: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> tuple[np.ndarray, float]:
        mu = self.dual_point(scores, strength, centre)
        return mu, self.dual(mu)

    def dual_value(
        self, scores: np.ndarray, strength: float = 0.0, centre: np.ndarray | None = None
    ) -> float:
        return self._dual(self._maximisers(scores, strength, centre))

    def dual(self, mu: np.ndarray, bonus: np.ndarray | None = None) -> float:
        if self.penalty.l2 == 0.0:
            mu, _ = self._shrink_to_feasible(self._balanced(mu))
            return self._dual(lambda piece: mu[piece[0]], balance=False)
        return self._dual(lambda piece: mu[piece[0]])

    def bonuses(self, weights: np.ndarray, mu: np.ndarray | None = None) -> np.ndarray:
        if mu is not None:
            return self.route.bonus(mu, self.target, self.loss_weight)
        asked = self._maximisers(self.scores(self.vector(weights)), 0.0, None)

        def run(piece: Piece) -> np.ndarray:
            return piece[1].route.bonus(asked(piece), piece[1].target, piece[1].loss_weight)

        return np.concatenate(self._map(run))

    def _balanced(self, mu: np.ndarray) -> np.ndarray:
        if not self.has_intercept:
            return mu
        surplus = self._surplus(lambda piece: mu[piece[0]])
        return self.route.surrogate.repair(mu, self.target, self.loss_weight, surplus)

    def _dual(self, mu_of: Callable[[Piece], np.ndarray], balance: bool = True) -> float:
        """The dual value near a point that is asked for piece by piece, twice."""
        surplus = self._surplus(mu_of) if self.has_intercept and balance else None
        folded = np.zeros(self.n_examples + self.scorer.n_classes)

        def run(piece: Piece) -> tuple[float, np.ndarray]:
            rows, some = piece
            route, target, c, w = some
            mu = mu_of(piece)
            if surplus is not None:
                mu = route.surrogate.repair(mu, target, w, surplus)
            gain = float(c @ (route.bonus(mu, target, w) + route.constant(w)))
            residual = route.structure.scale(-c, route.residual(mu.copy(), target))
            folded[rows], totals = self.scorer.fold(residual)
            return gain, totals

        done = self._map(run)
        folded[self.n_examples :] = sum(totals for _, totals in done)
        weights = self.scorer.pull_folded(folded)
        return sum(gain for gain, _ in done) - self.scorer.conjugate_value(self.penalty, weights)

    def _surplus(self, mu_of: Callable[[Piece], np.ndarray]) -> np.ndarray:
        def run(piece: Piece) -> np.ndarray:
            route, target, c, w = piece[1]
            return route.surrogate.surplus(mu_of(piece), target, c, w)

        surplus = sum(self._map(run))
        ties = self.scorer.ties if self._ties is None else self._ties
        return surplus if ties is None else pool(surplus, ties, self._signed)

    # Thresholds that must not cross.

    #: Ties of a dual point's thresholds, where they are not those of the scores.
    _ties: np.ndarray | None = None

    def thresholds(self, weights: np.ndarray) -> np.ndarray:
        """Where each label overtakes the one before it."""
        return -np.diff(self.scorer.split(weights)[1])

    def tied(self, ties: np.ndarray) -> FoldedObjective:
        """The problem with some thresholds the same as the next."""
        return self._with(self.scorer.tied(ties))

    def _with(self, scorer: ThresholdScorer) -> FoldedObjective:
        return FoldedObjective(
            scorer, self.route, self.target, self.weight, self.loss_weight, self.penalty,
            self.executor,
        )  # fmt: skip

    def convert(self, weights: np.ndarray, other: FoldedObjective) -> np.ndarray:
        """Weights of a problem with other ties, as near as these allow."""
        return self.scorer.convert(weights, other.scorer)

    def in_order(self, weights: np.ndarray) -> np.ndarray:
        """Weights whose thresholds are moved up to where they no longer cross."""
        own, offsets = self.scorer.split(weights)
        rising = np.maximum.accumulate(-np.diff(offsets))
        theta = offsets[0] - np.r_[0.0, np.cumsum(rising)]
        return np.concatenate([own.ravel(), theta])

    def dual_in_order(self, mu: np.ndarray, ties: np.ndarray) -> tuple[float, np.ndarray]:
        """A lower bound for the problem with ordered thresholds, and the multipliers of these ties.

        Where the weighted pulls T of the thresholds (`both_ways` of their slopes) have a total of
        zero in every tied group, and partial sums there that are not negative, no ordered
        thresholds gain from them: ``sum_j T_j threshold_j <= 0``.
        """
        bound = self._with(self.scorer)
        bound._ties, bound._signed = np.zeros_like(ties), False
        totals = bound._surplus(lambda piece: mu[piece[0]])
        bound._ties, bound._signed = ties, True
        return bound.dual(mu), np.cumsum(totals[0] - totals[1])[:-1]
