"""`Classifier` among other tools: frames, pipelines, folds, and what it says of itself."""

from __future__ import annotations

import re
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import concordant as cc
from concordant.surrogates import ALIASES, SURROGATES

LABELS = np.array(["ash", "birch", "cedar"])
NAMES = ["height", "width", "age"]


@cache
def data(n=90):
    X, y = make_blobs(n, n_features=3, centers=3, cluster_std=4.0, random_state=0)
    return X / 4.0, LABELS[y]


def weights(n=90):
    rng = np.random.default_rng(1)
    return rng.integers(1, 4, n).astype(float), rng.uniform(0.2, 2.0, n)


# --- frames ----------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_train_and_predict_like_arrays_and_keep_their_names(frame):
    X, y = data()
    table = frame(dict(zip(NAMES, X.T, strict=True)))
    series = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    model = cc.Classifier(random_state=0).fit(table, series)
    plain = cc.Classifier(random_state=0).fit(X, y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.predict(table).tolist() == plain.predict(X).tolist()
    assert model.score(table, series) == plain.score(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[NAMES[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[NAMES[:2]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


def test_arrays_and_numbered_columns_have_no_names():
    X, y = data()
    assert not hasattr(cc.Classifier().fit(X, y), "feature_names_in_")
    assert not hasattr(cc.Classifier().fit(pd.DataFrame(X), y), "feature_names_in_")


def test_the_index_of_a_frame_means_nothing():
    X, y = data()
    shuffled = np.random.default_rng(0).permutation(len(y))
    model = cc.Classifier(random_state=0).fit(
        pd.DataFrame(X, index=shuffled, columns=NAMES),
        pd.Series(y, index=shuffled[::-1]),
        sample_weight=pd.Series(np.ones(90), index=shuffled),
    )
    np.testing.assert_array_equal(model.coef_, cc.Classifier(random_state=0).fit(X, y).coef_)


def test_a_price_list_as_a_frame_with_and_without_names():
    X, y = data()
    prices = [[0.0, 2.0, 5.0], [1.0, 0.0, 3.0], [4.0, 1.0, 0.0]]
    expected = cc.Classifier(cc.losses.CostMatrix(prices), random_state=0).fit(X, y)
    named = pd.DataFrame(prices, index=LABELS, columns=LABELS)
    for table in (named, named.loc[LABELS[::-1], LABELS[::-1]], named.set_axis(range(3))):
        model = cc.Classifier(cc.losses.CostMatrix(table), random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        assert model.actions_.tolist() == LABELS.tolist()


def test_ordered_categories_give_the_ranks():
    X, y = data()
    grades = np.array(["poor", "fair", "good"])[np.searchsorted(LABELS, y)]
    column = pd.Series(pd.Categorical(grades, ["poor", "fair", "good"], ordered=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = cc.Classifier("absolute", random_state=0).fit(X, column)
        cc.Classifier("zero_one").fit(X, grades)
    by_number = cc.Classifier("absolute", random_state=0).fit(X, np.searchsorted(LABELS, y))
    names = ["poor", "fair", "good"]
    assert [names[i] for i in by_number.predict(X)] == model.predict(X).tolist()
    assert model.objective_ == pytest.approx(by_number.objective_, rel=1e-9)
    assert model.score(X, column) == by_number.score(X, np.searchsorted(LABELS, y))
    with pytest.warns(UserWarning, match="alphabetical"):
        cc.Classifier("absolute").fit(X, grades)


# --- pipelines and searches ------------------------------------------------------------------


def routed():
    return cc.Classifier(random_state=0).set_fit_request(sample_weight=True, loss_weight=True)


def test_weights_are_routed_through_a_pipeline():
    X, y = data()
    sample, inside = weights()
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), routed())
        pipe.fit(X, y, sample_weight=sample, loss_weight=inside)
    Z = StandardScaler().fit_transform(X)
    direct = cc.Classifier(random_state=0).fit(Z, y, sample_weight=sample, loss_weight=inside)
    np.testing.assert_array_equal(pipe[-1].coef_, direct.coef_)
    plain = cc.Classifier(random_state=0).fit(Z, y)
    assert np.abs(direct.coef_ - plain.coef_).max() > 1e-3
    only = cc.Classifier(random_state=0).fit(Z, y, sample_weight=sample)
    assert np.abs(direct.coef_ - only.coef_).max() > 1e-3


def test_weights_are_routed_through_a_search_and_into_its_scores():
    X, y = data()
    sample, inside = weights()
    with sklearn.config_context(enable_metadata_routing=True):
        model = routed().set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"C": [0.01, 1.0]}, cv=KFold(3))
        search.fit(X, y, sample_weight=sample, loss_weight=inside)
        scored = search.score(X, y, sample_weight=sample)
    best = clone(model).set_params(**search.best_params_)
    best.fit(X, y, sample_weight=sample, loss_weight=inside)
    np.testing.assert_array_equal(search.best_estimator_.coef_, best.coef_)
    assert scored == best.score(X, y, sample_weight=sample)
    assert scored != best.score(X, y)
    train, test = next(KFold(3).split(X))
    first = clone(model).set_params(C=0.01)
    first.fit(X[train], y[train], sample_weight=sample[train], loss_weight=inside[train])
    expected = first.score(X[test], y[test], sample_weight=sample[test])
    assert search.cv_results_["split0_test_score"][0] == expected


def test_weights_are_routed_through_cross_validation():
    X, y = data()
    sample, inside = weights()
    with sklearn.config_context(enable_metadata_routing=True):
        out = cross_validate(
            routed().set_score_request(sample_weight=True), X, y, cv=KFold(3),
            params={"sample_weight": sample, "loss_weight": inside}, return_estimator=True,
        )  # fmt: skip
    folds = KFold(3).split(X)
    for (train, test), model, score in zip(folds, out["estimator"], out["test_score"], strict=True):
        direct = cc.Classifier(random_state=0)
        direct.fit(X[train], y[train], sample_weight=sample[train], loss_weight=inside[train])
        np.testing.assert_array_equal(model.coef_, direct.coef_)
        assert score == direct.score(X[test], y[test], sample_weight=sample[test])


def test_weights_that_were_not_asked_for_are_refused():
    X, y = data()
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), cc.Classifier())
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="loss_weight"):
            pipe.fit(X, y, loss_weight=np.ones(90))


def test_losses_and_routes_are_searched_like_numbers():
    X, y = data()
    pipe = make_pipeline(StandardScaler(), cc.Classifier(cc.losses.Abstain(cost=0.3), tol=1e-3))
    grid = {
        "classifier__surrogate": ["log", cc.surrogates.Hybrid(0.3)],
        "classifier__loss__cost": [0.1, 0.4],
    }
    search = GridSearchCV(pipe, grid, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_[-1].loss.cost == search.best_params_["classifier__loss__cost"]
    assert pipe[-1].loss.cost == 0.3


def test_clones_are_unfitted_twins():
    model = cc.Classifier(cc.losses.Abstain(cost=0.2), cc.surrogates.Hybrid(0.3), C=3.0)
    model.fit(*data())
    twin = clone(model)
    assert repr(twin) == repr(model)
    assert not [name for name in vars(twin) if name.endswith("_")]
    for ask in (twin.predict, twin.decision_function, twin.predict_proba):
        with pytest.raises(NotFittedError):
            ask(data()[0])
    with pytest.raises(NotFittedError):
        twin.consistency()
    with pytest.raises(NotFittedError):
        cc.Classifier().strategy(data()[0])


# --- labels that a fold lacks ----------------------------------------------------------------

PRICES = cc.losses.CostMatrix(
    [[0.0, 2.0, 5.0, 9.0], [1.0, 0.0, 3.0, 7.0], [4.0, 1.0, 0.0, 3.0], [9.0, 6.0, 2.0, 0.0]],
    labels=[*LABELS, "yew"],
)


@pytest.mark.parametrize("route", ["adversarial", "log", "hinge", "quadratic"])
def test_a_named_price_list_allows_classes_that_training_lacks(route):
    X, y = data()
    model = cc.Classifier(PRICES, route).fit(X, y)  # there is no yew
    assert model.classes_.tolist() == LABELS.tolist()
    assert set(model.actions_.tolist()) == {*LABELS, "yew"}
    y_new = np.where(np.arange(90) % 3 == 0, "yew", y)
    names = [*LABELS, "yew"]
    costs = PRICES.matrix(4)
    each = [costs[names.index(a), names.index(t)] for a, t in zip(model.predict(X), y_new)]
    assert model.score(X, y_new) == pytest.approx(1 - np.mean(each) / 9.0)


def test_folds_without_a_class_are_trained_and_priced():
    X, y = data()
    y = np.where(np.arange(90) < 4, "yew", y)  # the first model does not know what it is tested on
    model, cv = cc.Classifier(PRICES, random_state=0), KFold(3)
    scores = cross_validate(
        model, X, y, cv=cv, error_score="raise",
        scoring={"own": cc.metrics.make_scorer(PRICES), "score": "accuracy"},
    )["test_own"]  # fmt: skip
    names, costs = [*LABELS, "yew"], PRICES.matrix(4)
    for (train, test), score in zip(cv.split(X), scores, strict=True):
        predicted = clone(model).fit(X[train], y[train]).predict(X[test])
        each = [costs[names.index(a), names.index(t)] for a, t in zip(predicted, y[test])]
        assert score == pytest.approx(-np.mean(each))
    with pytest.raises(ValueError, match=r"4 columns, but there are 3 classes.*labels="):
        cc.Classifier(cc.losses.CostMatrix(PRICES.matrix(4))).fit(X, data()[1])


# --- what it says of itself ------------------------------------------------------------------


def test_the_picture_in_a_notebook_shows_the_parameters():
    model = cc.Classifier(cc.losses.Abstain(cost=0.25), "log", C=7.0)
    for text in (model._repr_html_(), model.fit(*data())._repr_html_()):
        assert "<style>" in text
        for shown in ("Classifier", "Abstain", "0.25", "log", "7.0"):
            assert shown in text
    assert "Fitted" in text
    assert repr(model) == "Classifier(C=7.0, loss=Abstain(cost=0.25), surrogate='log')"


ROUTES = [*SURROGATES, *ALIASES]
LOSSES = {
    "zero_one": "zero_one",
    "absolute": "absolute",
    "abstain": cc.losses.Abstain(cost=0.3),
    "odd costs": cc.losses.CostMatrix([[2.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]),
}
#: What the theorems say of a route under a loss with three labels; the others are not consistent.
CONSISTENT = {
    "log": {"zero_one", "absolute", "abstain", "odd costs"},
    "quadratic": {"zero_one", "absolute", "abstain", "odd costs"},
    "adversarial": {"zero_one", "absolute", "abstain"},
    "lee_lin_wahba": {"zero_one", "absolute"},
}
UNDER_A_CONDITION = {("hinge", "zero_one"), ("one_vs_rest", "zero_one"), ("hybrid", "zero_one")}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("route", ["log", "quadratic", "adversarial", "lee_lin_wahba", "hinge",
                                   "weston_watkins", "one_vs_rest", "hybrid"])  # fmt: skip
def test_consistency_says_what_is_proved(route, loss):
    X, y = data()
    model = cc.Classifier(LOSSES[loss], route, tol=1e-2).fit(X, np.searchsorted(LABELS, y))
    sentence = model.consistency()
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    if loss in CONSISTENT.get(route, ()):
        assert sentence.startswith("Consistent")
        assert "only" not in sentence
    elif (route, loss) in UNDER_A_CONDITION:
        assert re.search(r"only where|where the top label", sentence)
    elif (route, loss) == ("lee_lin_wahba", "abstain"):
        assert "never chosen" in sentence
    else:
        assert re.search(r"[Nn]ot (consistent|covered)|covers 0-1 loss only", sentence)


@pytest.mark.parametrize("alpha", [0.2, 0.8])
def test_the_hybrid_estimates_how_much_has_no_majority_with_weights(alpha):
    X, y = make_blobs(90, n_features=2, centers=5, cluster_std=6.0, random_state=3)
    X = X / 6.0
    copies = np.random.default_rng(5).integers(1, 6, 90)
    model = cc.Classifier(surrogate=cc.surrogates.Hybrid(alpha), C=0.1)
    sentence = model.fit(X, y, sample_weight=copies).consistency()
    assert f"alpha is {alpha:g}" in sentence
    proba = -np.sort(-model.predict_proba(X), axis=1)
    open_ = proba[:, 0] < 0.5
    assert 0 < open_.sum() < 90
    assert f"{np.average(open_, weights=copies):.1%} of the examples" in sentence
    # over t labels that begin to tie, the largest alpha asked for
    asked = np.zeros(90)
    for t in range(2, 6):
        outside = 1.0 - proba[:, :t].sum(axis=1)
        at_t = (1 - 2 * proba[:, 0] - outside / t) / (1 - proba[:, 0] - 1 / t)
        asked = np.maximum(asked, at_t)
    met = np.average(asked[open_] < alpha, weights=copies[open_])
    assert f"holds on {met:.1%} of those" in sentence
    # a weight of k is k copies, in every number of the sentence
    assert model.consistency(np.repeat(X, copies, axis=0)) == sentence
    assert model.consistency(X[:20]) != sentence
