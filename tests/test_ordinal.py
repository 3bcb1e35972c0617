"""`OrdinalClassifier`: thresholded scores under every route, orders of labels, bad input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import check_estimator

import concordant as cc
from concordant.losses import find_loss
from concordant.penalty import Penalty
from concordant.scorers import KernelScorer, LinearScorer, ThresholdScorer
from concordant.surrogates import ORDERED, AllThreshold, ImmediateThreshold, Reduction
from tests.reference_training import thresholded_optimum
from tests.test_training import LOSSES, assert_optimal, fit, weights

K = 4
MAIN = ["adversarial", "log", "hinge", "hybrid", *ORDERED]
OTHERS = ["quadratic", "weston_watkins", "lee_lin_wahba", "one_vs_rest", "crammer_singer"]
OBJECTS = {
    "all_threshold hinge": AllThreshold("hinge"),
    "immediate_threshold hinge": ImmediateThreshold("hinge"),
    "reduction squared_hinge": Reduction("squared_hinge"),
}
ROUTES = {name: name for name in MAIN + OTHERS} | OBJECTS


def problem(seed, n=24):
    """Ordered labels that overlap; every label occurs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    z = X @ [1.0, -0.5, 0.2] + 0.7 * rng.normal(size=n)
    return X, np.argsort(np.argsort(z, kind="stable")) * K // n


def optimum_of(X, y, loss, route, *args, **kwargs):
    return thresholded_optimum(X, y, find_loss(LOSSES[loss]).matrix(K), route, *args, **kwargs)


# --- training against a conic solver ---------------------------------------------------------


@pytest.mark.parametrize("name", ROUTES)
def test_linear_scores_reach_the_optimum(name):
    for seed, loss, free in (
        (1, "absolute", True),
        (2, "squared", False),
        (3, "zero_one", True),
        (4, "abstain at 0.3", True),
    ):
        X, y = problem(seed)
        sample, inside = weights(seed)
        for kwargs in ({}, {"sample_weight": sample, "loss_weight": inside}):
            model = cc.OrdinalClassifier(LOSSES[loss], ROUTES[name], C=0.7, fit_intercept=free)
            fit(model, X, y, **kwargs)
            assert_optimal(model, optimum_of(X, y, loss, name, 0.7, free, **kwargs))


@pytest.mark.parametrize("name", ROUTES)
def test_kernel_scores_reach_the_optimum(name):
    X, y = problem(5)
    gram = rbf_kernel(X, gamma=0.2)
    for free in (True, False):
        model = cc.OrdinalClassifier(
            "absolute", ROUTES[name], C=2.0, kernel="rbf", gamma=0.2, fit_intercept=free
        )
        optimum = optimum_of(None, y, "absolute", name, 2.0, free, K=gram)
        assert_optimal(fit(model, X, y), optimum)


@pytest.mark.parametrize("solver", ["dual", "lbfgs"])
@pytest.mark.parametrize("name", [*MAIN, *OBJECTS])
def test_both_certified_solvers_reach_the_optimum(name, solver):
    X, y = problem(6)
    for x in (X, sp.csr_array(X)):
        for free in (True, False):
            model = cc.OrdinalClassifier(
                "absolute", ROUTES[name], C=0.5, solver=solver, fit_intercept=free
            )
            assert_optimal(fit(model, x, y), optimum_of(X, y, "absolute", name, 0.5, free))


@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
def test_lasso_and_elastic_net_are_certified(penalty):
    X, y = problem(7, n=60)
    for name in ("adversarial", "all_threshold"):
        ends = [
            fit(cc.OrdinalClassifier(surrogate=name, penalty=penalty, solver=solver), X, y)
            for solver in (("fista",) if penalty == "l1" else ("fista", "dual"))
        ]
        for model in ends:
            assert model.gap_ <= 1e-4 * model.objective_
            assert model.objective_ == pytest.approx(ends[0].objective_, rel=2e-4)


