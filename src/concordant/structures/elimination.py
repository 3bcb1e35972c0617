"""In which order to eliminate the nodes of graphs, and the schedule that follows from it.

Leaves go first: they never join neighbours, so forests end here, in linear time. What is left of
a graph with cycles goes by min-fill: always a node whose elimination joins fewest pairs of
neighbours that are not joined yet. The largest separator met is the *width*, an upper bound on
the treewidth. Where a table would have more than `limit` numbers, a graph is given up: its
width is then only known to be at least the size reached.
"""

from __future__ import annotations

from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from concordant.structures.pairwise import offsets_of, spans

#: Largest table, in numbers, for which elimination is thought feasible (8 MiB).
LIMIT = 2**20


class Schedule(NamedTuple):
    """What `concordant.kernels.junction` runs on. `steps` are the six arrays of its first
    paragraph; `largest` is the size of the largest table of each example."""

    steps: tuple[np.ndarray, ...]
    starts: np.ndarray
    largest: np.ndarray

    def take(self, chosen: np.ndarray) -> Schedule:
        """The schedule of these examples."""
        columns = self.starts.T
        variable, size, use_count, message_at, source, strides = self.steps
        step, use, stride = (spans(columns[c], chosen) for c in (0, 2, 3))
        steps = (
            variable[step], size[step], use_count[step], message_at[step], source[use],
            strides[stride],
        )  # fmt: skip
        starts = np.column_stack([offsets_of(np.diff(c)[chosen]) for c in columns])
        return Schedule(steps, starts, self.largest[chosen])


class Elimination(NamedTuple):
    """Order and separators of a batch: all nodes are positions in the order.

    `order` (N,) holds nodes of the batch; `separators` are rising positions, those of step s at
    ``separators_at[s]:separators_at[s + 1]``. `width` (n,) is the largest separator, and `feasible`
    (n,) says whether the tables stay within the limit (if not, the graph has no separators).
    """

    order: np.ndarray
    separators_at: np.ndarray
    separators: np.ndarray
    width: np.ndarray
    feasible: np.ndarray


def eliminate(offsets: np.ndarray, edges: np.ndarray, k: int, limit: int = LIMIT) -> Elimination:
    """Order of elimination for every graph of a batch.

    Parameters
    ----------
    offsets : array of shape (n + 1,)
        Where each graph's nodes begin; no graph is empty.
    edges : array of shape (E, 2)
        Nodes of the batch; pairs may repeat, in either direction.
    k : int
        Labels of a node.
    limit : int
        Numbers a table may have.
    """
    from concordant.kernels.junction import peel

    n_nodes = int(offsets[-1])
    at, neighbours = _adjacency(n_nodes, edges)
    order, parent = np.arange(n_nodes), np.empty(n_nodes, np.int64)
    peel(offsets, at, neighbours, np.diff(at), order, parent)
    largest_width = int(np.log(max(limit, 1)) / np.log(max(k, 2)) + 1e-9) - 1
    separators: dict[int, list[int]] = {}  # of the nodes on cycles only
    core = parent == -2
    width = np.maximum.reduceat(parent >= 0, offsets[:-1]).astype(np.int64)
    feasible = np.ones(len(offsets) - 1, bool)
    for i in np.unique(np.repeat(np.arange(len(feasible)), np.diff(offsets))[core]):
        left = offsets[i] + np.flatnonzero(core[offsets[i] : offsets[i + 1]])
        name = {int(node): place for place, node in enumerate(left)}
        pairs = tuple(
            (name[int(a)], name[int(b)])
            for a in left
            for b in neighbours[at[a] : at[a + 1]]
            if a < b and core[b]
        )
        found, their = min_fill(len(left), pairs, largest_width)
        tail = slice(offsets[i + 1] - len(left), offsets[i + 1])
        order[tail] = left
        width[i] = max(width[i], max(len(s) for s in their))
        feasible[i] = len(found) == len(left)
        if feasible[i]:
            order[tail] = left[list(found)]
            separators.update(
                (int(left[v]), [int(left[u]) for u in s]) for v, s in zip(found, their)
            )
    position = np.empty(n_nodes, np.int64)
    position[order] = np.arange(n_nodes)
    counts = (parent >= 0).astype(np.int64)
    for node, separator in separators.items():
        counts[node] = len(separator)
    separators_at = offsets_of(counts[order])
    flat = np.empty(int(separators_at[-1]), np.int64)
    leaves = np.flatnonzero(parent >= 0)
    flat[separators_at[position[leaves]]] = position[parent[leaves]]
    for node, separator in separators.items():
        begin = separators_at[position[node]]
        flat[begin : begin + len(separator)] = np.sort(position[separator])
    return Elimination(order, separators_at, flat, width, feasible)


