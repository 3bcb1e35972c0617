"""Adversarial prediction: a zero-sum game under the loss itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.executor import chunks
from concordant.losses import ZeroOne
from concordant.structures import LabelCosts, PartLoss, Structure
from concordant.surrogates.base import Block, Solution, Surrogate, kernel_array


class Adversarial(Surrogate):
    """``max_q min_p p'Lq + f'q - f_y``: bonus = least expected loss of any prediction.

    Fisher consistent for every loss under equilibrium decoding, and under argmax decoding for
    every loss whose answers cost strictly less when right (Fathony's thesis, Theorems 2.9-2.11).

    Examples
    --------
    >>> import concordant as cc
    >>> cc.surrogates.evaluate("adversarial", [[0.0, 0.0, 0.0]], [0], loss="zero_one")[0].round(3)
    array([0.667])
    """

    name = "adversarial"

    def block(self, loss: LabelCosts) -> Block:
        from concordant.oracles.blocks import compile_block
        from concordant.oracles.games import find

        family, params = find(loss.costs)
        scratch = family.scratch(*loss.costs.shape)
        return Block(compile_block(family.block), params, loss.costs, scratch)

    def maximise(
        self, structure: Structure, loss: PartLoss, scores: np.ndarray, target: Any, w: np.ndarray
    ) -> Solution:
        from concordant.oracles.double_oracle import equilibrium

        own = structure.equilibrium(loss, scores, w, np.zeros_like(w), None)
        return Solution(*(own or equilibrium(structure, loss, scores, w)))

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
        own = structure.equilibrium(loss, scores, w, strength, centre)
        return None if own is None else Solution(*own)

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        cost = loss.of_actions(mu)
        if isinstance(loss, LabelCosts):
            return w * cost.min(axis=1)
        return w * structure.dot(cost, structure.argmax(-cost))

    def play(self, loss: LabelCosts, scores: np.ndarray) -> tuple[np.ndarray, ...]:
        """Equilibrium of the game at each row: predictor p, adversary q, value."""
        from concordant.oracles.blocks import compile_play, play_rows
        from concordant.oracles.games import find

        family, params = find(loss.costs)
        scores, costs = kernel_array(scores), kernel_array(loss.costs)
        r, k = loss.costs.shape
        n = len(scores)
        p, q, value = np.empty((n, r)), np.empty((n, k)), np.empty(n)
        work = np.empty(family.scratch(r, k))
        for rows in chunks(n):
            play_rows(
                compile_play(family.play),
                scores[rows],
                params,
                costs,
                work,
                p[rows],
                q[rows],
                value[rows],
            )
        return p, q, value

    def decision(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        return scores if loss.actions_are_labels else self.play(loss, scores)[0]

    def has_probabilities(self, loss: Any) -> bool:
        return isinstance(loss, ZeroOne)

    def probabilities(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray | None:
        return self.play(loss, scores)[0] if loss.is_zero_one else None

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        if loss.cheapest_when_right:
            return (
                "Consistent for this loss: every answer costs strictly less when it is right than "
                "when it is wrong, so the largest score is the best decision in the limit "
                "(Fathony 2019, Theorems 2.9 and 2.10)."
            )
        if loss.actions_are_labels:
            return (
                "Not covered where predict takes the largest score, because some answer costs no "
                "less when it is right than when it is wrong; the predictor's equilibrium, as "
                "given by strategy(), is consistent (Fathony 2019, Theorem 2.11)."
            )
        return (
            "Consistent for this loss: actions are not labels, so predict takes the largest entry "
            "of the predictor's equilibrium, which is the best decision in the limit (Fathony "
            "2019, Theorem 2.11)."
        )

    def node_consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        limit = "if the scores are rich enough and inference is exact"
        if loss.cheapest_when_right:
            return (
                "Consistent for this loss summed over nodes: every answer costs strictly less when "
                "it is right than when it is wrong, so the labelling with the largest score is the "
                f"best decision in the limit, {limit} (Fathony 2019, Theorem 3.3)."
            )
        if loss.actions_are_labels:
            return (
                "Not covered where predict takes the labelling with the largest score, because "
                "some answer costs no less when it is right than when it is wrong; the predictor's "
                f"equilibrium, as given by strategy(), is consistent {limit} (Fathony 2019, "
                "Theorem 3.3)."
            )
        return (
            "Consistent for this loss summed over nodes: actions are not labels, so each node "
            "takes the largest entry of the predictor's equilibrium, the best decision in the "
            f"limit, {limit} (Fathony 2019, Theorem 3.3)."
        )
