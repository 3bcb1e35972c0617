"""Reductions to questions: binary or regression problems whose answers decide between labels.

A route here has a score for each question, which need not be one for each label. Nothing is
subtracted for the truth: the value of an example is the sum over its questions.
"""

from __future__ import annotations

from abc import abstractmethod
from itertools import combinations
from typing import Any

import numpy as np

from concordant.executor import Executor
from concordant.structures import Label, LabelCosts, PartLoss, Structure
from concordant.surrogates.base import Block, LabelRoute, Surrogate, both_ways, equal_ways
from concordant.surrogates.rejecting import at_half, with_rejection


class Questions(Label):
    """A batch of labels that are scored by m questions; the answer itself has no parts."""

    def parts(self, target: np.ndarray) -> np.ndarray:
        return np.zeros((self.n_examples, self.n_classes))

    def take(self, rows: slice | np.ndarray) -> tuple[Questions, slice | np.ndarray]:
        some, where = super().take(rows)
        return Questions(some.n_examples, self.n_classes), where


class QuestionRoute(LabelRoute):
    """A compiled route whose value has nothing subtracted for the truth."""

    def values(
        self, scores: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        upper, mu, _ = self.solve(scores, target, weight)
        return upper, mu

    def at(self, scores: np.ndarray, target: np.ndarray) -> np.ndarray:
        return np.zeros(len(scores))

    def residual(self, mu: np.ndarray, target: np.ndarray) -> np.ndarray:
        return mu

    def total(self, weight: np.ndarray, target: np.ndarray) -> np.ndarray:
        return np.zeros(self.structure.n_classes)


class _Questions(Surrogate):
    """A route that asks questions."""

    mixes_answers = False

    def label_route(self, n: int, loss: LabelCosts, executor: Executor | None = None) -> LabelRoute:
        questions = Questions(n, self.columns(loss.costs.shape[1]))
        return QuestionRoute(self, questions, loss, self.block(loss), executor)

    def surplus(
        self, mu: np.ndarray, target: np.ndarray, weight: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        return both_ways(mu, weight)

    def repair(
        self, mu: np.ndarray, target: np.ndarray, w: np.ndarray, surplus: np.ndarray
    ) -> np.ndarray:
        """For each question the pulls up and down are made equal."""
        return equal_ways(mu, surplus)


class _Separate(_Questions):
    """``sum_j p_j [a_j - f_j]_+ + q_j [b_j + f_j]_+``; a subclass gives the four tables."""

    @abstractmethod
    def tables(self, costs: np.ndarray) -> tuple[np.ndarray, ...]:
        """p, q, a, b as ``(questions, k)`` from the costs D[j, y] between labels."""

    def block(self, loss: LabelCosts) -> Block:
        from concordant.oracles.blocks import compile_block
        from concordant.oracles.questions import separate_block

        tables = np.ascontiguousarray(np.vstack(self.tables(loss.between_labels)))
        return Block(compile_block(separate_block), np.zeros(1), tables, 1)

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        assert isinstance(loss, LabelCosts)
        p, q, a, b = (table.T[target] for table in self.tables(loss.between_labels))
        left = np.where(mu >= q - p, q - mu, p)
        return w * (a * left + b * (left + mu)).sum(axis=1)


class OneSidedRegression(_Separate):
    """``[-c_y - f_y]_+ + sum_{j != y} [c_j + f_j]_+``: a one-sided regression a label (CSOSR).

    Minus the score of label j estimates its cost ``c_j = L[j, y]``: from above where it is larger
    than that of the truth, from below otherwise (Tu and Lin, ICML 2010).

    Examples
    --------
    >>> import concordant as cc
    >>> cc.surrogates.evaluate("one_sided_regression", [[0.0, 0.0, -2.0]], [0], loss="absolute")[0]
    array([1.])
    """

    name = "one_sided_regression"

    def tables(self, costs: np.ndarray) -> tuple[np.ndarray, ...]:
        right = costs <= np.diag(costs)
        return right * 1.0, ~right * 1.0, -costs, costs

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        return (
            "Not consistent in general: the one-sided loss bounds the cost (Tu and Lin 2010), but "
            "its minimiser at a mixture of labels need not rank their expected costs."
        )


class CostOneVsAll(_Separate):
    """``max c [1 - f_y]_+ + sum_{j != y} c_j [1 + f_j]_+``, ``c_j = L[j, y]`` (CSOVA, Lin 2008).

    A binary support vector machine a label, whose mistakes weigh so much that their sum bounds
    the cost of predicting the largest score: to predict j != y, machine j has to err, or else
    machine y. (Lin's thesis is not at hand; these are the least weights with that property.)
    """

    name = "cost_one_vs_all"
    weighs = "example"

    def tables(self, costs: np.ndarray) -> tuple[np.ndarray, ...]:
        right = costs <= np.diag(costs)
        one = np.ones_like(costs)
        return right * costs.max(axis=0), ~right * costs, one, one

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        return (
            "Not consistent in general: each machine's best score tells only whether its label is "
            "worth more than half of the weights, and labels on the same side tie."
        )


class CostOneVsOne(_Separate):
    """A weighted binary support vector machine a pair of labels (CSOVO, Lin 2014).

    Every example is used for every pair i < j: its answer is the cheaper of the two and its weight
    the difference of their costs. Most votes win; ties are broken by the scores.
    """

    name = "cost_one_vs_one"
    weighs = "example"
    scores_labels = False

    def columns(self, n_classes: int) -> int:
        return max(n_classes * (n_classes - 1) // 2, 1)

    def labels_of(self, columns: int) -> int:
        n_classes = round(0.5 + float(np.sqrt(0.25 + 2.0 * columns)))
        if self.columns(n_classes) != columns:
            raise ValueError(
                f"{self.name!r} has a score for each pair of labels, so 1, 3, 6, 10, ... columns; "
                f"got {columns}"
            )
        return n_classes

    def tables(self, costs: np.ndarray) -> tuple[np.ndarray, ...]:
        k = len(costs)
        gain = np.zeros((self.columns(k), k))
        for row, (i, j) in enumerate(combinations(range(k), 2)):
            gain[row] = costs[j] - costs[i]
        one = np.ones_like(gain)
        return np.maximum(gain, 0.0), np.maximum(-gain, 0.0), one, one

    def decision(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        k = loss.costs.shape[1]
        votes, margins = np.zeros((len(scores), k)), np.zeros((len(scores), k))
        for row, (i, j) in enumerate(combinations(range(k), 2)):
            first = scores[:, row] > 0.0
            votes[:, i] += first
            votes[:, j] += ~first
            margins[:, i] += scores[:, row]
            margins[:, j] -= scores[:, row]
        return super().decision(loss, votes + margins / (3.0 * (np.abs(margins) + 1.0)))

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        if loss.actions_are_labels:
            return (
                "Consistent where expected costs differ: in the limit each pair is decided by its "
                "expected costs, so the cheapest label wins all of its votes (Lin 2014)."
            )
        return "Not consistent: an action that is best for no single label is never chosen."


class BinaryEncoded(_Questions):
    """``[1 - min_j B_j(y) f_j]_+`` on the bits B(y) of the label's code.

    The binary encoded predictions of Ramaswamy, Tewari and Agarwal (2018), with ``ceil(log2 k)``
    scores. The prediction is the label whose code fits the signs best, and to abstain where some
    ``|f_j|`` is at most the threshold.

    Parameters
    ----------
    threshold : float, default=0.5
        Between 0 and 1.
    """

    name = "binary_encoded"
    scores_labels = False

    def __init__(self, threshold: float = 0.5):
        self.threshold = threshold

    def columns(self, n_classes: int) -> int:
        return max(int(np.ceil(np.log2(n_classes))), 1)

    def labels_of(self, columns: int) -> int:
        return int(2**columns)

    def _codes(self, n_classes: int) -> np.ndarray:
        """Code of each label in -1 and 1, ``(columns, k)``."""
        bits = np.arange(self.columns(n_classes))[:, None]
        return np.where((np.arange(n_classes) >> bits) & 1, 1.0, -1.0)

    def block(self, loss: LabelCosts) -> Block:
        from concordant.oracles.blocks import compile_block
        from concordant.oracles.questions import encoded_block

        codes = self._codes(loss.costs.shape[1])
        return Block(compile_block(encoded_block), np.zeros(1), codes, len(codes))

    def bonus(
        self, structure: Structure, loss: PartLoss, mu: np.ndarray, target: Any, w: np.ndarray
    ) -> np.ndarray:
        return w * np.abs(mu).sum(axis=1)

    def decision(self, loss: LabelCosts, scores: np.ndarray) -> np.ndarray:
        codes = self._codes(loss.costs.shape[1])
        fits = (scores[:, :, None] * codes).min(axis=1)
        rejected = np.abs(scores).min(axis=1) <= self.threshold
        return with_rejection(super().decision(loss, fits), loss, rejected)

    def consistency(self, loss: LabelCosts, summary: dict[str, float]) -> str:
        return at_half(loss)
