"""The hybrid loss of Shi et al. (TPAMI 2015): a mixture of log loss and hinge."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from concordant.structures import LabelCosts, PartLoss, Structure
from concordant.surrogates.base import Block, Solution, Surrogate
from concordant.surrogates.hinge import Hinge
from concordant.surrogates.log import Log


class Hybrid(Surrogate):
    """``alpha * log + (1 - alpha) * hinge``.

    Consistent for 0-1 loss at label distributions with ``D1 >= 1/2``, and elsewhere for every
    alpha above the largest, over t >= 2, of

        (1 - 2 D1 - R_t/t) / (1 - D1 - 1/t),    R_t = 1 - (D1 + ... + Dt),

    where t labels would begin to tie. Their Theorem 1 is the case t = 2, ``1 - (D1 - D2)/(1 - 2
    D1)``; three or more labels can tie at a larger alpha. A loss weight multiplies the loss
    inside the hinge and the whole of the log part, which has no loss inside.

    On structures other than labels it offers values and subgradients for every alpha, but dual
    methods and certificates only at 0 and 1: between them ``mu`` must be split into a log part
    and a hinge part, which for labels has a closed form.

    Parameters
    ----------
    alpha : float, default=0.5
        Share of the log loss, between 0 (hinge) and 1 (log).

    Examples
    --------
    >>> import concordant as cc
    >>> cc.surrogates.evaluate(cc.surrogates.Hybrid(0.0), [[0.0, 0.0]], [0], loss="zero_one")[0]
    array([1.])
    """

    name = "hybrid"
    summarises = True

    def __init__(self, alpha: float = 0.5):
        self.alpha = alpha

    def _share(self) -> float:
        if not (isinstance(self.alpha, numbers.Real) and 0.0 <= self.alpha <= 1.0):
            raise ValueError(f"Hybrid needs 0 <= alpha <= 1, got {self.alpha!r}")
        return float(self.alpha)

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        return self._share() == 1.0

    def block(self, loss: LabelCosts) -> Block:
        from concordant.oracles.blocks import compile_block
        from concordant.oracles.entropy import hybrid_block

        costs = loss.between_labels
        return Block(compile_block(hybrid_block), np.array([self._share()]), costs, 4 * len(costs))

    def maximise(
        self, structure: Structure, loss: PartLoss, scores: np.ndarray, target: Any, w: np.ndarray
    ) -> Solution:
        alpha = self._share()
        log = Log().maximise(structure, loss, scores, target, w)
        hinge = Hinge().maximise(structure, loss, scores, target, w)
        mu = structure.scale(alpha * w, log.mu) + (1.0 - alpha) * hinge.mu
        mu = mu + structure.scale(1.0 - self.mass(w), structure.parts(target))
        bonus = alpha * w * log.bonus + (1.0 - alpha) * hinge.bonus
        return Solution(structure.dot(scores, mu) + bonus, mu, bonus)

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        if not isinstance(loss, LabelCosts):
            return self._bonus_of_one(structure, loss, mu, target, w)
        from concordant.oracles.entropy import split_rows

        rest = (1.0 - self.mass(w))[:, None] * structure.parts(target)
        out = np.empty(len(mu))
        alpha = self._share()
        split_rows(
            np.ascontiguousarray(mu - rest),
            alpha * w,
            1.0 - alpha,
            np.asarray(target, dtype=np.int64),
            w,
            loss.between_labels,
            out,
        )
        return out

    def _bonus_of_one(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        """The bonus on a structure at the ends, where mu has nothing to split."""
        alpha = self._share()
        if alpha == 0.0:
            return Hinge().bonus(structure, loss, mu, target, w)
        if alpha < 1.0:
            raise TypeError(
                "on structures the hybrid has values and gradients but no certificate for "
                "0 < alpha < 1: its bonus needs the split of mu into a log and a hinge part"
            )
        rest = structure.scale(1.0 - w, structure.parts(target))
        positive = np.where(w > 0.0, w, 1.0)
        free = structure.scale(1.0 / positive, mu - rest)
        return w * structure.entropy(free)

    def mass(self, w: np.ndarray) -> np.ndarray:
        return self._share() * w + (1.0 - self._share())

    def decision(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        return Log().decision(loss, scores)

    def has_probabilities(self, loss: Any) -> bool:
        return True

    def summarise(
        self, loss: LabelCosts, scores: np.ndarray, weight: np.ndarray
    ) -> dict[str, float]:
        """Share of the sample without a majority label, and the alpha that consistency asks for
        there: at its median, and at nine in ten."""
        falling = -np.sort(-self.probabilities(loss, scores), axis=1)
        open_ = falling[:, 0] < 0.5
        if scores.shape[1] < 3 or not open_.any():
            return {"no_majority": 0.0}
        asked = _alpha_asked(falling[open_])
        return {
            "no_majority": float(np.average(open_, weights=weight)),
            "met": float(np.average(asked < self._share(), weights=weight[open_])),
            "median": _quantile(asked, weight[open_], 0.5),
            "nine_in_ten": _quantile(asked, weight[open_], 0.9),
        }

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        if not loss.is_zero_one:
            return (
                "Theorem 1 of Shi et al. covers 0-1 loss only: for this loss the hybrid is known "
                "to be consistent just at alpha = 1, where it is the log route."
            )
        rule = (
            "Consistent for 0-1 loss where the top label has probability D1 >= 1/2 or "
            "alpha > 1 - (D1 - D2)/(1 - 2 D1) (Shi et al. 2015), a bound that rises where three "
            f"or more labels compete; alpha is {self.alpha:g}."
        )
        if summary["no_majority"] == 0.0:
            return f"{rule} By the fitted probabilities every example has a majority label."
        return (
            f"{rule} By the fitted probabilities {summary['no_majority']:.1%} of the examples have "
            f"no majority label; the condition holds on {summary['met']:.1%} of those. It asks for "
            f"an alpha above {summary['median']:.2f} on half of them and above "
            f"{summary['nine_in_ten']:.2f} on one in ten (1, the log route, is always enough)."
        )

    def node_consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        return (
            "Known to be consistent at alpha = 1, the log route, for every loss summed over nodes. "
            "Below, Theorem 1 of Shi et al. (2015) covers 0-1 loss on whole labellings, where the "
            "most probable one has D1 >= 1/2 or alpha > 1 - (D1 - D2)/(1 - 2 D1); alpha is "
            f"{self.alpha:g}. By the fitted probabilities {summary['no_majority']:.1%} of the "
            "examples have no labelling with D1 >= 1/2."
        )

    def probabilities(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        return Log().probabilities(loss, scores)


def _quantile(values: np.ndarray, weight: np.ndarray, share: float) -> float:
    """The least value with at least this share of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    place = np.searchsorted(reached, share * reached[-1] * (1.0 - 1e-12))
    return float(values[order][place])


def _alpha_asked(falling: np.ndarray) -> np.ndarray:
    """The alpha of `Hybrid`'s condition at each falling distribution without a majority.

    Labels tied with the first in probability may tie in score: t counts beyond them.
    """
    t = np.arange(2, falling.shape[1] + 1)
    first = falling[:, :1]
    outside = 1.0 - np.cumsum(falling, axis=1)[:, 1:]
    asked = (1.0 - 2.0 * first - outside / t) / (1.0 - first - 1.0 / t)
    asked[falling[:, 1:] == first] = 0.0
    return np.clip(asked.max(axis=1), 0.0, 1.0)
