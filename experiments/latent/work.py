"""What the three experiments share: methods, resumable fits, tables and tests.

A unit is a fold or a repetition. Its fits stand in one file, a row each, and a later run does
only what is missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ttest_rel

import concordant as cc
from experiments import common
from experiments.common import Options
from experiments.report import Table

#: Stopping tolerance and hyper-parameters as published.
TOL, J, BETA = 1e-3, 0.1, 0.1
METHODS: dict[str, Any] = {
    "latent SVM": "latent_svm",
    "iterative latent SVM": "iterative_latent_svm",
    "dissimilarity": cc.surrogates.Dissimilarity(J=J, beta=BETA),
    "marginal likelihood": "latent_log",
}
PUBLISHED = ("latent SVM", "iterative latent SVM", "dissimilarity")
OURS = "dissimilarity"
#: The row of the model that is told the true choices.
KNOWN = "choices known"


class Fit(NamedTuple):
    """One model to train. `known` tells it the true choices: a reference, not a method."""

    method: str
    loss: str
    C: float
    init: str = "mean"
    known: bool = False


def model_of(fit: Fit, C: float) -> cc.LatentClassifier:
    return cc.LatentClassifier(
        fit.loss, METHODS[fit.method], C=C, init=fit.init, tol=TOL, random_state=common.SEED,
        n_jobs=1,
    )  # fmt: skip


def run_unit(
    file: Path, fits: Sequence[Fit], run: Callable[[Fit], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows of all fits, those that the file lacks being made now."""
    rows = common.read_json(file) or []
    done = {Fit(*row["fit"]) for row in rows}
    for fit in fits:
        if fit not in done:
            start = time.process_time()
            rows.append({"fit": list(fit), **run(fit), "seconds": time.process_time() - start})
            common.write_json(file, rows)
    wanted = set(fits)
    return [row for row in rows if Fit(*row["fit"]) in wanted]


def run_units(
    name: str,
    options: Options,
    units: int,
    fits: Sequence[Fit],
    prepare: Callable[[int], Callable[[Fit], dict[str, Any]]],
) -> list[list[dict[str, Any]]]:
    """The rows of every unit; `prepare` loads one, if there is something left to do."""
    out = []
    for unit in range(units):
        file = options.output / name / f"{unit}.json"
        done = {Fit(*row["fit"]) for row in common.read_json(file) or []}
        run = prepare(unit) if set(fits) - done else _nothing
        out.append(run_unit(file, fits, run))
    return out


def _nothing(fit: Fit) -> dict[str, Any]:
    raise AssertionError(f"{fit} is there already")


def outcome(model: cc.LatentClassifier) -> dict[str, Any]:
    """What training said of itself."""
    falls = np.diff(model.history_["objective"])
    return {
        "objective": model.objective_,
        "rounds": model.n_iter_,
        "rises": int((falls > 1e-9 * abs(model.objective_)).sum()),
    }


# ---- summaries ----


def name_of(fit: Fit) -> str:
    if fit.known:
        return KNOWN
    return fit.method + (", likelihood start" if fit.init == "likelihood" else "")


def groups(fits: Sequence[Fit], loss: str) -> dict[str, list[Fit]]:
    """The fits of each method, one a C."""
    out: dict[str, list[Fit]] = {}
    for fit in fits:
        if fit.loss == loss:
            out.setdefault(name_of(fit), []).append(fit)
    return out


def values(units: list[list[dict[str, Any]]], fit: Fit, what: str) -> np.ndarray:
    """One number a unit."""
    found = [[row[what] for row in rows if Fit(*row["fit"]) == fit] for rows in units]
    return np.array([each[0] for each in found])


def best(units: list[list[dict[str, Any]]], fits: Sequence[Fit], what: str) -> Fit:
    """The fit (here: the C) with the least mean over units, as published."""
    return min(fits, key=lambda fit: values(units, fit, what).mean())


def selected(
    units: list[list[dict[str, Any]]], fits: Sequence[Fit], by: str, what: str
) -> np.ndarray:
    """One number a unit, at the C that is best there by another number; of equals the smallest."""
    table = np.array([values(units, fit, by) for fit in fits])
    chosen = table.argmin(axis=0)
    return np.array([values(units, fits[c], what)[u] for u, c in enumerate(chosen)])


def p_value(a: np.ndarray, b: np.ndarray) -> str:
    """Two-sided paired t-test, as text."""
    if len(a) < 2:
        return "–"
    if np.allclose(a - b, (a - b)[0]):
        return "equal" if np.allclose(a, b) else "–"
    p = float(ttest_rel(a, b).pvalue)
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def spread(x: np.ndarray) -> str:
    """Mean and standard deviation, in per cent."""
    sd = x.std(ddof=1) if len(x) > 1 else 0.0
    return f"{100 * x.mean():.2f} ± {100 * sd:.2f}"


def comparison(
    caption: str, rows: dict[str, np.ndarray], extra: dict[str, list[str]], header: list[str]
) -> Table:
    """Methods with their losses, and tests of the dissimilarity method against the others."""
    out = []
    for name, numbers in rows.items():
        p = "" if name.startswith(OURS) else p_value(rows[_partner(name, rows)], numbers)
        out.append([name, spread(numbers), p, *extra.get(name, [""] * len(header))])
    return Table(caption, ["method", "test loss, %", "p against dissimilarity", *header], out)


def _partner(name: str, rows: dict[str, np.ndarray]) -> str:
    """The dissimilarity row with the same start, if there are several."""
    _, comma, start = name.partition(", ")
    return OURS + comma + start if OURS + comma + start in rows else OURS


def draw_over_C(
    path: Path, panels: dict[str, dict[str, tuple[Sequence[float], np.ndarray]]], label: str
) -> Path:
    """Mean and standard deviation over units against C, one panel a loss."""
    plt = common.pyplot()
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.2), squeeze=False)
    for axis, (title, curves) in zip(axes[0], panels.items()):
        for (name, (C, numbers)), marker in zip(curves.items(), cycle("osx^vdP*")):
            sd = numbers.std(axis=1, ddof=1) if numbers.shape[1] > 1 else None
            axis.errorbar(C, 100 * numbers.mean(axis=1), 100 * sd if sd is not None else None,
                          marker=marker, capsize=2, lw=1, ms=4, label=name)  # fmt: skip
        axis.set(xscale="log", xlabel="C", title=title)
        tried = sorted({c for C, _ in curves.values() for c in C})
        axis.set_xticks(tried, [f"{c:g}" for c in tried])
        axis.minorticks_off()
    axes[0][0].set_ylabel(label)
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return common.save_figure(figure, path)
