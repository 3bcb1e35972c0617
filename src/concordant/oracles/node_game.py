"""The adversarial game where the loss is a sum over nodes, from argmax and marginals.

Against a node-wise loss the predictor's mixture matters through its node strategies ``p_t``
only: they act as a loss augmentation that is learned (thesis (3.23)),

    value = min_p max_mu <scores + L'p, mu>,

so any p gives an upper bound by one argmax, and any mu in the polytope the lower bound
``<scores, mu> + sum_t min_a (L q_t)_a``, q_t being its node marginals. The maximum is smoothed to
``tau log Z((scores + L'p) / tau)``, whose gradient in p_t is ``L q_t``, and minimised over a
simplex a node by spectral projected gradients (Birgin, Martinez and Raydan 2000). There the gap
is ``tau H(mu)`` plus the Frank-Wolfe gap in p; tau is halved whenever the first is the larger.

All examples of the batch move together, each with a step size and a tau of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from concordant.oracles.simplex import project_rows
from concordant.structures import NodeCosts, Pairwise

#: Largest number of evaluations.
STEPS = 1000
_MEMORY = 5  # a step may rise as long as it stays below the last few values


class Play(NamedTuple):
    """Near-equilibria: ``upper`` (n,) bounds the values, ``mu`` and ``bonus`` attain
    ``<scores, mu> + bonus``; `p` (N, r) holds the predictor's strategies, `tau` where to resume.
    """

    upper: np.ndarray
    mu: np.ndarray
    bonus: np.ndarray
    p: np.ndarray
    tau: np.ndarray


def play(
    structure: Pairwise,
    loss: NodeCosts,
    scores: np.ndarray,
    weight: np.ndarray,
    tolerance: np.ndarray | float,
    p: np.ndarray | None = None,
    tau: np.ndarray | None = None,
) -> Play:
    """Solve the game of every example until its gap is at most `tolerance`.

    Parameters
    ----------
    structure : Pairwise
        With `argmax` and `marginals`.
    loss : NodeCosts
    scores : ndarray
        Part array.
    weight : ndarray of shape (n,)
        Factor of each example's loss.
    tolerance : float or ndarray of shape (n,)
    p : ndarray of shape (N, r), default=None
        First strategies, such as those of an earlier game or, in training, the true labels:
        where the best answer to these already proves itself, nothing is left to solve.
    tau : ndarray of shape (n,), default=None
        First smoothing, as an earlier game returned it.
    """
    n, r = structure.n_examples, len(loss.costs)
    tolerance = np.broadcast_to(np.asarray(tolerance, dtype=float), (n,))
    p = np.full((structure.n_nodes, r), 1.0 / r) if p is None else p.copy()
    per_node = weight[structure.node_owner, None]
    raised = scores.copy()
    structure.nodes(raised)[...] += per_node * loss.raised(p)
    upper, mu = structure.maximum(raised)
    bonus = weight * _least_cost(structure, loss.at_nodes(structure.nodes(mu)))
    gap = upper - structure.dot(scores, mu) - bonus
    span = np.bincount(structure.node_owner, structure.node_weight, n)
    start = 0.5 * weight * float(np.ptp(loss.costs)) * span / structure.lengths
    tau = start if tau is None else tau.copy()
    open_ = np.flatnonzero((gap > tolerance) & (tau > 0.0))
    best = Play(upper, mu, bonus, p, tau)
    rounds = 0
    while len(open_) and rounds < STEPS:
        some, where = structure.take(open_)
        nodes = np.flatnonzero(np.isin(structure.node_owner, open_))
        descent = _Descent(some, loss.on(some), scores[where], weight[open_], p[nodes], tau[open_])
        left = len(open_)
        while 2 * left > len(open_) and rounds < STEPS:  # the batch is cut when half is done
            rounds += 1
            done = descent.close_gap(tolerance[open_])
            left = int((~done).sum())
        _keep_better(best, descent, structure, scores, open_, nodes, where)
        p[nodes] = descent.p
        open_ = open_[~done]
    return best


def _keep_better(
    best: Play, descent: _Descent, structure: Pairwise, scores: np.ndarray, rows: np.ndarray,
    nodes: np.ndarray, where: np.ndarray,
) -> None:  # fmt: skip
    """Take over each bound that a descent on these examples has improved."""
    attained = structure.dot(scores, best.mu)[rows] + best.bonus[rows]
    lower, higher = descent.upper < best.upper[rows], descent.attained > attained
    best.upper[rows[lower]] = descent.upper[lower]
    at = lower[descent.owner]
    best.p[nodes[at]] = descent.best_p[at]
    best.bonus[rows[higher]] = descent.bonus[higher]
    part = descent.structure.scale(higher.astype(float), np.ones_like(descent.mu)) > 0.0
    best.mu[where[part]] = descent.mu[part]
    best.tau[rows] = descent.tau


def smoothed_play(
    structure: Pairwise,
    loss: NodeCosts,
    scores: np.ndarray,
    weight: np.ndarray,
    tau: float,
    p: np.ndarray,
    slack: float = 0.002,
    steps: int = 400,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The game smoothed by tau times the entropy: ``min_p tau log Z((scores + L'p) / tau)``.

    Steps end when the Frank-Wolfe gap in p is below `slack` times tau and the nodes' number.
    Returns a value that bounds the game's from above (n,), the marginals there, their least
    expected cost (n,), and the strategies p, from which the next call should start.
    """
    n, everywhere = structure.n_examples, np.arange(structure.n_examples)
    value, mu, bonus = np.empty(n), np.empty_like(scores), np.empty(n)
    p, open_ = p.copy(), everywhere
    used = 0
    while len(open_):
        some, where = structure.take(open_)
        nodes = np.flatnonzero(np.isin(structure.node_owner, open_))
        smooth = np.full(len(open_), tau)
        descent = _Descent(some, loss.on(some), scores[where], weight[open_], p[nodes], smooth)
        enough = slack * tau * some.lengths
        left = len(open_)
        while used < steps and 2 * left > len(open_):
            used += 1
            left = int((descent.away > enough).sum())
            if left:
                descent.step()
        done = (descent.away <= enough) | (used >= steps)
        p[nodes] = descent.p
        value[open_], mu[where], bonus[open_] = descent.value, descent.now, descent.now_bonus
        open_ = open_[~done]
    return value, mu, bonus, p


