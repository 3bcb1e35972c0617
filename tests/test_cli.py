"""The command line as a new user meets it: what it prints, and what it says of bad input."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file
from sklearn.dummy import DummyClassifier

import concordant as cc
from concordant import report
from concordant.cli import terminal
from concordant.cli.main import commands
from concordant.report import candidates

HEAVY = {"numpy", "scipy", "sklearn", "pandas", "matplotlib", "numba", "rich", "jinja2"}


def run(*arguments, **keywords):
    return CliRunner().invoke(commands, [str(a) for a in arguments], **keywords)


def done(*arguments, **keywords):
    result = run(*arguments, **keywords)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def few_candidates(monkeypatch):
    """The constant action only beside the routes: the others cost time and are not the point."""
    monkeypatch.setattr(candidates, "BASELINES", candidates.BASELINES[-1:])


def patients(n=120, seed=0):
    """Numbers, categories, empty cells, a name, a constant; three ordered labels."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n).astype(float)
    pressure = rng.normal(120, 15, n)
    ward = rng.choice(["A", "B", "C"], n).astype(object)
    score = (age - 50) / 20 + (pressure - 120) / 15 + rng.normal(0, 0.7, n)
    frame = pd.DataFrame(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": age,
            "ward": ward,
            "pressure": pressure,
            "always": 1,
            "risk": np.array(["low", "mid", "high"])[np.digitize(score, [-0.8, 0.8])],
        }
    )
    frame.loc[::17, "age"] = np.nan
    frame.loc[::19, "ward"] = np.nan
    return frame


@pytest.fixture
def table(elsewhere):
    patients().to_csv("patients.csv", index=False)
    with open("prices.csv", "w") as file:
        file.write("action,low,mid,high\nhome,0,2,10\nclinic,1,0,3\nhospital,4,2,0\n")
    return "patients.csv"


@pytest.fixture
def trained(table):
    done("train", table, "--target", "risk", "--loss", "prices.csv", "--model", "m", "--C", "1")
    return "m"


# ---------------------------------------------------------------- the whole way


def test_from_a_file_to_a_report_to_a_served_model(table):
    """As two processes would: what one wrote the other reads."""

    def command(*arguments):
        line = [sys.executable, "-m", "concordant", *arguments]
        return subprocess.run(line, capture_output=True, text=True)

    grades = ("--target", "risk", "--loss", "absolute", "--order", "low,mid,high")
    compared = command("compare", table, *grades, "--quick", "--routes", "log")
    assert compared.returncode == 0, compared.stderr
    for piece in (
        "low < mid < high",
        "best constant °",
        "Report written to concordant-report.html",
    ):
        assert piece in compared.stdout
    assert compared.stderr == ""
    assert (
        "concordant compare patients.csv --target risk"
        in Path("concordant-report.html").read_text()
    )
    made = command("train", table, *grades, "--route", "log", "--model", "risk.model")
    assert made.returncode == 0, made.stderr
    served = command("predict", "risk.model", table)
    assert served.returncode == 0, served.stderr
    frame, model = pd.read_csv(table), cc.load("risk.model")
    answers = [line.split(",") for line in served.stdout.splitlines()]
    column = answers[0].index("action")
    assert [row[column] for row in answers[1:]] == model.predict(frame).tolist()


def test_compare_as_json_is_the_comparison_of_the_library(table, few_candidates):
    arguments = ["compare", table, "--target", "risk", "--loss", "prices.csv", "--json"]
    arguments += ["--routes", "log,quadratic", "--C", "0.1", "--cv", "3", "--repeats", "1"]
    found = json.loads(done(*arguments, "--jobs", "1", "--test", "wilcoxon").stdout)
    assert found["loss"] == "prices.csv"
    assert found["test"] == "Wilcoxon signed-rank test"
    assert found["data"]["features"][:2] == ["age", "age is missing"]
    assert {row["name"] for row in found["routes"]} == {"log", "quadratic", "constant"}
    frame = patients()
    prices = cc.losses.CostMatrix(pd.read_csv("prices.csv", index_col=0))
    from concordant.io import tables
    from concordant.io.encoding import TableEncoder

    columns = tables.infer_columns(frame.drop(columns="risk"))
    x = TableEncoder(columns).fit_transform(frame)
    expected = report.compare(
        x, frame["risk"], prices, routes=["log", "quadratic"], C=[0.1], cv=3, repeats=1,
        n_jobs=1, missing="impute",
    )  # fmt: skip
    for row in found["routes"]:
        assert row["mean_loss"] == pytest.approx(expected[row["name"]].mean, rel=1e-12)


