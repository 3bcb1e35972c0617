"""`Classifier`: every answer and every fitted attribute against a computation of its own."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import linear_kernel, pairwise_kernels, polynomial_kernel, rbf_kernel

import concordant as cc
from concordant.losses import find_loss
from concordant.surrogates import ALIASES, SURROGATES
from tests.reference import game_lp, simplex_violation

K = 3
SQUARE = [[0.0, 2.0, 5.0], [1.0, 0.0, 3.0], [4.0, 1.0, 0.0]]
RECTANGULAR = [[0.0, 4.0, 5.0], [3.0, 0.0, 1.0], [1.0, 1.0, 1.0], [2.0, 6.0, 0.0]]
LOSSES = {
    "zero_one": "zero_one",
    "absolute": "absolute",
    "square costs": cc.losses.CostMatrix(SQUARE),
    "abstain": cc.losses.Abstain(cost=0.3),
    "rectangular costs": cc.losses.CostMatrix(RECTANGULAR),
}
LABEL_LOSSES = ("zero_one", "absolute", "square costs")
#: Routes that predict the largest score, the Bayes action under the softmax of the scores, and
#: the Bayes action under the scores themselves.
BY_SCORE = (
    "adversarial", "hinge", "crammer_singer", "weston_watkins", "lee_lin_wahba", "one_vs_rest",
)  # fmt: skip
BY_SOFTMAX = ("log", "hybrid")
BY_ESTIMATE = ("quadratic",)
MINE = (*BY_SCORE, *BY_SOFTMAX, *BY_ESTIMATE)
LABELS = np.array(["ash", "birch", "cedar"])
# these stand in alphabetical order
pytestmark = pytest.mark.filterwarnings("ignore:.*alphabetical")


@cache
def data(n=60):
    """Overlapping classes under string labels, and new points."""
    X, y = make_blobs(n + 30, n_features=4, centers=K, cluster_std=4.0, random_state=0)
    return X[:n] / 4.0, LABELS[y[:n]], X[n:] / 4.0


def codes(y):
    return np.searchsorted(LABELS, y)


def weights(n=60):
    rng = np.random.default_rng(1)
    return rng.integers(1, 4, n).astype(float), rng.uniform(0.5, 1.5, n)


@cache
def fitted(route, loss="zero_one", **given):
    X, y, _ = data()
    return cc.Classifier(LOSSES[loss], route, **given).fit(X, y)


def linear_scores(model, X):
    return X @ model.coef_.T + model.intercept_


def costs(loss):
    return np.asarray(find_loss(LOSSES[loss]).matrix(K))


def test_every_route_of_labels_is_here():
    own_loss = {name for name, (_, loss) in ALIASES.items() if loss is not None}
    assert set(MINE) <= {*SURROGATES, *ALIASES}
    assert "crammer_singer" in own_loss


# --- what predict maximises ------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("route", MINE)
def test_predictions_are_those_of_the_route(route, loss):
    model, X_new, L = fitted(route, loss), data()[2], costs(loss)
    scores, decision = linear_scores(model, X_new), model.decision_function(X_new)
    assert model.classes_.tolist() == LABELS.tolist()
    assert model.coef_.shape == (K, 4)
    assert model.intercept_.shape == (K,)
    assert decision.shape == (30, len(model.actions_))
    if route in BY_SOFTMAX:
        np.testing.assert_allclose(decision, -softmax(scores, axis=1) @ L.T, atol=1e-12)
    elif route in BY_ESTIMATE:
        np.testing.assert_allclose(decision, -scores @ L.T, atol=1e-12)
    elif loss in LABEL_LOSSES:
        np.testing.assert_allclose(decision, scores, atol=1e-12)
    elif route == "adversarial":
        assert_plays_best(decision, scores, L)
    else:  # the action that is cheapest for the label with the largest score
        chosen = L[decision.argmax(axis=1), scores.argmax(axis=1)]
        assert chosen.tolist() == L.min(axis=0)[scores.argmax(axis=1)].tolist()
    predicted = model.predict(X_new)
    assert predicted.tolist() == model.actions_[decision.argmax(axis=1)].tolist()
    assert len(set(predicted.tolist())) > 1


def assert_plays_best(p, scores, L):
    """The predictor's mixtures hold the adversary to the value of each game."""
    assert simplex_violation(p) <= 1e-12
    worst = (p @ L + scores).max(axis=1)
    best = [game_lp(f, L)[0] for f in scores]
    np.testing.assert_allclose(worst, best, rtol=1e-9, atol=1e-9)


