"""What a prediction is scored on: losses of (action, truth), never surrogates."""

from concordant.losses.assignments import Matching, find_matching
from concordant.losses.base import LabelLoss
from concordant.losses.boxes import LabelOnly, Overlap, PairLoss, PairMatrix, find_pair_loss, iou
from concordant.losses.histograms import ChiSquared, Hellinger, KullbackLeibler
from concordant.losses.induced import Diffusion, KernelInduced
from concordant.losses.labels import (
    Absolute,
    Abstain,
    Among,
    CostMatrix,
    SequenceZeroOne,
    Squared,
    ZeroOne,
)
from concordant.losses.names import (
    LOSSES,
    OUTPUT_LOSSES,
    find_loss,
    find_node_loss,
    find_output_loss,
)
from concordant.losses.outputs import FunctionLoss, OutputLoss
from concordant.losses.rankings import Kendall, Rank, Spearman
from concordant.losses.reals import (
    L2L1,
    Cauchy,
    EpsilonInsensitive,
    Fair,
    GemanMcClure,
    HingeLoss,
    Huber,
    LogisticLoss,
    Pinball,
)
from concordant.losses.sets import FMeasure, Hamming, Jaccard
from concordant.losses.strings import EditDistance

__all__ = [
    "L2L1",
    "LOSSES",
    "OUTPUT_LOSSES",
    "Absolute",
    "Abstain",
    "Among",
    "Cauchy",
    "ChiSquared",
    "CostMatrix",
    "Diffusion",
    "EditDistance",
    "EpsilonInsensitive",
    "FMeasure",
    "Fair",
    "FunctionLoss",
    "GemanMcClure",
    "Hamming",
    "Hellinger",
    "HingeLoss",
    "Huber",
    "Jaccard",
    "Kendall",
    "KernelInduced",
    "KullbackLeibler",
    "LabelLoss",
    "LabelOnly",
    "LogisticLoss",
    "Matching",
    "OutputLoss",
    "Overlap",
    "PairLoss",
    "PairMatrix",
    "Pinball",
    "Rank",
    "SequenceZeroOne",
    "Spearman",
    "Squared",
    "ZeroOne",
    "find_loss",
    "find_matching",
    "find_node_loss",
    "find_output_loss",
    "find_pair_loss",
    "iou",
]
