"""The comparison of routes: its numbers against slow and obvious ones, and its page."""

from __future__ import annotations

import io
import itertools
import json
import re
from contextlib import redirect_stdout
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import concordant as cc
from concordant.report import candidates, compare, render, statistics, wording, write
from concordant.report.candidates import Candidate, ConstantAction
from concordant.report.problem import Problem

RNG = np.random.default_rng(0)
HOSTILE = '<script>alert("x")</script> & $x$'
LABELS = np.array(["<b>low</b>", 'id="mid" url(#0a0b0c)', "#0a0b0c & more"])


def data(n=90, seed=0):
    """Three ordered labels along one of four features, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 0.1, 1.0]
    noisy = X[:, 0] + 0.7 * rng.normal(size=n)
    return X, np.digitize(noisy, [-0.5, 0.6])


X, Y = data()
ARGUMENTS = {"C": [0.03, 0.3], "cv": 3, "repeats": 2, "inner_cv": 2, "n_jobs": 1}


def splits(cv=3, repeats=2, seed=0, y=Y):
    folds = RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=seed)
    return list(folds.split(np.zeros(len(y)), y))


@pytest.fixture(scope="module")
def small():
    """Two routes on tiny data, everything measured."""
    return compare(X, Y, "absolute", routes=["log", "adversarial"], **ARGUMENTS)


@pytest.fixture(scope="module")
def hostile():
    """Names, labels, question and source that would like to be markup; one failed row."""
    frame = pd.DataFrame(X, columns=[f"<img src=x>{i}" for i in range(4)])
    broken = cc.Classifier(kernel=never)
    loss = cc.losses.CostMatrix(1.0 - np.eye(3))
    return compare(
        frame,
        LABELS[Y],
        loss,
        routes=["log", broken],
        C=[0.1],
        cv=3,
        repeats=1,
        n_jobs=1,
        question=HOSTILE,
        source=HOSTILE,
    )


@pytest.fixture
def no_trees(monkeypatch):
    """Boosted trees take most of the time and are rarely what a test is about."""
    kept = tuple(c for c in candidates.BASELINES if c.name != "trees_bayes")
    monkeypatch.setattr(candidates, "BASELINES", kept)


def never(A, B):
    raise ValueError("<i>this kernel</i> has no values")


# ---------------------------------------------------------------- statistics


@pytest.mark.parametrize("ratio", [0.0, 0.25, 1.0])
def test_corrected_interval_and_test_are_students_with_a_larger_variance(ratio):
    values = RNG.uniform(0.5, 1.0, 8)
    J = len(values)
    error = (sum((v - values.mean()) ** 2 for v in values) / (J - 1) * (1 / J + ratio)) ** 0.5
    assert statistics.corrected_error(values, ratio) == pytest.approx(error, rel=1e-12)
    low, high = stats.t.interval(0.95, J - 1, loc=values.mean(), scale=error)
    found = statistics.corrected_interval(values, ratio)
    assert found == pytest.approx((max(low, 0.0), high), rel=1e-9)
    differences = values - 0.6
    p = 2 * stats.t.sf(abs(differences.mean()) / error, J - 1)
    assert statistics.corrected_t_test(differences, ratio) == pytest.approx(p, rel=1e-9)


def test_without_overlap_it_is_the_ordinary_paired_t_test():
    a, b = RNG.normal(size=(2, 12))
    expected = stats.ttest_rel(a, b).pvalue
    assert statistics.corrected_t_test(a - b, ratio=0.0) == pytest.approx(expected, rel=1e-9)


def test_equal_differences_need_no_division():
    assert statistics.corrected_t_test(np.zeros(5), 0.25) == 1.0
    assert statistics.corrected_t_test(np.full(5, 0.1), 0.25) == 0.0


def test_a_loss_has_no_negative_interval():
    low, high = statistics.corrected_interval(np.array([0.0, 0.0, 0.3]), 0.5)
    assert low == 0.0
    assert high > 0.3


@pytest.mark.parametrize("seed", range(5))
def test_holm_rejects_what_the_step_down_procedure_rejects(seed):
    p = np.random.default_rng(seed).choice([0.001, 0.008, 0.01, 0.02, 0.04, 0.2, 0.9], 6).tolist()
    adjusted = statistics.holm(p)
    for level in (0.004, 0.0101, 0.0301, 0.0501, 0.1, 0.3, 0.95):
        rejected = set()
        for step, i in enumerate(np.argsort(p, kind="stable").tolist()):
            if p[i] > level / (len(p) - step):
                break
            rejected.add(i)
        assert {i for i, a in enumerate(adjusted) if a <= level} == rejected


def test_holm_of_nothing():
    assert statistics.holm([]) == []


# ---------------------------------------------------------------- problem


def test_a_fold_without_a_label_keeps_the_ranks_of_the_others():
    y = np.array(["a", "b", "c", "d"] * 3)
    problem = Problem.of(np.arange(12.0)[:, None], y, "absolute")
    loss = problem.loss_on(np.flatnonzero(y != "b"))
    costs, actions = loss.resolve(np.array([0, 2, 3]))
    assert actions.tolist() == [0, 2, 3]
    assert costs.tolist() == [[0, 2, 3], [2, 0, 1], [3, 1, 0]]
    assert problem.rows_of(np.array([3, 0])).tolist() == [3, 0]


def test_abstaining_stays_possible_in_every_fold():
    y = np.array([4, 7, 9] * 3)
    problem = Problem.of(np.arange(9.0)[:, None], y, cc.losses.Abstain(cost=0.3, label=-1))
    assert problem.labels_are_actions
    loss = problem.loss_on(np.flatnonzero(y != 4))
    costs, actions = loss.resolve(np.array([1, 2]))
    row = {action: costs[i].tolist() for i, action in enumerate(actions.tolist())}
    (abstain,) = set(row) - {1, 2}
    assert row == {1: [0, 1], 2: [1, 0], abstain: [0.3, 0.3]}
    assert problem.actions[problem.rows_of(np.array([abstain]))].tolist() == [-1]
    assert problem.costs[problem.rows_of(np.array([abstain]))].tolist() == [[0.3, 0.3, 0.3]]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X, np.zeros(90), "two labels with two examples"),
        (X, np.arange(90), "two labels with two examples"),
        (X, Y[:-1], "inconsistent numbers of samples"),
        (np.where(X > 2, np.nan, X), Y, "NaN"),
        (X, X[:, 0], "continuous"),
    ],
)
def test_data_that_cannot_be_compared_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        compare(X, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": []}, "C must hold"),
        ({"C": [0.1, -1]}, "C must hold"),
        ({"C": [np.inf]}, "C must hold"),
        ({"cv": 1}, "cv >= 2"),
        ({"repeats": 0}, "repeats >= 1"),
        ({"inner_cv": 1}, "inner_cv >= 2"),
        ({"routes": ["log", "log"]}, "'log' is compared twice"),
        ({"routes": ["logg"]}, "logg"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_impossible_protocols_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        compare(X, Y, "absolute", **arguments)


# ---------------------------------------------------------------- comparison


def test_doubt_and_probabilities_are_those_of_the_split_that_tested_a_row(small):
    outcome, problem = small["log"], small.problem
    costs, n = problem.costs, len(problem.y)
    for r, repetition in enumerate([splits()[:3], splits()[3:]]):
        for (train, test), C in zip(repetition, outcome.C[3 * r : 3 * r + 3]):
            loss = cc.losses.CostMatrix(costs)
            model = make_pipeline(StandardScaler(), cc.Classifier(loss, "log", C=C, tol=1e-6))
            proba = model.fit(X[train], Y[train]).predict_proba(X[test])
            np.testing.assert_allclose(outcome.proba[r, test], proba, atol=2e-2)
            expected = np.einsum("ij,ij->i", costs[outcome.actions[r, test]], proba)
            np.testing.assert_allclose(outcome.doubt[r, test], expected, atol=2e-2)
    assert outcome.doubt.shape == (2, n)
    assert small["constant"].doubt is None
    hinge = small["adversarial"]
    assert hinge.proba is None
    assert hinge.doubt is not None


def test_missing_values_become_the_mean_of_the_training_rows(no_trees):
    holes = X.copy()
    holes[::5, 0] = np.nan
    found = compare(
        holes, Y, "absolute", routes=["log"], C=[0.1], cv=3, repeats=1, n_jobs=1,
        missing="impute", tol=1e-6,
    )  # fmt: skip
    losses = []
    for train, test in splits(repeats=1):
        mean, std = np.nanmean(holes[train], axis=0), np.nanstd(holes[train], axis=0)
        x, new = (np.nan_to_num((holes[rows] - mean) / std) for rows in (train, test))
        model = cc.Classifier("absolute", "log", C=0.1, tol=1e-6).fit(x, Y[train])
        losses.append(
            cc.metrics.mean_loss(Y[test], model.predict(new), "absolute", labels=[0, 1, 2])
        )
    np.testing.assert_allclose(found["log"].losses, losses)
    assert found.problem.missing == 18
    assert "18 are missing" in render(found)
    with pytest.raises(ValueError, match="missing must be"):
        compare(X, Y, missing="mean")


def test_wilcoxon_is_scipys(no_trees):
    found = compare(
        X, Y, "absolute", routes=["log", "hinge"], C=[0.1], cv=3, repeats=2, n_jobs=1,
        test="wilcoxon",
    )  # fmt: skip
    for o in found.outcomes[1:]:
        difference = o.losses - found.best.losses
        expected = stats.wilcoxon(difference).pvalue if difference.any() else 1.0
        assert o.p_value == pytest.approx(expected)
    assert "Wilcoxon signed-rank test" in found.recommendation()
    with pytest.raises(ValueError, match="test must be"):
        compare(X, Y, test="sign")


def test_every_route_that_applies_is_tried_and_no_other():
    problem = Problem.of(X, Y, "absolute")
    names = {c.name for c in candidates.candidates(None, "absolute", problem)}
    assert {"log", "one_sided_regression", "ordinal/adversarial", "ordinal/all_threshold"} < names
    problem = Problem.of(X, Y, "zero_one")
    names = {c.name for c in candidates.candidates(None, "zero_one", problem)}
    assert not any(name.startswith("ordinal") for name in names)
    assert not names & set(cc.surrogates.REJECTING)
    loss = cc.losses.Abstain(0.3)
    names = {c.name for c in candidates.candidates(None, loss, Problem.of(X, Y, loss))}
    assert set(cc.surrogates.REJECTING) < names


def test_labels_keep_the_order_in_which_a_loss_names_them():
    names = np.array(["low", "mid", "high"])[Y]
    order = ["low", "mid", "high"]
    loss = cc.losses.CostMatrix(cc.losses.Absolute().matrix(3), actions=order, labels=order)
    problem = Problem.of(X, names, loss)
    assert problem.classes.tolist() == order
    np.testing.assert_array_equal(problem.y, Y)
    assert problem.is_ordered
    assert not Problem.of(X, names, "zero_one").is_ordered


def test_baselines_match_loops_written_out(small):
    """The constant and the tuned logistic regression, without any code of the report."""
    cost = np.abs(np.subtract.outer(range(3), range(3)))
    constants, logistic, chosen = [], [], []
    for train, test in splits():
        constant = min(range(3), key=lambda a: cost[a, Y[train]].sum())
        constants.append(cost[constant, Y[test]].mean())

        def fitted(C, rows):
            model = make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=1000))
            return model.fit(X[rows], Y[rows])

        def bayes(model, rows):
            return (model.predict_proba(X[rows]) @ cost.T).argmin(axis=1)

        inner = StratifiedKFold(2, shuffle=True, random_state=0).split(X[train], Y[train])
        totals = dict.fromkeys(ARGUMENTS["C"], 0)
        for a, b in inner:
            for C in totals:
                answers = bayes(fitted(C, train[a]), train[b])
                totals[C] += cost[answers, Y[train[b]]].sum()
        C = min(totals, key=totals.get)
        chosen.append(C)
        logistic.append(cost[bayes(fitted(C, train), test), Y[test]].mean())
    np.testing.assert_allclose(small["constant"].losses, constants)
    np.testing.assert_allclose(small["logistic_bayes"].losses, logistic)
    assert small["logistic_bayes"].C == tuple(chosen)
    assert set(chosen) != {ARGUMENTS["C"][0]}  # the grid was really searched


def test_a_route_is_the_classifier_of_that_name(no_trees):
    found = compare(X, Y, "absolute", routes=["hinge"], C=[0.1], cv=3, repeats=1, n_jobs=1)
    for (train, test), loss in zip(splits(repeats=1), found["hinge"].losses):
        route = cc.Classifier(loss="absolute", surrogate="hinge", C=0.1, tol=1e-3, random_state=0)
        model = make_pipeline(StandardScaler(), route).fit(X[train], Y[train])
        assert loss == pytest.approx(np.abs(model.predict(X[test]) - Y[test]).mean())


def test_numbers_of_one_outcome_fit_together(small):
    for o in small.outcomes:
        answered = small.problem.actions[o.actions]
        folds = zip(splits(), np.repeat([0, 1], 3))
        losses = [np.abs(answered[r, test] - Y[test]).mean() for (_, test), r in folds]
        np.testing.assert_allclose(o.losses, losses)
        assert o.mean == pytest.approx(np.mean(losses))
        assert o.interval[0] <= o.mean <= o.interval[1]
        counts, share = small.cost_map(o.name)
        assert counts.sum() == pytest.approx(len(Y))
        assert share.sum() == pytest.approx(o.mean)  # the folds are equally large
        if o.is_route:
            assert o.gap <= small.protocol.tol
            assert o.unconverged == 0
            assert o.consistency
    means = [o.mean for o in small.outcomes]
    assert means == sorted(means)
    assert small.best.difference == 0.0
    for o in small.outcomes[1:]:
        assert o.difference == pytest.approx(o.mean - small.best.mean)
        assert o.p_adjusted >= o.p_value


def measured(comparison):
    """Everything but clock and number of processes."""
    found = comparison.to_dict()
    for row in found["routes"]:
        del row["fit_seconds"]
        if row["history"] is not None:
            del row["history"]["seconds"]
    for key in ("seconds", "jobs"):
        del found["protocol"][key]
    return found


def test_same_seed_same_numbers_however_many_processes(small):
    routes = ["log", "adversarial"]
    again = compare(X, Y, "absolute", routes=routes, **{**ARGUMENTS, "n_jobs": 2})
    assert measured(again) == measured(small)


def test_another_seed_gives_other_folds(small, no_trees):
    other = compare(X, Y, "absolute", routes=["log"], random_state=1, **ARGUMENTS)
    assert other["log"].losses.tolist() != small["log"].losses.tolist()


def test_comparison_as_text_and_json(small):
    text = str(small)
    for o in small.outcomes:
        assert o.title in text
        assert wording.loss_text(o.mean) in text
    assert " ".join(text.split()).endswith(" ".join(small.recommendation().split()))
    found = json.loads(json.dumps(small.to_dict(), allow_nan=False))
    assert [row["name"] for row in found["routes"]] == [o.name for o in small.outcomes]
    with pytest.raises(KeyError):
        small["nothing of the kind"]


def test_a_classifier_brings_its_kernel_and_scales_the_grid(no_trees):
    route = cc.Classifier(surrogate="log", kernel="rbf", C=10.0)
    found = compare(X, Y, "absolute", routes=["log", route], **ARGUMENTS)
    assert found["log/rbf"].title == "log (rbf)"
    assert set(found["log/rbf"].C) <= {0.3, 3.0}
    assert set(found["log"].C) <= {0.03, 0.3}
    assert found["log/rbf"].losses.tolist() != found["log"].losses.tolist()
    assert route.C == 10.0


def test_a_rare_label_is_measured_and_named(no_trees):
    y = Y.copy()
    y[:2] = 7  # two examples, three folds: one training part has one of them, none has both
    y[2:3] = 9  # once: one split tests it untrained
    found = compare(X, y, "absolute", routes=["adversarial"], C=[0.1], cv=3, repeats=1, n_jobs=1)
    assert not found.failures
    assert "Rarer than the number of folds" in render(found)
    assert re.search(r"in training or in testing: 7, 9\.", render(found))
    # 9 is never answered where it was not trained, and costs its distance in ranks.
    counts, share = found.cost_map("constant")
    np.testing.assert_allclose(share, counts * np.abs(np.subtract.outer(range(5), range(5))) / 90)


# ---------------------------------------------------------------- failures


class Moody(ConstantAction):
    """Fails at the fits whose numbers are given, by the error given."""

    failing: frozenset = frozenset()
    error: type = RuntimeError

    def fit(self, X, y):
        if next(self.count) in self.failing:
            raise self.error("not today\nnor tomorrow")
        return super().fit(X, y)


def moody(monkeypatch, error, *failing):
    kind = type("Moody", (Moody,), {"failing": failing, "error": error, "count": itertools.count()})
    extra = Candidate("moody", "moody", lambda C, loss, tol, seed: kind(loss), has_C=False)
    constant = next(c for c in candidates.BASELINES if c.name == "constant")
    monkeypatch.setattr(candidates, "BASELINES", (constant, extra))


@pytest.mark.parametrize(
    ("failing", "reason"),
    [
        ([0], "not today"),  # the first steps
        ([2], "failed in 1 of 3 splits: not today"),
        ([1, 3], "failed in 2 of 3 splits: not today"),
        ([4], "failed on all the data: not today"),
    ],
)
def test_what_fails_is_a_row_with_its_reason(failing, reason, monkeypatch):
    moody(monkeypatch, RuntimeError, *failing)
    found = compare(X, Y, routes=["log"], C=[0.1], cv=3, repeats=1, n_jobs=1)
    (failure,) = found.failures
    assert (failure.name, failure.reason) == ("moody", reason)
    assert {o.name for o in found.outcomes} == {"log", "constant"}
    assert f"moody failed: {reason}" in " ".join(str(found).split())
    assert reason in render(found)
    assert found.to_dict()["failures"][0]["reason"] == reason


def test_a_mistake_in_a_program_is_not_a_row(monkeypatch):
    moody(monkeypatch, TypeError, 2)
    with pytest.raises(TypeError, match="not today"):
        compare(X, Y, routes=["log"], C=[0.1], cv=3, repeats=1, n_jobs=1)


def test_nothing_left_to_compare_is_an_error_that_says_why(monkeypatch):
    monkeypatch.setattr(candidates, "BASELINES", ())
    with pytest.raises(ValueError, match=r"no candidate could be measured: .*no values"):
        compare(X, Y, routes=[cc.Classifier(kernel=never)], C=[0.1], n_jobs=1)


def test_routes_that_answer_labels_need_a_price_for_them(no_trees):
    loss = cc.losses.CostMatrix([[0.0, 1.0, 2.0], [1.0, 0.0, 0.5]], actions=["go", "stay"])
    found = compare(X, Y, loss, routes=["crammer_singer", "log"], **ARGUMENTS)
    assert {f.name for f in found.failures} == {"crammer_singer", "logistic"}
    assert all("answers with labels" in f.reason for f in found.failures)
    assert set(found.problem.actions[found["log"].actions].ravel()) == {"go", "stay"}


def test_sparse_features_leave_out_only_what_needs_dense_ones():
    found = compare(sp.csr_array(X), Y, "absolute", routes=["log"], **ARGUMENTS)
    assert [(f.name, f.reason) for f in found.failures] == [
        ("trees_bayes", "it needs dense features")
    ]
    assert run_snippets(found, sp.csr_array(X)).shape == Y.shape


# ---------------------------------------------------------------- wording


def test_recommendation_claims_a_winner_only_if_all_others_are_worse(small):
    best, *others = small.outcomes
    worse = [replace(o, p_adjusted=0.01) for o in others]
    text = replace(small, outcomes=(best, *worse)).recommendation()
    assert text.startswith(f"Use {best.title}: ")
    assert f"each of the {len(others)} alternatives" in text
    assert "5 % level" in text
    tied = replace(small, outcomes=(best, replace(others[0], p_adjusted=0.06), *worse[1:]))
    assert tied.recommendation().startswith("No single winner: ")
    assert f"but {others[0].title} does not differ" in tied.recommendation()
    alone = replace(small, outcomes=(best,))
    assert alone.recommendation().startswith(f"Only {best.title} could be trained")


def test_recommendation_of_a_baseline_names_the_best_route_and_its_scores(small):
    route = small.best_route
    baseline = replace(small["logistic"], mean=0.0)
    text = replace(small, outcomes=(baseline, route)).recommendation()
    assert f"The best of the routes was {route.title}, with linear scores: " in text
    curved = replace(route, kernel="rbf")
    assert "with kernel scores" in replace(small, outcomes=(baseline, curved)).recommendation()
    assert "best of the routes" not in replace(small, outcomes=(route, baseline)).recommendation()
    no_route = replace(small, outcomes=(baseline, small["constant"]))
    assert "No route could be trained." in no_route.recommendation()


def test_few_splits_are_confessed(small):
    few = replace(small, protocol=replace(small.protocol, cv=2, repeats=2))
    assert "With 4 splits, only very large differences can show." in few.recommendation()
    assert "splits" not in small.recommendation()


def test_an_end_of_the_grid_is_named(no_trees):
    arguments = {**ARGUMENTS, "C": [1e-6, 0.3, 100.0]}
    found = compare(X, Y, "absolute", routes=["log"], **arguments)
    assert found["log"].typical_C == 0.3
    assert "log" not in wording.grid_text(found).split()
    narrow = compare(X, Y, "absolute", routes=["log"], **{**ARGUMENTS, "C": [1e-6, 0.3]})
    assert "log" in re.split(r"[ ,.]", wording.grid_text(narrow))
    assert wording.grid_text(narrow) in render(narrow)
    fixed = compare(X, Y, "absolute", routes=["log"], **{**ARGUMENTS, "C": [0.3]})
    assert wording.grid_text(fixed) == ""


def run_snippets(comparison, features):
    """Run the Python of the page on the data at hand; answers of the trained route."""
    from concordant.report.snippets import repeat_code, train_code

    comparison = replace(comparison, data_code="X, y = bring()")
    here = {"bring": lambda: (features, Y)}
    with redirect_stdout(io.StringIO()):
        exec(repeat_code(comparison), here)
        exec(train_code(comparison), here)
    for o in comparison.outcomes:
        assert here["comparison"][o.name].losses.tolist() == o.losses.tolist()
    return here["model"].predict(features)


def test_python_on_the_page_repeats_the_comparison(small):
    answers = run_snippets(small, X)
    # trained on what it is asked about: at least as good as in cross-validation, nearly
    assert np.abs(answers - Y).mean() < small["constant"].mean


# ---------------------------------------------------------------- page


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.text.append(data)

    def values(self, *names):
        return [value for name, value in self.attributes if name in names]


@pytest.fixture(params=["small", "hostile"])
def source(request):
    return render(request.getfixturevalue(request.param), "a command")


def test_page_loads_and_runs_nothing(source):
    page = Page(source)
    assert not {"script", "link", "img", "iframe", "object", "embed", "base", "image"} & {
        *page.tags
    }
    assert not page.values("src", "srcset", "data", "action")
    assert all(value.startswith("#") for value in page.values("href", "xlink:href"))
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert "@import" not in source
    css = [
        *page.values("style", "clip-path", "fill"),
        *re.findall(r"<style.*?</style>", source, re.S),
    ]
    assert all(re.findall(r"url\((.)", text) in ([], ["#"]) for text in css)


def test_pictures_refer_to_parts_of_their_own(source):
    page = Page(source)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    in_css = [u for _, v in page.attributes for u in re.findall(r"^url\(#([^)]+)\)", v or "")]
    used = [value[1:] for value in page.values("href", "xlink:href")] + in_css
    assert used
    assert set(used) <= set(ids)
    pictures = source.count("<svg")
    assert pictures == 10  # five, wide and narrow
    assert len([v for v in page.values("aria-label") if v]) == pictures


def test_page_follows_the_readers_colours(source):
    for name in set(re.findall(r"var\(--([\w-]+)\)", source)):
        assert f"--{name}:" in source
    drawn = "".join(re.findall(r"<svg.*?</svg>", source, re.S))
    tags = "".join(re.findall(r"<[^>]+>", drawn))
    assert re.findall(r"#[0-9a-f]{6}", tags) == []  # no colour of its own
    assert "prefers-color-scheme: dark" in source


def test_page_has_every_section(small):
    source = render(small, "make demo")
    headings = re.findall(r"<h2>(.*?)</h2>", source)
    assert headings == [
        "The data",
        "Loss of each route",
        f"Where the loss of {small.best.title} comes from",
        "What the surest answers cost",
        "Whether probabilities mean what they say",
        "How fast each route trains, certified",
        "Which routes are right in the limit",
        "Repeat it, use it",
        "What was measured, and how",
    ]
    text = " ".join(" ".join(Page(source).text).split())
    assert " ".join(small.recommendation().split()) in text
    assert "make demo" in text
    for o in small.outcomes:
        assert o.title in text
        assert wording.interval_text(o) in text
        if o.is_route:
            assert o.consistency in text


def test_page_shows_what_users_wrote_and_does_not_obey_it(hostile):
    source = render(hostile, HOSTILE)
    page = Page(source)
    text = "".join(page.text)
    assert text.count(HOSTILE) >= 4  # title, heading, source, command
    for label in LABELS:
        assert label in text
    assert "<img src=x>0" in text
    assert "<i>this kernel</i> has no values" in text
    assert not {"script", "img", "i"} & set(page.tags)
    # In the pictures too, labels are text and stay as they are, shortened at most.
    ticks = "".join(Page("".join(re.findall(r"<svg.*?</svg>", source, re.S))).text)
    assert "<b>low</b>" in ticks
    assert 'id="mid" url(#' in ticks
    assert "#0a0b0c & more" in ticks


def test_many_labels_with_long_names_still_make_a_page(no_trees):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(40), 3))
    names = np.array([f"a rather long name of label number {i}" for i in range(40)])
    features = np.column_stack([y + rng.normal(size=120), rng.normal(size=120)])
    found = compare(features, names[y], routes=["log"], C=[0.1], cv=2, repeats=1, n_jobs=1)
    page = Page(render(found))
    assert "and 10 more labels." in " ".join(page.text)
    assert "… " not in wording.data_text(found)
    assert "30 more" in wording.data_text(found)


def test_writing_makes_folders_and_the_same_page_each_time(small, tmp_path):
    path = write(small, tmp_path / "a" / "b.html", "make")
    assert path == tmp_path / "a" / "b.html"
    assert path.read_text(encoding="utf-8") == render(small, "make") == render(small, "make")
