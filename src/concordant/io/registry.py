"""Which classes a model file may hold: key -> where the class is, one table.

A file names keys only. What is imported is decided here, never by a file, so that loading one
runs no code but the library's own. A key stays the same when its class moves.
"""

from __future__ import annotations

import importlib
from functools import cache

#: module -> classes; a class's name is its key.
_MODULES: dict[str, tuple[str, ...]] = {
    "concordant.estimators": (
        "Classifier",
        "GraphLabeler",
        "KernelDependencyEstimator",
        "LossTrickPredictor",
        "Matcher",
        "NadarayaWatson",
        "OrdinalClassifier",
        "Ranker",
        "SequenceLabeler",
    ),
    "concordant.estimators.decisions": ("Rule",),
    "concordant.estimators.kernels": ("Kernel", "Nystroem"),
    "concordant.estimators.latent": ("LatentClassifier",),
    "concordant.estimators.node_decisions": ("NodeRule",),
    "concordant.estimators.training": ("Start",),
    "concordant.io.encoding": ("Column", "Standardise", "TableEncoder"),
    "concordant.io.tokens": ("ColumnFeatures",),
    "concordant.losses": (
        "Absolute",
        "Abstain",
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
        "L2L1",
        "LabelOnly",
        "LogisticLoss",
        "Matching",
        "Overlap",
        "PairMatrix",
        "Pinball",
        "Rank",
        "SequenceZeroOne",
        "Spearman",
        "Squared",
        "ZeroOne",
    ),
    "concordant.losses.boxes": ("PairZeroOne",),
    "concordant.losses.labels": ("Among",),
    "concordant.losses.outputs": ("OfLabels",),
    "concordant.losses.reals": ("AbsoluteError", "Pieces", "SquaredError"),
    "concordant.outputs.candidates": ("Candidates", "Labels"),
    "concordant.outputs.features": ("CentreFeatures", "Fourier", "Gaussian", "Sums"),
    "concordant.outputs.histograms": (
        "FlooredMass",
        "SimplexDescent",
        "SphereDescent",
        "SphereMean",
        "SphereMedians",
    ),
    "concordant.outputs.induced": ("Circle", "PreImage", "Sphere", "UnweightedPreImage"),
    "concordant.outputs.orderings": ("Assignment", "Borda", "Preferences", "Tournament"),
    "concordant.outputs.products": ("ProductKernel",),
    "concordant.outputs.reals": ("Knots", "Margins", "Means", "Search"),
    "concordant.outputs.ridge": ("Coefficients", "Spectrum"),
    "concordant.outputs.sets": ("Entries", "Sets", "SizedSets"),
    "concordant.outputs.strings": ("Median",),
    "concordant.structures": ("LabelCosts",),
    "concordant.surrogates": (
        "Adversarial",
        "AllThreshold",
        "BinaryEncoded",
        "CostOneVsAll",
        "CostOneVsOne",
        "Dissimilarity",
        "Hinge",
        "Hybrid",
        "ImmediateThreshold",
        "IterativeLatentSVM",
        "LatentLog",
        "LatentSVM",
        "LeeLinWahba",
        "Log",
        "OneSidedRegression",
        "OneVsRest",
        "Quadratic",
        "Reduction",
        "RejectingCrammerSinger",
        "RejectingOneVsRest",
        "SmoothGame",
        "WestonWatkins",
    ),
    # What a model is usually chained with; their state is data only.
    "sklearn.pipeline": ("Pipeline",),
    "sklearn.preprocessing": (
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "RobustScaler",
        "StandardScaler",
    ),
}

KEYS: dict[str, str] = {name: module for module, names in _MODULES.items() for name in names}


@cache
def class_of(key: str) -> type:
    """The class of this key; KeyError if there is none."""
    return getattr(importlib.import_module(KEYS[key]), key)


def key_of(kind: type) -> str | None:
    """The key of exactly this class, subclasses excluded; None if it has none."""
    key = kind.__name__
    return key if key in KEYS and class_of(key) is kind else None


def trusted_types() -> list[str]:
    """Full names of the library's classes in fitted models, for ``skops.io.load(trusted=...)``.

    Examples
    --------
    >>> "concordant.estimators.classifier.Classifier" in trusted_types()
    True
    """
    classes = [class_of(key) for key in KEYS]
    return sorted(
        f"{c.__module__}.{c.__qualname__}" for c in classes if c.__module__.startswith("concordant")
    )
