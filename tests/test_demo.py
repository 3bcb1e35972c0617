"""The demonstration, run as a new user would run it."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import concordant.report
from concordant import demo
from concordant.report import candidates

SMALL = {"C": (0.03,), "cv": 3, "repeats": 1, "n_jobs": 1, "routes": ["log"]}


def python(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, encoding="utf-8", cwd=cwd
    )


def test_quick_from_the_command_line_as_json(tmp_path):
    done = python("-m", "concordant.demo", "--quick", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["loss"] == "absolute"
    assert found["data"]["n"] == 1599
    assert found["failures"] == []
    assert found["protocol"]["splits"] == 3
    losses = {row["name"]: row["mean_loss"] for row in found["routes"]}
    assert set(concordant.surrogates.SURROGATES) < set(losses)
    # Whatever learns anything beats the best constant answer on this data.
    assert max(losses, key=losses.get) == "constant"
    assert losses["log"] == pytest.approx(losses["logistic_bayes"], rel=0.02)
    assert found["best"] == min(losses, key=losses.get)
    page = (tmp_path / found["report"]).read_text(encoding="utf-8")
    assert demo.QUESTION in page
    assert "python -m concordant.demo --seed 0 --quick" in page


def test_text_says_what_was_measured_and_where_the_report_is(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "QUICK", SMALL)
    monkeypatch.setattr(candidates, "BASELINES", candidates.BASELINES[1:])
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "new folder" / "report.html"
    assert demo.main(["--quick", "--seed", "3", "--output", str(path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.endswith(f"\nReport written to {path}\n")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    text = " ".join(out.split())
    for piece in (
        "1,599 examples with 11 features",
        "3-fold cross-validation, once",
        "C = 0.03; seed 3.",
        "log",
        "logistic (Bayes) °",
        "best constant °",
        "corrected resampled t-test",
        "With 3 splits",
    ):
        assert piece in text
    rows = [line for line in out.splitlines() if re.search(r"\d ± \d", line)]
    assert len(rows) == 4  # one line a candidate: nothing was wrapped at 80 columns


def refuse(*args, **kwargs):
    raise AssertionError("worked before looking at its arguments")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bogus"], "No such option '--bogus'"),
        (["--seed", "x"], "'x' is not a valid integer"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--seed", "4294967296"], "4294967296 is not in the range"),
        (["extra"], "Got unexpected extra argument (extra)"),
    ],
)
def test_bad_arguments_are_a_usage_error(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(concordant.report, "compare", refuse)
    assert demo.main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["file/report.html", "folder"])
def test_unwritable_report_is_told_before_the_work(name, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr(concordant.report, "compare", refuse)
    assert demo.main(["--quick", "--output", str(tmp_path / name)]) == 1
    assert re.search(r"Error: cannot write .*: \w+", capsys.readouterr().err)


def test_interruption_leaves_no_new_file_and_keeps_an_old_one(tmp_path, monkeypatch, capsys):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(concordant.report, "compare", interrupted)
    old, new = tmp_path / "old.html", tmp_path / "new.html"
    old.write_text("old")
    for path in (old, new):
        assert demo.main(["--quick", "--output", str(path)]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert old.read_text() == "old"
    assert not new.exists()


def test_help_and_import_stay_light():
    code = (
        "import sys, concordant\n"
        "from concordant import demo\n"
        "assert demo.main(['--help']) == 0\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'matplotlib', 'numba', 'rich', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
