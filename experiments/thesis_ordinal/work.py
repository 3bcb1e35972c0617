"""The cells of Tables IV and V: data with ordered bins, models, and the mean absolute error."""

from __future__ import annotations

from typing import Any

import numpy as np

import concordant as cc
from experiments import common
from experiments.thesis_ordinal.published import DATASETS, FILES
from experiments.tuned import problem
from experiments.tuned.protocol import Cell, Effort, Protocol
from experiments.tuned.work import Work

NAME = "thesis_ordinal"
#: Ending of the data sets whose bins have equally many rows; the others have equal widths.
FREQUENCY = "-frequency"
#: Exponents of lambda for linear scores, from the smoothest: 2^-1, 2^-3, ..., then half steps.
LINEAR = Protocol(c=(-1, -3, -5, -7, -9, -11, -13), around=(1.5, 1, 0.5, 0, -0.5, -1, -1.5))
QUICK_LINEAR = Protocol(
    (-1, -5), (), (0.5, 0), 3, tuning=Effort(1e-2, 50, 50), testing=Effort(1e-2, 100, 100)
)

#: method: (estimator, surrogate, thresholds under the penalty)
MODELS: dict[str, tuple[type, Any, bool]] = {
    "al_th": (cc.OrdinalClassifier, "adversarial", False),
    "red_th": (cc.OrdinalClassifier, cc.surrogates.Reduction("hinge"), True),
    "at": (cc.OrdinalClassifier, cc.surrogates.AllThreshold("hinge"), False),
    "it": (cc.OrdinalClassifier, cc.surrogates.ImmediateThreshold("hinge", ordered=False), False),
    "al_mc": (cc.Classifier, "adversarial", True),
    "red_mc": (cc.Classifier, cc.surrogates.Reduction("hinge"), True),
    "csosr": (cc.Classifier, "one_sided_regression", True),
    "csovo": (cc.Classifier, "cost_one_vs_one", True),
    "csova": (cc.Classifier, "cost_one_vs_all", True),
}


def plain(dataset: str) -> str:
    """The published name of a data set."""
    return dataset.removesuffix(FREQUENCY)


def load(dataset: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and ranks 1..k.

    Equal widths are the bins of the benchmark's own files where there are any, else those of the
    range of the target.
    """
    import pandas as pd

    name, k = plain(dataset), DATASETS[plain(dataset)]["k"]
    file = FILES.get(name, name)
    folder = common.data_folder() / "tabular"
    path = folder / f"{file}.csv.gz"
    if not path.is_file():
        raise common.DataMissing(f"the data set {name!r} is not here: there is no {path}")
    table = pd.read_csv(path)
    x, target = table.iloc[:, :-1].to_numpy(dtype=float), table.iloc[:, -1].to_numpy(dtype=float)
    bins = folder / "partitions" / f"{file}.csv.gz"
    if dataset != name:
        edges = np.quantile(target, np.arange(1, k) / k)
        return x, 1 + np.searchsorted(edges, target, side="left")
    if bins.is_file():
        own = pd.read_csv(bins).set_index("row")[f"class{k}"]
        return x, own.loc[np.arange(len(x))].to_numpy()
    low, high = target.min(), target.max()
    return x, 1 + np.minimum((k * (target - low) / (high - low)).astype(int), k - 1)


class OrdinalWork(Work):
    """A cell of Table IV or V."""

    key = "mae"

    @property
    def one(self) -> bool:  # type: ignore[override]
        """Methods without thresholds get a penalised constant feature."""
        return MODELS[self.cell.method][0] is cc.Classifier

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        return load(self.cell.dataset)

    def split(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        name = plain(self.cell.dataset)
        return problem.split(name, len(self.y), DATASETS[name]["train"], number)

    def constant(self, exponent: float, n: int) -> float:
        """C = 1/(n lambda) for linear scores."""
        return 2.0**-exponent / n if self.cell.kernel == "linear" else 2.0**exponent

    def model(self, effort: Effort, **own: Any) -> Any:
        estimator, surrogate, penalised = MODELS[self.cell.method]
        return estimator(
            "absolute",
            surrogate,
            kernel=None if self.cell.kernel == "linear" else "precomputed",
            fit_intercept=not penalised,
            tol=effort.tol,
            max_iter=effort.passes(self.cell.kernel),
            random_state=common.SEED,
            n_jobs=1,
            **own,
        )

    def measure(self, model: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.abs(model.predict(x) - y)


def sizes(cells: list[Cell]) -> dict[str, dict[str, int]]:
    """Sizes of the data sets of these cells."""
    return {cell.dataset: DATASETS[plain(cell.dataset)] for cell in cells}
