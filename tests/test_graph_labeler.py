"""The labeller of graphs: optima, decisions, constraints, and what it says about bad input."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import concordant as cc
from concordant.checks import check_structured_estimator
from tests.reference import solve_conic

Array = np.ndarray
TRIANGLE = [(0, 1), (2, 1), (0, 2)]
COSTS = np.array([[0.0, 3.0, 1.0], [1.0, 0.0, 2.0], [2.0, 0.5, 0.0]])


def small_graphs(seed: int = 0, k: int = 3) -> tuple[list[Any], list[Array]]:
    """A triangle, a path, a single node and a pair linked both ways, with edge features."""
    rng = np.random.default_rng(seed)
    shapes: list[tuple[int, list[tuple[int, int]]]] = [
        (3, TRIANGLE), (3, [(1, 0), (1, 2)]), (1, []), (2, [(0, 1), (1, 0)]),
    ]  # fmt: skip
    X, y = [], []
    for n, edges in shapes:
        features = rng.normal(size=(len(edges), 2)) if edges else None
        X.append(cc.Graph(rng.normal(size=(n, 2)), edges, features))
        y.append(rng.integers(0, k, n))
    y[0][:] = np.arange(3) % k
    return X, y


def many_graphs(n: int, seed: int = 1) -> tuple[list[Any], list[list[str]]]:
    """Trees and rings whose labels follow the node's feature and their neighbour's label."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for i in range(n):
        size = int(rng.integers(2, 7))
        edges = [(int(rng.integers(b)), b) for b in range(1, size)]
        if i % 3 == 0 and size > 2 and (0, size - 1) not in edges:
            edges.append((0, size - 1))
        labels = rng.integers(0, 3, size)
        for a, b in edges:
            labels[b] = labels[a] if rng.random() < 0.6 else labels[b]
        X.append(cc.Graph(np.eye(3)[labels] + rng.normal(0.0, 0.7, (size, 3)), edges))
        y.append(["abc"[j] for j in labels])
    return X, y


# --- training -------------------------------------------------------------------------------


def conic_optimum(
    X: list[Any], y: list[Array], route: str, C: float, weights: list[Array]
) -> float:
    """The training problem over listed labellings, as its definition has it."""
    import cvxpy as cp

    W, b = cp.Variable((3, 2)), cp.Variable(3)
    tables = [cp.Variable((3, 3)) for _ in range(2)]
    total = 0.5 * (cp.sum_squares(W) + sum(cp.sum_squares(t) for t in tables))
    constraints = []
    for graph, truth, weight in zip(X, y, weights):
        answers = list(product(range(3), repeat=len(truth)))
        scores = []
        for answer in answers:
            one = sum(W[j] @ x + b[j] for j, x in zip(answer, graph.nodes))
            for e, (a, c) in enumerate(graph.edges):
                row = graph.edge_features[e]
                one += sum(f * t[answer[a], answer[c]] for f, t in zip(row, tables))
            scores.append(one)
        f = cp.hstack(scores)
        L = np.array([(COSTS[np.ix_(a, range(3))]) for a in map(list, answers)])  # (m, nodes, k)
        L = np.array(
            [[(weight * row[range(len(q)), q]).sum() for q in map(list, answers)] for row in L]
        )
        right = answers.index(tuple(truth))
        if route == "adversarial":
            p = cp.Variable(len(answers), nonneg=True)
            constraints.append(cp.sum(p) == 1)
            value = cp.max(f + L.T @ p)
        else:
            alpha = {"log": 1.0, "hinge": 0.0, "hybrid": 0.5}[route]
            value = alpha * cp.log_sum_exp(f) + (1.0 - alpha) * cp.max(f + L[:, right])
        scale = float(weight.mean()) if route == "log" else 1.0
        total += C * scale * (value - f[right])
    problem = cp.Problem(cp.Minimize(total), constraints)
    solve_conic(problem)
    return float(problem.value)


