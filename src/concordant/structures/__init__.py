"""What an answer is made of: parts, and how to ask about scores of parts."""

from concordant.structures.base import PartLoss, Structure
from concordant.structures.label import Label, LabelCosts
from concordant.structures.latent import PairCosts, Pairs

__all__ = ["Label", "LabelCosts", "PairCosts", "Pairs", "PartLoss", "Structure"]
