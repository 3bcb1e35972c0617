"""Nodes and edges described by names, in sequences and graphs, against programs by hand."""

from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import concordant as cc
from concordant.features import CrfppTemplate
from tests.reference import solve_conic

COSTS = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 2.0], [3.0, 0.5, 0.0]])
LABELS = ["a", "b", "c"]
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB0:%x[-1,0]/%x[0,0]\nB1:%x[0,0]\nB"


def sentences() -> tuple[list[Any], list[list[str]]]:
    """Sentences whose tokens and steps have names."""
    template = CrfppTemplate(TEMPLATE)
    words = [["x", "y", "x"], ["y"], ["y", "x"], ["x", "x", "y"]]
    rows = [[(word,) for word in sentence] for sentence in words]
    X = [cc.Sequence(template(r), template.pairs(r)) for r in rows]
    return X, [["a", "b", "c"], ["b"], ["c", "a"], ["a", "a", "b"]]


def graphs() -> tuple[list[Any], list[list[str]]]:
    """The same for a triangle, a path, a single node and a pair linked both ways."""
    X = [
        cc.Graph(
            [{"size": 2.0}, {"kind": "p"}, {"kind": "q", "size": -1.0}], [(0, 1), (1, 2), (0, 2)],
            [["near"], ["far"], {"length": 0.5}],
        ),
        cc.Graph([["kind:p"], ["size"], {}], [(1, 0), (1, 2)], [["near", "far"], []]),
        cc.Graph([{"kind": "q"}], []),
        cc.Graph([{"kind": "q"}, {"kind": "p"}], [(0, 1), (1, 0)], [["near"], {"length": 2}]),
    ]  # fmt: skip
    return X, [["a", "b", "c"], ["b", "a", "a"], ["c"], ["b", "c"]]


def named(row: Any) -> dict[str, float]:
    """What a dictionary or list of strings says, for the values used here."""
    if not isinstance(row, dict):
        return {name: row.count(name) for name in row}
    return {k if not isinstance(v, str) else f"{k}:{v}": 1.0 if isinstance(v, str) else v
            for k, v in row.items()}  # fmt: skip


def parts(example: Any, labels: Any) -> dict[Any, float]:
    """The score of a labelling as a sum of weights: how often each is in it."""
    out: dict[Any, float] = {}

    def add(key: Any, value: float) -> None:
        out[key] = out.get(key, 0.0) + value

    for row, label in zip(example.nodes, labels):
        add(("intercept", label), 1.0)
        for name, value in named(row).items():
            add((name, label), value)
    steps = [(t, t + 1) for t in range(len(labels) - 1)]
    edges = example.edges if isinstance(example, cc.Graph) else steps
    for (i, j), row in zip(edges, example.edge_features or []):
        add(("table", labels[i], labels[j]), 1.0)
        for name, value in named(row).items():
            add((name, labels[i], labels[j]), value)
    return out


def optimum(
    X: list[Any], y: list[Any], route: str, seen: bool, intercept: bool, penalty: str = "l2",
    forbidden: Any = (),
) -> float:  # fmt: skip
    """The least objective, over listed labellings, by a conic solver."""
    import cvxpy as cp

    known = {key for example, labels in zip(X, y) for key in parts(example, labels)}
    listed = [list(product(LABELS, repeat=len(labels))) for labels in y]
    barred = {("table", *pair) for pair in forbidden}
    listed = [[one for one in ls if not barred & set(parts(x, one))] for x, ls in zip(X, listed)]
    keys = {key for x, every in zip(X, listed) for one in every for key in parts(x, one)}
    if seen:
        keys = {key for key in keys if key in known or key[0] in ("table", "intercept")}
    if not intercept:
        keys = {key for key in keys if key[0] != "intercept"}
    place = {key: i for i, key in enumerate(sorted(keys))}
    W = cp.Variable(len(place))
    penalised = [i for key, i in place.items() if key[0] != "intercept"]
    ridge, lasso = 0.5 * cp.sum_squares(W[penalised]), cp.norm1(W[penalised])
    total = {"l2": ridge, "l1": lasso, "elasticnet": 0.5 * ridge + 0.5 * lasso}[penalty]
    constraints = []
    for example, truth, every in zip(X, y, listed):
        counts = np.zeros((len(every), len(place)))
        for row, labels in zip(counts, every):
            for key, value in parts(example, labels).items():
                if key in place:
                    row[place[key]] = value
        f, right = counts @ W, every.index(tuple(truth))
        codes = np.array([[LABELS.index(label) for label in labels] for labels in every])
        actions = np.array(list(product(range(3), repeat=len(truth))))  # may be forbidden pairs
        L = COSTS[actions[:, None, :], codes[None, :, :]].sum(axis=2)
        prices = COSTS[codes, codes[right]].sum(axis=1)
        if route == "adversarial":
            p = cp.Variable(len(actions), nonneg=True)
            constraints.append(cp.sum(p) == 1)
            value = cp.max(f + L.T @ p)
        else:
            value = cp.log_sum_exp(f) if route == "log" else cp.max(f + prices)
        total += value - f[right]
    problem = cp.Problem(cp.Minimize(total), constraints)
    solve_conic(problem)
    return float(problem.value)