@pytest.mark.parametrize("route", ["log", "hinge", "hybrid", "adversarial"])
def test_training_brackets_the_optimum(route: str) -> None:
    X, y = small_graphs()
    weights = [np.linspace(0.5, 1.5, len(labels)) for labels in y]
    tol = 1e-2 if route == "adversarial" else 1e-3
    model = cc.GraphLabeler(cc.losses.CostMatrix(COSTS), route, C=0.7, tol=tol)
    model.fit(X, y, loss_weight=weights)
    best = conic_optimum(X, y, route, 0.7, weights)
    slack = 1e-6 * best
    assert model.gap_ <= tol * model.objective_
    assert model.objective_ - model.gap_ - slack <= best <= model.objective_ + slack
    assert model.coef_.shape == (3, 2)
    assert model.edge_coef_.shape == (2, 3, 3)
    assert model.width_ == 2


@pytest.mark.parametrize("solver", ["dual", "lbfgs"])
def test_solvers_agree(solver: str) -> None:
    X, y = small_graphs()
    model = cc.GraphLabeler(surrogate="hinge", fit_intercept=False, solver=solver).fit(X, y)
    other = cc.GraphLabeler(surrogate="hinge", fit_intercept=False).fit(X, y)
    assert model.objective_ == pytest.approx(other.objective_, rel=2e-3)


STOCHASTIC = ("sgd", "pegasos", "adagrad", "adam")
CERTIFIED = {"dual": 3e-2, "working_set": 3e-2, "block_frank_wolfe": 4e-2, "fista": 4e-2}
ALL = [(r, s) for r in ("log", "hinge", "hybrid") for s in (*CERTIFIED, *STOCHASTIC)]
ALL += [("adversarial", name) for name in ("dual", "block_frank_wolfe", "sgd")]  # the slow ones


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("route", "solver"), ALL)
def test_every_solver_brackets_the_optimum_with_intercepts(route: str, solver: str) -> None:
    X, y = small_graphs()
    passes = 5 if solver not in CERTIFIED else 15 if route == "adversarial" else 60
    model = cc.GraphLabeler(surrogate=route, C=0.5, solver=solver, max_iter=passes)
    if route in ("log", "hybrid") and solver in ("dual", "working_set", "block_frank_wolfe"):
        with pytest.raises(ValueError, match="is for the hinge and adversarial routes"):
            model.fit(X, y)
        return
    model.fit(X, y)
    near = cc.GraphLabeler(surrogate=route, C=0.5, tol=5e-3).fit(X, y)
    assert model.objective_ - model.gap_ <= near.objective_
    assert near.objective_ - near.gap_ <= model.objective_
    if solver in CERTIFIED and route != "hybrid":
        assert model.objective_ <= near.objective_ * (1.0 + CERTIFIED[solver])
        assert model.gap_ <= 3.0 * CERTIFIED[solver] * model.objective_


def test_the_adversarial_route_is_consistent() -> None:
    """With scores rich enough for any marginals, the best labelling costs least on average
    (Fathony's thesis, Theorem 3.3), also where no labelling has a majority."""
    rng = np.random.default_rng(2)
    graph = cc.Graph(np.eye(3), TRIANGLE, np.eye(3))
    answers = np.array(list(product(range(2), repeat=3)))
    costs = np.array([[0.0, 1.0], [2.0, 0.0]])
    checked = 0
    while checked < 2:
        share = rng.dirichlet(np.full(8, 0.7))
        expected = [
            sum(p * costs[list(a), list(q)].sum() for p, q in zip(share, answers)) for a in answers
        ]
        ranked = np.sort(expected)
        if ranked[1] - ranked[0] < 0.15:  # too close for the accuracy of training
            continue
        checked += 1
        model = cc.GraphLabeler(
            cc.losses.CostMatrix(costs), "adversarial", C=30.0, tol=5e-2, fit_intercept=False
        )
        model.fit([graph] * 8, list(answers), sample_weight=share)
        chosen = model.predict([graph])[0]
        assert expected[int(chosen @ [4, 2, 1])] == pytest.approx(ranked[0])


