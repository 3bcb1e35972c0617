"""Edit distance between strings, or sequences of anything hashable."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.losses.outputs import OutputLoss, matched, objects
from concordant.losses.reals import positive


class EditDistance(OutputLoss):
    """Least cost of edits that turn one sequence into another.

    Parameters
    ----------
    substitution, insertion, deletion : float, default=1.0
        Price of each edit of the action on its way to the truth.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.EditDistance()(["kitten"], ["sitting"])
    array([3.])
    """

    embedding = (
        "strings up to a length are finitely many, so an indicator does (Ciliberto et al. 2016, "
        "Example 1); over all lengths the loss is unbounded and NOT of the form"
    )

    def __init__(self, substitution: float = 1.0, insertion: float = 1.0, deletion: float = 1.0):
        self.substitution = substitution
        self.insertion = insertion
        self.deletion = deletion

    def prices(self) -> tuple[float, float, float]:
        """Price of a substitution, an insertion and a deletion."""
        names = ("substitution", "insertion", "deletion")
        one, two, three = (positive(self, name, getattr(self, name)) for name in names)
        return one, two, three

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        rows = objects(outputs, name)
        for i, row in enumerate(rows):
            if not isinstance(row, (str, tuple, list, np.ndarray)):
                raise ValueError(f"{name}, row {i}: {row!r} is neither a string nor a sequence")
        return rows

    def table(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        from concordant.kernels.strings import distances

        codes: dict[Any, int] = {}
        first, second = encode(actions, codes), encode(truths, codes)
        return distances(*first, *second, *self.prices())

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        return matched(self.table, actions, truths)


def encode(sequences: np.ndarray, codes: dict[Any, int]) -> tuple[np.ndarray, np.ndarray]:
    """Sequences as one flat array of symbol codes and offsets; new symbols join `codes`."""
    flat = [codes.setdefault(s, len(codes)) for sequence in sequences for s in sequence]
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in sequences], dtype=np.int64)])
    return np.array(flat, dtype=np.int64), offsets.astype(np.int64)
