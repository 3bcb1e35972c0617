"""Linear scores of nodes and edges: for chains and graphs.

Weights are one flat array: those of node features, then a (k, k) table for all edges alike (if
there is one), then those of edge features, then k intercepts if there are any.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from concordant.scorers.base import Scorer
from concordant.structures.pairwise import Pairwise, offsets_of, spans


class Pattern(NamedTuple):
    """Which columns a feature has weights for: f those of ``columns[begin[f]:begin[f + 1]]``."""

    begin: np.ndarray
    columns: np.ndarray


class Rows:
    """Features of rows (R, d) times weights: scores (R, m), and the transpose.

    Weights are a flat (d, m) array, or with a `pattern` as many as it has columns.
    """

    def __init__(self, x: Any, n_columns: int, pattern: Pattern | None = None):
        self.x, self.n_columns, self.pattern = x, n_columns, pattern
        if pattern is not None:
            self.x = sp.csr_matrix(x)
        self.size = x.shape[1] * n_columns if pattern is None else len(pattern.columns)

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Scores of every row, ``(R, m)``."""
        if self.pattern is None:
            return np.asarray(self.x @ weights.reshape(-1, self.n_columns))
        from concordant.kernels.tokens import add_scores

        out = np.zeros((self.x.shape[0], self.n_columns))
        add_scores(*self._arrays(self.pattern), np.ascontiguousarray(weights), 0, len(out), out)
        return out

    def pullback(self, residual: np.ndarray) -> np.ndarray:
        """The transpose, flat."""
        if self.pattern is None:
            return np.asarray(self.x.T @ residual).ravel()
        from concordant.kernels.tokens import add_gradient

        out, residual = np.zeros(self.size), np.ascontiguousarray(residual)
        add_gradient(*self._arrays(self.pattern), residual, 0, len(residual), out)
        return out

    def _arrays(self, pattern: Pattern) -> tuple[np.ndarray, ...]:
        x = self.x
        return (
            x.indptr.astype(np.int64, copy=False), x.indices.astype(np.int32, copy=False),
            x.data.astype(np.float64, copy=False), pattern.begin, pattern.columns,
        )  # fmt: skip

    def take(self, rows: np.ndarray) -> Rows:
        """Some of the rows."""
        return Rows(self.x[rows], self.n_columns, self.pattern)


class Weights(NamedTuple):
    """Views of a flat array of weights, by what they multiply.

    ``node`` is (d, k) and ``edge`` (d_e, k, k), flat where they have a pattern; ``table`` is
    (1 or 0, k, k), and so long is ``intercept``.
    """

    node: np.ndarray
    table: np.ndarray
    edge: np.ndarray
    intercept: np.ndarray


