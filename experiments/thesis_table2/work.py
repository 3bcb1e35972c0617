"""The cells of Table II."""

from __future__ import annotations

from typing import Any

import numpy as np

import concordant as cc
from experiments import common
from experiments.thesis_table2.published import DATASETS
from experiments.tuned import problem
from experiments.tuned.protocol import Effort
from experiments.tuned.work import Work

NAME = "thesis_table2"
KERNELS = ("linear", "gaussian")
METHODS = {
    "adversarial": "AL0-1",
    "weston_watkins": "WW",
    "crammer_singer": "CS",
    "lee_lin_wahba": "LLW",
}


class UciWork(Work):
    """A cell on one of the data sets of Table I."""

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        return common.load_table(self.cell.dataset)

    def split(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        size = DATASETS[self.cell.dataset]["train"]
        return problem.split(self.cell.dataset, len(self.y), size, number)

    def classifier(self, effort: Effort, loss: Any, surrogate: Any, **own: Any) -> cc.Classifier:
        return cc.Classifier(
            loss,
            surrogate,
            kernel=None if self.cell.kernel == "linear" else "precomputed",
            fit_intercept=False,
            tol=effort.tol,
            max_iter=effort.passes(self.cell.kernel),
            random_state=common.SEED,
            n_jobs=1,
            **own,
        )


class Table2Work(UciWork):
    """Accuracy of a classifier trained by a route."""

    key = "accuracy"
    more_is_better = True

    def model(self, effort: Effort, **own: Any) -> cc.Classifier:
        return self.classifier(effort, "zero_one", self.cell.method, **own)

    def measure(self, model: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return model.predict(x) == y
