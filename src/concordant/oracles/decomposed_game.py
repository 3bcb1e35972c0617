"""The adversarial game on forests by dual decomposition (Fathony 2019, Theorem 3.2): a referee.

Every node i has the adversary's table ``Q_i`` over the labels of its parent (rows) and its own
(columns). Multipliers ``u_i`` for ``Q_parent' 1 = Q_i 1`` take the game apart: with

    a_i = b_i + sum over children of u_k + max over rows of (B_i - u_i 1'),
    D(u) = sum_i max_r [ <a_i, r> + min_a (L r)_a ],

any u gives an upper bound ``D(u)`` by games of single labels, solved exactly, and a subgradient
``r_parent - Q_i 1``. As published the adversary's marginals are then those of the games, joined
along each edge by an optimal transport (3.22). At a minimiser of D these are subgradients of a
piecewise linear function and need not be optimal; means of them over the steps are, in the limit
(Larsson, Patriksson and Stroemberg 1999), so the transports here join means. They are marginals of
a distribution in any case, hence a lower bound: what the method leaves open is certified.

`oracles.node_game` solves the same game in far less time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.csgraph import breadth_first_order

from concordant.structures import NodeCosts, Pairwise

#: Steps, and after how many of them marginals are first put together.
STEPS, FIRST = 1000, 8
#: Share of the way to the best lower bound that a step aims at.
AIM = 0.7

#: From scores (N, k) to the values (N,) of single labels' games and the adversary's mixtures.
Games = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Forest(NamedTuple):
    """The parent of every node (-1 for roots); of each edge, the child, and whether its first node
    is that child."""

    parent: np.ndarray
    child: np.ndarray
    flipped: np.ndarray


def orient(structure: Pairwise) -> Forest:
    """Roots and parents, or an error that names an example with a cycle."""
    n, edges = structure.n_nodes, structure.edges
    pairs = np.unique(np.sort(edges, axis=1), axis=0)  # both directions of a pair are one link
    links = np.bincount(structure.node_owner[pairs[:, 0]], minlength=structure.n_examples)
    graph = sp.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n)).tocsr()
    parent, met = np.full(n, -1), np.zeros(n, bool)
    trees = np.zeros(structure.n_examples, np.int64)
    for root in range(n):
        if met[root]:
            continue
        order, before = breadth_first_order(graph, root, directed=False)
        met[order], parent[order[1:]] = True, before[order[1:]]
        trees[structure.node_owner[root]] += 1
    cyclic = links != structure.lengths - trees
    if cyclic.any():
        raise ValueError(
            f"example {int(cyclic.argmax())} has a cycle; dual decomposition is for forests"
        )
    flipped = parent[edges[:, 0]] == edges[:, 1]
    return Forest(parent, np.where(flipped, edges[:, 0], edges[:, 1]), flipped)


def play(
    structure: Pairwise, loss: NodeCosts, scores: np.ndarray, weight: np.ndarray, games: Games,
    tolerance: np.ndarray, steps: int = STEPS,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Upper bounds of the games' values (n,), parts mu, and their least expected costs (n,).

    `games` solves the games of single labels under the nodes' own weights, `weight` is that of
    each example, and `tolerance` (n,) the gap at which to stop.
    """
    problem = _Problem(structure, orient(structure), scores)
    n, owner = structure.n_examples, structure.node_owner
    u = np.zeros_like(problem.b)
    mean, length = np.zeros_like(u), np.zeros(n)
    upper, mu = np.full(n, np.inf), np.zeros_like(scores)
    lower, bonus = np.full(n, -np.inf), np.zeros(n)
    per_node, due = weight[owner, None], FIRST
    reach = float(np.ptp(scores)) + loss.scale * float(weight.max())
    for step in range(1, steps + 1):
        a, rows = problem.pieces(u)
        value, r = games(a)
        total = np.bincount(owner, value, n)
        upper = np.minimum(upper, total)
        slope = problem.slope(r, rows)
        square = np.bincount(owner, (slope * slope).sum(axis=1), n)
        if step == 1 or step == due or step == steps:
            due = max(due, int(1.5 * step))
            means = mean / np.maximum(length, 1e-300)[owner, None]
            for trial in (r, means) if step > 1 else (r,):
                parts = problem.joined(np.where((length > 0.0)[owner, None], trial, r))
                cost = per_node * loss.at_nodes(structure.nodes(parts))
                least = np.bincount(owner, cost.min(axis=1), n)
                attained = structure.dot(scores, parts) + least
                better = attained > lower
                lower[better], bonus[better] = attained[better], least[better]
                part = structure.scale(better.astype(float), np.ones_like(mu)) > 0.0
                mu[part] = parts[part]
            if (upper - lower <= tolerance).all():
                break
        far = np.maximum(total - (AIM * lower + (1.0 - AIM) * upper), 0.0)
        # Where rounding is all that is left of the slope, a step as long as that would ask for
        # would spoil u: none is longer than scores and costs are far apart.
        move = np.minimum(
            far / np.maximum(square, 1e-300), reach / np.maximum(square, 1e-20) ** 0.5
        )
        mean += move[owner, None] * r
        length += move
        u -= move[owner, None] * slope
    return upper, mu, bonus


