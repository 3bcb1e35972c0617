"""Tokens of a corpus with sparse features, and which weights there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from concordant.structures.pairwise import offsets_of, spans

#: Sums over sentences are evaluated in at most this many parts, and as many as fit in this memory.
PARTS, PART_BYTES = 4, 2**26


class Features:
    """Sparse features of N tokens in n sentences.

    Parameters
    ----------
    x : CSR matrix of shape (N, d)
        A matrix of ones costs no memory for them.
    lengths : array of shape (n,)
    """

    def __init__(self, x: Any, lengths: np.ndarray):
        x = sp.csr_matrix(x)
        x.sum_duplicates()
        self.n_features = x.shape[1]
        self.indptr = x.indptr.astype(np.int64)
        self.indices = x.indices.astype(np.int32, copy=False)
        binary = x.data.dtype == bool or bool((x.data == 1.0).all())
        self.values = np.zeros(0) if binary else x.data.astype(np.float64, copy=False)
        self.lengths = np.asarray(lengths, dtype=np.int64)
        self.offsets = offsets_of(self.lengths)

    @property
    def n_tokens(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_sentences(self) -> int:
        return len(self.lengths)

    def take(self, chosen: np.ndarray) -> Features:
        """Some of the sentences."""
        tokens = spans(self.offsets, chosen)
        places = spans(self.indptr, tokens)
        out = object.__new__(Features)
        out.n_features = self.n_features
        out.indptr = offsets_of(np.diff(self.indptr)[tokens])
        out.indices = self.indices[places]
        out.values = self.values[places] if len(self.values) else self.values
        out.lengths = self.lengths[chosen]
        out.offsets = offsets_of(out.lengths)
        return out

    def square_norms(self) -> np.ndarray:
        """Sum of squared feature values in each sentence, ``(n,)``."""
        places = self.indptr[self.offsets]
        if not len(self.values):
            return np.diff(places).astype(float)
        return np.diff(np.concatenate([[0.0], np.cumsum(self.values**2)])[places])


class Layout:
    """Which weights there are: ``[node weights | k x k transitions | k intercepts]``.

    Feature f has node weights for the labels ``labels[begin[f]:begin[f + 1]]``, or for all k
    labels if `labels` is empty.
    """

    def __init__(self, begin: np.ndarray, labels: np.ndarray, n_classes: int, fit_intercept: bool):
        self.begin, self.labels = begin, labels
        self.n_classes, self.fit_intercept = n_classes, fit_intercept
        self.n_nodes = int(begin[-1])
        self.n_penalised = self.n_nodes + n_classes**2
        self.size = self.n_penalised + n_classes * fit_intercept

    @classmethod
    def all_pairs(cls, n_features: int, n_classes: int, fit_intercept: bool) -> Layout:
        """A weight for every feature and label."""
        begin = np.arange(n_features + 1, dtype=np.int64) * n_classes
        return cls(begin, np.zeros(0, np.int32), n_classes, fit_intercept)

    @classmethod
    def seen_pairs(
        cls, features: Features, codes: np.ndarray, n_classes: int, fit_intercept: bool
    ) -> Layout:
        """Weights for the pairs of a feature and a label that occur together."""
        from concordant.kernels.tokens import list_pairs, mark_pairs

        marks = np.zeros((features.n_features, (n_classes + 31) // 32), np.uint32)
        mark_pairs(features.indptr, features.indices, codes, marks)
        begin = np.empty(features.n_features + 1, np.int64)
        list_pairs(marks, begin, np.empty(0, np.int32))
        labels = np.empty(begin[-1], np.int32)
        list_pairs(marks, begin, labels)
        return cls(begin, labels, n_classes, fit_intercept)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Views: node weights, transitions (k, k), intercepts (k,) (zeros if there are none)."""
        k = self.n_classes
        transitions = weights[self.n_nodes : self.n_penalised].reshape(k, k)
        free = weights[self.n_penalised :] if self.fit_intercept else np.zeros(k)
        return weights[: self.n_nodes], transitions, free

    def dense(self, weights: np.ndarray) -> np.ndarray:
        """Node weights as a matrix (k, d), zero where there are none."""
        k, d = self.n_classes, len(self.begin) - 1
        node = weights[: self.n_nodes]
        if not len(self.labels):
            return node.reshape(d, k).T.copy()
        out = np.zeros((k, d))
        out[self.labels, np.repeat(np.arange(d), np.diff(self.begin))] = node
        return out


def parts(offsets: np.ndarray, size: int) -> list[tuple[int, int]]:
    """Ranges of sentences with about equally many tokens, one partial gradient each.

    They depend on the data only, so that sums do not depend on the number of threads.
    """
    number = int(np.clip(PART_BYTES // max(8 * size, 1), 2, PARTS))
    n = len(offsets) - 1
    cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], number + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], cuts, [n]]))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist()))
