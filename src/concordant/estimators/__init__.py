"""Scikit-learn estimators: validate, build the pieces, solve, remember."""

from concordant.estimators.classifier import Classifier
from concordant.estimators.loss_trick import (
    KernelDependencyEstimator,
    LossTrickPredictor,
    NadarayaWatson,
)
from concordant.estimators.matcher import Matcher
from concordant.estimators.ordinal import OrdinalClassifier
from concordant.estimators.ranker import Ranker

__all__ = [
    "Classifier",
    "KernelDependencyEstimator",
    "LossTrickPredictor",
    "Matcher",
    "NadarayaWatson",
    "OrdinalClassifier",
    "Ranker",
]
