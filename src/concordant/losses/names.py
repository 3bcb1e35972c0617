"""Name -> loss, one table. Tests, command line and documentation read it too."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.losses.base import LabelLoss
from concordant.losses.histograms import ChiSquared, Hellinger, KullbackLeibler
from concordant.losses.labels import Absolute, SequenceZeroOne, Squared, ZeroOne
from concordant.losses.outputs import FunctionLoss, OfLabels, OutputLoss
from concordant.losses.rankings import Kendall, Rank, Spearman
from concordant.losses.reals import (
    L2L1,
    AbsoluteError,
    Cauchy,
    EpsilonInsensitive,
    Fair,
    GemanMcClure,
    HingeLoss,
    Huber,
    LogisticLoss,
    Pinball,
    SquaredError,
)
from concordant.losses.sets import FMeasure, Hamming, Jaccard
from concordant.losses.strings import EditDistance

LOSSES: dict[str, type[LabelLoss]] = {
    "zero_one": ZeroOne,
    "absolute": Absolute,
    "squared": Squared,
}


#: Losses between outputs of other kinds, of `LossTrickPredictor` and its relatives.
OUTPUT_LOSSES: dict[str, type[OutputLoss]] = {
    "cauchy": Cauchy,
    "chi_squared": ChiSquared,
    "edit_distance": EditDistance,
    "epsilon_insensitive": EpsilonInsensitive,
    "f_measure": FMeasure,
    "fair": Fair,
    "geman_mcclure": GemanMcClure,
    "hamming": Hamming,
    "hellinger": Hellinger,
    "hinge": HingeLoss,
    "huber": Huber,
    "jaccard": Jaccard,
    "kendall": Kendall,
    "kullback_leibler": KullbackLeibler,
    "l2l1": L2L1,
    "logistic": LogisticLoss,
    "pinball": Pinball,
    "rank": Rank,
    "spearman": Spearman,
}


#: Names that mean something on sequences and graphs only.
NODE_LOSSES: dict[str, type[LabelLoss]] = {
    "hamming": ZeroOne,
    "sequence_zero_one": SequenceZeroOne,
}


def find_node_loss(loss: Any) -> LabelLoss:
    """The loss on labels of nodes of this name, or the object itself."""
    if isinstance(loss, str) and loss in NODE_LOSSES:
        return NODE_LOSSES[loss]()
    return find_loss(loss)


def find_loss(loss: Any) -> LabelLoss:
    """The loss of this name, or the object itself."""
    if isinstance(loss, OutputLoss) or (isinstance(loss, str) and loss in OUTPUT_LOSSES):
        raise TypeError(
            f"{loss!r} is a loss between outputs, not on labels; LossTrickPredictor takes it"
        )
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


#: What losses on ranks mean where outputs are numbers.
ON_NUMBERS: dict[type[LabelLoss], type[OutputLoss]] = {
    Absolute: AbsoluteError,
    Squared: SquaredError,
}


def find_output_loss(loss: Any, outputs: Any) -> OutputLoss:
    """A loss between outputs like these, from a name, an object or a function of two outputs.

    Absolute and squared are of the numbers themselves where outputs are numbers; the other
    losses on labels take the different outputs as classes.
    """
    if isinstance(loss, str) and loss in OUTPUT_LOSSES:
        return OUTPUT_LOSSES[loss]()
    if isinstance(loss, str) and loss not in LOSSES:
        names = ", ".join(sorted([*LOSSES, *OUTPUT_LOSSES]))
        raise ValueError(f"unknown loss {loss!r}; names are {names}")
    if isinstance(loss, OutputLoss):
        return loss
    if not isinstance(loss, (str, LabelLoss)):
        if callable(loss):
            return FunctionLoss(loss)
        raise TypeError(
            f"loss must be a name, a concordant loss or a function of two outputs, got {loss!r}"
        )
    label_loss = find_loss(loss)
    array = np.asarray(outputs)
    if type(label_loss) in ON_NUMBERS and array.dtype.kind in "fiub":
        return ON_NUMBERS[type(label_loss)]()
    if array.ndim != 1:
        raise ValueError(
            f"{type(label_loss).__name__} is a loss on labels, one an example; got outputs of "
            f"shape {array.shape}"
        )
    return OfLabels(label_loss, np.unique(array))
