"""`OrdinalClassifier`: one direction and k - 1 thresholds, under any loss, by any route."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.estimators.base import LabelClassifier
from concordant.estimators.data import Sample, label_order
from concordant.executor import Executor
from concordant.losses import LabelLoss
from concordant.scorers import Scorer, ThresholdScorer
from concordant.surrogates import find_surrogate


class OrdinalClassifier(LabelClassifier):
    """Predict ordered labels from one score and thresholds on it.

    The scores of the labels share one direction, ``f_j = j s(x) + sum_{l >= j} thresholds_[l]``
    with ``s(x) = w.x`` or a kernel's function, so that label j + 1 overtakes label j where s(x)
    exceeds ``thresholds_[j]``. Every route and loss of `Classifier` works on these scores.

    Parameters
    ----------
    loss : str or loss, default="absolute"
        What predictions are scored on; ranks are places in the order of the labels.
    surrogate : str or surrogate, default="adversarial"
        The route to training. Besides those of `Classifier`: ``"all_threshold"``,
        ``"immediate_threshold"`` and ``"reduction"``, or objects such as
        ``AllThreshold(base="hinge")``.
    categories : sequence, default=None
        All labels in their order. By default numbers ascend, an ordered pandas categorical keeps
        its order, and strings are ordered alphabetically with a warning.
    C : float, default=1.0
        Weight of the data against the penalty.
    kernel : {None, "linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default=None
        As for `Classifier`.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width.
    degree, coef0 : float, default=3, 0.0
        Constants of the polynomial and sigmoid kernels.
    n_components : int, default=None
        Approximate the kernel with this many Nystroem features.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        Linear scores may have a lasso or a mixture.
    l1_ratio : float, default=0.5
        Share of the lasso in ``"elasticnet"``.
    fit_intercept : bool, default=True
        Thresholds are free; False puts them under the penalty, like the weights of constant
        features (Li and Lin 2007).
    solver, max_iter, tol, random_state, n_jobs, warm_start, verbose
        As for `Classifier`; up to 300 weights of a linear direction also ``solver="newton"``, which
        "auto" takes on smooth routes and on many examples.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
        Labels seen by `fit`, in their order.
    actions_ : ndarray of shape (n_actions,)
        What `predict` can return.
    coef_ : ndarray of shape (d,)
        The direction w (with `n_components`, of the Nystroem features).
    thresholds_ : ndarray of shape (k - 1,)
        Where one label overtakes the one before it, on the scale of ``X @ coef_``.
    support_, dual_coef_ : ndarray of shape (n_support,)
        Training rows that carry a kernel's score, and their coefficients.
    objective_, gap_, n_iter_, game_value_, history_, n_features_in_, feature_names_in_
        As for `Classifier`.

    Examples
    --------
    >>> import numpy as np
    >>> import concordant as cc
    >>> X = np.arange(12.0)[:, None]
    >>> y = np.repeat(["poor", "fair", "good"], 4)
    >>> model = cc.OrdinalClassifier(categories=["poor", "fair", "good"]).fit(X, y)
    >>> model.predict([[0.0], [5.0], [20.0]])
    array(['poor', 'fair', 'good'], dtype='<U4')
    >>> bool(model.thresholds_[0] < model.thresholds_[1])
    True
    """

    thresholds_: np.ndarray

    def __init__(
        self,
        loss: Any = "absolute",
        surrogate: Any = "adversarial",
        *,
        categories: Any = None,
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
        super().__init__(
            loss,
            surrogate,
            C=C,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            n_components=n_components,
            penalty=penalty,
            l1_ratio=l1_ratio,
            fit_intercept=fit_intercept,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.categories = categories

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # one direction cannot tell blobs apart
        return tags

    def _order(self, y: Any, loss: LabelLoss) -> list[Any] | None:
        return label_order(y, "pass categories= or an ordered categorical", self.categories)

    def _scorer(self, sample: Sample, columns: int, seed: int, executor: Executor) -> Scorer:
        if not find_surrogate(self.surrogate, self.loss)[0].scores_labels:
            raise TypeError(
                f"surrogate={self.surrogate!r} asks questions of its own, which have no order; "
                "use Classifier"
            )
        inner = self._columns(sample, 1, False, seed, executor)
        return ThresholdScorer(inner, columns, bool(self.fit_intercept))

    def _store_weights(self, scorer: Any, weights: np.ndarray, sample: Sample) -> None:
        weights, self._offsets = scorer.split(weights)
        self.thresholds_ = -np.diff(self._offsets)
        self._store_columns(scorer.inner, weights, sample)
        for name in {"coef_", "dual_coef_"} & set(vars(self)):
            setattr(self, name, getattr(self, name).ravel())

    def _complete(self, products: np.ndarray) -> np.ndarray:
        k = len(self._offsets)
        return products[:, None] * (np.arange(k) - 0.5 * (k - 1)) + self._offsets