def test_predict_adds_columns_and_keeps_rows_in_order(trained, table):
    done("predict", trained, table, "--output", "out.csv")
    out, frame = pd.read_csv("out.csv"), pd.read_csv(table)
    pd.testing.assert_frame_equal(out[list(frame.columns)], frame)
    model = cc.load(trained)
    assert out["action"].tolist() == model.predict(frame).tolist()
    scores = out[["score_home", "score_clinic", "score_hospital"]].to_numpy()
    np.testing.assert_allclose(scores, model.decision_function(frame), rtol=1e-12)


def test_predict_streams_in_pieces(trained, table):
    from concordant.cli.serving import Served

    served = Served(trained)
    whole = served.model.predict(pd.read_csv(table))
    pieces = list(served.pieces(table, None, rows=7))
    assert [len(frame) for frame, _ in pieces] == [7] * 17 + [1]
    np.testing.assert_array_equal(
        np.concatenate([served.model.predict(x) for _, x in pieces]), whole
    )


def test_predict_from_standard_input_and_only_the_answers(trained, table):
    text = Path(table).read_text()
    result = done("predict", trained, "-", "--only", input=text)
    lines = result.stdout.splitlines()
    assert lines[0] == "action,score_home,score_clinic,score_hospital"
    assert len(lines) == 121


def test_abstentions_and_probabilities_have_columns(table):
    done(
        "train", table, "--target", "risk", "--loss", "abstain:0.2", "--route", "log",
        "--model", "m", "--C", "1",
    )  # fmt: skip
    done("predict", "m", table, "--output", "out.csv")
    out = pd.read_csv("out.csv")
    assert (out["abstained"] == (out["action"] == "abstain")).all()
    assert 0 < out["abstained"].sum() < len(out)
    proba = out[["probability_high", "probability_low", "probability_mid"]].to_numpy()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (out["abstained"] == (proba.max(axis=1) < 0.8)).all()


def test_evaluate_prices_the_answers(trained, table):
    result = json.loads(done("evaluate", trained, table, "--json").stdout)
    frame, model = pd.read_csv(table), cc.load(trained)
    prices = pd.read_csv("prices.csv", index_col=0)
    cost = [prices.loc[a, t] for a, t in zip(model.predict(frame), frame["risk"])]
    assert result["mean_loss"] == pytest.approx(np.mean(cost))
    assert result["rows"] == 120
    best = min((np.mean([prices.loc[a, t] for t in frame["risk"]]), a) for a in prices.index)
    assert result["best_constant"] == {"action": best[1], "mean_loss": pytest.approx(best[0])}
    assert sum(row["share_of_loss"] for row in result["labels"]) == pytest.approx(1.0)
    assert result["accuracy"] is None  # no action is a label
    text = done("evaluate", trained, table).stdout
    assert "Mean loss (prices.csv) on 120 rows" in text


def test_info_says_what_the_file_holds(trained):
    found = json.loads(done("info", trained, "--json").stdout)
    assert found["model"] == "Classifier"
    assert found["loss"] == "prices.csv"
    assert found["rows"] == 120
    assert found["target"] == "risk"
    assert found["answers"] == ["home", "clinic", "hospital"]
    assert found["consistency"].startswith("Consistent for this loss")
    assert 0 <= found["gap"] <= 1e-4 * found["objective"]
    assert sum(found["labels"].values()) == 120
    assert "certificate  the minimum lies between" in done("info", trained).stdout


def test_a_model_saved_from_python_is_served_too(table):
    frame = patients().dropna()
    model = cc.Classifier("zero_one", "log").fit(frame[["pressure", "age"]], frame["risk"])
    cc.save(model, "plain")
    frame.to_csv("full.csv", index=False)
    done("predict", "plain", "full.csv", "--output", "out.csv")
    expected = model.predict(frame[["pressure", "age"]])
    assert pd.read_csv("out.csv")["action"].tolist() == expected.tolist()
    assert json.loads(done("info", "plain", "--json").stdout)["surrogate"] == "log"
    result = done("evaluate", "plain", "full.csv", "--target", "risk", "--json")
    assert json.loads(result.stdout)["accuracy"] == pytest.approx(
        (expected == frame["risk"]).mean()
    )


