"""Absolute loss on twelve ordinal data sets (Fathony's thesis, Tables IV and V)."""

from __future__ import annotations

import argparse
import sys

from experiments import common
from experiments.common import Content, DataMissing, Experiment, Options
from experiments.report import Report
from experiments.thesis_ordinal import report as text
from experiments.thesis_ordinal.published import DATASETS, TABLE_4, TABLE_5
from experiments.thesis_ordinal.work import (
    FREQUENCY,
    LINEAR,
    NAME,
    QUICK_LINEAR,
    OrdinalWork,
    load,
    sizes,
)
from experiments.tuned.protocol import FULL, QUICK, SPLITS, Cell, Protocol, jobs
from experiments.tuned.work import gather, work

QUICK_DATASETS = ("diabetes", "pyrimidines")
QUICK_SPLITS = 2
BINS = {"width": "", "frequency": FREQUENCY}


def protocols(options: Options) -> dict[str, Protocol]:
    if options.quick:
        return {"linear": QUICK_LINEAR, "gaussian": QUICK}
    return {"linear": LINEAR, "gaussian": FULL}


def selected(options: Options) -> list[Cell]:
    """The cells asked for whose data are here."""
    own = options.own
    datasets = own.get("ordinal_datasets") or (QUICK_DATASETS if options.quick else DATASETS)
    out = []
    for table in (TABLE_4, TABLE_5):
        if table.kernel not in (own.get("ordinal_kernels") or ("linear", "gaussian")):
            continue
        methods = own.get("ordinal_methods") or table.methods
        for suffix in [BINS[bins] for bins in own.get("bins") or ("width",)]:
            out += [
                Cell(name + suffix, table.kernel, method)
                for name in datasets
                if name in table.cells and _is_here(name)
                for method in table.methods
                if method in methods
            ]
    return out


def _is_here(dataset: str) -> bool:
    try:
        load(dataset)
    except DataMissing as error:
        print(f"left out: {error}", file=sys.stderr)
        return False
    return True


def compute(options: Options) -> Content:
    splits = options.own.get("ordinal_splits") or (QUICK_SPLITS if options.quick else SPLITS)
    origin = common.provenance(options)
    todo = []
    for kernel, protocol in protocols(options).items():
        cells = [cell for cell in selected(options) if cell.kernel == kernel]
        todo += [(job, protocol) for job in jobs(cells, splits, protocol, sizes(cells))]
    if not todo:
        raise DataMissing("none of the data sets is here; set CONCORDANT_DATA")
    todo.sort(key=lambda each: each[0].cost(each[1], sizes([each[0].cell])[each[0].cell.dataset]))
    folder = options.output / NAME
    arguments = [(OrdinalWork, *job, protocol, folder, origin) for job, protocol in todo]
    common.parallel(work, arguments, options.jobs)
    return load_cells(NAME, options)


def load_cells(name: str, options: Options) -> Content:
    """The cells as they are on disk, finished or not."""
    cells = []
    for protocol in protocols(options).values():
        cells += gather(options.output / NAME, protocol, OrdinalWork.key)
    return {"cells": cells}


def report(content: Content, options: Options) -> Report:
    return text.report(content["cells"], protocols(options), options)


def arguments(group: argparse._ArgumentGroup) -> None:
    """Filters, and how many splits."""
    choices = {
        "datasets": DATASETS,
        "kernels": ("linear", "gaussian"),
        "methods": TABLE_4.methods,
    }
    for name, values in choices.items():
        group.add_argument(f"--ordinal-{name}", nargs="+", choices=list(values), metavar="NAME")
    group.add_argument("--bins", nargs="+", choices=list(BINS), help="of the target")
    group.add_argument("--ordinal-splits", type=int, help=f"random splits (default {SPLITS})")


EXPERIMENT = Experiment(
    NAME,
    "absolute loss on 12 ordinal sets: nine methods",
    compute,
    report,
    load_cells,
    arguments,
)
