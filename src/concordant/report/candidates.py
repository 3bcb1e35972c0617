"""What is compared: the routes, and baselines that are hard to be embarrassed by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from concordant.estimators import Classifier, OrdinalClassifier
from concordant.estimators.base import LabelClassifier
from concordant.losses import Abstain, CostMatrix
from concordant.report.problem import Problem
from concordant.surrogates import ALIASES, find_surrogate
from concordant.surrogates.names import ORDERED, REDUCTIONS, REJECTING, SURROGATES


class ConstantAction(ClassifierMixin, BaseEstimator):
    """The one action that costs least on the training labels, whatever the features."""

    def __init__(self, loss: Any):
        self.loss = loss

    def fit(self, X: Any, y: np.ndarray) -> ConstantAction:
        self.classes_, codes = np.unique(y, return_inverse=True)
        costs, actions = self.loss.resolve(self.classes_)
        self.action_ = actions[(costs @ np.bincount(codes)).argmin()]
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.full(X.shape[0], self.action_)


class BayesAction(ClassifierMixin, BaseEstimator):
    """The action with the least expected cost under another model's probabilities."""

    def __init__(self, estimator: Any, loss: Any):
        self.estimator = estimator
        self.loss = loss

    def fit(self, X: Any, y: np.ndarray) -> BayesAction:
        self.estimator.fit(X, y)
        self.classes_ = self.estimator.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.estimator.predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        costs, actions = self.loss.resolve(self.classes_)
        return actions[(self.estimator.predict_proba(X) @ costs.T).argmin(axis=1)]


#: ``(C, loss, tol, seed) -> estimator``.
Maker = Callable[[float, CostMatrix, float, int], Any]


@dataclass(frozen=True)
class Candidate:
    """One row of the table to be.

    `scale` multiplies the grid for C. `code` is Python for the candidate, for readers who want
    to repeat the comparison.
    """

    name: str
    title: str
    make: Maker
    is_route: bool = False
    has_C: bool = True
    answers_labels: bool = False
    dense: bool = False
    scale: float = 1.0
    kernel: str | None = None
    code: str = ""


def _route(
    base: LabelClassifier, surrogate: Any, C: float, loss: CostMatrix, tol: float, seed: int
) -> LabelClassifier:
    given = {"loss": loss, "surrogate": surrogate, "C": C, "tol": tol, "random_state": seed}
    return clone(base).set_params(**given, n_jobs=1, verbose=0)


def _constant(C: float, loss: CostMatrix, tol: float, seed: int) -> ConstantAction:
    return ConstantAction(loss)


def _logistic(C: float, loss: CostMatrix, tol: float, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, max_iter=1000)


def _logistic_bayes(C: float, loss: CostMatrix, tol: float, seed: int) -> BayesAction:
    return BayesAction(_logistic(C, loss, tol, seed), loss)


def _trees_bayes(C: float, loss: CostMatrix, tol: float, seed: int) -> BayesAction:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return BayesAction(HistGradientBoostingClassifier(random_state=seed), loss)


BASELINES = (
    Candidate("trees_bayes", "boosted trees (Bayes)", _trees_bayes, has_C=False, dense=True),
    Candidate("logistic_bayes", "logistic (Bayes)", _logistic_bayes),
    Candidate("logistic", "logistic (argmax)", _logistic, answers_labels=True),
    Candidate("constant", "best constant", _constant, has_C=False),
)


#: Routes that one direction with thresholds is tried with, where labels have ranks.
ON_THRESHOLDS = ("adversarial", "log", *ORDERED)


def applicable(problem: Problem, loss: Any) -> list[Any]:
    """Every route that is made for such labels and such a loss."""
    found: list[Any] = [*SURROGATES, *REDUCTIONS]
    if isinstance(loss, Abstain):
        found += REJECTING
    if problem.is_ordered:
        found += [OrdinalClassifier(surrogate=name) for name in ON_THRESHOLDS]
    return found


def candidates(
    routes: Iterable[Any] | None, loss: Any, problem: Problem | None = None
) -> list[Candidate]:
    """The routes asked for, by name or as objects (default: every one that applies), then the
    baselines."""
    if routes is None:
        routes = SURROGATES if problem is None else applicable(problem, loss)
    found = [_candidate(route, loss) for route in routes]
    found += BASELINES
    names = [c.name for c in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice!r} is compared twice")
    return found


def _candidate(route: Any, loss: Any) -> Candidate:
    base: LabelClassifier
    if isinstance(route, LabelClassifier):
        base, surrogate, code = route, route.surrogate, f"cc.{route!r}"
    else:
        base, surrogate = Classifier(), route
        code = repr(route) if isinstance(route, str) else f"cc.surrogates.{route!r}"
    found = find_surrogate(surrogate, loss)[0]
    name = surrogate if isinstance(surrogate, str) else repr(found)
    title = name.replace("_", "-") if isinstance(surrogate, str) else name
    if isinstance(base, OrdinalClassifier):
        suffix = "" if surrogate in ORDERED else ", thresholds"
        name, title = f"ordinal/{name}", title + suffix
    kernel = None
    if base.kernel is not None:
        kernel = base.kernel if isinstance(base.kernel, str) else "own kernel"
        name, title = f"{name}/{kernel}", f"{title} ({kernel})"
    return Candidate(
        name,
        title,
        partial(_route, base, surrogate),
        is_route=True,
        kernel=kernel,
        answers_labels=isinstance(surrogate, str) and surrogate in ALIASES,
        scale=float(base.C),
        code=" ".join(code.split()),
    )
