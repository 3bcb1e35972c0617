"""Decoders of sets of labels and of rows of discrete entries."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp

from concordant.losses.sets import FMeasure, Hamming, Jaccard
from concordant.outputs.base import Decoder, Options, distinct, indicators
from concordant.outputs.candidates import checked

#: Up to so many labels all their sets are looked at.
MOST_LABELS = 12


class Entries(Decoder):
    """Hamming loss: every entry takes the value of largest weight."""

    def __init__(self, loss: Hamming, truths: np.ndarray, options: Options):
        self.values, tables = [], []
        for column in truths.T:
            values, codes = np.unique(column, return_inverse=True)
            self.values.append(values)
            tables.append(indicators(codes, len(values)))
        self.targets = sp.hstack(tables, format="csr")
        self.start = np.cumsum([0] + [len(values) for values in self.values])

    def decode(self, sums: np.ndarray) -> np.ndarray:
        chosen = [values[sums[:, a:b].argmax(axis=1)]
                  for values, a, b in zip(self.values, self.start, self.start[1:])]  # fmt: skip
        return np.column_stack(chosen)


class SizedSets(Decoder):
    """F measure: for each size of the answer the labels of largest weight, then the best size.

    With k labels answered the measure is a sum over labels, ``(1 + b) y'_j / (k + b |y'|)`` with
    ``b = beta**2``, so only the weights of (label, size of truth) are needed.
    """

    def __init__(self, loss: FMeasure, truths: np.ndarray, options: Options):
        self.square = loss.beta**2
        sizes = truths.sum(axis=1)
        self.sizes = np.unique(sizes)
        self.n_labels = truths.shape[1]
        parts = [sp.csr_matrix(truths * (sizes == size)[:, None], dtype=float)
                 for size in self.sizes]  # fmt: skip
        empty = sp.csr_matrix((sizes == 0).astype(float)[:, None])
        self.targets = sp.hstack([*parts, empty], format="csr")

    def decode(self, sums: np.ndarray) -> np.ndarray:
        weights = sums[:, :-1].reshape(len(sums), len(self.sizes), self.n_labels)
        best = sums[:, -1].copy()  # the empty answer is right for empty truths only
        out = np.zeros((len(sums), self.n_labels), dtype=np.int8)
        for size in range(1, self.n_labels + 1):
            scale = (1.0 + self.square) / (size + self.square * self.sizes)
            gain = np.einsum("isj,s->ij", weights, scale)
            top = np.argpartition(-gain, size - 1, axis=1)[:, :size]
            total = np.take_along_axis(gain, top, axis=1).sum(axis=1)
            better = np.flatnonzero(total > best)
            best[better] = total[better]
            out[better] = 0
            out[better[:, None], top[better]] = 1
        return out


class Sets(Decoder):
    """Jaccard loss: all sets of a dozen labels; with more, a search by single changes.

    The search starts at the best training set and at the sets that are best for the F measure
    (which orders single answers as Jaccard's does), and adds or drops labels while that helps.
    """

    def __init__(self, loss: Jaccard, truths: np.ndarray, options: Options):
        self.loss = loss
        self.truths, self.targets = distinct(truths)
        n_labels = truths.shape[1]
        self.exact = n_labels <= MOST_LABELS
        if self.exact:
            self.guarantee = "exact: all sets are looked at"
            self.actions = np.array(list(itertools.product((0, 1), repeat=n_labels)), dtype=np.int8)
        else:
            self.guarantee = (
                "approximate without a bound: no worse than the best training output, and no "
                "single label added or dropped improves it"
            )
            self.actions = self.truths
            self.by_size = SizedSets(FMeasure(), self.truths, options)
        self.costs = checked(loss.table(self.actions, self.truths), self.actions, self.truths).T

    def decode(self, sums: np.ndarray) -> np.ndarray:
        values = sums @ self.costs
        chosen = self.actions[values.argmin(axis=1)]
        if self.exact:
            return chosen
        other = self.by_size.decode(sums @ self.by_size.targets)
        return np.stack([min((self._improve(s, w) for s in (a, b)), key=_value)[1]
                         for a, b, w in zip(chosen, other, sums)])  # fmt: skip

    def _improve(self, start: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
        now, lowest = start, float(self.loss.table(start[None], self.truths)[0] @ weights)
        slack = 1e-12 * float(np.abs(weights).sum())
        while True:
            changed = now ^ np.eye(len(now), dtype=np.int8)
            values = self.loss.table(changed, self.truths) @ weights
            best = int(values.argmin())
            if not values[best] < lowest - slack:
                return lowest, now
            now, lowest = changed[best], float(values[best])


def _value(found: tuple[float, np.ndarray]) -> float:
    return found[0]
