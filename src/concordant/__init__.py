"""Learn for the loss you are scored on.

You say how you will be scored (``loss``), what an answer looks like (the estimator) and by
which route to train for it (``surrogate``):

>>> import concordant as cc
>>> model = cc.Classifier(loss=cc.losses.Abstain(cost=0.3), surrogate="adversarial")

A walk through the library, from the inside out:

- `concordant.losses`: what a prediction costs, ``matrix[action, truth]`` for labels;
- `concordant.surrogates`: what training minimises, as plain functions of scores
  (`surrogates.evaluate`, `surrogates.equilibrium`) usable under any model;
- `Classifier`: a scikit-learn classifier for any loss by any route, linear or kernel, with a
  certified duality gap and a sentence on its consistency;
- `OrdinalClassifier`: ordered labels, one direction and k - 1 thresholds;
- `SequenceLabeler`: labels of the tokens of sequences, from arrays or string features;
- `GraphLabeler`: labels of the nodes of graphs, given as `Graph`, by the same routes;
- `Matcher`: who belongs to whom, one to one, from features of pairs;
- `LossTrickPredictor`: any output that has a loss, numbers, histograms, sets, strings,
  orderings, by weighted training outputs; `NadarayaWatson` and `KernelDependencyEstimator` to
  compare with, and `Ranker` for orderings of items from graded preferences;
- `LatentClassifier`: labels in, labels and places out; a `Bag` has the features of every place;
- `concordant.metrics`: `mean_loss` and `make_scorer` for the same losses;
- `concordant.report`: `compare`, every route and honest baselines under your loss, and its page;
- `concordant.plots`: where the loss comes from, calibration, loss against coverage, convergence;
- `save` and `load`: model files that hold data and no code;
- `concordant.datasets`: small data sets, generators, and larger ones to fetch;
- the command line, ``concordant --help``: compare, train, predict, evaluate.

Names are loaded when first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concordant import datasets, features, io, losses, metrics, plots, report, surrogates
    from concordant.estimators import (
        Classifier,
        Graph,
        GraphLabeler,
        Matcher,
        OrdinalClassifier,
        Sequence,
        SequenceLabeler,
    )
    from concordant.estimators.latent import LatentClassifier
    from concordant.estimators.loss_trick import (
        KernelDependencyEstimator,
        LossTrickPredictor,
        NadarayaWatson,
    )
    from concordant.estimators.ranker import Ranker
    from concordant.io import ModelFileError, load, save
    from concordant.latent.bags import Bag

__version__ = "0.1.0.dev0"
__all__ = [
    "Bag",
    "Classifier",
    "Graph",
    "GraphLabeler",
    "KernelDependencyEstimator",
    "LatentClassifier",
    "LossTrickPredictor",
    "Matcher",
    "ModelFileError",
    "NadarayaWatson",
    "OrdinalClassifier",
    "Ranker",
    "Sequence",
    "SequenceLabeler",
    "datasets",
    "features",
    "io",
    "load",
    "losses",
    "metrics",
    "plots",
    "report",
    "save",
    "surrogates",
]

_MODULES = ("datasets", "features", "io", "losses", "metrics", "plots", "report", "surrogates")
_NAMES = {
    "Bag": "concordant.latent.bags",
    "Classifier": "concordant.estimators",
    "Graph": "concordant.estimators",
    "GraphLabeler": "concordant.estimators",
    "KernelDependencyEstimator": "concordant.estimators.loss_trick",
    "LatentClassifier": "concordant.estimators.latent",
    "LossTrickPredictor": "concordant.estimators.loss_trick",
    "Matcher": "concordant.estimators",
    "ModelFileError": "concordant.io",
    "NadarayaWatson": "concordant.estimators.loss_trick",
    "OrdinalClassifier": "concordant.estimators",
    "Ranker": "concordant.estimators.ranker",
    "Sequence": "concordant.estimators",
    "SequenceLabeler": "concordant.estimators",
    "load": "concordant.io",
    "save": "concordant.io",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"concordant.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'concordant' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
