"""Decoders that look at all of a finite set of actions: exact among them."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.losses.outputs import OfLabels, OutputLoss
from concordant.outputs.base import Decoder, Options, distinct, indicators


class Candidates(Decoder):
    """The best of the candidates: the training outputs, or those given."""

    guarantee = "exact among the candidates"

    def __init__(self, loss: OutputLoss, truths: np.ndarray, options: Options):
        self.actions, costs = candidate_costs(loss, truths, options)
        self.targets = costs.T

    def decode(self, sums: np.ndarray) -> np.ndarray:
        return self.actions[sums.argmin(axis=1)]


def candidate_costs(
    loss: OutputLoss, truths: np.ndarray, options: Options
) -> tuple[np.ndarray, np.ndarray]:
    """Candidates, and their losses against all truths, ``(n_candidates, n)``."""
    known, rows = distinct(truths)
    if not isinstance(options.candidates, str):
        actions = loss.check_actions(options.candidates, "candidates")
        if len(actions) == 0:
            raise ValueError("there are no candidates")
    elif options.candidates == "training":
        actions = training_actions(loss, known)
    else:
        raise ValueError(
            f"candidates must be 'training' or a sequence of outputs, got {options.candidates!r}"
        )
    return actions, checked(loss.table(actions, known), actions, known) @ rows.T


def training_actions(loss: OutputLoss, known: np.ndarray) -> np.ndarray:
    """Truths as candidates, if they are actions."""
    try:
        return loss.check_actions(known, "candidates")
    except ValueError as error:
        raise ValueError(f"the truths are no actions; give candidates=... ({error})") from error


def checked(table: Any, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """A table of losses of the right shape and finite, or an error that says where it is not."""
    table = np.asarray(table, dtype=float)
    expected = (len(actions), len(truths))
    if table.shape != expected:
        raise ValueError(f"the table of losses has shape {table.shape}, not {expected}")
    bad = ~np.isfinite(table)
    if bad.any():
        i, j = (int(v) for v in np.argwhere(bad)[0])
        raise ValueError(f"the loss of candidate {i} against truth {j} is {table[i, j]}")
    return table


class Labels(Decoder):
    """Labels, or other actions of a loss on labels: least ``matrix @ sums``."""

    def __init__(self, loss: OfLabels, truths: np.ndarray, options: Options):
        self.matrix, self.actions = loss.resolve()
        self.targets = indicators(loss.codes(truths), len(loss.classes))

    def decode(self, sums: np.ndarray) -> np.ndarray:
        return self.actions[(sums @ self.matrix.T).argmin(axis=1)]


def comparison_constant(matrix: Any) -> float:
    """Sharp constant of the comparison inequality for a finite loss.

    For scores g of the indicators of truths, decoding ``argmin_a (matrix @ g)_a`` loses at most
    ``c * sqrt(R(g) - R(g*))`` against the best action, where R is the least-squares risk and
    ``c = max over actions a, b of |matrix[a] - matrix[b]|``. (Ciliberto et al. 2016, Theorem 2,
    prints ``|V| max |psi|``, here the spectral norm of the matrix. Under 0-1 loss with two labels
    that is 1, but the inequality needs sqrt 2: their proof compares two actions, so twice the
    printed constant is always enough.)

    Examples
    --------
    >>> from concordant.outputs import comparison_constant
    >>> comparison_constant([[0, 1], [1, 0]])
    1.41
    """
    matrix = np.asarray(matrix, dtype=float)
    away = matrix[:, None, :] - matrix[None, :, :]
    return float(np.sqrt((away**2).sum(axis=2).max()))