def test_abstaining_is_an_answer():
    X, y, X_new = data()
    for route in ("adversarial", "log", "hybrid", "quadratic"):
        model = cc.Classifier(cc.losses.Abstain(cost=0.2), route).fit(X, y)
        assert model.actions_.tolist() == [*LABELS, "abstain"]
        assert "abstain" in model.predict(X_new)
        assert set(LABELS) & set(model.predict(X_new))


@pytest.mark.parametrize("route", MINE)
def test_two_classes_have_one_decision_and_two_weight_vectors(route):
    X, y, X_new = data()
    rows = y != "cedar"
    model = cc.Classifier(surrogate=route).fit(X[rows], y[rows])
    decision, scores = model.decision_function(X_new), linear_scores(model, X_new)
    assert decision.shape == (30,)
    assert model.coef_.shape == (2, 4)
    assert (model.predict(X_new) == LABELS[(decision > 0).astype(int)]).all()
    difference = scores[:, 1] - scores[:, 0]
    expected = np.tanh(difference / 2) if route in BY_SOFTMAX else difference
    np.testing.assert_allclose(decision, expected, atol=1e-12)
    assert model.score(X[rows], y[rows]) > 0.6


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("route", MINE)
def test_probabilities_where_the_route_has_them(route, loss):
    model, X_new = fitted(route, loss), data()[2]
    has = route in BY_SOFTMAX or (route, loss) == ("adversarial", "zero_one")
    assert hasattr(cc.Classifier(LOSSES[loss], route), "predict_proba") == has
    assert hasattr(model, "predict_proba") == has
    if not has:
        return
    proba, scores = model.predict_proba(X_new), linear_scores(model, X_new)
    assert simplex_violation(proba) <= 1e-12
    if route in BY_SOFTMAX:
        np.testing.assert_allclose(proba, softmax(scores, axis=1), atol=1e-12)
    else:
        assert_plays_best(proba, scores, costs(loss))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_strategy_is_the_equilibrium_of_the_scores(loss):
    model, X_new = fitted("adversarial", loss), data()[2]
    strategy, scores = model.strategy(X_new), linear_scores(model, X_new)
    assert strategy.shape == (30, len(model.actions_))
    assert_plays_best(strategy, scores, costs(loss))
    np.testing.assert_array_equal(strategy, cc.surrogates.equilibrium(scores, loss=LOSSES[loss])[0])


def test_only_the_adversarial_route_has_a_strategy_and_a_game():
    for route in MINE:
        model = fitted(route)
        assert hasattr(model, "strategy") == (route == "adversarial")
        assert hasattr(model, "game_value_") == (route == "adversarial")


