"""Loss-augmented hinge: Crammer and Singer under 0-1 loss, structural SVM on structures."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.structures import LabelCosts, PartLoss, Structure
from concordant.surrogates.base import Block, Solution, Surrogate


class Hinge(Surrogate):
    """``max_y' [f_y' + D(y', y)] - f_y``: bonus = ``<D_y, mu>``, D the loss between labels.

    Where actions are not labels (abstention, rectangular costs), D(j, y) is the cost of the
    action that is cheapest under certainty of j, and that action is predicted for the largest
    score: such a hinge never abstains.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.surrogates.evaluate("hinge", [[0.0, 0.0, 3.0]], [0], loss="absolute")[0]
    array([5.])
    """

    name = "hinge"

    def block(self, loss: LabelCosts) -> Block:
        from concordant.oracles.blocks import compile_block
        from concordant.oracles.margins import hinge_block

        costs = loss.between_labels
        return Block(compile_block(hinge_block), np.zeros(1), costs, len(costs))

    def maximise(
        self, structure: Structure, loss: PartLoss, scores: np.ndarray, target: Any, w: np.ndarray
    ) -> Solution:
        cost = structure.scale(w, loss.of_actions(structure.parts(target)))
        upper, mu = structure.maximum(scores + cost)
        return Solution(upper, mu, structure.dot(cost, mu))

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
        cost = structure.scale(w, loss.of_actions(structure.parts(target)))
        mu = structure.proximal(scores + cost, strength, centre)
        if mu is None:
            return None
        upper = structure.dot(scores + cost, structure.argmax(scores + cost))
        return Solution(upper, mu, structure.dot(cost, mu))

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        if isinstance(loss, LabelCosts):
            return w * np.einsum("ij,ij->i", mu, loss.between_labels.T[target])
        return w * structure.dot(loss.of_actions(structure.parts(target)), mu)

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        if loss.is_zero_one:
            if loss.costs.shape[1] <= 2:
                return "Consistent for 0-1 loss: with two labels one always has the majority."
            return (
                "Consistent for 0-1 loss only where some label has probability above 1/2 (Liu "
                "2007); elsewhere the hinge can tie all scores."
            )
        if not loss.actions_are_labels:
            return (
                "Not consistent: predict acts on the label with the largest score, so an action "
                "that is best for no single label, such as abstaining, is never chosen."
            )
        return "Not consistent for this loss in general: the maximum looks at one rival label only."

    def node_consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        if not loss.is_distance:
            return (
                "Not consistent for this loss in general: the maximum looks at one rival labelling "
                "only, and the costs are not those of a distance between labels."
            )
        # Pair the mass of each other labelling y with as much of the majority labelling m: by the
        # triangle inequality these two surrogates add up to 2 loss(y, m) at least, with equality,
        # if m has mass left over, only where m scores more than every y by loss(y, m).
        return (
            "Consistent only where some labelling has probability above 1/2 (and the scores are "
            "rich enough and inference is exact): the hinge then ranks it first, which is the best "
            "decision, the loss being a distance. Elsewhere it can tie scores."
        )
