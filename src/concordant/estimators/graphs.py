"""Graphs as users have them: `Graph`, networkx graphs, and objects like PyTorch Geometric's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

#: Attributes of a networkx node or edge that hold its features; the first that is there.
NODE_KEYS, EDGE_KEYS = ("x", "features"), ("edge_attr", "features")


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes to label, and edges between them.

    Parameters
    ----------
    nodes : array-like or sparse matrix of shape (n_nodes, d)
        Features of the nodes.
    edges : array-like of shape (m, 2)
        Pairs of node numbers. An edge is ordered: its score is a table indexed by the label of
        its first node and that of its second. Both directions of a pair may be given; they are
        two edges.
    edge_features : array-like of shape (m, d_e), default=None
        Without them all edges have the same table of weights.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.Graph(nodes=[[0.5], [1.0], [0.0]], edges=[(0, 1), (1, 2)]).edges
    [(0, 1), (1, 2)]
    """

    nodes: Any
    edges: Any
    edge_features: Any = None


class Graphs(NamedTuple):
    """Checked graphs as one batch: node features (N, d), nodes of each graph, edges (E, 2) numbered
    through the batch, edges of each graph, and edge features (E, d_e) or None."""

    x: Any
    lengths: np.ndarray
    edges: np.ndarray
    edge_counts: np.ndarray
    edge_x: np.ndarray | None


def read_graphs(items: Sequence[Any]) -> Graphs:
    """All graphs as one batch; an error names the graph by its number."""
    graphs = [_checked(_as_graph(item, i), i) for i, item in enumerate(items)]
    _same_width([g.nodes for g in graphs], "node features")
    with_features = [g.edge_features is not None for g in graphs]
    needed = [with_ or len(g.edges) == 0 for with_, g in zip(with_features, graphs)]
    if any(with_features) and not all(needed):
        raise ValueError(
            f"graph {needed.index(False)} has edges without features, "
            f"graph {with_features.index(True)} has edge features: give all or none"
        )
    edge_x = None
    if any(with_features):
        given = [g.edge_features for g in graphs if g.edge_features is not None]
        _same_width(given, "edge features", [i for i, w in enumerate(with_features) if w])
        edge_x = np.concatenate(given)
    lengths = np.array([g.nodes.shape[0] for g in graphs])
    starts = np.cumsum(lengths) - lengths
    edges = np.concatenate([g.edges + start for g, start in zip(graphs, starts)])
    if any(sp.issparse(g.nodes) for g in graphs):
        x = sp.csr_array(sp.vstack([sp.csr_array(g.nodes) for g in graphs]))
    else:
        x = np.concatenate([g.nodes for g in graphs])
    return Graphs(x, lengths, edges, np.array([len(g.edges) for g in graphs]), edge_x)


def _same_width(arrays: list[Any], what: str, numbers: list[int] | None = None) -> None:
    widths = [a.shape[1] for a in arrays]
    for place, width in enumerate(widths):
        if width != widths[0]:
            i, first = (place, 0) if numbers is None else (numbers[place], numbers[0])
            raise ValueError(f"graph {i} has {width} {what}, graph {first} has {widths[0]}")


def _as_graph(item: Any, i: int) -> Graph:
    """One item in any of the forms that are understood."""
    if isinstance(item, Graph):
        return item
    if hasattr(item, "adj") and hasattr(item, "nodes"):
        return _from_networkx(item, i)
    if hasattr(item, "edge_index") and hasattr(item, "x"):
        edges = np.asarray(_detached(item.edge_index))
        if edges.ndim != 2 or edges.shape[0] != 2:
            raise ValueError(f"edge_index of graph {i} must have shape (2, m), got {edges.shape}")
        features = getattr(item, "edge_attr", None)
        if features is not None:
            features = np.asarray(_detached(features))
            features = features[:, None] if features.ndim == 1 else features
        return Graph(_detached(item.x), edges.T, features)
    raise TypeError(
        f"graph {i} is a {type(item).__name__}: give a concordant Graph, a networkx graph, or an "
        "object with x and edge_index"
    )


