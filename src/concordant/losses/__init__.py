"""What a prediction is scored on: losses of (action, truth), never surrogates."""

from concordant.losses.base import LabelLoss
from concordant.losses.labels import Absolute, Abstain, CostMatrix, Squared, ZeroOne

__all__ = ["Absolute", "Abstain", "CostMatrix", "LabelLoss", "Squared", "ZeroOne"]
