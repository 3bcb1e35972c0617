"""Sequences of labels: a node a position, an edge between neighbours."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from concordant.structures.pairwise import Pairwise


class Chain(Pairwise):
    """A batch of label sequences of any lengths from 1; see `Pairwise` for the layout.

    Parameters
    ----------
    lengths : array of shape (n,)
    n_classes : int
    per_edge : bool, default=False
        Whether every edge has a table of its own. If not, the entropy of a point is not known:
        summed marginals of neighbours do not determine it.
    node_weight : array of shape (N,), default=None

    Examples
    --------
    >>> import numpy as np
    >>> from concordant.structures import Chain
    >>> chain = Chain([2, 1], 2)
    >>> mu = chain.parts([np.array([0, 1]), np.array([1])])
    >>> chain.nodes(mu)
    array([[1., 0.],
           [0., 1.],
           [0., 1.]])
    >>> chain.tables(mu)[0]
    array([[0., 1.],
           [0., 0.]])
    """

    def __init__(
        self,
        lengths: Any,
        n_classes: int,
        per_edge: bool = False,
        node_weight: np.ndarray | None = None,
    ):
        lengths = np.asarray(lengths, dtype=np.int64)
        if (lengths < 1).any():
            raise ValueError(f"sequence {int((lengths < 1).argmax())} is empty")
        super().__init__(lengths, n_classes, lengths - 1, per_edge, node_weight)
        self.longest = int(lengths.max(initial=0))

    @cached_property
    def edges(self) -> np.ndarray:
        left = np.delete(np.arange(self.n_nodes), self.offsets[1:] - 1)
        return np.column_stack([left, left + 1])

    def _some(self, chosen: np.ndarray, node_weight: np.ndarray) -> Chain:
        return Chain(self.lengths[chosen], self.n_classes, self.per_edge, node_weight)

    def _question(self, scores: np.ndarray) -> tuple[Any, ...]:
        """The arguments that all kernels of `concordant.kernels.chains` begin with."""
        scores = np.require(scores, np.float64, ["C", "W"])
        first, tables = self.table_offsets[:-1], self.allowed(scores)
        return self.nodes(scores), tables, self.offsets, first, int(self.per_edge)

    def decode(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from concordant.kernels.chains import viterbi

        labels, values = np.empty(self.n_nodes, np.int64), np.empty(self.n_examples)
        viterbi(*self._question(scores), np.empty((self.longest, self.n_classes)), labels, values)
        return labels, values

    def argmax(self, scores: np.ndarray) -> np.ndarray:
        """Viterbi's algorithm."""
        return self.parts([self.decode(scores)[0]])

    def marginals(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Forward-backward."""
        from concordant.kernels.chains import marginals

        k, mu = self.n_classes, np.zeros(len(self.empty()))
        partition = np.empty(self.n_examples)
        work, small = np.empty((2, self.longest, k)), np.empty((3 * k + 3, k))
        norm, go = np.empty(self.longest), np.empty((self.longest, k, k))
        nodes, tables = self.nodes(mu), self.tables(mu)
        marginals(*self._question(scores), work, small, norm, go, partition, nodes, tables)
        return partition, mu

    def entropy(self, mu: np.ndarray) -> np.ndarray:
        """Edges less the nodes counted twice, which is exact on chains."""
        if not self.per_edge and self.longest > 2:
            raise TypeError(
                "summed marginals of neighbours do not determine an entropy; "
                "use per_edge=True, or the log-partition of the scores they came from"
            )
        from scipy.special import entr

        h = entr(np.maximum(mu, 0.0))
        share = np.full(self.n_nodes, -1.0)  # an inner node is in two edges
        share[self.offsets[:-1]] = share[self.offsets[1:] - 1] = 0.0
        share[self.offsets[:-1][self.lengths == 1]] = 1.0  # in none
        self.nodes(h)[...] *= share[:, None]
        return self.per_example(h)

    def sample(self, scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        from concordant.kernels.chains import sample

        labels = np.empty(self.n_nodes, np.int64)
        k = self.n_classes
        small, go = np.empty((3, k)), np.empty((self.longest, k, k))
        sample(*self._question(scores), small, go, rng.random(self.n_nodes), labels)
        return labels

    def k_best(self, scores: np.ndarray, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
        from concordant.kernels.chains import k_best

        nodes, tables, offsets, first, step = self._question(scores)
        k, out = self.n_classes, []
        for i in range(self.n_examples):
            T = int(self.lengths[i])
            ranked, came = np.empty((T, k, number)), np.zeros((T, k, number), np.int64)
            kept = np.empty((1, number))
            here = nodes[offsets[i] : offsets[i + 1]]
            labels = k_best(here, tables, first[i], step, ranked, came, kept)
            out.append((labels, kept[0, : len(labels)].copy()))
        return out