def _detached(tensor: Any) -> Any:
    """A tensor that NumPy can read: off the tape of derivatives, and off the graphics card."""
    for step in ("detach", "cpu"):
        tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
    return tensor


def _from_networkx(graph: Any, i: int) -> Graph:
    """Nodes and edges in the order in which networkx lists them."""
    number = {node: place for place, node in enumerate(graph.nodes)}
    nodes = [_attribute(data, NODE_KEYS) for _, data in graph.nodes(data=True)]
    if any(features is None for features in nodes):
        missing = list(graph.nodes)[[features is None for features in nodes].index(True)]
        raise ValueError(f"node {missing!r} of graph {i} has no attribute {NODE_KEYS[0]!r}")
    edges, features = [], []
    for a, b, data in graph.edges(data=True):
        edges.append((number[a], number[b]))
        features.append(_attribute(data, EDGE_KEYS))
    known = [f is not None for f in features]
    if any(known) and not all(known):
        a, b = edges[known.index(False)]
        names = list(graph.nodes)
        raise ValueError(
            f"edge ({names[a]!r}, {names[b]!r}) of graph {i} has no attribute {EDGE_KEYS[0]!r}, "
            "others have"
        )
    return Graph(nodes, edges, [np.atleast_1d(f) for f in features] if any(known) else None)


def _attribute(data: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((data[name] for name in names if name in data), None)


def _checked(graph: Graph, i: int) -> Graph:
    """The graph as arrays: nodes float (n, d) or CSR, edges int (m, 2), features float."""
    nodes = _features(graph.nodes, f"nodes of graph {i}")
    n = nodes.shape[0]
    if n == 0:
        raise ValueError(f"graph {i} has no nodes")
    edges = np.asarray(graph.edges)
    edges = np.zeros((0, 2), np.int64) if edges.size == 0 else edges
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"edges of graph {i} must have shape (m, 2), got {edges.shape}")
    if edges.dtype.kind not in "iu":
        raise TypeError(f"edges of graph {i} must be pairs of node numbers, got {edges.dtype}")
    edges = edges.astype(np.int64)
    _check_edges(edges, n, i)
    features = graph.edge_features
    if features is not None:
        if len(edges) == 0 and np.size(features) == 0:
            return Graph(nodes, edges, None)
        features = _features(features, f"edge_features of graph {i}")
        if sp.issparse(features):
            features = features.toarray()
        if len(features) != len(edges):
            raise ValueError(
                f"graph {i} has {len(edges)} edges, but edge_features has {len(features)} rows"
            )
    return Graph(nodes, edges, features)


def _features(values: Any, name: str) -> Any:
    if sp.issparse(values):
        out = sp.csr_array(values).astype(np.float64)
        finite = np.isfinite(out.data)
        if not finite.all():
            row = int(np.searchsorted(out.indptr, int((~finite).argmax()), side="right")) - 1
            raise ValueError(f"{name}: row {row} contains NaN or infinity")
        return out
    try:
        out = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, rows equally many: {error}") from error
    if out.ndim != 2:
        raise ValueError(f"{name} must have shape (rows, features), got {out.shape}")
    finite = np.isfinite(out).all(axis=1)
    if not finite.all():
        raise ValueError(f"{name}: row {int((~finite).argmax())} contains NaN or infinity")
    return out


def _check_edges(edges: np.ndarray, n: int, i: int) -> None:
    outside = ((edges < 0) | (edges >= n)).any(axis=1)
    if outside.any():
        e = int(outside.argmax())
        raise ValueError(
            f"edge {e} of graph {i} is {tuple(map(int, edges[e]))}, but its nodes are 0 to {n - 1}"
        )
    loops = edges[:, 0] == edges[:, 1]
    if loops.any():
        e = int(loops.argmax())
        raise ValueError(f"edge {e} of graph {i} joins node {int(edges[e, 0])} with itself")
    _, first, counts = np.unique(edges @ [n, 1], return_index=True, return_counts=True)
    if (counts > 1).any():
        e = int(first[(counts > 1).argmax()])
        pair = tuple(map(int, edges[e]))
        raise ValueError(
            f"graph {i} lists edge {pair} more than once; add up its features instead (the "
            "opposite direction is an edge of its own)"
        )
