"""The quadratic surrogate: least squares on one-hot labels, decoded under the loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.structures import LabelCosts, PartLoss, Structure
from concordant.surrogates.base import Block, Surrogate


class Quadratic(Surrogate):
    """``|f - w e_y|**2 / 2``, predicting the action with the least cost ``L f``.

    With weights w on the loss, f estimates the weighted label distribution, so ``L f``
    estimates the expected weighted cost of each action (Ciliberto et al., NIPS 2016).

    Examples
    --------
    >>> import concordant as cc
    >>> cc.surrogates.evaluate("quadratic", [[1.0, 0.0]], [0], loss="zero_one")[0]
    array([0.])
    """

    name = "quadratic"
    smooth = True
    mixes_answers = False

    def block(self, loss: LabelCosts) -> Block:
        from concordant.oracles.blocks import compile_block
        from concordant.oracles.margins import square_block

        return Block(compile_block(square_block), np.zeros(1), loss.costs, 1)

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        free = mu - structure.scale(1.0 - w, structure.parts(target))
        return -0.5 * structure.dot(free, free)

    def constant(self, w: np.ndarray) -> np.ndarray:
        return 0.5 * w**2

    def surplus(
        self, mu: np.ndarray, target: np.ndarray, weight: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        """The excess over the answers, and behind it the weight of all."""
        k = mu.shape[1]
        return np.r_[weight @ mu - np.bincount(target, weight, k), weight.sum()]

    def repair(
        self, mu: np.ndarray, target: np.ndarray, w: np.ndarray, surplus: np.ndarray
    ) -> np.ndarray:
        return mu - surplus[:-1] / surplus[-1]

    def decision(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        return -loss.of_actions(scores)

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        return (
            "Consistent for every cost matrix: the scores estimate the label distribution and "
            "predict takes the action with the least estimated cost (Ciliberto et al. 2016)."
        )
