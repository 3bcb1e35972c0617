"""`mean_loss` against plain Python, and scorers that price by what the scored model knows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import concordant as cc
from concordant.metrics import make_scorer, mean_loss

GRADES = ["a", "b", "c", "d"]
PRICES = [[0.0, 2.0, 5.0, 9.0], [1.0, 0.0, 3.0, 7.0], [4.0, 1.0, 0.0, 3.0], [9.0, 6.0, 2.0, 0.0]]
TRIAGE = [[0.0, 9.0, 9.0, 9.0], [3.0, 3.0, 3.0, 3.0]]
#: loss, its actions, and the price of (action, truth) in plain Python.
LOSSES = {
    "zero_one": ("zero_one", GRADES, lambda a, t: float(a != t)),
    "absolute": ("absolute", GRADES, lambda a, t: abs(GRADES.index(a) - GRADES.index(t))),
    "squared": ("squared", GRADES, lambda a, t: (GRADES.index(a) - GRADES.index(t)) ** 2),
    "abstain": (
        cc.losses.Abstain(cost=0.3),
        [*GRADES, "abstain"],
        lambda a, t: 0.3 if a == "abstain" else float(a != t),
    ),
    "costs": (
        cc.losses.CostMatrix(PRICES, labels=GRADES),
        GRADES,
        lambda a, t: PRICES[GRADES.index(a)][GRADES.index(t)],
    ),
    "shuffled costs": (
        cc.losses.CostMatrix(np.array(PRICES)[::-1, ::-1], labels=GRADES[::-1]),
        GRADES,
        lambda a, t: PRICES[GRADES.index(a)][GRADES.index(t)],
    ),
    "other actions": (
        cc.losses.CostMatrix(TRIAGE, actions=["rest", "test"], labels=GRADES),
        ["rest", "test"],
        lambda a, t: TRIAGE[["rest", "test"].index(a)][GRADES.index(t)],
    ),
}


@st.composite
def answers(draw):
    """A loss, true labels, actions and perhaps weights."""
    name = draw(st.sampled_from(list(LOSSES)))
    n = draw(st.integers(1, 12))
    truth = draw(st.lists(st.sampled_from(GRADES), min_size=n, max_size=n))
    action = draw(st.lists(st.sampled_from(LOSSES[name][1]), min_size=n, max_size=n))
    weight = draw(st.none() | st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(any))
    return name, truth, action, weight


@settings(max_examples=120, deadline=None, derandomize=True)
@given(answers())
def test_mean_loss_is_the_mean_of_the_prices(case):
    name, truth, action, weight = case
    loss, _, price = LOSSES[name]
    each = [price(a, t) for a, t in zip(action, truth, strict=True)]
    expected = np.average(each, weights=weight)
    ours = mean_loss(truth, action, loss, labels=GRADES, sample_weight=weight)
    assert ours == pytest.approx(expected, abs=1e-12)
    # order means nothing, and a weight is a number of copies
    n = len(truth)
    backwards = None if weight is None else weight[::-1]
    again = mean_loss(truth[::-1], action[::-1], loss, labels=GRADES, sample_weight=backwards)
    assert again == pytest.approx(ours, abs=1e-12)
    copies = np.repeat(np.arange(n), 1 if weight is None else weight)
    copied = mean_loss([truth[i] for i in copies], [action[i] for i in copies], loss, labels=GRADES)
    assert copied == pytest.approx(ours, abs=1e-12)
    # without `labels` a loss that names them, or does not ask for an order, is the same
    if name not in ("absolute", "squared"):
        assert mean_loss(truth, action, loss, sample_weight=weight) == ours


def test_ranks_come_from_all_labels_in_their_order():
    assert mean_loss([1, 3], [3, 1], "absolute") == 1.0  # among 1 and 3
    assert mean_loss([1, 3], [3, 1], "absolute", labels=[1, 2, 3]) == 2.0
    assert mean_loss([1, 3], [3, 1], "squared", labels=[1, 2, 3]) == 4.0
    order = ["poor", "fair", "good"]
    assert mean_loss(["poor"], ["good"], "absolute", labels=order) == 2.0
    assert mean_loss(["poor"], ["fair"], "absolute", labels=order) == 1.0


def test_what_an_action_may_be():
    assert mean_loss([0, 1, 2], [0, -1, -1], cc.losses.Abstain(cost=0.4)) == pytest.approx(0.8 / 3)
    assert mean_loss([0.0, 1.0], [np.nan, 1.0], cc.losses.Abstain(cost=0.4)) == 0.2
    assert mean_loss(["a", "b"], ["z", "b"]) == 0.5  # a label that never was true
    numbered = cc.losses.CostMatrix([[0.0, 5.0], [2.0, 2.0], [7.0, 0.0]])
    assert mean_loss(["ill", "well"], [2, 1], numbered) == 4.5
    frame = pd.DataFrame(TRIAGE, index=["rest", "test"], columns=GRADES)
    loss = cc.losses.CostMatrix(frame)
    assert mean_loss(pd.Series(["a", "d"]), pd.Series(["test", "rest"]), loss) == 6.0


@pytest.mark.parametrize(
    ("truth", "action", "given", "message"),
    [
        ([0, 1], [0], {}, "y_true has 2 rows, action has 1"),
        ([], [], {}, "no predictions to score"),
        ([[0], [1]], [0, 1], {}, r"y_true must be 1-D, got shape \(2, 1\)"),
        ([0, 1], [[0], [1]], {}, r"action must be 1-D"),
        ([0, None], [0, 1], {}, "row 1 has None"),
        ([0.0, np.nan], [0.0, 1.0], {}, "first in row 1"),
        ([0, 1], [0, "a"], {}, "row 1: 'a' is not a known action; known are 0, 1"),
        ([0, 5], [0, 0], {"labels": [0, 1]}, "row 1: 5 is not a known label; known are 0, 1"),
        ([0, 1], [0, 5], {"labels": [0, 1]}, "row 1: 5 is not a known action"),
        ([0, 1], [0, 1], {"labels": [0, 1, 0]}, "twice"),
        ([0, 1], [0, 1], {"sample_weight": [1]}, r"sample_weight must be 1D.*got \(1,\)"),
        ([0, 1], [0, 1], {"sample_weight": [1, -1]}, "row 1 has -1.0"),
        ([0, 1], [0, 1], {"sample_weight": [0, 0]}, "zero for every example"),
        ([0, 1], [0, 1], {"loss": "absolut"}, "unknown loss 'absolut'"),
        (["a", "z"], ["a", "a"], {"loss": LOSSES["costs"][0]}, "row 1: 'z' is not a known label"),
    ],
)
def test_what_cannot_be_scored(truth, action, given, message):
    with pytest.raises(ValueError, match=message):
        mean_loss(truth, action, **given)


def test_a_loss_is_a_name_or_an_object():
    for bad in (None, np.eye(2), cc.losses.Absolute):
        with pytest.raises(TypeError, match="loss must be a name or a concordant loss"):
            mean_loss([0, 1], [0, 1], bad)
        with pytest.raises(TypeError, match="loss must be a name or a concordant loss"):
            make_scorer(bad)


# --- scorers ---------------------------------------------------------------------------------


def data(n=80):
    X, y = make_blobs(n, n_features=3, centers=4, cluster_std=4.0, random_state=0)
    return X / 4.0, y


def models():
    return {
        "ours": cc.Classifier("absolute", random_state=0),
        "in a pipeline": make_pipeline(StandardScaler(), cc.Classifier("absolute")),
        "scikit-learn's": LogisticRegression(),
    }


@pytest.mark.parametrize("kind", ["ours", "in a pipeline", "scikit-learn's"])
def test_a_fold_without_a_grade_is_priced_by_the_grades_of_the_model(kind):
    """From 0 to 3 it is three steps, whether or not somebody has a 1 or a 2 in this fold."""
    X, y = data()
    model = models()[kind].fit(X, y)
    predicted = model.predict(X)
    rows = predicted == 3
    assert rows.any()
    for loss, expected in (("absolute", -3.0), ("squared", -9.0), ("zero_one", -1.0)):
        assert make_scorer(loss)(model, X[rows], 0 * y[rows]) == expected


def test_scores_of_folds_are_minus_the_mean_loss():
    X, y = data()
    order = np.argsort(y, kind="stable")  # unshuffled folds lack classes, on both sides
    X, y = X[order], y[order]
    costs = cc.losses.CostMatrix(PRICES, labels=range(4))
    prices = {
        "zero_one": ("zero_one", lambda a, t: a != t),
        "costs": (costs, lambda a, t: np.array(PRICES)[a, t]),
        "abstain": (cc.losses.Abstain(0.2), lambda a, t: np.where(a < 0, 0.2, a != t)),
    }
    for loss, price in prices.values():
        model, cv = cc.Classifier(loss, random_state=0, tol=1e-2), KFold(4)
        scores = cross_val_score(model, X, y, cv=cv, scoring=make_scorer(loss), error_score="raise")
        for (train, test), score in zip(cv.split(X), scores, strict=True):
            action = clone(model).fit(X[train], y[train]).predict(X[test])
            assert score == pytest.approx(-np.mean(price(action, y[test])))
        assert (scores < 0).any()


def test_models_that_know_no_classes_are_scored_by_what_is_seen():
    X, y = data()

    class Rounded(Ridge):
        def predict(self, X):
            return np.clip(np.rint(super().predict(X)), 0, 3).astype(int)

    model = Rounded().fit(X, y)
    action = model.predict(X)
    assert len({*action, *y}) == 4
    score = make_scorer("absolute")(model, X, y)
    assert score == pytest.approx(-np.mean(np.abs(action - y)))
    rows = np.isin(y, [0, 3]) & np.isin(action, [0, 3])
    for labels in ([0, 1, 2, 3], [0, 3]):
        scorer = make_scorer("absolute", labels=labels)
        steps = np.abs(np.searchsorted(labels, action) - np.searchsorted(labels, y))[rows]
        if rows.any():
            assert scorer(model, X[rows], y[rows]) == pytest.approx(-steps.mean())


def test_grades_in_the_order_that_the_model_learned():
    X, y = data()
    names = ["poor", "fair", "good", "best"]
    grades = pd.Series(pd.Categorical.from_codes(y, names, ordered=True))
    model = cc.Classifier("absolute", random_state=0).fit(X, grades)
    rows = np.isin(y, [0, 3])
    predicted = np.array([names.index(g) for g in model.predict(X[rows])])
    expected = -np.mean(np.abs(predicted - y[rows]))
    truth = np.array(names)[y[rows]]
    assert make_scorer("absolute")(model, X[rows], truth) == pytest.approx(expected)
    assert 1 + expected / 3 == pytest.approx(model.score(X[rows], truth))


def test_larger_is_better_in_a_search():
    X, y = data()
    search = GridSearchCV(
        cc.Classifier("absolute", tol=1e-2), {"C": [1e-6, 0.1]}, cv=3,
        scoring=make_scorer("absolute"),
    ).fit(X, y)  # fmt: skip
    assert search.best_params_ == {"C": 0.1}
    assert (search.cv_results_["mean_test_score"] < 0).all()
    expected = -mean_loss(y, search.predict(X), "absolute", labels=range(4))
    assert search.score(X, y) == pytest.approx(expected)


def test_weights_reach_a_scorer():
    X, y = data()
    weight = np.random.default_rng(0).integers(0, 5, 80).astype(float)
    model = cc.Classifier("absolute", random_state=0, tol=1e-2)
    scorer = make_scorer("absolute")
    fitted = model.fit(X, y)
    expected = -np.average(np.abs(fitted.predict(X) - y), weights=weight)
    assert scorer(fitted, X, y, sample_weight=weight) == pytest.approx(expected)
    assert scorer(fitted, X, y) != pytest.approx(expected)
    with sklearn.config_context(enable_metadata_routing=True):
        out = cross_validate(
            clone(model).set_fit_request(sample_weight=True, loss_weight=False), X, y, cv=KFold(2),
            scoring=scorer.set_score_request(sample_weight=True),
            params={"sample_weight": weight}, return_estimator=True,
        )  # fmt: skip
    for (_, test), each, score in zip(
        KFold(2).split(X), out["estimator"], out["test_score"], strict=True
    ):
        distance = np.abs(each.predict(X[test]) - y[test])
        assert score == pytest.approx(-np.average(distance, weights=weight[test]))


def test_scorers_are_pickled_and_shown():
    import pickle

    X, y = data()
    model = cc.Classifier(tol=1e-2).fit(X, y)
    scorer = make_scorer(cc.losses.Abstain(cost=0.3))
    twin = pickle.loads(pickle.dumps(scorer))
    assert twin(model, X, y) == scorer(model, X, y)
    assert "mean_loss" in repr(scorer)
