"""One (label, choice) pair a bag: parts are the cells of a ragged table, choices × labels.

The choices of all bags of a batch stand below each other: bag i has the rows
``offsets[i]..offsets[i+1]`` of every part array, which has one column a label, ``(N, k)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.structures.base import PartLoss, Structure


class Pairs(Structure):
    """A batch of bags, one (label, choice) pair each; targets are (codes, choices)."""

    def __init__(self, offsets: np.ndarray, n_classes: int, examples: np.ndarray | None = None):
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.n_classes = n_classes
        self.n_examples = len(offsets) - 1
        self.sizes = np.diff(self.offsets)
        #: Where these examples stood in the batch they were taken from.
        self.examples = np.arange(self.n_examples) if examples is None else examples

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a part array."""
        return int(self.offsets[-1]), self.n_classes

    def parts(self, target: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        labels, choices = target
        mu = np.zeros(self.shape)
        mu[self.offsets[:-1] + choices, labels] = 1.0
        return mu

    def spread(self, values: np.ndarray) -> np.ndarray:
        """One value an example, repeated for each of its choices."""
        return np.repeat(values, self.sizes)

    def largest(self, scores: np.ndarray) -> np.ndarray:
        """Largest entry within each example, along the first axis."""
        return np.maximum.reduceat(scores, self.offsets[:-1], axis=0)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sum within each example, along the first axis."""
        return np.add.reduceat(values, self.offsets[:-1], axis=0)

    def dot(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self.total(np.einsum("ij,ij->i", a, b))

    def scale(self, factor: np.ndarray, a: np.ndarray) -> np.ndarray:
        return self.spread(factor)[:, None] * a

    def take(self, rows: slice | np.ndarray) -> tuple[Pairs, slice | np.ndarray]:
        examples = np.arange(self.n_examples)[rows]
        sizes = self.sizes[examples]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
        index = np.repeat(self.offsets[examples], sizes) + inside
        return Pairs(offsets, self.n_classes, examples), index

    def best(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Label and choice of the largest score of each example; of equals the first choice."""
        return self._unravel(self.first_largest(scores.max(axis=1)), scores)

    def _unravel(self, choices: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return scores[self.offsets[:-1] + choices].argmax(axis=1), choices

    def first_largest(self, values: np.ndarray) -> np.ndarray:
        """The first choice with the largest of these values, ``(N,)``, in each example."""
        top = values == self.spread(self.largest(values))
        rows = np.flatnonzero(top)
        owner = np.searchsorted(self.offsets, rows, side="right") - 1
        first = np.unique(owner, return_index=True)[1]
        return rows[first] - self.offsets[:-1]

    def argmax(self, scores: np.ndarray) -> np.ndarray:
        return self.parts(self.best(scores))

    def marginals(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        top = self.largest(scores.max(axis=1))
        mu = np.exp(scores - self.spread(top)[:, None])
        total = self.total(mu.sum(axis=1))
        return top + np.log(total), mu / self.spread(total)[:, None]

    def entropy(self, mu: np.ndarray) -> np.ndarray:
        from scipy.special import entr

        return self.total(entr(np.maximum(mu, 0.0)).sum(axis=1))

    def loss(self, loss: PairCosts) -> PairCosts:
        """Costs that are bound to this batch already."""
        if not isinstance(loss, PairCosts):
            raise TypeError("costs of pairs must be bound to their bags, as `PairCosts`")
        return loss


class PairCosts(PartLoss):
    """A loss on (label, choice) pairs, bound to a batch of bags.

    `arrays` are what the kernels see: (kind, offsets, labels, geometry, table, start, weight),
    as `kernels.bags` explains them. `scale` is the largest cost.
    """

    def __init__(self, structure: Pairs, arrays: tuple[Any, ...], scale: float):
        self.structure = structure
        self.arrays = arrays
        self.scale = scale

    def on(self, structure: Structure) -> PairCosts:
        assert isinstance(structure, Pairs)
        kind, _, labels, geometry, table, start, weight = self.arrays
        _, index = self.structure.take(structure.examples)
        if geometry.shape[1]:
            geometry = np.ascontiguousarray(geometry[:, index])
        if len(start):
            start = start[structure.examples]
        weight = weight[structure.examples]
        arrays = (kind, structure.offsets, labels, geometry, table, start, weight)
        return PairCosts(structure, arrays, self.scale)

    def of_actions(self, q: np.ndarray) -> np.ndarray:
        return self._over_labels(q, of_answers=False)

    def of_truths(self, p: np.ndarray) -> np.ndarray:
        return self._over_labels(p, of_answers=True)

    def _over_labels(self, mu: np.ndarray, of_answers: bool) -> np.ndarray:
        from concordant.kernels.bags import expected_over_labels

        out, largest = np.empty(self.structure.shape), int(self.structure.sizes.max())
        n = self.structure.n_examples
        mu = np.ascontiguousarray(mu, dtype=float)
        work, row = np.empty(largest), np.empty(largest)
        expected_over_labels(self.arrays, 0, n, mu, of_answers, work, row, out)
        return out

    def expected(self, target: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Cost of every answer, ``(N, k)``, when the label is `target` and the choice is
        distributed as `p`, ``(N,)``."""
        from concordant.kernels.bags import expected_costs

        out = np.empty(self.structure.shape)
        work = np.empty(int(self.structure.sizes.max()))
        expected_costs(self.arrays, 0, self.structure.n_examples, target, p, work, out)
        return out

    def of_pairs(
        self, answer: tuple[np.ndarray, np.ndarray], truth: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """Cost of one answer (codes, choices) an example under one truth."""
        at = self.structure.offsets[:-1]
        p = np.zeros(self.structure.shape[0])
        p[at + truth[1]] = 1.0
        return self.expected(truth[0], p)[at + answer[1], answer[0]]
