"""Losses of orderings. An ordering is a row of item numbers, best first."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.losses.outputs import OutputLoss
from concordant.losses.sets import check_permutations


def positions(orderings: np.ndarray) -> np.ndarray:
    """Place of each item in each ordering: the inverse permutations."""
    out = np.empty_like(orderings)
    np.put_along_axis(out, orderings, np.arange(orderings.shape[1])[None, :], axis=1)
    return out


class Rank(OutputLoss):
    """Grade differences of the pairs that an ordering puts the wrong way round.

    The action is an ordering of all items, best first; the truth is a row of grades, higher is
    better, NaN where unknown. Each pair of graded items out of order costs the difference of
    their grades, ``sum of (g_b - g_a)_+ over a placed before b``. This is equation (21) of
    Ciliberto et al. (NIPS 2016) with ``(g_b - g_a)_+`` for gamma: never negative, and 0 for an
    ordering by grades.

    Parameters
    ----------
    normalize : bool, default=False
        Divide by the sum over all pairs, so that 1 is the reverse order and 1/2 the mean of
        random ones. A truth without two different grades costs nothing.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.Rank()([[2, 0, 1]], [[5.0, 3.0, float("nan")]])
    array([0.])
    >>> cc.losses.Rank()([[1, 0, 2]], [[5.0, 3.0, 4.0]])
    array([3.])
    """

    def __init__(self, normalize: bool = False):
        self.normalize = normalize

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        return check_grades(outputs, name)

    def check_actions(self, outputs: Any, name: str = "actions") -> np.ndarray:
        return check_permutations(outputs, name)

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        if actions.shape[1] != truths.shape[1]:
            raise ValueError(f"{actions.shape[1]} items are ordered, {truths.shape[1]} graded")
        out = np.zeros(len(truths))
        for i, (order, grades) in enumerate(zip(actions, truths)):
            graded = grades[order]
            graded = graded[~np.isnan(graded)]
            total = total_difference(graded)
            # (g_b - g_a)_+ summed over a before b is half of the total less the signed sum.
            size = len(graded)
            signed = float(np.dot(size - 1 - 2.0 * np.arange(size), graded))
            wrong = max(0.5 * (total - signed), 0.0)
            out[i] = (wrong / total if total > 0 else 0.0) if self.normalize else wrong
        return out

    def sizes(self, truths: np.ndarray) -> np.ndarray:
        """What each truth's grade differences are divided by."""
        if not self.normalize:
            return np.ones(len(truths))
        totals = np.array([total_difference(row[~np.isnan(row)]) for row in truths])
        return np.where(totals > 0, totals, 1.0)


def total_difference(grades: np.ndarray) -> float:
    """Sum of absolute differences over all pairs of grades."""
    size = len(grades)
    return float(np.dot(2.0 * np.arange(size) - (size - 1), np.sort(grades)))


def check_grades(outputs: Any, name: str) -> np.ndarray:
    """Grades of all items, NaN for unknown ones."""
    try:
        grades = np.asarray(outputs, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold grades, one for each item ({error})") from error
    if grades.ndim != 2 or grades.shape[1] == 0:
        raise ValueError(f"{name} must have shape (n, items), got {grades.shape}")
    bad = np.isinf(grades)
    if bad.any():
        row, item = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{name}: the grade of item {item} in row {row} is {grades[row, item]}")
    return grades


class _OrderingLoss(OutputLoss):
    """A loss between two orderings of the same items."""

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        return check_permutations(outputs, name)


class Kendall(_OrderingLoss):
    """How many pairs two orderings place differently.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.Kendall()([[0, 1, 2]], [[2, 1, 0]])
    array([3.])
    """

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        places = np.take_along_axis(positions(truths), actions, axis=1)
        out = np.zeros(len(actions))
        for gap in range(1, places.shape[1]):
            out += (places[:, :-gap] > places[:, gap:]).sum(axis=1)
        return out


class Spearman(_OrderingLoss):
    """Distance between the places of each item in two orderings, summed.

    Parameters
    ----------
    form : {"squared", "footrule"}, default="squared"
        Squared distances, or absolute ones.
    """

    def __init__(self, form: str = "squared"):
        self.form = form

    def cost(self, distance: np.ndarray) -> np.ndarray:
        """Cost of each distance between two places."""
        if self.form not in ("squared", "footrule"):
            raise ValueError(f"Spearman has forms 'squared' and 'footrule', not {self.form!r}")
        return np.square(distance) if self.form == "squared" else np.abs(distance)

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        return self.cost(positions(actions) - positions(truths)).sum(axis=1).astype(float)
