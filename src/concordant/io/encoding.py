"""A table of numbers and categories as features, the same for training and for prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from concordant.io.errors import DataFileError

KINDS = ("number", "category", "ignored")
MISSING = "(missing)"


class Column(NamedTuple):
    """What a column of a table is taken for.

    `categories` are texts, sorted. `missing` counts empty cells where it was inferred. `note`
    says why a column is ignored, or what its values are.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    missing: int = 0
    note: str = ""

    @property
    def feature_names(self) -> list[str]:
        """Names of the features it becomes."""
        if self.kind == "ignored":
            return []
        if self.kind == "category":
            named = [f"{self.name}={c}" for c in self.categories]
            return named + [f"{self.name}={MISSING}"] * bool(self.missing)
        return [self.name] + [f"{self.name} is missing"] * bool(self.missing)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Rows of a dataframe as numbers: numbers stay, categories become indicators.

    An empty cell of a number stays NaN, for `Standardise` to fill, and where training had any, a
    second feature says so; in a category it is one more category. A category that training did
    not see has no indicator.

    Parameters
    ----------
    columns : sequence of Column
    missing : {"impute", "refuse"}, default="impute"
        Whether empty cells are allowed.
    """

    def __init__(self, columns: Sequence[Column] = (), missing: str = "impute"):
        self.columns = columns
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Nothing is learned: the columns are settled before."""
        self.feature_names_out_ = np.array(
            [name for column in self.columns for name in column.feature_names], dtype=object
        )
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features."""
        check_is_fitted(self)
        return self.feature_names_out_

    def transform(self, X: Any) -> np.ndarray:
        """The features, ``(n, width)``; raises DataFileError naming a bad column and row."""
        check_is_fitted(self)
        used = [c for c in self.columns if c.kind != "ignored"]
        absent = [c.name for c in used if c.name not in X.columns]
        if absent:
            raise DataFileError(
                f"the data lack the column{'s' * (len(absent) > 1)} "
                f"{', '.join(map(repr, absent[:5]))}, which the model was trained with"
            )
        blocks = [self._block(X[column.name], column) for column in used]
        return np.hstack(blocks) if blocks else np.zeros((len(X), 0))

    def _block(self, values: Any, column: Column) -> np.ndarray:
        empty = values.isna().to_numpy()
        if empty.any() and self.missing == "refuse":
            row = int(empty.argmax())
            raise DataFileError(
                f"column {column.name!r} is empty in row {row + 1}; fill it, or let missing values "
                "be imputed"
            )
        if column.kind == "category":
            texts = category_texts(values)
            block = np.column_stack(
                [texts == c for c in column.categories] or [np.zeros((len(values), 0))]
            ).astype(float)
            block[empty] = 0.0
        else:
            block = numbers(values, column.name)[:, None]
        return np.column_stack([block, empty]) if column.missing else block


class Standardise(StandardScaler):
    """scikit-learn's scaler, after which NaN is 0: the mean of the rows it was fitted on."""

    def transform(self, X: Any, copy: bool | None = None) -> Any:
        scaled = super().transform(X, copy=copy)
        if sp.issparse(scaled):
            return scaled
        return np.nan_to_num(scaled, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)


def category_texts(values: Any) -> np.ndarray:
    """Categories as text; whole numbers without a decimal point."""
    if values.dtype.kind == "f":
        return np.array([f"{v:g}" for v in values.tolist()], dtype=object)
    return values.astype(str).to_numpy(dtype=object)


def numbers(values: Any, name: str) -> np.ndarray:
    """A column as floats, empty cells as NaN; a text is an error that names its row."""
    if values.dtype.kind in "biuf":
        return values.to_numpy(dtype=float)
    import pandas as pd

    parsed = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
    wrong = np.isnan(parsed) & ~values.isna().to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise DataFileError(
            f"column {name!r} holds numbers, but row {row + 1} has {values.iloc[row]!r}"
        )
    return parsed
