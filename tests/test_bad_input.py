"""Bad input gives an error that names the cell, row or argument; odd input a right answer."""

from __future__ import annotations

import re
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import chi2_kernel

import concordant as cc
from concordant.surrogates import ALIASES, SURROGATES

X, Y = load_iris(return_X_y=True)
#: A route of each kind: a game, a smooth one, a piecewise-linear one, a margin and an estimate.
KINDS = ("adversarial", "log", "hinge", "lee_lin_wahba", "quadratic")
EVERY = tuple(SURROGATES)
KERNELS = (None, "rbf", "precomputed")


def refuse(message, error=ValueError, x=X, y=Y, fit=None, **parameters):
    """The fit is refused with this message (a pattern), and nothing is left half-fitted."""
    model = cc.Classifier(**parameters)
    with pytest.raises(error, match=message):
        model.fit(x, y, **(fit or {}))
    assert not [name for name in vars(model) if name.endswith("_") or name.startswith("_")]


def changed(row, column, value, x=X):
    out = np.array(x, dtype=float)
    out[row, column] = value
    return out


def quiet(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


# --- features --------------------------------------------------------------------------------


@cache
def of_array():
    return cc.Classifier(tol=0.1).fit(X, Y)


@cache
def of_frame():
    return cc.Classifier(tol=0.1).fit(pd.DataFrame(X, columns=list("abcd")), Y)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    row=st.integers(0, 149),
    column=st.integers(0, 3),
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
    form=st.sampled_from(["dense", "sparse", "frame", "fortran"]),
)
def test_the_first_bad_cell_is_named(row, column, bad, form):
    x = changed(row, column, bad)
    x[149, 3] = bad  # not the first, unless it is
    what = "NaN" if np.isnan(bad) else "infinity"
    message = rf"contains {what}, first in row {row}, column {column}\b"
    if form == "frame":
        x, message = pd.DataFrame(x, columns=list("abcd")), rf"{message} \('{'abcd'[column]}'\)"
    form_of = {"sparse": sp.csr_array, "fortran": np.asfortranarray}
    x = form_of[form](x) if form in form_of else x
    refuse(message, x=x)
    model = of_frame() if form == "frame" else of_array()
    for ask in (model.predict, model.decision_function, model.strategy, model.predict_proba):
        with pytest.raises(ValueError, match=message):
            ask(x)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("route", EVERY)
def test_no_route_takes_nan(route, kernel):
    x = X @ X.T if kernel == "precomputed" else X
    refuse(
        "NaN, first in row 7, column 2", x=changed(7, 2, np.nan, x), surrogate=route, kernel=kernel
    )


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (X[:, 0], "Expected 2D array, got 1D array"),
        (X[0, 0], "Expected 2D array, got scalar"),
        (X[None], "Found array with dim 3"),
        (X[:0], r"Found array with 0 sample\(s\)"),
        (X[:, :0], r"Found array with 0 feature\(s\) \(shape=\(150, 0\)\)"),
        (X[:-1], r"inconsistent numbers of samples: \[149, 150\]"),
        (X + 1j, "Complex data not supported"),
        ([["a", "b"]] * 150, "could not convert string to float"),
    ],
    ids=["1-D", "scalar", "3-D", "n=0", "d=0", "short", "complex", "words"],
)
def test_features_of_the_wrong_shape(x, message):
    for kernel in (None, "rbf"):
        y = Y[:0] if np.shape(x) == (0, 4) else Y
        refuse(message, x=x, y=y, kernel=kernel)


def test_prediction_wants_as_many_columns_as_training():
    model = cc.Classifier(tol=0.1).fit(X, Y)
    for x, message in (
        (X[:, :3], "X has 3 features, but Classifier is expecting 4 features"),
        (X[0], "Expected 2D array, got 1D array"),
        (X[:0], r"0 sample\(s\)"),
    ):
        for ask in (model.predict, model.decision_function, model.predict_proba, model.strategy):
            with pytest.raises(ValueError, match=message):
                ask(x)
        with pytest.raises(ValueError, match=message):
            model.score(x, Y[: len(x)])
    gram = cc.Classifier(kernel="precomputed", tol=0.1).fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="X has 4 features, but Classifier is expecting 150"):
        gram.predict(X)


