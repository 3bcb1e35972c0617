"""`Matcher`: training against conic programs, consistency, conventions, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import concordant as cc
from concordant.checks import check_structured_estimator
from concordant.losses import Matching
from concordant.structures import Assignments
from tests.reference import solve_conic
from tests.reference_assignments import every_answer, hamming

ROUTES = ("adversarial", "hinge", "log")
Data = tuple[list[np.ndarray], list[np.ndarray]]


def make(sizes: list[tuple[int, int]], seed: int = 0, alone: bool = False, d: int = 3) -> Data:
    """Noisy assignments; with `alone` some rows stay alone."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    X, y = [], []
    for n, m in sizes:
        x = rng.normal(size=(n, m, d))
        answer = np.full(n, -1)
        rows, columns = linear_sum_assignment(-(x @ w + rng.normal(size=(n, m))))
        answer[rows] = columns
        if alone and n:
            answer[rng.integers(n)] = -1
        X.append(x)
        y.append(answer)
    return X, y


SIZES = [(2, 3), (3, 3), (1, 2), (3, 2), (2, 2), (3, 3), (0, 2), (1, 1)]


@pytest.mark.parametrize("route", [*ROUTES, "hybrid"])
@pytest.mark.parametrize("alone", [False, True])
def test_conventions(route: str, alone: bool) -> None:
    check_structured_estimator(cc.Matcher(surrogate=route, random_state=0), *make(SIZES, 1, alone))


# ---- the optimum ----


def conic_optimum(route: str, X: Any, y: Any, C: float, partial: bool, weight: Any, loss: Any):
    """The training problem over listed answers, by a conic solver."""
    import cvxpy as cp

    d = X[0].shape[2]
    W = cp.Variable(d + 2 * partial)
    total, constraints = 0.5 * cp.sum_squares(W), []
    for x, truth, c in zip(X, y, weight):
        n, m = x.shape[:2]
        answers = every_answer(n, m, partial)
        features = np.zeros((len(answers), d + 2 * partial))
        for line, answer in zip(features, answers):
            for i, j in enumerate(answer):
                if j >= 0:
                    line[:d] += x[i, j]
                elif partial:
                    line[d] += 1.0
            if partial:
                line[d + 1] = m - sum(j >= 0 for j in answer)
        f = features @ W
        costs = np.array([[hamming(a, t, loss.miss, loss.false) for t in answers] for a in answers])
        right = answers.index(list(truth))
        if route == "adversarial":
            p = cp.Variable(len(answers), nonneg=True)
            constraints.append(cp.sum(p) == 1)
            value = cp.max(f + costs.T @ p)
        elif route == "log":
            value = cp.log_sum_exp(f)
        elif route == "hybrid":
            value = 0.5 * cp.log_sum_exp(f) + 0.5 * cp.max(f + costs[:, right])
        else:
            value = cp.max(f + costs[:, right])
        total += C * c * (value - f[right])
    problem = cp.Problem(cp.Minimize(total), constraints)
    solve_conic(problem)
    return problem.value


@pytest.mark.parametrize("route", [*ROUTES, "hybrid"])
@pytest.mark.parametrize("alone", [False, True])
def test_objective_is_that_of_a_conic_program(route: str, alone: bool) -> None:
    X, y = make([(2, 3), (3, 3), (3, 2), (2, 2), (1, 3)], 2, alone)
    weight = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    loss = Matching(miss=0.5, false=2.0) if alone else Matching()
    best = conic_optimum(route, X, y, 0.7, alone, weight, loss)
    tol = 1e-4 if route == "hybrid" else 1e-6
    model = cc.Matcher(loss, route, C=0.7, tol=tol).fit(X, y, sample_weight=weight)
    assert model.gap_ <= tol * model.objective_
    slack = 1e-7 * best
    assert model.objective_ - model.gap_ - slack <= best <= model.objective_ + slack


def test_solvers_agree() -> None:
    X, y = make([(3, 3), (2, 3), (4, 4)], 3)
    for route, solvers in (
        ("adversarial", ("dual", "lbfgs")),
        ("hinge", ("dual", "block_frank_wolfe")),
    ):
        models = [
            cc.Matcher(surrogate=route, solver=solver, tol=1e-3, C=0.3, max_iter=3000).fit(X, y)
            for solver in solvers
        ]
        low = max(model.objective_ - model.gap_ for model in models)
        for model in models:
            assert model.gap_ <= 1e-3 * model.objective_
            assert low <= model.objective_ + 1e-9


