"""Folded scores against unfolded ones, and Newton's method on them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

import concordant as cc
from concordant.executor import Executor, chunks
from concordant.objective import FoldedObjective, Objective
from concordant.penalty import Penalty
from concordant.scorers import KernelScorer, LinearScorer, ThresholdScorer
from concordant.solvers import Lbfgs, Newton, find_solver, minimise
from concordant.structures import LabelCosts
from concordant.surrogates import AllThreshold, ImmediateThreshold, Reduction, find_surrogate
from tests.test_ordinal import ROUTES, K, fit, problem

SMOOTH = ["log", "quadratic", *(each(base) for each in (AllThreshold, ImmediateThreshold)
          for base in ("logistic", "squared_hinge")), Reduction("logistic")]  # fmt: skip


def absolute(k):
    return np.abs(np.arange(k)[:, None] - np.arange(k)).astype(float)


class Unfolded(ThresholdScorer):
    """For a plain objective, whose scores are not folded."""

    def penalty_value(self, penalty, weights, scores=None):
        return super().penalty_value(penalty, weights)


def pair(route, x, y, k=K, kernel=False, free=True, weights=None, n_jobs=1):
    """The same problem with folded and with plain scores."""
    surrogate = find_surrogate(route, None)[0]
    inner = KernelScorer(rbf_kernel(x), 1, False) if kernel else LinearScorer(x, 1, False)
    bound = surrogate.label_route(len(y), LabelCosts(absolute(k)))
    c, w = (np.ones(len(y)),) * 2 if weights is None else weights
    executor = Executor(n_jobs)
    kinds = ((FoldedObjective, ThresholdScorer), (Objective, Unfolded))
    return [
        kind(scorer(inner, k, free), bound, y, c, w, Penalty(), executor) for kind, scorer in kinds
    ]


def some(seed, n, k, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, k, n), rng


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize("kernel", [False, True])
def test_folded_sums_are_those_of_all_scores(name, kernel, monkeypatch):
    """Also one example, two labels, ties (weights of zero), and scores far apart."""
    monkeypatch.setattr(ThresholdScorer, "pieces", lambda self: chunks(self.n_examples, 7))
    for case in range(6):
        n, k = ((30, 4), (30, 4), (1, 3), (12, 2), (20, 5), (20, 5))[case]
        size, free = (1.0, 0.0, 1.0, 1.0, 1e6, 1e-9)[case], case not in (1, 5)
        x, y, rng = some(n + k, n, k)
        weights = rng.uniform(0.1, 2.0, size=(2, n))
        folded, plain = pair(ROUTES[name], x, y, k, kernel, free, weights)
        at = size * rng.normal(size=folded.start().shape)
        here, there = (each.vector(at) for each in (folded, plain))
        a, b = folded.scores(here), plain.scores(there)
        assert a.shape == (n + k,)
        for strength in (0.0, 0.3):
            one, two = folded.loss(a, strength), plain.loss(b, strength)
            close = {"rtol": 1e-9, "atol": 1e-9 * (1.0 + np.abs(b).sum())}
            for field in ("value", "upper", "gain", "blur"):
                np.testing.assert_allclose(getattr(one, field), getattr(two, field), **close)
            np.testing.assert_allclose(folded.pullback(one).at, plain.pullback(two).at, **close)
            mu, dual = folded.dual_at(a, strength)
            np.testing.assert_allclose(mu, plain.dual_point(b, strength), atol=1e-9)
            expected = plain.dual_at(b, strength)[1]
            np.testing.assert_allclose([dual, folded.dual_value(a, strength)], expected, **close)
            np.testing.assert_allclose(folded.dual(mu), plain.dual(mu), **close)
            np.testing.assert_allclose(folded.bounds(at, mu), plain.bounds(at, mu), **close)
        np.testing.assert_allclose(folded.bounds_at(at), plain.bounds_at(at), **close)
        np.testing.assert_allclose(folded.primal_values(at)[1], plain.primal_values(at)[1], **close)
        np.testing.assert_allclose(folded.bonuses(at), plain.bonuses(at), **close)
        assert folded.curvature(a) == pytest.approx(plain.curvature(b), abs=1e-300)


@pytest.mark.parametrize("route", SMOOTH, ids=str)
def test_the_hessian_is_the_slope_of_the_gradient(route):
    for k, free, sparse in ((4, True, False), (2, False, True), (5, False, False)):
        x, y, rng = some(k, 25, k)
        weights = rng.uniform(0.5, 2.0, size=25), np.ones(25)
        objective, _ = pair(route, sp.csr_array(x) if sparse else x, y, k, False, free, weights)
        at = rng.normal(size=objective.start().shape)

        def gradient(weights, objective=objective):
            here = objective.vector(weights)
            loss = objective.loss(objective.scores(here))
            return objective.gradient(here, objective.pullback(loss)).at

        step = 1e-5
        slopes = [
            (gradient(at + e) - gradient(at - e)) / (2 * step) for e in step * np.eye(len(at))
        ]
        found = objective.hessian(objective.scores(objective.vector(at)), np.arange(25))
        np.testing.assert_allclose(found, slopes, atol=2e-4 * np.abs(slopes).max())


def test_curvature_of_kinks_is_that_of_their_average():
    """On average over many examples: the differences of gradients over the same width."""
    x, y, rng = some(0, 20_000, K)
    objective, _ = pair("adversarial", x, y)
    at = rng.normal(size=objective.start().shape)
    width = 0.03 * objective.scale

    def gradient(offsets):
        moved = objective.scores(objective.vector(at + np.r_[np.zeros(3), offsets]))
        return objective.pullback(objective.loss(moved)).at[3:]

    found = objective.hessian(objective.scores(objective.vector(at)), np.arange(20_000))
    for j, e in enumerate(width * np.eye(K)):
        slope = (gradient(e) - gradient(-e)) / (2 * width)
        np.testing.assert_allclose(found[3 + j, 3:], slope, atol=1e-6 * np.abs(slope).max())


@pytest.mark.parametrize("route", SMOOTH, ids=str)
def test_newton_reaches_the_optimum_in_few_steps(route):
    x, y = problem(1, n=400)
    for free in (True, False):
        model = cc.OrdinalClassifier(
            surrogate=route, solver="newton", tol=1e-10, C=3.0, fit_intercept=free
        )
        fit(model, x, y)
        other = fit(cc.OrdinalClassifier(
            surrogate=route, solver="lbfgs", tol=1e-8, C=3.0, fit_intercept=free), x, y
        )  # fmt: skip
        assert model.gap_ <= 1e-10 * model.objective_
        assert model.objective_ == pytest.approx(other.objective_, rel=1e-7)
        assert model.n_iter_ <= 15


@pytest.mark.parametrize("route", ["adversarial", "hinge", AllThreshold("hinge"), "log"], ids=str)
def test_newton_on_a_sample_of_many_examples(route):
    """The sample's solution first, then steps on all, then smoothing where kinks are left."""
    x, y = problem(2, n=3000)
    objective, _ = pair(route, x, y)
    found = minimise(Newton(sample=500), objective, tol=1e-5)
    assert found.reason == "tol"
    other = minimise(Lbfgs(), objective, tol=1e-5)
    assert found.objective == pytest.approx(other.objective, rel=2e-5)
    assert found.objective - found.gap <= other.objective
    few = minimise(Newton(sample=500), objective, tol=1e-2)
    assert few.n_iter <= 15


