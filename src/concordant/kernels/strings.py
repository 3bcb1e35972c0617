"""Edit distances between many sequences of symbol codes."""

from __future__ import annotations

import numpy as np

from concordant.kernels.vector import kernel


@kernel
def _distance(a, b, substitution, insertion, deletion, row):
    """Least cost of edits that turn a into b; `row` is scratch of length ``len(b) + 1``."""
    for j in range(b.shape[0] + 1):
        row[j] = j * insertion
    for i in range(a.shape[0]):
        corner, row[0] = row[0], (i + 1) * deletion
        for j in range(b.shape[0]):
            change = corner if a[i] == b[j] else corner + substitution
            corner = row[j + 1]
            row[j + 1] = min(change, min(corner + deletion, row[j] + insertion))
    return row[b.shape[0]]


@kernel
def _fill(first, first_offsets, second, second_offsets, prices, row, out):
    for i in range(out.shape[0]):
        a = first[first_offsets[i] : first_offsets[i + 1]]
        for j in range(out.shape[1]):
            b = second[second_offsets[j] : second_offsets[j + 1]]
            out[i, j] = _distance(a, b, prices[0], prices[1], prices[2], row)


def distances(
    first: np.ndarray,
    first_offsets: np.ndarray,
    second: np.ndarray,
    second_offsets: np.ndarray,
    substitution: float,
    insertion: float,
    deletion: float,
) -> np.ndarray:
    """Distances from every sequence of one batch to every one of another."""
    out = np.empty((len(first_offsets) - 1, len(second_offsets) - 1))
    longest = int(np.diff(second_offsets).max(initial=0))
    prices = np.array([substitution, insertion, deletion])
    _fill(first, first_offsets, second, second_offsets, prices, np.empty(longest + 1), out)
    return out