def model_of(X: list[Any], route: str, **more: Any) -> Any:
    labeler = cc.GraphLabeler if isinstance(X[0], cc.Graph) else cc.SequenceLabeler
    tol = {"log": 1e-5, "hinge": 1e-3, "adversarial": 1e-2}[route]
    return labeler(cc.losses.CostMatrix(COSTS), route, tol=tol, max_iter=3000, **more)


@pytest.mark.parametrize("route", ["log", "hinge", "adversarial"])
@pytest.mark.parametrize("data", [sentences, graphs])
@pytest.mark.parametrize("seen", [True, False])
def test_training_brackets_the_optimum(route: str, data: Any, seen: bool) -> None:
    X, y = data()
    intercept = data is graphs
    features = "seen" if seen else "all"
    model = model_of(X, route, features=features, fit_intercept=intercept).fit(X, y)
    best = optimum(X, y, route, seen, intercept)
    slack = 1e-6 * best
    assert model.gap_ <= model.tol * model.objective_
    assert model.objective_ - model.gap_ - slack <= best <= model.objective_ + slack


@pytest.mark.parametrize(
    ("route", "penalty"),
    [("log", "l1"), ("log", "elasticnet"), ("hinge", "l1"), ("adversarial", "elasticnet")],
)
def test_lassos_bracket_the_optimum(route: str, penalty: str) -> None:
    X, y = graphs()
    arguments: dict[str, Any] = {"fit_intercept": True, "penalty": penalty, "C": 1.0}
    model = cc.GraphLabeler(cc.losses.CostMatrix(COSTS), route, tol=3e-2, **arguments).fit(X, y)
    best = optimum(X, y, route, True, True, penalty)
    slack = 1e-6 * best
    assert model.gap_ <= model.tol * model.objective_
    assert model.objective_ - model.gap_ - slack <= best <= model.objective_ + slack


@pytest.mark.parametrize("route", ["log", "hinge", "adversarial"])
@pytest.mark.parametrize("data", [sentences, graphs])
def test_forbidden_pairs_and_intercepts_leave_the_bracket_right(route: str, data: Any) -> None:
    """A dual point may not be repaired by labellings that are forbidden."""
    X, y = data()
    forbidden = [("b", "b"), ("c", "c"), ("b", "a")] if data is sentences else [("c", "a")]
    model = model_of(X, route, fit_intercept=True, forbidden=forbidden, C=1.0).fit(X, y)
    best = optimum(X, y, route, True, True, forbidden=forbidden)
    assert model.gap_ <= model.tol * model.objective_
    assert model.objective_ - model.gap_ - 1e-6 <= best <= model.objective_ + 1e-6


def test_a_repair_by_forbidden_labellings_would_show() -> None:
    """Here it used to put the bound above the optimum, and the certificate broke."""
    rng = np.random.default_rng(0)
    edges: list[Any] = [[(0, 1), (1, 2), (1, 3)], [(0, 1), (1, 2), (0, 2)], [], [(0, 1), (2, 3)]]
    X = [cc.Graph(rng.normal(size=(n, 2)), e) for n, e in zip((4, 3, 1, 5), edges)]
    y = [list("abca"), list("abc"), ["a"], list("ababa")]
    for route in ("log", "hybrid", "hinge"):
        arguments: dict[str, Any] = {"surrogate": route, "forbidden": [("a", "a")], "C": 1.0}
        model = cc.GraphLabeler(tol=1e-4, max_iter=3000, **arguments).fit(X, y)
        for passes in (3, 9, 30):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                rough = cc.GraphLabeler(max_iter=passes, **arguments).fit(X, y)
            assert rough.objective_ - rough.gap_ <= model.objective_


@pytest.mark.parametrize("data", [sentences, graphs])
def test_answers_follow_from_the_weights_by_name(data: Any) -> None:
    X, y = data()
    model = model_of(X, "log", C=3.0).fit(X, y)
    node, edge = model.coef_.toarray(), model.edge_coef_.toarray()

    def weight(key: Any) -> float:
        codes = [LABELS.index(label) for label in key[1:]]
        if key[0] == "intercept":
            return model.intercept_[codes[0]]
        if key[0] == "table":
            return model.transitions_[*codes]
        if len(codes) == 1:
            return node[codes[0], model.vocabulary_[key[0]]]
        return edge[model.edge_vocabulary_[key[0]], 3 * codes[0] + codes[1]]

    for i, example in enumerate(X):
        every = list(product(LABELS, repeat=len(y[i])))
        scores = np.array(
            [sum(v * weight(k) for k, v in parts(example, one).items()) for one in every]
        )
        share = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        np.testing.assert_allclose(
            model.predict_proba([example] * len(every), every), share, atol=1e-9
        )
        best = model.predict_best([example], 2)[0]
        np.testing.assert_allclose([v for _, v in best], -np.sort(-scores)[: len(best)])


