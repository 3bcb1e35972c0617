"""Abstention at 1/2 on twelve UCI data sets, linear and Gaussian (Fathony's thesis, Table VI)."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import concordant as cc
from experiments import common, thesis_table2
from experiments.common import Content, Experiment, Options
from experiments.report import Report, Table
from experiments.thesis_abstention.published import METHODS, TABLES
from experiments.thesis_table2.published import DATASETS
from experiments.thesis_table2.work import KERNELS, UciWork
from experiments.tuned.protocol import FULL, QUICK, SPLITS, Cell, Effort, jobs
from experiments.tuned.summary import Comparison, Done, effort_table
from experiments.tuned.work import gather, work

NAME = "thesis_abstention"
PRICE = 0.5
LABEL = "(abstain)"


class AbstentionWork(UciWork):
    """Mean abstention loss of a classifier, and how often it abstains."""

    key = "loss"

    def model(self, effort: Effort, **own: Any) -> cc.Classifier:
        loss = cc.losses.Abstain(PRICE, label=LABEL)
        return self.classifier(effort, loss, self.cell.method, **own)

    def measure(self, model: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        action = model.predict(x)
        return np.where(action == LABEL, PRICE, (action != y) * 1.0)

    def record(self, model: Any, x: np.ndarray, y: np.ndarray) -> list[float]:
        loss = self.measure(model, x, y)
        return [float(loss.mean()), float(np.mean(model.predict(x) == LABEL))]


def compute(options: Options) -> Content:
    protocol = QUICK if options.quick else FULL
    own = options.own
    splits = own.get("abstention_splits") or (2 if options.quick else SPLITS)
    names = own.get("abstention_datasets") or (("iris",) if options.quick else DATASETS)
    kernels = own.get("abstention_kernels") or KERNELS
    cells = [
        Cell(name, kernel, method)
        for name in names
        if thesis_table2.is_here(name)
        for kernel in kernels
        for method in METHODS
    ]
    origin = common.provenance(options)
    work_list = jobs(cells, splits, protocol, DATASETS)
    todo = [(AbstentionWork, *job, protocol, options.output / NAME, origin) for job in work_list]
    common.parallel(work, todo, options.jobs)
    return load(NAME, options)


def load(name: str, options: Options) -> Content:
    """The cells as they are on disk, finished or not."""
    protocol = QUICK if options.quick else FULL
    return {"cells": gather(options.output / NAME, protocol, AbstentionWork.key)}


def rates(done: Done) -> Table:
    """How often each method abstains."""
    header = ["data set"]
    for kernel in KERNELS:
        header += [f"{kernel} {short}" for short in METHODS.values()]
    rows = []
    for dataset in DATASETS:
        row = [dataset]
        for kernel in KERNELS:
            for i, method in enumerate(METHODS):
                state = done.get(Cell(dataset, kernel, method))
                ours = "not run"
                if state:
                    ours = f"{100 * np.mean([rate for _, rate in state['loss'].values()]):.0f}"
                row.append(f"{ours} ({TABLES[kernel][1][dataset][i]})")
        rows.append(row)
    return Table("Abstentions in percent; in parentheses the published ones.", header, rows)


def report(content: Content, options: Options) -> Report:
    done = {Cell(*state["cell"]): state for state in content["cells"]}
    tables, findings = [], []
    for kernel, (published, _) in TABLES.items():
        comparison = Comparison(published, done, "loss")
        if sentences := comparison.findings():
            tables.append(comparison.table(f"Table VI, {kernel} kernel: mean abstention loss."))
            findings += [f"{kernel.capitalize()} kernel:", *sentences]
    tables.append(rates(done))
    tables.append(effort_table(done, METHODS, "Effort and certificates (relative gaps)."))
    return Report(
        title="Abstention on twelve UCI data sets",
        command=options.command,
        published=(
            "Fathony (2019), Table VI: abstention at a price of 1/2; the adversarial route against "
            "one-vs-rest and Crammer-Singer machines that abstain below a threshold (0 and 1/2, "
            "Ramaswamy et al. 2018)."
        ),
        method=(
            "Splits, features, grids, folds and stopping as for Table II (`thesis_table2`), and "
            "constants tuned for the abstention loss. The adversarial route abstains where the two "
            "largest scores differ by less than 1/2 (Corollary 2.4)."
        ),
        tables=tables,
        findings=findings,
        figures=[],
    )


def arguments(group: argparse._ArgumentGroup) -> None:
    """Filters, and how many splits."""
    for name, choices in (("datasets", DATASETS), ("kernels", KERNELS)):
        group.add_argument(f"--abstention-{name}", nargs="+", choices=list(choices), metavar="NAME")
    group.add_argument("--abstention-splits", type=int, help=f"splits (default {SPLITS})")


EXPERIMENT = Experiment(
    NAME, "abstention on 12 UCI sets: AL, one-vs-rest, CS", compute, report, load, arguments
)
