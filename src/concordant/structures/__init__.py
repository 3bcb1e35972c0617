"""What an answer is made of: parts, and how to ask about scores of parts."""

from concordant.structures.assignments import Assignments
from concordant.structures.base import PartLoss, Structure
from concordant.structures.chain import Chain
from concordant.structures.graph import Graph
from concordant.structures.label import Label, LabelCosts
from concordant.structures.latent import PairCosts, Pairs
from concordant.structures.pair_prices import PairPrices
from concordant.structures.pairwise import NodeCosts, Pairwise, PartTarget

__all__ = [
    "Assignments",
    "Chain",
    "Graph",
    "Label",
    "LabelCosts",
    "NodeCosts",
    "PairCosts",
    "PairPrices",
    "Pairs",
    "Pairwise",
    "PartLoss",
    "Structure",
]