# --- answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (Y[:-1], r"inconsistent numbers of samples: \[150, 149\]"),
        (np.column_stack([Y, Y]), "y should be a 1d array"),
        (None, "requires y to be passed"),
        (Y + 0.5, "Unknown label type: continuous"),
        (np.where(np.arange(150) > 7, np.nan, Y), "y contains NaN, first in row 8"),
        (np.where(np.arange(150) == 7, -np.inf, Y), "y contains infinity, first in row 7"),
        (np.where(np.arange(150) == 7, np.nan, Y.astype(object)), "row 7 has nan"),
        (np.where(np.arange(150) == 9, None, Y.astype(str)), "row 9 has None"),
        (np.where(np.arange(150) == 9, "a", Y.astype(object)), "row 0 has 0, row 9 'a'"),
    ],
    ids=[
        "short",
        "two columns",
        "none",
        "continuous",
        "nan",
        "infinite",
        "nan object",
        "missing",
        "mixed",
    ],
)
def test_answers_that_are_no_labels(y, message):
    for kernel in (None, "rbf"):
        refuse(message, y=y, kernel=kernel)


def test_labels_unseen_by_fit_are_priced_or_named():
    strange = np.where(np.arange(150) == 4, 7, Y)
    for loss in ("zero_one", "absolute", cc.losses.Abstain(cost=0.3)):
        model = cc.Classifier(loss, tol=1e-2).fit(X, Y)
        assert 0.0 <= model.score(X, strange) < 1.0
        with pytest.raises(ValueError, match="row 0: 'a' is not a known label; known are 0, 1, 2"):
            model.score(X, np.array(["a"] * 150))
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[150, 5\]"):
            model.score(X, Y[:5])
    costs = cc.losses.CostMatrix(1 - np.eye(3))
    with pytest.raises(ValueError, match=r"name its columns with labels=\.\.\."):
        cc.Classifier(costs, tol=1e-2).fit(X, Y).score(X, strange)
    named = cc.losses.CostMatrix(1 - np.eye(3), labels=[0, 1, 2])
    with pytest.raises(ValueError, match="row 4: 7 is not a known label"):
        cc.Classifier(named, tol=1e-2).fit(X, Y).score(X, strange)
    with pytest.raises(ValueError, match="no column for class 7"):
        cc.Classifier(named).fit(X, strange)


# --- weights ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sample_weight", "loss_weight"])
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(149), r"must be 1D with one weight a row, shape \(150,\), got \(149,\)"),
        (np.ones((150, 2)), r"must be 1D with one weight a row.*got \(150, 2\)"),
        (np.where(np.arange(150) == 8, -1.0, 1.0), r">= 0, but row 8 has -1\.0"),
        (np.where(np.arange(150) == 8, np.nan, 1.0), ">= 0, but row 8 has nan"),
        (np.where(np.arange(150) == 8, np.inf, 1.0), ">= 0, but row 8 has inf"),
    ],
    ids=["short", "2-D", "negative", "nan", "infinite"],
)
def test_bad_weights_are_named_with_their_row(name, weight, message):
    for kernel in (None, "rbf"):
        refuse(f"{name} {message}|{name}.*{message}", fit={name: weight}, kernel=kernel)


def test_weights_of_zero():
    refuse("sample_weight is zero for every example", fit={"sample_weight": np.zeros(150)})
    rng = np.random.default_rng(0)
    some = (rng.random(150) < 0.6).astype(float)
    x = changed(int(some.argmin()), 1, 55.0)
    for kernel in KERNELS:
        whole, part = (x, x[some > 0])
        if kernel == "precomputed":
            whole, part = x @ x.T, part @ part.T
        for route in ("adversarial", "log"):
            model = cc.Classifier(surrogate=route, kernel=kernel, tol=1e-6, C=0.1)
            objective = quiet(model, whole, Y, sample_weight=some).objective_
            assert quiet(model, part, Y[some > 0]).objective_ == pytest.approx(objective, rel=1e-5)
    only = cc.Classifier(tol=1e-2).fit(X, Y, sample_weight=(Y < 2).astype(float))
    assert only.classes_.tolist() == [0, 1]  # a class without weight is absent
    free = cc.Classifier(tol=1e-2).fit(X, Y, loss_weight=np.zeros(150))
    assert free.objective_ == 0.0
    assert np.all(free.coef_ == 0.0)


# --- few or dull data ------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("route", EVERY)
def test_one_class_is_always_predicted(route, kernel):
    x = X[:20] @ X[:20].T if kernel == "precomputed" else X[:20]
    model = cc.Classifier(surrogate=route, kernel=kernel).fit(x, ["only"] * 20)
    assert model.classes_.tolist() == ["only"]
    assert set(model.predict(x)) == {"only"}
    assert model.score(x, ["only"] * 20) == 1.0
    if hasattr(model, "predict_proba"):
        assert model.predict_proba(x).tolist() == [[1.0]] * 20


