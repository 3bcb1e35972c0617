"""Experiments and benchmark of the loss trick in their reduced forms, as a user would run them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from experiments.common import data_folder
from experiments.loss_trick import rates

NAMES = ["loss_trick_rates", "loss_trick_robust"]
# The other two need data that may not be shipped.
NEEDS = {
    "loss_trick_ranking": data_folder() / "restricted" / "movielens-100k",
    "loss_trick_digits": data_folder() / "tabular" / "usps.npz",
}


def run(name, folder):
    from experiments.__main__ import main

    return main([name, "--quick", "--output", str(folder)])


@pytest.mark.parametrize("name", [*NAMES, *NEEDS])
def test_reduced_experiments_run_and_can_be_reported_again(name, tmp_path, capsys):
    if name in NEEDS and not NEEDS[name].exists():
        assert run(name, tmp_path) == 1
        assert "CONCORDANT_DATA" in capsys.readouterr().err
        return
    assert run(name, tmp_path) == 0
    text = capsys.readouterr().out
    assert "**Published.**" in text
    assert "provenance" in json.loads((tmp_path / f"{name}.json").read_text())
    assert (tmp_path / f"{name}.svg").stat().st_size > 1000
    from experiments.__main__ import main

    assert main([name, "--quick", "--stored", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out == text


def test_trials_go_on_where_they_were(tmp_path):
    from experiments.common import Options
    from experiments.loss_trick import trials

    done = []

    def trial(key):
        done.append(key)
        return {"value": key}

    options = Options(output=tmp_path)
    first = trials.run("x", options, {"a": 1}, [0, 1], trial)
    assert [t["value"] for t in first["trials"]] == [0, 1]
    more = trials.run("x", options, {"a": 1}, [0, 1, 2], trial)
    assert done == [0, 1, 2]
    assert [t["value"] for t in more["trials"]] == [0, 1, 2]
    assert trials.gather("x", options, {"a": 2})["trials"] == []


def test_known_limits_of_the_synthetic_problem():
    """Kernel dependency estimation with the truth: right for one loss, wrong for the other."""
    found = rates.limits()
    assert found["induced"] == pytest.approx(0.0, abs=1e-12)
    assert found["product"] > 0.1
    p = rates.probabilities(np.linspace(-1, 1, 7))
    assert np.allclose(p.sum(axis=1), 1.0)
    best = rates.OUTPUTS[(p @ rates.LOSSES["product"].table(rates.OUTPUTS, rates.OUTPUTS).T)
                         .argmin(axis=1)]  # fmt: skip
    assert rates.excess(best, np.linspace(-1, 1, 7), "product") == pytest.approx(0.0, abs=1e-12)


def test_the_reduced_benchmark_runs(tmp_path, capsys):
    from benchmarks.__main__ import main

    assert main(["loss_trick", "--quick", "--output", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.count("|") > 60
    content = json.loads((tmp_path / "loss_trick.json").read_text())
    assert all(run["least"] >= 1.0 for run in content["orderings"])
    assert content["large"][0]["error"] <= 1.1 * content["large"][1]["error"]
