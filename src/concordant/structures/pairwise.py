"""Answers that label the nodes of chains and graphs: what their batches have in common.

A batch has N nodes, each with one of k labels, and edges between nodes of one example. The part
array is flat: the (N, k) node indicators of all examples, then M tables (k, k) of neighbouring
labels, indexed ``[label at the edge's first node, label at its second]``. There are two forms:

- one table an example: its edges share their scores, and its parts count how often each pair of
  labels occurs. Marginals are summed over the example's edges, so that a corpus takes memory for
  its nodes and not k times as much;
- one table an edge, where edges have scores of their own.

Weights of nodes, which multiply the loss there, belong to the batch (`node_weight`), so that a
loss stays a plain cost matrix and `take` keeps the two together.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from concordant.executor import SERIAL, Executor
from concordant.structures.base import PartLoss, Structure


def spans(offsets: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Indices of the rows ``offsets[i]:offsets[i + 1]`` of each chosen i, one after another."""
    sizes = offsets[chosen + 1] - offsets[chosen]
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(offsets[chosen] - ends + sizes, sizes)


def offsets_of(sizes: Any) -> np.ndarray:
    """Where each of these consecutive spans begins, and where the last ends."""
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))])


class Pairwise(Structure):
    """A batch of labelled chains or graphs. Targets hold an integer array of codes an example.

    Parameters
    ----------
    lengths : array of shape (n,)
        Nodes of each example.
    n_classes : int
    edge_counts : array of shape (n,)
    per_edge : bool
        Whether every edge has a table of its own.
    node_weight : array of shape (N,), default=None
        Multiplies the loss at each node; ones by default.
    """

    def __init__(
        self,
        lengths: Any,
        n_classes: int,
        edge_counts: Any,
        per_edge: bool,
        node_weight: np.ndarray | None = None,
    ):
        self.lengths = np.asarray(lengths, dtype=np.int64)
        self.n_examples, self.n_classes = len(self.lengths), n_classes
        self.offsets = offsets_of(self.lengths)
        self.edge_counts = np.asarray(edge_counts, dtype=np.int64)
        self.per_edge = per_edge
        self.n_nodes = int(self.offsets[-1])
        tables = self.edge_counts if per_edge else np.ones(self.n_examples, np.int64)
        self.table_offsets = offsets_of(tables)
        self.node_weight = np.ones(self.n_nodes) if node_weight is None else node_weight
        #: Pairs of labels (k, k) that no edge may have, True where forbidden; None for none.
        self.forbidden: np.ndarray | None = None
        self.executor: Executor = SERIAL

    @property
    @abstractmethod
    def edges(self) -> np.ndarray:
        """Both nodes of every edge of the batch, ``(E, 2)``, numbered through the batch."""

    @abstractmethod
    def _some(self, chosen: np.ndarray, node_weight: np.ndarray) -> Pairwise:
        """The batch of these examples."""

    @abstractmethod
    def decode(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels of every node in the best answers (N,), and their scores (n,)."""

    @abstractmethod
    def sample(self, scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Labels of every node (N,), drawn from the distribution exp(scores)."""

    @abstractmethod
    def k_best(self, scores: np.ndarray, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """The best answers of each example, best first: labels (m, T) and scores (m,)."""

    # Layout.

    def nodes(self, a: np.ndarray) -> np.ndarray:
        """The node part of a part array, as a view ``(N, k)``."""
        return a[: self.n_nodes * self.n_classes].reshape(self.n_nodes, self.n_classes)

    def tables(self, a: np.ndarray) -> np.ndarray:
        """The edge part of a part array, as a view ``(M, k, k)``."""
        k = self.n_classes
        return a[self.n_nodes * k :].reshape(-1, k, k)

    def empty(self) -> np.ndarray:
        """A part array with nothing in it yet."""
        k = self.n_classes
        return np.empty(self.n_nodes * k + int(self.table_offsets[-1]) * k * k)

    @cached_property
    def node_owner(self) -> np.ndarray:
        """The example of each node."""
        return np.repeat(np.arange(self.n_examples), self.lengths)

    @cached_property
    def table_owner(self) -> np.ndarray:
        """The example of each table."""
        return np.repeat(np.arange(self.n_examples), np.diff(self.table_offsets))

    @cached_property
    def table_of_edge(self) -> np.ndarray:
        """Which table each edge uses."""
        if self.per_edge:
            return np.arange(int(self.edge_counts.sum()))
        return np.repeat(np.arange(self.n_examples), self.edge_counts)

    def per_example(self, a: np.ndarray) -> np.ndarray:
        """Sum of a part array's entries within each example."""
        n = self.n_examples
        nodes = np.bincount(self.node_owner, self.nodes(a).sum(axis=1), n)
        return nodes + np.bincount(self.table_owner, self.tables(a).sum(axis=(1, 2)), n)

    # The contract of a structure.

    def parts(self, target: Any) -> np.ndarray:
        if isinstance(target, PartTarget):
            return target.mu.copy()
        codes = np.concatenate([np.zeros(0, np.int64), *target])
        mu = np.zeros(len(self.empty()))
        self.nodes(mu)[np.arange(self.n_nodes), codes] = 1.0
        left, right = codes[self.edges].T
        place = (self.table_of_edge * self.n_classes + left) * self.n_classes + right
        tables = self.tables(mu).reshape(-1)
        tables += np.bincount(place, minlength=len(tables))
        return mu

    def dot(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self.per_example(a * b)

    def scale(self, factor: np.ndarray, a: np.ndarray) -> np.ndarray:
        out = a.copy()
        self.nodes(out)[...] *= factor[self.node_owner, None]
        self.tables(out)[...] *= factor[self.table_owner, None, None]
        return out

    def take(self, rows: slice | np.ndarray) -> tuple[Pairwise, np.ndarray]:
        chosen = np.arange(self.n_examples)[rows]
        k = self.n_classes
        nodes = spans(self.offsets, chosen)
        tables = spans(self.table_offsets, chosen)
        where = np.concatenate(
            [
                (nodes[:, None] * k + np.arange(k)).ravel(),
                (self.n_nodes * k + tables[:, None] * k * k + np.arange(k * k)).ravel(),
            ]
        )
        some = self._some(chosen, self.node_weight[nodes])
        some.forbidden = self.forbidden
        return some, where

    def independent(self, share: np.ndarray) -> np.ndarray:
        """Expected parts of nodes labelled independently, by these distributions (N, k)."""
        mu = np.zeros(len(self.empty()))
        self.nodes(mu)[...] = share
        left, right = share[self.edges.T]
        np.add.at(self.tables(mu), self.table_of_edge, left[:, :, None] * right[:, None, :])
        return mu

    def keep_only(self, scores: np.ndarray, rows: np.ndarray, codes: np.ndarray) -> None:
        """Forbid, in place, every other label at these nodes."""
        nodes = self.nodes(scores)
        kept = nodes[rows, codes].copy()
        nodes[rows] = -np.inf
        nodes[rows, codes] = kept

    def allowed(self, scores: np.ndarray) -> np.ndarray:
        """The tables of these scores, with minus infinity at forbidden pairs."""
        tables = self.tables(scores)
        return tables if self.forbidden is None else np.where(self.forbidden, -np.inf, tables)

    def maximum(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels, values = self.decode(scores)
        return values, self.parts([labels])

    def codes_of(self, labels: np.ndarray) -> list[np.ndarray]:
        """Flat node labels as one array an example."""
        return np.split(labels, self.offsets[1:-1])

    def loss(self, loss: Any) -> NodeCosts:
        """Accepts a cost matrix, or costs that are bound already."""
        return loss if isinstance(loss, NodeCosts) else NodeCosts(self, loss)


class PartTarget:
    """Answers that are not all known: in their place, the expected parts of each example."""

    def __init__(self, structure: Pairwise, mu: np.ndarray):
        self.structure, self.mu = structure, mu

    def __len__(self) -> int:
        return self.structure.n_examples

    def __getitem__(self, rows: slice | np.ndarray) -> PartTarget:
        some, where = self.structure.take(rows)
        return PartTarget(some, self.mu[where])


class NodeCosts(PartLoss):
    """A cost matrix ``costs[action, truth]`` summed over nodes, each with its weight.

    On part arrays actions are labels (a square matrix); `at_nodes` also knows others.
    """

    def __init__(self, structure: Pairwise, costs: Any):
        self.structure = structure
        self.costs = np.ascontiguousarray(costs, dtype=float)
        if self.costs.shape[1] != structure.n_classes:
            raise ValueError(
                f"the loss prices {self.costs.shape[1]} labels, the batch has {structure.n_classes}"
            )
        largest = float(self.structure.node_weight.max(initial=0.0)) * float(self.costs.max())
        self.scale = largest or 1.0  # free of charge: any unit will do

    def on(self, structure: Structure) -> NodeCosts:
        assert isinstance(structure, Pairwise)
        return NodeCosts(structure, self.costs)

    def at_nodes(self, q: np.ndarray) -> np.ndarray:
        """Expected cost of each action at each node, ``(N, r)``, for node marginals (N, k)."""
        return self.structure.node_weight[:, None] * (q @ self.costs.T)

    def raised(self, p: np.ndarray) -> np.ndarray:
        """Expected cost of node strategies (N, r) at each node and truth, ``(N, k)``."""
        return self.structure.node_weight[:, None] * (p @ self.costs)

    def of_actions(self, q: np.ndarray) -> np.ndarray:
        out = np.zeros_like(q)
        self.structure.nodes(out)[...] = self.at_nodes(self.structure.nodes(q))
        return out

    def of_truths(self, p: np.ndarray) -> np.ndarray:
        out = np.zeros_like(p)
        self.structure.nodes(out)[...] = self.raised(self.structure.nodes(p))
        return out
