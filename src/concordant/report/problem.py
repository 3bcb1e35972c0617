"""Data and loss of a comparison, in codes that mean the same in every fold.

A fold may lack a rare label. Each fold therefore gets the costs among the labels it has, cut
from the whole matrix, instead of resolving the loss anew: ordered labels keep their ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from concordant.losses import CostMatrix, find_loss


@dataclass(frozen=True)
class Problem:
    """Features, label codes and prices.

    ``action_codes[i]`` names row i of the costs inside: a label's own code where the action is a
    label, else ``k + i``.
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
        seen = np.unique(self.y[rows])
        codes = self.action_codes
        kept = (codes >= len(self.classes)) | np.isin(codes, seen)
        costs = self.costs[np.ix_(kept, seen)]
        return CostMatrix(costs, actions=codes[kept].tolist(), labels=seen.tolist())

    def rows_of(self, codes: np.ndarray) -> np.ndarray:
        """Rows of the costs that these action codes stand for."""
        row = np.full(len(self.classes) + len(self.actions), -1)
        row[self.action_codes] = np.arange(len(self.actions))
        return row[np.asarray(codes, dtype=np.int64)]

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
