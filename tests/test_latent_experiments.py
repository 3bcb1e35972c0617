"""The experiments on weakly labelled data: small forms from end to end, and their summaries."""

import json

import numpy as np
import pytest
from scipy import stats

from benchmarks.__main__ import main as run_benchmarks
from experiments.__main__ import main as run_experiments
from experiments.common import Options, data_folder
from experiments.latent import work
from experiments.latent.work import Fit

NEEDS = {
    "latent_mammals": "structured/mammals_hog/hog_cells.npz",
    "latent_clutter": "tabular/usps.npz",
    "latent_blood": "structured/bccd/images.zip",
}


@pytest.mark.parametrize("name", NEEDS)
def test_quick_form(name, tmp_path, capsys):
    if not (data_folder() / NEEDS[name]).is_file():
        pytest.skip("the data are not on this machine")
    assert run_experiments([name, "--quick", "--output", str(tmp_path)]) == 0
    page = capsys.readouterr().out
    assert "| dissimilarity" in page
    content = json.loads((tmp_path / f"{name}.json").read_text())
    rows = [row for unit in content["units"] for row in unit]
    assert len(rows) == len(content["units"]) * len(content["fits"])
    assert all(0.0 <= row["label"] <= 1.0 for row in rows)
    assert not any(row["rises"] for row in rows if row["fit"][0] == "dissimilarity")
    assert run_experiments([name, "--quick", "--stored", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out == page


def test_quick_benchmark(tmp_path, capsys):
    if not (data_folder() / NEEDS["latent_mammals"]).is_file():
        pytest.skip("the data are not on this machine")
    assert run_benchmarks(["latent", "--quick", "--output", str(tmp_path)]) == 0
    assert "Whole fits" in capsys.readouterr().out
    content = json.loads((tmp_path / "latent.json").read_text())
    assert all(
        run[name]["gap"] <= 1e-3
        for run in content["inner"]
        for name in ("frank_wolfe", "cutting_plane")
    )


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    fits = [Fit("latent SVM", "overlap", C) for C in (1.0, 2.0, 3.0)]
    made = []

    def prepare(unit):
        def run(fit):
            made.append((unit, fit.C))
            if len(made) == 3:
                raise KeyboardInterrupt
            return {"pair": fit.C + unit}

        return run

    options = Options(output=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        work.run_units("name", options, 2, fits, prepare)
    units = work.run_units("name", options, 2, fits, prepare)
    assert made == [(0, 1.0), (0, 2.0), (0, 3.0), (0, 3.0), (1, 1.0), (1, 2.0), (1, 3.0)]
    assert work.values(units, fits[1], "pair").tolist() == [2.0, 3.0]
    assert work.best(units, fits, "pair") == fits[0]


def test_summaries():
    fits = [Fit("latent SVM", "overlap", C) for C in (1.0, 2.0)]
    units = [
        [
            {"fit": list(fits[0]), "by": 0.1, "what": 5},
            {"fit": list(fits[1]), "by": 0.1, "what": 6},
        ],
        [
            {"fit": list(fits[0]), "by": 0.3, "what": 7},
            {"fit": list(fits[1]), "by": 0.2, "what": 8},
        ],
    ]
    assert work.selected(units, fits, "by", "what").tolist() == [5, 8]
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 8))
    assert work.p_value(a, b) == f"{stats.ttest_rel(a, b).pvalue:.3f}"
    assert work.p_value(a, a) == "equal"
    assert work.p_value(a + 9.0 + rng.normal(size=8), a) == "<0.001"
    assert work.p_value(a[:1], b[:1]) == "–"
    assert work.spread(np.array([0.1, 0.3])) == "20.00 ± 14.14"
