"""Trials of an experiment, each kept in a file of its own so that a later run goes on."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments import common
from experiments.common import Content, Options
from experiments.report import Report


def run(
    name: str,
    options: Options,
    settings: dict[str, Any],
    keys: list[Any],
    trial: Callable[[Any], dict[str, Any]],
) -> Content:
    """Do the trials that are not on disk yet, in order; returns all there are."""
    folder = options.output / name
    origin = common.provenance(options)
    todo = [key for key in keys if not _known(_file(folder, key), settings)]
    for key in todo:
        done = {"key": key, "settings": settings, "provenance": origin, **trial(key)}
        common.write_json(_file(folder, key), done)
    return gather(name, options, settings)


def gather(name: str, options: Options, settings: dict[str, Any]) -> Content:
    """What is on disk of these settings, finished or not."""
    files = sorted((options.output / name).glob("*.json"))
    states = [common.read_json(file) for file in files]
    kept = [state for state in states if state.get("settings") == settings]
    return {
        "settings": settings,
        "trials": [{k: v for k, v in s.items() if k not in ("settings", "provenance")}
                   for s in kept],
        "sources": sorted({state["provenance"]["source"] for state in kept}),
    }  # fmt: skip


def _file(folder: Path, key: Any) -> Path:
    parts = key if isinstance(key, (list, tuple)) else [key]
    return folder / ("-".join(f"{part:04d}" for part in parts) + ".json")


def _known(file: Path, settings: dict[str, Any]) -> bool:
    return common.read_json(file).get("settings") == settings


def mean(values: list[float]) -> str:
    """Mean and standard deviation, three digits."""
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}"


Settings = Callable[[Options], dict[str, Any]]
Reporter = Callable[[Content, Options], Report]


def loader(settings: Settings) -> Callable[[str, Options], Content]:
    """What `Experiment` calls for stored results."""
    return lambda name, options: gather(name, options, settings(options))


def number_of(flag: str, what: str, default: int) -> Callable[[argparse._ArgumentGroup], None]:
    """A command-line option for the number of trials."""

    def arguments(group: argparse._ArgumentGroup) -> None:
        group.add_argument(flag, type=int, help=f"{what} (default {default})")

    return arguments
