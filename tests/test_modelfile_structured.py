"""Model files of estimators whose answers are no plain labels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import concordant as cc
from concordant.io import registry

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
HISTOGRAMS = RNG.dirichlet(np.ones(4), 30)
REALS = X[:, 0] + 0.1 * RNG.normal(size=30)
SETS = (RNG.random((30, 4)) > 0.5).astype(int)
TEXTS = ["".join(RNG.choice(list("abc"), 3)) for _ in range(30)]
ORDERS = np.array([RNG.permutation(4) for _ in range(30)])
GRADES = np.where(RNG.random((30, 5)) > 0.3, RNG.integers(1, 6, (30, 5)), np.nan)
L, F = cc.losses, cc.LossTrickPredictor


def bags(n=20):
    found = []
    for i in range(n):
        features = RNG.normal(size=(2 + i % 3, 3))
        features[0, i % 2] += 3
        corner = RNG.random((len(features), 2)) * 10
        found.append(cc.Bag(features, np.hstack([corner, corner + 5])))
    return found, ["ab"[i % 2] for i in range(n)]


WORDS = [[[f"w:{label}", "bias"] for label in labels] for labels in (list("abc"), list("ba"))] * 4
TAGS = [["N", "V", "N"], ["V", "N"]] * 4
GRAPHS = [cc.Graph(RNG.normal(size=(3, 2)), [[0, 1], [1, 2]]) for _ in range(6)]
PAIRS = cc.datasets.make_pairs(6, 3, random_state=0)
CHAINS = cc.datasets.make_chains(12, 3, random_state=0)

CASES = {
    "histograms": lambda: (F(L.Hellinger()), X, HISTOGRAMS),
    "histograms, sum": lambda: (F(L.Hellinger(form="sum")), X, HISTOGRAMS),
    "histograms, chi": lambda: (F(L.ChiSquared()), X, HISTOGRAMS),
    "histograms, KL": lambda: (F(L.KullbackLeibler()), X, HISTOGRAMS),
    "histograms, kernel": lambda: (F(L.KernelInduced("rbf")), X, HISTOGRAMS),
    "reals": lambda: (F(), X, REALS),
    "reals, absolute": lambda: (F("absolute"), X, REALS),
    "reals, robust": lambda: (F(L.Cauchy(), kernel="rbf"), X, REALS),
    "reals, Nystroem": lambda: (
        F(L.Huber(), kernel="rbf", n_components=9, random_state=0), X, REALS,
    ),
    "reals, chosen": lambda: (F(L.Pinball(), kernel="rbf", cv=2), X, REALS),
    "texts": lambda: (F(L.EditDistance()), X, TEXTS),
    "sets": lambda: (F(L.Hamming()), X, SETS),
    "sets, Jaccard": lambda: (F(L.Jaccard()), X, SETS),
    "orders": lambda: (F(L.Kendall()), X, ORDERS),
    "dependency": lambda: (cc.KernelDependencyEstimator(), X, HISTOGRAMS),
    "neighbours": lambda: (cc.NadarayaWatson(loss=L.Cauchy()), X, REALS),
    "ranking": lambda: (cc.Ranker(), X, GRADES),
    "ranking, hinge": lambda: (cc.Ranker(surrogate="hinge"), X, GRADES),
    "sequences": lambda: (cc.SequenceLabeler(tol=1e-2), *CHAINS),
    "sequences, log": lambda: (cc.SequenceLabeler("absolute", "log"), *CHAINS),
    "sequences, hinge": lambda: (cc.SequenceLabeler(surrogate="hinge", tol=1e-2), *CHAINS),
    "sequences, names": lambda: (cc.SequenceLabeler(surrogate="log"), WORDS, TAGS),
    "graphs": lambda: (cc.GraphLabeler(tol=1e-2), GRAPHS, [[0, 1, 1], [1, 0, 0]] * 3),
    "matching": lambda: (cc.Matcher(), *PAIRS),
    "matching, smooth": lambda: (cc.Matcher(mu=0.1), *PAIRS),
    "matching, log": lambda: (cc.Matcher(surrogate="log"), *PAIRS),
    "weak": lambda: (cc.LatentClassifier(L.Overlap(), random_state=0), *bags()),
    "weak, SVM": lambda: (cc.LatentClassifier(surrogate="latent_svm"), *bags()),
    "weak, log": lambda: (cc.LatentClassifier(surrogate="latent_log"), *bags()),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_answers_come_back_to_the_bit(name, tmp_path):
    model, x, y = CASES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, y)
    again = cc.load(cc.save(model, tmp_path / "model"))
    assert type(again) is type(model)
    cc.save(again, tmp_path / "again")  # before anything is cached by a prediction
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
    for ours, theirs in zip(model.predict(x), again.predict(x)):
        np.testing.assert_array_equal(ours, theirs)
    for method in ("predict_marginals", "predict_latent"):
        if hasattr(model, method):
            for ours, theirs in zip(getattr(model, method)(x), getattr(again, method)(x)):
                np.testing.assert_array_equal(ours, theirs)


def test_every_public_estimator_is_here_or_among_the_labels():
    public = {
        name
        for name in cc.__all__
        if isinstance(item := getattr(cc, name), type) and issubclass(item, BaseEstimator)
    }
    here = {type(case()[0]).__name__ for case in CASES.values()}
    assert public <= here | {"Classifier", "OrdinalClassifier"}
    assert public <= set(registry.KEYS)