@pytest.mark.parametrize("mu", [0.01, 0.1])
def test_published_smoothing_is_certified_without_it(mu: float) -> None:
    X, y = make([(3, 3), (2, 3), (4, 4)], 3)
    exact = cc.Matcher(tol=1e-7).fit(X, y)
    smooth = cc.Matcher(mu=mu, tol=1e-7).fit(X, y)
    assert smooth.objective_ >= exact.objective_ - exact.gap_
    assert smooth.objective_ - smooth.gap_ <= exact.objective_
    assert 1e-7 * smooth.objective_ < smooth.gap_ < 2 * mu * smooth.objective_


# ---- consistency ----


def one_hot_pairs(n: int) -> np.ndarray:
    """Features rich enough for any scores."""
    return np.eye(n * n).reshape(n, n, n * n)


def test_the_hinge_is_indifferent_where_the_adversarial_route_is_right() -> None:
    """Three permutations without a majority (thesis, section 4.2): the best answer is the first."""
    y = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    data = [one_hot_pairs(3)] * 3, y
    weight = {"sample_weight": [0.4, 0.3, 0.3]}
    risk = [0.6 * 3, 0.7 * 3, 0.7 * 3]
    assert min(risk) == risk[0]
    hinge = cc.Matcher(surrogate="hinge", C=1e4, tol=1e-9).fit(*data, **weight)
    assert hinge.objective_ == pytest.approx(3.0 * 1e4)
    assert np.abs(hinge.coef_).max() <= np.sqrt(2 * hinge.gap_) + 1e-9  # strong convexity
    for route in ("adversarial", "log"):
        model = cc.Matcher(surrogate=route, C=1e4).fit(*data, **weight)
        scores = model.decision_function(data[0][:1])[0]
        worth = [scores[np.arange(3), answer].sum() for answer in y]
        assert worth[0] > max(worth[1:]) + 0.1
        np.testing.assert_array_equal(model.predict(data[0][:1])[0], y[0])
        assert "Consistent" in model.consistency()
    assert "Not consistent" in hinge.consistency()


# ---- staying alone ----


def test_staying_alone_is_learned() -> None:
    rng = np.random.default_rng(4)
    X, y = [], []
    for _ in range(40):  # a pair fits if its feature is near 1, most do not
        n, m = rng.integers(1, 5, 2)
        x, answer = rng.normal(-1.0, 0.3, (n, m, 1)), np.full(n, -1)
        met = rng.integers(0, min(n, m) + 1)
        rows, columns = rng.permutation(n)[:met], rng.permutation(m)[:met]
        x[rows, columns] = rng.normal(1.0, 0.3, (met, 1))
        answer[rows] = columns
        X.append(x)
        y.append(answer)
    for route in ROUTES:
        model = cc.Matcher(surrogate=route).fit(X, y)
        assert model.unmatched_.shape == (2,)
        assert model.coef_.shape == (1,)
        assert model.score(X, y) > 0.95
        marginals = model.predict_marginals(X) if route != "hinge" else []
        for grid in marginals:
            assert (grid.sum(axis=0) <= 1 + 1e-9).all()
            assert (grid.sum(axis=1) <= 1 + 1e-9).all()
    assert cc.Matcher(unmatched=True).fit(*make(SIZES)).unmatched_ is not None
    assert cc.Matcher().fit(*make(SIZES)).unmatched_ is None
    with pytest.raises(ValueError, match=r"unmatched=False, but in y row . of example"):
        cc.Matcher(unmatched=False).fit(X, y)


def test_prices_move_the_decision_to_stay_alone() -> None:
    """Noisy pairs that are right half of the time: dear misses are avoided, and dear false
    pairs."""
    rng = np.random.default_rng(5)
    X = [np.ones((2, 2, 1)) * np.eye(2)[:, :, None] for _ in range(60)]
    y = [[0, 1] if keep else [-1, -1] for keep in rng.random(60) < 0.5]
    for route in ("adversarial", "log"):
        eager = cc.Matcher(Matching(miss=5, false=1), route).fit(X, y)
        shy = cc.Matcher(Matching(miss=1, false=5), route).fit(X, y)
        np.testing.assert_array_equal(eager.predict(X[:1])[0], [0, 1])
        np.testing.assert_array_equal(shy.predict(X[:1])[0], [-1, -1])


def test_forbidden_pairs_are_never_made() -> None:
    X, y = make([(3, 3)] * 6, 6)
    rng = np.random.default_rng(7)
    for x, answer in zip(X, y):
        free = np.setdiff1d(np.arange(3), answer[:1])
        x[0, rng.choice(free)] = -np.inf
    for route in ROUTES:
        model = cc.Matcher(surrogate=route).fit(X, y)
        assert np.isfinite(model.coef_).all()
        for x, answer in zip(X, model.predict(X)):
            assert np.isfinite(x[np.arange(3), answer]).all()
        scores = model.decision_function(X)[0]
        np.testing.assert_array_equal(np.isneginf(scores), np.isneginf(X[0]).any(axis=2))
    X[2][0] = -np.inf
    with pytest.raises(ValueError, match="example 2: every pair of row 0 is forbidden"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"y\[2\]\[0\] = . is a pair that X forbids"):
        cc.Matcher().fit(X, y)