# --- score -----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    loss=st.sampled_from(list(LOSSES)),
    truth=st.lists(st.sampled_from(LABELS.tolist()), min_size=30, max_size=30),
    weight=st.none() | st.lists(st.integers(0, 3), min_size=30, max_size=30).filter(any),
)
def test_score_is_one_less_the_mean_loss_over_the_largest(loss, truth, weight):
    model, X_new = fitted("adversarial", loss), data()[2]
    L, actions = costs(loss), model.actions_.tolist()
    each = [
        L[actions.index(action), LABELS.tolist().index(label)]
        for action, label in zip(model.predict(X_new).tolist(), truth, strict=True)
    ]
    expected = 1.0 - np.average(each, weights=weight) / L.max()
    assert model.score(X_new, truth, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


def test_score_is_accuracy_under_zero_one_loss_and_prices_labels_never_seen():
    X, y, _ = data()
    model = fitted("hinge")
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    assert model.score(X, np.full(60, "yew")) == 0.0
    grades = cc.Classifier("absolute").fit(X, 2 * codes(y))  # 0, 2, 4
    distance = np.abs(grades.predict(X) / 2 - 3).mean()  # among 0, 2, 4, 9
    assert grades.score(X, np.full(60, 9)) == pytest.approx(1 - distance / 3)


# --- the optimum -----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["absolute", "abstain"])
@pytest.mark.parametrize("route", MINE)
def test_the_objective_is_that_of_the_weights(route, loss):
    X, y, _ = data()
    sample, inside = weights()
    model = cc.Classifier(LOSSES[loss], route, C=0.7)
    model.fit(X, y, sample_weight=sample, loss_weight=inside)
    values, _ = cc.surrogates.evaluate(
        route, linear_scores(model, X), codes(y), loss=LOSSES[loss], loss_weight=inside
    )
    expected = 0.5 * np.sum(model.coef_**2) + 0.7 * sample @ values
    # a smoothing's upper bound may stand for the value, inside the certified gap
    assert expected * (1 - 1e-10) <= model.objective_ <= expected * (1 + 1e-10) + model.gap_
    assert 0 <= model.gap_ <= 1e-4 * model.objective_


@pytest.mark.parametrize(
    ("route", "given"),
    [
        *[(route, {}) for route in ("adversarial", "log", "hinge")],
        *[(route, {"kernel": "rbf"}) for route in ("adversarial", "log", "hinge")],
        ("log", {"penalty": "l1"}),
    ],
    ids=str,
)
def test_history_tells_of_every_look(route, given):
    model, tight = fitted(route, **given), fitted(route, tol=1e-7, **given)
    history = model.history_
    assert sorted(history) == ["gap", "objective", "seconds"]
    lengths = {len(values) for values in history.values()}
    assert lengths == {len(history["gap"])}
    assert 1 <= len(history["gap"]) <= model.n_iter_
    assert history["objective"] == sorted(history["objective"], reverse=True)
    assert history["gap"] == sorted(history["gap"], reverse=True)
    assert history["seconds"] == sorted(history["seconds"])
    assert history["objective"][-1] == model.objective_
    assert history["gap"][-1] == model.gap_
    # the certificate is an interval around the optimum, and so is a tighter one
    assert model.objective_ - model.gap_ <= tight.objective_
    assert tight.objective_ - tight.gap_ <= model.objective_
    assert tight.gap_ <= 1e-7 * tight.objective_


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["zero_one", "abstain", "square costs"])
def test_the_game_value_is_what_duality_says(loss, intercept):
    """At the optimum ``C n`` times it is the objective and half the squared weights."""
    X, y, _ = data()
    sample, inside = weights()
    model = cc.Classifier(LOSSES[loss], C=0.3, tol=1e-8, max_iter=100_000, fit_intercept=intercept)
    model.fit(X, y, sample_weight=sample, loss_weight=inside)
    expected = (model.objective_ + 0.5 * np.sum(model.coef_**2)) / (0.3 * sample.sum())
    assert model.game_value_ == pytest.approx(expected, rel=1e-3)
    # what the predictor's mixture loses on the sample is at most the surrogate
    lost = np.einsum("ia,ai->i", model.strategy(X), costs(loss)[:, codes(y)])
    values, _ = cc.surrogates.evaluate(
        "adversarial", linear_scores(model, X), codes(y), loss=LOSSES[loss]
    )
    assert (lost <= values + 1e-9).all()


@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_lasso_and_elastic_net_meet_the_conditions_of_their_optimum(ratio):
    """Subgradients: ``G + l2 W + l1 sign(W) = 0`` where W is not zero, ``|G| <= l1`` elsewhere."""
    X, y, _ = data()
    model = cc.Classifier(
        surrogate="log", C=0.2, penalty="elasticnet", l1_ratio=ratio, tol=1e-9, max_iter=100_000
    ).fit(X, y)
    _, slope = cc.surrogates.evaluate("log", linear_scores(model, X), codes(y))
    gradient = 0.2 * slope.T @ X + (1 - ratio) * model.coef_
    zero = model.coef_ == 0.0
    assert 2 <= zero.sum() <= 10
    np.testing.assert_allclose(gradient[~zero], -ratio * np.sign(model.coef_[~zero]), atol=2e-4)
    assert (np.abs(gradient[zero]) <= ratio + 2e-4).all()
    np.testing.assert_allclose(slope.sum(axis=0), 0.0, atol=1e-3)  # the intercepts are free


def test_the_names_of_the_penalties_are_shares_of_the_lasso():
    for name, ratio in (("l1", 1.0), ("l2", 0.0)):
        same = fitted("log", penalty="elasticnet", l1_ratio=ratio)
        assert fitted("log", penalty=name).objective_ == pytest.approx(same.objective_, rel=1e-3)


# --- kernels ---------------------------------------------------------------------------------


def agree(a, b, X_a, X_b=None, within=1e-2):
    """Two fits of one problem: the same certified optimum, nearly the same scores."""
    X_b = X_a if X_b is None else X_b
    assert a.objective_ - a.gap_ <= b.objective_ * (1 + 1e-9)
    assert b.objective_ - b.gap_ <= a.objective_ * (1 + 1e-9)
    np.testing.assert_allclose(a.decision_function(X_a), b.decision_function(X_b), atol=within)


