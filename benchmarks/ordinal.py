"""Thresholded scores: logistic all-threshold, kernel ordinal machines, and a million rows.

All-threshold and SVORIM are the same problems for both sides, so their objectives are compared;
a peer's other likelihood (statsmodels) is judged by the objective of ours at its solution.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from typing import Any

import numpy as np

import concordant as cc
from benchmarks.common import Benchmark, seconds, times
from benchmarks.training import reset_peak, resident
from experiments.report import Table

TOL = 1e-3
KERNEL_ROUTES: dict[str, tuple[Any, str | None]] = {
    "SVORIM": (cc.surrogates.AllThreshold("hinge"), "implicit"),
    "SVOREX": (cc.surrogates.ImmediateThreshold("hinge"), "explicit"),
    "AL-th": ("adversarial", "implicit"),
}


def ranks(n: int, d: int, k: int, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """k equally frequent ranks of a noisy direction."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    z = x @ rng.normal(size=d) / np.sqrt(d) + noise * rng.normal(size=n)
    return x, np.digitize(z, np.quantile(z, np.arange(1, k) / k))


def all_threshold(coef: np.ndarray, thresholds: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """The objective of logistic all-threshold at someone's solution."""
    gaps = (x @ coef)[:, None] - thresholds
    scores = np.concatenate([np.zeros((len(y), 1)), np.cumsum(gaps, axis=1)], axis=1)
    values, _ = cc.surrogates.evaluate("all_threshold", scores, y, loss="absolute")
    return float(0.5 * coef @ coef + values.sum())


def measure_logistic(n: int, rounds: int) -> dict[str, Any]:
    """Ours to a gap of 1e-8, so that the objective is not above mord's."""
    from mord import LogisticAT
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    x, y = ranks(n, 20, 10)
    ours = cc.OrdinalClassifier(surrogate="all_threshold", tol=1e-8)
    ours.fit(x[:500], y[:500])  # compile
    spent: dict[str, float] = {}
    for _ in range(rounds):
        mord = LogisticAT(alpha=1.0)
        calls = {"concordant": lambda: ours.fit(x, y), "mord": lambda m=mord: m.fit(x, y)}
        for name, call in calls.items():
            spent[name] = min(spent.get(name, np.inf), seconds(call))
    ordered = OrderedModel(y, x, distr="logit")
    found: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spent["statsmodels"] = seconds(
            lambda: found.append(ordered.fit(method="bfgs", disp=False, maxiter=1000))
        )
    params = np.asarray(found[0].params)
    cuts = ordered.transform_threshold_params(params)[1:-1]
    return {
        "n": n,
        "seconds": spent,
        "objective": {
            "concordant": ours.objective_,
            "mord": all_threshold(mord.coef_, mord.theta_, x, y),
            "statsmodels": all_threshold(params[:20], cuts, x, y),
        },
    }


def measure_kernel(n: int, rounds: int) -> dict[str, Any]:
    from skordinal.classifiers import SVOR

    x, y = ranks(n + 2000, 10, 5)
    x, held_x, y, held_y = x[:n], x[n:], y[:n], y[n:]
    runs: dict[str, Any] = {}
    for name, (route, peer) in KERNEL_ROUTES.items():
        ours = cc.OrdinalClassifier(surrogate=route, kernel="rbf", tol=TOL, random_state=0)
        ours.fit(x[:200], y[:200])
        theirs = SVOR(C=1.0, constraints=peer)
        spent = {"concordant": np.inf, "skordinal": np.inf}
        for _ in range(rounds):
            spent["concordant"] = min(spent["concordant"], seconds(lambda m=ours: m.fit(x, y)))
            spent["skordinal"] = min(spent["skordinal"], seconds(lambda m=theirs: m.fit(x, y)))
        error = {
            "concordant": float(np.abs(ours.predict(held_x) - held_y).mean()),
            "skordinal": float(np.abs(theirs.predict(held_x) - held_y).mean()),
        }
        runs[name] = {"peer": peer, "seconds": spent, "mae": error}
    return {"n": n, "runs": runs}


def measure_many(n: int) -> dict[str, Any]:
    """Each in a process of its own, because a peak of memory cannot be reset."""
    runs = {}
    for route in ("all_threshold", "adversarial"):
        code = f"from benchmarks.ordinal import report_many; report_many({route!r}, {n})"
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        runs[route] = json.loads(done.stdout.splitlines()[-1])
    return {"n": n, "runs": runs}


def report_many(route: str, n: int) -> None:
    """Print seconds, gap, and the memory that fitting takes beyond the data."""
    x, y = ranks(n, 20, 10)
    model = cc.OrdinalClassifier(surrogate=route, tol=TOL)
    model.fit(x[:500], y[:500])
    before = resident()
    reset_peak()
    spent = seconds(lambda: model.fit(x, y))
    out = {"seconds": spent, "gap": model.gap_ / model.objective_, "passes": model.n_iter_}
    print(json.dumps({**out, "extra": resident("VmHWM") - before, "data": x.nbytes}))


def measure(quick: bool) -> dict[str, Any]:
    if quick:
        return {
            "logistic": measure_logistic(1_000, 1),
            "kernel": measure_kernel(300, 1),
            "many": measure_many(5_000),
        }
    return {
        "logistic": measure_logistic(20_000, 3),
        "kernel": measure_kernel(4_000, 3),
        "many": measure_many(1_000_000),
    }


def tables(content: dict[str, Any]) -> list[Table]:
    logistic, kernel, many = content["logistic"], content["kernel"], content["many"]
    own = logistic["seconds"]["concordant"]
    rows = [
        [name, f"{logistic['seconds'][name]:.2f}", f"{logistic['objective'][name]:.8g}",
         "" if name == "concordant" else times(logistic["seconds"][name] / own)]
        for name in ("concordant", "mord", "statsmodels")
    ]  # fmt: skip
    caption = (
        f"Logistic all-threshold, {logistic['n']:,} rows, 20 features, 10 ranks, C = 1, ours to a "
        "gap of 1e-8. statsmodels' OrderedModel has another likelihood and no penalty."
    )
    out = [Table(caption, ["", "s", "objective", "ours is faster"], rows)]
    rows = [
        [name, f"{run['seconds']['concordant']:.2f}", f"{run['mae']['concordant']:.4f}",
         run["peer"], f"{run['seconds']['skordinal']:.2f}", f"{run['mae']['skordinal']:.4f}",
         times(run["seconds"]["skordinal"] / run["seconds"]["concordant"])]
        for name, run in kernel["runs"].items()
    ]  # fmt: skip
    header = ["route", "s", "MAE", "skordinal.SVOR", "s", "MAE", "faster"]
    caption = (
        f"Gaussian kernel, {kernel['n']:,} rows, 10 features, 5 ranks, C = 1, ours to a gap of "
        f"{TOL:g}; errors on 2,000 other rows."
    )
    out.append(Table(caption, header, rows))
    base = many["runs"]["all_threshold"]["seconds"]
    rows = [
        [route, f"{run['seconds']:.1f}", times(run["seconds"] / base), f"{run['gap']:.1e}",
         str(run["passes"]), f"{run['extra'] / 1e6:.0f}", times(run["extra"] / run["data"])]
        for route, run in many["runs"].items()
    ]  # fmt: skip
    header = ["route", "s", "of all-threshold", "gap", "passes", "extra, MB", "of X"]
    caption = f"Linear, {many['n']:,} rows, 20 features, 10 ranks, to a gap of {TOL:g}."
    out.append(Table(caption, header, rows))
    return out


BENCHMARK = Benchmark(
    "ordinal",
    "Ordered labels",
    "All cores allowed; the peers use one. Least of three fits in turns, but one of statsmodels "
    "and of the million rows.",
    measure,
    tables,
)
