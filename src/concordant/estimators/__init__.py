"""Scikit-learn estimators: validate, build the pieces, solve, remember."""

from concordant.estimators.classifier import Classifier
from concordant.estimators.matcher import Matcher

__all__ = ["Classifier", "Matcher"]
