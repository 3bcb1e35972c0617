"""What a prediction is scored on: losses of (action, truth), never surrogates."""

from concordant.losses.base import LabelLoss
from concordant.losses.boxes import (
    LabelOnly,
    Overlap,
    PairLoss,
    PairMatrix,
    find_pair_loss,
    iou,
)
from concordant.losses.labels import Absolute, Abstain, Among, CostMatrix, Squared, ZeroOne
from concordant.losses.names import LOSSES, find_loss

__all__ = [
    "LOSSES",
    "Absolute",
    "Abstain",
    "Among",
    "CostMatrix",
    "LabelLoss",
    "LabelOnly",
    "Overlap",
    "PairLoss",
    "PairMatrix",
    "Squared",
    "ZeroOne",
    "find_loss",
    "find_pair_loss",
    "iou",
]