class _Problem:
    """Scores by node and parent."""

    def __init__(self, structure: Pairwise, forest: Forest, scores: np.ndarray):
        self.structure, self.forest = structure, forest
        self.b = structure.nodes(scores)
        k = structure.n_classes
        self.B = np.zeros((structure.n_nodes, k, k))
        given = structure.tables(scores)[structure.table_of_edge]
        given = np.where(forest.flipped[:, None, None], given.transpose(0, 2, 1), given)
        np.add.at(self.B, forest.child, given)
        self.inner = np.flatnonzero(forest.parent >= 0)

    def pieces(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The games' scores (N, k), and the best row of each node's columns (N, k)."""
        a, inner = self.b.copy(), self.inner
        np.add.at(a, self.forest.parent[inner], u[inner])
        tables = self.B - u[:, :, None]
        rows = tables.argmax(axis=1)
        best = np.take_along_axis(tables, rows[:, None, :], axis=1)[:, 0]
        a[inner] += best[inner]
        return a, rows

    def slope(self, r: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """A subgradient of D."""
        out, inner, k = np.zeros_like(r), self.inner, r.shape[1]
        place = inner[:, None] * k + rows[inner]
        taken = np.bincount(place.ravel(), r[inner].ravel(), len(r) * k).reshape(r.shape)
        out[inner] = r[self.forest.parent[inner]] - taken[inner]
        return out

    def joined(self, r: np.ndarray) -> np.ndarray:
        """Parts whose node marginals are r, their edges by optimal transports."""
        structure, forest = self.structure, self.forest
        parts = np.zeros(len(structure.empty()))
        structure.nodes(parts)[...] = r
        Q = np.zeros_like(self.B)
        for i in self.inner:
            Q[i] = transport_plan(r[forest.parent[i]], r[i], self.B[i])
        own = Q[forest.child]
        own = np.where(forest.flipped[:, None, None], own.transpose(0, 2, 1), own)
        np.add.at(structure.tables(parts), structure.table_of_edge, own)
        return parts


def transport_plan(rows: np.ndarray, columns: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """The table with these sums of rows and columns and the largest ``<table, gain>``."""
    a, b = np.flatnonzero(rows > 0.0), np.flatnonzero(columns > 0.0)
    out = np.zeros_like(gain)
    if len(a) == 1 or len(b) == 1:
        out[np.ix_(a, b)] = np.outer(rows[a], columns[b])
        return out
    sums = np.concatenate([rows[a] / rows[a].sum(), (columns[b] / columns[b].sum())[:-1]])
    found = linprog(-gain[np.ix_(a, b)].ravel(), A_eq=_sums(len(a), len(b)), b_eq=sums)
    if not found.success:
        raise ArithmeticError(f"optimal transport failed: {found.message}")
    out[np.ix_(a, b)] = found.x.reshape(len(a), len(b))
    return out


@lru_cache(maxsize=64)
def _sums(rows: int, columns: int) -> Any:
    """Sums of the rows, and of the columns but the last, as a matrix on the table's cells."""
    each = sp.kron(sp.eye_array(rows), np.ones((1, columns)))
    down = sp.kron(np.ones((1, rows)), sp.eye_array(columns))
    return sp.vstack([each, down], format="csr")[:-1]