class PairwiseScorer(Scorer):
    """Features of nodes (N, d), and of edges (E, d_e) if edges differ, of a whole batch.

    Parameters
    ----------
    x : ndarray or CSR matrix of shape (N, d)
    structure : Pairwise
        With one table an edge if there are edge features.
    edge_x : ndarray or CSR matrix of shape (E, d_e), default=None
        Without it every edge has the same table of weights.
    fit_intercept : bool, default=False
    node_pattern : Pattern, default=None
        Labels that node features have weights for; all by default.
    edge_pattern : Pattern, default=None
        The same for edge features and pairs of labels, numbered ``first * k + second``.
    shared : bool, default=None
        Whether there is a table for all edges alike; by default only without edge features.
    """

    def __init__(
        self, x: Any, structure: Pairwise, edge_x: Any = None, fit_intercept: bool = False,
        node_pattern: Pattern | None = None, edge_pattern: Pattern | None = None,
        shared: bool | None = None,
    ):  # fmt: skip
        k = structure.n_classes
        self.structure, self.fit_intercept = structure, fit_intercept
        self.node = Rows(x, k, node_pattern)
        self.edge = None if edge_x is None else Rows(edge_x, k * k, edge_pattern)
        self.shared = edge_x is None if shared is None else shared
        self.n_examples = structure.n_examples
        sizes = [self.node.size, self.shared * k * k, self.edge.size if self.edge else 0]
        self._cuts = np.cumsum(sizes).tolist()

    @property
    def x(self) -> Any:
        """Node features (N, d)."""
        return self.node.x

    @property
    def edge_x(self) -> Any:
        """Edge features (E, d_e), or None."""
        return None if self.edge is None else self.edge.x

    def split(self, weights: np.ndarray) -> Weights:
        """Views of the weights, by what they multiply."""
        k, (nodes, tables, edges) = self.structure.n_classes, self._cuts
        node, edge = weights[:nodes], weights[tables:edges]
        if self.node.pattern is None:
            node = node.reshape(-1, k)
        if self.edge is None or self.edge.pattern is None:
            edge = edge.reshape(-1, k, k)
        return Weights(node, weights[nodes:tables].reshape(-1, k, k), edge, weights[edges:])

    def start(self) -> np.ndarray:
        return np.zeros(self._cuts[2] + self.fit_intercept * self.structure.n_classes)

    def penalised(self, weights: np.ndarray) -> np.ndarray:
        return weights[: self._cuts[2]]

    def free(self, weights: np.ndarray) -> np.ndarray:
        return weights[self._cuts[2] :]

    def scores(self, weights: np.ndarray) -> np.ndarray:
        given, out = self.split(weights), self.structure.empty()
        nodes, tables = self.structure.nodes(out), self.structure.tables(out)
        nodes[...] = self.node.scores(given.node)
        if self.fit_intercept:
            nodes += given.intercept
        tables[...] = 0.0
        if self.edge is not None:
            tables += self.edge.scores(given.edge).reshape(tables.shape)
        if self.shared:
            tables += given.table
        return out

    def pullback(self, residual: np.ndarray) -> np.ndarray:
        nodes, tables = self.structure.nodes(residual), self.structure.tables(residual)
        out = [self.node.pullback(nodes)]
        if self.shared:
            out.append(tables.sum(axis=0).ravel())
        if self.edge is not None:
            out.append(self.edge.pullback(tables.reshape(len(tables), self.edge.n_columns)))
        if self.fit_intercept:
            out.append(nodes.sum(axis=0))
        return np.concatenate(out)

    def square_norms(self) -> np.ndarray:
        """Bounds by the largest row sums of the Gram matrices."""
        structure = self.structure
        out = np.zeros(self.n_examples)
        tables = structure.table_offsets
        for i in range(self.n_examples):
            rows = self.x[structure.offsets[i] : structure.offsets[i + 1]]
            out[i] = _gram_norm(rows)
            count = int(tables[i + 1] - tables[i])
            own = 0.0 if self.edge is None else _gram_norm(self.edge_x[tables[i] : tables[i + 1]])
            out[i] = max(out[i], own + self.shared * count) if count else out[i]
        return out

    def free_norms(self) -> np.ndarray:
        return self.structure.lengths.astype(float)

    def pull(self, norms: np.ndarray) -> float:
        return max(float(norms.sum() / self.structure.n_nodes), 1.0)

    def take(self, rows: slice | np.ndarray) -> PairwiseScorer:
        chosen = np.arange(self.n_examples)[rows]
        structure, _ = self.structure.take(chosen)
        out = object.__new__(PairwiseScorer)
        out.__dict__.update(self.__dict__, structure=structure, n_examples=len(chosen))
        out.node = self.node.take(spans(self.structure.offsets, chosen))
        if self.edge is not None:
            out.edge = self.edge.take(spans(offsets_of(self.structure.edge_counts), chosen))
        return out


def _gram_norm(x: Any) -> float:
    """An upper bound of the largest eigenvalue of ``x x'``."""
    if x.shape[0] <= 50 and not sp.issparse(x):
        return float(np.linalg.norm(x, 2) ** 2) if x.size else 0.0
    gram = abs(x @ x.T)
    return float(gram.sum(axis=1).max()) if x.shape[0] else 0.0
