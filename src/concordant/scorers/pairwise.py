"""Linear scores of nodes and edges: for chains and graphs.

Weights are one flat array: ``(d, k)`` of node features, then ``(k, k)`` for all edges alike or
``(d_e, k, k)`` of edge features, then k intercepts if there are any.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from concordant.scorers.base import Scorer
from concordant.structures.pairwise import Pairwise, offsets_of, spans


class PairwiseScorer(Scorer):
    """Features of nodes (N, d), and of edges (E, d_e) if edges differ, of a whole batch.

    Parameters
    ----------
    x : ndarray or CSR matrix of shape (N, d)
    structure : Pairwise
        With one table an edge if there are edge features.
    edge_x : ndarray of shape (E, d_e), default=None
        Without it every edge has the same table of weights.
    fit_intercept : bool, default=False
    """

    def __init__(
        self, x: Any, structure: Pairwise, edge_x: np.ndarray | None = None,
        fit_intercept: bool = False,
    ):  # fmt: skip
        self.x, self.edge_x, self.structure = x, edge_x, structure
        self.fit_intercept = fit_intercept
        self.n_examples, k = structure.n_examples, structure.n_classes
        self.n_features = x.shape[1]
        self.n_tables = 1 if edge_x is None else edge_x.shape[1]
        self._cuts = (self.n_features * k, (self.n_features + self.n_tables * k) * k)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Views: node weights (d, k), edge weights (d_e or 1, k, k), intercepts."""
        k, (nodes, tables) = self.structure.n_classes, self._cuts
        edge = weights[nodes:tables].reshape(self.n_tables, k, k)
        return weights[:nodes].reshape(-1, k), edge, weights[tables:]

    def start(self) -> np.ndarray:
        return np.zeros(self._cuts[1] + self.fit_intercept * self.structure.n_classes)

    def penalised(self, weights: np.ndarray) -> np.ndarray:
        return weights[: self._cuts[1]]

    def free(self, weights: np.ndarray) -> np.ndarray:
        return weights[self._cuts[1] :]

    def scores(self, weights: np.ndarray) -> np.ndarray:
        node, edge, intercept = self.split(weights)
        out = self.structure.empty()
        nodes, tables = self.structure.nodes(out), self.structure.tables(out)
        nodes[...] = self.x @ node
        if self.fit_intercept:
            nodes += intercept
        if self.edge_x is None:
            tables[...] = edge
        else:
            tables[...] = np.tensordot(self.edge_x, edge, 1)
        return out

    def pullback(self, residual: np.ndarray) -> np.ndarray:
        out = np.empty_like(self.start())
        node, edge, intercept = self.split(out)
        nodes, tables = self.structure.nodes(residual), self.structure.tables(residual)
        node[...] = self.x.T @ nodes
        if self.edge_x is None:
            edge[0] = tables.sum(axis=0)
        else:
            edge[...] = np.tensordot(self.edge_x, tables, (0, 0))
        if self.fit_intercept:
            intercept[...] = nodes.sum(axis=0)
        return out

    def square_norms(self) -> np.ndarray:
        """Bounds by the largest row sums of the Gram matrices."""
        structure = self.structure
        out = np.zeros(self.n_examples)
        tables = structure.table_offsets
        for i in range(self.n_examples):
            rows = self.x[structure.offsets[i] : structure.offsets[i + 1]]
            out[i] = _gram_norm(rows)
            count = int(tables[i + 1] - tables[i])
            own = np.ones((count, 1)) if self.edge_x is None else self._edge_rows(i)
            out[i] = max(out[i], _gram_norm(own)) if count else out[i]
        return out

    def _edge_rows(self, i: int) -> np.ndarray:
        assert self.edge_x is not None
        return self.edge_x[self.structure.table_offsets[i] : self.structure.table_offsets[i + 1]]

    def take(self, rows: slice | np.ndarray) -> PairwiseScorer:
        chosen = np.arange(self.n_examples)[rows]
        structure, _ = self.structure.take(chosen)
        x = self.x[spans(self.structure.offsets, chosen)]
        edge_x = self.edge_x
        if edge_x is not None:
            edge_x = edge_x[spans(offsets_of(self.structure.edge_counts), chosen)]
        return PairwiseScorer(x, structure, edge_x, self.fit_intercept)


def _gram_norm(x: Any) -> float:
    """An upper bound of the largest eigenvalue of ``x x'``."""
    if x.shape[0] <= 50 and not sp.issparse(x):
        return float(np.linalg.norm(x, 2) ** 2) if x.size else 0.0
    gram = abs(x @ x.T)
    return float(gram.sum(axis=1).max())
