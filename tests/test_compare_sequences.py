"""Sequences: the comparison, its page, and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedKFold

import concordant as cc
from concordant.cli.main import commands
from concordant.io.tokens import ColumnFeatures, usual_template
from concordant.report import compare_sequences, render

X, Y = cc.datasets.make_chains(24, 3, length=(3, 7), n_features=4, random_state=0)
NAMES = [np.array(["a", "b", "c"])[labels] for labels in Y]
WORDS = [[f"<i>w{i}-{t}</i>" for t in range(len(labels))] for i, labels in enumerate(Y)]


def run(*arguments):
    return CliRunner().invoke(commands, [str(a) for a in arguments])


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def found():
    return compare_sequences(
        X, NAMES, "absolute", routes=["log", "hinge"], C=[0.5], cv=3, n_jobs=1, words=WORDS
    )


def test_numbers_are_those_of_plain_cross_validation(found):
    folds = RepeatedKFold(n_splits=3, n_repeats=1, random_state=0)
    route, single = [], []
    for train, test in folds.split(np.zeros(len(X))):
        truth = np.concatenate([Y[i] for i in test])
        model = cc.SequenceLabeler("absolute", "log", C=0.5, tol=1e-2)
        model.fit([X[i] for i in train], [Y[i] for i in train])
        answer = np.concatenate(list(model.predict([X[i] for i in test])))
        route.append(np.abs(answer - truth).mean())
        logistic = LogisticRegression(C=0.5, max_iter=200)
        x = np.vstack([X[i] for i in train])
        logistic.fit(x, np.concatenate([Y[i] for i in train]))
        proba = logistic.predict_proba(np.vstack([X[i] for i in test]))
        single.append(np.abs(cc.losses.Absolute().bayes_action(proba) - truth).mean())
    np.testing.assert_allclose(found["log"].losses, route, atol=0.02)
    np.testing.assert_allclose(found["logistic_bayes"].losses, single)
    assert found["log"].mean < found["constant"].mean
    assert found["constant"].proba is None
    np.testing.assert_allclose(found["log"].proba.sum(axis=2), 1.0, rtol=1e-4)


def test_page_shows_the_worst_sequences_and_escapes_their_words(found):
    page = render(found)
    assert "24 sequences with" in page
    worst = found.problem.worst(found.best)
    lost = [sum(token.cost for token in tokens) for tokens in worst]
    assert lost == sorted(lost, reverse=True)
    assert all(
        (token.cost > 0) == (token.truth != token.answer) for tokens in worst for token in tokens
    )
    assert "The sequences that lost most" in page
    assert "&lt;i&gt;w" in page
    assert "<i>w" not in page
    assert "compare_sequences" in page
    assert "cc.SequenceLabeler(" in page


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, NAMES[:-1], "inconsistent numbers"),
        (X, [NAMES[0][:-1], *NAMES[1:]], "sequence 0 has"),
        (X, [[None] * len(labels) for labels in Y], "None among them"),
        (X[:1], NAMES[:1], "two sequences"),
        (X, [["a"] * len(labels) for labels in Y], "two different labels"),
    ],
)
def test_sequences_that_cannot_be_compared(x, y, message):
    with pytest.raises(ValueError, match=message):
        compare_sequences(x, y)


# ---------------------------------------------------------------- features of columns


def test_columns_become_features_by_the_template():
    rows = [[("The", "DT"), ("2-way", "JJ")], [("X", "NN")]]
    given = ColumnFeatures("U0:%x[0,0]/%x[1,1]\nB").fit(rows)
    assert given.transform(rows)[0] == [["U0:The/JJ"], ["U0:2-way/_B+1"]]
    usual = ColumnFeatures().fit(rows)
    first, second = usual.transform(rows)[0]
    assert len(usual_template(2).splitlines()) == 15
    assert {"U0+0:The", "U1+1:JJ", "is:capital", "prefix:t", "suffix:the"} < set(first)
    assert {"is:digit", "is:dash", "U1-1:DT", "U0pair-1:The/2-way"} < set(second)
    with pytest.raises(ValueError, match="sequence 1 has a token with fewer than 2 columns"):
        usual.transform([[("alone",)]])


def test_macros_of_pairs_become_features_of_steps():
    rows = [[("The",), ("cat",)], [("X",)]]
    first, second = ColumnFeatures("U0:%x[0,0]\nB1:%x[-1,0]/%x[0,0]\nB").fit(rows).transform(rows)
    assert isinstance(first, cc.Sequence)
    assert (first.nodes, first.edge_features) == ([["U0:The"], ["U0:cat"]], [["B1:The/cat"]])
    assert second.edge_features == []


# ---------------------------------------------------------------- command line


@pytest.fixture
def tagged(tmp_path, monkeypatch):
    """Forty tagged sentences as columns, and as CRFsuite's text."""
    monkeypatch.chdir(tmp_path)
    web = cc.datasets.load_webtags()
    tags = [["noun" if t.startswith("N") else "other" for t in tags] for tags in web.tags[:40]]
    columns = [list(zip(words, labels)) for words, labels in zip(web.words, tags)]
    cc.io.write_conll("tags.conll", columns)
    attributes = [
        [{f"w={w}": 1.0, "length": len(w) / 4} for w in words] for words in web.words[:40]
    ]
    cc.io.write_crfsuite("tags.crfsuite", attributes, tags)
    return tags


