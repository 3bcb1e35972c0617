"""Surrogate values and gradients against a softmax log-loss, and games against HiGHS."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba import njit

import concordant as cc
from benchmarks.common import Benchmark, in_turns, times
from experiments.report import Table

K = 20
SCALES = (0.3, 1.0, 3.0)
#: What is measured, and the ratio to the softmax that was asked for.
ROUTES: dict[str, tuple[str, Any, float | None]] = {
    "adversarial, 0-1": ("adversarial", "zero_one", 1.5),
    "adversarial, absolute": ("adversarial", "absolute", 1.5),
    "adversarial, squared": ("adversarial", "squared", 2.0),
    "adversarial, abstain at 0.3": ("adversarial", cc.losses.Abstain(0.3), 0.5),
    "log": ("log", "zero_one", None),
    "hinge, 0-1": ("hinge", "zero_one", None),
    "hybrid, 0-1": ("hybrid", "zero_one", None),
}


@njit(nogil=True, error_model="numpy")
def softmax_log_loss(scores, y, value, gradient):
    """The peer: log-loss and its gradient, as one would write it by hand."""
    n, k = scores.shape
    for i in range(n):
        top = scores[i, 0]
        for j in range(1, k):
            top = max(top, scores[i, j])
        total = 0.0
        for j in range(k):
            gradient[i, j] = np.exp(scores[i, j] - top)
            total += gradient[i, j]
        for j in range(k):
            gradient[i, j] /= total
        value[i] = top + np.log(total) - scores[i, y[i]]
        gradient[i, y[i]] -= 1.0


def softmax(scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    value, gradient = np.empty(len(scores)), np.empty_like(scores)
    softmax_log_loss(scores, y, value, gradient)
    return value, gradient


class WarmHighs:
    """The peer of general games: one linear program kept in HiGHS, new scores as its costs.

    ``max v + f'q`` over label distributions q with ``v <= (Lq)_a`` for every action a.
    """

    def __init__(self, costs: np.ndarray):
        import highspy

        r, k = costs.shape
        self.k = k
        self.solver = highspy.Highs()
        self.solver.setOptionValue("output_flag", False)
        self.solver.setOptionValue("threads", 1)
        self.solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        for _ in range(k):
            self.solver.addVar(0.0, highspy.kHighsInf)
        self.solver.addVar(-highspy.kHighsInf, highspy.kHighsInf)
        self.solver.changeColCost(k, 1.0)
        columns = np.arange(k + 1, dtype=np.int32)
        for a in range(r):
            row = np.r_[costs[a], -1.0]
            self.solver.addRow(0.0, highspy.kHighsInf, k + 1, columns, row)
        self.solver.addRow(1.0, 1.0, k, columns[:k], np.ones(k))
        self.columns = columns[:k]

    def values(self, scores: np.ndarray) -> np.ndarray:
        out = np.empty(len(scores))
        for i, row in enumerate(scores):
            self.solver.changeColsCost(self.k, self.columns, row)
            self.solver.run()
            out[i] = self.solver.getInfo().objective_function_value
        return out


def against_softmax(n: int, rounds: int) -> list[dict[str, Any]]:
    rows = []
    for scale in SCALES:
        rng = np.random.default_rng(0)
        scores, y = scale * rng.normal(size=(n, K)), rng.integers(0, K, n)
        calls = {"softmax": partial(softmax, scores, y)}
        for name, (route, loss, _) in ROUTES.items():
            calls[name] = partial(cc.surrogates.evaluate, route, scores, y, loss=loss)
        least = in_turns(calls, rounds)
        rows += [{"scale": scale, "route": name, "seconds": s} for name, s in least.items()]
    return rows


def against_highs(n: int, rounds: int) -> list[dict[str, Any]]:
    """Both on the same games; HiGHS on a hundredth of them, scaled up."""
    rng = np.random.default_rng(1)
    costs = rng.uniform(size=(K, K))
    np.fill_diagonal(costs, 0.0)
    loss, few = cc.losses.CostMatrix(costs), max(n // 100, 20)
    rows = []
    for scale in SCALES:
        scores, y = scale * rng.normal(size=(n, K)), rng.integers(0, K, n)
        highs = WarmHighs(costs)
        ours = partial(cc.surrogates.evaluate, "adversarial", scores, y, loss=loss)
        peer = partial(highs.values, scores[:few])
        value = cc.surrogates.equilibrium(scores[:few], loss=loss)[2]
        difference = float(np.abs(peer() - value).max())
        least = in_turns({"ours": ours, "highs": peer}, rounds)
        row = {"ours": least["ours"] / n, "highs": least["highs"] / few}
        rows.append({"scale": scale, "difference": difference, **row})
    return rows


def measure(quick: bool) -> dict[str, Any]:
    n, rounds = (5_000, 3) if quick else (100_000, 15)
    return {
        "n": n,
        "k": K,
        "softmax": against_softmax(n, rounds),
        "highs": against_highs(n, 1 if quick else 5),
    }


def tables(content: dict[str, Any]) -> list[Table]:
    least = {(row["scale"], row["route"]): row["seconds"] for row in content["softmax"]}
    rows = []
    for name, (_, _, goal) in ROUTES.items():
        ratios = [least[scale, name] / least[scale, "softmax"] for scale in SCALES]
        rows.append([name, *map(times, ratios), "" if goal is None else f"≤ {goal:g}×"])
    header = ["route and loss", *[f"scores × {scale:g}" for scale in SCALES], "goal"]
    softmax_ms = ", ".join(f"{1e3 * least[scale, 'softmax']:.1f}" for scale in SCALES)
    caption = (
        f"Values and gradients of {content['n']:,} rows of {content['k']} normal scores, one "
        f"thread: time over that of a numba softmax log-loss ({softmax_ms} ms)."
    )
    games = [
        [f"scores × {row['scale']:g}", f"{1e6 * row['ours']:.2f}", f"{1e6 * row['highs']:.0f}",
         times(row["highs"] / row["ours"]), "≥ 40×", f"{row['difference']:.0e}"]
        for row in content["highs"]
    ]  # fmt: skip
    header2 = ["game", "ours, µs", "HiGHS, µs", "faster", "goal", "largest difference"]
    caption2 = (
        "A random 20 × 20 cost matrix, time an example: our value and gradient against the value "
        "from a HiGHS model that stays loaded and starts from its last basis."
    )
    return [Table(caption, header, rows), Table(caption2, header2, games)]


BENCHMARK = Benchmark(
    "surrogates",
    "Surrogates in score space",
    "Least time of 15 rounds (5 against HiGHS) in turns, output arrays and input checks included.",
    measure,
    tables,
)
