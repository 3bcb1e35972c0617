"""One-to-one assignments of rows to columns, complete or partial, in ragged batches.

An example with n rows and m columns is a *grid* of n × m pairs. If something may stay alone, the
grid has one more column (rows alone) and one more row (columns alone); their corner is unused.
Rows may stay alone where there are more rows than columns, columns where there are more columns,
and both in a ``partial`` batch.

Doubling the nodes, so that everything has a partner, is the published way to allow for entering
and leaving; here the polytope with slack is used as it is (it is integral too), which leaves a
quarter of the parts and no ties between copies that mean nothing.

A batch of the training data may *remember* the multipliers of its last proximal questions, which
the next ones start from. Answers then depend on what was asked before, but only within the
tolerance of the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from concordant.executor import SERIAL, Executor
from concordant.structures.base import PartLoss
from concordant.structures.grids import Grids
from concordant.structures.pair_prices import PairPrices

#: Most pairs in a chunk of examples that a thread takes at a time.
CHUNK = 4096
#: A score against which others count nothing.
FAR = -200.0
#: Rows (or columns, the fewer of the two) up to which sums over assignments are exact, and up to
#: which they can be.
EXACT, MOST = 12, 20


class Assignments(Grids):
    """A batch of assignment problems.

    Parameters
    ----------
    rows, columns : sequences of int
        Size of each example.
    partial : bool, default=False
        Rows and columns may stay alone. Otherwise as many pairs as possible are made.
    forbidden : list of (n, m) bool arrays, default=None
        Pairs that may not be made; None in the list for an example without any.
    sums : {"exact", "bethe", "auto"}, default="auto"
        How `marginals` and `entropy` sum over assignments: exactly, in time exponential in the
        smaller side of an example (20 at most); by Bethe's approximation; or exactly where the
        smaller side has at most 12, else by Bethe's approximation.
    remember : bool, default=False
        Start proximal questions from the answers to the last ones.
    executor : Executor
    accuracy : float, default=1e-10
        How far answers to the adversarial game may be off, in prices a row. What is left is in
        the bounds that come with them.
    """

    def __init__(
        self,
        rows: Any,
        columns: Any,
        partial: bool = False,
        forbidden: Sequence[np.ndarray | None] | None = None,
        sums: str = "auto",
        remember: bool = False,
        executor: Executor = SERIAL,
        accuracy: float = 1e-10,
    ):
        self.rows = np.asarray(rows, dtype=np.int64)
        self.columns = np.asarray(columns, dtype=np.int64)
        self.partial = partial
        n, m = self.rows, self.columns
        needs_slack = partial or bool((n != m).any() or (n == 0).any())
        self._lay_out(int(needs_slack))
        self.exact = _sum_exactly(np.minimum(n, m), sums)
        self.remember = remember
        self.executor = executor
        self.accuracy = accuracy
        self.allowed = np.ones(self.starts[-1], bool)
        if self.slack:
            alone = np.isin(self.kind, (2, 3))
            for e, grid in enumerate(self.grids(self.allowed)):
                grid[-1, -1] = False
                grid[:-1, -1] &= alone[e]
                grid[-1, :-1] &= self.kind[e] in (1, 3)
        if forbidden is not None:
            for grid, mask in zip(self.pairs(self.allowed), forbidden):
                if mask is not None:
                    grid &= ~mask
            self._check_feasible()
        self._forget()

    def _forget(self) -> None:
        size = 1 + 2 * (self.rows.max(initial=0) + self.columns.max(initial=0))
        count = self.n_examples if self.remember else 0
        self._memory = {name: np.zeros((count, size)) for name in ("proximal", "game")}
        self._pair = np.zeros((2, self.starts[-1] if self.remember else 0))

    def _check_feasible(self) -> None:
        """Every example has an answer, or an error that names the row left over."""
        scores = np.zeros(self.starts[-1])
        stuck = self._best(scores, np.empty(0))[1]
        if stuck >= 0:
            one = self.take(slice(stuck, stuck + 1))[0]
            raise ValueError(f"example {stuck}: {_who_is_stuck(one)}")

    def take(self, rows: slice | np.ndarray) -> tuple[Assignments, slice | np.ndarray]:
        chosen = np.arange(self.n_examples)[rows]
        part = object.__new__(Assignments)
        part.rows, part.columns = self.rows[chosen], self.columns[chosen]
        part.partial, part.exact = self.partial, self.exact[chosen]
        part._lay_out(self.slack)
        part.kind, part.width = self.kind[chosen], self.width
        part.remember, part.executor, part.accuracy = False, SERIAL, self.accuracy
        where: slice | np.ndarray
        if isinstance(rows, slice) and len(chosen):
            where = slice(self.starts[chosen[0]], self.starts[chosen[-1] + 1])
        else:
            spans = [np.arange(self.starts[i], self.starts[i + 1]) for i in chosen]
            where = np.concatenate(spans) if spans else np.zeros(0, np.int64)
        part.allowed = self.allowed[where]
        part.within = where
        part._forget()
        return part, where

    #: Where these parts lie in the batch they were taken from.
    within: slice | np.ndarray = slice(None)

    # ---- oracles ----

    def argmax(self, scores: np.ndarray) -> np.ndarray:
        mu = np.empty(self.starts[-1])
        self._best(scores, mu)
        return mu

    def decode(self, scores: np.ndarray) -> list[np.ndarray]:
        """The columns of each example's rows in the best answer, -1 for alone."""
        table = self._best(scores, np.empty(0))[0]
        alone = table == self.columns[:, None]
        return self.answers(np.where(alone, -1, table))

    def _best(self, scores: np.ndarray, mu: np.ndarray) -> tuple[np.ndarray, int]:
        from concordant.kernels.assignment import best_rows

        scores = self._closed(scores)
        table = np.full((self.n_examples, self.width), -2, np.int64)

        def run(rows: slice) -> int:
            return best_rows(
                scores, self.starts, self.rows, self.columns, self.slack, self.kind,
                rows.start, rows.stop, table, mu,
            )  # fmt: skip

        stuck = [e for e in self._map(run) if e >= 0]
        return table, stuck[0] if stuck else -1

    def proximal(
        self, scores: np.ndarray, strength: np.ndarray, centre: np.ndarray | None
    ) -> np.ndarray:
        from concordant.kernels.transport import proximal_rows

        mu = np.empty(self.starts[-1])
        scores, centre = self._closed(scores), self._centre(centre)
        answers = np.empty((self.n_examples, max(self.width, 1)), np.int64)
        strength = np.ascontiguousarray(np.broadcast_to(strength, (self.n_examples,)), dtype=float)

        def run(rows: slice) -> int:
            return proximal_rows(
                scores, self.allowed, self.starts, self.rows, self.columns, self.slack, self.kind,
                rows.start, rows.stop, strength, centre, self._memory["proximal"], answers, mu,
            )  # fmt: skip

        self._map(run)
        return mu

    def equilibrium(
        self,
        loss: PartLoss,
        scores: np.ndarray,
        weight: np.ndarray,
        strength: np.ndarray,
        centre: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.play(loss, scores, weight, strength, centre)[:3]

    def play(
        self,
        loss: PartLoss,
        scores: np.ndarray,
        weight: np.ndarray,
        strength: float | np.ndarray = 0.0,
        centre: np.ndarray | None = None,
        own: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Equilibrium of the adversarial game: upper bounds, the adversary's parts, bonuses (see
        `Structure.equilibrium`), the predictor's parts, and certified gaps.

        With `own`, ``own/2 |p|**2`` is added for the predictor, and counts in the bonus.
        """
        from concordant.kernels.matching_game import play_rows

        assert isinstance(loss, PairPrices)
        n = self.n_examples
        scores, centre = self._closed(scores), self._centre(centre)
        prices = np.repeat(np.asarray(weight, dtype=float), self.sizes) * loss.prices
        strength = np.ascontiguousarray(np.broadcast_to(strength, (n,)), dtype=float)
        upper, mu, bonus, gap = np.empty(n), np.empty(self.starts[-1]), np.empty(n), np.empty(n)
        p, (last_q, last_p) = np.empty(self.starts[-1]), self._pair

        def run(rows: slice) -> None:
            play_rows(
                scores, prices, self.allowed, self.starts, self.rows, self.columns, self.slack,
                self.kind, rows.start, rows.stop, strength, own, centre, self._memory["game"],
                last_q, last_p, self.accuracy, mu, p, upper, bonus, gap,
            )  # fmt: skip

        self._map(run)
        return upper, mu, bonus, p, gap

    def marginals(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Exact or by Bethe's approximation, as `sums` says.

        The approximation is the maximum of a concave function (Vontobel 2013), so that it makes
        a route of its own with a gradient and a certificate.
        """
        from concordant.kernels.permanent import sum_rows

        closed, mu = self._closed(scores), np.empty(self.starts[-1])
        partition = np.empty(self.n_examples)

        def run(rows: slice) -> None:
            sum_rows(
                closed, self.allowed, self.starts, self.rows, self.columns, self.slack, self.kind,
                self.exact, rows.start, rows.stop, mu, partition,
            )  # fmt: skip

        self._map(run)
        if not self.exact.all():
            bethe = self.dot(scores, mu) + self._bethe_entropy(mu)
            partition = np.where(self.exact, partition, bethe)
        return partition, mu

    def entropy(self, mu: np.ndarray) -> np.ndarray:
        """Largest entropy of assignments with these marginals, or Bethe's approximation of it."""
        out = self._bethe_entropy(mu)
        for e in np.flatnonzero(self.exact):
            out[e] = self._exact_entropy(int(e), mu)
        return out

    def _bethe_entropy(self, mu: np.ndarray) -> np.ndarray:
        """Each pair counts in its row and in its column, less once alone: never above the exact."""
        from scipy.special import entr

        mu = np.clip(mu, 0.0, 1.0)
        out = entr(mu)
        pairs = self.places.pairs
        out[pairs] -= entr(1.0 - mu[pairs])
        return np.add.reduceat(out, self.starts[:-1])

    def _exact_entropy(self, e: int, mu: np.ndarray) -> float:
        """``min over scores of log-partition - <scores, mu>``, over the parts in use.

        Where a part has mass 0, the minimum is not attained: its score is kept far away.
        """
        from scipy.optimize import minimize

        one, where = self.take(slice(e, e + 1))
        mu = np.clip(mu[where], 0.0, 1.0)
        used = (mu > 1e-12) & one.allowed

        def dual(free: np.ndarray) -> tuple[float, np.ndarray]:
            scores = np.full(len(mu), FAR)
            scores[used] = free
            partition, expected = one.marginals(scores)
            return float(partition[0] - free @ mu[used]), (expected - mu)[used]

        start = np.log(mu[used])
        options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10}
        return float(minimize(dual, start, jac=True, method="L-BFGS-B", options=options).fun)

    def loss(self, loss: Any) -> PairPrices:
        """Accepts "hamming", a loss with `prices`, or prices that are bound already."""
        return loss if isinstance(loss, PairPrices) else PairPrices.of(self, loss)

    def _closed(self, scores: np.ndarray) -> np.ndarray:
        """Scores with minus infinity where a part is not allowed."""
        return np.where(self.allowed, scores, -np.inf)

    def _centre(self, centre: np.ndarray | None) -> np.ndarray:
        if centre is None:
            return np.zeros(self.starts[-1])
        return np.require(centre, dtype=float, requirements=["C", "W"])

    def _map(self, run: Callable[[slice], Any]) -> list[Any]:
        """Run a kernel over chunks of examples; they depend on the sizes only."""
        edges = [0]
        for e in range(1, self.n_examples):
            if self.starts[e + 1] - self.starts[edges[-1]] > CHUNK:
                edges.append(e)
        if self.n_examples == 0:
            return []
        edges.append(self.n_examples)
        return self.executor.map(run, [slice(a, b) for a, b in pairwise(edges)])


