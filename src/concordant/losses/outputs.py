"""The contract of a loss between outputs of any kind, and the losses that need no structure.

An output loss is a function of (action, truth), like every loss here. It knows what its outputs
are: `check` turns what the user wrote into a canonical array, one row or object an example, or
raises an error that names the bad one. How the best action under a weighted sum of such losses
is found is not its business: see `concordant.outputs`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from concordant.losses.base import LabelLoss

FINITE = (
    "any loss on finitely many outputs is <psi(y), V psi(y')>, with psi the indicator of the "
    "output and V the table of losses (Ciliberto et al. 2016, Example 1)"
)


class OutputLoss(BaseEstimator):
    """Cost of answering with one output when another is the truth.

    A subclass gives `pairs`, and `check` if its outputs are not plain objects.

    Attributes
    ----------
    embedding : str
        Why the loss is of the form ``<psi(y), V psi(y')>`` that the loss trick needs, or why it
        is not, as a sentence.
    """

    embedding: str = FINITE

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        """Truths in canonical form: an array whose first axis is the examples."""
        return objects(outputs, name)

    def check_actions(self, outputs: Any, name: str = "actions") -> np.ndarray:
        """The same for actions, where they are not of the truths' kind."""
        return self.check(outputs, name)

    @abstractmethod
    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        """Loss of each canonical action against the truth in the same row, ``(n,)``."""

    def table(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        """Losses of all canonical actions against all truths, ``(n_actions, n_truths)``."""
        out = np.empty((len(actions), len(truths)))
        for i in range(len(actions)):
            out[i] = self.pairs(np.repeat(actions[i : i + 1], len(truths), axis=0), truths)
        return out

    def __call__(self, action: Any, truth: Any) -> np.ndarray:
        """Loss of each action against its truth, ``(n,)``."""
        actions, truths = self.check_actions(action, "action"), self.check(truth, "truth")
        if len(actions) != len(truths):
            raise ValueError(f"there are {len(actions)} actions and {len(truths)} truths")
        return self.pairs(actions, truths)


class FunctionLoss(OutputLoss):
    """A function of (action, truth) that returns one number, for outputs of any kind.

    Parameters
    ----------
    function : callable
        Called with one action and one truth.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.FunctionLoss(lambda y, truth: abs(len(y) - len(truth)))(["ab"], ["abcd"])
    array([2.])
    """

    def __init__(self, function: Callable[[Any, Any], float]):
        self.function = function

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        return np.array([self._one(a, t, i, i) for i, (a, t) in enumerate(zip(actions, truths))])

    def table(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        rows = [[self._one(a, t, i, j) for j, t in enumerate(truths)]
                for i, a in enumerate(actions)]  # fmt: skip
        return np.array(rows, dtype=float).reshape(len(actions), len(truths))

    def _one(self, action: Any, truth: Any, i: int, j: int) -> float:
        value = self.function(action, truth)
        if np.ndim(value) != 0:
            raise ValueError(
                f"the loss function takes one action and one truth and returns one number; for "
                f"action {i} and truth {j} it returned an array of shape {np.shape(value)}"
            )
        value = float(value)
        if not np.isfinite(value):
            raise ValueError(f"the loss of action {i} against truth {j} is {value}")
        return value


class OfLabels(OutputLoss):
    """A loss on labels, as a loss between outputs, for known classes.

    Parameters
    ----------
    loss : LabelLoss
    classes : ndarray
        All labels, sorted.
    """

    def __init__(self, loss: LabelLoss, classes: np.ndarray):
        self.loss = loss
        self.classes = classes

    def resolve(self) -> tuple[np.ndarray, np.ndarray]:
        """Cost matrix and action names."""
        return self.loss.resolve(self.classes)

    def codes(self, labels: np.ndarray, name: str = "y") -> np.ndarray:
        """Positions of labels among the classes."""
        return _lookup(labels, self.classes, name, "label")

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        labels = np.asarray(outputs)
        if labels.ndim != 1:
            raise ValueError(f"{name} must hold one label an example, got shape {labels.shape}")
        return labels

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        matrix, names = self.resolve()
        return matrix[_lookup(actions, names, "action", "action"), self.codes(truths, "truth")]

    def table(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        matrix, names = self.resolve()
        rows = _lookup(actions, names, "action", "action")
        return matrix[np.ix_(rows, self.codes(truths, "truth"))]


def _lookup(values: np.ndarray, known: np.ndarray, name: str, what: str) -> np.ndarray:
    place = {value if value == value else None: i for i, value in enumerate(known.tolist())}
    found = [place.get(value if value == value else None, -1) for value in values.tolist()]
    if -1 in found:
        row = found.index(-1)
        raise ValueError(
            f"{name}, row {row}: {values.tolist()[row]!r} is not a known {what}; known are "
            f"{', '.join(map(repr, known.tolist()[:20]))}"
        )
    return np.array(found, dtype=np.int64)


def matched(
    table: Callable[[np.ndarray, np.ndarray], np.ndarray], a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """The entries of a table for each output of `a` with the one of `b` in the same row.

    Small blocks of the table are made: a few useless entries cost less than a call for each.
    """
    starts = range(0, len(a), 32)
    blocks = [np.diag(table(a[s : s + 32], b[s : s + 32])) for s in starts]
    return np.concatenate(blocks) if blocks else np.empty(0)


# ---- canonical outputs ----


def objects(outputs: Any, name: str) -> np.ndarray:
    """A 1-D array with one object an example, whatever the objects are."""
    if isinstance(outputs, np.ndarray) and outputs.dtype == object and outputs.ndim == 1:
        return outputs
    if isinstance(outputs, (str, bytes, dict)) or not hasattr(outputs, "__len__"):
        raise TypeError(f"{name} must be a sequence with one output an example")
    out = np.empty(len(outputs), dtype=object)
    for i, output in enumerate(outputs):
        out[i] = output
    return out


def numbers(outputs: Any, name: str, ndim: Sequence[int] = (1, 2)) -> np.ndarray:
    """A finite float array of 1 or 2 dimensions; errors name the row."""
    try:
        values = np.asarray(outputs, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, equally many an example ({error})") from error
    if values.ndim not in ndim or 0 in values.shape[1:]:
        wanted = " or ".join({1: "(n,)", 2: "(n, m)"}[d] for d in ndim)
        raise ValueError(f"{name} must have shape {wanted}, got {values.shape}")
    refuse(~np.isfinite(values), values, name, "is not finite")
    return values


def refuse(bad: np.ndarray, values: np.ndarray, name: str, why: str) -> None:
    """An error for the first bad entry, or row, if there is one."""
    if not bad.any():
        return
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    shown = values[at]
    value = f" = {shown!r}" if np.ndim(shown) == 0 else ""
    place = f"row {at[0]}" + (f", column {at[1]}" if len(at) > 1 else "")
    raise ValueError(f"{name}, {place}{value}: {why}")
