"""Scikit-learn estimators: validate, build the pieces, solve, remember."""

from concordant.estimators.classifier import Classifier
from concordant.estimators.graph_labeler import GraphLabeler
from concordant.estimators.graphs import Graph
from concordant.estimators.loss_trick import (
    KernelDependencyEstimator,
    LossTrickPredictor,
    NadarayaWatson,
)
from concordant.estimators.matcher import Matcher
from concordant.estimators.ordinal import OrdinalClassifier
from concordant.estimators.ranker import Ranker
from concordant.estimators.sequence_labeler import SequenceLabeler
from concordant.estimators.sequences import Sequence

__all__ = [
    "Classifier",
    "Graph",
    "GraphLabeler",
    "KernelDependencyEstimator",
    "LossTrickPredictor",
    "Matcher",
    "NadarayaWatson",
    "OrdinalClassifier",
    "Ranker",
    "Sequence",
    "SequenceLabeler",
]
