"""Where the parts of a batch of assignments lie: one flat array, grid after grid."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from concordant.structures.base import Structure


class Places(NamedTuple):
    """Where the parts of each kind lie in the part array."""

    pairs: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


class Grids(Structure):
    """The layout of a ragged batch of assignments, and its answers as tables and parts."""

    rows: np.ndarray
    columns: np.ndarray
    partial: bool
    allowed: np.ndarray

    def _lay_out(self, slack: int) -> None:
        n, m = self.rows, self.columns
        self.slack = slack
        self.kind = np.where(n == m, 0, np.where(n < m, 1, 2))
        if slack:  # no square kind among empty examples
            self.kind[(n == 0) & (m == 0)] = 1
        if self.partial:
            self.kind[:] = 3
        self.n_examples = len(n)
        self.row_sizes = np.repeat(m + slack, n + slack)
        self.row_starts = np.r_[0, np.cumsum(self.row_sizes)[:-1]]
        self.sizes = (n + slack) * (m + slack)
        self.starts = np.r_[0, np.cumsum(self.sizes)]
        self.width = int(n.max(initial=0))  # of a table of answers

    def grids(self, a: np.ndarray) -> list[np.ndarray]:
        """Each example's parts, as a view (rows + slack, columns + slack)."""
        s = self.slack
        return [
            a[lo:hi].reshape(n + s, m + s)
            for lo, hi, n, m in zip(self.starts, self.starts[1:], self.rows, self.columns)
        ]

    def pairs(self, a: np.ndarray) -> list[np.ndarray]:
        """Each example's pairs, without what is alone, as a view (rows, columns)."""
        return [g[:n, :m] for g, n, m in zip(self.grids(a), self.rows, self.columns)]

    @cached_property
    def places(self) -> Places:
        """Pairs in the order of example, row, column; then rows alone; columns alone."""
        s = self.slack
        e, pair = _ragged(self.rows * self.columns)
        i, j = np.divmod(pair, np.maximum(self.columns[e], 1))
        pairs = self.starts[e] + i * (self.columns[e] + s) + j
        if not s:
            return Places(pairs, np.empty(0, np.int64), np.empty(0, np.int64))
        e, i = _ragged(self.rows)
        rows = self.starts[e] + (i + 1) * (self.columns[e] + s) - 1
        e, j = _ragged(self.columns)
        columns = self.starts[e] + self.rows[e] * (self.columns[e] + s) + j
        return Places(pairs, rows, columns)

    def scores(self, pairs: Iterable[np.ndarray], row: float = 0.0, column: float = 0.0) -> Any:
        """Scores of a batch from those of its pairs, and of a row and of a column alone."""
        out = np.zeros(self.starts[-1])
        for grid, here in zip(self.grids(out), pairs):
            n, m = np.shape(here)
            grid[:n, :m] = here
            if self.slack:
                grid[:n, m], grid[n, :m] = row, column
        return np.where(self.allowed, out, 0.0)

    def table(self, target: Any) -> np.ndarray:
        """Answers as a table (n_examples, most rows), -1 for alone, padded with -2.

        `target` is such a table already, or a list with the columns of each example's rows.
        """
        if isinstance(target, np.ndarray) and target.ndim == 2 and target.dtype != object:
            return target
        out = np.full((self.n_examples, self.width), -2, np.int64)
        for e, y in enumerate(target):
            out[e, : self.rows[e]] = y
        return out

    def answers(self, table: np.ndarray) -> list[np.ndarray]:
        """The columns of each example's rows, -1 for alone."""
        return [line[:n].copy() for line, n in zip(table, self.rows)]

    def parts(self, target: Any) -> np.ndarray:
        table = self.table(target)
        mu = np.zeros(self.starts[-1])
        e, i = np.nonzero(table > -2)
        j, s = table[e, i], self.slack
        n, m = self.rows[e], self.columns[e]
        mu[self.starts[e] + i * (m + s) + np.where(j < 0, m, j)] = 1.0
        if s:
            mu[self.places.columns] = 1.0
            met = j >= 0
            mu[(self.starts[e] + n * (m + s) + j)[met]] = 0.0
        return mu

    def dot(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.add.reduceat(a * b, self.starts[:-1])

    def scale(self, factor: np.ndarray, a: np.ndarray) -> np.ndarray:
        return np.repeat(factor, self.sizes) * a


def _ragged(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Example and position of every item of a ragged batch."""
    example = np.repeat(np.arange(len(sizes)), sizes)
    return example, np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
