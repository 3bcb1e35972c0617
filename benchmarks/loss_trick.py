"""Ridge weights against scikit-learn's kernel ridge and Nystroem; orderings against a greedy."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import concordant as cc
from benchmarks.common import Benchmark, seconds, times
from experiments.report import Table

# ---- exact weights ----


def regression(n: int, outputs: int, d: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    return x, np.sin(x @ rng.normal(size=(d, outputs)) / 2.0) + 0.1 * rng.normal(size=(n, outputs))


def exact(quick: bool) -> list[dict[str, Any]]:
    """Fit and predict with many outputs."""
    from sklearn.kernel_ridge import KernelRidge

    n, new, outputs = (500, 200, 16) if quick else (10_000, 2_000, 256)
    x, y = regression(n + new, outputs)
    models = {
        "KernelRidge": KernelRidge(kernel="rbf", gamma=0.05, alpha=0.1),
        "LossTrickPredictor": cc.LossTrickPredictor(gamma=0.05, C=10.0),
    }
    for model in models.values():
        model.fit(x[:200], y[:200]).predict(x[:10])  # what happens once in a process
    return [
        {
            "name": name,
            "n": n,
            "outputs": outputs,
            "fit": seconds(lambda model=model: model.fit(x[:n], y[:n])),
            "predict": seconds(lambda model=model: model.predict(x[n:])),
            "error": float(np.sqrt(np.mean((model.predict(x[n : n + 200]) - y[n : n + 200]) ** 2))),
        }
        for name, model in models.items()
    ]


def path(quick: bool) -> dict[str, Any]:
    """Twenty values of C with left-out errors, against twenty fits without."""
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.metrics.pairwise import rbf_kernel

    from concordant.outputs.ridge import Spectrum

    n = 300 if quick else 2_000
    x, y = regression(n, 10)
    Cs = np.logspace(-3, 3, 20)

    def ours() -> None:
        spectrum = Spectrum(rbf_kernel(x, gamma=0.05), np.ones(n), y)
        for C in Cs:
            spectrum.coefficients(C)
            spectrum.left_out(C)

    def theirs() -> None:
        for C in Cs:
            KernelRidge(kernel="rbf", gamma=0.05, alpha=1.0 / C).fit(x, y)

    ours_, theirs_ = seconds(ours), seconds(theirs)
    return {"n": n, "values": len(Cs), "ours": ours_, "theirs": theirs_}


# ---- many examples ----

LARGE = """
import json, sys, time
import numpy as np
who, n, m = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
x = rng.normal(size=(n + 20_000, 20)).astype(np.float32)
waves = rng.normal(size=(20, 4)).astype(np.float32) / 4
y = (np.sin(x @ waves).sum(axis=1) + 0.3 * rng.normal(size=len(x))).astype(np.float32)
def memory(what):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(what))
if who == "ours":
    import concordant as cc
    model = cc.LossTrickPredictor(gamma=0.02, C=10.0, n_components=m, dtype="float32",
                                  random_state=0)
    fit = lambda: model.fit(x[:n], y[:n])
    cc.LossTrickPredictor(n_components=50, dtype="float32").fit(x[:500], y[:500])
else:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    model = make_pipeline(Nystroem(gamma=0.02, n_components=m, random_state=0),
                          Ridge(alpha=0.1, copy_X=False))
    fit = lambda: model.fit(x[:n], y[:n])
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak so far
before = memory("VmRSS")
start = time.perf_counter()
fit()
seconds = time.perf_counter() - start
peak = memory("VmHWM")
error = float(np.sqrt(np.mean((model.predict(x[n:]) - y[n:]) ** 2)))
print(json.dumps({"seconds": seconds, "error": error, "memory": peak - before}))
"""


def large(quick: bool) -> list[dict[str, Any]]:
    """Fits with centres, each in a process of its own, for its peak memory."""
    n, m = (20_000, 100) if quick else (1_000_000, 1_000)
    runs = []
    for who, name in (("ours", "LossTrickPredictor"), ("theirs", "Nystroem + Ridge")):
        arguments = [sys.executable, "-c", LARGE, who, str(n), str(m)]
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
        runs.append({"name": name, "n": n, "centres": m, **json.loads(done.stdout)})
    return runs


# ---- orderings ----


def grades(users: int, items: int) -> np.ndarray:
    """Grades of some hundred thousand pairs, popular items more often, like movie ratings."""
    rng = np.random.default_rng(0)
    popular = rng.permutation(1.0 / (20.0 + np.arange(items)))
    chance = np.clip(popular / popular.sum() * 106 * rng.exponential(size=(users, 1)), 0, 0.9)
    taste = rng.normal(size=(users, 8)) @ rng.normal(size=(8, items)) / 3 + rng.normal(size=items)
    values = np.clip(np.round(3.5 + taste + 0.5 * rng.normal(size=(users, items))), 1, 5)
    return np.where(rng.uniform(size=values.shape) < chance, values, np.nan)


def orderings(quick: bool) -> list[dict[str, Any]]:
    """Time a user, and objective against the greedy alone."""
    from concordant.kernels import orderings as kernels
    from concordant.losses import Rank
    from concordant.outputs import Options
    from concordant.outputs.orderings import Preferences, best_order, preference_table

    users, items, repeats = (60, 200, 2) if quick else (643, 1_682, 5)
    decoder = Preferences(Rank(), grades(users, items), Options())
    rng = np.random.default_rng(1)
    kinds = {
        "few users count": lambda: rng.dirichlet(np.full(users, 0.02)),
        "all count": lambda: (1.0 + 0.5 * rng.normal(size=users)) / users,
        "both signs": lambda: rng.normal(size=users),
    }
    table = preference_table(items)
    greedy = np.empty(items, dtype=np.int64)
    best_order(decoder.fill(rng.normal(size=users), table))  # compiles
    out = []
    for name, draw in kinds.items():
        runs = []
        for _ in range(repeats):
            fill, _ = _timed(decoder.fill, draw(), table)
            search, order = _timed(best_order, table)
            eades, _ = _timed(kernels.eades, table, greedy)
            ratio = kernels.value(table, order) / kernels.value(table, greedy)
            runs.append([fill, search, eades, ratio])
        fill, search, eades, _ = np.median(runs, axis=0)
        ratios = [run[3] for run in runs]
        out.append({"weights": name, "users": users, "items": items, "fill": fill,
                    "search": search, "eades": eades, "ratio": float(np.mean(ratios)),
                    "least": float(np.min(ratios))})  # fmt: skip
    return out


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = function(*arguments)
    return time.perf_counter() - start, found


def measure(quick: bool) -> dict[str, Any]:
    return {
        "exact": exact(quick),
        "path": path(quick),
        "large": large(quick),
        "orderings": orderings(quick),
    }


def tables(content: dict[str, Any]) -> list[Table]:
    base, ours = content["exact"]
    first = Table(
        f"Gaussian kernel, {base['n']:,} examples of 20 features, {base['outputs']} outputs; all "
        "BLAS threads for both.",
        ["model", "fit, s", "predict 2,000, s", "fit ratio (goal ≤ 1×)", "predict ratio", "error"],
        [[run["name"], f"{run['fit']:.2f}", f"{run['predict']:.2f}",
          times(run["fit"] / base["fit"]), times(run["predict"] / base["predict"]),
          f"{run['error']:.3f}"] for run in (base, ours)],
    )  # fmt: skip
    road = content["path"]
    second = Table(
        f"{road['values']} values of C, {road['n']:,} examples, 10 outputs: ours with left-out "
        "predictions for each, against as many KernelRidge fits without.",
        ["", "seconds", "ratio (goal ≤ 0.5×)"],
        [["KernelRidge", f"{road['theirs']:.2f}", ""],
         ["Spectrum", f"{road['ours']:.2f}", times(road["ours"] / road["theirs"])]],
    )  # fmt: skip
    ours, base = content["large"]
    third = Table(
        f"{base['n']:,} examples of 20 features in single precision, {base['centres']:,} centres; "
        "memory is the growth of the peak in the fit.",
        ["model", "fit, s", "ratio (goal ≤ 0.5×)", "memory, MB", "test error"],
        [[run["name"], f"{run['seconds']:.1f}", times(run["seconds"] / base["seconds"]),
          f"{run['memory']:,.0f}", f"{run['error']:.4f}"] for run in (base, ours)],
    )  # fmt: skip
    rows = [
        [run["weights"], f"{1e3 * run['fill']:.0f}", f"{1e3 * run['search']:.0f}",
         f"{1e3 * run['eades']:.0f}", f"{run['ratio']:.3f}", f"{run['least']:.3f}"]
        for run in content["orderings"]
    ]  # fmt: skip
    one = content["orderings"][0]
    fourth = Table(
        f"Orderings of {one['items']:,} items under weights of {one['users']} users, one thread; "
        "objective against that of Eades, Lin and Smyth (goals: search < 150 ms, ratio ≥ 1.15 on "
        "average and never < 1).",
        ["weights", "preferences, ms", "search, ms", "of it greedy, ms", "ratio", "least"],
        rows,
    )
    return [first, second, third, fourth]


BENCHMARK = Benchmark(
    "loss_trick",
    "The loss trick: weights and orderings",
    "Each timed once after a small warm-up, one after the other; rows of orderings are medians.",
    measure,
    tables,
)
