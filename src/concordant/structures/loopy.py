"""Approximate answers for those graphs of a batch that are too wide for exact ones.

The mathematics is in `concordant.kernels.reweighted`; here are the edge appearance probabilities
it needs, and the way from a batch to one graph and back. All edges between two nodes are one there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from concordant.structures.pairwise import offsets_of

if TYPE_CHECKING:
    from concordant.structures.graph import Graph

MAXIMUM_SWEEPS, MAXIMUM_TOLERANCE = 300, 1e-9
MARGINAL_SWEEPS, MARGINAL_TOLERANCE = 1000, 1e-8

#: How much worse than any allowed labelling a forbidden one is made, in logarithms.
BARRED = 1000.0


class Shape(NamedTuple):
    """A graph with one edge a pair, from lower node to higher: its edges (m, 2), where each node's
    are listed (n + 1), the list, their appearance probabilities; and for each edge as given its
    pair and whether it points the other way."""

    edges: np.ndarray
    at: np.ndarray
    incident: np.ndarray
    rho: np.ndarray
    pair: np.ndarray
    flipped: np.ndarray


@lru_cache(maxsize=256)  # training asks about the same graphs again and again
def shape_of(n: int, edges: bytes) -> Shape:
    """The shape of a graph of n nodes and these edges, ``(E, 2)`` integers.

    The probabilities are shares of spanning forests that contain an edge. Each forest prefers
    the edges used least so far, until all have been in two.
    """
    given = np.frombuffer(edges, np.int64).reshape(-1, 2)
    codes, pair = np.unique(np.sort(given, axis=1) @ np.array([n, 1]), return_inverse=True)
    left, right = codes // n, codes % n
    used, forests = np.zeros(len(codes)), 0
    while used.min(initial=2.0) < 2.0:
        tree = minimum_spanning_tree(coo_array((used + 1.0, (left, right)), shape=(n, n))).tocoo()
        used[np.searchsorted(codes, tree.row.astype(np.int64) * n + tree.col)] += 1.0
        forests += 1
    pairs = np.column_stack([left, right])
    incident = np.argsort(pairs.ravel(), kind="stable") // 2
    at = offsets_of(np.bincount(pairs.ravel(), minlength=n))
    flipped = given[:, 0] > given[:, 1]
    return Shape(pairs, at, incident, used / max(forests, 1), pair.ravel(), flipped)


def _hard(graph: Graph, scores: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Each graph that is not exact: number, nodes, edges, shape, and finite scores of the shape."""
    edge_offsets = offsets_of(graph.edge_counts)
    for i in np.flatnonzero(~graph.exact):
        nodes = slice(graph.offsets[i], graph.offsets[i + 1])
        edges = slice(edge_offsets[i], edge_offsets[i + 1])
        own = np.ascontiguousarray(graph.edges[edges] - graph.offsets[i])
        shape = shape_of(int(graph.lengths[i]), own.tobytes())
        given = graph.allowed(scores)[graph.table_of_edge[edges]]
        given = np.where(shape.flipped[:, None, None], given.transpose(0, 2, 1), given)
        tables = np.zeros((len(shape.edges), *given.shape[1:]))
        np.add.at(tables, shape.pair, given)
        finite = _without_infinities(graph.nodes(scores)[nodes], tables)
        yield i, nodes, edges, shape, *finite


def _without_infinities(nodes: np.ndarray, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minus infinity replaced by a price that no labelling can make good."""
    range_ = 0.0
    lows = []
    for a in (nodes, tables.reshape(len(tables), nodes.shape[1] ** 2)):
        finite = np.isfinite(a)
        high = np.where(finite, a, -np.inf).max(axis=1, initial=-np.inf)
        low = np.where(finite, a, np.inf).min(axis=1, initial=np.inf)
        known = np.isfinite(high)
        range_ += float((high - low)[known].sum())
        lows.append(np.where(known, low, 0.0))
    price = range_ + BARRED
    nodes = np.where(np.isfinite(nodes), nodes, lows[0][:, None] - price)
    tables = np.where(np.isfinite(tables), tables, lows[1][:, None, None] - price)
    return np.ascontiguousarray(nodes), np.ascontiguousarray(tables)


def bracket(
    graph: Graph, scores: np.ndarray, labels: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fill in the graphs that are not exact: labels, their scores; also returns upper bounds."""
    from concordant.kernels.reweighted import maximum

    upper = values.copy()
    for i, nodes, edges, shape, node_scores, tables in _hard(graph, scores):
        trial = np.zeros(len(node_scores), np.int64)
        _, upper[i] = maximum(
            node_scores, tables, *shape[:3], MAXIMUM_SWEEPS, MAXIMUM_TOLERANCE, labels[nodes], trial
        )
        values[i] = score_of(graph, scores, labels, nodes, edges)
        upper[i] = max(upper[i], values[i])
    return labels, values, upper


def score_of(
    graph: Graph, scores: np.ndarray, labels: np.ndarray, nodes: slice, edges: slice
) -> float:
    """Score of one graph's labelling, forbidden parts included."""
    a, b = labels[graph.edges[edges]].T
    own = np.arange(nodes.start, nodes.stop)
    at_nodes = graph.nodes(scores)[own, labels[nodes]].sum()
    return float(at_nodes + graph.allowed(scores)[graph.table_of_edge[edges], a, b].sum())


def marginals(graph: Graph, scores: np.ndarray, partition: np.ndarray, mu: np.ndarray) -> None:
    """Fill in the graphs that are not exact: the relaxation's optimum and its maximiser."""
    from concordant.kernels.reweighted import propagate, read_off

    k = graph.n_classes
    for i, nodes, edges, shape, node_scores, tables in _hard(graph, scores):
        message = np.zeros((len(tables), 2, k))
        propagate(node_scores, tables, *shape[:4], MARGINAL_SWEEPS, MARGINAL_TOLERANCE, message)
        pair = np.empty((len(tables), k, k))
        own = graph.nodes(mu)[nodes]
        entropy = read_off(node_scores, tables, *shape[:4], message, own, pair)
        partition[i] = entropy + (own * node_scores).sum() + (pair * tables).sum()
        given = pair[shape.pair]
        given = np.where(shape.flipped[:, None, None], given.transpose(0, 2, 1), given)
        np.add.at(graph.tables(mu), graph.table_of_edge[edges], given)
