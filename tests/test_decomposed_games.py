"""The published dual decomposition, against the games and the training of the library."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

import concordant as cc
from concordant.oracles.decomposed_game import orient, transport_plan
from concordant.oracles.node_game import play
from concordant.structures import Chain, Graph, NodeCosts
from concordant.surrogates import Adversarial, DecomposedRoute
from tests.test_node_games import actions_costs, labellings

RANKS = np.arange(3)
KINDS = {
    "zero_one": 1.0 - np.eye(3),
    "absolute": np.abs(np.subtract.outer(RANKS, RANKS)).astype(float),
    "random": np.random.default_rng(0).uniform(0.0, 2.0, (3, 3)),
    "abstain": np.vstack([1.0 - np.eye(3), np.full(3, 0.4)]),
}


def forests(n: int, seed: int, per_edge: bool) -> Graph:
    """Trees, some in pieces, edges in any direction, some of them in both."""
    rng = np.random.default_rng(seed)
    edges: list[tuple[int, int]] = []
    counts, start = [], 0
    lengths = rng.integers(1, 5, n)
    for T in lengths:
        own: list[tuple[int, int]] = []
        for b in range(1, T):
            a = int(rng.integers(b))
            kind = rng.integers(4)
            own += [[(a, b)], [(b, a)], [(a, b), (b, a)], []][kind]
        edges += [(start + a, start + b) for a, b in own]
        counts.append(len(own))
        start += int(T)
    weight = rng.uniform(0.5, 1.5, start)
    return Graph(lengths, 3, np.array(edges).reshape(-1, 2), counts, per_edge, weight)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per_edge", [False, True])
def test_games_are_bracketed_and_nearly_solved(kind: str, per_edge: bool) -> None:
    batch = forests(12, len(kind), per_edge)
    rng = np.random.default_rng(1)
    scores, weight = rng.normal(size=len(batch.empty())), rng.uniform(0.5, 1.5, 12)
    loss = NodeCosts(batch, KINDS[kind])
    route = DecomposedRoute(Adversarial(), batch, loss)
    upper, mu, bonus = route.solve(scores, None, weight)
    lower = batch.dot(scores, mu) + bonus
    near = play(batch, loss, scores, weight, 1e-4)
    assert (upper >= near.upper - 1e-4 - 1e-9).all()
    assert (lower <= near.upper + 1e-9).all()
    assert np.mean((upper - lower) / (loss.scale * weight * batch.lengths)) < 0.03
    # Its marginals are those of a distribution.
    for i in range(batch.n_examples):
        _, where = batch.take(slice(i, i + 1))
        answers = labellings(batch, i)  # type: ignore[arg-type]
        found = linprog(
            np.zeros(len(answers)), A_eq=np.vstack([answers.T, np.ones(len(answers))]),
            b_eq=np.append(mu[where], 1.0), options={"primal_feasibility_tolerance": 1e-7},
        )  # fmt: skip
        assert found.success, i
        prices = actions_costs(batch, loss, i, answers)  # type: ignore[arg-type]
        cheapest = (prices @ found.x).min() * weight[i]
        assert cheapest == pytest.approx(bonus[i], abs=1e-6)


def test_transports_are_those_of_a_linear_program() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        rows, columns = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3))
        rows[rng.random(3) < 0.2] = 0.0
        rows = rows / rows.sum() if rows.sum() else np.eye(3)[0]
        gain = rng.integers(-2, 3, (3, 3)).astype(float)
        plan = transport_plan(rows, columns, gain)
        np.testing.assert_allclose(plan.sum(axis=1), rows, atol=1e-9)
        np.testing.assert_allclose(plan.sum(axis=0), columns, atol=1e-9)
        cells = np.eye(9).reshape(9, 3, 3)
        sums = np.hstack([cells.sum(axis=2), cells.sum(axis=1)]).T
        best = -linprog(-gain.ravel(), A_eq=sums, b_eq=np.r_[rows, columns]).fun
        assert (plan * gain).sum() == pytest.approx(best, abs=1e-8)


def test_cycles_are_refused() -> None:
    triangle = Graph([1, 3], 2, np.array([[1, 2], [2, 3], [1, 3]]), [0, 3])
    with pytest.raises(ValueError, match="example 1 has a cycle"):
        orient(triangle)
    assert orient(Chain([3, 1], 2)).parent.tolist() == [-1, 0, 1, -1]


@pytest.mark.parametrize("as_graphs", [False, True])
def test_training_agrees_with_the_main_route(as_graphs: bool) -> None:
    rng = np.random.default_rng(3)
    X: list[Any] = [rng.normal(size=(1 + i % 3, 2)) for i in range(3)]
    y = [rng.integers(0, 3, len(x)) for x in X]
    labeler: Any = cc.SequenceLabeler
    if as_graphs:
        X = [cc.Graph(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X]
        labeler = cc.GraphLabeler
    model = labeler("absolute", C=0.5, tol=5e-3, warm_start=True).fit(X, y)
    near, gap = model.objective_, model.gap_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(solver="dual_decomposition", max_iter=2, tol=1e-9).fit(X, y)
    # The same objective at the same weights, up to what is left open; and it finds no better ones.
    assert near - gap <= model.history_["objective"][0] <= 1.03 * near
    assert model.objective_ - model.gap_ <= near
    assert near - gap <= model.objective_ <= 1.03 * near
    with pytest.raises(ValueError, match="is for the adversarial route"):
        labeler(surrogate="log", solver="dual_decomposition").fit(X, y)
