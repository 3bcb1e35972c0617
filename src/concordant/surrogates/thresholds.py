"""Ordinal margins: a binary loss at each threshold between neighbouring ranks.

All of them look at the gaps ``g_j = f_{j+1} - f_j`` between neighbouring scores: g_j > 0 answers
"is the rank above j?" with yes. With thresholded scores (`concordant.OrdinalClassifier`) the gap
is the distance of ``w.x`` from the j-th threshold; with a weight vector a label it is a linear
function of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.structures import LabelCosts, PartLoss, Structure
from concordant.surrogates.base import Block, Surrogate, both_ways, equal_ways

BASES = ("hinge", "logistic", "squared_hinge")


class _Thresholds(Surrogate):
    """``sum_j c[j, y] phi(+-g_j)``; a subclass gives the weights c."""

    weighs = "example"
    mixes_answers = False

    def __init__(self, base: str = "logistic"):
        self.base = base

    def _base(self) -> str:
        if self.base not in BASES:
            raise ValueError(f"{type(self).__name__} needs base in {BASES}, got {self.base!r}")
        return self.base

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        return self._base() != "hinge"

    def weights(self, loss: LabelCosts) -> np.ndarray:
        """``c[j, y]``: what the j-th threshold counts when y is the truth, ``(k - 1, k)``."""
        raise NotImplementedError

    def scale(self, loss: PartLoss) -> float:
        assert isinstance(loss, LabelCosts)
        return float(self.weights(loss).max(initial=0.0)) or 1.0

    def block(self, loss: LabelCosts) -> Block:
        from concordant.oracles import thresholds
        from concordant.oracles.blocks import compile_block

        weights = np.ascontiguousarray(self.weights(loss))
        params = np.array([float(BASES.index(self._base()))])
        scratch = thresholds.scratch(weights.shape[1])
        return Block(compile_block(thresholds.block), params, weights, scratch)

    def turn(
        self, loss: LabelCosts, scores: np.ndarray, target: np.ndarray, j: int
    ) -> np.ndarray | None:
        """The two gaps at rank j bend, and each moves the ranks on its sides against each other."""
        if not self.smooth:
            return None
        k = scores.shape[1]
        c, out = self.weights(loss), np.zeros_like(scores)
        for gap in range(max(j - 1, 0), min(j + 1, k - 1)):
            z = scores[:, gap + 1] - scores[:, gap]
            bend = c[gap][target] * self._bend(np.where(gap < target, z, -z))
            moved = bend if gap < j else -bend
            out[:, gap + 1] += moved
            out[:, gap] -= moved
        return out

    def _bend(self, z: np.ndarray) -> np.ndarray:
        """The second derivative of the smooth binary losses."""
        if self._base() == "squared_hinge":
            return 2.0 * (z < 1.0)
        small = np.exp(-np.abs(z))
        return small / (1.0 + small) ** 2

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        assert isinstance(loss, LabelCosts)
        c = self.weights(loss).T[target]
        d = np.maximum(-_signs(target, mu.shape[1]) * _slopes(mu, target), 0.0)
        if self._base() == "hinge":
            return d.sum(axis=1)
        share = np.divide(d, c, out=np.zeros_like(d), where=c > 0.0)
        if self._base() == "squared_hinge":
            return (c * (share - 0.25 * share**2)).sum(axis=1)
        from scipy.special import entr

        share = np.minimum(share, 1.0)
        return (c * (entr(share) + entr(1.0 - share))).sum(axis=1)

    def surplus(
        self, mu: np.ndarray, target: np.ndarray, weight: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        return both_ways(_slopes(mu, target), weight)

    def repair(
        self, mu: np.ndarray, target: np.ndarray, w: np.ndarray, surplus: np.ndarray
    ) -> np.ndarray:
        """At each threshold the pulls from below and from above are made equal."""
        u = equal_ways(_slopes(mu, target), surplus)
        return np.eye(mu.shape[1])[target] - np.diff(u, axis=1, prepend=0.0, append=0.0)


def _slopes(mu: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The slopes u in the gaps, from ``mu = e_y + D'u``."""
    k = mu.shape[1]
    return np.cumsum(np.eye(k)[target] - mu, axis=1)[:, : k - 1]


def _signs(target: np.ndarray, k: int) -> np.ndarray:
    """+1 for thresholds below the true rank, -1 for those above it, ``(n, k - 1)``."""
    return np.where(np.arange(k - 1) < np.asarray(target)[:, None], 1.0, -1.0)


def _falling(scores: np.ndarray) -> np.ndarray:
    """Scores with the same gaps in falling order: the largest of them stands at the number of
    gaps that are positive, whatever their order was."""
    gaps = -np.sort(-np.diff(scores, axis=1), axis=1)
    return np.concatenate([np.zeros((len(scores), 1)), np.cumsum(gaps, axis=1)], axis=1)