@cache
def rbf_machine(route):
    return fitted(route, "absolute", kernel="rbf", gamma=0.3, tol=1e-7)


@pytest.mark.parametrize("route", MINE)
def test_dual_coefficients_reproduce_the_scores_and_the_objective(route):
    X, y, X_new = data()
    model = rbf_machine(route)
    basis = X[model.support_]
    scores = rbf_kernel(X_new, basis, gamma=0.3) @ model.dual_coef_ + model.intercept_
    assert not hasattr(model, "coef_")
    assert model.dual_coef_.shape == (len(model.support_), K)
    assert np.any(model.dual_coef_ != 0, axis=1).all()
    decision = model.decision_function(X_new)
    if route in BY_SOFTMAX:
        scores = -softmax(scores, axis=1) @ costs("absolute").T
    elif route in BY_ESTIMATE:
        scores = -scores @ costs("absolute").T
    np.testing.assert_allclose(decision, scores, atol=1e-10)
    gram, beta = rbf_kernel(basis, gamma=0.3), model.dual_coef_
    on_training = rbf_kernel(X, basis, gamma=0.3) @ beta + model.intercept_
    values, _ = cc.surrogates.evaluate(route, on_training, codes(y), loss="absolute")
    expected = 0.5 * np.vdot(beta, gram @ beta) + values.sum()
    assert model.objective_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("route", ["adversarial", "hinge"])
def test_examples_that_are_far_from_doubtful_support_nothing(route):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1000)
    X = 4.0 * np.eye(3)[y] + rng.normal(size=(1000, 3))
    model = cc.Classifier(surrogate=route, kernel="rbf", tol=1e-3).fit(X, y)
    assert len(model.support_) < 500


def test_the_gaussian_kernel_is_scikit_learns():
    from concordant.estimators.kernels import gaussian_gram
    from concordant.executor import Executor

    rng = np.random.default_rng(0)
    for n, size in ((600, 1.0), (1, 100.0), (5, 0.0), (300, 1e-9)):
        a = size * rng.normal(size=(n, 4)) + 1.0
        with Executor(2) as executor:
            ours = gaussian_gram(a, 0.7, executor)
        np.testing.assert_allclose(ours, rbf_kernel(a, gamma=0.7), atol=1e-12)
        assert (ours.diagonal() == 1.0).all()
        assert (ours == ours.T).all()


@pytest.mark.parametrize("route", ["adversarial", "log", "hinge"])
def test_a_kernel_by_name_by_function_and_as_a_matrix_is_one_machine(route):
    X, y, X_new = data()
    model = rbf_machine(route)

    def given(**how):
        return cc.Classifier("absolute", route, tol=1e-7, **how)

    function = given(kernel=lambda a, b: rbf_kernel(a, b, gamma=0.3)).fit(X, y)
    agree(model, function, X_new)
    matrix = given(kernel="precomputed").fit(rbf_kernel(X, gamma=0.3), y)
    agree(model, matrix, X_new, rbf_kernel(X_new, X, gamma=0.3))
    assert matrix.n_features_in_ == 60


@pytest.mark.parametrize("route", ["adversarial", "log", "hinge"])
def test_nystroem_with_every_row_is_the_kernel_machine(route):
    X, y, X_new = data()
    for rows in (60, 1000):
        near = cc.Classifier(
            "absolute", route, kernel="rbf", gamma=0.3, tol=1e-7, n_components=rows
        ).fit(X, y)
        agree(rbf_machine(route), near, X_new)
        assert near.coef_.shape == (K, 60)
    few = fitted(route, "absolute", kernel="rbf", gamma=0.3, n_components=7)
    assert few.coef_.shape == (K, 7)
    assert few.objective_ >= rbf_machine(route).objective_ * (1 - 1e-6)


def test_nystroem_features_are_inner_products_of_the_kernel():
    """``phi(x) . phi(z)`` is ``k_x G^+ k_z`` on the basis: exact on its rows, never too long."""
    X, _, X_new = data()
    few = fitted("log", "absolute", kernel="rbf", gamma=0.3, n_components=7)
    basis, inner = few._nystroem.basis, few._nystroem(X_new)
    cross = rbf_kernel(X_new, basis, gamma=0.3)
    expected = cross @ np.linalg.pinv(rbf_kernel(basis, gamma=0.3)) @ cross.T
    np.testing.assert_allclose(inner @ inner.T, expected, atol=1e-9)
    assert {tuple(row) for row in basis} <= {tuple(row) for row in X}


