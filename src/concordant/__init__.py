"""Learn for the loss you are scored on.

You say how you will be scored (``loss``), what an answer looks like (the estimator) and by
which route to train for it (``surrogate``):

>>> import concordant as cc
>>> model = cc.Classifier(loss=cc.losses.Abstain(cost=0.3), surrogate="adversarial")

A walk through the library, from the inside out:

- `concordant.losses`: what a prediction costs, ``matrix[action, truth]``;
- `concordant.surrogates`: what training minimises, as plain functions of scores
  (`surrogates.evaluate`, `surrogates.equilibrium`) usable under any model;
- `Classifier`: a scikit-learn classifier for any loss by any route, linear or kernel, with a
  certified duality gap and a sentence on its consistency;
- `OrdinalClassifier`: the same for ordered labels, by one direction and thresholds on it;
- `concordant.metrics`: `mean_loss` and `make_scorer` for the same losses.

Names are loaded when first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concordant import datasets, losses, metrics, surrogates
    from concordant.estimators import Classifier, OrdinalClassifier

__version__ = "0.1.0.dev0"
__all__ = ["Classifier", "OrdinalClassifier", "datasets", "losses", "metrics", "surrogates"]

_MODULES = ("datasets", "losses", "metrics", "surrogates")
_NAMES = {
    "Classifier": "concordant.estimators",
    "OrdinalClassifier": "concordant.estimators",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"concordant.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'concordant' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
