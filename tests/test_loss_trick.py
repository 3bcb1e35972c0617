"""The estimators of any output: the formula end to end, selection, conventions, errors."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV

import concordant as cc
from concordant.checks import check_structured_estimator
from concordant.outputs import comparison_constant

NAN = float("nan")
ESTIMATORS = {
    "LossTrickPredictor": cc.LossTrickPredictor(C=5.0, gamma=0.5),
    "NadarayaWatson": cc.NadarayaWatson(gamma=0.5),
    "KernelDependencyEstimator": cc.KernelDependencyEstimator(C=5.0, gamma=0.5),
}


def sample(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)), rng


def formula(x, new, C, gamma=0.5):
    gram = rbf_kernel(x, gamma=gamma)
    return rbf_kernel(new, x, gamma=gamma) @ np.linalg.inv(gram + np.eye(len(x)) / C)


# ---- the formula, end to end ----


@pytest.mark.parametrize("shape", [(40,), (40, 2)])
def test_predictions_minimise_the_weighted_loss(shape):
    x, new, rng = sample()
    y = rng.normal(size=shape)
    alpha = formula(x, new, 5.0)
    for loss in (cc.losses.Huber(0.3), cc.losses.Cauchy(0.3)):
        model = cc.LossTrickPredictor(loss, C=5.0, gamma=0.5).fit(x, y)
        answers = model.predict(new)
        assert answers.shape == (len(new), *shape[1:])
        grid = np.linspace(y.min(), y.max(), 2001)
        columns, found = y.reshape(40, -1), answers.reshape(40, -1)
        for j in range(columns.shape[1]):
            inside = (grid >= columns[:, j].min()) & (grid <= columns[:, j].max())
            values = alpha @ loss.value(grid[None, inside] - columns[:, j][:, None])
            ours = [alpha[i] @ loss.value(found[i, j] - columns[:, j]) for i in range(len(new))]
            assert (ours <= values.min(axis=1) + 1e-6 * np.abs(alpha).sum(axis=1)).all()


def test_zero_one_is_least_squares_classification():
    """Section 5 of the paper: under 0-1 loss the decoding is the argmax of ridge regression."""
    x, new, rng = sample(60)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]
    model = cc.LossTrickPredictor("zero_one", kernel="linear", C=0.7).fit(x, y)
    onehot = (y[:, None] == np.array(["a", "b", "c"])).astype(float)
    ridge = Ridge(alpha=1.0 / 0.7, fit_intercept=False).fit(x, onehot)
    expected = np.array(["a", "b", "c"])[ridge.predict(new).argmax(axis=1)]
    assert model.predict(new).tolist() == expected.tolist()


@pytest.mark.parametrize("loss", ["zero_one", cc.losses.Abstain(0.3)])
def test_labels_agree_with_the_quadratic_route(loss):
    x, new, rng = sample(60)
    y = rng.integers(0, 3, 60)
    route = cc.Classifier(loss, "quadratic", kernel="rbf", gamma=0.5, C=2.0, fit_intercept=False,
                          tol=1e-10, max_iter=5000).fit(x, y)  # fmt: skip
    trick = cc.LossTrickPredictor(loss, gamma=0.5, C=2.0).fit(x, y)
    assert trick.predict(new).tolist() == route.predict(new).tolist()


def test_a_normalised_output_kernel_makes_kde_the_loss_trick():
    x, new, rng = sample()
    y = rng.normal(size=(40, 2))
    loss = cc.losses.KernelInduced("rbf", gamma=1.3)
    kde = cc.KernelDependencyEstimator(loss, C=5.0, gamma=0.5).fit(x, y)
    trick = cc.LossTrickPredictor(loss, C=5.0, gamma=0.5).fit(x, y)
    assert np.allclose(kde.predict(new), trick.predict(new))
    assert "As the loss trick" in kde.consistency()
    linear = cc.losses.KernelInduced("linear")
    kde, trick = kde.set_params(loss=linear).fit(x, y), trick.set_params(loss=linear).fit(x, y)
    assert not np.allclose(kde.predict(new), trick.predict(new))
    alpha = formula(x, new, 5.0)
    values = (y**2).sum(axis=1) - 2.0 * (alpha @ y) @ y.T
    assert np.array_equal(kde.predict(new), y[values.argmin(axis=1)])
    assert "not constant" in kde.consistency()


def test_nadaraya_watson_weighs_by_the_kernel():
    x, new, rng = sample()
    y = rng.normal(size=40)
    gram = rbf_kernel(new, x, gamma=0.5)
    model = cc.NadarayaWatson("squared", gamma=0.5).fit(x, y)
    assert np.allclose(model.predict(new), gram @ y / gram.sum(axis=1))
    far = model.predict([[1e4, 0.0, 0.0]])
    assert far == pytest.approx([y.mean()])
    weight = rng.integers(1, 4, 40)
    copies = np.repeat(np.arange(40), weight)
    a = clone(model).fit(x, y, sample_weight=weight).predict(new)
    assert np.allclose(a, clone(model).fit(x[copies], y[copies]).predict(new))


def test_the_comparison_inequality_holds_and_its_constant_is_sharp():
    rng = np.random.default_rng(0)
    for _ in range(200):
        matrix = rng.uniform(0, 1, (rng.integers(2, 5), 4))
        p = rng.dirichlet(np.ones(4), 50)
        g = p + rng.normal(size=p.shape) * 10.0 ** rng.uniform(-3, 0)
        risks = p @ matrix.T
        chosen = (g @ matrix.T).argmin(axis=1)
        excess = risks[np.arange(50), chosen] - risks.min(axis=1)
        away = np.linalg.norm(g - p, axis=1)
        assert (excess <= comparison_constant(matrix) * away + 1e-12).all()
        # Twice the printed constant is enough.
        assert comparison_constant(matrix) <= 2.0 * np.linalg.norm(matrix, 2) + 1e-12
    # Two labels, 0-1: from (1, 0) half way to the other label the excess is sqrt 2 times the
    # distance, more than the printed constant, 1, allows.
    matrix = 1.0 - np.eye(2)
    p, g = np.array([1.0, 0.0]), np.array([0.5 - 1e-9, 0.5 + 1e-9])
    excess = (matrix @ p)[(matrix @ g).argmin()] - (matrix @ p).min()
    assert excess == pytest.approx(comparison_constant(matrix) * np.linalg.norm(g - p))
    assert excess > np.linalg.norm(matrix, 2) * np.linalg.norm(g - p)


# ---- inputs ----


def test_kernels_by_name_function_matrix_and_sparse_agree():
    x, new, rng = sample()
    y = rng.normal(size=40)
    named = cc.LossTrickPredictor("huber", C=3.0, gamma=0.5).fit(x, y).predict(new)
    others = {
        "function": cc.LossTrickPredictor("huber", lambda a, b: rbf_kernel(a, b, gamma=0.5), C=3.0),
        "precomputed": cc.LossTrickPredictor("huber", "precomputed", C=3.0),
        "sparse": cc.LossTrickPredictor("huber", C=3.0, gamma=0.5),
        "frame": cc.LossTrickPredictor("huber", C=3.0, gamma=0.5),
        "single": cc.LossTrickPredictor("huber", C=3.0, gamma=0.5, dtype="float32"),
    }
    inputs = {
        "precomputed": (rbf_kernel(x, gamma=0.5), rbf_kernel(new, x, gamma=0.5)),
        "sparse": (sp.csr_matrix(x), sp.csr_matrix(new)),
        "frame": (pd.DataFrame(x, columns=list("abc")), pd.DataFrame(new, columns=list("abc"))),
    }
    for name, model in others.items():
        train, test = inputs.get(name, (x, new))
        found = model.fit(train, y).predict(test)
        assert np.allclose(found, named, atol=1e-2 if name == "single" else 1e-6), name


def words(n=30, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc"), rng.integers(1, 6))) for _ in range(n)]


def shared_letters(a, b):
    return np.array([[float(len(set(u) & set(v))) for v in b] for u in a])


def test_inputs_may_be_anything_a_kernel_function_takes():
    X, y = words(seed=1), words(seed=2)
    model = cc.LossTrickPredictor("edit_distance", shared_letters, C=1.0).fit(X, y)
    answers = model.predict(X[:4])
    assert answers.dtype == object
    assert all(isinstance(answer, str) for answer in answers)


def test_structured_conventions():
    model = cc.LossTrickPredictor("edit_distance", shared_letters)
    check_structured_estimator(model, words(12, 1), words(12, 2))


def test_precomputed_kernels_are_cut_on_both_sides_by_cross_validation():
    x, _, rng = sample()
    y = rng.normal(size=40)
    gram = rbf_kernel(x, gamma=0.5)
    given = {"param_grid": {"C": [0.1, 10.0]}, "cv": 4, "error_score": "raise"}
    a = GridSearchCV(cc.LossTrickPredictor("huber", "precomputed"), **given).fit(gram, y)
    b = GridSearchCV(cc.LossTrickPredictor("huber", gamma=0.5), **given).fit(x, y)
    assert np.allclose(a.cv_results_["mean_test_score"], b.cv_results_["mean_test_score"])


# ---- weights, selection ----


def test_sample_weights_are_copies_and_zero_is_absence():
    x, new, rng = sample()
    y = rng.normal(size=40)
    weight = rng.integers(0, 3, 40)
    rows = np.repeat(np.arange(40), weight)
    for kernel in ("rbf", "precomputed"):
        a = cc.LossTrickPredictor("absolute", kernel, C=3.0, gamma=0.5)
        b = clone(a)
        if kernel == "rbf":
            found = a.fit(x, y, sample_weight=weight).predict(new)
            expected = b.fit(x[rows], y[rows]).predict(new)
        else:
            gram, cross = rbf_kernel(x, gamma=0.5), rbf_kernel(new, x, gamma=0.5)
            found = a.fit(gram, y, sample_weight=weight).predict(cross)
            expected = b.fit(gram[np.ix_(rows, rows)], y[rows]).predict(cross[:, rows])
        assert np.allclose(found, expected, atol=1e-7)


def test_loss_weights_multiply_the_loss_not_the_regression():
    x, new, rng = sample()
    y, weight = rng.normal(size=40), rng.uniform(0.2, 3.0, 40)
    model = cc.LossTrickPredictor("squared", C=3.0, gamma=0.5, bounds=(-50.0, 50.0))
    found = model.fit(x, y, loss_weight=weight).predict(new)
    alpha = formula(x, new, 3.0) * weight
    good = alpha.sum(axis=1) > 0.05
    assert np.allclose(found[good], (alpha @ y / alpha.sum(axis=1))[good])


@pytest.mark.parametrize("n_components", [None, 15])
def test_selection_is_by_the_loss_itself(n_components):
    x, _, rng = sample(50)
    y = np.sin(2.0 * x[:, 0]) + rng.standard_t(1.5, 50)
    Cs, gammas = [0.01, 1.0, 100.0], [0.05, 0.5, 5.0]
    model = cc.LossTrickPredictor("absolute", cv=5, Cs=Cs, gammas=gammas, random_state=3,
                                  n_components=n_components).fit(x, y)  # fmt: skip
    results = model.cv_results_
    assert len(results["C"]) == 9
    best = int(np.argmin(results["mean_loss"]))
    assert (model.C_, model.gamma_) == (results["C"][best], results["gamma"][best])
    if n_components is None:  # the same by hand
        from concordant.estimators.selection import folds

        total = 0.0
        seed = np.random.RandomState(3).randint(2**31 - 1)
        for train, test in folds(5, 50, seed):
            part = cc.LossTrickPredictor("absolute", C=model.C_, gamma=model.gamma_)
            total -= part.fit(x[train], y[train]).score(x[test], y[test]) * len(test)
        assert results["mean_loss"][best] == pytest.approx(total / 50, rel=1e-6)


def test_leave_one_out_selection_is_leaving_one_out():
    x, _, rng = sample(15)
    y = rng.normal(size=15)
    for make in (cc.LossTrickPredictor, cc.NadarayaWatson):
        given = {"Cs": [2.0]} if make is cc.LossTrickPredictor else {}
        model = make("squared", cv="loo", gammas=[0.5], bounds=(-9, 9), **given).fit(x, y)
        C = {"C": 2.0} if given else {}
        losses = []
        for i in range(15):
            rest = np.delete(np.arange(15), i)
            part = make("squared", gamma=0.5, bounds=(-9, 9), **C).fit(x[rest], y[rest])
            losses.append(-part.score(x[[i]], y[[i]]))
        assert model.cv_results_["mean_loss"][0] == pytest.approx(np.mean(losses), rel=1e-6)


@pytest.mark.parametrize(
    "given",
    [{}, {"solver": "cg"}, {"centres": "leverage"}, {"dtype": "float32"},
     {"approximation": "fourier", "n_components": 600}],
    ids=str,
)  # fmt: skip
def test_features_come_near_the_exact_weights(given):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 2))
    y = np.sin(3.0 * x[:, 0]) + x[:, 1]
    exact = cc.LossTrickPredictor(C=10.0, gamma=1.0).fit(x, y)
    model = cc.LossTrickPredictor(C=10.0, gamma=1.0, random_state=0,
                                  **{"n_components": 80, **given}).fit(x, y)  # fmt: skip
    assert np.abs(model.predict(x) - exact.predict(x)).max() < 0.1


def test_random_features_take_sparse_inputs_too():
    x, new, rng = sample()
    y = rng.normal(size=40)
    model = cc.LossTrickPredictor(C=3.0, gamma=0.5, n_components=30, approximation="fourier",
                                  random_state=0)  # fmt: skip
    dense = model.fit(x, y).predict(new)
    assert np.allclose(model.fit(sp.csr_matrix(x), y).predict(sp.csr_matrix(new)), dense)


def test_conjugate_gradients_that_stop_early_say_so():
    x, _, rng = sample(200)
    with pytest.warns(ConvergenceWarning, match="stopped .max_iter. after 1 passes"):
        cc.LossTrickPredictor(C=1e3, gamma=0.5, n_components=40, solver="cg", max_iter=1).fit(
            x, rng.normal(size=200)
        )


def test_single_precision_keeps_small_eigenvalues():
    """Sums over many rows in single precision would not: they were off by 0.05 here."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 10))
    y = np.sin(x[:, 0] * 2.0) + 0.1 * rng.normal(size=20_000)
    model = cc.LossTrickPredictor(C=1e4, gamma=0.05, n_components=200, random_state=0)
    double = model.fit(x, y).predict(x[:500])
    single = model.set_params(dtype="float32").fit(x, y).predict(x[:500])
    assert np.sqrt(np.mean((double - single) ** 2)) < 0.02


