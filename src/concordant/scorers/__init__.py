"""From features to scores and back: the only place that sees features."""

from concordant.scorers.base import Scorer
from concordant.scorers.kernel import KernelScorer
from concordant.scorers.linear import LinearScorer
from concordant.scorers.pairs import PairScorer
from concordant.scorers.pairwise import PairwiseScorer, Pattern
from concordant.scorers.thresholds import ThresholdScorer

__all__ = [
    "KernelScorer",
    "LinearScorer",
    "PairScorer",
    "PairwiseScorer",
    "Pattern",
    "Scorer",
    "ThresholdScorer",
]