def _least_cost(structure: Pairwise, cost: np.ndarray) -> np.ndarray:
    """Sum over nodes of the cheapest action's cost, ``(n,)``."""
    return np.bincount(structure.node_owner, cost.min(axis=1), structure.n_examples)


class _Descent:
    """Spectral projected gradients on the smoothed games of a batch."""

    def __init__(
        self, structure: Pairwise, loss: NodeCosts, scores: np.ndarray, weight: np.ndarray,
        p: np.ndarray, tau: np.ndarray,
    ):  # fmt: skip
        self.structure, self.loss, self.scores, self.weight = structure, loss, scores, weight
        self.p, self.tau = p, tau.copy()
        self.owner = structure.node_owner
        n = structure.n_examples
        self.size = weight * np.bincount(self.owner, structure.node_weight, n)
        self.upper, self.attained = np.full(n, np.inf), np.full(n, -np.inf)
        self.mu, self.bonus, self.best_p = np.zeros_like(scores), np.zeros(n), p.copy()
        self.length = np.zeros(n)  # of the next projected step; 0: not known yet
        self.recent = np.full((_MEMORY, n), -np.inf)
        self.value, self.slope = self._evaluate(p)
        self.recent[0] = self.value

    def _sum(self, a: np.ndarray) -> np.ndarray:
        return np.bincount(self.owner, a.sum(axis=1), self.structure.n_examples)

    def _evaluate(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smoothed value of each example and its gradient; keeps the best bounds seen."""
        structure, tau = self.structure, self.tau
        per_node = self.weight[self.owner, None]
        raised = self.scores.copy()
        structure.nodes(raised)[...] += per_node * self.loss.raised(p)
        partition, mu = structure.marginals(structure.scale(1.0 / tau, raised))
        value = tau * partition
        slope = per_node * self.loss.at_nodes(structure.nodes(mu))
        bonus = _least_cost(structure, slope)
        attained = structure.dot(self.scores, mu) + bonus
        self.now, self.now_bonus = mu, bonus
        better = attained > self.attained
        self.attained[better], self.bonus[better] = attained[better], bonus[better]
        index = better[self.owner]
        structure.nodes(self.mu)[index] = structure.nodes(mu)[index]
        index = better[structure.table_owner]
        structure.tables(self.mu)[index] = structure.tables(mu)[index]
        lower = value < self.upper
        self.upper[lower] = value[lower]
        self.best_p[lower[self.owner]] = p[lower[self.owner]]
        self.away = self._sum(p * slope) - bonus  # the Frank-Wolfe gap
        self.blur = value - structure.dot(raised, mu)  # tau times the entropy
        return value, slope

    def close_gap(self, tolerance: np.ndarray) -> np.ndarray:
        """One step for every example; returns whose gap is at most `tolerance`."""
        # Where the smoothing is what keeps the bounds apart, halve it and begin anew; half of
        # the tolerance is left for p.
        halve = (self.away <= self.blur) & (2.0 * self.blur > tolerance)
        if halve.any():
            self.tau[halve] *= 0.5
            self.value, self.slope = self._evaluate(self.p)
            self.recent[:, halve] = -np.inf
            self.recent[0, halve] = self.value[halve]
            self.length[halve] = 0.0
        self.step()
        return self.upper - self.attained <= tolerance

    def step(self) -> None:
        """One projected gradient step for every example."""
        steepest = np.maximum(self.size * float(self.loss.costs.max()), 1e-300)
        unknown = self.tau / steepest
        length = np.where(self.length <= 0.0, unknown, self.length)
        # Far beyond the simplex all steps end at the same vertex, and rounding would spoil it.
        length = np.minimum(length, 1e6 / steepest)
        move = project_rows(self.p - length[self.owner, None] * self.slope) - self.p
        share = np.ones(self.structure.n_examples)
        tilt = self._sum(self.slope * move)
        highest = self.recent.max(axis=0)
        old_slope = self.slope
        for _ in range(20):
            p = self.p + share[self.owner, None] * move
            value, slope = self._evaluate(p)
            bad = value > highest + 1e-4 * share * tilt + 1e-12 * np.abs(highest)
            if not bad.any():
                break
            share[bad] *= 0.25
        bent = self._sum((p - self.p) * (slope - old_slope))
        moved = self._sum((p - self.p) ** 2)
        self.length = np.where(bent > 0.0, moved / np.where(bent > 0.0, bent, 1.0), 0.0)
        self.p, self.value, self.slope = p, value, slope
        self.recent = np.roll(self.recent, 1, axis=0)
        self.recent[0] = value
