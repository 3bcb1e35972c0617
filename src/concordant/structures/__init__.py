"""What an answer is made of: parts, and how to ask about scores of parts."""

from concordant.structures.assignments import Assignments, PairPrices
from concordant.structures.base import PartLoss, Structure
from concordant.structures.label import Label, LabelCosts

__all__ = ["Assignments", "Label", "LabelCosts", "PairPrices", "PartLoss", "Structure"]