def test_any_number_of_threads_and_blocks_gives_the_same_bits(monkeypatch):
    x, new, rng = sample()
    y = rng.normal(size=40)
    model = cc.LossTrickPredictor("cauchy", C=3.0, gamma=0.5, n_jobs=1)
    first = model.fit(x, y).predict(new)
    from concordant.estimators import outputs

    monkeypatch.setattr(outputs, "BLOCK", 400)
    assert np.array_equal(clone(model).set_params(n_jobs=3).fit(x, y).predict(new),
                          clone(model).fit(x, y).predict(new))  # fmt: skip
    assert np.allclose(model.predict(new), first)
    from concordant.outputs import features

    monkeypatch.setattr(features, "BLOCK", 60)
    approximate = clone(model).set_params(n_components=10, random_state=0, loss="squared")
    a = clone(approximate).fit(x, y)
    b = clone(approximate).set_params(n_jobs=3).fit(x, y)
    assert np.array_equal(a.coefficients_.matrix, b.coefficients_.matrix)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_models_pickle_and_keep_their_state_plain(name):
    x, new, rng = sample()
    y = rng.normal(size=(40, 2))
    model = clone(ESTIMATORS[name]).fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(new), model.predict(new))
    assert name == type(model).__name__


# ---- errors ----

X3 = [[0.0], [1.0], [2.0]]


