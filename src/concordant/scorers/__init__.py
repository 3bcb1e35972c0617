"""From features to scores and back: the only place that sees features."""

from concordant.scorers.base import Scorer
from concordant.scorers.kernel import KernelScorer
from concordant.scorers.linear import LinearScorer
from concordant.scorers.pairwise import PairwiseScorer

__all__ = ["KernelScorer", "LinearScorer", "PairwiseScorer", "Scorer"]
