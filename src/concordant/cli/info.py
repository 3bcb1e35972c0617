"""``concordant info``: what a model file holds."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import options, terminal


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False), metavar="MODEL")
@options.json_option
@options.debug_option
def info(model: str, as_json: bool) -> None:
    """What a model is: loss, route, consistency, certificate, the data it saw.

    \b
    Example:
      concordant info wine.model
    """
    from concordant.io import describe, load

    found = _facts(load(model), describe(model))
    if as_json:
        terminal.say_json(found)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in found.items():
        if name != "columns":
            table.add_row(name.replace("_", " "), Text(_text(value)))
    terminal.console().print(table)


def _facts(model: Any, file: dict[str, Any]) -> dict[str, Any]:
    last = model[-1] if hasattr(model, "steps") else model
    about = file["about"]
    facts: dict[str, Any] = {"model": type(last).__name__}
    if hasattr(model, "steps"):
        facts["steps"] = [type(step).__name__ for _, step in model.steps]
    for name in ("loss", "surrogate", "C", "kernel"):
        value = getattr(last, name, None)
        if value is not None:
            plain = isinstance(value, (str, int, float))
            facts[name] = value if plain else " ".join(repr(value).split())
    if "loss" in about:
        facts["loss"] = about["loss"]
    facts |= _certificate(last)
    if hasattr(last, "consistency"):
        facts["consistency"] = last.consistency()
    if hasattr(last, "classes_"):
        facts["answers"] = [str(a) for a in getattr(last, "actions_", last.classes_).tolist()]
    for name in ("data", "rows", "target", "labels", "columns", "trained", "seconds"):
        if name in about:
            facts[name] = about[name]
    other = {k: v for k, v in about.items() if k not in facts and k not in ("route", "features")}
    if other:
        facts["notes"] = other
    if hasattr(last, "n_features_in_"):
        facts["features"] = int(last.n_features_in_)
    size = {"bytes": file["bytes"], "written_by": f"concordant {file['library']}"}
    return facts | size | {"format": file["format"]}


def _certificate(last: Any) -> dict[str, Any]:
    if not hasattr(last, "objective_"):
        return {}
    objective = float(last.objective_)
    found: dict[str, Any] = {"objective": objective}
    gap = getattr(last, "gap_", None)
    if gap is not None:
        found["gap"] = float(gap)
        found["certificate"] = f"the minimum lies between {objective - gap:.6g} and {objective:.6g}"
    return found


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(
            f"{k} ({v:,})" if isinstance(v, int) else f"{k}: {v}" for k, v in value.items()
        )
    if isinstance(value, list):
        return ", ".join(str(v) for v in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
