"""What a prediction is scored on: losses of (action, truth), never surrogates."""

from concordant.losses.assignments import Matching, find_matching
from concordant.losses.base import LabelLoss
from concordant.losses.labels import Absolute, Abstain, CostMatrix, Squared, ZeroOne
from concordant.losses.names import LOSSES, find_loss

__all__ = [
    "LOSSES",
    "Absolute",
    "Abstain",
    "CostMatrix",
    "LabelLoss",
    "Matching",
    "Squared",
    "ZeroOne",
    "find_loss",
    "find_matching",
]