@pytest.mark.parametrize(
    ("given", "y", "message"),
    [
        ({"C": 0.0}, [1, 2, 3], r"C must be finite and > 0 \(lambda is 1/\(n C\)\)"),
        ({"C": -1.0}, [1, 2, 3], r"C must be finite and > 0"),
        ({"loss": "hellinger"}, [[1, 0], [0.5, 0.5], [0.9, 0.2]], r"y, row 2 sums to 1.1"),
        ({"loss": "kendall"}, [[0, 1], [1, 0], [1, 1]], r"y, row 2: \[1, 1\] is no permutation"),
        ({"loss": lambda a, b: NAN}, [1, 2, 3], r"candidate|action 0 against truth 0 is nan"),
        ({"loss": lambda a, b: [1, 2]}, [1, 2, 3], r"shape \(2,\)"),
        ({}, [1, 2], r"X has 3 examples, y has 2"),
        ({}, [1, 2, NAN], r"y, row 2 = .*nan.*: is not finite"),
        ({"bounds": (1, 0)}, [1, 2, 3], r"bounds must be finite, the least first"),
        ({"candidates": "all", "loss": lambda a, b: 0.0}, [1, 2, 3], r"candidates must be"),
        ({"kernel": "rbff"}, [1, 2, 3], r"unknown kernel 'rbff'"),
        ({"kernel": "precomputed"}, [1, 2, 3], r"must be a square matrix"),
        ({"n_components": 2, "approximation": "fourier", "kernel": "poly"}, [1, 2, 3], r"fourier"),
        ({"cv": 9}, [1, 2, 3], r"cv must be 'loo' or from 2"),
        ({"cv": 2, "Cs": [0.0]}, [1, 2, 3], r"Cs must be positive"),
        ({"cv": 2, "kernel": "linear", "gammas": [1.0]}, [1, 2, 3], r"has no width"),
    ],
)
def test_bad_input_is_named_and_leaves_the_model(given, y, message):
    model = cc.LossTrickPredictor().fit(X3, [1.0, 2.0, 3.0])
    before = model.predict(X3)
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(**given).fit(X3, y)
    with pytest.raises(ValueError, match=message):
        model.set_params(**given).fit(X3, y)
    default = cc.LossTrickPredictor().get_params()
    assert np.array_equal(model.set_params(**default).predict(X3), before)


