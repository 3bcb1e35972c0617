"""Scikit-learn estimators: validate, build the pieces, solve, remember."""

from concordant.estimators.classifier import Classifier
from concordant.estimators.ordinal import OrdinalClassifier

__all__ = ["Classifier", "OrdinalClassifier"]
