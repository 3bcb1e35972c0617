"""Log loss: a conditional probability model, decoded by minimum expected loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.structures import LabelCosts, PartLoss, Structure
from concordant.surrogates.base import Block, Solution, Surrogate


class Log(Surrogate):
    """``log sum exp(f) - f_y``: bonus = entropy.

    Consistent for every loss, because the prediction is the Bayes action under the fitted
    probabilities. There is no loss inside, so `loss_weight` multiplies the example, which is
    what makes that action right for the weighted loss.

    Examples
    --------
    >>> import concordant as cc
    >>> values, gradient = cc.surrogates.evaluate("log", [[0.0, 0.0]], [0], loss="zero_one")
    >>> values.round(3), gradient
    (array([0.693]), array([[-0.5,  0.5]]))
    """

    name = "log"
    smooth = True
    weighs = "example"

    def block(self, loss: LabelCosts) -> Block:
        from concordant.oracles.blocks import compile_block
        from concordant.oracles.entropy import log_block

        k = loss.costs.shape[1]
        return Block(compile_block(log_block), np.zeros(1), loss.costs, k)

    def maximise(
        self, structure: Structure, loss: PartLoss, scores: np.ndarray, target: Any, w: np.ndarray
    ) -> Solution:
        partition, mu = structure.marginals(scores)
        return Solution(partition, mu, partition - structure.dot(scores, mu))

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        return structure.entropy(mu)

    def decision(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        return -loss.of_actions(self.probabilities(loss, scores))

    def has_probabilities(self, loss: Any) -> bool:
        return True

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        return (
            "Consistent for every loss, this one included: the prediction is the Bayes action "
            "under the fitted probabilities, which are right in the limit if the scores are rich "
            "enough (use a kernel if linear scores are not)."
        )

    def node_consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        return (
            "Consistent for every loss summed over nodes, this one included: each node takes the "
            "action of least expected cost under the fitted probabilities, which are right in the "
            "limit if the scores are rich enough and inference is exact."
        )

    def probabilities(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        from scipy.special import softmax

        return softmax(scores, axis=1)
