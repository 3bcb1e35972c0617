"""Graphs whose nodes have labels: forests, graphs of small treewidth, and any others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from concordant.executor import chunks
from concordant.structures.elimination import LIMIT, Elimination, Schedule, eliminate, schedule
from concordant.structures.pairwise import Pairwise, offsets_of, spans

#: Examples a thread takes at a time.
PIECE = 256

#: More nodes than any table has labels of.
DIGITS = 64


class Graph(Pairwise):
    """A batch of graphs of any shapes; see `Pairwise` for the layout.

    Questions are answered exactly by eliminating nodes (`concordant.kernels.junction`) wherever
    the tables stay below `limit` numbers: `width` (n,) is the size of the largest separator, 1 for
    forests. On the other graphs (`exact` is False there) the maximum is bracketed by dual block
    ascent, and marginals are those of the tree-reweighted relaxation: approximations, see
    `concordant.kernels.reweighted`.

    Parameters
    ----------
    lengths : array of shape (n,)
        Nodes of each graph.
    n_classes : int
    edges : array of shape (E, 2)
        Numbered through the batch and grouped by graph. Both directions of a pair are two edges.
    edge_counts : array of shape (n,)
    per_edge : bool, default=False
    node_weight : array of shape (N,), default=None
    limit : int, default=2**20
        Numbers the largest table may have; 0 makes every graph with a cycle approximate.

    Examples
    --------
    >>> import numpy as np
    >>> from concordant.structures import Graph
    >>> triangle = Graph([3], 2, np.array([[0, 1], [1, 2], [0, 2]]), [3])
    >>> triangle.width, triangle.exact
    (array([2]), array([ True]))
    >>> scores = triangle.empty()
    >>> triangle.nodes(scores)[...] = [[1.0, 0.0], [0.0, 0.0], [0.0, 3.0]]
    >>> triangle.tables(scores)[...] = -5.0 * np.eye(2)  # neighbours had better differ
    >>> triangle.decode(scores)
    (array([0, 0, 1]), array([-1.]))
    """

    def __init__(
        self,
        lengths: Any,
        n_classes: int,
        edges: np.ndarray,
        edge_counts: Any,
        per_edge: bool = False,
        node_weight: np.ndarray | None = None,
        limit: int = LIMIT,
    ):
        lengths = np.asarray(lengths, dtype=np.int64)
        if (lengths < 1).any():
            raise ValueError(f"graph {int((lengths < 1).argmax())} has no nodes")
        super().__init__(lengths, n_classes, edge_counts, per_edge, node_weight)
        self._edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        self.limit = limit

    @property
    def edges(self) -> np.ndarray:
        return self._edges

    @cached_property
    def _plan(self) -> Elimination:
        return eliminate(self.offsets, self.edges, self.n_classes, self.limit)

    @cached_property
    def _schedule(self) -> Schedule:
        return schedule(self.offsets, self.edges, self.edge_counts, self.n_classes, self._plan)

    @cached_property
    def width(self) -> np.ndarray:
        """Nodes in the largest separator of each graph; at least so many where not exact."""
        return self._plan.width

    @cached_property
    def exact(self) -> np.ndarray:
        """Whether each graph is small enough in width for exact answers."""
        return self._plan.feasible

    def _some(self, chosen: np.ndarray, node_weight: np.ndarray) -> Graph:
        places = offsets_of(self.edge_counts)
        counts = self.edge_counts[chosen]
        moved = offsets_of(self.lengths[chosen])[:-1] - self.offsets[chosen]
        edges = self.edges[spans(places, chosen)] + np.repeat(moved, counts)[:, None]
        some = Graph(
            self.lengths[chosen],
            self.n_classes,
            edges,
            counts,
            self.per_edge,
            node_weight,
            self.limit,
        )
        # What is known of these graphs need not be found again.
        some.__dict__.update(width=self.width[chosen], exact=self.exact[chosen])
        some.__dict__["_schedule"] = self._schedule.take(chosen)
        return some

    # Exact answers.

    def _question(self, scores: np.ndarray) -> tuple[Any, ...]:
        """The arguments that all kernels of `concordant.kernels.junction` begin with, but for the
        examples asked about."""
        scores = np.require(scores, np.float64, ["C", "W"])
        steps, starts, _ = self._schedule
        tables = np.ascontiguousarray(self.allowed(scores)).reshape(-1)
        return steps, starts, self.nodes(scores), tables, self.table_of_edge

    def _for_exact(self, run: Callable[[np.ndarray, int, int], None]) -> None:
        """Call ``run(examples, largest table, largest sum of messages)`` on pieces of the batch."""
        _, starts, largest = self._schedule
        examples, messages = np.flatnonzero(self.exact), np.diff(starts[:, 4])

        def piece(rows: slice) -> None:
            some = examples[rows]
            run(some, int(largest[some].max()), int(messages[some].max()))

        self.executor.map(piece, chunks(len(examples), PIECE))

    def decode(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels, values, _ = self._bracket(scores)
        return labels, values

    def _bracket(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels of every node, their scores, and upper bounds on any answer's score."""
        from concordant.kernels.junction import best

        labels, values = np.zeros(self.n_nodes, np.int64), np.empty(self.n_examples)
        question = self._question(scores)

        def run(examples: np.ndarray, table: int, messages: int) -> None:
            choice = np.empty((2, messages), np.int64)
            best(
                examples, *question, np.empty(table), np.empty(messages), choice[0], choice[1],
                np.empty(DIGITS, np.int64), labels, values,
            )  # fmt: skip

        self._for_exact(run)
        if self.exact.all():
            return labels, values, values
        from concordant.structures.loopy import bracket

        return bracket(self, scores, labels, values)

    def argmax(self, scores: np.ndarray) -> np.ndarray:
        """Best labellings; of graphs that are not exact, the best found."""
        return self.parts([self.decode(scores)[0]])

    def maximum(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels, _, upper = self._bracket(scores)
        return upper, self.parts([labels])

    def marginals(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log-partitions and expected parts; of graphs that are not exact, the relaxation's."""
        from concordant.kernels.junction import marginals

        mu, partition = np.zeros(len(self.empty())), np.empty(self.n_examples)
        question = self._question(scores)
        nodes, pairs = self.nodes(mu), self.tables(mu).reshape(-1)

        def run(examples: np.ndarray, table: int, messages: int) -> None:
            marginals(
                examples, *question, np.empty(messages * self.n_classes), np.empty(messages),
                np.empty(DIGITS, np.int64), partition, nodes, pairs,
            )  # fmt: skip

        self._for_exact(run)
        if not self.exact.all():
            from concordant.structures.loopy import marginals as reweighted

            reweighted(self, scores, partition, mu)
        return partition, mu

    def entropy(self, mu: np.ndarray) -> np.ndarray:
        """Edges less the nodes counted too often, which is exact on forests."""
        if not self.per_edge:
            raise TypeError(
                "summed marginals of neighbours do not determine an entropy; "
                "use per_edge=True, or the log-partition of the scores they came from"
            )
        if (self.width > 1).any():
            raise TypeError(
                f"graph {int((self.width > 1).argmax())} has cycles: marginals of its edges do not "
                "determine an entropy; use the log-partition of the scores they came from"
            )
        from scipy.special import entr

        h = entr(np.maximum(mu, 0.0))
        ordered = np.sort(self.edges, axis=1)
        _, first = np.unique(ordered @ [self.n_nodes, 1], return_index=True)
        counted = np.zeros(len(self.edges))
        counted[first] = 1.0  # both directions of a pair hold the same information
        degree = np.bincount(self.edges[first].ravel(), minlength=self.n_nodes)
        self.nodes(h)[...] *= (1.0 - degree)[:, None]
        self.tables(h)[...] *= counted[:, None, None]
        return self.per_example(h)

    def sample(self, scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        from concordant.kernels.junction import sample

        self._need_exact("sampling")
        labels = np.empty(self.n_nodes, np.int64)
        question, uniform = self._question(scores), rng.random(self.n_nodes)

        def run(examples: np.ndarray, table: int, messages: int) -> None:
            choice = np.empty((2, messages), np.int64)
            sample(
                examples, *question, np.empty(messages * self.n_classes), np.empty(messages),
                choice[0], choice[1], np.empty(DIGITS, np.int64), uniform, labels,
            )  # fmt: skip

        self._for_exact(run)
        return labels

    def _need_exact(self, what: str) -> None:
        if not self.exact.all():
            i = int((~self.exact).argmax())
            raise ValueError(
                f"{what} needs exact inference, but graph {i} has width {self.width[i]} or more "
                f"under the min-fill order: a table of {self.n_classes}**{self.width[i] + 1} "
                "numbers; remove edges, or use approximate argmax and marginals"
            )

    def k_best(self, scores: np.ndarray, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
        from concordant.structures.ranked import k_best

        self._need_exact("the list of best answers")
        return [k_best(self, scores, i, number) for i in range(self.n_examples)]
