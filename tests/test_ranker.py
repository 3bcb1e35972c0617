"""`Ranker`: the loss trick and pairwise surrogates on one interface."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import clone

import concordant as cc
from concordant.estimators.ranker import SURROGATES
from concordant.outputs.pairwise import KINDS


def grades(n=60, items=5, holes=0.3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    scores = x @ rng.normal(size=(3, items)) + 0.3 * rng.normal(size=(n, items))
    out = np.clip(np.round(scores + 3), 1, 5)
    out[rng.uniform(size=out.shape) < holes] = np.nan
    return x, out


@pytest.mark.parametrize("normalize", [False, True])
def test_the_loss_trick_orders_best_under_its_weights(normalize):
    x, y = grades()
    loss = cc.losses.Rank(normalize)
    model = cc.Ranker(loss, C=2.0).fit(x[:50], y[:50])
    alpha = (x[50:] @ x[:50].T) @ np.linalg.inv(x[:50] @ x[:50].T + np.eye(50) / 2.0)
    orders = np.array(list(itertools.permutations(range(5))))
    values = alpha @ loss.table(orders, y[:50]).T
    found = (alpha * loss.table(model.predict(x[50:]), y[:50])).sum(axis=1)
    assert np.allclose(found, values.min(axis=1), atol=1e-8)
    assert model.decoder_.exact


def test_with_all_grades_it_is_a_sort_and_the_linear_surrogate():
    x, y = grades(holes=0.0, items=30)
    new = x[:10] + 0.1
    trick = cc.Ranker(C=2.0).fit(x, y)
    assert trick.decoder_.exact
    assert np.array_equal(
        trick.predict(new), cc.Ranker(None, "linear", C=2.0).fit(x, y).predict(new)
    )


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("items", [5, 20])
def test_every_surrogate_beats_chance_and_chooses_C(surrogate, items):
    x, y = grades(n=120, items=items)
    model = cc.Ranker(cc.losses.Rank(True), surrogate, cv=3, Cs=[0.01, 1.0]).fit(x[:80], y[:80])
    orders = model.predict(x[80:])
    assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(items), (40, 1)))
    assert -model.score(x[80:], y[80:]) < 0.25
    assert model.C_ in (0.01, 1.0)
    assert len(model.cv_results_["C"]) == 2
    assert model.consistency()
    if surrogate in KINDS:
        assert model.gap_ <= 1e-3 * model.objective_
        assert model.coef_.shape == (items, 3)


def test_weights_of_users_are_copies():
    x, y = grades()
    weight = np.random.default_rng(0).integers(0, 3, 60)
    rows = np.repeat(np.arange(60), weight)
    for surrogate in ("quadratic", "linear", "hinge", "logistic"):
        model = cc.Ranker(None, surrogate, C=0.5, tol=1e-6, max_iter=5000)
        a = clone(model).fit(x, y, sample_weight=weight).predict(x)
        b = clone(model).fit(x[rows], y[rows]).predict(x)
        assert np.mean(a == b) > 0.98  # up to ties of scores


def test_bad_input():
    x, y = grades()
    with pytest.raises(TypeError, match="a Ranker is for the loss Rank"):
        cc.Ranker("kendall").fit(x, y)
    with pytest.raises(ValueError, match="unknown surrogate 'svm'"):
        cc.Ranker(None, "svm").fit(x, y)
    with pytest.raises(ValueError, match="trains linear scores"):
        cc.Ranker(None, "hinge", kernel="rbf").fit(x, y)
    bad = y.copy()
    bad[1, 2] = np.inf
    with pytest.raises(ValueError, match="the grade of item 2 in row 1 is inf"):
        cc.Ranker().fit(x, bad)
    with pytest.raises(ValueError, match=r"y must have shape \(n, items\)"):
        cc.Ranker().fit(x, y[:, 0])
