"""The quick form of every experiment runs, and its report shows published values beside ours."""

from __future__ import annotations

import json
import re

import pytest

from experiments.__main__ import EXPERIMENTS, main
from experiments.common import data_folder, read_json

#: What the papers say, as it has to stand in the report. An experiment that is not named here is
#: held to the general rules below.
PUBLISHED = {
    "hybrid_one_point": ["0.54", "rises with k"],
    "hybrid_mixtures": ["better on most", "about even"],
    "thesis_figures": ["not given", "Figure 6"],
    "thesis_table2": ["81.59", "85.14"],
    "thesis_ordinal": ["0.696 (0.13)", "0.478 (0.11)"],
    "thesis_abstention": ["0.418 (0.01)", "0.742 (0.04)", "(58)"],
}


def run(name, folder, capsys, *more):
    code = main([name, "--quick", "--output", str(folder), *more])
    out, err = capsys.readouterr()
    if code != 0 and not data_folder().is_dir():
        pytest.skip(f"{name} needs data that are not on this machine: {err.strip()}")
    assert code == 0, err
    return out


def body_of_tables(text):
    """Rows of cells under the rule of each Markdown table."""
    tables, rows = [], None
    for line in text.splitlines():
        if re.match(r"\|[ :|-]+\|$", line):
            rows = []
            tables.append(rows)
        elif line.startswith("|") and rows is not None:
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif not line.startswith("|"):
            rows = None
    return tables


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_quick_form_runs_and_reports(name, tmp_path, capsys):
    text = run(name, tmp_path, capsys)
    section = text[text.index("## ") :]
    assert re.search(rf"^`python -m experiments {name} --quick`$", section, flags=re.M)
    for heading in ("**Published.** ", "**Here.** ", "**Against the published values.** "):
        after = section.split(heading, 1)[1].split("\n", 1)[0]
        assert len(after) > 20, heading
    tables = body_of_tables(section)
    assert tables
    assert any(tables), "no table has a row"
    assert "ublished" in section.split("**Here.**", 1)[1]  # in a table or a finding
    for rows in tables:
        assert not any(re.fullmatch(r"-?(nan|inf)%?", cell) for row in rows for cell in row)
    for value in PUBLISHED.get(name, ()):
        assert value in section
    for figure in re.findall(r"^Figure: (.+)$", section, flags=re.M):
        with open(figure, "rb") as file:
            assert len(file.read()) > 1000
    content = read_json(tmp_path / f"{name}.json")
    assert content["seconds"] >= 0
    assert {"versions", "source", "command", "seed"} <= content["provenance"].keys()
    # a report is made of the stored numbers alone
    again = run(name, tmp_path, capsys, "--stored")
    strip = re.compile(r" --stored|\d+(\.\d+)? s\b")
    assert strip.sub("", again[again.index("## ") :]) == strip.sub("", section)


def test_every_published_value_belongs_to_an_experiment():
    assert set(PUBLISHED) <= set(EXPERIMENTS)


def test_numbers_that_are_not_there_are_asked_for(tmp_path, capsys):
    assert main(["hybrid_one_point", "--stored", "--output", str(tmp_path)]) == 1
    assert "run without --stored first" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["hybrid_two_points"])
    assert "no experiment 'hybrid_two_points'; there are" in capsys.readouterr().err


def test_committed_results_are_readable():
    from experiments.common import RESULTS

    found = [RESULTS / f"{name}.json" for name in EXPERIMENTS]
    found = [path for path in found if path.is_file()]
    assert found
    for path in found:
        content = json.loads(path.read_text())
        assert "--quick" not in content.get("provenance", {}).get("command", "")