# ---- weights, sizes, determinism ----


@pytest.mark.parametrize("route", ROUTES)
def test_weights_are_copies(route: str) -> None:
    X, y = make([(2, 3), (3, 3), (2, 2)], 8)
    weight = [2.0, 0.0, 1.0]
    ours = cc.Matcher(surrogate=route, tol=1e-7).fit(X, y, sample_weight=weight)
    copies = cc.Matcher(surrogate=route, tol=1e-7).fit([X[0], X[0], X[2]], [y[0], y[0], y[2]])
    np.testing.assert_allclose(ours.coef_, copies.coef_, atol=1e-3)
    assert ours.objective_ == pytest.approx(copies.objective_, rel=1e-6)


def test_loss_weights_multiply_prices() -> None:
    X, y = make([(2, 3), (3, 3), (2, 2)], 8)
    for route in ("adversarial", "hinge"):
        plain = cc.Matcher(Matching(2, 2), route, tol=1e-7).fit(X, y)
        for shape in ("rows", "pairs"):
            weight = [np.full(x.shape[: 1 if shape == "rows" else 2], 2.0) for x in X]
            model = cc.Matcher(surrogate=route, tol=1e-7).fit(X, y, loss_weight=weight)
            assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    with pytest.raises(ValueError, match="loss_weight of example 1 must have shape"):
        cc.Matcher().fit(X, y, loss_weight=[np.ones(2), np.ones(2), np.ones(2)])
    with pytest.raises(ValueError, match="loss_weight of example 0"):
        cc.Matcher().fit(X, y, loss_weight=[-np.ones(2), np.ones(3), np.ones(2)])


@pytest.mark.parametrize("route", ROUTES)
def test_sizes_zero_and_one_and_ties(route: str) -> None:
    X = [np.ones((1, 1, 2)), np.ones((0, 3, 2)), np.ones((2, 0, 2)), np.ones((3, 3, 2))]
    y = [[0], [], [-1, -1], [2, 0, 1]]
    model = cc.Matcher(surrogate=route).fit(X, y)
    answers = model.predict(X)
    assert [len(each) for each in answers] == [1, 0, 2, 3]
    np.testing.assert_array_equal(answers[2], [-1, -1])
    assert sorted(answers[3]) == [0, 1, 2]
    assert np.isfinite(model.objective_)
    alone = cc.Matcher(surrogate=route).fit(X, [[-1], [], [-1, -1], [-1, -1, -1]])
    assert (alone.predict(X)[3] == -1).all()


