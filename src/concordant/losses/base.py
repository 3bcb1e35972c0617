"""The contract of a loss on labels.

Convention, everywhere in the library: ``matrix[action, truth]``. Labels are
codes ``0..k-1`` in the sorted order of the classes; an action is a row.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator


class LabelLoss(BaseEstimator):
    """Cost of answering with an action when a label is the truth.

    A subclass gives `matrix`; everything else follows from it. Deriving from
    scikit-learn's ``BaseEstimator`` gives ``get_params``, ``clone`` and a
    readable ``repr`` to objects that live inside estimators.
    """

    #: Costs depend on the order of the labels.
    ordered: ClassVar[bool] = False

    @abstractmethod
    def matrix(self, n_classes: int) -> np.ndarray:
        """Costs as an array of shape (n_actions, n_classes)."""

    def resolve(self, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cost matrix and action names for these sorted classes.

        The default is right wherever actions are labels.
        """
        return self.matrix(len(classes)), np.asarray(classes)

    def label_names(self) -> list[Any] | None:
        """All labels in the order of the columns, if the loss knows them."""
        return None

    def expected(self, proba: np.ndarray) -> np.ndarray:
        """Expected cost of each action, ``(n, n_actions)``.

        Examples
        --------
        >>> import numpy as np, concordant as cc
        >>> cc.losses.Absolute().expected(np.array([[0.5, 0.2, 0.3]]))
        array([[0.8, 0.8, 1.2]])
        """
        proba = np.atleast_2d(np.asarray(proba, dtype=float))
        return proba @ self.matrix(proba.shape[1]).T

    def bayes_action(self, proba: np.ndarray) -> np.ndarray:
        """Row of the cheapest action under each distribution; the first of equals."""
        return self.expected(proba).argmin(axis=1)

    def __call__(
        self, action: np.ndarray, truth: np.ndarray, n_classes: int | None = None
    ) -> np.ndarray:
        """Cost of each (action code, truth code) pair.

        `n_classes` is needed only where an action is coded behind the labels,
        as abstaining is; otherwise it is read off the codes.
        """
        action, truth = np.atleast_1d(action), np.atleast_1d(truth)
        for name, codes in (("action", action), ("truth", truth)):
            if codes.size and (codes.dtype.kind not in "iu" or codes.min() < 0):
                raise ValueError(
                    f"{name} must hold codes 0, 1, ...; for labels as the user writes them "
                    "use concordant.metrics.mean_loss"
                )
        if n_classes is None:
            n_classes = 1 + int(max(action.max(initial=0), truth.max(initial=0)))
        return self.matrix(n_classes)[action, truth]


def check_costs(costs: np.ndarray, name: str = "matrix") -> np.ndarray:
    """A finite, non-negative 2-D float array, or an error naming the first bad cell."""
    try:
        costs = np.array(costs, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, its rows equally many: {error}") from error
    if costs.ndim != 2 or 0 in costs.shape:
        raise ValueError(f"{name} must be 2-D (n_actions, n_classes), got shape {costs.shape}")
    for bad, what in ((~np.isfinite(costs), "not finite"), (costs < 0, "negative")):
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(f"{name}[{row}, {column}] = {costs[row, column]} is {what}")
    return costs
