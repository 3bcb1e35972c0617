"""The adversarial game of assignments with a fixed smoothing of both players, as published."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.structures import Assignments, LabelCosts, PartLoss, Structure
from concordant.surrogates.base import Block, Solution, Surrogate


class SmoothGame(Surrogate):
    """``max_Q min_P <S, Q> + loss(P, Q) + mu/2 |P|**2 - mu/2 |Q|**2`` (thesis, equation 4.11).

    A route for assignments only, which `Matcher` takes for ``mu=``; its bonus contains both
    squares. Its minimum differs from that of the game without them, which is what is certified.

    Parameters
    ----------
    mu : float, default=0.01
    """

    name = "smooth_game"
    smooth = True

    def __init__(self, mu: float = 0.01):
        self.mu = mu

    def block(self, loss: LabelCosts) -> Block:
        raise TypeError("SmoothGame is a route for assignments; labels use 'adversarial'")

    def maximise(
        self, structure: Structure, loss: PartLoss, scores: np.ndarray, target: Any, w: np.ndarray
    ) -> Solution:
        assert isinstance(structure, Assignments)
        _, q, cost, _, gap = structure.play(loss, scores, w, self.mu, own=self.mu)
        bonus = cost - 0.5 * self.mu * structure.dot(q, q)
        return Solution(structure.dot(scores, q) + bonus + gap, q, bonus)

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        assert isinstance(structure, Assignments)
        cost = structure.scale(w, loss.of_actions(mu))
        p = structure.proximal(-cost, np.full(len(w), self.mu), None)
        squares = structure.dot(p, p) - structure.dot(mu, mu)
        return structure.dot(cost, p) + 0.5 * self.mu * squares

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        return "As the adversarial route in the limit of no smoothing."