def test_threads_change_nothing() -> None:
    X, y = make([(9, 9)] * 80, 9, d=4)
    one, two = (cc.Matcher(n_jobs=jobs, C=0.01).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.gap_ == two.gap_


def test_warm_start_needs_fewer_passes() -> None:
    X, y = make([(4, 4)] * 10, 10)
    model = cc.Matcher(warm_start=True, C=0.1).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first
    assert model.gap_ <= 1e-4 * model.objective_


def test_large_examples_use_bethe_and_say_so() -> None:
    X, y = make([(14, 14)] * 3, 11)
    model = cc.Matcher(surrogate="log", C=0.1).fit(X, y)
    assert model.approximate_
    assert model.gap_ <= 1e-4 * model.objective_
    np.testing.assert_allclose(model.predict_marginals(X)[0].sum(axis=0), 1.0)
    assert not cc.Matcher(surrogate="log").fit(*make(SIZES)).approximate_


def test_score_and_marginals() -> None:
    X, y = make([(3, 3), (2, 3), (2, 2)], 12)
    model = cc.Matcher().fit(X, y)
    right = [np.mean(a == b) for a, b in zip(model.predict(X), y)]
    assert model.score(X, y) == pytest.approx(np.mean(right))
    assert model.score(X, y, [1, 0, 3]) == pytest.approx((right[0] + 3 * right[2]) / 4)
    priced = cc.Matcher(Matching(miss=1, false=4)).fit(X, y)
    right = [np.mean(a == b) for a, b in zip(priced.predict(X), y)]
    assert priced.score(X, y) == pytest.approx(np.mean(right))
    for grid, (n, m) in zip(model.predict_marginals(X), ((3, 3), (2, 3), (2, 2))):
        assert grid.shape == (n, m)
        np.testing.assert_allclose(grid.sum(axis=1), 1.0)
        assert (grid.sum(axis=0) <= 1.0 + 1e-9).all()
    assert not hasattr(cc.Matcher(surrogate="hinge").fit(X, y), "predict_marginals")
    assert 0.0 < model.game_value_ < 3.0


def test_equilibrium_strategy_is_the_predictors() -> None:
    """Against the strategy no answer of the adversary gains more than the value of the game."""
    X, y = make([(3, 3)], 13)
    model = cc.Matcher(C=0.3).fit(X, y)
    scores, p = model.decision_function(X)[0], model.predict_marginals(X)[0]
    batch = Assignments([3], [3])
    upper = batch.play(batch.loss("hamming"), batch.scores([scores]), np.ones(1))[0][0]
    gains = [
        3 - p[np.arange(3), a].sum() + scores[np.arange(3), a].sum()
        for a in every_answer(3, 3, False)
    ]
    assert max(gains) == pytest.approx(upper, rel=1e-6)


# ---- bad input ----


def _with(X: list[np.ndarray], i: int, value: Any) -> list[Any]:
    return [value if k == i else x for k, x in enumerate(X)]


def test_bad_features_are_named() -> None:
    X, y = make([(2, 2), (3, 3)], 14)
    hurt = X[1].copy()
    hurt[2, 0, 1] = np.nan
    cases = [
        (_with(X, 1, hurt), r"X\[1\]\[2, 0, 1\] = nan"),
        (_with(X, 1, np.where(np.isnan(hurt), np.inf, hurt)), r"X\[1\]\[2, 0, 1\] = inf"),
        (_with(X, 1, X[1][:, :, :2]), r"X\[1\] has 2 features a pair, but 3"),
        (_with(X, 0, X[0][0]), r"X\[0\] must have shape \(rows, columns, features\)"),
        (_with(X, 0, [["a"]]), r"X\[0\] must be an array of numbers"),
        ([x[:, :, :0] for x in X], "0 feature"),
        ([1e200 * x for x in X], "example 0 are too large"),
    ]
    for bad, message in cases:
        with pytest.raises(ValueError, match=message):
            cc.Matcher().fit(bad, y)
    model = cc.Matcher().fit(X, y)
    with pytest.raises(ValueError, match="2 features a pair, but 3"):
        model.predict([X[0][:, :, :2]])


def test_bad_answers_are_named() -> None:
    X, _ = make([(2, 2), (3, 3)], 15)
    cases = [
        ([[0, 1], [0, 1]], r"y\[1\] must have shape \(3,\)"),
        ([[0, 1], [0, 1, 0]], r"y\[1\] gives column 0 to rows 0 and 2"),
        ([[0, 2], [0, 1, 2]], r"y\[0\]\[1\] = 2 is not a column in 0..1"),
        ([[0, -2], [0, 1, 2]], r"y\[0\]\[1\] = -2"),
        ([[0.5, 1], [0, 1, 2]], r"y\[0\] must hold integers"),
        ([["a", "b"], [0, 1, 2]], r"y\[0\] must hold integers"),
    ]
    for bad, message in cases:
        with pytest.raises(ValueError, match=message):
            cc.Matcher().fit(X, bad)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": 0}, "C must be"),
        ({"mu": -1}, "mu must be"),
        ({"mu": 0.1, "surrogate": "hinge"}, "smooths the adversarial game"),
        ({"surrogate": "one_vs_rest"}, "'one_vs_rest' route is not there for assignments"),
        ({"surrogate": "nonsense"}, "unknown surrogate"),
        ({"loss": "zero_one"}, "unknown loss 'zero_one' of assignments"),
        ({"loss": cc.losses.ZeroOne()}, "does not decompose over assignments"),
        ({"unmatched": "maybe"}, "unmatched must be"),
        ({"sums": "ryser"}, "sums must be"),
        ({"solver": "simplex"}, "unknown solver"),
        ({"tol": -1}, "tol must be"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    X, y = make([(2, 2)], 16)
    with pytest.raises((ValueError, TypeError), match=message):
        cc.Matcher(**arguments).fit(X, y)


def test_not_fitted_and_not_converged() -> None:
    X, y = make([(3, 3)] * 4, 17)
    with pytest.raises(NotFittedError):
        cc.Matcher().predict(X)
    with pytest.warns(ConvergenceWarning, match="certified gap"):
        model = cc.Matcher(max_iter=1, tol=1e-12).fit(X, y)
    assert np.isfinite(model.gap_)
    with pytest.raises(ValueError, match="zero for every example"):
        cc.Matcher().fit(X, y, sample_weight=np.zeros(4))
