"""Thresholded scores: one direction shared by all labels, and an offset for each.

    f_j = (j - (k - 1)/2) s(x) + o_j,     s(x) = w.x, or a kernel's function of x

so that label j + 1 scores more than label j where s(x) exceeds the threshold ``o_j - o_{j+1}``.
Measuring ranks from their middle changes no difference between scores.

Weights are one flat array: those of s, then the offsets' parameters theta. Free, they are the
offsets themselves. Under the penalty they are the k - 1 thresholds, ``o_j = sum_{l >= j} theta_l``
(Li and Lin 2007; Fathony 2019, equation 2.33).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from concordant.penalty import Penalty
from concordant.scorers.base import Scorer
from concordant.scorers.kernel import KernelScorer
from concordant.scorers.linear import LinearScorer


class ThresholdScorer(Scorer):
    """Scores of ordered labels from the one score of another scorer.

    Parameters
    ----------
    inner : LinearScorer or KernelScorer
        Of one column and without intercept.
    n_classes : int
    free : bool
        Whether thresholds are left out of the penalty.
    ties : ndarray of shape (n_classes - 2,), default=None
        Which (free) thresholds are the same as the next.
    """

    def __init__(
        self,
        inner: LinearScorer | KernelScorer,
        n_classes: int,
        free: bool = True,
        ties: np.ndarray | None = None,
    ):
        self.inner = inner
        self.n_examples = inner.n_examples
        self.n_classes = n_classes
        self.thresholds_are_free = free
        self.euclidean = inner.euclidean
        self.ranks = np.arange(n_classes) - 0.5 * (n_classes - 1)
        self.offsets = np.eye(n_classes)
        if not free:
            self.offsets = np.triu(np.ones((n_classes, n_classes)))[:, : n_classes - 1]
        self.ties = ties
        if ties is not None:
            self.offsets = _tied_offsets(ties)
        self._shape = inner.start().shape
        self._size = int(np.prod(self._shape))

    def _own(self, weights: np.ndarray) -> np.ndarray:
        """The inner scorer's weights."""
        return weights[: self._size].reshape(self._shape)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inner scorer's weights, and the offsets of the labels."""
        return self._own(weights), self.offsets @ weights[self._size :]

    def _join(self, own: np.ndarray, theta: np.ndarray) -> np.ndarray:
        return np.concatenate([own.ravel(), theta])

    # Folded scores are s of every example and then the offsets. Unfolding them is linear.

    def folded(self, weights: np.ndarray, image: np.ndarray) -> np.ndarray:
        """Folded scores, from the image of the weights where that is cheaper."""
        self.inner.executor = self.executor
        own = self._own(weights)
        s = self.inner.scores(own).ravel() if self.euclidean else image[: self.n_examples]
        return np.concatenate([s, self.offsets @ weights[self._size :]])

    def unfold(self, folded: np.ndarray, rows: slice | np.ndarray) -> np.ndarray:
        """Scores of the labels of these examples."""
        scores = np.multiply.outer(folded[: self.n_examples][rows], self.ranks)
        scores += folded[self.n_examples :]
        return scores

    def fold(self, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The transpose of `unfold`: a number for each of its examples, and for each label."""
        return residual @ self.ranks, residual.sum(axis=0)

    def pull_folded(self, residual: np.ndarray) -> np.ndarray:
        """The transpose of `folded`."""
        self.inner.executor = self.executor
        own = self.inner.pullback(residual[: self.n_examples, None])
        return self._join(own, self.offsets.T @ residual[self.n_examples :])

    def curvature(self, rows: np.ndarray, slopes: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Second derivatives in the weights, from those in the scores of these examples: their
        products with the ranks ``(rows, k)``, and their sum ``(k, k)``. For linear scores."""
        assert isinstance(self.inner, LinearScorer)
        x, d, along = self.inner.x[rows], self._size, (slopes @ self.ranks)[:, None]
        own = x.T @ (x.multiply(along) if sp.issparse(x) else x * along)
        out = np.empty((d + self.offsets.shape[1],) * 2)
        out[:d, :d] = own.toarray() if sp.issparse(own) else own
        out[:d, d:] = x.T @ slopes @ self.offsets
        out[d:, :d] = out[:d, d:].T
        out[d:, d:] = self.offsets.T @ totals @ self.offsets
        return out

    def free_step(self, residual: np.ndarray) -> np.ndarray:
        return self.offsets.T @ residual if self.thresholds_are_free else residual

    def start(self) -> np.ndarray:
        return np.zeros(self._size + self.offsets.shape[1])

    def penalised(self, weights: np.ndarray) -> np.ndarray:
        return weights[: self._size] if self.thresholds_are_free else weights

    def free(self, weights: np.ndarray) -> np.ndarray:
        return weights[self._size :] if self.thresholds_are_free else weights[:0]

    def scores(self, weights: np.ndarray) -> np.ndarray:
        return self.scores_of(weights, self.image(weights))

    def pullback(self, residual: np.ndarray) -> np.ndarray:
        return self.pull_folded(np.concatenate(self.fold(residual)))

    def image(self, weights: np.ndarray) -> np.ndarray:
        if self.euclidean:
            return weights
        self.inner.executor = self.executor
        return self._join(self.inner.image(self._own(weights)), weights[self._size :])

    def scores_of(self, weights: np.ndarray, image: np.ndarray) -> np.ndarray:
        return self.unfold(self.folded(weights, image), slice(None))

    @cached_property
    def _inner_norms(self) -> np.ndarray:
        return self.inner.square_norms()

    def square_norms(self) -> np.ndarray:
        norms = self._inner_norms * float(self.ranks @ self.ranks)
        return norms if self.thresholds_are_free else norms + self.grip

    @property
    def grip(self) -> float:
        """Largest ``|offsets' r|**2 / |r|**2``."""
        return float(np.linalg.norm(self.offsets, 2)) ** 2 if self.n_classes > 1 else 0.0

    def pull(self, norms: np.ndarray) -> float:
        return 0.1 * super().pull(self.inner.square_norms())

    def take(self, rows: slice | np.ndarray) -> ThresholdScorer:
        return self._over(self.inner.take(rows))

    def restrict(self, rows: np.ndarray) -> ThresholdScorer:
        return self._over(self.inner.restrict(rows))

    def _over(self, inner: Any) -> ThresholdScorer:
        return ThresholdScorer(inner, self.n_classes, self.thresholds_are_free, self.ties)

    def tied(self, ties: np.ndarray) -> ThresholdScorer:
        """The scorer with these thresholds tied."""
        out = ThresholdScorer(self.inner, self.n_classes, True, ties)
        out.executor = self.executor
        return out

    def convert(self, weights: np.ndarray, other: ThresholdScorer) -> np.ndarray:
        """Weights of another scorer as near as this one's ties allow."""
        own, offsets = other.split(weights)
        return self._join(own, self.offsets.T @ offsets)

    def narrow(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        own = self.inner.narrow(self._own(weights), rows)
        return self._join(own, weights[self._size :])

    def widen(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        theta = weights[len(weights) - self.offsets.shape[1] :]
        own = weights[: len(weights) - len(theta)].reshape(-1, 1)
        return self._join(self.inner.widen(own, rows), theta)

    def penalty_value(
        self, penalty: Penalty, weights: np.ndarray, scores: np.ndarray | None = None
    ) -> float:
        """`scores` are folded."""
        if self.euclidean:
            return penalty.value(self.penalised(weights))
        known = None if scores is None else scores[: self.n_examples, None]
        value = self.inner.penalty_value(penalty, self._own(weights), known)
        return value + self._price_of_thresholds(penalty, weights)

    def _price_of_thresholds(self, penalty: Penalty, weights: np.ndarray) -> float:
        return 0.0 if self.thresholds_are_free else penalty.value(weights[self._size :])

    def conjugate_value(
        self, penalty: Penalty, dual: np.ndarray, scores: np.ndarray | None = None
    ) -> float:
        if self.euclidean:
            return penalty.conjugate(self.penalised(dual))
        known = None if scores is None else scores[: self.n_examples, None]
        value = self.inner.conjugate_value(penalty, self._own(dual), known)
        return value + self._price_of_thresholds(penalty, dual)

    def cached_scores(self, state: Any) -> np.ndarray | None:
        """Folded scores."""
        if self.euclidean or state.cache is None:
            return None
        return np.concatenate([state.cache, self.offsets @ state.weights[self._size :]])

    def dual_pass(self, state: Any, order: np.ndarray, block: Any, problem: Any) -> bool:
        from concordant.scorers import threshold_passes as passes

        _, target, weight, loss_weight, l2, l1, pull = problem
        if not self.thresholds_are_free and (l1 != 0.0 or l2 != 1.0):
            return False
        own, theta = self._own(state.weights), state.weights[self._size :]
        grip, share = (pull, pull) if self.thresholds_are_free else (self.grip, 1.0)
        spread = share * (self.offsets @ self.offsets.T)
        offsets, moved = self.offsets @ theta, np.zeros(self.n_classes)
        common = (
            order,
            block.function,
            block.params,
            block.costs,
            np.empty(block.scratch + 4 * self.n_classes),
            self._inner_norms,
            target,
            weight,
            loss_weight,
            self.ranks,
            grip,
            spread,
            offsets,
            moved,
            state.mu,
            state.rest,
            state.quiet,
        )
        if isinstance(self.inner, KernelScorer):
            if state.cache is None:
                state.cache = self.inner.scores(own).ravel()
            passes.kernel_pass(self.inner.gram, own.ravel(), state.cache, *common)
        elif sp.issparse(self.inner.x):
            x = self.inner.x
            passes.sparse_pass(x.indptr, x.indices, x.data, l2, l1, own.ravel(), *common)
        else:
            passes.dense_pass(self.inner.x, l2, l1, own.ravel(), *common)
        theta += share * (self.offsets.T @ moved)
        return True


def _tied_offsets(ties: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the offsets whose thresholds are tied so."""
    group = np.r_[0, np.cumsum(~ties)]  # of each threshold
    thresholds = np.eye(group[-1] + 1)[group]
    offsets = -np.cumsum(np.vstack([np.zeros(thresholds.shape[1]), thresholds]), axis=0)
    shift = np.ones((len(offsets), 1))
    return np.linalg.qr(np.hstack([shift, offsets]))[0]
