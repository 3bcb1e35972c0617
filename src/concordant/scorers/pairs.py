"""Scores of pairs that are linear in the features of the pairs, and of staying alone."""

from __future__ import annotations

import numpy as np

from concordant.executor import chunks
from concordant.scorers.base import Scorer
from concordant.structures import Assignments

#: Pairs in a chunk of the features.
ROWS = 65536


class PairScorer(Scorer):
    """Weights (d,) of pair features; in a partial batch also a score of a row alone, and of a
    column alone, which are penalised like the others.

    Parameters
    ----------
    features : ndarray of shape (pairs of the batch, d)
        Example after example, row after row.
    structure : Assignments
    """

    def __init__(self, features: np.ndarray, structure: Assignments):
        self.features = features
        self.structure = structure
        self.n_examples = structure.n_examples
        self.d = features.shape[1]
        sizes = structure.rows * structure.columns
        self.starts = np.r_[0, np.cumsum(sizes)]
        self.places = structure.places

    def start(self) -> np.ndarray:
        return np.zeros(self.d + 2 * self.structure.partial)

    def scores(self, weights: np.ndarray) -> np.ndarray:
        structure = self.structure
        out = np.zeros(structure.starts[-1])
        w = np.ascontiguousarray(weights[: self.d])

        def run(rows: slice) -> None:
            out[self.places.pairs[rows]] = self.features[rows] @ w

        self.executor.map(run, chunks(len(self.features), ROWS))
        if structure.partial:
            out[self.places.rows], out[self.places.columns] = weights[self.d :]
        return out

    def pullback(self, residual: np.ndarray) -> np.ndarray:
        def run(rows: slice) -> np.ndarray:
            return self.features[rows].T @ residual[self.places.pairs[rows]]

        pieces = self.executor.map(run, chunks(len(self.features), ROWS))
        out = self.start()
        out[: self.d] = sum(pieces, start=np.zeros(self.d))
        if self.structure.partial:
            out[self.d] = residual[self.places.rows].sum()
            out[self.d + 1] = residual[self.places.columns].sum()
        return out

    def square_norms(self) -> np.ndarray:
        def largest(e: int) -> float:
            x = self.features[self.starts[e] : self.starts[e + 1]]
            with np.errstate(over="ignore", invalid="ignore"):
                gram = x.T @ x if x.shape[0] > x.shape[1] else x @ x.T
            if not np.isfinite(gram).all():
                return np.inf
            return float(np.linalg.eigvalsh(gram)[-1]) if gram.size else 0.0

        norms = np.array(self.executor.map(largest, list(range(self.n_examples))))
        if self.structure.partial:
            norms = np.maximum(norms, np.maximum(self.structure.rows, self.structure.columns))
        return norms

    def take(self, rows: slice | np.ndarray) -> PairScorer:
        structure, _ = self.structure.take(rows)
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, last, _ = rows.indices(self.n_examples)
            return PairScorer(self.features[self.starts[first] : self.starts[last]], structure)
        spans = [
            np.arange(self.starts[i], self.starts[i + 1]) for i in np.arange(self.n_examples)[rows]
        ]
        return PairScorer(self.features[np.concatenate(spans)], structure)
