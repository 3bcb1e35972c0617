"""0-1 loss on twelve UCI data sets, linear and Gaussian (Fathony's thesis, Table II)."""

from __future__ import annotations

import argparse
import sys

from experiments import common
from experiments.common import Content, DataMissing, Experiment, Options
from experiments.report import Report
from experiments.thesis_table2 import summary
from experiments.thesis_table2.published import DATASETS
from experiments.thesis_table2.work import KERNELS, METHODS, NAME, Table2Work
from experiments.tuned.protocol import FULL, QUICK, SPLITS, Cell, jobs
from experiments.tuned.work import gather, work

QUICK_DATASETS = ("iris", "redwine")
QUICK_SPLITS = 3


def selected(options: Options) -> list[Cell]:
    """The cells asked for whose data are here."""
    wanted = {
        "datasets": QUICK_DATASETS if options.quick else tuple(DATASETS),
        "kernels": KERNELS,
        "methods": tuple(METHODS),
    }
    wanted = {key: options.own.get(key) or value for key, value in wanted.items()}
    return [
        Cell(dataset, kernel, method)
        for dataset in wanted["datasets"]
        if is_here(dataset)
        for kernel in wanted["kernels"]
        for method in wanted["methods"]
    ]


def is_here(dataset: str) -> bool:
    try:
        common.load_table(dataset)
    except DataMissing as error:
        print(f"left out: {error}", file=sys.stderr)
        return False
    return True


def compute(options: Options) -> Content:
    protocol = QUICK if options.quick else FULL
    splits = options.own.get("splits") or (QUICK_SPLITS if options.quick else SPLITS)
    origin = common.provenance(options)
    work_list = jobs(selected(options), splits, protocol, DATASETS)
    todo = [(Table2Work, *job, protocol, options.output / NAME, origin) for job in work_list]
    common.parallel(work, todo, options.jobs)
    return load(NAME, options)


def load(name: str, options: Options) -> Content:
    """The cells as they are on disk, finished or not."""
    protocol = QUICK if options.quick else FULL
    return {"cells": gather(options.output / NAME, protocol, Table2Work.key)}


def report(content: Content, options: Options) -> Report:
    protocol = QUICK if options.quick else FULL
    return summary.report(content["cells"], protocol, options)


def arguments(group: argparse._ArgumentGroup) -> None:
    """Filters, and how many splits."""
    for name, choices in (("datasets", DATASETS), ("kernels", KERNELS), ("methods", METHODS)):
        group.add_argument(f"--{name}", nargs="+", choices=list(choices), metavar="NAME")
    group.add_argument("--splits", type=int, help=f"random splits (default {SPLITS})")


EXPERIMENT = Experiment(
    NAME, "0-1 loss on 12 UCI sets: AL0-1, WW, CS, LLW", compute, report, load, arguments
)
