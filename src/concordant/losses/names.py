"""Name -> loss, one table. Tests, command line and documentation read it too."""

from __future__ import annotations

from typing import Any

from concordant.losses.base import LabelLoss
from concordant.losses.labels import Absolute, Squared, ZeroOne

LOSSES: dict[str, type[LabelLoss]] = {
    "zero_one": ZeroOne,
    "absolute": Absolute,
    "squared": Squared,
}


def find_loss(loss: Any) -> LabelLoss:
    """The loss of this name, or the object itself."""
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(
                f"unknown loss {loss!r}; names are {', '.join(sorted(LOSSES))}, "
                "and Abstain(cost=...) and CostMatrix(matrix) are objects of concordant.losses"
            )
        return LOSSES[loss]()
    if not isinstance(loss, LabelLoss):
        raise TypeError(f"loss must be a name or a concordant loss, got {type(loss).__name__}")
    return loss
