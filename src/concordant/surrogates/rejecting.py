"""Support vector machines that abstain below a threshold (Ramaswamy, Tewari and Agarwal 2018)."""

from __future__ import annotations

import numpy as np

from concordant.structures import LabelCosts
from concordant.surrogates.hinge import Hinge
from concordant.surrogates.margins import OneVsRest


def rejection_of(loss: LabelCosts) -> int | None:
    """The action that abstains: the only one that stands for no label, if there is one."""
    others = np.setdiff1d(np.arange(len(loss.costs)), loss.own_action)
    return int(others[0]) if len(others) == 1 else None


def with_rejection(decision: np.ndarray, loss: LabelCosts, rejected: np.ndarray) -> np.ndarray:
    """A decision in which these rows abstain, under a loss that has a way to."""
    action = rejection_of(loss)
    if action is not None:
        decision = decision.copy()
        best = decision.max(axis=1)
        decision[:, action] = np.where(rejected, np.nextafter(best, np.inf), best - 1.0)
    return decision


def at_half(loss: LabelCosts) -> str:
    """The sentence on consistency that these routes share."""
    action = rejection_of(loss)
    if action is not None and np.allclose(loss.costs[action], 0.5):
        return "Consistent for abstention at a price of 1/2 (Ramaswamy et al. 2018)."
    return "Not covered: it is made for abstention at a price of 1/2 (Ramaswamy et al. 2018)."


class RejectingOneVsRest(OneVsRest):
    """One-vs-rest support vector machines; abstains where no score exceeds the threshold.

    Parameters
    ----------
    threshold : float, default=0.0
        Between -1 and 1.

    Examples
    --------
    >>> import concordant as cc
    >>> loss = cc.losses.Abstain(cost=0.5)
    >>> model = cc.Classifier(loss, "rejecting_one_vs_rest")
    >>> model.fit([[-1.0], [0.0], [0.0], [1.0]], [0, 0, 1, 1]).predict([[-2.0], [0.0]])
    array([ 0, -1])
    """

    name = "rejecting_one_vs_rest"

    def __init__(self, threshold: float = 0.0):
        self.threshold = threshold

    def decision(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        rejected = scores.max(axis=1) <= self.threshold
        return with_rejection(super().decision(loss, scores), loss, rejected)

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        return at_half(loss)


class RejectingCrammerSinger(Hinge):
    """The multiclass hinge; abstains where the two largest scores differ by at most the threshold.

    Parameters
    ----------
    threshold : float, default=0.5
        Between 0 and 1.
    """

    name = "rejecting_crammer_singer"

    def __init__(self, threshold: float = 0.5):
        self.threshold = threshold

    def decision(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        if scores.shape[1] < 2:
            return super().decision(loss, scores)
        top = np.partition(scores, -2, axis=1)[:, -2:]
        rejected = top[:, 1] - top[:, 0] <= self.threshold
        return with_rejection(super().decision(loss, scores), loss, rejected)

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        return at_half(loss)
