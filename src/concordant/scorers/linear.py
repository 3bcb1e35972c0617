"""Linear scores ``x W + b`` of dense or sparse features.

Weights have shape (d, k), feature-major, with the intercepts as a last row if there are any.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from concordant.scorers.base import Scorer


class LinearScorer(Scorer):
    """Scores of labels that are linear in the features, with an intercept on request."""

    def __init__(self, x: Any, n_classes: int, fit_intercept: bool):
        self.x = x
        self.n_examples, self.n_features = x.shape
        self.n_classes = n_classes
        self.fit_intercept = fit_intercept

    def start(self) -> np.ndarray:
        return np.zeros((self.n_features + self.fit_intercept, self.n_classes))

    def penalised(self, weights: np.ndarray) -> np.ndarray:
        return weights[: self.n_features]

    def free(self, weights: np.ndarray) -> np.ndarray:
        return weights[self.n_features :]

    def scores(self, weights: np.ndarray) -> np.ndarray:
        out = np.empty((self.n_examples, self.n_classes))
        coefficients = np.ascontiguousarray(weights[: self.n_features])

        def run(piece: tuple[slice, Any]) -> None:
            rows, x = piece
            out[rows] = x @ coefficients
            if self.fit_intercept:
                out[rows] += weights[-1]

        self.executor.map(run, self._blocks)
        return out

    def pullback(self, residual: np.ndarray) -> np.ndarray:
        parts = self.executor.map(lambda piece: piece[1].T @ residual[piece[0]], self._blocks)
        out = np.empty((self.n_features + self.fit_intercept, self.n_classes))
        out[: self.n_features] = sum(parts[1:], start=parts[0])
        if self.fit_intercept:
            out[-1] = residual.sum(axis=0)
        return out

    @cached_property
    def _blocks(self) -> list[tuple[slice, Any]]:
        """Chunks of the features: views of a dense array, copies of a sparse one."""
        return [(rows, self.x[rows]) for rows in self.pieces()]

    def square_norms(self) -> np.ndarray:
        if sp.issparse(self.x):
            return np.asarray(self.x.multiply(self.x).sum(axis=1), dtype=float).ravel()
        return np.einsum("ij,ij->i", self.x, self.x)

    def take(self, rows: slice | np.ndarray) -> LinearScorer:
        return LinearScorer(self.x[rows], self.n_classes, self.fit_intercept)

    def dual_pass(self, state: Any, order: np.ndarray, block: Any, problem: Any) -> bool:
        from concordant.scorers.passes import dense_pass, sparse_pass

        common = (
            order,
            block.function,
            block.params,
            block.costs,
            np.empty(block.scratch + 3 * self.n_classes),
            *problem,
            state.mu,
            state.weights,
            state.rest,
            state.quiet,
        )
        if sp.issparse(self.x):
            sparse_pass(self.x.indptr, self.x.indices, self.x.data, *common)
        else:
            dense_pass(self.x, *common)
        return True
