"""The quick form of every benchmark runs where its peers are installed, and fills its tables."""

from __future__ import annotations

import ast
import json
import re
import sys

import pytest

from benchmarks import __main__ as command
from experiments.common import data_folder

NAMES = {
    module.BENCHMARK.name: module
    for module in vars(command).values()
    if getattr(module, "BENCHMARK", None) is not None
}


def packages_of(module):
    """Top-level packages that a benchmark imports anywhere, its own rooms left out."""
    with open(module.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return sorted(found - set(sys.stdlib_module_names) - {"benchmarks", "experiments"})


def test_every_benchmark_of_the_command_is_here():
    assert set(NAMES) == set(command.BENCHMARKS)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", sorted(command.BENCHMARKS))
def test_the_quick_form_runs_and_fills_its_tables(name, tmp_path, capsys):
    for package in packages_of(NAMES[name]):
        pytest.importorskip(package)
    code = command.main([name, "--quick", "--output", str(tmp_path)])
    text, error = capsys.readouterr()
    if code != 0 and not data_folder().is_dir():
        pytest.skip(f"{name} needs data that are not on this machine: {error.strip()}")
    assert code == 0, error
    content = json.loads((tmp_path / f"{name}.json").read_text())
    benchmark = command.BENCHMARKS[name]
    assert text.strip() == benchmark.text(content).strip()
    assert f"## {benchmark.title}" in text
    assert {"cpu", "cores", "versions", "source"} <= content["machine"].keys()
    tables = benchmark.tables(content)
    if not tables:
        pytest.skip(f"{name} needs data that are not on this machine")
    for table in tables:
        assert table.rows, table.caption
        for row in table.rows:
            assert len(row) == len(table.header)
            assert row[0].strip()
            assert not any(re.fullmatch(r"-?(nan|inf)[×%]?", cell.strip()) for cell in row), row
            absent = any("not here" in cell for cell in row)  # a peer that is not on this machine
            assert absent or any(re.search(r"\d", cell) for cell in row[1:]), row
    # the page needs the numbers only
    assert command.main([name, "--quick", "--stored", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out == text


def test_unknown_benchmarks_and_missing_numbers_are_named(tmp_path, capsys):
    with pytest.raises(SystemExit):
        command.main(["memory"])
    assert "no benchmark 'memory'; there are" in capsys.readouterr().err
    name = next(iter(command.BENCHMARKS))
    assert command.main([name, "--stored", "--output", str(tmp_path)]) == 1
    assert "run without --stored first" in capsys.readouterr().err