def test_newton_says_what_it_is_for():
    x, y = problem(3)
    for model in (
        cc.Classifier("absolute", "log", solver="newton"),
        cc.OrdinalClassifier(surrogate="log", kernel="rbf", solver="newton"),
        cc.OrdinalClassifier(surrogate="log", penalty="elasticnet", solver="newton"),
    ):
        with pytest.raises(ValueError, match="linear scores with thresholds"):
            model.fit(x, y)
    wide, _ = pair("log", np.ones((4, 400)), np.array([0, 1, 2, 3]))
    assert isinstance(find_solver("auto", wide), Lbfgs)
    narrow, _ = pair("log", x, y)
    assert isinstance(find_solver("auto", narrow), Newton)


def test_nothing_of_the_size_of_all_scores_is_kept():
    """Memory grows with the examples by a few numbers each, not by one a label."""
    k = 50
    for route in ("adversarial", "all_threshold"):
        peaks = []
        for n in (20_000, 60_000):
            x, y, _ = some(4, n, k, d=1)
            objective, _ = pair(route, x, y, k)
            at = objective.start() + 0.1
            tracemalloc.start()
            scores = objective.scores(objective.vector(at))
            objective.pullback(objective.loss(scores))
            objective.dual_value(scores)
            objective.primal(at)
            objective.bonuses(at)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert peaks[1] - peaks[0] < 0.3 * 8 * 40_000 * k


@pytest.mark.parametrize("route", ["adversarial", AllThreshold("hinge"), "log"], ids=str)
def test_a_block_step_is_exact(route):
    """Against bisection for its price, at any size of features and weights."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 6))
        size, c = 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-3, 3)
        x, y = size * rng.normal(size=(1, 1)), rng.integers(0, k, 1)
        objective, _ = pair(route, x, y, k, weights=(np.array([c]), np.ones(1)))
        state = objective.dual_start(rng.normal(size=1 + k) * 10.0 ** rng.uniform(-2, 2))
        if not isinstance(route, AllThreshold):
            state.mu[...] = rng.dirichlet(np.ones(k), size=1)
        state.weights[:1] = 10.0 ** rng.uniform(-2, 2) * rng.normal()
        mu, f = state.mu.copy(), objective.scorer.scores(state.weights)
        objective.scorer.dual_pass(
            state, np.zeros(1, np.int64), objective.route.block,
            (None, y, objective.weight, np.ones(1), 1.0, 0.0, objective._pull),
        )  # fmt: skip
        ranks, held = objective.scorer.ranks, c * objective._pull

        def answer(price):
            asked = f - price * ranks  # noqa: B023
            return objective.route.solve(asked, y, None, held, mu).mu  # noqa: B023

        strength = c * x[0, 0] ** 2
        low, high = sorted([0.0, strength * ((answer(0.0) - mu) @ ranks).item()])
        for _ in range(60):
            price = 0.5 * (low + high)
            if price < strength * ((answer(price) - mu) @ ranks).item():
                low = price
            else:
                high = price
        np.testing.assert_allclose(state.mu, answer(0.5 * (low + high)), atol=1e-5)
