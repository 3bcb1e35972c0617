"""What every experiment shares: its form, data, results on disk, figures and fits.

The data are looked for in the folder that the environment variable CONCORDANT_DATA names, by
default ``../shared/data`` next to the checkout.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from experiments.report import Report

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "experiments" / "results"
SEED = 0


# ---- the form of an experiment ----


@dataclass(frozen=True)
class Options:
    """What a run was asked for; `own` holds the options that one experiment adds."""

    quick: bool = False
    jobs: int = 1
    output: Path = RESULTS
    command: str = ""
    own: dict[str, Any] = field(default_factory=dict)


Content = dict[str, Any]


def stored(name: str, options: Options) -> Content:
    """The result that an earlier run left."""
    content = read_json(options.output / f"{name}.json")
    if not content:
        raise DataMissing(f"there is no {options.output / name}.json: run without --stored first")
    return content


@dataclass(frozen=True)
class Experiment:
    """A published table or figure: work that gives numbers, and a report of the numbers.

    `compute` returns what goes into the JSON file; `report` reads nothing else. `load` gives
    the same content from an earlier run.
    """

    name: str
    purpose: str
    compute: Callable[[Options], Content]
    report: Callable[[Content, Options], Report]
    load: Callable[[str, Options], Content] = stored
    arguments: Callable[[argparse.ArgumentParser], None] | None = None

    def run(self, options: Options, use_stored: bool = False) -> Report:
        if use_stored:
            content = self.load(self.name, options)
        else:
            start = time.perf_counter()
            content = {"provenance": provenance(options), **self.compute(options)}
            content["seconds"] = round(time.perf_counter() - start, 1)
        write_json(options.output / f"{self.name}.json", content)
        return self.report(content, options)


# ---- data ----


class DataMissing(RuntimeError):
    """What was asked for is not on this machine."""


def data_folder() -> Path:
    """Where the real data are looked for."""
    return Path(os.environ.get("CONCORDANT_DATA") or ROOT.parent / "shared" / "data")


def load_table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels (as strings) of a tabular data set; the label is the last column.

    iris and redwine come with packages and need no folder.
    """
    path = data_folder() / "tabular" / f"{name}.csv.gz"
    if path.is_file():
        import pandas as pd

        table = pd.read_csv(path)
        return table.iloc[:, :-1].to_numpy(dtype=float), table.iloc[:, -1].astype(str).to_numpy()
    if name in BUNDLED:
        x, y = BUNDLED[name]()
        return x, y.astype(str)
    raise DataMissing(
        f"the data set {name!r} is not here: {data_folder()} has no tabular/{name}.csv.gz; set "
        "CONCORDANT_DATA to the folder that holds tabular/"
    )


def _iris() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


def _redwine() -> tuple[np.ndarray, np.ndarray]:
    from concordant.datasets import load_redwine

    return load_redwine(return_X_y=True)


BUNDLED = {"iris": _iris, "redwine": _redwine}


# ---- results ----


def write_json(path: Path, content: Any) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, suffix=".tmp") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def read_json(path: Path) -> Any:
    """The content of a file, or an empty dictionary if there is none."""
    return json.loads(path.read_text()) if path.is_file() else {}


def provenance(options: Options) -> dict[str, Any]:
    """What one needs to know to get the same numbers again."""
    names = ("concordant", "numpy", "scipy", "scikit-learn", "numba")
    return {
        "command": options.command,
        "seed": SEED,
        "versions": {"python": platform.python_version()} | {n: _version(n) for n in names},
        "source": source_digest(),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from the source tree
        import concordant

        return concordant.__version__ if name == "concordant" else "unknown"


def source_digest() -> str:
    """A short hash of the library's source: which state of it made a result."""
    import concordant

    folder = Path(concordant.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:12]


# ---- figures ----


def pyplot() -> Any:
    """matplotlib without a screen, and with files that depend on the picture only."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update(
        {
            "svg.hashsalt": "concordant",
            "svg.fonttype": "none",
            "font.size": 9,
            "axes.titlesize": 9,
            "legend.fontsize": 8,
            "legend.frameon": False,
        }
    )
    return plt


def save_figure(figure: Any, path: Path) -> Path:
    """Write an SVG or PNG, by the name's ending, and close the figure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    figure.savefig(path, metadata=metadata, dpi=110, bbox_inches="tight")
    pyplot().close(figure)
    return path


# ---- work ----


def parallel(function: Callable[..., Any], arguments: Iterable[tuple], jobs: int) -> list[Any]:
    """Call `function` on each tuple, in `jobs` processes of one thread each; order is kept."""
    from joblib import Parallel, delayed, parallel_config
    from threadpoolctl import threadpool_limits

    if jobs == 1:
        with threadpool_limits(1):
            return [function(*each) for each in arguments]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        return Parallel(n_jobs=jobs, batch_size=1)(delayed(function)(*each) for each in arguments)


def quiet_fit(model: Any, *data: Any, **weights: Any) -> Any:
    """Fit without the warning that a bound on passes was met; callers read the certificate."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data, **weights)


def relative_gap(model: Any) -> float:
    """The certified gap against the objective."""
    return float(model.gap_ / abs(model.objective_)) if model.objective_ else 0.0
