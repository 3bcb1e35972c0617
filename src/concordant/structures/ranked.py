"""The best answers of a graph in falling order, from its argmax alone.

Lawler's partition (1972): all answers but the best one fall into N classes, class t agreeing with
it on the nodes before t and differing at t. The second best is the best of their best; its own
class is split again, and so on. Each answer listed costs one question about as many copies of the
graph as it has nodes, so this works for any structure whose argmax is exact.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from concordant.structures.graph import Graph


def k_best(
    structure: Graph, scores: np.ndarray, i: int, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """Best answers of example i: labels (m, T), and their falling scores (m,), m <= number."""
    one, where = structure.take(slice(i, i + 1))
    own = scores[where]
    n = one.n_nodes
    labels, values = one.decode(own)
    # Minus the score, a tie-breaker, the answer, the first free node, and its forbidden labels.
    heap = [(-values[0], 0, labels, 0, frozenset[int]())] if values[0] > -np.inf else []
    found: list[tuple[np.ndarray, float]] = []
    count = 1
    while heap and len(found) < number:
        value, _, answer, free, forbidden = heappop(heap)
        found.append((answer, -value))
        if len(found) == number:
            break
        copies = np.arange(free, n)
        batch, _ = one.take(np.zeros(n - free, np.int64))
        asked = batch.empty()
        batch.tables(asked)[...] = np.tile(one.tables(own), (n - free, 1, 1))
        nodes = batch.nodes(asked).reshape(n - free, n, -1)
        nodes[...] = one.nodes(own)
        for row, t in enumerate(copies):
            kept = nodes[row, np.arange(t), answer[:t]].copy()
            nodes[row, :t] = -np.inf
            nodes[row, np.arange(t), answer[:t]] = kept
            nodes[row, t, [answer[t], *(forbidden if t == free else ())]] = -np.inf
        labels, values = batch.decode(asked)
        for row, t in enumerate(copies):
            if values[row] > -np.inf:
                barred = {int(answer[t])} | (forbidden if t == free else set())
                own_labels = labels[row * n : (row + 1) * n]
                heappush(heap, (-values[row], count, own_labels, int(t), frozenset(barred)))
                count += 1
    if not found:
        return np.zeros((0, n), np.int64), np.zeros(0)
    return np.array([answer for answer, _ in found]), np.array([value for _, value in found])
