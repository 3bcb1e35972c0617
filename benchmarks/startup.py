"""Import time against scikit-learn's, and the first fit of a process against the next."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.common import Benchmark, times
from experiments.report import Table

IMPORT = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""
FITS = """
import json, time
from sklearn.datasets import load_iris
import concordant as cc
X, y = load_iris(return_X_y=True)
def fit():
    start = time.perf_counter()
    cc.Classifier({arguments}).fit(X, y)
    return time.perf_counter() - start
print(json.dumps([fit(), fit()]))
"""
MODELS = {
    "adversarial, 0-1": 'surrogate="adversarial"',
    "adversarial, absolute": 'loss="absolute"',
    "adversarial, Gaussian kernel": 'kernel="rbf"',
    "log": 'surrogate="log"',
    "hinge": 'surrogate="hinge"',
}


def run(code: str) -> Any:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(quick: bool) -> dict[str, Any]:
    rounds = 2 if quick else 7
    imports = {}
    modules = ("sklearn", "concordant")
    for module in modules:
        run(IMPORT.format(module=module))
    for _ in range(rounds):
        for module in modules:
            imports.setdefault(module, []).append(run(IMPORT.format(module=module)))
    fits = {}
    for name, arguments in list(MODELS.items())[: 1 if quick else None]:
        code = FITS.format(arguments=arguments)
        run(code)  # the disk cache of compiled code
        fits[name] = np.median([run(code) for _ in range(rounds)], axis=0).tolist()
    return {"imports": {m: float(np.median(t)) for m, t in imports.items()}, "fits": fits}


def tables(content: dict[str, Any]) -> list[Table]:
    imports = content["imports"]
    ratio = imports["concordant"] / imports["sklearn"]
    rows = [["sklearn", f"{imports['sklearn']:.3f}", ""]]
    rows.append(["concordant", f"{imports['concordant']:.3f}", f"{times(ratio)} (goal ≤ 1.3×)"])
    first = Table(
        "Import in a fresh process, median seconds.", ["module", "seconds", "ratio"], rows
    )
    fits = [
        [name, f"{one:.2f}", f"{next_:.2f}", f"{one - next_:.2f} (goal < 2)"]
        for name, (one, next_) in content["fits"].items()
    ]
    header = ["model, on iris", "first fit", "next fit", "difference"]
    caption = "Fits of a fresh process with a warm disk cache, median seconds."
    return [first, Table(caption, header, fits)]


BENCHMARK = Benchmark("startup", "Import and first fit", "Fresh processes.", measure, tables)
