"""Decoders of orderings: feedback arc sets, assignments and sorting."""

from __future__ import annotations

import numpy as np

from concordant.losses.rankings import Kendall, Rank, Spearman, positions
from concordant.losses.sets import Hamming
from concordant.outputs.base import Decoder, Options, indicators

#: Up to so many items the best ordering is found exactly.
MOST_ITEMS = 12
#: Above so many items preferences are kept in single precision: they are read over and over.
SINGLE = 200
MOST_PASSES = 1000


class Preferences(Decoder):
    """Rank loss: the ordering that agrees most with weighted differences of grades.

    The preference for a before b is ``sum_i alpha_i (g_ia - g_ib)`` over truths i that grade
    both. If every truth grades every item it is a difference too, and sorting is exact.
    """

    most_rows = 16

    def __init__(self, loss: Rank, truths: np.ndarray, options: Options):
        self.n_items = truths.shape[1]
        known = ~np.isnan(truths)
        scaled = truths / loss.sizes(truths)[:, None]
        self.complete = bool(known.all())
        self.exact = self.complete or self.n_items <= MOST_ITEMS
        if self.complete:
            self.guarantee = "exact: with all grades known it is a sort"
            self.targets = scaled
            return
        self.guarantee = guarantee(self.exact)
        self.targets = indicators(np.arange(len(truths)), len(truths))
        self.offsets = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        self.items = np.nonzero(known)[1]
        self.grades = scaled[known]

    def decode(self, sums: np.ndarray) -> np.ndarray:
        if self.complete:
            return np.argsort(-sums, axis=1, kind="stable")
        out = np.empty((len(sums), self.n_items), dtype=np.int64)
        table = preference_table(self.n_items)
        for row, weights in enumerate(sums):
            out[row] = best_order(self.fill(weights, table))
        return out

    def fill(self, weights: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Preferences under the weights of one example, written into `table`."""
        from concordant.kernels.orderings import preferences

        weights = np.ascontiguousarray(weights, dtype=float)
        preferences(weights, self.offsets, self.items, self.grades, table)
        return table


class Borda(Decoder):
    """Rank loss, approximately and fast: items by the sum of their preferences.

    The start of `Preferences`, at the price of a sort: for choosing parameters.
    """

    exact = False
    guarantee = "approximate without a bound: items by the sum of their weighted preferences"

    def __init__(self, loss: Rank, truths: np.ndarray, options: Options):
        self.targets = net_preferences(truths) / loss.sizes(truths)[:, None]

    def decode(self, sums: np.ndarray) -> np.ndarray:
        return np.argsort(-sums, axis=1, kind="stable")


def net_preferences(grades: np.ndarray) -> np.ndarray:
    """``sum_b (g_a - g_b)`` over the graded items b, for each graded item a; else 0."""
    known = ~np.isnan(grades)
    values = np.where(known, grades, 0.0)
    count = known.sum(axis=1, keepdims=True)
    return np.where(known, count * values - values.sum(axis=1, keepdims=True), 0.0)


class Tournament(Decoder):
    """Kendall's distance: the ordering that agrees with most weighted pairs."""

    most_rows = 16

    def __init__(self, loss: Kendall, truths: np.ndarray, options: Options):
        self.n_items = truths.shape[1]
        self.exact = self.n_items <= MOST_ITEMS
        self.guarantee = guarantee(self.exact)
        place = positions(truths)
        a, b = np.triu_indices(self.n_items, 1)
        self.targets = np.sign(place[:, b] - place[:, a]).astype(float)

    def decode(self, sums: np.ndarray) -> np.ndarray:
        out = np.empty((len(sums), self.n_items), dtype=np.int64)
        a, b = np.triu_indices(self.n_items, 1)
        table = preference_table(self.n_items)
        for row, preferred in enumerate(sums):
            table[a, b], table[b, a] = preferred, -preferred
            out[row] = best_order(table)
        return out


def guarantee(exact: bool) -> str:
    """What `best_order` promises."""
    if exact:
        return f"exact: dynamic programming over sets of at most {MOST_ITEMS} items"
    return (
        "approximate: no worse than the greedy of Eades, Lin and Smyth, and no move of one item "
        "improves it; at most the sum of all positive preferences from the minimum"
    )


def preference_table(n_items: int) -> np.ndarray:
    """An empty table of preferences, in the precision that the number of items asks for."""
    return np.zeros((n_items, n_items), dtype=np.float32 if n_items > SINGLE else np.float64)


def best_order(table: np.ndarray) -> np.ndarray:
    """An ordering with much ``table[a, b]`` over a placed before b; ``table = -table.T``."""
    from concordant.kernels import orderings

    n_items = len(table)
    greedy = np.empty(n_items, dtype=np.int64)
    if n_items <= MOST_ITEMS:
        orderings.best_subset(table, greedy)
        return greedy
    orderings.eades(table, greedy)
    order = np.argsort(-table.sum(axis=1, dtype=np.float64), kind="stable")
    if orderings.value(table, greedy) > orderings.value(table, order):
        order = greedy
    orderings.insert(table, order, MOST_PASSES)
    return order


class Assignment(Decoder):
    """Losses that add up over (item, place): a linear assignment, or a sort.

    `targets` are the indicators of each item's place.
    """

    guarantee = "exact, by linear assignment"

    def __init__(self, loss: Spearman | Hamming, truths: np.ndarray, options: Options):
        n, self.n_items = truths.shape
        # An ordering is a row of items by place, a plain permutation a row of places by item.
        self.ordering = isinstance(loss, Spearman)
        place = positions(truths) if self.ordering else truths
        self.targets = np.zeros((n, self.n_items * self.n_items))
        cells = np.arange(self.n_items) * self.n_items + place
        np.put_along_axis(self.targets, cells, 1.0, axis=1)
        away = np.subtract.outer(np.arange(self.n_items), np.arange(self.n_items))
        self.costs = loss.cost(away) if isinstance(loss, Spearman) else (away != 0).astype(float)

    def decode(self, sums: np.ndarray) -> np.ndarray:
        from scipy.optimize import linear_sum_assignment

        shape = (len(sums), self.n_items, self.n_items)
        costs = sums.reshape(shape) @ self.costs.astype(float)  # symmetric: (item, place)
        place = np.stack([linear_sum_assignment(one)[1] for one in costs])
        return positions(place) if self.ordering else place
