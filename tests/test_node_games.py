"""Games with a loss at the nodes, and the smoothed routes that train through them."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from concordant.objective import Objective
from concordant.oracles.node_game import play, smoothed_play
from concordant.scorers import PairwiseScorer
from concordant.solvers import Lbfgs, minimise
from concordant.structures import Chain, NodeCosts
from concordant.surrogates import Adversarial, Hinge, Hybrid, Log, SmoothedRoute
from tests.reference import game_lp, solve_conic

Array = np.ndarray


def labellings(chain: Chain, i: int) -> Array:
    """All answers of example i, one part array a row."""
    one, _ = chain.take(slice(i, i + 1))
    paths = product(range(chain.n_classes), repeat=int(chain.lengths[i]))
    return np.array([one.parts([np.array(y)]) for y in paths])


def actions_costs(chain: Chain, loss: NodeCosts, i: int, answers: Array) -> Array:
    """Cost of every way to choose an action a node against every answer."""
    one, _ = chain.take(slice(i, i + 1))
    prices = np.array([loss.on(one).at_nodes(one.nodes(y)) for y in answers])  # (answers, T, r)
    T, r = prices.shape[1:]
    choices = np.array(list(product(range(r), repeat=T)))
    return prices[:, np.arange(T), choices].sum(axis=2).T


@pytest.mark.parametrize("per_edge", [False, True])
@pytest.mark.parametrize("kind", ["zero_one", "absolute", "random", "abstain"])
def test_games_agree_with_a_linear_program(kind: str, per_edge: bool) -> None:
    rng = np.random.default_rng(len(kind))
    k, n = 3, 30
    costs = {
        "zero_one": 1.0 - np.eye(k),
        "absolute": np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float),
        "random": rng.uniform(0.0, 2.0, (k, k)),
        "abstain": np.vstack([1.0 - np.eye(k), np.full(k, 0.4)]),
    }[kind]
    lengths = rng.integers(1, 4, n)
    chain = Chain(lengths, k, per_edge, rng.uniform(0.5, 1.5, lengths.sum()))
    scores = rng.normal(size=len(chain.empty())) * np.repeat([0.3, 3.0], [10, 1]).mean()
    scores[rng.random(len(scores)) < 0.3] = 0.0  # ties
    loss, weight = NodeCosts(chain, costs), rng.uniform(0.5, 1.5, n)
    upper, mu, bonus, p, _ = play(chain, loss, scores, weight, 1e-4)
    attained = chain.dot(scores, mu) + bonus
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (upper - attained <= 1e-4).all()
    for i in range(n):
        answers = labellings(chain, i)
        _, where = chain.take(slice(i, i + 1))
        value = game_lp(
            answers @ scores[where], actions_costs(chain, loss, i, answers), float(weight[i])
        )[0]
        assert attained[i] - 1e-7 <= value <= upper[i] + 1e-7


def test_smoothed_game_has_the_right_slope() -> None:
    rng = np.random.default_rng(3)
    chain = Chain(rng.integers(1, 5, 20), 3)
    loss, w = NodeCosts(chain, rng.uniform(0.0, 1.0, (3, 3))), np.ones(20)
    scores, move = rng.normal(size=(2, len(chain.empty())))
    p = np.full((chain.n_nodes, 3), 1.0 / 3.0)

    def value(scores: Array) -> tuple[Array, Array]:
        return smoothed_play(chain, loss, scores, w, 0.3, p, slack=1e-8, steps=5000)[:2]

    slope = (value(scores + 1e-4 * move)[0] - value(scores - 1e-4 * move)[0]) / 2e-4
    np.testing.assert_allclose(chain.dot(value(scores)[1], move), slope, atol=1e-3)


def test_a_game_that_the_truth_already_solves_asks_one_question(monkeypatch: Any) -> None:
    chain, k = Chain([4, 3], 3), 3
    y = [np.array([0, 1, 2, 1]), np.array([2, 2, 0])]
    truth = chain.parts(y)
    monkeypatch.setattr(Chain, "marginals", None)  # any further question would fail
    p = chain.nodes(truth)
    answer = play(chain, NodeCosts(chain, 1.0 - np.eye(k)), 5.0 * truth, np.ones(2), 1e-9, p)
    np.testing.assert_array_equal(answer.mu, truth)


# --- training ---------------------------------------------------------------------------------

ROUTES = {"log": Log(), "hinge": Hinge(), "hybrid": Hybrid(0.4), "adversarial": Adversarial()}
LOSSES = {
    "zero_one": 1.0 - np.eye(3),
    "costs": np.array([[0.0, 3.0, 1.0], [1.0, 0.0, 2.0], [2.0, 0.5, 0.0]]),
}


@cache
def problem(loss: str, per_edge: bool, fit_intercept: bool) -> tuple[Chain, PairwiseScorer, Any]:
    rng = np.random.default_rng(8)
    lengths = np.array([3, 1, 2, 3, 2])
    chain = Chain(lengths, 3, per_edge, rng.uniform(0.5, 1.5, lengths.sum()))
    edge_x = rng.normal(size=(int((lengths - 1).sum()), 2)) if per_edge else None
    scorer = PairwiseScorer(rng.normal(size=(chain.n_nodes, 2)), chain, edge_x, fit_intercept)
    y = np.empty(5, object)
    y[:] = [np.array(v) for v in ([0, 1, 2], [1], [2, 2], [0, 0, 1], [1, 0])]
    return chain, scorer, y


def optimum(route: str, loss: str, per_edge: bool, fit_intercept: bool, weight: Array) -> float:
    """The same problem over listed answers, by a conic solver."""
    import cvxpy as cp

    chain, scorer, y = problem(loss, per_edge, fit_intercept)
    costs = NodeCosts(chain, LOSSES[loss])
    units = np.eye(len(scorer.start()))
    linear = np.array([scorer.scores(unit) for unit in units])
    W = cp.Variable(len(units))
    total, constraints = 0.5 * cp.sum_squares(W[: len(scorer.penalised(scorer.start()))]), []
    for i in range(chain.n_examples):
        one, where = chain.take(slice(i, i + 1))
        answers = labellings(chain, i)
        truth = one.parts(y[i : i + 1])
        f = (answers @ linear[:, where].T) @ W
        right = int(np.flatnonzero((answers == truth).all(axis=1))[0])
        # Node-wise costs of each answer as an action against the truth.
        L = np.array([costs.on(one).of_truths(a) @ answers.T for a in answers])
        if route == "adversarial":
            p = cp.Variable(len(L), nonneg=True)
            constraints.append(cp.sum(p) == 1)
            value = cp.max(f + L.T @ p)
        else:
            log, hinge = cp.log_sum_exp(f), cp.max(f + L[:, right])
            alpha = {"log": 1.0, "hinge": 0.0, "hybrid": 0.4}[route]
            value = alpha * log + (1.0 - alpha) * hinge
        total += weight[i] * (value - f[right])
    solution = cp.Problem(cp.Minimize(total), constraints)
    solve_conic(solution)
    return float(solution.value)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("per_edge", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("route", ROUTES)
def test_smoothed_training_brackets_the_optimum(
    route: str, loss: str, per_edge: bool, fit_intercept: bool
) -> None:
    chain, scorer, y = problem(loss, per_edge, fit_intercept)
    weight = np.array([1.0, 0.5, 2.0, 1.5, 1.0])
    smoothed = SmoothedRoute(ROUTES[route], chain, NodeCosts(chain, LOSSES[loss]))
    objective = Objective(scorer, smoothed, y, weight)
    result = minimise(Lbfgs(), objective, tol=1e-2 if route == "adversarial" else 1e-3)
    best = optimum(route, loss, per_edge, fit_intercept, weight)
    slack = 1e-6 * best
    assert result.reason == "tol"
    assert result.objective - result.gap - slack <= best <= result.objective + slack
    assert objective.primal(result.weights) >= best - slack