class AllThreshold(_Thresholds):
    """``sum_j phi(+-g_j)``: every threshold on the wrong side is paid for (SVORIM with a kernel).

    Rennie and Srebro (2005); Chu and Keerthi (2005). With thresholded scores the thresholds come
    out in order. Training is blind to the loss. The prediction is the number of positive gaps, or
    for the logistic base, which has probabilities, the Bayes action: under absolute loss that is
    the same.

    Parameters
    ----------
    base : {"logistic", "hinge", "squared_hinge"}, default="logistic"
        The binary loss. With the logistic one the gaps are the log odds of a rank above.

    Examples
    --------
    >>> import concordant as cc
    >>> route = cc.surrogates.AllThreshold(base="hinge")
    >>> cc.surrogates.evaluate(route, [[0.0, 2.0, 1.5]], [0], loss="absolute")[0]
    array([3.5])
    """

    name = "all_threshold"

    def weights(self, loss: LabelCosts) -> np.ndarray:
        k = loss.costs.shape[1]
        return np.ones((k - 1, k))

    def decision(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        proba = self.probabilities(loss, scores)
        return (
            super().decision(loss, _falling(scores)) if proba is None else -loss.of_actions(proba)
        )

    def has_probabilities(self, loss: Any) -> bool:
        return self.base == "logistic"

    def probabilities(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray | None:
        if self.base != "logistic":
            return None
        from scipy.special import expit

        above = expit(-np.sort(-np.diff(scores, axis=1), axis=1))
        return -np.diff(above, axis=1, prepend=1.0, append=0.0)

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        if loss.is_absolute:
            return (
                "Consistent for absolute loss: every threshold sees the same binary loss, which is "
                "differentiable at 0 with a negative slope (Pedregosa, Bach and Gramfort 2017)."
            )
        if self.base == "logistic":
            return (
                "Consistent for every loss, this one included: each gap estimates the log odds of "
                "a rank above, and the prediction is the Bayes action under the probabilities that "
                "follow, if the scores are rich enough."
            )
        return "Not consistent for this loss: training counts thresholds, as absolute loss does."


class ImmediateThreshold(_Thresholds):
    """``phi(g_{y-1}) + phi(-g_y)``: only the two thresholds of the true rank are paid for.

    Shashua and Levin (2003); Chu and Keerthi (2005) call it SVOREX with a kernel and ask for
    ordered thresholds besides. The prediction is the largest score. Blind to the loss.

    Parameters
    ----------
    base : {"logistic", "hinge", "squared_hinge"}, default="logistic"
        The binary loss.
    ordered : bool, default=True
        Whether thresholds of thresholded scores (`OrdinalClassifier`) are kept from crossing, where
        they are free.
    """

    name = "immediate_threshold"

    def __init__(self, base: str = "logistic", ordered: bool = True):
        super().__init__(base)
        self.ordered = ordered

    def weights(self, loss: LabelCosts) -> np.ndarray:
        k = loss.costs.shape[1]
        return np.eye(k - 1, k) + np.eye(k - 1, k, 1)

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        if loss.is_zero_one and self.base == "logistic":
            return (
                "Consistent for 0-1 loss: the gaps estimate the log odds of neighbouring labels "
                "(Pedregosa, Bach and Gramfort 2017)."
            )
        return "Not consistent for this loss: only neighbouring labels are compared."


class Reduction(_Thresholds):
    """``sum_j |L[j + 1, y] - L[j, y]| phi(+-g_j)``: one weighted yes-or-no question a threshold.

    The extended binary classification of Li and Lin (2007). With thresholded scores it is their
    threshold form, with a weight vector a label the multiclass form. The prediction is the number
    of positive gaps. Under absolute loss the weights are 1.

    Parameters
    ----------
    base : {"logistic", "hinge", "squared_hinge"}, default="logistic"
        The binary loss.
    weighting : array-like of shape (k - 1, k), default=None
        Other weights: of threshold j when y is the truth.

    Examples
    --------
    >>> import concordant as cc
    >>> route = cc.surrogates.Reduction(base="hinge")
    >>> cc.surrogates.evaluate(route, [[0.0, 0.0, 0.0]], [0], loss="squared")[0]
    array([4.])
    """

    name = "reduction"

    def __init__(self, base: str = "logistic", weighting: Any = None):
        super().__init__(base)
        self.weighting = weighting

    def weights(self, loss: LabelCosts) -> np.ndarray:
        costs = loss.between_labels
        if self.weighting is None:
            return np.abs(np.diff(costs, axis=0))
        weights = np.array(self.weighting, dtype=float)
        k = costs.shape[1]
        if weights.shape != (k - 1, k):
            raise ValueError(f"weighting must have shape ({k - 1}, {k}), got {weights.shape}")
        bad = ~(np.isfinite(weights) & (weights >= 0.0))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"weighting[{row}, {column}] = {weights[row, column]} is not finite and >= 0"
            )
        return weights

    def decision(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        return super().decision(loss, _falling(scores))

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        if self.weighting is None and loss.convex_when_wrong:
            return (
                "Consistent for this loss, whose costs are convex in the answer: each threshold "
                "compares two neighbouring answers by their costs (Li and Lin 2007)."
            )
        return "Not covered: the reduction needs costs that are convex in the answer."
