"""`Ranker`: orderings of items from graded preferences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from concordant.estimators.outputs import Examples
from concordant.estimators.ridge import RidgeEstimator
from concordant.estimators.selection import best
from concordant.estimators.training import warn_of
from concordant.executor import CHUNK
from concordant.losses import OutputLoss, Rank
from concordant.outputs import Decoder, Options
from concordant.outputs.orderings import SINGLE, Borda, Preferences
from concordant.outputs.pairwise import KINDS, PairwiseObjective, Smoothing
from concordant.solvers import minimise

SURROGATES = ("quadratic", "linear", *KINDS)


class Ranker(RidgeEstimator):
    """Order items for each example, from the grades that other examples gave to some of them.

    By default the loss trick under the rank loss: preferences between items are summed with the
    weights of kernel ridge regression, and the ordering that agrees with most of them is looked
    for (Ciliberto, Rudi and Rosasco, NIPS 2016, section 6). Other surrogates train scores of the
    items and sort.

    Parameters
    ----------
    loss : Rank, default=None
        ``Rank()``, or ``Rank(normalize=True)`` to count every example alike however many items it
        grades.
    surrogate : str, default="quadratic"
        ``"quadratic"`` is the loss trick; ``"linear"`` (Duchi, Mackey and Jordan 2010) is ridge
        regression on each item's net preferences, the same weights with a sort for a search;
        ``"hinge"`` is RankSVM, ``"logistic"`` its smooth relative, and ``"struct"`` the
        structured SVM with pairs ordered independently. The last three need linear scores.
    kernel : str or callable, default="linear"
        Between examples, as in `LossTrickPredictor`.
    C : float, default=1.0
        Weight of the data against the penalty.
    gamma, degree, coef0, n_components, approximation, centres, solver, dtype :
        As in `LossTrickPredictor`.
    cv, Cs, gammas :
        Choose C and gamma by the rank loss of held-out examples. With more than 200 items the
        loss trick is judged there by its "linear" orderings, which cost a sort each.
    max_iter, tol : int, float, default=1000, 1e-3
        Most passes, and the relative certified gap at which training of scores stops.
    random_state : int, RandomState or None, default=None
    n_jobs : int, default=None
        Threads of prediction; None for all cores. The result does not depend on it.

    Attributes
    ----------
    loss_, C_, gamma_, cv_results_, n_iter_, n_features_in_ :
        As in `LossTrickPredictor`.
    decoder_ : Decoder
        Of the first two surrogates.
    coef_ : ndarray of shape (items, d)
        Weights of the scores, of the other surrogates; with `objective_`, `gap_` and `history_`,
        where ``objective_ - gap_ <= minimum <= objective_``.

    Examples
    --------
    >>> import numpy as np, concordant as cc
    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    >>> grades = [[5, 3, 1], [4, np.nan, 2], [1, 2, 5], [np.nan, 1, 4]]
    >>> cc.Ranker(C=10.0).fit(X, grades).predict([[1.0, 0.0], [0.0, 1.0]])
    array([[0, 1, 2],
           [2, 1, 0]])
    """

    def __init__(
        self,
        loss: Any = None,
        surrogate: str = "quadratic",
        *,
        kernel: Any = "linear",
        C: float = 1.0,
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        n_components: int | None = None,
        approximation: str = "nystroem",
        centres: str = "uniform",
        solver: str = "auto",
        cv: Any = None,
        Cs: Any = None,
        gammas: Any = None,
        dtype: Any = "float64",
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        super().__init__(
            loss, kernel, C=C, gamma=gamma, degree=degree, coef0=coef0, n_components=n_components,
            approximation=approximation, centres=centres, solver=solver, candidates="training",
            cv=cv, Cs=Cs, gammas=gammas, dtype=dtype, max_iter=max_iter, tol=tol,
            random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        self.surrogate = surrogate

    def _check(self) -> None:
        super()._check()
        if self.surrogate not in SURROGATES:
            raise ValueError(
                f"unknown surrogate {self.surrogate!r} of a Ranker; names are "
                f"{', '.join(SURROGATES)}"
            )
        if self.surrogate in KINDS and (self.kernel != "linear" or self.n_components is not None):
            raise ValueError(
                f'surrogate={self.surrogate!r} trains linear scores: kernel="linear", without '
                'n_components. "quadratic" and "linear" take any kernel'
            )

    def _find_loss(self, y: Any) -> OutputLoss:
        loss = Rank() if self.loss is None or self.loss == "rank" else self.loss
        if not isinstance(loss, Rank):
            raise TypeError(
                f"a Ranker is for the loss Rank; got {loss!r}. LossTrickPredictor takes other "
                "losses of orderings"
            )
        return loss

    def _decoder(self, truths: np.ndarray) -> Decoder:
        make = Borda if self.surrogate == "linear" else Preferences
        return make(self.loss_, truths, Options())

    # ---- scores trained on pairs ----

    def _learn(self, examples: Examples, seed: int) -> None:
        if self.surrogate not in KINDS:
            super()._learn(examples, seed)
            return
        self.C_, self.gamma_ = float(self.C), None
        if self.cv is not None:
            self.C_, _, self.cv_results_ = best(self._trials(examples, seed))
        result = self._train(examples, self.C_)
        warn_of(result)
        self.coef_, self.n_iter_ = result.weights, result.n_iter
        self.objective_, self.gap_, self.history_ = result.objective, result.gap, result.history

    def _train(self, examples: Examples, C: float, start: np.ndarray | None = None) -> Any:
        assert isinstance(self.loss_, Rank)
        price = C * examples.weight * examples.loss_weight / self.loss_.sizes(examples.truths)
        x = examples.x.toarray() if hasattr(examples.x, "toarray") else examples.x
        x = np.ascontiguousarray(x, dtype=float)
        objective = PairwiseObjective(self.surrogate, x, examples.truths, price)
        return minimise(Smoothing(), objective, start, tol=self.tol, max_iter=self.max_iter)

    def _held_out(
        self, examples: Examples, train: np.ndarray, test: np.ndarray, gamma: Any,
        Cs: list[float], seed: int,
    ) -> Iterator[np.ndarray]:  # fmt: skip
        if self.surrogate not in KINDS:
            yield from super()._held_out(examples, train, test, gamma, Cs, seed)
            return
        start = None
        for C in Cs:
            result = self._train(examples.take(train, False), C, start)
            start = result.weights
            yield _sort(examples.x[test] @ start.T)

    def _trial_decoder(self, truths: np.ndarray) -> Decoder:
        if truths.shape[1] > SINGLE:
            return Borda(self.loss_, truths, Options())
        return self._decoder(truths)

    # ---- prediction ----

    def _values(self, x: Any) -> np.ndarray:
        return x if self.surrogate in KINDS else super()._values(x)

    def _answer(self, x: Any) -> np.ndarray:
        if self.surrogate in KINDS:
            return _sort(x @ self.coef_.T)
        return super()._answer(x)

    def _block(self) -> int:
        return CHUNK if self.surrogate in KINDS else super()._block()

    def consistency(self) -> str:
        """Whether unlimited data lead to the best predictions, and why, as sentences."""
        if self.surrogate == "quadratic":
            return super().consistency()
        if self.surrogate == "linear":
            return (
                "Consistent where preferences are noisy grades of one order, not in general "
                "(Duchi, Mackey and Jordan 2010, section 4)."
            )
        return "Not consistent in general (Duchi, Mackey and Jordan 2010, section 3)."


def _sort(scores: Any) -> np.ndarray:
    return np.argsort(-np.asarray(scores), axis=1, kind="stable")
