"""Training against a conic solver: the optimum is reached and the certificate brackets it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import concordant as cc
from concordant.losses import find_loss
from concordant.surrogates import ALIASES, SURROGATES
from tests.reference_training import conic_optimum

K = 4
ROUTES = [*SURROGATES, *ALIASES]
SQUARE = np.array(
    [[0.5, 2.0, 1.0, 4.0], [1.0, 0.0, 3.0, 1.0], [0.2, 1.0, 0.0, 2.5], [3.0, 0.0, 1.0, 0.3]]
)
RECTANGULAR = np.array([[0.0, 3.0, 1.0, 5.0], [2.0, 0.0, 4.0, 1.0], [1.0, 1.0, 0.5, 1.5]])
LOSSES = {
    "zero_one": "zero_one",
    "absolute": "absolute",
    "squared": "squared",
    "abstain at 0.3": cc.losses.Abstain(cost=0.3),
    "abstain at 0.7": cc.losses.Abstain(cost=0.7),
    "square costs": cc.losses.CostMatrix(SQUARE),
    "rectangular costs": cc.losses.CostMatrix(RECTANGULAR),
}


def optimum_of(X, y, loss, route, *args, **kwargs):
    """The conic solver's; where actions are labels, a label acts as itself."""
    L = find_loss(LOSSES[loss]).matrix(K)
    D = L if len(L) == K else None
    return conic_optimum(X, y, L, route, *args, D=D, **kwargs)[0]


def problem(seed, n=24):
    """Overlapping classes, so that no surrogate reaches zero; every label occurs."""
    X, y = make_blobs(n, n_features=3, centers=K, cluster_std=4.0, random_state=seed)
    return X / 4.0, y


def weights(seed, n=24):
    """Sample and loss weights with zeros among them, but no label lost."""
    rng = np.random.default_rng(seed)
    sample = rng.integers(1, 4, n).astype(float)
    sample[::8] = 0.0
    loss = rng.uniform(0.25, 2.0, n)
    loss[1] = 0.0
    return sample, loss


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def assert_optimal(model, optimum, within=1e-3):
    noise = 1e-6 * max(abs(optimum), 1e-3)  # the referee's own
    assert model.objective_ <= optimum + within * abs(optimum) + noise
    assert model.objective_ >= optimum - noise
    assert model.objective_ - model.gap_ <= optimum + noise
    assert model.gap_ <= within * abs(model.objective_) + noise


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("loss", LOSSES)
def test_linear_scores_reach_the_optimum(loss, route):
    for seed, intercept in ((1, True), (2, False)):
        X, y = problem(seed)
        sample, inside = weights(seed)
        for C, kwargs in (
            (0.3, {}),
            (1.0, {"sample_weight": sample, "loss_weight": inside}),
        ):
            model = cc.Classifier(LOSSES[loss], route, C=C, fit_intercept=intercept)
            fit(model, X, y, **kwargs)
            optimum = optimum_of(X, y, loss, route, C, fit_intercept=intercept, **kwargs)
            assert_optimal(model, optimum)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("loss", ["zero_one", "squared", "abstain at 0.7", "rectangular costs"])
def test_kernel_scores_reach_the_optimum(loss, route):
    X, y = problem(3)
    sample, inside = weights(3)
    gram = rbf_kernel(X, gamma=0.2)
    for intercept, kwargs in (
        (True, {"sample_weight": sample, "loss_weight": inside}),
        (False, {}),
    ):
        model = cc.Classifier(
            LOSSES[loss], route, C=2.0, kernel="rbf", gamma=0.2, fit_intercept=intercept
        )
        fit(model, X, y, **kwargs)
        kept = np.flatnonzero(kwargs.get("sample_weight", np.ones(len(y))))
        optimum = optimum_of(
            None, y[kept], loss, route, 2.0, fit_intercept=intercept,
            K=gram[np.ix_(kept, kept)], **{name: w[kept] for name, w in kwargs.items()},
        )  # fmt: skip
        assert_optimal(model, optimum)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_hybrids_of_any_share_reach_the_optimum(alpha):
    X, y = problem(4)
    sample, inside = weights(4)
    kwargs = {"sample_weight": sample, "loss_weight": inside}
    model = fit(cc.Classifier("absolute", cc.surrogates.Hybrid(alpha)), X, y, **kwargs)
    assert_optimal(model, optimum_of(X, y, "absolute", "hybrid", 1.0, alpha, **kwargs))