def test_approximate_inference_costs_a_bounded_amount() -> None:
    X, y = many_graphs(20)
    for route in ("hinge", "log"):
        exact = cc.GraphLabeler(surrogate=route).fit(X, y)
        rough = cc.GraphLabeler(surrogate=route, inference="approximate").fit(X, y)
        assert rough.objective_ >= exact.objective_ - exact.gap_
        assert rough.objective_ == pytest.approx(exact.objective_, rel=0.05)
        assert rough.score(X, y) == pytest.approx(exact.score(X, y), abs=0.05)


def test_weights_are_copies() -> None:
    X, y = many_graphs(9)
    weight = np.array([0, 1, 2, 1, 1, 3, 0, 1, 1])
    copies = np.repeat(np.arange(9), weight)
    weighted = cc.GraphLabeler(surrogate="log", tol=1e-6).fit(X, y, sample_weight=weight)
    copied = cc.GraphLabeler(surrogate="log", tol=1e-6).fit(
        [X[i] for i in copies], [y[i] for i in copies]
    )
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-3)
    assert weighted.objective_ == pytest.approx(copied.objective_, rel=1e-5)


def test_normalizing_divides_by_the_number_of_nodes() -> None:
    X, y = many_graphs(9)
    normal = cc.GraphLabeler(surrogate="hinge", normalize=True).fit(X, y)
    weighted = cc.GraphLabeler(surrogate="hinge").fit(
        X, y, loss_weight=[np.full(len(labels), 1.0 / len(labels)) for labels in y]
    )
    np.testing.assert_array_equal(normal.coef_, weighted.coef_)


