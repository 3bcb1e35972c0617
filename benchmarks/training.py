"""Training to a certified gap, linear scores, against liblinear and logistic regression.

No intercepts on either side, so that the objectives are the same to the last digit. A peer that
certifies nothing is judged by the objective it reached, and each of ours by the time at which it
was as low (`history_` has objective and seconds of every pass).
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
from experiments.common import DataMissing, data_folder
from experiments.report import Table

TOL = 1e-3
#: name: (route, peer whose objective it shares)
ROUTES = {
    "adversarial, 0-1": ("adversarial", None),
    "Crammer-Singer hinge": ("crammer_singer", "LinearSVC"),
    "log": ("log", "LogisticRegression"),
}


def blobs(n: int, d: int = 100, k: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Normal clouds that overlap: about nine in ten rows can be told."""
    rng = np.random.default_rng(0)
    centres = 0.35 * rng.normal(size=(k, d))
    y = rng.integers(0, k, n)
    return centres[y] + rng.normal(size=(n, d)), y


def mnist() -> tuple[np.ndarray, np.ndarray]:
    """The 60,000 training digits, pixels in [0, 1]."""
    path = data_folder() / "tabular" / "mnist.npz"
    if not path.is_file():
        raise DataMissing(f"mnist is not here: there is no {path}")
    with np.load(path) as file:
        x, y = file["X_train"], file["y_train"]
    return x.reshape(len(x), -1) / 255.0, y.astype(np.int64)


def load(name: str, quick: bool) -> tuple[np.ndarray, np.ndarray]:
    if name == "mnist":
        return mnist()
    return blobs(2_000 if quick else 100_000)


#: Data and their C. On raw pixels C = 1 is nearly no penalty and overfits; 0.01 predicts better.
PROBLEMS = {"synthetic": 1.0, "mnist": 0.01}


def ours(route: str, C: float, tol: float = TOL) -> cc.Classifier:
    return cc.Classifier(surrogate=route, C=C, fit_intercept=False, tol=tol, random_state=0)


def peer(name: str, C: float) -> Any:
    if name == "LinearSVC":
        from sklearn.svm import LinearSVC

        return LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, random_state=0)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, fit_intercept=False, max_iter=1000)


