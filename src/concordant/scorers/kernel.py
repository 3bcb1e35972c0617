"""Scores ``K beta + b`` on the training examples, for any positive semidefinite kernel.

Weights are the dual coefficients ``beta`` (n, k) with the intercepts as a last row. They stand
for the function ``sum_i beta_i K(x_i, .)``, so the transpose of `scores` is the identity and
the penalty is half the squared norm ``<beta, K beta>``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.executor import chunks
from concordant.penalty import Penalty
from concordant.scorers.base import Scorer


class KernelScorer(Scorer):
    """Scores of labels from a kernel matrix between the training examples."""

    euclidean = False

    def __init__(
        self, gram: np.ndarray, n_classes: int, fit_intercept: bool, rows: Any = slice(None)
    ):
        self.gram = np.ascontiguousarray(gram, dtype=float)
        self.rows = rows
        self.n_examples, self.n_train = self.gram.shape
        self.n_classes = n_classes
        self.fit_intercept = fit_intercept

    def start(self) -> np.ndarray:
        return np.zeros((self.n_train + self.fit_intercept, self.n_classes))

    def penalised(self, weights: np.ndarray) -> np.ndarray:
        return weights[: self.n_train]

    def free(self, weights: np.ndarray) -> np.ndarray:
        return weights[self.n_train :]

    def scores(self, weights: np.ndarray) -> np.ndarray:
        beta = weights[: self.n_train]
        out = np.empty((self.n_examples, self.n_classes))

        def run(rows: slice) -> None:
            out[rows] = self.gram[rows] @ beta
            if self.fit_intercept:
                out[rows] += weights[-1]

        self.executor.map(run, self.pieces())
        return out

    def image(self, weights: np.ndarray) -> np.ndarray:
        bare = weights.copy()
        self.free(bare)[...] = 0.0
        image = np.vstack([self.scores(bare), self.free(weights)])
        return image

    def image_of(self, state: Any) -> np.ndarray:
        if state.cache is None:
            return self.image(state.weights)
        return np.vstack([state.cache, self.free(state.weights)])

    def scores_of(self, weights: np.ndarray, image: np.ndarray) -> np.ndarray:
        scores = image[: self.n_examples]
        return scores + image[-1] if self.fit_intercept else scores

    def pieces(self) -> list[slice]:
        return chunks(self.n_examples, 512)

    def pullback(self, residual: np.ndarray) -> np.ndarray:
        out = self.start()
        out[: self.n_train][self.rows] = residual
        if self.fit_intercept:
            out[-1] = residual.sum(axis=0)
        return out

    def square_norms(self) -> np.ndarray:
        return np.diag(self.gram).copy()

    def take(self, rows: slice | np.ndarray) -> KernelScorer:
        return KernelScorer(self.gram[rows], self.n_classes, self.fit_intercept, rows)

    def restrict(self, rows: np.ndarray) -> KernelScorer:
        gram = np.empty((len(rows), len(rows)))

        def run(part: slice) -> None:  # much faster than np.ix_
            for i, row in enumerate(rows[part], part.start):
                self.gram[row].take(rows, out=gram[i], mode="clip")

        self.executor.map(run, chunks(len(rows), 512))
        return KernelScorer(gram, self.n_classes, self.fit_intercept)

    def narrow(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([weights[rows], self.free(weights)])

    def widen(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        out = self.start()
        out[rows] = weights[: len(rows)]
        self.free(out)[...] = weights[len(rows) :]
        return out

    def penalty_value(
        self, penalty: Penalty, weights: np.ndarray, scores: np.ndarray | None = None
    ) -> float:
        scores = self.scores(weights) if scores is None else scores
        image = scores - weights[-1] if self.fit_intercept else scores
        return 0.5 * penalty.l2 * float(np.vdot(self.penalised(weights), image))

    def conjugate_value(self, penalty: Penalty, dual: np.ndarray) -> float:
        return self.penalty_value(penalty, dual)

    def dual_pass(self, state: Any, order: np.ndarray, block: Any, problem: Any) -> bool:
        from concordant.scorers.passes import kernel_pass

        norms, target, weight, loss_weight, _, _, pull = problem
        intercept = state.weights[-1] if self.fit_intercept else np.zeros(self.n_classes)
        if state.cache is None:
            state.cache = self.scores(state.weights) - intercept
        kernel_pass(
            self.gram,
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
            state.rest,
            state.quiet,
        )
        return True
