"""`Classifier`: class labels under any loss, by any route."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from concordant.estimators.data import Sample, check_finite, check_weights, prepare
from concordant.estimators.progress import close, reporter
from concordant.executor import Executor
from concordant.objective import Objective
from concordant.penalty import Penalty
from concordant.registry import find_loss, find_solver, find_surrogate
from concordant.scorers import KernelScorer, LinearScorer
from concordant.solvers import Result, minimise
from concordant.structures import Label, LabelCosts
from concordant.surrogates import Adversarial, LabelRoute, Surrogate


def _has_probabilities(self: Classifier) -> bool:
    surrogate, loss = find_surrogate(self.surrogate, self.loss)
    return surrogate.has_probabilities(find_loss(loss))


def _is_adversarial(self: Classifier) -> bool:
    return isinstance(find_surrogate(self.surrogate, self.loss)[0], Adversarial)


class Classifier(ClassifierMixin, BaseEstimator):
    """Predict labels, or other actions, that score well under a loss of your own.

    Minimises ``penalty(W) + C * sum_i surrogate_i`` over linear or kernel scores and certifies
    how far the result can be from the minimum.

    Parameters
    ----------
    loss : str or loss, default="zero_one"
        What predictions are scored on: ``"zero_one"``, ``"absolute"``, ``"squared"``, or an
        object such as ``Abstain(cost=0.3)`` or ``CostMatrix(matrix)``.
    surrogate : str or surrogate, default="adversarial"
        The route to training: ``"adversarial"``, ``"log"``, ``"hinge"``, ``"hybrid"``,
        ``"quadratic"``, ``"weston_watkins"``, ``"crammer_singer"``, ``"lee_lin_wahba"``,
        ``"one_vs_rest"``, or an object such as ``Hybrid(alpha=0.3)``.
    C : float, default=1.0
        Weight of the data against the penalty, as in scikit-learn's linear classifiers.
    kernel : {None, "linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default=None
        None for linear scores in the features themselves.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width, as in `sklearn.svm.SVC`.
    degree, coef0 : float, default=3, 0.0
        Constants of the polynomial and sigmoid kernels.
    n_components : int, default=None
        Approximate the kernel with this many Nystroem features.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        Linear scores may have a lasso or a mixture; kernels have their own norm.
    l1_ratio : float, default=0.5
        Share of the lasso in ``"elasticnet"``.
    fit_intercept : bool, default=True
        Intercepts are not penalised.
    solver : str, default="auto"
        ``"dual"`` (coordinate ascent with exact block steps), ``"lbfgs"``, ``"fista"``, and for
        comparison ``"sgd"``, ``"adagrad"``, ``"adam"``, ``"pegasos"``.
    max_iter : int, default=1000
        Most passes over the data.
    tol : float, default=1e-4
        Certified duality gap, relative to the objective, at which to stop.
    random_state : int, RandomState or None, default=None
        Order of the dual's steps and choice of Nystroem features.
    n_jobs : int, default=None
        Threads; None for all cores. The result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution.
    verbose : int, default=0
        1 shows a live line of progress on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
        Labels seen by `fit`, sorted; ordered losses take their ranks from this order.
    actions_ : ndarray of shape (n_actions,)
        What `predict` can return.
    coef_ : ndarray of shape (k, d)
        Weights of linear scores (with `n_components`, of the Nystroem features).
    intercept_ : ndarray of shape (k,)
    support_, dual_coef_ : ndarray of shape (n_support,), (n_support, k)
        Training rows that carry a kernel's scores, and their coefficients.
    objective_ : float
        Objective reached.
    gap_ : float
        Certified: ``objective_ - gap_ <= minimum <= objective_``.
    n_iter_ : int
    game_value_ : float
        Adversarial route: mean expected loss of the best prediction against the adversary.
    history_ : dict of lists
        ``"objective"``, ``"gap"`` and ``"seconds"`` after each pass.
    n_features_in_ : int

    Examples
    --------
    >>> import concordant as cc
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = cc.Classifier(loss="absolute").fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    >>> bool(model.gap_ <= 1e-4 * model.objective_)
    True
    """

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

    # Training.

    def fit(self, X: Any, y: Any, sample_weight: Any = None, loss_weight: Any = None) -> Classifier:
        """Train on labelled examples.

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
        surrogate, penalty, seed = self._check_parameters()
        sample, classes = self._check_data(X, y, sample_weight, loss_weight)
        costs, actions = self._resolve_loss(classes)
        with Executor(self.n_jobs) as executor, _one_blas_thread():
            scorer = self._scorer(sample.x, len(classes), seed)
            objective = self._objective(surrogate, costs, scorer, sample, penalty, executor)
            result = self._solve(objective, seed)
            self._store(objective, result, sample, costs)
        self.classes_, self.actions_, self._costs = classes, actions, costs
        return self

    def _check_parameters(self) -> tuple[Surrogate, Penalty, int]:
        if not (np.isfinite(self.C) and self.C > 0):
            raise ValueError(f"C must be finite and > 0, got {self.C!r}")
        if not self.tol >= 0:
            raise ValueError(f"tol must be >= 0, got {self.tol!r}")
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be >= 1, got {self.max_iter!r}")
        ratios = {"l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio}
        if self.penalty not in ratios:
            raise ValueError(f"penalty must be one of {sorted(ratios)}, got {self.penalty!r}")
        ratio = ratios[self.penalty]
        if not 0 <= ratio <= 1:
            raise ValueError(f"l1_ratio must be between 0 and 1, got {self.l1_ratio!r}")
        if ratio and self.kernel is not None and self.n_components is None:
            raise ValueError(
                f"penalty={self.penalty!r} needs linear scores; a kernel is penalised by its own "
                "norm (use penalty='l2', or n_components=... for explicit features)"
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return find_surrogate(self.surrogate, self.loss)[0], Penalty(1.0 - ratio, ratio), seed

    def _check_data(
        self, X: Any, y: Any, sample_weight: Any, loss_weight: Any
    ) -> tuple[Sample, np.ndarray]:
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            ensure_all_finite=False,
            multi_output=True,
            y_numeric=False,
        )
        check_finite(X)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        weight = check_weights(sample_weight, X, "sample_weight")
        loss_weight = check_weights(loss_weight, X, "loss_weight")
        if not weight.any():
            raise ValueError("sample_weight is zero for every example")
        classes, codes = np.unique(y[weight > 0], return_inverse=True)
        y_codes = np.zeros(len(y), dtype=np.int64)
        y_codes[weight > 0] = codes
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"Precomputed matrix must be a square matrix, got {X.shape}")
            kept = np.flatnonzero(weight)
            x = X[np.ix_(kept, kept)]
            return Sample(x, y_codes[kept], weight[kept], loss_weight[kept], kept), classes
        if sp.issparse(X):
            X = _with_int32_indices(X)
        return prepare(X, y_codes, weight, loss_weight), classes

    def _resolve_loss(self, classes: np.ndarray) -> tuple[LabelCosts, np.ndarray]:
        loss = find_loss(find_surrogate(self.surrogate, self.loss)[1])
        matrix, actions = loss.resolve(classes)
        same = len(actions) == len(classes) and actions.tolist() == classes.tolist()
        return LabelCosts(matrix, same), actions

    def _scorer(self, x: Any, n_classes: int, seed: int) -> LinearScorer | KernelScorer:
        if self.kernel is None:
            return LinearScorer(x, n_classes, self.fit_intercept)
        self._gamma = self._kernel_width(x)
        if self.n_components is not None:
            if self.kernel == "precomputed":
                raise ValueError("n_components needs the features, not a precomputed kernel")
            self._nystroem = self._nystroem_features(seed, len(range(x.shape[0]))).fit(x)
            features = np.ascontiguousarray(self._nystroem.transform(x))
            return LinearScorer(features, n_classes, self.fit_intercept)
        gram = x if self.kernel == "precomputed" else self._gram(x, x)
        return KernelScorer(gram, n_classes, self.fit_intercept)

    def _kernel_width(self, x: Any) -> float:
        if isinstance(self.gamma, str):
            if self.gamma == "auto":
                return 1.0 / x.shape[1]
            if self.gamma != "scale":
                raise ValueError(f"gamma must be 'scale', 'auto' or > 0, got {self.gamma!r}")
            mean = x.mean()
            square = x.multiply(x).mean() if sp.issparse(x) else np.einsum("ij,ij->", x, x) / x.size
            variance = float(square - mean**2)
            return 1.0 / (x.shape[1] * variance) if variance > 0 else 1.0
        if not self.gamma > 0:
            raise ValueError(f"gamma must be 'scale', 'auto' or > 0, got {self.gamma!r}")
        return float(self.gamma)

    def _kernel_arguments(self) -> dict[str, Any]:
        if callable(self.kernel) or self.kernel in ("linear", "precomputed"):
            return {}
        own = {"rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}
        names = own.get(self.kernel, ("gamma", "degree", "coef0"))
        values = {"gamma": self._gamma, "degree": self.degree, "coef0": self.coef0}
        return {name: values[name] for name in names}

    def _gram(self, a: Any, b: Any) -> np.ndarray:
        from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels

        if not callable(self.kernel) and self.kernel not in KERNEL_PARAMS:
            raise ValueError(f"unknown kernel {self.kernel!r}; names are {sorted(KERNEL_PARAMS)}")
        gram = pairwise_kernels(a, b, metric=self.kernel, **self._kernel_arguments())
        if not np.isfinite(gram).all():
            raise ValueError("the kernel gives values that are not finite on this data")
        return np.asarray(gram, dtype=float)

    def _nystroem_features(self, seed: int, n: int) -> Any:
        from sklearn.kernel_approximation import Nystroem

        return Nystroem(
            kernel=self.kernel,
            n_components=min(self.n_components or 0, n),
            random_state=seed,
            **self._kernel_arguments(),
        )

    def _objective(
        self,
        surrogate: Surrogate,
        costs: LabelCosts,
        scorer: LinearScorer | KernelScorer,
        sample: Sample,
        penalty: Penalty,
        executor: Executor,
    ) -> Objective:
        norms = scorer.square_norms()
        if not np.isfinite(norms).all():
            row = int(sample.index[int((~np.isfinite(norms)).argmax())])
            raise ValueError(f"the values of row {row} are too large: their squares overflow")
        scorer.executor = executor
        structure = Label(len(sample.y), costs.costs.shape[1])
        route = LabelRoute(surrogate, structure, costs, surrogate.block(costs), executor)
        weight, loss_weight = self.C * sample.weight, sample.loss_weight
        if surrogate.weighs == "example":
            weight, loss_weight = weight * loss_weight, np.ones_like(weight)
        return Objective(scorer, route, sample.y, weight, loss_weight, penalty, executor)

    def _solve(self, objective: Objective, seed: int) -> Result:
        start, mu = None, None
        if self.warm_start and hasattr(self, "_solution"):
            old_weights, old_mu = self._solution
            if old_weights.shape == objective.start().shape:
                start = old_weights
            same = old_mu is not None and old_mu.shape == (objective.n_examples, start.shape[1])
            if start is not None and same and objective.route.surrogate.mixes_answers:
                mu = old_mu
        solver = find_solver(self.solver, objective, mu)
        result = minimise(
            solver,
            objective,
            start,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=seed,
            report=reporter(self.verbose),
        )
        close(self.verbose)
        if result.reason == "interrupted":
            warnings.warn(
                f"interrupted after pass {result.n_iter}; the best model so far is kept, with a "
                f"certified gap of {result.gap:.3g}",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif result.reason != "tol":
            warnings.warn(
                f"stopped ({result.reason}) after {result.n_iter} passes with a certified gap of "
                f"{result.gap:.3g} at objective {result.objective:.6g}; raise max_iter or tol, "
                "scale the features, or lower C",
                ConvergenceWarning,
                stacklevel=3,
            )
        return result

    def _store(
        self, objective: Objective, result: Result, sample: Sample, costs: LabelCosts
    ) -> None:
        scorer = objective.scorer
        weights = scorer.penalised(result.weights)
        free = scorer.free(result.weights)
        self.intercept_ = free[0].copy() if len(free) else np.zeros(weights.shape[1])
        for name in ("coef_", "dual_coef_", "support_", "_support_rows", "game_value_"):
            self.__dict__.pop(name, None)
        if isinstance(scorer, KernelScorer):
            active = np.flatnonzero(np.any(weights != 0.0, axis=1))
            self.support_ = sample.index[active]
            self.dual_coef_ = weights[active]
            if self.kernel != "precomputed":
                self._support_rows = sample.x[active]
        else:
            self.coef_ = np.ascontiguousarray(weights.T)
        self.objective_, self.gap_ = result.objective, result.gap
        self.n_iter_, self.history_ = result.n_iter, result.history
        surrogate = objective.route.surrogate
        if isinstance(surrogate, Adversarial):
            mu = objective.dual_point(result.weights) if result.mu is None else result.mu
            bonus = objective.route.bonus(mu, sample.y, objective.loss_weight)
            self.game_value_ = float(np.average(bonus, weights=sample.weight))
        if self.warm_start:
            self._solution = (result.weights, result.mu)
        scores = scorer.scores(result.weights)
        self._training_summary = surrogate.summarise(costs, scores, sample.weight)

    # Prediction.

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite=False,
            reset=False,
        )
        check_finite(X)
        if self.kernel is None or self.n_components is not None:
            features = X if self.kernel is None else self._nystroem.transform(X)
            return np.asarray(features @ self.coef_.T) + self.intercept_
        if self.kernel == "precomputed":
            gram = X[:, self.support_]
        elif len(self.support_) == 0:
            gram = np.zeros((X.shape[0], 0))
        else:
            gram = self._gram(X, self._support_rows)
        return gram @ self.dual_coef_ + self.intercept_

    def _decision(self, X: Any) -> np.ndarray:
        surrogate = find_surrogate(self.surrogate, self.loss)[0]
        return surrogate.decision(self._costs, self._scores(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """What `predict` maximises over actions, ``(n, n_actions)``; ``(n,)`` for two."""
        decision = self._decision(X)
        return decision[:, 1] - decision[:, 0] if decision.shape[1] == 2 else decision

    def predict(self, X: Any) -> np.ndarray:
        """The chosen action of each example: a label, or another action of the loss."""
        decision = self.decision_function(X)
        best = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.actions_[best]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Label probabilities, ``(n, k)``, for routes that have them."""
        surrogate = find_surrogate(self.surrogate, self.loss)[0]
        scores = self._scores(X)
        return surrogate.probabilities(self._costs, scores)  # type: ignore[return-value]

    @available_if(_is_adversarial)
    def strategy(self, X: Any) -> np.ndarray:
        """The predictor's equilibrium mixture over actions, ``(n, n_actions)``."""
        return Adversarial().play(self._costs, self._scores(X))[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """``1 - mean loss / largest cost``: accuracy under 0-1 loss."""
        from concordant.metrics import action_costs

        predicted = self.predict(X)
        largest = float(self._costs.costs.max())
        if largest == 0.0:
            return 1.0
        loss = find_loss(find_surrogate(self.surrogate, self.loss)[1])
        each = action_costs(np.asarray(y), predicted, loss, self.classes_)
        return 1.0 - float(np.average(each, weights=sample_weight)) / largest

    def consistency(self, X: Any = None) -> str:
        """Whether enough data would give the best decision under this loss, and when.

        Parameters
        ----------
        X : array-like of shape (n, d), default=None
            Where to look for label distributions without a majority (hybrid route only); by
            default the training sample.
        """
        check_is_fitted(self)
        surrogate = find_surrogate(self.surrogate, self.loss)[0]
        if X is None:
            summary = self._training_summary
        else:
            scores = self._scores(X)
            summary = surrogate.summarise(self._costs, scores, np.ones(len(scores)))
        return surrogate.consistency(self._costs, summary)


def _with_int32_indices(x: Any) -> Any:
    """CSR with the index type the kernels are compiled for."""
    if x.indices.dtype == np.int32 and x.indptr.dtype == np.int32:
        return x
    return type(x)((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape)


def _one_blas_thread() -> Any:
    """Threads come from our executor only: BLAS threads would change bits with their number."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")