@pytest.mark.parametrize("kind", ["tsv", "parquet", "svmlight", "csv.gz"])
def test_every_format_gives_the_same_model(kind, table):
    frame = patients().dropna().drop(columns=["name", "ward", "always"])
    frame["risk"] = frame["risk"].map({"low": 0, "mid": 1, "high": 2})
    path, target = f"data.{kind}", ("--target", "risk")
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "svmlight":
        dump_svmlight_file(frame[["age", "pressure"]].to_numpy(), frame["risk"], path)
        target = ()
    else:
        frame.to_csv(path, sep="\t" if kind == "tsv" else ",", index=False)
    done("train", path, *target, "--loss", "absolute", "--model", "m", "--C", "1")
    result = json.loads(done("evaluate", "m", path, "--json").stdout)
    assert result["rows"] == len(frame)
    assert result["mean_loss"] < result["best_constant"]["mean_loss"]
    if kind == "parquet":
        grades = frame["risk"].map({0: "a", 1: "c", 2: "b"})
        frame["risk"] = pd.Categorical(grades, ["a", "c", "b"], ordered=True)
        frame.to_parquet(path)
        done("train", path, *target, "--loss", "absolute", "--model", "m", "--C", "1", "--force")
        assert cc.load("m")[-1].loss.labels == ["a", "c", "b"]


def test_bench_measures_what_is_installed(monkeypatch):
    trees = "sklearn.ensemble.HistGradientBoostingClassifier"  # slow, and not ours
    monkeypatch.setattr(trees, lambda random_state: DummyClassifier())
    line = ("bench", "--rows", "60", "--features", "2", "--labels", "3", "--rounds", "1", "--json")
    found = json.loads(done(*line).stdout)
    assert {"log", "scikit-learn LogisticRegression"} < set(found["seconds"])
    assert all(0 < seconds < 600 for seconds in found["seconds"].values())


# ---------------------------------------------------------------- manners


