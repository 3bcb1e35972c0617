"""Routes on chains and graphs, smoothed by entropy: what a gradient method trains with.

With ``strength`` tau > 0 an example's maximum is smoothed by tau times the entropy of the answer
(not by a square, as on labels), because that is what a structure's marginals solve:

    hinge         tau log Z((scores + cost of y) / tau)
    adversarial   min_p tau log Z((scores + L'p) / tau)
    hybrid        alpha log Z(scores) + (1 - alpha) times the hinge's

Each bounds the plain maximum from above, so it serves as `upper` too, and its marginals are a
dual point with a known bonus; the hybrid's needs no split of mu, as its halves come apart here.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from concordant.structures import NodeCosts, Pairwise, PartLoss, Structure
from concordant.surrogates.adversarial import Adversarial
from concordant.surrogates.base import Route, Solution, Surrogate, cheapest_repair, transport
from concordant.surrogates.hinge import Hinge
from concordant.surrogates.hybrid import Hybrid
from concordant.surrogates.log import Log

#: Gap of the games that are solved without smoothing, in largest costs an example.
TOLERANCE = 2e-4


class NodeRoute(Route):
    """A route on a batch of chains or graphs, whose nodes may have unpenalised intercepts."""

    structure: Pairwise
    loss: NodeCosts

    def take(self, rows: slice | np.ndarray) -> tuple[Route, slice | np.ndarray]:
        structure, where = self.structure.take(rows)
        return type(self)(self.surrogate, structure, self.loss.on(structure)), where

    @cached_property
    def _extremes(self) -> list[np.ndarray]:
        """For each label, the allowed labellings with most of it."""
        structure, out = self.structure, []
        for j in range(structure.n_classes):
            scores = np.zeros(len(structure.empty()))
            structure.nodes(scores)[:, j] = 1.0
            out.append(structure.argmax(scores))
        return out

    def balance(
        self,
        mu: np.ndarray,
        bonus: np.ndarray | None,
        target: Any,
        weight: np.ndarray,
        w: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """A dual point near `mu` whose labels add up to the answers', and a bound of its bonus.

        ``mu' = (1 - t) mu + t nu``, where nu gives every node of the true answers a new label at
        random, each label's odds chosen so that the totals come out. The bonus is concave and
        no bonus is negative, so ``(1 - t) bonus`` bounds the new one. Where pairs of labels are
        forbidden, nu is a mixture of the allowed labellings with most of one label.
        """
        structure = self.structure
        truth = structure.parts(target)
        bonus = self.bonus(mu, target, w) if bonus is None else bonus
        per_node = weight[structure.node_owner]
        have = per_node @ structure.nodes(mu)
        want = per_node @ structure.nodes(truth)
        surplus = have - want
        if structure.forbidden is not None:
            totals = np.array([per_node @ structure.nodes(nu) for nu in self._extremes])
            shares = cheapest_repair(totals - want, surplus)
            if shares is None:
                return truth, np.zeros_like(bonus)
            added = sum((w * nu for w, nu in zip(shares, self._extremes)), start=mu)
            return added / (1.0 + shares.sum()), bonus / (1.0 + shares.sum())
        # nu must have the totals ``want - (1 - t)/t surplus``, which are to be >= 0.
        ratio = float(np.max(surplus / np.maximum(want, 1e-300), initial=0.0))
        if not np.isfinite(ratio) or ratio > 1e15:
            return truth, np.zeros_like(bonus)
        t = ratio / (1.0 + ratio)
        if t == 0.0:
            return mu, bonus
        nu_totals = want - (1.0 - t) / t * surplus
        odds = transport(want, np.maximum(nu_totals, 0.0))
        nu = np.empty_like(mu)
        structure.nodes(nu)[...] = structure.nodes(truth) @ odds
        structure.tables(nu)[...] = odds.T @ structure.tables(truth) @ odds
        return (1.0 - t) * mu + t * nu, (1.0 - t) * bonus


class SmoothedRoute(NodeRoute):
    """The same for gradient methods; remembers the games' strategies."""

    entropic = True

    def __init__(self, surrogate: Surrogate, structure: Structure, loss: PartLoss):
        super().__init__(surrogate, structure, loss)
        if not isinstance(surrogate, Log | Hinge | Hybrid | Adversarial):
            raise TypeError(
                f"the {surrogate.name!r} route is defined for labels only; "
                "use 'adversarial', 'log', 'hinge' or 'hybrid' on sequences and graphs"
            )
        self._p: np.ndarray | None = None

    def solve(
        self,
        scores: np.ndarray,
        target: Any,
        weight: np.ndarray | None = None,
        strength: float | np.ndarray = 0.0,
        centre: np.ndarray | None = None,
    ) -> Solution:
        """The one question; `centre` has no meaning here."""
        w, tau = self.weights(weight), float(np.max(strength))
        surrogate = self.surrogate
        if isinstance(surrogate, Adversarial):
            return self._play(scores, target, w, tau)
        if tau == 0.0 or isinstance(surrogate, Log):
            return surrogate.maximise(self.structure, self.loss, scores, target, w)
        if isinstance(surrogate, Hinge):
            return self._hinge(scores, target, w, tau)
        return self._hybrid(surrogate, scores, target, w, tau)

    def _hinge(self, scores: np.ndarray, target: Any, w: np.ndarray, tau: float) -> Solution:
        structure = self.structure
        cost = structure.scale(w, self.loss.of_actions(structure.parts(target)))
        partition, mu = structure.marginals((scores + cost) / tau)
        return Solution(tau * partition, mu, structure.dot(cost, mu))

    def _hybrid(
        self, hybrid: Hybrid, scores: np.ndarray, target: Any, w: np.ndarray, tau: float
    ) -> Solution:
        structure, alpha = self.structure, hybrid.alpha
        log = Log().maximise(structure, self.loss, scores, target, w)
        hinge = self._hinge(scores, target, w, tau)
        rest = 1.0 - hybrid.mass(w)
        mu = structure.scale(alpha * w, log.mu) + (1.0 - alpha) * hinge.mu
        mu += structure.scale(rest, structure.parts(target))
        upper = alpha * w * log.upper + (1.0 - alpha) * hinge.upper
        upper += rest * self.at(scores, target)
        return Solution(upper, mu, alpha * w * log.bonus + (1.0 - alpha) * hinge.bonus)

    def _play(self, scores: np.ndarray, target: Any, w: np.ndarray, tau: float) -> Solution:
        from concordant.oracles.node_game import play, smoothed_play

        p = self._p
        if p is None:  # the cheapest actions where the truth is known
            truth = self.structure.nodes(self.structure.parts(target))
            p = np.eye(len(self.loss.costs))[self.loss.costs.argmin(axis=0)[truth.argmax(axis=1)]]
        if tau > 0.0:
            upper, mu, bonus, self._p = smoothed_play(self.structure, self.loss, scores, w, tau, p)
            return Solution(upper, mu, bonus)
        enough = TOLERANCE * w * self.loss.scale
        upper, mu, bonus, self._p, _ = play(self.structure, self.loss, scores, w, enough, p)
        return Solution(upper, mu, bonus)
