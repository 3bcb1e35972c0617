"""`LatentClassifier`: labels in, labels and choices out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from concordant.estimators.bags import as_bags, as_labels, check_latent
from concordant.estimators.parameters import check_number, random_numbers
from concordant.estimators.progress import Progress
from concordant.estimators.structured import StructuredEstimator, check_examples, object_array
from concordant.estimators.training import all_or_nothing, one_blas_thread
from concordant.executor import Executor
from concordant.latent.alternating import Fit, Settings
from concordant.latent.bags import Bag, bind_costs, pack
from concordant.latent.conditional import Examples
from concordant.latent.margin import INNER, Features
from concordant.latent.training import STARTS, build_examples, descend
from concordant.losses import find_pair_loss
from concordant.metrics import check_weights
from concordant.structures import PairCosts, Pairs
from concordant.surrogates.latent import (
    Dissimilarity,
    IterativeLatentSVM,
    LatentLog,
    LatentSVM,
    find_latent_route,
)


def _sums_over_choices(model: Any) -> bool:
    """Whether the route is (or would be) the marginal likelihood."""
    return isinstance(getattr(model, "_route", model.surrogate), LatentLog) or (
        not hasattr(model, "_route") and model.surrogate == LatentLog.name
    )


class LatentClassifier(StructuredEstimator):
    """Predict a label and the choice behind it, from examples whose choice nobody noted.

    An example is a `Bag`: features of every choice, such as the windows of an image. Training
    sees the labels. Scores are linear, ``w_y · x_h``, without intercepts.

    Parameters
    ----------
    loss : str or loss, default="zero_one"
        What a (label, choice) answer is scored on: ``"zero_one"`` on the pair, ``"overlap"`` (1 -
        IoU of the boxes if the labels agree, else 1), ``LabelOnly(loss)``, or ``PairMatrix()``,
        which takes each bag's own ``costs``.
    surrogate : str or route, default="dissimilarity"
        ``"dissimilarity"``, ``"latent_svm"``, ``"iterative_latent_svm"``, ``"latent_log"``, or an
        object such as ``Dissimilarity(J=0.1, beta=0.1)``.
    C : float, default=1.0
        Weight of the sum over examples against ``1/2 |w|^2``.
    solver : {"auto", "frank_wolfe", "cutting_plane"}, default="auto"
        Solver of the convex problems inside; "auto" is block-coordinate Frank-Wolfe, and the
        1-slack cutting-plane method is there for comparison.
    max_iter : int, default=100
        Most rounds.
    tol : float, default=1e-4
        Stop when a round lowers the objective by no more than tol times C an example. The convex
        problems are solved to a quarter of that.
    n_init : int, default=1
        Starts; the lowest objective is kept. The first is `init`, the others are random choices.
    init : {"mean", "likelihood"}, default="mean"
        What the first start takes for each bag's answer: the mean of its choices, or the choice
        that the marginal likelihood (``"latent_log"``) prefers.
    self_paced : bool, default=False
        Begin with the easiest half of the examples and let in the others step by step.
    random_state : int, RandomState or None, default=None
        Random starts, order of the block steps.
    n_jobs : int, default=None
        Threads; None for all cores. The result does not depend on it.
    warm_start : bool, default=False
        Take the choices that the last fit preferred as the first start.
    verbose : int, default=0
        1 shows a live line of progress on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
    coef_ : ndarray of shape (k, d)
        Weights of the prediction.
    conditional_coef_ : ndarray of shape (k, d')
        theta, the weights of the choice's distribution given the label; ``"dissimilarity"`` only.
    objective_ : float
        Objective reached. The problem is not convex: there may be a lower one.
    gap_ : float
        Certified gap of the last convex problem inside; NaN for ``"latent_log"``.
    n_iter_ : int
        Rounds of the start that was kept.
    history_ : dict of lists
        ``"objective"``, ``"gap"`` and ``"seconds"`` after each ``"step"`` of that start. The
        objective never rises under ``"dissimilarity"`` and ``"latent_log"``.
    start_objectives_ : ndarray of shape (n_init,)
        Where every start ended.
    latent_ : ndarray of shape (n,)
        The most probable choice of each training example given its label.
    n_features_in_ : int

    Examples
    --------
    >>> import concordant as cc
    >>> data = cc.datasets.make_cluttered_digits(90, classes=[0, 1], pieces=2, random_state=0)
    >>> model = cc.LatentClassifier("overlap", C=3.0, init="likelihood", random_state=0)
    >>> model = model.fit(data.bags[:60], data.target[:60])
    >>> [(int(y), h) for y, h in model.predict_latent(data.bags[60:62])]
    [(0, 21), (1, 10)]
    >>> model.score(data.bags[60:], data.target[60:], latent=data.latent[60:])
    0.83
    """

    classes_: np.ndarray
    coef_: np.ndarray
    conditional_coef_: np.ndarray

    def __init__(
        self,
        loss: Any = "zero_one",
        surrogate: Any = "dissimilarity",
        *,
        C: float = 1.0,
        solver: str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        n_init: int = 1,
        init: str = "mean",
        self_paced: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.loss = loss
        self.surrogate = surrogate
        self.C = C
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.self_paced = self_paced
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        loss_weight: Any = None,
        latent: Any = None,
    ) -> LatentClassifier:
        """Train on bags with labels.

        After an error the estimator is as it was before the call.

        Parameters
        ----------
        X : sequence of Bag
            Or of feature tables, one row a choice.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
            Multiplies the example in the objective.
        loss_weight : array-like of shape (n,), default=None
            Multiplies the loss inside.
        latent : array-like of shape (n,), default=None
            The true choice where it is known, -1 where it is not.
        """
        with all_or_nothing(self), one_blas_thread(), Executor(self.n_jobs) as executor:
            self._fit(X, y, sample_weight, loss_weight, latent, executor)
        return self

    def _fit(
        self, X: Any, y: Any, weight: Any, loss_weight: Any, latent: Any, executor: Executor
    ) -> None:
        route, loss = find_latent_route(self.surrogate), find_pair_loss(self.loss)
        progress = Progress(self.verbose)
        settings = self._settings(progress)
        seeds = random_numbers(self.random_state).randint(2**31 - 1, size=self.n_init).tolist()
        X, y = check_examples(X, y)
        bags, labels = as_bags(X), as_labels(y)
        weight = check_weights(weight, len(bags), "sample_weight")
        loss_weight = check_weights(loss_weight, len(bags), "loss_weight")
        known = check_latent(latent, bags)
        used = np.flatnonzero(weight > 0.0)
        if not len(used):
            raise ValueError("sample_weight is zero for every example")
        classes, codes = np.unique(labels[used], return_inverse=True)
        examples = build_examples(
            [bags[i] for i in used], codes.astype(np.int64), classes, loss, known[used],
            self.C * weight[used], loss_weight[used], executor,
        )  # fmt: skip
        previous = self._previous(classes, examples) if self.warm_start else None
        try:
            fits = descend(route, examples, settings, self.n_init, self.init, seeds, previous)
        finally:
            progress.close()
        self._route, self._loss, self.classes_ = route, loss, classes
        self._store(fits, used, len(bags), examples)

    def _settings(self, progress: Progress) -> Settings:
        check_number("C", self.C, lambda v: 0 < v < np.inf, "finite and > 0")
        check_number("tol", self.tol, lambda v: 0 < v < np.inf, "finite and > 0")
        check_number("max_iter", self.max_iter, lambda v: v >= 1, ">= 1", integer=True)
        check_number("n_init", self.n_init, lambda v: v >= 1, ">= 1", integer=True)
        if self.init not in STARTS:
            raise ValueError(f"init must be one of {', '.join(STARTS)}, got {self.init!r}")
        solver = "frank_wolfe" if self.solver == "auto" else self.solver
        if solver not in INNER:
            raise ValueError(f"unknown solver {solver!r}; names are auto, {', '.join(INNER)}")
        return Settings(
            tol=self.tol,
            max_iter=self.max_iter,
            inner=solver,
            self_paced=bool(self.self_paced),
            report=progress,
        )

    def _previous(self, classes: np.ndarray, examples: Examples) -> np.ndarray | None:
        """The choices that the last fit prefers, if it knew the same classes and features."""
        coef = getattr(self, "coef_", None)
        if coef is None or not np.array_equal(self.classes_, classes):
            return None
        if coef.shape[1] != examples.features.x.shape[1]:
            return None
        return examples.completed(examples.features.scores(coef))

    def _store(self, fits: list[Fit], used: np.ndarray, n: int, examples: Examples) -> None:
        best = min(fits, key=lambda fit: fit.objective)
        self.coef_ = best.weights
        self.__dict__.pop("conditional_coef_", None)
        if best.theta is not None:
            self.conditional_coef_ = best.theta
        self.n_features_in_ = best.weights.shape[1]
        self.objective_, self.gap_, self.n_iter_ = best.objective, best.gap, best.n_iter
        self.history_ = best.history
        self.start_objectives_ = np.array([fit.objective for fit in fits])
        self.latent_ = np.full(n, -1)
        self.latent_[used] = examples.structure.first_largest(best.p)
        if best.reason != "tol":
            warnings.warn(
                f"stopped ({best.reason}) after {best.n_iter} rounds at objective "
                f"{best.objective:.6g}; raise max_iter or tol, or lower C",
                ConvergenceWarning,
                stacklevel=4,
            )

    def predict(self, X: Any) -> np.ndarray:
        """Labels, an object array of one an example."""
        labels, _ = self._answers(X)
        return object_array(self.classes_[labels].tolist())

    def predict_latent(self, X: Any) -> list[tuple[Any, int]]:
        """A (label, choice) pair an example: the largest score, or under ``"latent_log"`` the
        pair of least expected loss."""
        labels, choices = self._answers(X)
        return list(zip(self.classes_[labels].tolist(), choices.tolist()))

    def decision_function(self, X: Any) -> np.ndarray:
        """What `predict` maximises, ``(n, k)``, or for two classes the difference, ``(n,)``: for
        each label the best choice's score, or minus its expected loss."""
        structure, merit = self._merits(X)
        out = structure.largest(merit)
        return out[:, 1] - out[:, 0] if out.shape[1] == 2 else out

    @available_if(_sums_over_choices)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the labels, choices summed out, ``(n, k)``; ``"latent_log"`` only."""
        structure, x, _ = self._packed(X)
        return structure.total(structure.marginals(x.scores(self.coef_))[1])

    def latent_proba(self, X: Any, y: Any) -> list[np.ndarray]:
        """Probabilities of the choices of every bag given its label.

        The fitted P under ``"dissimilarity"``, the posterior under ``"latent_log"``, and all on
        the best choice under the other routes.
        """
        X, y = check_examples(X, y)
        structure, x, bags = self._packed(X)
        codes = self._codes(as_labels(y))
        if isinstance(self._route, Dissimilarity):
            _, rows = pack(bags, conditional=True)
            x, coef = Features(rows), self.conditional_coef_
            if rows.shape[1] != coef.shape[1]:
                raise ValueError(
                    f"the bags have {rows.shape[1]} conditional features, training had "
                    f"{coef.shape[1]}"
                )
        else:
            coef = self.coef_
        scores = x.scores(coef)
        own = scores[np.arange(len(scores)), structure.spread(codes)]
        if isinstance(self._route, (LatentSVM, IterativeLatentSVM)):
            p = np.zeros(len(own))
            p[structure.offsets[:-1] + structure.first_largest(own)] = 1.0
        else:
            p = Pairs(structure.offsets, 1).marginals(own[:, None])[1][:, 0]
        return np.split(p, structure.offsets[1:-1])

    def score(self, X: Any, y: Any, sample_weight: Any = None, latent: Any = None) -> float:
        """1 - mean loss / largest loss: of the (label, choice) answers where `latent` has the
        true choices, else of the labels alone."""
        X, y = check_examples(X, y)
        structure, merit = self._merits(X)
        answer, codes = structure.best(merit), self._codes(as_labels(y))
        weight = check_weights(sample_weight, len(codes), "sample_weight")
        if latent is None:
            matrix = self._loss.label_costs(self.classes_)
            costs, largest = matrix[answer[0], codes], float(matrix.max())
        else:
            bags = as_bags(X)
            truth = check_latent(latent, bags)
            if (truth < 0).any():
                raise ValueError(f"latent has no true choice for bag {int((truth < 0).argmax())}")
            bound = bind_costs(self._loss, bags, structure, self.classes_)
            costs, largest = bound.of_pairs(answer, (codes, truth)), bound.scale
        return 1.0 - float(np.average(costs, weights=weight)) / (largest or 1.0)

    def _codes(self, labels: np.ndarray) -> np.ndarray:
        codes = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        unknown = self.classes_[codes] != labels
        if unknown.any():
            i = int(unknown.argmax())
            raise ValueError(
                f"the label of bag {i}, {labels.tolist()[i]!r}, was not seen in training"
            )
        return codes

    def _packed(self, X: Any) -> tuple[Pairs, Features, list[Bag]]:
        check_is_fitted(self, "coef_")
        bags = as_bags(check_examples(X)[0])
        offsets, x = pack(bags)
        if x.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {x.shape[1]} features, but LatentClassifier is expecting "
                f"{self.n_features_in_} features as input"
            )
        return Pairs(offsets, len(self.classes_)), Features(x), bags

    def _merits(self, X: Any) -> tuple[Pairs, np.ndarray]:
        """What the answer maximises over (choice, label) cells."""
        structure, x, bags = self._packed(X)
        scores = x.scores(self.coef_)
        if not isinstance(self._route, LatentLog):
            return structure, scores
        costs: PairCosts = bind_costs(self._loss, bags, structure, self.classes_)
        return structure, -costs.of_actions(structure.marginals(scores)[1])

    def _answers(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        structure, merit = self._merits(X)
        return structure.best(merit)
