"""Decoder of strings: the best training string, then a median by single edits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from concordant.losses.strings import EditDistance
from concordant.outputs.base import Decoder, Options, distinct
from concordant.outputs.candidates import checked


class Median(Decoder):
    """Edit distance: from the best training string, the best single edit while one helps.

    Symbols come from the training strings, and no answer is longer than the longest of them:
    where weights sum to less than zero, longer would be better without end.
    """

    most_rows = 16
    exact = False
    guarantee = (
        "approximate without a bound: no worse than the best training output, and no single edit "
        "improves it"
    )

    def __init__(self, loss: EditDistance, truths: np.ndarray, options: Options):
        self.loss = loss
        self.truths, self.targets = distinct(truths)
        self.costs = checked(loss.table(self.truths, self.truths), self.truths, self.truths).T
        self.longest = max(len(truth) for truth in self.truths)
        self.symbols = sorted({s for truth in self.truths for s in truth}, key=repr)

    def decode(self, sums: np.ndarray) -> np.ndarray:
        values = sums @ self.costs
        out = np.empty(len(sums), dtype=object)
        for row, (start, weights) in enumerate(zip(values.argmin(axis=1), sums)):
            out[row] = self._improve(self.truths[start], values[row, start], weights)
        return out

    def _improve(self, now: Any, lowest: float, weights: np.ndarray) -> Any:
        slack = 1e-12 * float(np.abs(weights).sum())
        while True:
            edits = _objects(
                [like(now, edit) for edit in single_edits(list(now), self.symbols, self.longest)]
            )
            values = self.loss.table(edits, self.truths) @ weights
            best = int(values.argmin()) if len(values) else 0
            if len(values) == 0 or not values[best] < lowest - slack:
                return now
            now, lowest = edits[best], float(values[best])


def single_edits(sequence: list[Any], symbols: list[Any], longest: int) -> Iterator[list[Any]]:
    """All sequences one deletion, substitution or insertion away, not longer than `longest`."""
    for i in range(len(sequence) + 1):
        before, after = sequence[:i], sequence[i:]
        if after:
            yield before + after[1:]
            yield from (before + [s] + after[1:] for s in symbols if s != after[0])
        if len(sequence) < longest:
            yield from (before + [s] + after for s in symbols)


def like(sequence: Any, symbols: list[Any]) -> Any:
    """The symbols as a sequence of the same type."""
    if isinstance(sequence, str):
        return "".join(symbols)
    return np.array(symbols) if isinstance(sequence, np.ndarray) else type(sequence)(symbols)


def _objects(items: list[Any]) -> np.ndarray:
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out
