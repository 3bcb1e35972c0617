"""Scores ``K beta + b`` on the training examples, for any positive semidefinite kernel.

Weights are the dual coefficients ``beta`` (n, k) with the intercepts as a last row. They stand
for the function ``sum_i beta_i K(x_i, .)``, so the transpose of `scores` is the identity and
the penalty is half the squared norm ``<beta, K beta>``.

Where there are intercepts, features are measured from their mean m, which changes no function
that can be had: K is the kernel between the examples less their mean,

    K_ij - m_i - m_j + l,     m_i = mean_j K_ij,     l = mean_i m_i.

Kernel values share a large constant as a rule. Left in, every step of every solver would trade
it for intercepts. The matrix itself stays as it is; products with it are corrected by m and l.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from concordant.executor import chunks
from concordant.penalty import Penalty
from concordant.scorers.base import Scorer

#: Share of coefficients up to which a product with the kernel goes by its rows, not by BLAS.
SPARSE = 0.3
#: Columns of the kernel that a thread takes at a time in such a product.
WIDE = 2048
#: Strength with which intercepts follow in a dual pass, over the share of one example.
FIRM = 50.0


class KernelScorer(Scorer):
    """Scores of labels from a kernel matrix between the training examples.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
    n_classes : int
    fit_intercept : bool
    rows : slice or ndarray, default=None
        Which of the training examples the rows of `gram` are, if not all.
    mean : ndarray of shape (n,), default=None
        m, if known.
    """

    euclidean = False

    def __init__(
        self,
        gram: np.ndarray,
        n_classes: int,
        fit_intercept: bool,
        rows: Any = None,
        mean: np.ndarray | None = None,
    ):
        self.gram = np.ascontiguousarray(gram, dtype=float)
        self.rows = slice(None) if rows is None else rows
        self.whole = rows is None
        self.n_examples, self.n_train = self.gram.shape
        self.n_classes = n_classes
        self.fit_intercept = fit_intercept
        if mean is not None:
            self.mean = mean

    @cached_property
    def mean(self) -> np.ndarray:
        """m, or zeros without intercepts: what each training example shares with all."""
        if not self.fit_intercept:
            return np.zeros(self.n_train)
        parts = self.executor.map(lambda rows: self.gram[rows].mean(axis=1), self.pieces())
        return np.concatenate(parts)

    @property
    def level(self) -> float:
        """l: the mean of all kernel values."""
        return float(self.mean.mean())

    def start(self) -> np.ndarray:
        return np.zeros((self.n_train + self.fit_intercept, self.n_classes))

    def penalised(self, weights: np.ndarray) -> np.ndarray:
        return weights[: self.n_train]

    def free(self, weights: np.ndarray) -> np.ndarray:
        return weights[self.n_train :]

    def scores(self, weights: np.ndarray) -> np.ndarray:
        beta = weights[: self.n_train]
        scores = self._product(beta)
        return self._corrected(scores, weights) if self.fit_intercept else scores

    def _corrected(self, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Scores from products with the matrix as it stands, in their place."""
        total, base = self._shift(weights[: self.n_train])
        scores -= self.mean[self.rows, None] * total
        scores += base + weights[-1]
        return scores

    def _shift(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Total t of the coefficients, and ``-m'beta + l t``: scores are corrected by the second
        less ``m_i`` times the first."""
        total = beta.sum(axis=0)
        return total, self.level * total - self.mean @ beta

    def _product(self, beta: np.ndarray) -> np.ndarray:
        """The matrix as it stands times `beta`."""
        if self.whole and np.count_nonzero(beta) < SPARSE * beta.size:
            return self._sparse_product(np.ascontiguousarray(beta))
        out = np.empty((self.n_examples, beta.shape[1]))

        def run(rows: slice) -> None:
            out[rows] = self.gram[rows] @ beta

        self.executor.map(run, self.pieces())
        return out

    def _sparse_product(self, beta: np.ndarray) -> np.ndarray:
        from concordant.scorers.passes import add_rows

        out = np.zeros((beta.shape[1], self.n_examples))
        active = np.flatnonzero(np.any(beta != 0.0, axis=1))

        def run(rows: slice) -> None:
            add_rows(self.gram, beta, active, rows.start, rows.stop, out)

        self.executor.map(run, chunks(self.n_examples, WIDE))
        return np.ascontiguousarray(out.T)

    def image(self, weights: np.ndarray) -> np.ndarray:
        bare = weights.copy()
        self.free(bare)[...] = 0.0
        return np.vstack([self.scores(bare), self.free(weights)])

    def scores_of(self, weights: np.ndarray, image: np.ndarray) -> np.ndarray:
        scores = image[: self.n_examples]
        return scores + weights[-1] if self.fit_intercept else scores

    def pieces(self) -> list[slice]:
        return chunks(self.n_examples, 512)

    def pullback(self, residual: np.ndarray) -> np.ndarray:
        out = self.start()
        out[: self.n_train][self.rows] = residual
        if self.fit_intercept:
            out[-1] = residual.sum(axis=0)
        return out

    def square_norms(self) -> np.ndarray:
        norms = np.diag(self.gram) - 2.0 * self.mean + self.level
        return np.maximum(norms, 0.0) if self.fit_intercept else norms

    def pull(self, norms: np.ndarray) -> float:
        # Features sum to zero, so that nothing but intercepts moves all scores together. Measured:
        # 1,000 rows need three times the passes with a hundred times the pull, and no fewer with
        # less.
        size = float(norms.mean()) or 1.0
        return size * min(1.0, FIRM / self.n_examples)

    def take(self, rows: slice | np.ndarray) -> KernelScorer:
        return KernelScorer(self.gram[rows], self.n_classes, self.fit_intercept, rows, self.mean)

    def restrict(self, rows: np.ndarray) -> KernelScorer:
        from concordant.scorers.passes import copy_block

        gram = np.empty((len(rows), len(rows)))

        def run(piece: slice) -> None:
            copy_block(self.gram, rows, piece.start, piece.stop, gram)

        self.executor.map(run, chunks(len(rows), 256))
        return KernelScorer(gram, self.n_classes, self.fit_intercept)

    def plain(self, weights: np.ndarray) -> np.ndarray:
        """Weights of the same function of features that are not measured from their mean."""
        if not self.fit_intercept:
            return weights
        beta = weights[: self.n_train]
        total = beta.sum(axis=0)
        total[np.abs(total) <= 1e-12 * np.abs(beta).sum(axis=0)] = 0.0  # keeps zeros zero
        plain = weights - total / self.n_train
        plain[-1] = weights[-1] - self.mean @ plain[:-1]
        return plain

    def narrow(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        # Intercepts refer to the mean of all: near enough for a start.
        return np.concatenate([weights[rows], self.free(weights)])

    def widen(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """`weights` are plain ones."""
        out = self.start()
        out[rows] = weights[: len(rows)]
        self.free(out)[...] = weights[len(rows) :] + self.mean[rows] @ out[rows]
        return out

    def penalty_value(
        self, penalty: Penalty, weights: np.ndarray, scores: np.ndarray | None = None
    ) -> float:
        scores = self.scores(weights) if scores is None else scores
        image = scores - weights[-1] if self.fit_intercept else scores
        return 0.5 * penalty.l2 * float(np.vdot(self.penalised(weights), image))

    def conjugate_value(
        self, penalty: Penalty, dual: np.ndarray, scores: np.ndarray | None = None
    ) -> float:
        return self.penalty_value(penalty, dual, scores)

    def dual_pass(self, state: Any, order: np.ndarray, block: Any, problem: Any) -> bool:
        from concordant.scorers.passes import kernel_pass

        norms, target, weight, loss_weight, _, _, pull = problem
        beta = state.weights[: self.n_train]
        intercept = state.weights[-1] if self.fit_intercept else np.zeros(self.n_classes)
        if state.cache is None:
            state.cache = np.ascontiguousarray(self._product(beta).T)
        total, base = self._shift(beta)
        kernel_pass(
            self.gram,
            self.mean,
            self.level,
            order,
            block.function,
            block.params,
            block.costs,
            np.empty(block.scratch + 3 * self.n_classes),
            norms,
            target,
            weight,
            loss_weight,
            pull,
            state.mu,
            state.weights,
            state.cache,
            intercept,
            total,
            base,
            state.rest,
            state.quiet,
        )
        return True

    regresses = True

    def regression(self, rho: float) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """By the inverse of ``K + I / rho``, which each step multiplies: coefficients sum to zero
        beside an intercept, and then the matrix as it stands does for the one less the mean."""
        inverse = self._inverse(1.0 / rho)
        totals = inverse.sum(axis=1)

        def regress(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            weights = self.start()
            beta = weights[: self.n_train]
            if self.fit_intercept:
                intercept = totals @ y / totals.sum()
                y = y - intercept

            def run(rows: slice) -> None:
                beta[rows] = inverse[rows] @ y

            self.executor.map(run, self.pieces())
            scores = y - beta / rho
            if self.fit_intercept:
                weights[-1] = intercept + self.mean @ beta
                scores += intercept
            return weights, scores

        return regress

    def _inverse(self, ridge: float) -> np.ndarray:
        from scipy.linalg.lapack import dpotrf, dpotri

        matrix = self.gram.copy()
        matrix.flat[:: self.n_train + 1] += ridge
        # To Fortran the transpose; the lower triangle of what we see is written.
        factor, failed = dpotrf(matrix.T, lower=0, overwrite_a=1, clean=0)
        if not failed:
            factor, failed = dpotri(factor, lower=0, overwrite_c=1)
        if failed:
            raise ValueError("the kernel is not positive semidefinite")
        inverse = factor.T
        for rows in self.pieces():
            inverse[: rows.start, rows] = inverse[rows, : rows.start].T
            tile = inverse[rows, rows]
            tile[...] = np.tril(tile) + np.tril(tile, -1).T
        return inverse

    def cached_scores(self, state: Any) -> np.ndarray | None:
        if state.cache is None:
            return None
        scores = np.array(state.cache.T, order="C")  # a copy even of one column
        return self._corrected(scores, state.weights) if self.fit_intercept else scores