def objective(route: str, C: float, coef: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """The shared objective at someone's weights."""
    values, _ = cc.surrogates.evaluate(route, x @ coef.T, y)
    return float(0.5 * np.vdot(coef, coef) + C * values.sum())


def time_to(model: cc.Classifier, value: float) -> float | None:
    """Seconds at which training was at this objective or below; None if it never was."""
    history = model.history_
    reached = [s for o, s in zip(history["objective"], history["seconds"]) if o <= value]
    return reached[0] if reached else None


def measure_problem(name: str, C: float, quick: bool) -> dict[str, Any]:
    x, y = load(name, quick)
    for route, _ in ROUTES.values():
        ours(route, C).fit(x[:500], y[:500])  # compile
    runs: dict[str, Any] = {}
    for title, (route, peer_name) in ROUTES.items():
        model = ours(route, C)
        spent = seconds(lambda model=model: model.fit(x, y))
        run = {
            "seconds": spent,
            "objective": model.objective_,
            "gap": model.gap_ / model.objective_,
            "passes": model.n_iter_,
            "accuracy": float(np.mean(model.predict(x) == y)),
        }
        if peer_name:
            run["peer"] = measure_peer(peer_name, route, C, x, y)
            run["seconds_to_peer"] = to_the_same(route, C, x, y, run["peer"]["objective"])
        runs[title] = run
    return {"n": len(y), "d": x.shape[1], "k": len(np.unique(y)), "C": C, "runs": runs}


def measure_peer(name: str, route: str, C: float, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    model = peer(name, C)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spent = seconds(lambda: model.fit(x, y))
    return {
        "name": name,
        "seconds": spent,
        "objective": objective(route, C, model.coef_, x, y),
        "accuracy": float(np.mean(model.predict(x) == y)),
    }


def to_the_same(route: str, C: float, x: np.ndarray, y: np.ndarray, value: float) -> float | None:
    """Seconds of ours to the peer's objective, at gaps as small as that takes."""
    for tol in (TOL, 1e-5, 1e-8):
        model = ours(route, C, tol)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(x, y)
        reached = time_to(model, value)
        if reached is not None:
            return reached
    return None


# ---- memory: in a process of its own, because a peak cannot be reset ----


def peak_memory(name: str, route: str, C: float, quick: bool) -> dict[str, float]:
    call = f"report_peak({name!r}, {route!r}, {C}, {quick})"
    code = f"from benchmarks.training import report_peak; {call}"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def report_peak(name: str, route: str, C: float, quick: bool) -> None:
    """Print the memory that fitting takes beyond what was there, in bytes."""
    x, y = load(name, quick)
    ours(route, C).fit(x[:500], y[:500])
    before = resident()
    reset_peak()
    model = ours(route, C).fit(x, y)
    extra = resident("VmHWM") - before
    own = x.nbytes + 8 * len(y) * len(model.classes_)
    print(json.dumps({"extra": extra, "data_and_scores": own}))


def resident(what: str = "VmRSS") -> int:
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(what):
                return 1024 * int(line.split()[1])
    raise RuntimeError(f"no {what} in /proc/self/status")


def reset_peak() -> None:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def measure(quick: bool) -> dict[str, Any]:
    problems, memory = {}, []
    for name, C in PROBLEMS.items():
        if quick and name == "mnist":
            continue
        try:
            problems[name] = measure_problem(name, C, quick)
        except DataMissing as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        for title, (route, _) in ROUTES.items():
            memory.append({"data": name, "route": title, **peak_memory(name, route, C, quick)})
    return {"tol": TOL, "problems": problems, "memory": memory}


def tables(content: dict[str, Any]) -> list[Table]:
    out = []
    for name, problem in content["problems"].items():
        rows = []
        for title, run in problem["runs"].items():
            rows.append(
                [title, f"{run['seconds']:.2f}", f"{run['objective']:.6g}", f"{run['gap']:.1e}",
                 str(run["passes"]), f"{100 * run['accuracy']:.2f}", *_peer_cells(run)]
            )  # fmt: skip
        svc = problem["runs"]["Crammer-Singer hinge"]["peer"]["seconds"]
        logistic = problem["runs"]["log"]["peer"]["seconds"]
        own = problem["runs"]["adversarial, 0-1"]["seconds"]
        header = ["route", "s to gap", "objective", "gap", "passes", "accuracy, %"]
        header += ["peer", "s", "objective", "s of ours to that", "faster"]
        caption = (
            f"{name}: {problem['n']:,} rows, {problem['d']} features, {problem['k']} labels, "
            f"C = {problem['C']:g}, relative gap {content['tol']:g}. The adversarial route, which "
            f"no peer has, takes {times(own / svc)} the time of LinearSVC(crammer_singer) and "
            f"{times(own / logistic)} that of LogisticRegression(lbfgs)."
        )
        out.append(Table(caption, header, rows))
    memory = [
        [row["data"], row["route"], f"{row['extra'] / 1e6:.0f}",
         f"{row['data_and_scores'] / 1e6:.0f}", times(row["extra"] / row["data_and_scores"])]
        for row in content["memory"]
    ]  # fmt: skip
    header = ["data", "route", "extra, MB", "X + scores, MB", "ratio (goal ≤ 2×)"]
    out.append(Table("Peak resident memory of `fit` beyond what was there.", header, memory))
    return out


def _peer_cells(run: dict[str, Any]) -> list[str]:
    if "peer" not in run:
        return [""] * 5
    other, reached = run["peer"], run["seconds_to_peer"]
    faster = "" if reached is None else times(other["seconds"] / reached)
    return [
        other["name"],
        f"{other['seconds']:.2f}",
        f"{other['objective']:.6g}",
        "not reached" if reached is None else f"{reached:.2f}",
        faster,
    ]


BENCHMARK = Benchmark(
    "training",
    "Training linear scores",
    "One fit each, all cores allowed (liblinear uses one). `s of ours to that` is when our "
    "objective was as low as the one the peer stopped at; `faster` compares those two times.",
    measure,
    tables,
)
