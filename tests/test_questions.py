"""Reductions to questions, and baselines that abstain below a threshold."""

from __future__ import annotations

import warnings
from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import concordant as cc
from concordant.losses import Absolute, Abstain, CostMatrix, Squared, ZeroOne
from concordant.structures import LabelCosts
from concordant.surrogates import REDUCTIONS, REJECTING, ROUTES, SURROGATES, BinaryEncoded
from tests.reference import label_costs, solve_conic
from tests.reference_training import question_values
from tests.test_blocks import dot
from tests.test_training import LOSSES, K, assert_optimal, fit, optimum_of, problem, weights

NAMES = (*REDUCTIONS, "binary_encoded")
COSTS = [Absolute(), Squared(), ZeroOne(), CostMatrix([[0, 5, 1, 2], [1, 0, 0, 7], [2, 3, 0, 1]] +
                                                      [[4, 4, 1, 0]])]  # fmt: skip


def columns(name, k=4):
    return ROUTES[name]().columns(k)


def sample(name, n=30, seed=0, k=4):
    rng = np.random.default_rng(seed)
    return 2.0 * rng.normal(size=(n, columns(name, k))), rng.integers(0, k, n)


def textbook(name, scores, y, D, w):
    values = question_values(name, cp.Constant(scores), y, D, w)
    return np.asarray(values.value)


@pytest.mark.parametrize("loss", COSTS, ids=repr)
@pytest.mark.parametrize("name", NAMES)
def test_values_and_slopes_are_those_of_the_formula(name, loss):
    scores, y = sample(name)
    w = np.random.default_rng(1).uniform(0.3, 2.0, len(y))
    D = label_costs(loss.matrix(4))
    for weight in (None, w):
        found, slope = cc.surrogates.evaluate(name, scores, y, loss=loss, loss_weight=weight)
        inside = np.ones(len(y)) if weight is None else weight
        np.testing.assert_allclose(found, textbook(name, scores, y, D, inside), atol=1e-9)
        for j in range(scores.shape[1]):
            step = 1e-6 * np.eye(scores.shape[1])[j]
            ends = [
                cc.surrogates.evaluate(name, scores + e, y, loss=loss, loss_weight=weight)[0]
                for e in (step, -step)
            ]
            np.testing.assert_allclose(slope[:, j], (ends[0] - ends[1]) / 2e-6, atol=1e-5)


@pytest.mark.parametrize("loss", COSTS, ids=repr)
@pytest.mark.parametrize("name", NAMES)
def test_proximal_question_is_solved_exactly(name, loss):
    """The answer is the plain answer's equal at the scores tilted by the last term's gradient."""
    rng = np.random.default_rng(2)
    n = 200
    scores, y = sample(name, n)
    scores[::4] = rng.integers(-2, 3, scores[::4].shape)
    route = ROUTES[name]().label_route(n, LabelCosts(loss.matrix(4)))
    w = rng.uniform(0.2, 2.0, n) if ROUTES[name].weighs == "inside" else np.ones(n)
    strength = 10.0 ** rng.uniform(-3, 3, n)
    some = route.solve(3 * rng.normal(size=scores.shape), y, w).mu
    for centre in (some, 0.3 * some, np.zeros_like(some)):
        answer = route.solve(scores, y, w, strength, centre)
        tilted = scores - strength[:, None] * (answer.mu - centre)
        best = route.solve(tilted, y, w).upper
        size = np.abs(tilted).max(axis=1) + route.scale + strength
        assert np.abs((best - dot(tilted, answer.mu) - answer.bonus) / size).max() <= 1e-9
        np.testing.assert_allclose(route.bonus(answer.mu, y, w), answer.bonus, atol=1e-9)
        repaired = route.surrogate.balance(answer.mu, y, w, np.ones(n))
        np.testing.assert_allclose(w @ repaired, 0.0, atol=1e-9)
        assert (dot(scores, repaired) + route.bonus(repaired, y, w)
                <= route.solve(scores, y, w).upper + 1e-9).all()  # fmt: skip