def test_warm_start_goes_on_where_it_stood() -> None:
    X, y = many_graphs(12)
    model = cc.GraphLabeler(surrogate="log", warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_ <= 2


# --- decisions --------------------------------------------------------------------------------


def listed(model: Any, graph: Any) -> tuple[Array, Array]:
    """All labellings of a graph and their scores under the fitted weights."""
    k = len(model.classes_)
    nodes = np.asarray(graph.nodes) @ model.coef_.T + model.intercept_
    answers = np.array(list(product(range(k), repeat=len(nodes))))
    scores = nodes[np.arange(len(nodes)), answers].sum(axis=1)
    for e, (a, b) in enumerate(graph.edges):
        features = np.ones(1) if graph.edge_features is None else graph.edge_features[e]
        scores += np.tensordot(features, model.edge_coef_, 1)[answers[:, a], answers[:, b]]
    return answers, scores


def test_decisions_are_those_of_the_listed_labellings() -> None:
    X, y = small_graphs(3)
    for route in ("log", "hinge", "hybrid"):
        loss = cc.losses.CostMatrix(COSTS)
        model = cc.GraphLabeler(loss, route, C=5.0, tol=1e-2).fit(X, y)
        for graph, predicted, ranked in zip(X, model.predict(X), model.predict_best(X, 4)):
            answers, scores = listed(model, graph)
            order = np.argsort(-scores)[:4]
            np.testing.assert_allclose([v for _, v in ranked], scores[order])
            if route == "hinge":
                np.testing.assert_array_equal(predicted, answers[order[0]])
                continue
            share = np.exp(scores - scores.max())
            share /= share.sum()
            q = np.array([share @ np.eye(3)[answers[:, t]] for t in range(answers.shape[1])])
            np.testing.assert_allclose(model.predict_marginals([graph])[0], q, atol=1e-9)
            expected = q @ COSTS.T
            np.testing.assert_array_equal(predicted, expected.argmin(axis=1))
            sure = model.predict_confidence([graph])[0]
            np.testing.assert_allclose(sure, 1.0 - expected.min(axis=1) / COSTS.max(), atol=1e-9)


def test_actions_that_are_no_labels() -> None:
    X, y = many_graphs(12)
    for route in ("log", "adversarial"):
        model = cc.GraphLabeler(cc.losses.Abstain(0.2), route, C=0.1, tol=5e-2).fit(X, y)
        assert model.actions_.tolist() == ["a", "b", "c", "abstain"]
        answers = {label for labels in model.predict(X) for label in labels}
        assert "abstain" in answers
        assert 0.0 < model.score(X, y) <= 1.0
    np.testing.assert_allclose(model.strategy(X)[0].sum(axis=1), 1.0)
    assert model.strategy(X)[0].shape[1] == 4


def test_samples_are_labellings() -> None:
    X, y = many_graphs(6)
    model = cc.GraphLabeler(surrogate="log").fit(X, y)
    drawn = model.sample(X, random_state=0)
    assert [len(labels) for labels in drawn] == [len(labels) for labels in y]
    assert all(np.array_equal(a, b) for a, b in zip(drawn, model.sample(X, random_state=0)))


def test_routes_offer_what_they_have() -> None:
    hinge = cc.GraphLabeler(surrogate="hinge")
    assert not hasattr(hinge, "predict_marginals")
    assert not hasattr(hinge, "sample")
    assert not hasattr(hinge, "strategy")
    assert hasattr(cc.GraphLabeler(), "strategy")


# --- constraints --------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ["log", "hinge", "adversarial"])
def test_known_labels_stay_and_inform_the_others(route: str) -> None:
    X, y = many_graphs(15)
    model = cc.GraphLabeler(surrogate=route, tol=5e-2).fit(X, y)
    fixed = [[labels[0]] + [None] * (len(labels) - 1) for labels in y]
    fixed[1] = None  # type: ignore[call-overload]
    for labels, known in zip(model.predict(X, fixed=fixed), fixed):
        assert known is None or labels[0] == known[0]
    graph, code = X[0], model.classes_.tolist().index(y[0][0])
    answers, scores = listed(model, graph)
    allowed = answers[:, 0] == code
    if route == "hinge":
        best = answers[allowed][scores[allowed].argmax()]
        np.testing.assert_array_equal(
            model.predict(X[:1], fixed=fixed[:1])[0], model.classes_[best]
        )
    else:
        assert model.predict_marginals(X[:1], fixed=fixed[:1])[0][0, code] == pytest.approx(1.0)


def test_forbidden_pairs_never_occur() -> None:
    X, y = many_graphs(30)
    forbidden = [("a", "b"), ("b", "a"), ("a", "c")]
    clean = [
        i for i in range(30) if not any((y[i][a], y[i][b]) in forbidden for a, b in X[i].edges)
    ]
    X, y = [X[i] for i in clean], [y[i] for i in clean]
    free = cc.GraphLabeler(surrogate="hinge", C=0.01).fit(X, y)
    noise = [cc.Graph(-3.0 * np.asarray(g.nodes), g.edges) for g in X]

    def broken(model: Any) -> int:
        pairs = zip(model.predict(noise), noise)
        return sum((p[a], p[b]) in forbidden for p, g in pairs for a, b in g.edges)

    assert broken(free) > 0
    model = cc.GraphLabeler(surrogate="hinge", C=0.01, forbidden=forbidden).fit(X, y)
    assert broken(model) == 0
    log = cc.GraphLabeler(surrogate="log", forbidden=forbidden).fit(X, y)
    assert log.objective_ < cc.GraphLabeler(surrogate="log").fit(X, y).objective_
    with pytest.raises(ValueError, match="no labelling of graph 0 is possible"):
        log.predict([cc.Graph(np.zeros((2, 3)), [(0, 1)])], fixed=[["a", "b"]])
    with pytest.raises(ValueError, match=r"y\[0\] has the forbidden pair 'a', 'b'"):
        log.fit([cc.Graph(np.zeros((2, 3)), [(0, 1)])], [["a", "b"]])


@pytest.mark.parametrize("route", ["log", "hinge"])
def test_unknown_labels_are_completed(route: str) -> None:
    X, y = many_graphs(40)
    rng = np.random.default_rng(0)
    partial = [[None if rng.random() < 0.3 else label for label in labels] for labels in y]
    model = cc.GraphLabeler(surrogate=route).fit(X, partial)
    assert model.score(X, y) > 0.8
    if route == "log":  # the weights are stationary for the likelihood of the known labels
        free = cc.GraphLabeler(surrogate="log", tol=1e-8, fit_intercept=False)
        free.fit(X[:6], partial[:6])
        gradient = free.coef_.copy()
        for graph, labels in zip(X[:6], partial[:6]):
            answers, scores = listed(free, graph)
            fits = [all(p is None or "abc"[j] == p for p, j in zip(labels, a)) for a in answers]
            for chosen, sign in ((np.ones(len(answers), bool), 1.0), (np.array(fits), -1.0)):
                share = np.exp(scores[chosen] - scores[chosen].max())
                for weight, answer in zip(share / share.sum(), answers[chosen]):
                    np.add.at(gradient, answer, sign * weight * np.asarray(graph.nodes))
        assert np.abs(gradient).max() < 0.05


# --- input ------------------------------------------------------------------------------------


def test_other_libraries_graphs() -> None:
    import networkx as nx

    X, y = many_graphs(10)
    ours = cc.GraphLabeler(surrogate="log").fit(X, y)
    theirs, likes = [], []
    for graph in X:
        other = nx.DiGraph()
        other.add_nodes_from((f"node {i}", {"x": row}) for i, row in enumerate(graph.nodes))
        other.add_edges_from((f"node {a}", f"node {b}") for a, b in sorted(graph.edges))
        theirs.append(other)
        index = np.array(graph.edges).T
        likes.append(SimpleNamespace(x=graph.nodes, edge_index=index, edge_attr=None))
    sparse = [cc.Graph(sp.csr_matrix(g.nodes), g.edges) for g in X]
    for other in (theirs, likes, sparse):
        model = cc.GraphLabeler(surrogate="log").fit(other, y)
        np.testing.assert_allclose(model.coef_, ours.coef_, atol=1e-6)


BAD_GRAPHS: dict[str, tuple[Any, str]] = {
    "self-loop": (cc.Graph(np.ones((2, 3)), [(0, 1), (1, 1)]), "edge 1 of graph 1 joins node 1"),
    "duplicate": (cc.Graph(np.ones((2, 3)), [(0, 1), (0, 1)]), r"graph 1 lists edge \(0, 1\) more"),
    "outside": (
        cc.Graph(np.ones((2, 3)), [(0, 2)]),
        r"edge 0 of graph 1 is \(0, 2\), but its nodes",
    ),
    "shape": (cc.Graph(np.ones((2, 3)), [(0, 1, 1)]), r"edges of graph 1 must have shape \(m, 2\)"),
    "float": (cc.Graph(np.ones((2, 3)), [(0.0, 1.0)]), "edges of graph 1 must be pairs of node"),
    "empty": (cc.Graph(np.ones((0, 3)), []), "graph 1 is empty: it has no nodes"),
    "width": (cc.Graph(np.ones((2, 4)), [(0, 1)]), "graph 1 has 4 node features, graph 0 has 3"),
    "nan": (
        cc.Graph([[1, 1, 1], [1, np.nan, 1]], [(0, 1)]),
        "nodes of graph 1: row 1 contains NaN",
    ),
    "rows": (cc.Graph(np.ones(3), []), r"nodes of graph 1 must have shape \(rows, features\)"),
    "features": (cc.Graph(np.ones((2, 3)), [(0, 1)], [[1.0]]), "give all or none"),
    "kind": (object(), "graph 1 is a object"),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs_are_named(name: str) -> None:
    bad, words = BAD_GRAPHS[name]
    good = cc.Graph(np.ones((2, 3)), [(0, 1)])
    with pytest.raises((TypeError, ValueError), match=words):
        cc.GraphLabeler(surrogate="log").fit([good, bad], [["a", "b"], ["a", "b"]])


def test_bad_answers_and_arguments_are_named() -> None:
    X, y = many_graphs(3)
    model = cc.GraphLabeler(surrogate="log").fit(X, y)
    cases: list[tuple[Any, str]] = [
        (lambda: model.fit(X, [*y[:2], [*y[2], "a"]]), r"graph 2 has \d nodes, but y\[2\] has"),
        (lambda: model.fit(X, [*y[:2], "abc"]), r"y\[2\] must be a list"),
        (lambda: model.fit(X, [*y[:2], [1] * len(y[2])]), r"y\[2\] has 1, an earlier label is"),
        (lambda: model.fit(X, [[np.nan] * len(y[0]), *y[1:]]), r"y\[0\] has no label at node 0"),
        (lambda: model.fit(X, [[None] * len(labels) for labels in y]), "no known labels"),
        (lambda: model.fit(X, y, sample_weight=[0, 0, 0]), "zero for every example"),
        (lambda: model.fit(X, y, loss_weight=[[1.0]] * 3), r"but loss_weight\[0\] has shape"),
        (lambda: model.predict([cc.Graph([[1.0]], [])]), "X has 1 node features, but GraphLabeler"),
        (
            lambda: model.predict([cc.Graph(np.ones((2, 3)), [(0, 1)], [[1.0, 2.0]])]),
            "X has 2 edge features, but GraphLabeler was fitted with no",
        ),
        (lambda: model.predict(X, fixed=[["z"] * len(y[0]), None, None]), r"fixed\[0\] has 'z'"),
        (lambda: cc.GraphLabeler(surrogate="quadratic").fit(X, y), "use 'adversarial', 'log'"),
        (lambda: cc.GraphLabeler(inference="best").fit(X, y), "inference must be one of"),
        (lambda: cc.GraphLabeler(C=0).fit(X, y), "C must be finite and > 0"),
    ]
    for call, words in cases:
        with pytest.raises((TypeError, ValueError), match=words):
            call()
    assert len(model.predict(X)) == 3, "after all these errors the model is as it was"


def test_width_is_reported_and_what_to_do_about_it() -> None:
    clique = cc.Graph(np.zeros((25, 1)), list(combinations(range(25), 2)))
    X, y = [cc.Graph(np.ones((2, 1)), [(0, 1)]), clique], [["a", "b"], ["a", "b"] * 12 + ["a"]]
    with pytest.raises(ValueError, match=r"graph 1 has a width of 24 or more .* use inference="):
        cc.GraphLabeler(surrogate="hinge", inference="exact").fit(X, y)
    with pytest.warns(UserWarning, match="approximate inference"):
        model = cc.GraphLabeler(surrogate="hinge", tol=0.1, max_iter=5).fit(X, y)
    with pytest.warns(UserWarning, match="approximate inference"):
        assert len(model.predict(X)[1]) == 25


@pytest.mark.parametrize("route", ["log", "hinge"])
def test_conventions(route: str) -> None:
    X, y = many_graphs(8)
    check_structured_estimator(cc.GraphLabeler(surrogate=route, tol=1e-2), X, y)


def test_files_keep_the_model(tmp_path: Path) -> None:
    X, y = many_graphs(8)
    for route in ("log", "hinge"):
        model = cc.GraphLabeler(surrogate=route, tol=1e-2, forbidden=[("a", "d")]).fit(X, y)
        cc.save(model, tmp_path / "graph.model")
        again = cc.load(tmp_path / "graph.model")
        assert all(np.array_equal(a, b) for a, b in zip(again.predict(X), model.predict(X)))


def test_threads_change_nothing() -> None:
    X, y = many_graphs(600)
    models = [cc.GraphLabeler(surrogate="log", n_jobs=j, tol=1e-2).fit(X, y) for j in (1, 2)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
