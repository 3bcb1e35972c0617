"""Features of tokens that are rows of columns, by a CRF++ template."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin

from concordant.io.errors import DataFileError

NEAR = (-2, -1, 0, 1, 2)
AFFIX = 3


class ColumnFeatures(TransformerMixin, BaseEstimator):
    """Sequences of rows of texts as sequences of feature strings.

    Parameters
    ----------
    template : str, default=None
        Text of a CRF++ template. By default the cells of every column up to two tokens away and
        pairs of neighbours, and prefixes, suffixes and shape of the first column, the word.
    """

    def __init__(self, template: str | None = None):
        self.template = template

    def fit(self, X: Any, y: Any = None) -> ColumnFeatures:
        """Settle the template; X is a list of sequences of rows."""
        self.n_columns_ = len(X[0][0])
        self.template_ = usual_template(self.n_columns_) if self.template is None else self.template
        self.transform(X[:1])
        return self

    def transform(self, X: Any) -> list[Any]:
        """Feature strings of every token; with a template for pairs of neighbours as
        `concordant.Sequence` objects, which have them as features of their steps."""
        from concordant.estimators import Sequence
        from concordant.features import CrfppTemplate

        expand = CrfppTemplate(self.template_)
        found = []
        for i, rows in enumerate(X):
            if any(len(row) < self.n_columns_ for row in rows):
                raise DataFileError(
                    f"sequence {i + 1} has a token with fewer than {self.n_columns_} columns"
                )
            own = [row[: self.n_columns_] for row in rows]
            features: Any = expand(own)
            if self.template is None:
                features = [f + _shape(row[0]) for f, row in zip(features, rows)]
            if expand.has_pair_features:
                features = Sequence(features, expand.pairs(own))
            found.append(features)
        return found


def usual_template(columns: int) -> str:
    """The default template for so many columns.

    Examples
    --------
    >>> usual_template(1).splitlines()[:2]
    ['U0-2:%x[-2,0]', 'U0-1:%x[-1,0]']
    """
    lines = []
    for c in range(columns):
        lines += [f"U{c}{d:+d}:%x[{d},{c}]" for d in NEAR]
        lines += [f"U{c}pair{d:+d}:%x[{d},{c}]/%x[{d + 1},{c}]" for d in (-1, 0)]
    return "\n".join([*lines, "B"])


def _shape(word: str) -> list[str]:
    """Beginnings, endings and kinds of letters of a word."""
    sizes = range(1, min(AFFIX, len(word)) + 1)
    kinds = (
        ("capital", word[:1].isupper()),
        ("capitals", word.isupper()),
        ("digit", any(c.isdigit() for c in word)),
        ("dash", "-" in word),
    )
    return (
        [f"prefix:{word[:n].lower()}" for n in sizes]
        + [f"suffix:{word[-n:].lower()}" for n in sizes]
        + [f"is:{name}" for name, holds in kinds if holds]
    )