def test_help_is_light_and_names_every_command():
    code = (
        "import sys\n"
        "from concordant.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "[]"
    for name in ("compare", "train", "predict", "evaluate", "info", "bench", "completion"):
        assert f"  {name}" in result.stdout
        page = done(name, "--help").stdout
        assert "Example" in page
        assert "\b" not in page


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    assert "_CONCORDANT_COMPLETE" in done("completion", shell).stdout


def test_completion_completes():
    env = {
        "_CONCORDANT_COMPLETE": "bash_complete",
        "COMP_WORDS": "concordant ev",
        "COMP_CWORD": "1",
    }
    line = [sys.executable, "-c", "from concordant.cli import main; main()"]
    result = subprocess.run(line, capture_output=True, text=True, env=os.environ | env)
    assert result.stdout == "plain,evaluate\n"


def test_no_color_is_honoured(monkeypatch, capsys):
    green = "\x1b[1;32m"
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLORTERM", "")):
        monkeypatch.setenv(name, value)
    terminal.say("best", style="bold green")
    assert green in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.say("best", style="bold green")
    assert green not in capsys.readouterr().out


def test_progress_is_for_terminals_only(monkeypatch, capsys):
    with terminal.live() as progress:
        assert progress is None
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as watched:
        monkeypatch.setattr(sys, "stderr", watched)
        with terminal.live() as progress:
            progress(1, 3, "first steps")
    raw = everything(ours)
    assert "1/3" in raw
    assert "first steps" in raw
    assert capsys.readouterr().out == ""


def everything(handle):
    """What a terminal was sent, read to its end."""
    raw = b""
    try:
        while piece := os.read(handle, 4096):
            raw += piece
    except OSError:  # the other end is closed
        pass
    os.close(handle)
    return raw.decode()


def test_nothing_is_overwritten_without_force(trained, table):
    before = Path(trained).read_bytes()
    line = ("train", table, "--target", "risk", "--model", trained, "--C", "1")
    result = run(*line)
    assert result.exit_code == 2
    assert "m exists: --force replaces it" in result.output
    assert Path(trained).read_bytes() == before
    done(*line, "--force")
    assert Path(trained).read_bytes() != before
    Path("out.csv").touch()
    assert run("predict", trained, table, "--output", "out.csv").exit_code == 2
    Path("concordant-report.html").touch()
    assert run("compare", table, "--target", "risk").exit_code == 2


def test_a_failed_predict_leaves_no_file(trained, table):
    text = Path(table).read_text().replace(",1,", ",1,", 1).splitlines()
    text[50] = text[50].replace(text[50].split(",")[3], "high!")
    Path("bad.csv").write_text("\n".join(text))
    result = run("predict", trained, "bad.csv", "--output", "out.csv")
    assert result.exit_code == 1
    assert "column 'pressure' holds numbers, but row 50 has 'high!'" in result.output
    assert not os.path.exists("out.csv")
    assert [name for name in os.listdir(".") if name.endswith(".tmp")] == []


def test_debug_shows_the_traceback_and_nothing_else_does(table, monkeypatch):
    def broken(*args, **kwargs):
        raise KeyError("lost")

    monkeypatch.setattr(report, "compare", broken)
    line = ("compare", table, "--target", "risk", "--force")
    result = run(*line)
    assert result.exit_code == 1
    assert "unexpected KeyError: 'lost' (--debug shows the traceback)" in result.output
    assert "Traceback" not in result.output
    assert isinstance(run(*line, "--debug").exception, KeyError)


# ---------------------------------------------------------------- bad input


def write(name, content):
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return name


TARGET = ("--target", "y")
BAD_DATA = [
    ("none.csv", None, TARGET, 2, "'none.csv' does not exist"),
    ("empty.csv", "", TARGET, 1, "is empty: it has no header line and no rows"),
    ("header.csv", "x,y\n", TARGET, 1, "has a header line but no rows"),
    ("one.csv", "x,z,y\n1,2,a\n", TARGET, 1, "no column is left to predict from"),
    ("labels.csv", "x,y\n1,a\n2,a\n3,a\n", TARGET, 1, "at least two labels with two examples"),
    ("wrong.csv", "x,yy\n1,a\n2,b\n", TARGET, 2, "there is no column 'y'; did you mean 'yy'?"),
    ("none.csv", "x,y\n1,a\n2,b\n", (), 2, "--target COLUMN says which column to predict"),
    ("latin.csv", "x,y\n1,né\n2,b\n".encode("latin-1"), TARGET, 1, "--encoding latin-1"),
    (
        "mixed.csv", "x,y\n1,a\n2,b\n3,a\nsoon,b\n", TARGET, 1,
        "column 'x' mixes numbers and text: 1 of 4 values are no numbers, the first 'soon' in row",
    ),
    ("empty-y.csv", "x,y\n1,a\n2,\n3,b\n", TARGET, 1, "'y' is empty in 1 rows, first in row 2"),
    (
        "many.csv", "x,y\n" + "".join(f"{i % 7},{i / 7}\n" for i in range(10_000)), TARGET, 1,
        "10,000 different values in 10,000 rows: that is a measurement or a name",
    ),
    ("semi.csv", "x;y\n1;a\n2;b\n", TARGET, 1, "looks separated by ';'"),
    ("ragged.csv", "x,y\n1,a\n2,b,c,d\n", TARGET, 1, "is no proper table"),
    ("wide.csv", "x,y\n1,a,9,8\n2,b,9,8\n", TARGET, 1, "more cells than its header line has names"),
    ("data.xyz", "x,y\n1,a\n", TARGET, 1, "cannot tell the format of 'data.xyz'"),
    ("bad.parquet", "PAR0", TARGET, 1, "is no Parquet file"),
    ("bad.svm", "1 x:y\n", (), 1, "is no SVMlight file"),
    ("infinite.csv", "x,y\n1,a\ninf,b\n", TARGET, 1, "infinite number in row 2"),
    ("twice.parquet", None, TARGET, 2, "does not exist"),
]  # fmt: skip


@pytest.mark.parametrize("command", ["compare", "train"])
@pytest.mark.parametrize(
    ("name", "content", "options", "status", "message"),
    BAD_DATA,
    ids=[row[4][:25] for row in BAD_DATA],
)
def test_bad_data_are_told_in_a_line(command, name, content, options, status, message):
    if content is not None:
        write(name, content)
    output = ("--model", "m") if command == "train" else ()
    result = run(command, name, *options, *output)
    assert message in " ".join(result.output.split())
    assert result.exit_code == status
    assert "Traceback" not in result.output
    assert not os.path.exists("m")
    assert not os.path.exists("concordant-report.html")


BAD_OPTIONS = [
    (("--loss", "absolut"), "unknown loss 'absolut'; did you mean 'absolute'?"),
    (("--loss", "abstain:x"), "the price in 'abstain:x' is no number"),
    (("--loss", "abstain:-1"), "must be more than 0"),
    (("--loss", "costs.csv"), "there is no file 'costs.csv' with the costs"),
    (("--loss", "negative.csv"), "the cost in row 2, column 'mid' is -1.0"),
    (("--loss", "narrow.csv"), "has no column for the label 'high'"),
    (("--loss", "words.csv"), "costs must be numbers"),
    (("--order", "low,mid", "--loss", "absolute"), "it lacks 'high'"),
    (("--order", "low,mid,high,mid", "--loss", "absolute"), "it names a label twice"),
    (("--category", "wards"), "did you mean 'ward'?"),
    (("--ignore", "x"), "there is no column 'x'"),
    (("--seed", "-1"), "--seed"),
    (("--bogus",), "No such option"),
]


@pytest.mark.parametrize("command", ["compare", "train"])
@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS, ids=[r[1][:25] for r in BAD_OPTIONS])
def test_bad_options_are_usage_errors(command, options, message, table):
    write("negative.csv", "a,low,mid,high\nx,1,2,3\ny,1,-1,2\n")
    write("narrow.csv", "a,low,mid\nx,1,2\n")
    write("words.csv", "a,low,mid,high\nx,1,two,3\n")
    output = ("--model", "m") if command == "train" else ()
    result = run(command, table, "--target", "risk", *output, *options)
    assert message in " ".join(result.output.split())
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            ("compare", "patients.csv", "--target", "risk", "--routes", "logg"),
            "unknown route 'logg'",
        ),
        (("compare", "patients.csv", "--target", "risk", "--C", "a"), "are no numbers"),
        (("compare", "patients.csv", "--target", "risk", "--cv", "1"), "--cv"),
        (("compare", "patients.csv", "--target", "risk", "--report", "no/way/\0"), ""),
        (("train", "patients.csv", "--target", "risk", "--model", "m", "--C", "0"), "nor > 0"),
        (
            ("train", "patients.csv", "--target", "risk", "--model", "m", "--route", "x"),
            "unknown route",
        ),
        (("train", "patients.csv", "--target", "risk"), "Missing option '--model'"),
        (("bench", "--rows", "1"), "--rows"),
        (("completion", "cmd"), "cmd"),
        (("info",), "Missing argument 'MODEL'"),
        (("nonsense",), "No such command"),
    ],
)
def test_lines_that_make_no_sense(line, message, table):
    result = run(*line)
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["predict", "evaluate", "info"])
@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is not a model file"), (b"x,y\n1,2\n", "is not a model file"), (None, "checksum")],
)
def test_models_that_are_none(command, content, message, trained, table):
    write("other", Path(trained).read_bytes()[:-3] if content is None else content)
    result = run(command, "other", *([table] if command != "info" else []))
    assert result.exit_code == 1
    assert message in result.output
    assert run(command, "absent", *([table] if command != "info" else [])).exit_code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("name,age,ward,pressure,always,risk\n", "no rows"),
        ("age,ward,risk\n50,A,low\n", "the data lack the column 'pressure'"),
        ("age,ward,pressure,risk\n50,A,old,low\n", "column 'pressure' holds numbers"),
        (b"age,ward,pressure,risk\n50,\xff,100,low\n", "--encoding latin-1"),
        ("age,ward,pressure,risk\n50,A,100,awful\n", "awful"),
    ],
)
def test_rows_that_a_model_cannot_use(text, message, trained, table):
    write("new.csv", text)
    for command in ("predict", "evaluate"):
        if command == "predict" and message == "awful":
            continue  # the label is not looked at
        result = run(command, trained, "new.csv")
        assert result.exit_code == 1
        assert message in " ".join(result.output.split())
        assert "Traceback" not in result.output


def test_a_category_that_training_lacked_and_empty_cells_are_no_error(trained, table):
    write("new.csv", "age,ward,pressure\n,Z,100\n50,,\n")
    result = done("predict", trained, "new.csv")
    assert len(result.stdout.splitlines()) == 3
    refusing = ("--missing", "refuse", "--model", "m2", "--C", "1")
    result = run("train", table, "--target", "risk", *refusing)
    assert result.exit_code == 1
    assert "column 'age' is empty in row 1" in result.output