def _adjacency(n_nodes: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of every node, each once: where they begin (N + 1), and one after another."""
    both = np.concatenate([edges, edges[:, ::-1]])
    codes = np.unique(both[:, 0] * n_nodes + both[:, 1])
    left, right = codes // max(n_nodes, 1), codes % max(n_nodes, 1)
    return offsets_of(np.bincount(left, minlength=n_nodes)), right


@lru_cache(maxsize=256)  # many batches repeat one graph, such as a graph between labels
def min_fill(
    n: int, pairs: tuple[tuple[int, int], ...], largest_width: int
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Nodes in the order of elimination, and each one's separator.

    Ends early, with the separator that was too large, when no node has a small enough one.
    """
    near: list[set[int]] = [set() for _ in range(n)]
    for a, b in pairs:
        near[a].add(b)
        near[b].add(a)

    def fill(v: int) -> tuple[int, int]:
        others = near[v]
        missing = len(others) * (len(others) - 1) - sum(len(near[u] & others) for u in others)
        return missing // 2, len(others)

    price = [fill(v) for v in range(n)]
    heap = [(*price[v], v) for v in range(n)]
    heapify(heap)
    order: list[int] = []
    separators: list[tuple[int, ...]] = []
    gone = [False] * n
    while heap:
        missing, degree, v = heappop(heap)
        if gone[v] or (missing, degree) != price[v]:
            continue  # an old price
        others = near[v]
        separators.append(tuple(sorted(others)))
        if len(others) > largest_width:
            break
        gone[v] = True
        order.append(v)
        touched = set(others)
        for u in others:
            near[u].discard(v)
            if missing:
                near[u] |= others
                near[u].discard(u)
        if missing:
            for u in others:
                touched |= near[u]
        for u in touched:
            new = fill(u)
            if new != price[u]:
                price[u] = new
                heappush(heap, (*new, u))
    return tuple(order), tuple(separators)


def schedule(
    offsets: np.ndarray, edges: np.ndarray, edge_counts: np.ndarray, k: int, plan: Elimination
) -> Schedule:
    """The kernels' arrays of a batch, meaningful for its feasible graphs."""
    from concordant.kernels.junction import connect

    n_nodes = int(offsets[-1])
    position = np.empty(n_nodes, np.int64)
    position[plan.order] = np.arange(n_nodes)
    placed = position[edges[np.repeat(plan.feasible, edge_counts)]]
    size = np.diff(plan.separators_at)
    rows = k**size
    ends = offsets_of(rows)
    message_at = ends[:-1] - np.repeat(ends[offsets[:-1]], np.diff(offsets))
    parents = plan.separators[plan.separators_at[:-1][size > 0]]
    use_count = np.bincount(np.append(placed.min(axis=1), parents), minlength=n_nodes)
    use_at = offsets_of(use_count)
    stride_at = offsets_of(use_count * (size + 1))
    source = np.empty(int(use_at[-1]), np.int64)
    strides = np.zeros(int(stride_at[-1]), np.int64)
    connect(
        offsets, position, plan.separators_at, plan.separators, placed,
        offsets_of(edge_counts * plan.feasible), k,
        use_at, message_at, source, strides, np.zeros(n_nodes, np.int64),
    )  # fmt: skip
    variable = plan.order - np.repeat(offsets[:-1], np.diff(offsets))
    starts = np.column_stack(
        [offsets, offsets_of(edge_counts), use_at[offsets], stride_at[offsets], ends[offsets]]
    )
    largest = np.maximum.reduceat(rows, offsets[:-1]) * k
    return Schedule((variable, size, use_count, message_at, source, strides), starts, largest)