def _sum_exactly(smaller: np.ndarray, sums: str) -> np.ndarray:
    """Which examples sum over assignments exactly, given the size of their smaller side."""
    if sums not in ("auto", "exact", "bethe"):
        raise ValueError(f"sums must be 'auto', 'exact' or 'bethe', got {sums!r}")
    if sums == "exact" and (smaller > MOST).any():
        e = int((smaller > MOST).argmax())
        raise ValueError(
            f"example {e} has {smaller[e]} rows and columns or more: sums='exact' takes {MOST} "
            "at most; use 'auto' or 'bethe'"
        )
    return np.full(len(smaller), sums == "exact") | ((sums == "auto") & (smaller <= EXACT))


def _who_is_stuck(one: Assignments) -> str:
    """Which row, or column, of an example without an answer is left over."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    pairs = one.pairs(one.allowed)[0]
    rows_matter = one.kind[0] != 2
    name, graph = ("row", pairs) if rows_matter else ("column", pairs.T)
    empty = ~graph.any(axis=1)
    if empty.any():
        return f"every pair of {name} {int(empty.argmax())} is forbidden"
    partner = maximum_bipartite_matching(csr_matrix(graph), perm_type="column")
    left = int((partner < 0).argmax())
    return f"forbidden pairs leave no partner for {name} {left}: others need those it may take"
