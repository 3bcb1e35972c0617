"""Data and loss of a comparison, in codes that mean the same in every fold.

A fold may lack a rare label. Each fold therefore gets the costs among the labels it has, cut
from the whole matrix, instead of resolving the loss anew: ordered labels keep their ranks.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from concordant.io.encoding import Standardise
from concordant.losses import CostMatrix, find_loss
from concordant.plots.coverage import doubt_of

#: Row numbers of training and test parts.
Split = tuple[np.ndarray, np.ndarray]

#: Examples × labels above which probabilities are not kept for the figures.
MOST_PROBABILITIES = 5_000_000


@dataclass(frozen=True)
class Problem:
    """Features, label codes and prices of a table, and what a comparison does with its rows.

    ``action_codes[i]`` names row i of the costs inside: a label's own code where the action is a
    label, else ``k + i``. `y` holds what is scored; for a table that is one label a row.
    """

    x: Any
    y: np.ndarray
    classes: np.ndarray
    actions: np.ndarray
    costs: np.ndarray
    feature_names: tuple[str, ...]

    @classmethod
    def of(cls, X: Any, y: Any, loss: Any, missing: str = "refuse") -> Problem:
        """Checked data, and the loss resolved on all labels."""
        if missing not in ("refuse", "impute"):
            raise ValueError(f"missing must be 'refuse' or 'impute', got {missing!r}")
        names = getattr(X, "columns", None)
        finite = "allow-nan" if missing == "impute" and not sp.issparse(X) else True
        x = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=finite)
        y = column_or_1d(y, warn=True)
        check_consistent_length(x, y)
        check_classification_targets(y)
        classes, codes = _ranked(y, loss)
        if (np.bincount(codes) >= 2).sum() < 2:
            raise ValueError("a comparison needs at least two labels with two examples each")
        costs, actions = find_loss(loss).resolve(classes)
        features = [f"feature {i}" for i in range(x.shape[1])] if names is None else names
        return cls(x, codes, classes, actions, costs, tuple(str(name) for name in features))

    @property
    def is_ordered(self) -> bool:
        """Whether an answer further from the truth never costs less: labels have ranks."""
        k = len(self.classes)
        if k < 3 or not np.array_equal(self.action_codes, np.arange(k)):
            return False
        ranks = np.arange(k)
        return bool(
            (np.diff(self.costs, 2, axis=0) >= 0).all()
            and (self.costs[ranks, ranks] <= self.costs).all()
        )

    @property
    def size(self) -> int:
        """Examples that splits are made of."""
        return len(self.y)

    @property
    def size_text(self) -> str:
        """How much data there is."""
        return f"{self.size:,} examples with {self.x.shape[1]} features"

    @property
    def measured_text(self) -> str:
        """What is special about how it is measured."""
        return "stratified folds, standardised features, linear scores unless a kernel is named"

    def folds(self, cv: int, repeats: int, seed: int) -> list[Split]:
        """Folds, repeated with new ones."""
        folds = RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=seed)
        with warnings.catch_warnings():  # a label rarer than the folds: said in the report
            warnings.simplefilter("ignore", UserWarning)
            return list(folds.split(np.zeros(self.size), self.y))

    def inner_folds(self, rows: np.ndarray, cv: int, seed: int) -> list[Split]:
        """Folds of some of the rows, as places among them."""
        folds = StratifiedKFold(cv, shuffle=True, random_state=seed)
        return list(folds.split(np.zeros(len(rows)), self.y[rows]))

    def slots(self, rows: np.ndarray) -> np.ndarray:
        """Places in `y` of what is scored on these rows."""
        return rows

    def prepare(self, rows: np.ndarray) -> Any:
        """What is learned of the features alone, from training rows alone."""
        return Standardise(with_mean=not self.is_sparse).fit(self.x[rows])

    def fit(self, estimator: Any, prepared: Any, rows: np.ndarray) -> Pipeline:
        """Train; the model predicts from rows of `x`."""
        estimator.fit(prepared.transform(self.x[rows]), self.y[rows])
        return make_pipeline(prepared, estimator)

    def answers(self, model: Any, rows: np.ndarray) -> np.ndarray:
        """What the model answers, as rows of the costs."""
        return self.rows_of(model.predict(self.x[rows]))

    def certainty(
        self, model: Any, answers: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """How little the model is sure of each answer, and its probabilities of the labels."""
        if len(self.y) * len(self.classes) > MOST_PROBABILITIES:
            return None, None
        x = self.x[rows]
        if hasattr(model, "predict_proba"):
            proba = self._all_labels(model.predict_proba(x), model.classes_)
            return self._expected(answers, proba), proba
        if not hasattr(model, "decision_function"):
            return None, None
        return doubt_of(model, x, self.costs, answers), None

    def worst(self, outcome: Any) -> list[Any]:
        """Examples to show in full; rows of a table are not."""
        return []

    def _all_labels(self, proba: np.ndarray, codes: Any) -> np.ndarray:
        """Probabilities with a column for every label, those unseen in training too."""
        out = np.zeros((len(proba), len(self.classes)), dtype=np.float32)
        out[:, np.asarray(codes, dtype=np.int64)] = proba
        return out

    def _expected(self, answers: np.ndarray, proba: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", self.costs[answers], proba)

    @property
    def counts(self) -> np.ndarray:
        """Examples of each label."""
        return np.bincount(self.y, minlength=len(self.classes))

    @property
    def is_sparse(self) -> bool:
        """Whether the features are sparse."""
        return bool(sp.issparse(self.x))

    @property
    def labels_are_actions(self) -> bool:
        """Whether every label can be answered."""
        return bool(np.isin(np.arange(len(self.classes)), self.action_codes).all())

    @property
    def action_codes(self) -> np.ndarray:
        """Code of each row of the costs."""
        k = len(self.classes)
        code = {label: i for i, label in enumerate(self.classes.tolist())}
        return np.array([code.get(a, k + i) for i, a in enumerate(self.actions.tolist())])

    def loss_on(self, rows: np.ndarray) -> CostMatrix:
        """The loss among the labels of these rows; labels they lack are not answered either."""
        seen = np.unique(self.y[self.slots(rows)])
        codes = self.action_codes
        kept = (codes >= len(self.classes)) | np.isin(codes, seen)
        costs = self.costs[np.ix_(kept, seen)]
        return CostMatrix(costs, actions=codes[kept].tolist(), labels=seen.tolist())

    def rows_of(self, codes: np.ndarray) -> np.ndarray:
        """Rows of the costs that these action codes stand for."""
        row = np.full(len(self.classes) + len(self.actions), -1)
        row[self.action_codes] = np.arange(len(self.actions))
        return row[np.asarray(codes, dtype=np.int64)]

    #: The function of `concordant.report` that compares on such data.
    function = "compare"

    def summary(self) -> list[tuple[str, float, float, float, float]]:
        """Name, least, mean, largest and standard deviation of each feature (dense data)."""
        if self.is_sparse:
            return []
        columns = (f(self.x, axis=0) for f in (np.nanmin, np.nanmean, np.nanmax, np.nanstd))
        return [(n, *map(float, values)) for n, *values in zip(self.feature_names, *columns)]

    @property
    def missing(self) -> int:
        """Cells without a value, which the mean of the training rows fills."""
        return 0 if self.is_sparse else int(np.isnan(self.x).sum())


def _ranked(y: np.ndarray, loss: Any) -> tuple[np.ndarray, np.ndarray]:
    """Classes and codes; in the order of a loss that names its labels, else sorted."""
    classes, codes = np.unique(y, return_inverse=True)
    named = getattr(find_loss(loss), "label_names", lambda: None)() or []
    place = {label: i for i, label in enumerate(named)}
    if not all(label in place for label in classes.tolist()):
        return classes, codes
    order = np.argsort([place[label] for label in classes.tolist()])
    return classes[order], np.argsort(order)[codes]
