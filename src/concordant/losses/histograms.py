"""Losses between histograms: rows of non-negative numbers that sum to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.losses.outputs import OutputLoss, numbers, refuse
from concordant.losses.reals import positive

#: How far a sum may be from one: single precision, or a table printed with six digits.
SLACK = 1e-5


class HistogramLoss(OutputLoss):
    """A loss on the probability simplex."""

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        rows = numbers(outputs, name, (2,))
        refuse(rows < 0.0, rows, name, "a histogram has no negative entry")
        totals = rows.sum(axis=1)
        off = np.abs(totals - 1.0) > SLACK
        if off.any():
            row = int(off.argmax())
            raise ValueError(
                f"{name}, row {row} sums to {totals[row]:.6g}; a histogram sums to 1 "
                "(divide each row by its sum)"
            )
        return rows / totals[:, None]


class Hellinger(HistogramLoss):
    """Distance between the square roots of two histograms.

    Parameters
    ----------
    form : {"squared", "sum", "root"}, default="squared"
        ``sum (sqrt y - sqrt y')**2``, ``sum |sqrt y - sqrt y'|`` (as printed in Ciliberto et
        al. 2016, equation 22), or the root of the first.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.Hellinger()([[1.0, 0.0]], [[0.0, 1.0]])
    array([2.])
    """

    FORMS = ("squared", "sum", "root")

    def __init__(self, form: str = "squared"):
        self.form = form

    @property
    def embedding(self) -> str:  # type: ignore[override]
        """Why each form is fit for the loss trick."""
        if self.form == "squared":
            return "psi(y) = (sqrt y, 1) is finite-dimensional"
        return (
            "the loss is a continuous function of sqrt y - sqrt y' on a bounded set, of the form "
            "<psi(y), V psi(y')> (Ciliberto et al. 2016, Example 1)"
        )

    def variant(self) -> str:
        """The form, or an error that names those there are."""
        if self.form not in self.FORMS:
            raise ValueError(f"Hellinger has forms {', '.join(self.FORMS)}, not {self.form!r}")
        return self.form

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        away = np.sqrt(actions) - np.sqrt(truths)
        if self.variant() == "sum":
            return np.abs(away).sum(axis=1)
        squared = np.square(away).sum(axis=1)
        return squared if self.form == "squared" else np.sqrt(squared)

    def table(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        if self.variant() == "sum":
            return super().table(actions, truths)
        squared = np.maximum(2.0 - 2.0 * (np.sqrt(actions) @ np.sqrt(truths).T), 0.0)
        return squared if self.form == "squared" else np.sqrt(squared)


class ChiSquared(HistogramLoss):
    """``sum (y - y')**2 / (y + y')``; entries that are zero in both count nothing."""

    embedding = (
        "the loss is 2 - 4 sum y y' / (y + y'), and y y' / (y + y') is a positive definite "
        "kernel (Ciliberto et al. 2016, Example 1)"
    )

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        total = actions + truths
        return ((actions - truths) ** 2 / np.where(total > 0.0, total, 1.0)).sum(axis=1)


class KullbackLeibler(HistogramLoss):
    """``sum y' log(y' / y)`` of an action y and a truth y'.

    Parameters
    ----------
    floor : float, default=1e-3
        Least entry of an action, less than one over the number of entries.

    Notes
    -----
    Without a floor the loss is unbounded, no operator V exists, and under weights of both signs
    the least loss is minus infinity. With it ``psi(y') = (y', y' log y')`` and
    ``(-log y, 1)`` are bounded and the loss is of the required form.
    """

    embedding = (
        "only with its floor: then (-log y, 1) and (y', sum y' log y') are bounded; without, the "
        "loss is unbounded and NOT of the form <psi(y), V psi(y')>"
    )

    def __init__(self, floor: float = 1e-3):
        self.floor = floor

    def least(self, entries: int) -> float:
        """The floor, checked against the number of entries."""
        floor = positive(self, "floor", self.floor)
        if floor * entries >= 1.0:
            raise ValueError(
                f"KullbackLeibler needs a floor less than 1/{entries}, got {self.floor!r}"
            )
        return floor

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        """Entries of an action below the floor count as the floor."""
        actions = np.maximum(actions, self.least(actions.shape[1]))
        logs = np.log(np.where(truths > 0.0, truths, 1.0)) - np.log(actions)
        return (truths * logs).sum(axis=1)