def test_a_pass_on_a_kernel_is_a_pass_on_its_features():
    X, y = problem(8, n=60)
    linear, kernel, given = (
        fit(cc.OrdinalClassifier(solver="dual", kernel=k, tol=1e-6), x, y)
        for k, x in ((None, X), ("linear", X), ("precomputed", X @ X.T))
    )
    np.testing.assert_allclose(linear.thresholds_, kernel.thresholds_, atol=1e-2)
    np.testing.assert_allclose(kernel.thresholds_, given.thresholds_, atol=1e-2)
    np.testing.assert_allclose(linear.objective_, [kernel.objective_, given.objective_], rtol=2e-6)
    np.testing.assert_array_equal(kernel.predict(X), given.predict(X @ X.T))


def test_working_sets_certify_thresholds():
    X, y = problem(9, n=900)
    model = cc.OrdinalClassifier("absolute", AllThreshold("hinge"), kernel="rbf", C=1.0)
    found = fit(clone(model).set_params(solver="working_set"), X, y)
    whole = fit(clone(model).set_params(solver="dual"), X, y)
    assert found.objective_ == pytest.approx(whole.objective_, rel=2e-4)


@pytest.mark.parametrize("name", ["adversarial", "hinge", "all_threshold hinge"])
def test_many_examples_begin_without_smoothing(name):
    """Against steps of the dual, which never smooth."""
    X, y = problem(22, n=900)  # more than a hundred examples a weight
    model = cc.OrdinalClassifier(surrogate=ROUTES[name], tol=1e-5, max_iter=5000)
    found = fit(clone(model).set_params(solver="lbfgs"), X, y)
    other = fit(clone(model).set_params(solver="dual"), X, y)
    assert found.objective_ == pytest.approx(other.objective_, rel=2e-5)
    assert found.objective_ - found.gap_ <= other.objective_


def test_stiff_kernels_take_a_primal_method():
    from concordant.solvers import Lbfgs, WorkingSet, find_solver

    class Problem:
        penalty, smooth, ridge, has_intercept = Penalty(), False, True, True
        newton = False
        scorer = KernelScorer(np.eye(3), K, True)
        stiffness, regresses = 1.0, False

    assert isinstance(find_solver("auto", Problem()), WorkingSet)
    Problem.stiffness = 1000.0
    assert isinstance(find_solver("auto", Problem()), Lbfgs)
    Problem.regresses = True  # not thresholds: working sets go on by splitting
    assert isinstance(find_solver("auto", Problem()), WorkingSet)
    Problem.regresses, Problem.has_intercept = False, False
    assert isinstance(find_solver("auto", Problem()), WorkingSet)


@pytest.mark.parametrize("free", [True, False])
def test_the_scorer_is_a_linear_map_with_its_transpose_and_norm(free):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(12, 3))
    for inner in (
        LinearScorer(X, 1, False),
        LinearScorer(sp.csr_matrix(X), 1, False),
        KernelScorer(rbf_kernel(X), 1, False),
    ):
        scorer = ThresholdScorer(inner, K, free)
        w, r = rng.normal(size=scorer.start().shape), rng.normal(size=(12, K))
        left, right = np.vdot(scorer.scores(w), r), None
        if scorer.euclidean:
            right = np.vdot(w, scorer.pullback(r))
        else:
            pull = scorer.pullback(r)
            right = np.vdot(scorer.image(w), pull)
        assert left == pytest.approx(right)
        np.testing.assert_allclose(scorer.scores_of(w, scorer.image(w)), scorer.scores(w))
        norms = scorer.square_norms()
        for i in range(12):
            one = scorer.take(np.array([i]))
            change = one.pullback(rng.normal(size=(1, K)) if i else scorer.ranks[None])
            size = np.vdot(scorer.penalised(change), scorer.penalised(scorer.image(change)))
            residual = scorer.ranks @ scorer.ranks if i == 0 else None
            if residual:
                assert size <= norms[0] * residual * (1 + 1e-12)


