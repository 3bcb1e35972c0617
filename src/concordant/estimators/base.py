"""The one classifier of labels; `Classifier` and its relatives are presets of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from concordant.estimators.data import Sample, features, label_order, training_data
from concordant.estimators.decisions import LabelDecisions, Rule
from concordant.estimators.kernels import Kernel, Nystroem, check_gram, check_overflow
from concordant.estimators.parameters import Parameters, check_parameters
from concordant.estimators.training import (
    Start,
    all_or_nothing,
    build_objective,
    one_blas_thread,
    problem_of,
    solve,
)
from concordant.executor import Executor
from concordant.losses import LabelLoss
from concordant.objective import Objective
from concordant.scorers import KernelScorer, LinearScorer, Scorer
from concordant.solvers import Result
from concordant.structures import LabelCosts
from concordant.surrogates import Adversarial


class LabelClassifier(LabelDecisions, ClassifierMixin, BaseEstimator):
    """Scores of labels, linear or by a kernel, trained for a loss by a route.

    A subclass with scores of another form gives `_scorer`, `_store_weights` and `_complete`; one
    whose labels have an order of their own `_order`.
    """

    coef_: np.ndarray
    intercept_: np.ndarray
    dual_coef_: np.ndarray
    support_: np.ndarray

    def __init__(
        self,
        loss: Any = "zero_one",
        surrogate: Any = "adversarial",
        *,
        C: float = 1.0,
        kernel: Any = None,
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        n_components: int | None = None,
        penalty: str = "l2",
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.loss = loss
        self.surrogate = surrogate
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, loss_weight: Any = None
    ) -> LabelClassifier:
        """Train on labelled examples.

        After an error the estimator is as it was before the call.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n, d)
            With ``kernel="precomputed"`` the kernel between the examples.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
            Weight k equals k copies.
        loss_weight : array-like of shape (n,), default=None
            What a mistake on this example costs, inside the loss.
        """
        with all_or_nothing(self):
            parameters = check_parameters(self)
            start = getattr(self, "_start", None) if self.warm_start else None
            self._forget()
            order = self._order(y, parameters.loss)
            sample, self.classes_ = training_data(self, X, y, sample_weight, loss_weight, order)
            if order is not None:
                parameters = parameters.on_order(order)
            matrix, self.actions_ = parameters.loss.resolve(self.classes_)
            same = self.actions_.tolist() == self.classes_.tolist()
            costs = training_costs = LabelCosts(matrix, same)
            if type(parameters.training_loss) is not type(parameters.loss):
                training_costs = LabelCosts(parameters.training_loss.resolve(self.classes_)[0])
            with Executor(self.n_jobs) as executor, one_blas_thread():
                columns = parameters.surrogate.columns(len(self.classes_))
                scorer = self._scorer(sample, columns, parameters.seed, executor)
                objective = build_objective(
                    parameters, training_costs, scorer, sample, self.C, executor
                )
                result = solve(self, objective, start, parameters.seed)
                self._store(objective, result, sample, parameters, costs)
        return self

    def _order(self, y: Any, loss: LabelLoss) -> list[Any] | None:
        """All labels there can be, in their order; None for those that occur, sorted."""
        if not loss.ordered:
            return None
        return label_order(y, "use an ordered categorical, or OrdinalClassifier(categories=...)")

    def _forget(self) -> None:
        """Drop what an earlier fit left."""
        private = ("_rule", "_start", "_kernel", "_nystroem", "_support_rows", "_offsets")
        for name in list(vars(self)):
            if name in private or (name.endswith("_") and name[0] != "_"):
                delattr(self, name)

    def _scorer(self, sample: Sample, columns: int, seed: int, executor: Executor) -> Scorer:
        """Scores of the sample as a linear map of weights; keeps what prediction needs of it."""
        return self._columns(sample, columns, self.fit_intercept, seed, executor)

    def _columns(
        self, sample: Sample, number: int, intercept: bool, seed: int, executor: Executor
    ) -> LinearScorer | KernelScorer:
        """So many scores, each with weights of its own."""
        x = sample.x
        if self.kernel is None:
            return LinearScorer(x, number, intercept)
        if self.kernel == "precomputed":
            check_gram(x, sample.origin)
            return KernelScorer(x, number, intercept)
        kernel = Kernel(self.kernel, self.gamma, self.degree, self.coef0, x, sample.weight)
        if self.n_components is not None:
            self._nystroem = Nystroem(kernel, x, self.n_components, seed)
            return LinearScorer(self._nystroem(x), number, intercept)
        self._kernel = kernel
        gram = kernel.training(x, executor)
        check_gram(
            gram,
            sample.origin,
            ours=not callable(self.kernel),
            gaussian=kernel.is_gaussian(x),
        )
        return KernelScorer(gram, number, intercept)

    def _store(
        self,
        objective: Objective,
        result: Result,
        sample: Sample,
        parameters: Parameters,
        costs: LabelCosts,
    ) -> None:
        self._store_weights(objective.scorer, result.weights, sample)
        self.objective_, self.gap_ = result.objective, result.gap
        self.n_iter_, self.history_ = result.n_iter, result.history
        surrogate = parameters.surrogate
        if isinstance(surrogate, Adversarial):
            value = objective.bonuses(result.weights, result.mu)
            self.game_value_ = float(np.average(value, weights=sample.weight))
        if self.warm_start:
            self._start = Start(result.weights, result.mu, problem_of(objective))
        summary: dict[str, float] = {}
        if surrogate.summarises:
            scores = objective.scorer.scores(result.weights)
            summary = surrogate.summarise(costs, scores, sample.weight)
        self._rule = Rule(surrogate, parameters.loss, costs, summary)

    def _store_weights(self, scorer: Any, weights: np.ndarray, sample: Sample) -> None:
        weights = scorer.plain(weights)
        free, weights = scorer.free(weights), scorer.penalised(weights)
        self.intercept_ = free[0].copy() if len(free) else np.zeros(weights.shape[1])
        self._store_columns(scorer, weights, sample)

    def _store_columns(self, scorer: Any, weights: np.ndarray, sample: Sample) -> None:
        """Weights (d, columns) of linear scores, or dual coefficients (n, columns)."""
        if not isinstance(scorer, KernelScorer):
            self.coef_ = np.ascontiguousarray(weights.T)
            return
        active = np.flatnonzero(np.any(weights != 0.0, axis=1))
        self.support_, self.dual_coef_ = sample.origin[active], weights[active]
        if self.kernel != "precomputed":
            self._support_rows = sample.x[active]

    def _scores(self, X: Any) -> np.ndarray:
        X = features(self, X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._linear(X) if hasattr(self, "coef_") else self._by_kernel(X)
            scores = self._complete(scores)
        finite = np.isfinite(scores).all(axis=1)
        if not finite.all():
            raise ValueError(f"the scores of row {int((~finite).argmax())} overflow")
        return scores

    def _complete(self, products: np.ndarray) -> np.ndarray:
        """Scores of the labels from what features and weights give."""
        return products + self.intercept_

    def _linear(self, X: Any) -> np.ndarray:
        x = self._nystroem(X) if hasattr(self, "_nystroem") else X
        return np.asarray(x @ self.coef_.T)

    def _by_kernel(self, X: Any) -> np.ndarray:
        if len(self.support_) == 0:
            return np.zeros((X.shape[0], *self.dual_coef_.shape[1:]))
        if not hasattr(self, "_kernel"):  # precomputed
            return X[:, self.support_] @ self.dual_coef_
        gram = self._kernel(X, self._support_rows)
        check_overflow(gram)
        return gram @ self.dual_coef_
