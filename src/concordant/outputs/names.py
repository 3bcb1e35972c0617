"""Loss -> decoder, one table. The class nearest in the loss's ancestry decides.

A loss does not name its decoder, and a loss that is not here is decoded over candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from concordant.losses.histograms import ChiSquared, Hellinger, KullbackLeibler
from concordant.losses.induced import Diffusion, KernelInduced
from concordant.losses.outputs import OfLabels, OutputLoss
from concordant.losses.rankings import Kendall, Rank, Spearman
from concordant.losses.reals import Margin, Pieces, Smooth, SquaredError
from concordant.losses.sets import FMeasure, Hamming, Jaccard
from concordant.losses.strings import EditDistance
from concordant.outputs import histograms, induced, orderings, reals, sets, strings
from concordant.outputs.base import Decoder, Options
from concordant.outputs.candidates import Candidates, Labels

Maker = Callable[[Any, np.ndarray, Options], Decoder]

HELLINGER: dict[str, Maker] = {
    "squared": histograms.SphereMean,
    "sum": histograms.SphereMedians,
    "root": histograms.SphereDescent,
}


def _hellinger(loss: Hellinger, truths: np.ndarray, options: Options) -> Decoder:
    return HELLINGER[loss.variant()](loss, truths, options)


def _hamming(loss: Hamming, truths: np.ndarray, options: Options) -> Decoder:
    make: Maker = orderings.Assignment if loss.permutations else sets.Entries
    return make(loss, truths, options)


DECODERS: dict[type, Maker] = {
    OutputLoss: Candidates,
    OfLabels: Labels,
    SquaredError: reals.Means,
    Pieces: reals.Knots,
    Smooth: reals.Search,
    Margin: reals.Margins,
    Hamming: _hamming,
    FMeasure: sets.SizedSets,
    Jaccard: sets.Sets,
    Hellinger: _hellinger,
    KullbackLeibler: histograms.FlooredMass,
    ChiSquared: histograms.SimplexDescent,
    KernelInduced: induced.PreImage,
    Diffusion: induced.diffusion,
    Rank: orderings.Preferences,
    Kendall: orderings.Tournament,
    Spearman: orderings.Assignment,
    EditDistance: strings.Median,
}


def find_decoder(loss: OutputLoss, truths: np.ndarray, options: Options) -> Decoder:
    """The decoder of a loss for these training truths.

    Candidates given by the user are what is looked at, whatever the loss, but for labels, whose
    actions are known.
    """
    given = not (isinstance(options.candidates, str) and options.candidates == "training")
    if given and not isinstance(loss, OfLabels):
        return Candidates(loss, truths, options)
    make = next(DECODERS[kind] for kind in type(loss).__mro__ if kind in DECODERS)
    return make(loss, truths, options)