def test_penalised_thresholds_are_the_reduction_to_one_machine():
    """Li and Lin (2007): a linear support vector machine on extended examples."""
    from sklearn.svm import LinearSVC

    X, y = problem(11, n=40)
    rows, signs = [], []
    for x, label in zip(X, y, strict=True):
        for j in range(K - 1):
            rows.append(np.r_[x, -np.eye(K - 1)[j]])
            signs.append(1 if label > j else -1)
    svm = LinearSVC(C=0.8, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=1_000_000)
    svm.fit(np.array(rows), signs)
    model = cc.OrdinalClassifier("absolute", Reduction("hinge"), C=0.8, fit_intercept=False)
    fit(model.set_params(tol=1e-7), X, y)
    np.testing.assert_allclose(np.r_[model.coef_, model.thresholds_], svm.coef_[0], atol=1e-3)


# --- what comes out --------------------------------------------------------------------------


def test_scores_are_one_direction_and_thresholds():
    X, y = problem(12, n=80)
    model = fit(cc.OrdinalClassifier(C=5.0), X, y)
    assert model.coef_.shape == (3,)
    assert model.thresholds_.shape == (K - 1,)
    scores = model.decision_function(X)
    gaps = (X @ model.coef_)[:, None] - model.thresholds_
    np.testing.assert_allclose(np.diff(scores, axis=1), gaps)
    np.testing.assert_array_equal(model.predict(X), (gaps > 0).sum(axis=1))


@pytest.mark.parametrize("base", ["hinge", "logistic", "squared_hinge"])
def test_all_thresholds_come_out_in_order(base):
    """Also with random labels and labels of one example (Chu and Keerthi 2005)."""
    rng = np.random.default_rng(13)
    for seed in range(5):
        X, y = problem(seed, n=60)
        y = rng.permutation(y) if seed % 2 else y
        y = np.r_[y, K]
        X = np.r_[X, rng.normal(size=(1, 3))]
        model = fit(cc.OrdinalClassifier(surrogate=AllThreshold(base), tol=1e-6), X, y)
        slack = 1e-2 if base == "hinge" else 1e-3  # the hinge's optimum need not be unique
        assert (np.diff(model.thresholds_) >= -slack).all()


def test_probabilities_where_there_are_any():
    X, y = problem(14, n=80)
    for name in ("log", "hybrid", "all_threshold"):
        proba = fit(cc.OrdinalClassifier(surrogate=name), X, y).predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert (proba >= 0.0).all()
    assert hasattr(cc.OrdinalClassifier("zero_one"), "predict_proba")
    for absent in ("adversarial", "hinge", "immediate_threshold", AllThreshold("hinge")):
        assert not hasattr(cc.OrdinalClassifier(surrogate=absent), "predict_proba")


def test_log_odds_of_all_threshold_are_the_gaps():
    X, y = problem(15, n=80)
    model = fit(cc.OrdinalClassifier(surrogate="all_threshold"), X, y)
    above = 1.0 - np.cumsum(model.predict_proba(X), axis=1)[:, :-1]
    gaps = (X @ model.coef_)[:, None] - model.thresholds_
    np.testing.assert_allclose(np.log(above / (1.0 - above)), gaps, atol=1e-9)