@pytest.mark.parametrize("loss", ["absolute", "square costs", "abstain at 0.3"])
@pytest.mark.parametrize("name", [*NAMES, "rejecting_one_vs_rest", "rejecting_crammer_singer"])
def test_training_reaches_the_optimum(name, loss):
    X, y = problem(1)
    sample_weight, loss_weight = weights(1)
    for intercept, kwargs in (
        (True, {"sample_weight": sample_weight, "loss_weight": loss_weight}),
        (False, {}),
    ):
        for kernel in (None, "linear"):
            model = cc.Classifier(LOSSES[loss], name, C=0.5, kernel=kernel, fit_intercept=intercept)
            fit(model, X, y, **kwargs)
            optimum = optimum_of(X, y, loss, name, 0.5, fit_intercept=intercept, **kwargs)
            assert_optimal(model, optimum)


@pytest.mark.parametrize("solver", ["dual", "lbfgs"])
@pytest.mark.parametrize("name", NAMES)
def test_both_solvers_reach_the_optimum(name, solver):
    X, y = problem(2)
    model = fit(cc.Classifier("absolute", name, C=0.5, solver=solver), X, y)
    assert_optimal(model, optimum_of(X, y, "absolute", name, 0.5))


# --- decisions -------------------------------------------------------------------------------


def test_one_sided_regression_predicts_the_least_estimated_cost():
    scores, _ = sample("one_sided_regression", 50)
    costs = LabelCosts(Absolute().matrix(4))
    found = ROUTES["one_sided_regression"]().decision(costs, scores).argmax(axis=1)
    np.testing.assert_array_equal(found, (-scores).argmin(axis=1))


def test_one_versus_one_takes_the_majority_of_votes():
    scores, _ = sample("cost_one_vs_one", 300)
    costs = LabelCosts(Absolute().matrix(4))
    found = ROUTES["cost_one_vs_one"]().decision(costs, scores).argmax(axis=1)
    for f, label in zip(scores, found, strict=True):
        votes = np.zeros(4)
        for (i, j), score in zip(combinations(range(4), 2), f, strict=True):
            votes[i if score > 0 else j] += 1
        assert votes[label] == votes.max()