@pytest.mark.parametrize("solver", ["dual", "lbfgs"])
@pytest.mark.parametrize("route", ROUTES)
def test_both_certified_solvers_reach_the_optimum(route, solver):
    X, y = problem(5)
    for loss in ("absolute", "abstain at 0.3"):
        for kernel in (None, "linear"):
            model = cc.Classifier(LOSSES[loss], route, C=0.5, kernel=kernel, solver=solver)
            assert_optimal(fit(model, X, y), optimum_of(X, y, loss, route, 0.5))


@pytest.mark.parametrize("route", ROUTES)
def test_splitting_reaches_the_optimum_however_large_C_is(route):
    X, y = problem(7)
    sample, inside = weights(7)
    gram = rbf_kernel(X, gamma=0.2)
    for loss, C, intercept, kwargs in (
        ("absolute", 0.5, True, {"sample_weight": sample, "loss_weight": inside}),
        ("rectangular costs", 3.0, False, {}),
        ("zero_one", 300.0, True, {}),
    ):
        model = cc.Classifier(
            LOSSES[loss], route, C=C, kernel="rbf", gamma=0.2, fit_intercept=intercept,
            solver="splitting", max_iter=20_000,
        )  # fmt: skip
        fit(model, X, y, **kwargs)
        kept = np.flatnonzero(kwargs.get("sample_weight", np.ones(len(y))))
        optimum = optimum_of(
            None, y[kept], loss, route, C, fit_intercept=intercept,
            K=gram[np.ix_(kept, kept)], **{name: w[kept] for name, w in kwargs.items()},
        )  # fmt: skip
        assert_optimal(model, optimum)


def test_splitting_is_for_kernels():
    X, y = problem(7)
    with pytest.raises(ValueError, match="'splitting' needs a kernel"):
        cc.Classifier(solver="splitting").fit(X, y)


@pytest.mark.parametrize(
    "route", ["adversarial", "crammer_singer", "weston_watkins", "lee_lin_wahba"]
)
@pytest.mark.parametrize("intercept", [True, False])
def test_stiff_kernels_are_certified_in_few_passes(route, intercept):
    """Block steps alone leave most of the gap after as many."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5))
    y = (X[:, 0] > 0.0) + 2 * (X[:, 1] + 0.3 * rng.normal(size=700) > 0.0)
    model = cc.Classifier(
        surrogate=route, C=2.0**12, kernel="rbf", gamma=2.0**-5, fit_intercept=intercept, tol=1e-3,
        random_state=0,
    )  # fmt: skip
    fit(model, X, y)
    assert model.gap_ <= 1e-3 * model.objective_


@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
@pytest.mark.parametrize("route", ROUTES)
def test_lasso_and_elastic_net_reach_the_optimum(route, penalty):
    X, y = problem(6)
    ratio = 1.0 if penalty == "l1" else 0.4
    for loss in ("zero_one", "rectangular costs"):
        model = cc.Classifier(
            LOSSES[loss], route, C=0.5, penalty=penalty, l1_ratio=ratio, max_iter=20_000
        )
        fit(model, X, y)
        assert_optimal(model, optimum_of(X, y, loss, route, 0.5, l1_ratio=ratio))


@pytest.mark.parametrize(
    ("solver", "passes", "left"),
    [("sgd", 800, 0.5), ("pegasos", 100, 0.05), ("adagrad", 200, 0.05), ("adam", 200, 0.05)],
)
@pytest.mark.parametrize("route", ["adversarial", "log", "hinge"])
def test_stochastic_solvers_come_near(route, solver, passes, left):
    X, y = problem(7, n=60)
    start = 60 * cc.surrogates.evaluate(route, np.zeros((1, K)), [0], loss="absolute")[0][0]
    optimum = optimum_of(X, y, "absolute", route)
    model = cc.Classifier("absolute", route, solver=solver, max_iter=passes, random_state=0)
    with pytest.warns(ConvergenceWarning, match="certified gap"):
        model.fit(X, y)
    assert optimum * (1 - 1e-6) <= model.objective_ <= optimum + left * (start - optimum)
    assert model.objective_ - model.gap_ <= optimum * (1 + 1e-6)