def test_a_weight_is_copies_and_threads_change_nothing():
    X, y = problem(16, n=40)
    w = np.random.default_rng(0).integers(0, 4, 40)
    weighted = fit(cc.OrdinalClassifier(), X, y, sample_weight=w)
    copied = fit(cc.OrdinalClassifier(), np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_array_equal(weighted.thresholds_, copied.thresholds_)
    one = fit(cc.OrdinalClassifier(n_jobs=1), X, y)
    two = fit(cc.OrdinalClassifier(n_jobs=2), X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_warm_start_goes_on_from_the_last_solution():
    X, y = problem(17, n=60)
    for kernel in (None, "rbf"):
        model = cc.OrdinalClassifier(surrogate="hinge", kernel=kernel, warm_start=True)
        first = fit(model, X, y).n_iter_
        assert fit(model, X, y).n_iter_ < first
        fit(model.set_params(C=1.5), X, y)
        assert model.gap_ <= 1e-4 * model.objective_


def test_nystroem_features_and_pickles():
    X, y = problem(18, n=60)
    model = fit(cc.OrdinalClassifier(kernel="rbf", n_components=20, random_state=0), X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


# --- orders of labels ------------------------------------------------------------------------

NAMES = ["poor", "fair", "good", "great"]


def named(seed=19, n=60):
    X, y = problem(seed, n)
    return X, np.array(NAMES)[y], y


def test_categories_give_the_order():
    X, names, y = named()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = cc.OrdinalClassifier(categories=NAMES).fit(X, names)
    plain = cc.OrdinalClassifier().fit(X, y)
    assert model.classes_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict(X), np.array(NAMES)[plain.predict(X)])
    assert model.score(X, names) == pytest.approx(plain.score(X, y))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_ordered_columns_keep_their_order(kind):
    X, names, y = named()
    if kind == "pandas":
        column = pd.Series(pd.Categorical(names, categories=NAMES, ordered=True))
        also = pd.Categorical(names, categories=NAMES, ordered=True)
    else:
        column = also = pl.Series(names, dtype=pl.Enum(NAMES))
    for labels in (column, also):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = cc.OrdinalClassifier().fit(X, labels)
        assert model.classes_.tolist() == NAMES
    np.testing.assert_array_equal(
        model.predict(X), np.array(NAMES)[cc.OrdinalClassifier().fit(X, y).predict(X)]
    )


def test_strings_without_an_order_are_ordered_alphabetically_with_a_warning():
    X, names, _ = named()
    for labels in (names, names.astype(object), pd.Series(names), pd.Series(pd.Categorical(names))):
        with pytest.warns(UserWarning, match="ordered alphabetically: fair, good, great, poor"):
            model = cc.OrdinalClassifier().fit(X, labels)
        assert model.classes_.tolist() == sorted(NAMES)


def test_numbers_ascend_whatever_order_they_come_in():
    X, _, y = named()
    model = cc.OrdinalClassifier().fit(X, 10 - y)
    assert model.classes_.tolist() == [7, 8, 9, 10]
    down = cc.OrdinalClassifier(categories=[10, 9, 8, 7]).fit(X, 10 - y)
    assert down.classes_.tolist() == [10, 9, 8, 7]
    np.testing.assert_allclose(down.coef_, -model.coef_, atol=1e-2)


def test_a_category_without_examples_still_counts_as_a_step():
    X, names, _ = named()
    kept = names != "fair"
    model = fit(cc.OrdinalClassifier(categories=NAMES), X[kept], names[kept])
    assert model.classes_.tolist() == ["poor", "good", "great"]
    answers = np.full(len(X), "poor")
    truth = np.full(len(X), "good")
    costs = model._rule.costs.costs
    np.testing.assert_array_equal(costs, [[0, 2, 3], [2, 0, 1], [3, 1, 0]])
    wrong = cc.metrics.mean_loss(truth, answers, model._rule.loss, labels=NAMES)
    assert wrong == 2.0
    assert set(model.predict(X)) <= {"poor", "good", "great"}
    assert 0.0 < model.score(X, names) < 1.0  # "fair" can be priced though it was never seen


def test_abstaining_among_ordered_labels():
    X, names, _ = named()
    loss = cc.losses.Abstain(0.3, label="unsure")
    model = fit(cc.OrdinalClassifier(loss, categories=NAMES), X, names)
    assert model.actions_.tolist() == [*NAMES, "unsure"]
    assert "unsure" in set(model.predict(X))


def test_cost_matrices_by_name():
    X, names, _ = named()
    frame = pd.DataFrame(np.abs(np.arange(4)[:, None] - np.arange(4)), NAMES, NAMES)
    shuffled = frame.loc[sorted(NAMES), sorted(NAMES)]
    by_name = fit(cc.OrdinalClassifier(cc.losses.CostMatrix(shuffled), categories=NAMES), X, names)
    plain = fit(cc.OrdinalClassifier(categories=NAMES), X, names)
    assert by_name.objective_ == pytest.approx(plain.objective_, rel=1e-4)


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("categories", "error", "message"),
    [
        (["poor", "fair"], ValueError, r"row \d+: 'go+d|row \d+: 'great' is not a known category"),
        ([], ValueError, "categories is empty"),
        (["poor", "fair", "good", "great", "fair"], ValueError, "names 'fair' twice"),
        ("poor", TypeError, "must be a sequence of labels"),
        (3, TypeError, "must be a sequence of labels"),
    ],
)
def test_bad_categories_are_named(categories, error, message):
    X, names, _ = named()
    model = cc.OrdinalClassifier(categories=categories)
    with pytest.raises(error, match=message):
        model.fit(X, names)
    assert not hasattr(model, "classes_")


def test_missing_labels_and_features_are_named():
    X, names, _ = named()
    holes = names.astype(object)
    holes[7] = np.nan
    with pytest.raises(ValueError, match="row 7"):
        cc.OrdinalClassifier(categories=NAMES).fit(X, holes)
    unknown = pd.Series(pd.Categorical(names, categories=NAMES[:3], ordered=True))
    with pytest.raises(ValueError, match=f"row {int((names == 'great').argmax())}"):
        cc.OrdinalClassifier().fit(X, unknown)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1"):
        cc.OrdinalClassifier(categories=NAMES).fit(X, names)


def test_a_route_that_asks_questions_has_no_thresholds():
    X, _, y = named()
    for route, labels in (("cost_one_vs_one", y % 3), ("binary_encoded", y)):
        with pytest.raises(TypeError, match=rf"{route}.*Classifier"):
            cc.OrdinalClassifier(surrogate=route).fit(X, labels)


def test_small_cases():
    X, y = problem(20, n=30)
    for name in MAIN:
        two = fit(cc.OrdinalClassifier(surrogate=name), X, y > 1)
        assert two.decision_function(X).shape == (30,)
        assert two.thresholds_.shape == (1,)
        np.testing.assert_array_equal(two.predict(X), two.decision_function(X) > 0)
        one = fit(cc.OrdinalClassifier(surrogate=name), X, np.ones(30))
        assert one.thresholds_.shape == (0,)
        assert (one.predict(X) == 1.0).all()
        lonely = np.r_[y[:-1], K + 5]  # a gap in the range, and a label of one example
        found = fit(cc.OrdinalClassifier(surrogate=name), X, lonely)
        assert found.classes_.tolist() == [0, 1, 2, 3, K + 5]
    same = fit(cc.OrdinalClassifier(), np.zeros((30, 2)), y)  # nothing to learn from
    assert len(set(same.predict(np.zeros((30, 2))))) == 1


def test_equal_thresholds_skip_a_label():
    """Where a label is never best, its two thresholds may cross or meet; it is not predicted."""
    rng = np.random.default_rng(21)
    X = np.r_[-np.ones(50), np.zeros(2), np.ones(50)][:, None] + 0.3 * rng.normal(size=(102, 1))
    y = np.repeat([0, 1, 2], [50, 2, 50])
    model = fit(cc.OrdinalClassifier("zero_one", "adversarial", C=0.01), X, y)
    assert set(model.predict(X)) <= {0, 2}


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("route", MAIN)
def test_every_check_of_scikit_learn_passes(route, kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "string labels have no order")
        # A check wants the largest probability to be predicted: true of 0-1 loss only.
        model = cc.OrdinalClassifier(surrogate=route, kernel=kernel)
        if hasattr(model, "predict_proba"):
            model.set_params(loss="zero_one")
        if route == "hybrid":  # its steps are slow, and the checks need no more
            model.set_params(tol=1e-3)
        results = check_estimator(model, on_skip=None, on_fail=None)
    failed = [r for r in results if r["status"] != "passed"]
    assert len(results) >= 60
    assert not failed, "\n".join(
        f"{r['check_name']} {r['status']}: {r['exception']!r}" for r in failed
    )
