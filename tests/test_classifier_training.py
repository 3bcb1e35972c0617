"""How `Classifier` gets to its optimum: passes, threads, warm starts, interrupts, progress."""

from __future__ import annotations

import copy
import re
import warnings
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import concordant as cc
from concordant.objective import Objective
from concordant.penalty import Penalty
from concordant.scorers import KernelScorer, LinearScorer
from concordant.structures import Label
from concordant.surrogates import SURROGATES

K = 4


@cache
def problem(n=80, d=5):
    """Overlapping classes, a third of the features zero."""
    X, y = make_blobs(n, n_features=d, centers=K, cluster_std=4.0, random_state=0)
    X = X / 4.0
    X[np.random.default_rng(1).random(X.shape) < 0.3] = 0.0
    return X, y


@cache
def large():
    """So many rows that they are split among threads and equal ones are not merged."""
    return problem(20_001, 4)


def quiet(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def bracket_one_optimum(a, b):
    assert a.objective_ - a.gap_ <= b.objective_ * (1 + 1e-9)
    assert b.objective_ - b.gap_ <= a.objective_ * (1 + 1e-9)


# --- compiled passes -------------------------------------------------------------------------


def objectives(scorer, route, penalty=None):
    y = problem()[1]
    rng = np.random.default_rng(2)
    bound = SURROGATES[route]().bind(Label(len(y), K), cc.losses.Absolute().matrix(K))
    inside = np.ones(len(y)) if SURROGATES[route].weighs == "example" else rng.uniform(0.5, 2, 80)
    return Objective(scorer, bound, y, rng.uniform(0.1, 2.0, 80), inside, penalty)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("route", ["adversarial", "hinge", "log"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "dense net", "sparse net", "kernel"])
def test_compiled_passes_make_the_steps_of_the_plain_one(kind, route, intercept):
    """Two passes over the examples: each exact step is that of one batch of one at a time."""
    X, _ = problem()
    if kind == "kernel":
        scorer = KernelScorer(rbf_kernel(X, gamma=0.3), K, intercept)
    else:
        scorer = LinearScorer(sp.csr_array(X) if "sparse" in kind else X, K, intercept)
    plain_scorer = scorer if kind == "kernel" else LinearScorer(X, K, intercept)
    penalty = Penalty(0.6, 0.4) if "net" in kind else Penalty()
    compiled, plain = (objectives(s, route, penalty) for s in (scorer, plain_scorer))
    ours, expected = compiled.dual_start(), plain.dual_start()
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(80)
        if seed:  # an example that did not move rests in the next pass
            order = order[ours.rest[order] == 0]
        compiled.dual_pass(ours, order)
        plain._plain_pass(expected, order)
        if intercept:
            free = plain.scorer.free(expected.weights)
            free += plain._pull * plain._free_residual(expected.mu)
        np.testing.assert_allclose(ours.mu, expected.mu, atol=1e-9)
        np.testing.assert_allclose(ours.weights, expected.weights, atol=1e-9)
    assert np.abs(ours.weights).max() > 0.1


@pytest.mark.parametrize("intercept", [True, False])
def test_features_of_a_kernel_are_measured_from_their_mean(intercept):
    """Where there are intercepts; the function is the same by the coefficients that are kept."""
    X, _ = problem()
    gram, rng = rbf_kernel(X, gamma=0.3), np.random.default_rng(0)
    scorer = KernelScorer(gram, K, intercept)
    mean = np.eye(80) - intercept / 80.0
    for share in (0.1, 1.0):  # of coefficients that are not zero
        weights = rng.normal(size=scorer.start().shape)
        scorer.penalised(weights)[...] *= rng.uniform(size=(80, K)) < share
        centred = mean @ gram @ mean @ weights[:80]
        expected = centred + (weights[-1] if intercept else 0.0)
        np.testing.assert_allclose(scorer.scores(weights), expected, atol=1e-12)
        value = scorer.penalty_value(Penalty(), weights)
        assert value == pytest.approx(0.5 * np.vdot(weights[:80], centred))
        plain = scorer.plain(weights)
        by_hand = gram @ plain[:80] + (plain[-1] if intercept else 0.0)
        np.testing.assert_allclose(by_hand, expected, atol=1e-12)
        rows = rng.permutation(80)[:30]
        some = scorer.restrict(rows)
        weights = rng.normal(size=some.start().shape)
        whole = scorer.widen(some.plain(weights), rows)
        np.testing.assert_allclose(scorer.scores(whole)[rows], some.scores(weights), atol=1e-12)
    norms = np.diag(mean @ gram @ mean)
    np.testing.assert_allclose(scorer.square_norms(), norms, atol=1e-12)


@pytest.mark.parametrize("columns", [1, K])
@pytest.mark.parametrize("intercept", [True, False])
def test_scores_that_a_pass_keeps_are_those_of_its_weights(intercept, columns):
    """However often they are asked for: a single column is a view of what is kept."""
    X, _ = problem()
    scorer = KernelScorer(rbf_kernel(X, gamma=0.3), columns, intercept)
    weights = np.random.default_rng(0).normal(size=scorer.start().shape)
    kept = np.ascontiguousarray(scorer.gram @ weights[:80])
    state = SimpleNamespace(weights=weights, cache=np.ascontiguousarray(kept.T))
    for _ in range(2):
        np.testing.assert_allclose(scorer.cached_scores(state), scorer.scores(weights), atol=1e-12)


@pytest.mark.parametrize("rho", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("intercept", [True, False])
def test_regression_on_a_kernel_has_no_descent_left(intercept, rho):
    X, _ = problem(600)  # two pieces, so that halves are mirrored
    scorer = KernelScorer(rbf_kernel(X, gamma=0.3), K, intercept)
    y = np.random.default_rng(1).normal(size=(600, K))
    weights, scores = scorer.regression(rho)(y)
    np.testing.assert_allclose(scores, scorer.scores(weights), atol=1e-8)
    # The gradient in function space, less its null space.
    gradient = scorer.pullback(rho * (scores - y))
    scorer.penalised(gradient)[...] += scorer.penalised(weights)
    np.testing.assert_allclose(scorer.scores(gradient), 0.0, atol=1e-6 * max(rho, 1.0))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_matrix])
