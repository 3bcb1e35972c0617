"""Classical multiclass margins, for comparison: Weston-Watkins, Lee-Lin-Wahba, one-vs-rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.structures import LabelCosts, PartLoss, Structure
from concordant.surrogates.base import Block, Surrogate, both_ways, equal_ways


class _Margin(Surrogate):
    """A surrogate ``sum_j`` of hinges, whose dual variables d >= 0 have a pattern of their own."""

    mixes_answers = False
    _kernel: str

    def block(self, loss: LabelCosts) -> Block:
        from concordant.oracles import margins
        from concordant.oracles.blocks import compile_block

        costs = loss.between_labels
        function = compile_block(getattr(margins, self._kernel))
        return Block(function, np.zeros(1), costs, 2 * len(costs))


class WestonWatkins(_Margin):
    """``sum_{j != y} [D_jy + f_j - f_y]_+``: every wrong label pays for its own margin.

    Not consistent, not even for 0-1 loss.
    """

    name = "weston_watkins"
    _kernel = "pairwise_block"

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        assert isinstance(loss, LabelCosts)
        cost = loss.between_labels.T[target]
        cost[np.arange(len(mu)), target] = 0.0
        return w * np.einsum("ij,ij->i", mu, cost)

    def surplus(
        self, mu: np.ndarray, target: np.ndarray, weight: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        """The flow from the true class to the others, ``(k, k)``."""
        truth = np.eye(mu.shape[1])[target]
        return truth.T @ (weight[:, None] * np.where(truth > 0, 0.0, mu))

    def repair(
        self, mu: np.ndarray, target: np.ndarray, w: np.ndarray, surplus: np.ndarray
    ) -> np.ndarray:
        truth = np.eye(mu.shape[1])[target]
        others = np.where(truth > 0, 0.0, mu) * _circulation(surplus)[target]
        return others + truth * (1.0 - others.sum(axis=1, keepdims=True))

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        if loss.is_zero_one and loss.costs.shape[1] <= 2:
            return "Consistent for 0-1 loss: with two labels it is the binary hinge."
        return "Not consistent, not even for 0-1 loss with three or more labels (Liu 2007)."


def _circulation(flow: np.ndarray) -> np.ndarray:
    """Factors in [0, 1] that make the flow between classes conserve: in = out everywhere.

    Balancing by diagonal scaling, ``d_i flow_ij / d_j`` (Osborne 1960), then one factor to stay
    below 1. A flow that cannot be balanced is dropped.
    """
    d = np.ones(len(flow))
    for _ in range(1000):
        worst = 0.0
        for i in range(len(flow)):
            out, into = d[i] * (flow[i] / d).sum(), (d * flow[:, i]).sum() / d[i]
            if (out > 0) != (into > 0):
                return np.zeros_like(flow)
            if out > 0:
                worst = max(worst, abs(out / into - 1.0))
                d[i] *= np.sqrt(into / out)
        if worst <= 1e-14:
            scale = d[:, None] / d
            used = scale[flow > 0]
            return scale / used.max() if used.size else scale
    return np.zeros_like(flow)


class LeeLinWahba(_Margin):
    """``sum_{j != y} D_jy [1 + f_j]_+`` with scores that sum to zero.

    Consistent for 0-1 loss, and with costs as slopes for any cost matrix (Lee, Lin and Wahba
    2004). The sum-to-zero constraint is part of the surrogate, which looks at f - mean(f).
    """

    name = "lee_lin_wahba"
    _kernel = "centred_block"

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        return self._duals(mu, target).sum(axis=1)

    def scale(self, loss: PartLoss) -> float:
        return 1.0 / loss.scale  # the margin is 1, and the costs are slopes

    def size(self, loss: PartLoss) -> float:
        return loss.scale

    @staticmethod
    def _duals(mu: np.ndarray, target: np.ndarray) -> np.ndarray:
        rows = np.arange(len(mu))
        return mu - (mu[rows, target] - 1.0)[:, None] - np.eye(mu.shape[1])[target]

    def surplus(
        self, mu: np.ndarray, target: np.ndarray, weight: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        return weight @ self._duals(mu, target)

    def repair(
        self, mu: np.ndarray, target: np.ndarray, w: np.ndarray, surplus: np.ndarray
    ) -> np.ndarray:
        shrink = np.divide(surplus.min(), surplus, out=np.ones_like(surplus), where=surplus > 0)
        d = self._duals(mu, target) * shrink
        return np.eye(mu.shape[1])[target] + d - d.mean(axis=1, keepdims=True)

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        if not loss.actions_are_labels:
            return (
                "Consistent for the costs between labels, but predict acts on the label with the "
                "largest score, so an action that is best for no single label is never chosen."
            )
        if not np.all(np.diag(loss.costs) == 0.0):
            return "Not covered: right answers have a cost, which this route leaves out."
        return (
            "Consistent for this loss: wrong labels enter with their cost as slope and the scores "
            "sum to zero (Lee, Lin and Wahba 2004)."
        )


class OneVsRest(_Margin):
    """``[1 - f_y]_+ + sum_{j != y} [1 + f_j]_+``: a binary support vector machine a label.

    Blind to the loss, which only decides what is predicted for the largest score. Consistent
    for 0-1 loss only where a majority label exists.
    """

    name = "one_vs_rest"
    weighs = "example"
    _kernel = "one_vs_rest_block"

    def scale(self, loss: PartLoss) -> float:
        return 1.0

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        return np.abs(mu - structure.parts(target)).sum(axis=1)

    def surplus(
        self, mu: np.ndarray, target: np.ndarray, weight: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        return both_ways(mu - np.eye(mu.shape[1])[target], weight)

    def repair(
        self, mu: np.ndarray, target: np.ndarray, w: np.ndarray, surplus: np.ndarray
    ) -> np.ndarray:
        truth = np.eye(mu.shape[1])[target]
        d = mu - truth  # negative at the true label, positive elsewhere
        return truth + equal_ways(d, surplus)

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        if loss.is_zero_one and loss.costs.shape[1] <= 2:
            return "Consistent for 0-1 loss: with two labels one always has the majority."
        if loss.is_zero_one:
            return "Consistent for 0-1 loss only where some label has probability above 1/2."
        return "Not consistent: training does not look at this loss."