def test_mistakes_of_one_versus_all_bound_the_cost():
    """If the largest score is at j, the weights of the machines that erred are at least c_j."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        L = rng.integers(0, 6, (5, 5)) * (1.0 - np.eye(5))
        p, q, _, _ = ROUTES["cost_one_vs_all"]().tables(L)
        scores, y = rng.normal(size=(40, 5)), rng.integers(0, 5, 40)
        erred = (p[:, y].T * (scores <= 0) + q[:, y].T * (scores >= 0)).sum(axis=1)
        assert (L[scores.argmax(axis=1), y] <= erred + 1e-12).all()


def test_pairs_have_their_number():
    with pytest.raises(ValueError, match=r"1, 3, 6, 10, \.\.\. columns; got 4"):
        cc.surrogates.evaluate("cost_one_vs_one", np.zeros((1, 4)), [0])
    found = cc.surrogates.evaluate("cost_one_vs_one", np.zeros((1, 6)), [3], loss="absolute")[0]
    assert found == pytest.approx(sum(abs(abs(i - 3) - abs(j - 3)) for i in range(4)
                                      for j in range(i)))  # fmt: skip


def test_codes_tell_labels_apart_and_are_decoded():
    for k in (2, 3, 4, 5, 9):
        route = BinaryEncoded()
        codes = route._codes(k)
        assert len(codes) == max(int(np.ceil(np.log2(k))), 1)
        assert len({tuple(code) for code in codes.T}) == k
        costs = LabelCosts(Abstain(0.5).matrix(k), False)
        np.testing.assert_array_equal(route.decision(costs, codes.T).argmax(axis=1), np.arange(k))
        weak = codes.T.copy()
        weak[:, 0] *= 0.5
        assert (route.decision(costs, weak).argmax(axis=1) == k).all()


@pytest.mark.parametrize(("name", "least"), [("rejecting_one_vs_rest", lambda f: f.max(axis=1)),
                                             ("rejecting_crammer_singer",
                                              lambda f: np.diff(np.sort(f))[:, -1])])  # fmt: skip
def test_thresholds_decide_when_to_abstain(name, least):
    scores = np.random.default_rng(4).normal(size=(200, 4))
    costs = LabelCosts(Abstain(0.5).matrix(4), False)
    for threshold in (0.0, 0.5):
        action = ROUTES[name](threshold).decision(costs, scores).argmax(axis=1)
        expected = np.where(least(scores) > threshold, scores.argmax(axis=1), 4)
        np.testing.assert_array_equal(action, expected)
    assert ROUTES["rejecting_one_vs_rest"]().threshold == 0.0
    assert ROUTES["rejecting_crammer_singer"]().threshold == 0.5
    plain = LabelCosts(ZeroOne().matrix(4))
    np.testing.assert_array_equal(
        ROUTES[name]().decision(plain, scores).argmax(axis=1), scores.argmax(axis=1)
    )


def test_scores_all_at_the_threshold_abstain():
    costs = LabelCosts(Abstain(0.5).matrix(3), False)
    assert ROUTES["rejecting_one_vs_rest"]().decision(costs, np.zeros((1, 3))).argmax() == 3
    assert ROUTES["rejecting_crammer_singer"]().decision(costs, np.zeros((1, 3))).argmax() == 3


@pytest.mark.parametrize("cost", [0.1, 0.3, 0.5])
def test_log_loss_abstains_by_chows_rule(cost):
    X, y = problem(5, n=80)
    model = fit(cc.Classifier(Abstain(cost), "log"), X, y)
    proba = model.predict_proba(X)
    sure = proba.max(axis=1) >= 1.0 - cost
    assert 0 < sure.sum() < len(y)
    np.testing.assert_array_equal(model.predict(X), np.where(sure, proba.argmax(axis=1), -1))


@pytest.mark.parametrize("name", REJECTING)
def test_rejecting_routes_are_consistent_at_a_half(name):
    """At a distribution with a majority the least risk is at scores that predict it, else at
    scores that abstain."""
    k = 4
    costs = LabelCosts(Abstain(0.5).matrix(k), False)
    route = ROUTES[name]()
    assert route.consistency(costs, {}).startswith("Consistent")
    assert route.consistency(LabelCosts(Abstain(0.3).matrix(k), False), {}).startswith("Not")
    m = route.columns(k)
    for d in ([0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.4, 0.3, 0.2, 0.1], [0.25] * 4):
        f = cp.Variable((1, m))
        F = np.ones((k, 1)) @ f
        if name == "binary_encoded":
            values = question_values(name, F, np.arange(k), costs.costs, np.ones(k))
        elif name == "rejecting_one_vs_rest":
            values = cp.sum(cp.pos(1 + cp.multiply(1 - 2 * np.eye(k), F)), axis=1)
        else:
            values = cp.max(F + 1.0 - np.eye(k), axis=1) - cp.diag(F)
        problem_ = cp.Problem(cp.Minimize(np.array(d) @ values))
        solve_conic(problem_)
        action = route.decision(costs, np.asarray(f.value)).argmax()
        assert action == (int(np.argmax(d)) if max(d) > 0.5 else k)


# --- estimators ------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("name", [*REDUCTIONS, *REJECTING])
def test_they_work_on_labels_of_any_kind(name, kernel):
    X, y = problem(6, n=60)
    names = np.array(["a", "b", "c", "d"])[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = cc.Classifier(Abstain(0.5), name, kernel=kernel, C=10.0).fit(X, names)
        assert set(model.predict(X)) <= {"a", "b", "c", "d", "abstain"}
        assert model.decision_function(X).shape == (60, 5)
        two = cc.Classifier("zero_one", name, kernel=kernel).fit(X, y > 1)
        decision = two.decision_function(X)
        np.testing.assert_array_equal(two.predict(X), decision > 0)
        one = cc.Classifier("zero_one", name, kernel=kernel).fit(X, np.zeros(60))
        assert not one.predict(X).any()


def test_no_name_means_two_routes():
    assert not set(SURROGATES) & (set(REDUCTIONS) | set(REJECTING))
    assert K == 4