def test_one_class_may_still_be_abstained_from():
    model = cc.Classifier(cc.losses.Abstain(cost=0.3)).fit(X[:20], ["only"] * 20)
    assert model.actions_.tolist() == ["only", "abstain"]
    assert set(model.predict(X[:20])) == {"only"}
    assert model.decision_function(X[:20]).shape == (20,)


@pytest.mark.parametrize("route", EVERY)
def test_one_example(route):
    for kernel, x in ((None, X[:1]), ("rbf", X[:1]), ("precomputed", [[2.0]])):
        model = cc.Classifier(surrogate=route, kernel=kernel).fit(x, [3])
        assert model.predict(x).tolist() == [3]
        assert model.gap_ <= 1e-4 * max(abs(model.objective_), 1e-9)


@pytest.mark.parametrize("value", [0.0, 1.0, -7.5])
@pytest.mark.parametrize("kernel", [None, "rbf", "linear", "poly"])
@pytest.mark.parametrize("route", KINDS)
def test_constant_features_predict_the_majority(route, kernel, value):
    x, y = np.full((10, 2), value), np.array([0, 1, 1, 1, 1] * 2)
    model = quiet(cc.Classifier(surrogate=route, kernel=kernel), x, y)
    assert model.predict(x).tolist() == [1] * 10
    assert np.isfinite(model.gap_)
    beside = quiet(cc.Classifier(surrogate=route, kernel=kernel), np.hstack([x, X[50:60]]), y)
    assert np.isfinite(beside.decision_function(np.hstack([x, X[50:60]]))).all()


# --- large numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize("route", EVERY)
def test_features_too_large_to_square_are_refused(route):
    refuse(r"the values of row \d+ are too large: their squares overflow", x=X * 1e300,
           surrogate=route)  # fmt: skip
    refuse("squares overflow", x=X * 1e300, surrogate=route, kernel="rbf")
    refuse(r"the values of row 3 are too large", x=changed(3, 1, 1e200), surrogate=route)


@pytest.mark.parametrize("route", KINDS)
def test_scores_of_1e300_are_answered(route):
    """A finite score is compared, however large; where costs are summed it must not overflow."""
    model = cc.Classifier(surrogate=route, tol=1e-3).fit(X, Y)
    far = 1e300 * X
    decision = model.decision_function(far)
    assert np.isfinite(decision).all()
    scores = far @ model.coef_.T
    assert np.abs(scores).max() > 1e299
    chosen = scores.argmax(axis=1)
    assert np.mean(model.predict(far) == chosen) == 1.0
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(far)
        np.testing.assert_allclose(proba[np.arange(150), chosen], 1.0)


@pytest.mark.parametrize("route", KINDS)
def test_scores_that_overflow_name_their_row(route):
    model = cc.Classifier(surrogate=route, tol=1e-3, C=100.0).fit(X, Y)
    model.coef_ *= 1e3  # whatever the fit: these overflow
    x = np.vstack([X[:2], 1.7e308 * np.array([[1.0, -1.0, 1.0, 1.0]]), X[:2]])
    for ask in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="the scores of row 2 overflow"):
            ask(x)
    with pytest.raises(ValueError, match="the scores of row 2 overflow"):
        model.score(x, Y[:5])


def test_kernel_values_that_overflow_name_their_row():
    x = np.vstack([X[:2], np.full((1, 4), 1.7e308)])
    for kernel in ("poly", "linear", lambda a, b: a @ b.T):
        model = quiet(cc.Classifier(kernel=kernel, tol=0.1), X, Y)
        with pytest.raises(ValueError, match=r"kernel of row 2 is inf|scores of row 2 overflow"):
            model.predict(x)


def test_weights_and_costs_that_overflow_are_named():
    heavy = {"sample_weight": np.full(150, 1e308)}
    refuse("training overflows: C times the sample weights", fit=heavy)
    dear = cc.losses.CostMatrix(1e308 * (1 - np.eye(3)))
    refuse("training overflows.*the largest cost 1e\\+308", loss=dear)
    large = quiet(cc.Classifier(C=1e12, max_iter=50), X, Y)
    assert np.isfinite([large.objective_, large.gap_]).all()
    assert np.isfinite(large.decision_function(X)).all()


