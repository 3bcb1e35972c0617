"""scikit-learn's own estimator checks: the whole list, for every route, linear and rbf."""

from __future__ import annotations

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import concordant as cc
from concordant.surrogates import SURROGATES


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("route", SURROGATES)
def test_every_check_of_scikit_learn_passes(route, kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = cc.Classifier(surrogate=route, kernel=kernel)
        results = check_estimator(model, on_skip=None, on_fail=None)
    failed = [r for r in results if r["status"] != "passed"]
    assert len(results) >= 60
    assert not failed, "\n".join(
        f"{r['check_name']} {r['status']}: {r['exception']!r}" for r in failed
    )


@pytest.mark.parametrize("model", [cc.LossTrickPredictor(), cc.NadarayaWatson()], ids=repr)
def test_predictors_of_any_output_pass_the_checks_that_ask_for_no_classes(model):
    """All that scikit-learn runs on an estimator of tables that is no classifier or regressor."""
    results = check_estimator(model, on_skip=None, on_fail=None)
    failed = [r for r in results if r["status"] != "passed"]
    assert len(results) >= 45
    assert not failed, "\n".join(
        f"{r['check_name']} {r['status']}: {r['exception']!r}" for r in failed
    )
