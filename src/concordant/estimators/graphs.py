"""Graphs as users have them: `Graph`, networkx graphs, and objects like PyTorch Geometric's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Attributes of a networkx node or edge that hold its features; the first that is there.
NODE_KEYS, EDGE_KEYS = ("x", "features"), ("edge_attr", "features")


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes to label, and edges between them.

    Parameters
    ----------
    nodes : array-like or sparse matrix of shape (n_nodes, d), or list
        Features of the nodes: numbers, or a dictionary or a list of strings a node.
    edges : array-like of shape (m, 2)
        Pairs of node numbers. An edge is ordered: its score is a table indexed by the label of
        its first node and that of its second. Both directions of a pair may be given; they are
        two edges.
    edge_features : array-like of shape (m, d_e), or list, default=None
        In the same forms. Without them all edges have the same table of weights.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.Graph(nodes=[[0.5], [1.0], [0.0]], edges=[(0, 1), (1, 2)]).edges
    [(0, 1), (1, 2)]
    """

    nodes: Any
    edges: Any
    edge_features: Any = None


def all_edges(graphs: list[Graph], lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All edges (E, 2), numbered through the batch, and how many each graph has."""
    edges = [checked_edges(g.edges, int(n), i) for i, (g, n) in enumerate(zip(graphs, lengths))]
    starts = np.cumsum(lengths) - lengths
    moved = [own + start for own, start in zip(edges, starts)]
    return np.concatenate(moved), np.array([len(own) for own in edges])


def as_graph(item: Any, i: int) -> Graph:
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
    groups = (dict, list, tuple, set)
    rows = [f if isinstance(f, groups) else np.atleast_1d(f) for f in features]
    return Graph(nodes, edges, rows if any(known) else None)


def _attribute(data: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((data[name] for name in names if name in data), None)


def checked_edges(given: Any, n: int, i: int) -> np.ndarray:
    """Edges (m, 2) of graph i with n nodes, or an error that names the bad one."""
    edges = np.asarray(given)
    edges = np.zeros((0, 2), np.int64) if edges.size == 0 else edges
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"edges of graph {i} must have shape (m, 2), got {edges.shape}")
    if edges.dtype.kind not in "iu":
        raise TypeError(f"edges of graph {i} must be pairs of node numbers, got {edges.dtype}")
    edges = edges.astype(np.int64)
    _check_edges(edges, n, i)
    return edges


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
