"""Weakly labelled training on the mammals: block-coordinate Frank-Wolfe against the 1-slack
cutting plane, and the dissimilarity method against latent SVM."""

from __future__ import annotations

import sys
import warnings
from functools import partial
from typing import Any

import numpy as np

import concordant as cc
from benchmarks.common import Benchmark, in_turns, seconds, times
from concordant.executor import Executor
from concordant.latent.margin import INNER, MarginProblem
from concordant.latent.training import build_examples
from concordant.losses import find_pair_loss
from concordant.solvers import Run
from experiments.common import DataMissing
from experiments.latent.mammals import load
from experiments.report import Table

TOL = 1e-3
#: Of the published grid (where the sum over images is divided by their number), its upper half.
GRID = (0.1, 1.0, 10.0)
#: C at which whole methods are compared, on the same scale.
C = 1.0
PLANES, ROUNDS = 1000, 3


def data(quick: bool) -> tuple[list[cc.Bag], np.ndarray]:
    loaded = load()
    rows = slice(None, None, 10 if quick else 1)
    return loaded["bags"][rows], loaded["label"][rows]


def convex_problem(
    bags: list[cc.Bag], y: np.ndarray, scale: float, executor: Executor
) -> MarginProblem:
    """The first convex problem of a fit: expected overlap loss and the mean of the choices as
    the answer, at this C of the published scale."""
    n, classes = len(y), np.unique(y)
    examples = build_examples(
        bags, np.searchsorted(classes, y), classes, find_pair_loss("overlap"), np.full(n, -1),
        np.full(n, scale / n), np.ones(n), executor,
    )  # fmt: skip
    p = examples.uniform()
    return MarginProblem(
        examples.features, examples.structure, examples.labels,
        examples.costs.expected(examples.labels, p), p, examples.weight,
    )  # fmt: skip


def solve(problem: MarginProblem, name: str) -> Run:
    """To the certified relative gap."""
    run = Run(TOL, PLANES)
    INNER[name]().run(problem, None, run, np.random.default_rng(0))
    return run


def measure_inner(bags: list[cc.Bag], y: np.ndarray, quick: bool) -> list[dict[str, Any]]:
    rows = []
    with Executor() as executor:
        for scale in GRID[:1] if quick else GRID:
            problem = convex_problem(bags, y, scale, executor)
            spent = in_turns({name: partial(solve, problem, name) for name in INNER}, ROUNDS)
            rows.append({"C": scale})
            for name in INNER:
                run = solve(problem, name)
                rows[-1][name] = {
                    "seconds": spent[name],
                    "passes": run.n_iter,
                    "gap": run.gap / run.primal,
                    "objective": run.primal,
                }
    return rows


def measure_methods(bags: list[cc.Bag], y: np.ndarray) -> list[dict[str, Any]]:
    rows = []
    for loss in ("zero_one", "overlap"):
        for route in ("latent_svm", "iterative_latent_svm", "dissimilarity"):
            model = cc.LatentClassifier(loss, route, C=C / len(y), tol=TOL, random_state=0)
            model.fit(bags[::20], y[::20])  # compile
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                spent = seconds(lambda model=model: model.fit(bags, y))
            rows.append(
                {
                    "loss": loss,
                    "route": route,
                    "seconds": spent,
                    "rounds": model.n_iter_,
                    "gap": model.gap_ / (C * TOL),
                }
            )
    return rows


def measure(quick: bool) -> dict[str, Any]:
    try:
        bags, y = data(quick)
    except DataMissing as error:
        print(f"left out: {error}", file=sys.stderr)
        return {"inner": [], "methods": []}
    size = {"images": len(y), "windows": sum(bag.n_choices for bag in bags)}
    return {**size, "inner": measure_inner(bags, y, quick), "methods": measure_methods(bags, y)}


def tables(content: dict[str, Any]) -> list[Table]:
    if not content["inner"]:
        return []
    about = f"{content['images']} images, {content['windows']:,} windows of 1,488 features"
    inner = []
    for row in content["inner"]:
        free, plane = row["frank_wolfe"], row["cutting_plane"]
        inner.append(
            [f"{row['C']:g}"]
            + [f"{run['seconds']:.2f}" for run in (free, plane)]
            + [f"{run['passes']}" for run in (free, plane)]
            + [f"{run['gap']:.1e}" for run in (free, plane)]
            + [times(plane["seconds"] / free["seconds"])]
        )
    header = ["C (published scale)", "Frank-Wolfe, s", "cutting plane, s", "passes", "planes"]
    header += ["gap", "gap", "faster (goal ≥ 3×)"]
    base = {r["loss"]: r["seconds"] for r in content["methods"] if r["route"] == "latent_svm"}
    methods = [
        [row["route"], row["loss"], f"{row['seconds']:.2f}", str(row["rounds"]),
         f"{row['gap']:.2f}", times(row["seconds"] / base[row["loss"]])]
        for row in content["methods"]
    ]  # fmt: skip
    return [
        Table(f"One convex problem to a relative gap of {TOL:g}: {about}.", header, inner),
        Table(
            f"Whole fits, C = {C:g} on the published scale, ε = {TOL:g}: {about} (goals: under 60 "
            "s; at most 3× latent SVM). The gap is that of the last convex problem, in units of "
            "C ε; all are asked for 0.25.",
            ["method", "loss", "seconds", "rounds", "inner gap", "against latent SVM"],
            methods,
        ),
    ]


BENCHMARK = Benchmark(
    "latent",
    "Weakly labelled training",
    "Convex problems: least time of three runs in turns. Fits: one run each, compiled before. All "
    "cores allowed: the cutting plane's passes use them, Frank-Wolfe's block steps use one.",
    measure,
    tables,
)