def test_weights_are_those_of_pairs_seen_in_training() -> None:
    X, y = sentences()
    model = model_of(X, "log").fit(X, y)
    seen = {key for x, labels in zip(X, y) for key in parts(x, labels)}
    assert model.coef_.nnz == sum(len(key) == 2 and key[0] != "intercept" for key in seen)
    assert model.edge_coef_.nnz == sum(len(key) == 3 and key[0] != "table" for key in seen)
    assert model.edge_coef_.shape == (len(model.edge_vocabulary_), 9)
    everything = model_of(X, "log", features="all").fit(X, y)
    assert everything.edge_coef_.shape == (len(model.edge_vocabulary_), 3, 3)
    assert everything.coef_.shape == model.coef_.shape
    assert np.count_nonzero(everything.edge_coef_) > model.edge_coef_.nnz


def test_transitions_learn_from_strings() -> None:
    """The label flips where the step says so, and tokens say nothing."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(30):
        flips = rng.random(5) < 0.5
        X.append(cc.Sequence([["token"]] * 6, [["flip"] if f else ["stay"] for f in flips]))
        y.append((np.concatenate([[0], np.cumsum(flips)]) % 2).tolist())
    model = cc.SequenceLabeler(surrogate="log", C=10.0).fit(X[:20], y[:20])
    fixed = [[0, *[None] * 5]] * 10
    assert all(np.array_equal(a, b) for a, b in zip(model.predict(X[20:], fixed=fixed), y[20:]))


@pytest.mark.parametrize("route", ["log", "adversarial"])
def test_unknown_labels_and_names(route: str) -> None:
    X, y = graphs()
    model = model_of(X, route).fit(X, [["a", None, "c"], *y[1:]])
    odd = cc.Graph([{"new": 1.0}, ["kind:p"]], [(0, 1)], [["odd"]])
    assert len(model.predict([odd, cc.Graph([{}], [])])[0]) == 2


def test_numbers_and_names_may_be_mixed() -> None:
    """Names at tokens with numbers at steps, and the other way round."""
    X, y = sentences()
    rng = np.random.default_rng(1)
    steps = [rng.normal(size=(len(x.nodes) - 1, 2)) for x in X]
    one = [cc.Sequence(x.nodes, step) for x, step in zip(X, steps)]
    model = cc.SequenceLabeler(surrogate="log").fit(one, y)
    assert model.edge_coef_.shape == (2, 3, 3)
    assert not hasattr(model, "transitions_")
    two = [cc.Sequence(rng.normal(size=(len(x.nodes), 4)), x.edge_features) for x in X]
    model = cc.SequenceLabeler(surrogate="hinge").fit(two, y)
    assert model.coef_.shape == (3, 4)
    assert len(model.predict(two)) == 4


def test_files_keep_names_of_edges(tmp_path: Path) -> None:
    X, y = graphs()
    model = model_of(X, "log").fit(X, y)
    cc.save(model, tmp_path / "model.cc")
    again = cc.load(tmp_path / "model.cc")
    assert again.edge_vocabulary_ == model.edge_vocabulary_
    for a, b in zip(model.predict_marginals(X), again.predict_marginals(X)):
        np.testing.assert_array_equal(a, b)


BAD: dict[str, tuple[Any, str]] = {
    "value": (cc.Graph([{"a": np.nan}], []), "graph 1, node 0: feature 'a' is nan"),
    "kind": (cc.Graph([{"a": object()}], []), "graph 1, node 0: feature 'a' has the value"),
    "edge value": (
        cc.Graph([["a"]] * 2, [(0, 1)], [{"a": np.inf}]), "graph 1, edge 0: feature 'a' is inf",
    ),
    "edge rows": (cc.Graph([["a"]] * 2, [(0, 1)], [["a"], ["b"]]), "1 edges, but 2 rows of"),
    "numbers": (cc.Graph(np.ones((2, 3)), [(0, 1)], [["a"]]), "graph 1, node 0: feature"),
    "no edges": (cc.Graph([["a"]] * 2, [(0, 1)]), "graph 1 has edges without features, graph 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_names_are_named(name: str) -> None:
    bad, words = BAD[name]
    good = cc.Graph([["a"], {"b": 1}], [(0, 1)], [["near"]])
    labels = [["x", "y"], ["x", "y"][: len(bad.nodes)]]
    with pytest.raises((TypeError, ValueError), match=words):
        cc.GraphLabeler(surrogate="log").fit([good, bad], labels)
