"""Immediate thresholds that would cross are kept in order, with a certificate."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import concordant as cc
from concordant.objective.folded import FoldedObjective, pool
from concordant.surrogates import ImmediateThreshold
from tests.test_ordinal import K, fit, optimum_of
from tests.test_training import assert_optimal

BASES = ["logistic", "hinge", "squared_hinge"]


def crossing(seed, n=24):
    """Labels that have little to do with the features, the middle ones rare."""
    rng = np.random.default_rng(seed)
    y = rng.choice(K, size=n, p=[0.4, 0.1, 0.1, 0.4])
    y[:K] = np.arange(K)
    return rng.normal(size=(n, 3)), y


@pytest.mark.parametrize("base", BASES)
def test_the_optimum_in_order_is_reached(base):
    for seed in range(3):
        X, y = crossing(seed)
        route = f"immediate_threshold {base}"
        for kernel in (None, "rbf"):
            gram = None if kernel is None else rbf_kernel(X, gamma=0.2)
            model = cc.OrdinalClassifier(
                surrogate=ImmediateThreshold(base), C=0.7, kernel=kernel, gamma=0.2
            )
            fit(model, X, y)
            assert_optimal(model, optimum_of(X, y, "absolute", route, 0.7, True, K=gram))
            assert (np.diff(model.thresholds_) >= -1e-12).all()
            free = fit(model.set_params(surrogate=ImmediateThreshold(base, ordered=False)), X, y)
            assert np.diff(free.thresholds_).min() < -1e-3  # else this test tests nothing


@pytest.mark.parametrize("solver", ["lbfgs", "dual", "newton"])
def test_any_solver_keeps_the_order(solver):
    X, y = crossing(3)
    model = cc.OrdinalClassifier(surrogate="immediate_threshold", solver=solver)
    optimum = optimum_of(X, y, "absolute", "immediate_threshold", 1.0, True)
    assert_optimal(fit(model, X, y), optimum)
    assert (np.diff(model.thresholds_) >= -1e-12).all()


def test_order_under_a_lasso():
    X, y = crossing(4)
    model = cc.OrdinalClassifier(surrogate="immediate_threshold", penalty="l1", max_iter=10_000)
    fit(model, X, y)
    assert (np.diff(model.thresholds_) >= -1e-12).all()
    assert model.gap_ <= 1e-4 * model.objective_


def test_passes_that_run_out_leave_ordered_thresholds_and_a_warning():
    X, y = crossing(5)
    model = cc.OrdinalClassifier(surrogate=ImmediateThreshold("hinge"), max_iter=3)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(X, y)
    assert (np.diff(model.thresholds_) >= -1e-12).all()


@pytest.mark.parametrize("calls", [2, 9, 14])
def test_an_interrupt_leaves_the_best_model_in_order(monkeypatch, calls):
    """In the first solution, whose thresholds cross, and in a round with ties."""
    X, y = crossing(3)
    left, work = [calls], FoldedObjective.loss

    def interrupted(self, *args, **kwargs):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return work(self, *args, **kwargs)

    monkeypatch.setattr(FoldedObjective, "loss", interrupted)
    model = cc.OrdinalClassifier(surrogate="immediate_threshold", solver="lbfgs", tol=1e-9)
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(X, y)
    monkeypatch.undo()
    assert (np.diff(model.thresholds_) >= -1e-12).all()
    optimum = optimum_of(X, y, "absolute", "immediate_threshold", 1.0, True)
    assert model.objective_ - model.gap_ <= optimum * (1 + 1e-6)
    assert model.objective_ >= optimum * (1 - 1e-6)


def test_pooled_pulls_gain_nothing_from_ordered_thresholds():
    rng = np.random.default_rng(0)
    for _ in range(500):
        m = int(rng.integers(1, 8))
        totals = rng.exponential(size=(2, m)) * (rng.random((2, m)) < 0.8)
        ties = rng.random(m - 1) < 0.6
        for signed in (False, True):
            pooled = pool(totals, ties, signed)
            least = pooled.min(axis=0)
            up, down = np.divide(least, pooled, out=np.zeros_like(pooled), where=pooled > 0)
            assert ((up >= 0) & (up <= 1) & (down >= 0) & (down <= 1)).all()
            pulls = up * totals[0] - down * totals[1]
            partial = np.cumsum(pulls)
            free = np.r_[~ties, True]
            np.testing.assert_allclose(partial[free], 0.0, atol=1e-12)
            if signed:
                rising = rng.normal() + np.cumsum(rng.exponential(size=m))
                assert partial.min() >= -1e-12
                assert pulls @ rising <= 1e-9