@pytest.mark.parametrize("route", ["adversarial", "hinge", "log"])
def test_sparse_features_train_like_dense_ones(route, kind):
    X, y = large()
    model = cc.Classifier("absolute", route, C=1e-3, max_iter=2, tol=0.0, random_state=0)
    dense, sparse = (quiet(copy.copy(model), x, y) for x in (X, kind(X)))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sparse.intercept_, dense.intercept_, rtol=1e-9, atol=1e-9)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-9)
    decision = sparse.decision_function(kind(X[:50]))
    np.testing.assert_allclose(decision, dense.decision_function(X[:50]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_sparse_features_under_a_kernel(kernel):
    X, y = problem()
    given = {"kernel": kernel, "gamma": 0.2, "tol": 1e-6, "C": 0.1}
    dense, sparse = (cc.Classifier(**given).fit(x, y) for x in (X, sp.csr_array(X)))
    bracket_one_optimum(dense, sparse)
    decision = sparse.decision_function(sp.csr_array(X))
    np.testing.assert_allclose(decision, dense.decision_function(X), atol=0.1)
    np.testing.assert_allclose(decision, sparse.decision_function(X), atol=1e-9)


# --- threads and seeds -----------------------------------------------------------------------


def fitted_state(model):
    """What fit left, in numbers."""
    names = ("coef_", "intercept_", "dual_coef_", "support_", "objective_", "gap_", "n_iter_")
    names += ("game_value_",)
    return {name: np.asarray(getattr(model, name)) for name in names if hasattr(model, name)}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("route", ["adversarial", "log", "hinge"])
def test_the_number_of_threads_changes_no_bit(route, sparse):
    X, y = large()
    X = sp.csr_array(X) if sparse else X
    same_bits(cc.Classifier("absolute", route, max_iter=3, tol=0.0, random_state=3), X, y)


@pytest.mark.parametrize(
    "given",
    [
        {"solver": "dual"},
        {"solver": "lbfgs"},
        {"solver": "working_set"},
        {"solver": "splitting"},
        {"n_components": 50},
    ],
)
def test_the_number_of_threads_changes_no_bit_of_a_kernel_machine(given):
    X, y = problem(1100)
    same_bits(cc.Classifier(kernel="rbf", max_iter=3, tol=0.0, random_state=3, **given), X, y)


def same_bits(model, X, y):
    states = []
    for n_jobs in (1, 2, 3):
        quiet(model.set_params(n_jobs=n_jobs), X, y)
        states.append(fitted_state(model) | {"scores": model.decision_function(X)})
    for other in states[1:]:
        assert other.keys() == states[0].keys()
        for name, value in other.items():
            np.testing.assert_array_equal(value, states[0][name], err_msg=name)


def test_a_seed_fixes_the_order_of_the_steps():
    X, y = problem()

    def coef(seed):
        model = cc.Classifier(solver="dual", max_iter=2, tol=0.0, random_state=seed)
        return quiet(model, X, y).coef_

    np.testing.assert_array_equal(coef(5), coef(5))
    assert np.abs(coef(5) - coef(6)).max() > 1e-6


# --- warm starts -----------------------------------------------------------------------------

STARTS = [
    ("adversarial", {}),
    ("adversarial", {"solver": "dual"}),
    ("log", {}),
    ("hinge", {"kernel": "rbf"}),
    ("adversarial", {"kernel": "rbf"}),
    ("log", {"penalty": "l1"}),
    ("log", {"kernel": "rbf", "n_components": 30}),
]


@pytest.mark.parametrize(("route", "given"), STARTS, ids=str)
def test_a_warm_start_begins_at_the_last_solution(route, given):
    X, y = problem()
    model = cc.Classifier(surrogate=route, C=0.3, random_state=0, warm_start=True, **given)
    first = copy.copy(model.fit(X, y))
    assert first.n_iter_ >= 5
    again = model.fit(X, y)
    # Its gap came from two passes, and one of them may have to be made again.
    assert again.n_iter_ <= 3
    assert again.objective_ <= first.objective_ * (1.0 + 1e-9)
    if again.n_iter_ == 1:
        np.testing.assert_array_equal(again.decision_function(X), first.decision_function(X))
    near = copy.copy(model.set_params(C=0.301).fit(X, y))
    cold = model.set_params(warm_start=False).fit(X, y)
    assert near.n_iter_ < cold.n_iter_
    bracket_one_optimum(near, cold)


@pytest.mark.parametrize(("route", "given"), STARTS, ids=str)
def test_a_warm_start_on_other_answers_still_ends_at_their_optimum(route, given):
    X, y = problem()
    model = cc.Classifier(surrogate=route, C=0.3, random_state=0, warm_start=True, **given)
    model.fit(X, y)
    others = [
        (X, (y + 1) % K),  # other answers
        (X, y % 2),  # fewer classes
        (X[:50], y[:50]),  # fewer rows
        (X[:, :3], y),  # fewer columns
        (-3.0 * X, y),
    ]
    for X_other, y_other in others:
        warm = model.fit(X_other, y_other)
        cold = cc.Classifier(surrogate=route, C=0.3, random_state=0, **given)
        bracket_one_optimum(warm, cold.fit(X_other, y_other))
        assert warm.gap_ <= 1e-4 * warm.objective_
        assert warm.decision_function(X_other).shape == cold.decision_function(X_other).shape


def test_a_warm_start_after_another_loss_or_route():
    X, y = problem()
    model = cc.Classifier(C=0.3, random_state=0, warm_start=True).fit(X, y)
    for change in ({"loss": "squared"}, {"surrogate": "hinge"}, {"kernel": "rbf"}):
        warm = model.set_params(**change).fit(X, y)
        bracket_one_optimum(warm, cc.Classifier(**model.get_params()).fit(X, y))


# --- interrupts and errors -------------------------------------------------------------------


def stop_after(monkeypatch, error, calls):
    """Let the objective fail at its work after some calls of it."""
    left = [calls]
    for name in ("dual_pass", "loss", "sample_gradient"):
        work = getattr(Objective, name)

        def wrapped(self, *args, _work=work, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise error
            return _work(self, *args, **kwargs)

        monkeypatch.setattr(Objective, name, wrapped)


INTERRUPTED = [
    (80, "adversarial", {"solver": "dual"}, 5),
    (80, "adversarial", {"solver": "lbfgs"}, 12),
    (80, "log", {}, 8),
    (80, "hinge", {"kernel": "rbf"}, 5),
    (1100, "adversarial", {"kernel": "rbf"}, 3),  # by a working set, in its first round
    (1100, "adversarial", {"kernel": "rbf"}, 30),
    (80, "adversarial", {"solver": "adam"}, 20),
]


@pytest.mark.parametrize(("n", "route", "given", "calls"), INTERRUPTED, ids=str)
def test_an_interrupt_keeps_the_best_model_and_says_so(monkeypatch, n, route, given, calls):
    X, y = problem(n)
    model = cc.Classifier(surrogate=route, tol=1e-9, random_state=0, **given)
    with monkeypatch.context() as patch:
        stop_after(patch, KeyboardInterrupt(), calls)
        with pytest.warns(ConvergenceWarning, match="interrupted") as caught:
            fit_or_fail(model, X, y)
    assert f"{model.gap_:.3g}" in str(caught[0].message)
    assert np.isfinite(model.gap_)
    assert model.objective_ == min(model.history_["objective"])
    values, _ = cc.surrogates.evaluate(route, scores(model, X), y)
    assert model.objective_ == pytest.approx(values.sum() + half_norm(model, X), rel=1e-6)
    whole = cc.Classifier(surrogate=route, tol=1e-3, random_state=0, **given | {"solver": "auto"})
    bracket_one_optimum(model, whole.fit(X, y))
    assert model.predict(X).shape == (n,)


def fit_or_fail(model, X, y):
    try:
        model.fit(X, y)
    except KeyboardInterrupt:  # would end the whole run of tests
        pytest.fail("the interrupt came through")


def scores(model, X):
    if hasattr(model, "coef_"):
        return X @ model.coef_.T + model.intercept_
    gram = rbf_kernel(X, X[model.support_], gamma=1 / (X.shape[1] * X.var()))
    return gram @ model.dual_coef_ + model.intercept_


def half_norm(model, X):
    if hasattr(model, "coef_"):
        return 0.5 * np.sum(model.coef_**2)
    image = scores(model, X)[model.support_] - model.intercept_
    return 0.5 * np.vdot(model.dual_coef_, image)


def test_an_interrupt_before_there_is_any_model_is_an_interrupt(monkeypatch):
    X, y = problem()
    model = cc.Classifier().fit(X, y)
    before = copy.copy(vars(model))

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(LinearScorer, "square_norms", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model) == before


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_an_error_leaves_the_earlier_fit_as_it_was(monkeypatch, kernel):
    X, y = problem()
    model = cc.Classifier(kernel=kernel).fit(X, y)
    before, decision = copy.copy(vars(model)), model.decision_function(X)
    with monkeypatch.context() as patch:
        stop_after(patch, MemoryError("no room"), 3)
        with pytest.raises(MemoryError, match="no room"):
            model.fit(X[:40, :2], y[:40])
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1"):
        model.fit(bad, y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.fit(X, y[1:])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(model.decision_function(X), decision)


def test_an_error_in_the_first_fit_leaves_nothing():
    model = cc.Classifier(C=-1)
    with pytest.raises(ValueError, match="C must be"):
        model.fit(*problem())
    assert not [name for name in vars(model) if name.endswith("_")]


# --- progress --------------------------------------------------------------------------------

#: What is not known yet is left out.
LINE = re.compile(r"pass +(\d+)(?: +objective +(\S+))?(?: +gap +(\S+))? +(\S+) s")


@pytest.mark.parametrize(
    ("n", "given"), [(80, {}), (80, {"surrogate": "log"}), (1100, {"kernel": "rbf"})], ids=str
)
def test_progress_shows_objective_and_gap(capsys, n, given):
    X, y = problem(n)
    model = cc.Classifier(verbose=1, random_state=0, **given).fit(X, y)
    out, shown = capsys.readouterr()
    assert out == ""
    lines = LINE.findall(shown)
    assert lines
    for passes, objective, gap, seconds in lines:
        assert 1 <= int(passes) <= model.n_iter_
        # A working set is certified at the end of its first round; the last pass is settled.
        if gap and int(passes) < model.n_iter_:
            assert objective in {f"{value:.6g}" for value in model.history_["objective"]}
            assert gap in {f"{value:.2e}" for value in model.history_["gap"]}
        assert float(seconds) <= model.history_["seconds"][-1] + 0.1
    assert lines[-1][0] == str(model.n_iter_)
    assert lines[-1][1:3] == (f"{model.objective_:.6g}", f"{model.gap_:.2e}")


def test_progress_on_a_terminal_is_one_line(capsys, monkeypatch):
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    model = cc.Classifier(verbose=1, random_state=0).fit(*problem())
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert shown.endswith("\n")
    assert shown.startswith("\r")
    assert LINE.findall(shown)[0][0] == "1"
    assert model.n_iter_ > 1


def test_silent_unless_asked(capsys):
    for given in ({}, {"kernel": "rbf"}, {"surrogate": "log"}):
        cc.Classifier(**given).fit(*problem())
    assert capsys.readouterr() == ("", "")


# --- solvers by name -------------------------------------------------------------------------

#: C, passes, and by how much of the optimum the objective reached may lie above it. As published,
#: without intercepts: the long first steps of Pegasos throw a free one far away.
PUBLISHED = {
    "sgd": (10.0, 300, 0.25),
    "adagrad": (1.0, 100, 0.05),
    "adam": (1.0, 100, 0.05),
    "pegasos": (1.0, 40, 0.1),
}


@pytest.mark.parametrize("route", ["adversarial", "log", "hinge", "weston_watkins"])
@pytest.mark.parametrize("solver", PUBLISHED)
def test_the_published_solvers_come_within_a_factor(solver, route):
    C, passes, factor = PUBLISHED[solver]
    comes_within(factor, solver, passes, surrogate=route, C=C)


@pytest.mark.parametrize("route", ["adversarial", "hinge", "log"])
def test_kernel_pegasos_comes_within_a_twentieth(route):
    comes_within(0.05, "pegasos", 20, surrogate=route, kernel="rbf", gamma=0.1)


def comes_within(factor, solver, passes, **given):
    X, y = problem()
    best = cc.Classifier(fit_intercept=False, tol=1e-5, **given).fit(X, y)
    model = cc.Classifier(
        fit_intercept=False, solver=solver, max_iter=passes, random_state=0, **given
    )
    assert quiet(model, X, y).objective_ <= (1 + factor) * best.objective_
    bracket_one_optimum(model, best)
    assert model.n_iter_ <= passes


@pytest.mark.parametrize("solver", ["dual", "lbfgs", "fista", "working_set"])
def test_certified_solvers_by_name_agree(solver):
    X, y = problem()
    kernel = "linear" if solver == "working_set" else None
    for route in ("adversarial", "hinge"):
        named = cc.Classifier("absolute", route, C=0.1, solver=solver, kernel=kernel, tol=1e-3)
        bracket_one_optimum(named.fit(X, y), cc.Classifier("absolute", route, C=0.1).fit(X, y))
        assert named.gap_ <= 1e-3 * named.objective_


def test_running_out_of_passes_warns_with_the_gap_that_is_left():
    X, y = problem()
    model = cc.Classifier(max_iter=2, tol=1e-8)
    with pytest.warns(ConvergenceWarning, match="certified gap of") as caught:
        model.fit(X, y)
    assert f"{model.gap_:.3g}" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 2