def test_indefinite_kernels_warn_and_others_do_not():
    gram = np.diag([1.0, 1.0, -0.4]) + 0.5
    with pytest.warns(UserWarning, match="smallest eigenvalue"):
        cc.LossTrickPredictor(kernel="precomputed").fit(np.abs(gram), [1.0, 2.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cc.LossTrickPredictor(kernel="precomputed").fit(linear_kernel(X3), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="not symmetric"):
        cc.LossTrickPredictor(kernel="precomputed").fit(np.triu(np.ones((3, 3))), [1.0, 2.0, 3.0])


def test_a_single_example_and_equal_inputs():
    model = cc.LossTrickPredictor("absolute").fit([[1.0]], [3.0])
    assert model.predict([[5.0]]).tolist() == [3.0]
    model = cc.LossTrickPredictor("zero_one").fit([[1.0]] * 4, ["a", "b", "b", "b"])
    assert model.predict([[1.0]]).tolist() == ["b"]


def test_consistency_names_losses_that_are_not_of_the_form():
    y = [[0.5, 0.5], [0.2, 0.8], [1.0, 0.0]]
    model = cc.LossTrickPredictor("kullback_leibler").fit(X3, y)
    assert "NOT of the form" in model.consistency()
    model = cc.LossTrickPredictor("hellinger").fit(X3, y)
    assert "finite-dimensional" in model.consistency()
    assert "Universally consistent" in model.consistency()
