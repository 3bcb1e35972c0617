"""Scikit-learn estimators: validate, build the pieces, solve, remember."""

from concordant.estimators.classifier import Classifier
from concordant.estimators.graph_labeler import GraphLabeler
from concordant.estimators.graphs import Graph
from concordant.estimators.sequence_labeler import SequenceLabeler
from concordant.estimators.sequences import Sequence

__all__ = ["Classifier", "Graph", "GraphLabeler", "Sequence", "SequenceLabeler"]