@pytest.mark.parametrize(
    ("given", "kernel"),
    [
        ({"kernel": "linear"}, linear_kernel),
        ({"kernel": "rbf"}, lambda a, b: rbf_kernel(a, b, 1 / (4 * data()[0].var()))),
        ({"kernel": "rbf", "gamma": "auto"}, lambda a, b: rbf_kernel(a, b, 0.25)),
        (
            {"kernel": "poly", "gamma": 0.2, "degree": 2, "coef0": 1.5},
            lambda a, b: polynomial_kernel(a, b, degree=2, gamma=0.2, coef0=1.5),
        ),
        (
            {"kernel": "laplacian", "gamma": 0.5},
            lambda a, b: pairwise_kernels(a, b, metric="laplacian", gamma=0.5),
        ),
    ],
    ids=lambda given: str(given) if isinstance(given, dict) else "",
)
def test_named_kernels_and_their_constants(given, kernel):
    X, y, X_new = data()
    named = fitted("adversarial", C=0.1, **given)
    scores = kernel(X_new, X[named.support_]) @ named.dual_coef_ + named.intercept_
    np.testing.assert_allclose(named.decision_function(X_new), scores, atol=1e-9)
    function = cc.Classifier(C=0.1, kernel=kernel).fit(X, y)
    assert function.objective_ == pytest.approx(named.objective_, rel=2e-4)


def test_a_linear_kernel_is_the_linear_machine():
    X_new = data()[2]
    for route in ("adversarial", "log", "hinge", "quadratic"):
        given = {"tol": 1e-8, "max_iter": 100_000, "C": 0.1}
        agree(fitted(route, **given), fitted(route, kernel="linear", **given), X_new)


# --- data in other forms ---------------------------------------------------------------------


@settings(max_examples=15, deadline=None, derandomize=True)
@given(order=st.permutations(range(60)), route=st.sampled_from(["adversarial", "log"]))
def test_the_order_of_rows_means_nothing(order, route):
    X, y, X_new = data()
    model = cc.Classifier(surrogate=route, random_state=0).fit(X[order], y[order])
    expected = fitted(route, random_state=0)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.decision_function(X_new), expected.decision_function(X_new))


@settings(max_examples=6, deadline=None, derandomize=True)
@given(copies=st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_a_weight_is_a_number_of_copies(copies):
    X, y, _ = data()
    copies = np.array(copies)
    copies[[0, 1]] = 1
    weighed = cc.Classifier(random_state=0).fit(X, y, sample_weight=copies)
    copied = cc.Classifier(random_state=0).fit(np.repeat(X, copies, 0), np.repeat(y, copies))
    np.testing.assert_array_equal(weighed.coef_, copied.coef_)
    assert weighed.game_value_ == copied.game_value_


@pytest.mark.parametrize(
    ("names", "kind"),
    [([3, 7, 11], "i"), ([0.0, 2.0, 4.0], "f"), (["z", "äb", "9"], "U"), ([-1, 0, 5], "i")],
)
def test_labels_come_back_as_they_were(names, kind):
    X, y, X_new = data()
    y = np.array(names)[codes(y)]
    model = cc.Classifier().fit(X, y)
    assert model.classes_.tolist() == sorted(names)
    assert model.predict(X_new).dtype.kind == kind
    assert set(model.predict(X_new).tolist()) <= set(names)
    assert model.score(X, y) == fitted("adversarial").score(X, data()[1])


def test_two_truth_values_and_objects_are_labels_too():
    X, y, X_new = data()
    flags = cc.Classifier().fit(X, y == "ash")
    assert flags.predict(X_new).dtype == bool
    objects = cc.Classifier(surrogate="log").fit(X, y.astype(object))
    assert objects.predict(X_new).tolist() == fitted("log").predict(X_new).tolist()


def test_rows_and_columns_of_costs_follow_their_names():
    X, y, X_new = data()
    order = [2, 0, 1]
    shuffled = cc.losses.CostMatrix(np.array(SQUARE)[np.ix_(order, order)], labels=LABELS[order])
    for route in ("adversarial", "log", "hinge"):
        model = cc.Classifier(shuffled, route, random_state=0).fit(X, y)
        expected = fitted(route, "square costs", random_state=0)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        assert model.predict(X_new).tolist() == expected.predict(X_new).tolist()