def test_compare_reads_columns(tagged):
    line = ("compare", "tags.conll", "--routes", "log", "--C", "1", "--cv", "2", "--jobs", "1")
    result = json.loads(done(*line, "--json").stdout)
    assert {row["name"] for row in result["routes"]} == {"log", "logistic_bayes", "constant"}
    losses = {row["name"]: row["mean_loss"] for row in result["routes"]}
    assert losses["log"] < losses["constant"]
    assert "The sequences that lost most" in Path("concordant-report.html").read_text()


@pytest.mark.parametrize("kind", ["conll", "crfsuite"])
def test_a_model_of_sequences_is_trained_served_and_judged(kind, tagged):
    data = f"tags.{kind}"
    done("train", data, "--route", "log", "--model", "m")
    out = done("predict", "m", data).stdout.strip("\n").split("\n\n")
    place = -1 if kind == "conll" else 0
    separator = " " if kind == "conll" else "\t"
    answers = [[line.split(separator)[place] for line in s.splitlines()] for s in out]
    assert [len(a) for a in answers] == [len(t) for t in tagged]
    right = np.mean([a == t for x, y in zip(answers, tagged) for a, t in zip(x, y)])
    result = json.loads(done("evaluate", "m", data, "--json").stdout)
    assert result["accuracy"] == pytest.approx(right)
    assert right > 0.8
    facts = json.loads(done("info", "m", "--json").stdout)
    assert facts["model"] == "SequenceLabeler"
    assert facts["rows"] == 40
    if kind == "crfsuite":
        first = Path(data).read_text().splitlines()[0].split("\t")[1:]
        assert out[0].splitlines()[0].split("\t")[1:] == first


def test_templates_may_speak_of_pairs(tagged):
    Path("template").write_text("U0:%x[0,0]\nB0:%x[-1,0]\nB", encoding="utf-8")
    line = ("compare", "tags.conll", "--template", "template", "--routes", "log", "--C", "1")
    result = json.loads(done(*line, "--cv", "2", "--jobs", "1", "--json").stdout)
    assert {row["name"] for row in result["routes"]} == {"log", "logistic_bayes", "constant"}
    done("train", "tags.conll", "--template", "template", "--route", "log", "--model", "m")
    model = cc.load("m")
    out = done("predict", "m", "tags.conll").stdout.strip("\n").split("\n\n")
    assert [len(s.splitlines()) for s in out] == [len(t) for t in tagged]
    found = getattr(model, "steps", [(None, model)])[-1][1]
    assert any(name.startswith("B0:") for name in found.edge_vocabulary_)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.conll", b"", "is empty: it has no sequences"),
        ("one.conll", b"a\nb\n", "has one column; the last is the label"),
        ("ragged.conll", b"a b\nc\n", "line 2: 1 columns, the lines before have 2"),
        ("latin.conll", b"caf\xe9 N\n", "is not UTF-8"),
        ("label.conll", b"a N\nb N\n\nc N\n", "two different labels"),
        ("bad.crfsuite", b"N\tw=a:x\n", "is not a finite number"),
    ],
)
def test_bad_files_of_sequences(name, content, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    result = run("compare", name)
    assert result.exit_code == 1
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output