# --- losses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ["adversarial", "log"])
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1, 2], [1, 0, -3], [1, 1, 0]], r"cost matrix\[1, 2\] = -3\.0 is negative"),
        ([[0, 1, np.nan], [1, 0, 1], [1, 1, 0]], r"cost matrix\[0, 2\] = nan is not finite"),
        ([[0, 1, 1], [1, 0, 1], [np.inf, 1, 0]], r"cost matrix\[2, 0\] = inf is not finite"),
        (1 - np.eye(2), r"2 columns, but there are 3 classes.*labels="),
        (1 - np.eye(4), r"4 columns, but there are 3 classes.*labels="),
        ([[0, 1, 1], [1, 0]], "must hold numbers, its rows equally many"),
        ([["no", 1, 1]] * 3, "must hold numbers"),
        ([0, 1, 1], r"must be 2-D \(n_actions, n_classes\), got shape \(3,\)"),
        (np.zeros((0, 3)), r"must be 2-D.*got shape \(0, 3\)"),
    ],
)
def test_bad_cost_matrices(matrix, message, route):
    refuse(message, loss=cc.losses.CostMatrix(matrix), surrogate=route)


def test_costs_of_right_answers_are_allowed_and_explained():
    """The first answer costs more when it is right than when it is wrong."""
    odd = cc.losses.CostMatrix([[3.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    for route in KINDS:
        model = cc.Classifier(odd, route, tol=1e-2).fit(X, Y)
        assert model.score(X, Y) == pytest.approx(
            1 - cc.metrics.mean_loss(Y, model.predict(X), odd) / 3
        )
        sentence = model.consistency()
        if route == "adversarial":
            assert "Not covered" in sentence
            assert "costs no less when it is right than when it is wrong" in sentence
            assert "strategy()" in sentence
        elif route == "lee_lin_wahba":
            assert "right answers have a cost" in sentence
    free = cc.Classifier(cc.losses.CostMatrix(np.zeros((3, 3)))).fit(X, Y)
    assert free.objective_ == 0.0
    assert free.score(X, Y) == 1.0


@pytest.mark.parametrize("cost", [0, -1, np.nan, np.inf, "dear", None, True])
@pytest.mark.parametrize("route", ["adversarial", "log"])
def test_abstaining_has_a_price(cost, route):
    refuse(re.escape(f"Abstain needs a finite cost > 0, got {cost!r}"),
           loss=cc.losses.Abstain(cost), surrogate=route)  # fmt: skip


def test_abstaining_has_a_name_of_its_own():
    refuse("the abstaining label 2 is also a class", loss=cc.losses.Abstain(0.3, label=2))


# --- kernels ---------------------------------------------------------------------------------


def test_kernels_that_cannot_take_sparse_features():
    for kernel in ("chi2", "additive_chi2"):
        refuse("dense data is required", TypeError, x=sp.csr_array(X), kernel=kernel)
    refuse("dense data is required", TypeError, x=sp.csr_array(X @ X.T), kernel="precomputed")
    refuse("(?s)kernel function failed on sparse features.*pass dense ones", TypeError,
           x=sp.csr_array(X), kernel=lambda a, b: chi2_kernel(a, b))  # fmt: skip
    assert quiet(cc.Classifier(kernel="chi2", tol=1e-2), X, Y).score(X, Y) > 0.9
    sparse = quiet(cc.Classifier(kernel="laplacian", tol=1e-2), sp.csr_array(X), Y)
    assert sparse.score(sp.csr_array(X), Y) > 0.9


def test_matrices_that_are_no_kernels():
    rng = np.random.default_rng(0)
    refuse(r"must be a square matrix, got shape \(150, 4\)", x=X, kernel="precomputed")
    gram = X @ X.T
    refuse(r"not symmetric: \[2, 5\] = 9\.0, \[5, 2\] = ", x=changed(2, 5, 9.0, gram),
           kernel="precomputed")  # fmt: skip
    refuse(r"not positive semidefinite: \[6, 6\] = -1\.0", x=changed(6, 6, -1.0, gram),
           kernel="precomputed")  # fmt: skip
    indefinite = rng.normal(size=(150, 150))
    indefinite = indefinite + indefinite.T
    np.fill_diagonal(indefinite, 1.0)
    for route in ("adversarial", "hinge", "log", "quadratic"):
        refuse("not positive semidefinite", x=indefinite, kernel="precomputed", surrogate=route)


def test_functions_that_are_no_kernels():
    for function, message in (
        (lambda a, b: np.ones(3), r"gave shape \(3,\) instead of \(\d+, \d+\).*functools.partial"),
        (lambda a, b: float(a @ b), "kernel function failed.*functools.partial"),
        (lambda a, b: np.triu(np.ones((len(a), len(b)))), "not symmetric"),
        (lambda a, b: -a @ b.T, "not positive semidefinite"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), r"kernel of row \d+ is nan"),
    ):
        refuse(message, ValueError, kernel=function)


# --- constructor arguments -------------------------------------------------------------------

WRONG = [
    *[("C", bad, ValueError) for bad in (0, -1, np.nan, np.inf)],
    *[("C", bad, TypeError) for bad in ("1", None, True, [1.0])],
    *[("tol", bad, ValueError) for bad in (-1e-9, np.nan, np.inf)],
    *[("tol", bad, TypeError) for bad in ("x", None, False)],
    *[("max_iter", bad, ValueError) for bad in (0, -1)],
    *[("max_iter", bad, TypeError) for bad in (2.5, None, "9", True)],
    *[("random_state", bad, ValueError) for bad in ("x", -1, 1.5)],
    ("n_jobs", 0, ValueError),
    *[("n_jobs", bad, TypeError) for bad in (1.5, "all", True)],
    *[("l1_ratio", bad, ValueError) for bad in (-0.1, 1.1, np.nan)],
    *[("l1_ratio", bad, TypeError) for bad in ("half", None)],
    *[("n_components", bad, ValueError) for bad in (0, -3)],
    *[("n_components", bad, TypeError) for bad in (2.5, "x", True)],
    *[("gamma", bad, ValueError) for bad in (0, -1.0, np.nan, np.inf, "wide")],
    *[("gamma", bad, TypeError) for bad in (None, True)],
    *[("degree", bad, (TypeError, ValueError)) for bad in ("x", None, np.nan, True, np.inf)],
    *[("coef0", bad, (TypeError, ValueError)) for bad in ("x", None, np.nan, np.inf)],
    *[(name, bad, TypeError) for name in ("fit_intercept", "warm_start", "verbose")
      for bad in ("yes", None, 2.5)],
    *[("kernel", bad, ValueError) for bad in ("gauss", 3, np.nan)],
    *[("penalty", bad, ValueError) for bad in ("lasso", None, 1)],
    *[("solver", bad, ValueError) for bad in ("newton", None, 1)],
    *[("loss", bad, TypeError) for bad in (None, 3, np.eye(3), cc.losses.ZeroOne)],
    ("loss", "hinge loss", ValueError),
    *[("surrogate", bad, TypeError) for bad in (None, 3, cc.surrogates.Hybrid)],
    ("surrogate", "svm", ValueError),
]  # fmt: skip
NEEDS = {
    "gamma": {"kernel": "rbf"},
    "degree": {"kernel": "poly"},
    "coef0": {"kernel": "poly"},
    "n_components": {"kernel": "rbf"},
    "l1_ratio": {"penalty": "elasticnet"},
}


@pytest.mark.parametrize(("name", "value", "error"), WRONG, ids=str)
def test_arguments_of_the_wrong_type_or_value_are_named(name, value, error):
    refuse(name, error, **{name: value}, **NEEDS.get(name, {}))


def test_unknown_names_come_with_the_known_ones():
    for name, wrong, known in (
        ("loss", "absolut", ["absolute", "squared", "zero_one"]),
        ("surrogate", "adversary", sorted([*SURROGATES, *ALIASES])),
        ("kernel", "gauss", ["linear", "poly", "precomputed", "rbf"]),
        ("penalty", "L2", ["elasticnet", "l1", "l2"]),
        ("solver", "sag", ["auto", "dual", "lbfgs", "fista", "sgd", "adam", "pegasos"]),
    ):
        with pytest.raises(ValueError, match=f"unknown {name} '{wrong}'") as caught:
            cc.Classifier(**{name: wrong}).fit(X, Y)
        assert all(each in str(caught.value) for each in known)


def test_arguments_that_exclude_each_other():
    refuse("penalty='l1' needs linear scores", penalty="l1", kernel="rbf")
    refuse("n_components needs the features", x=X @ X.T, kernel="precomputed", n_components=3)
    refuse("solver='dual' needs some ridge", solver="dual", penalty="l1")
    refuse("solver='lbfgs' needs penalty='l2'", solver="lbfgs", penalty="elasticnet")
    refuse("solver='fista' needs explicit features", solver="fista", kernel="rbf")
    for alpha in (-0.1, 1.1, np.nan, "half"):
        refuse("Hybrid needs 0 <= alpha <= 1", surrogate=cc.surrogates.Hybrid(alpha))


def test_constructors_check_nothing_and_keep_everything():
    """scikit-learn's rule: errors come from fit, so that clone and set_params always work."""
    for name, value, _ in WRONG:
        assert cc.Classifier(**{name: value}).get_params()[name] is value
