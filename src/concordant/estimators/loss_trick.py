"""`LossTrickPredictor`, for any output that has a loss, and what it is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from concordant.estimators.outputs import Examples
from concordant.estimators.ridge import RidgeEstimator
from concordant.estimators.selection import SelectingEstimator, best, constant
from concordant.losses import KernelInduced, OutputLoss
from concordant.outputs import Decoder, Options
from concordant.outputs.induced import UnweightedPreImage


class LossTrickPredictor(RidgeEstimator):
    """Predict anything that has a loss: the output that is best under weighted training outputs.

    ``predict(x) = argmin over y of sum_i alpha_i(x) loss(y, y_i)`` with the weights of kernel
    ridge regression, ``alpha(x) = (K + I/C)^-1 K_x``. Outputs need no model, only the loss; with
    a universal kernel the predictions become the best there are (Ciliberto, Rudi and Rosasco,
    NIPS 2016).

    Parameters
    ----------
    loss : str, loss or callable, default="squared"
        On numbers or vectors ``"squared"``, ``"absolute"`` and the other losses of
        `concordant.losses`; on histograms ``"hellinger"``, ``"chi_squared"``, ...; on sets
        ``"hamming"``, ``"jaccard"``, ``"f_measure"``; on strings ``"edit_distance"``; on labels
        any loss of `Classifier`; or a function of (action, truth) for outputs of any kind.
    kernel : str or callable, default="rbf"
        Between inputs: a name that `sklearn.metrics.pairwise.pairwise_kernels` knows,
        ``"precomputed"``, or a function of two sets of inputs, which may then be any objects.
    C : float, default=1.0
        Weight of the data against the penalty: lambda is ``1 / (n C)``.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width, as in `sklearn.svm.SVC`.
    degree, coef0 : float, default=3, 0.0
        Constants of the polynomial and sigmoid kernels.
    n_components : int, default=None
        Approximate the kernel with so many features, for many examples: memory is that of
        `n_components` squared and a block. None for exact weights.
    approximation : {"nystroem", "fourier"}, default="nystroem"
        Kernel values with centres among the inputs, or random cosines (kernel "rbf" only).
    centres : {"uniform", "leverage"}, default="uniform"
        How Nystroem's centres are drawn: alike, or by approximate ridge leverage scores.
    solver : {"auto", "cholesky", "cg"}, default="auto"
        With features: one pass for their matrix, or preconditioned conjugate gradients. "auto"
        takes the second from 3,000 features on.
    candidates : "training" or sequence of outputs, default="training"
        Where an answer is looked for, if the loss has no search of its own. Candidates that are
        given are what is looked at, whatever the loss.
    bounds : (least, largest), default=None
        Of real outputs; by default those of the training outputs.
    cv : None, int, splitter or "loo", default=None
        Choose C and gamma by cross-validation under `loss`; "loo" leaves out one example at a
        time, at the cost of one factorisation a gamma for all C.
    Cs, gammas : sequences of floats, default=None
        What to choose from; by default powers of ten from 0.01 to a million, and `gamma` times
        powers of four from 1/16 to 16.
    dtype : {"float64", "float32"}, default="float64"
        Precision of inputs, and so of Gaussian kernel values and of weights.
    max_iter, tol : int, float, default=100, 1e-6
        Most passes of conjugate gradients, and the relative residual at which they stop.
    random_state : int, RandomState or None, default=None
        Choice of features and folds.
    n_jobs : int, default=None
        Threads of prediction; None for all cores. The result does not depend on it.

    Attributes
    ----------
    loss_ : loss
        The loss between outputs, with its name resolved.
    decoder_ : Decoder
        Finds the best output; ``decoder_.guarantee`` says how well.
    C_, gamma_ : float
        As given or chosen. `gamma_` is None for kernels without a width.
    cv_results_ : dict of lists
        ``"gamma"``, ``"C"`` and ``"mean_loss"`` of what was tried, if `cv` is given.
    n_iter_ : int
        Passes over the data.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np, concordant as cc
    >>> X = np.linspace(-1.0, 1.0, 60)[:, None]
    >>> angle = np.mod(6.0 * X[:, 0], 2.0 * np.pi)
    >>> model = cc.LossTrickPredictor(cc.losses.Diffusion("circle"), C=1e4, gamma=10.0)
    >>> model.fit(X, angle).predict([[0.5], [1.0]]).round(2)
    array([3.  , 5.99])
    >>> print(model.decoder_.guarantee)
    exact up to the rounding of polynomial roots

    A loss of your own, between words:

    >>> words = ["red", "green", "green", "blue"]
    >>> model = cc.LossTrickPredictor(lambda word, truth: word[0] != truth[0], C=10.0)
    >>> model.fit([[0.0], [1.0], [1.1], [2.0]], words).predict([[0.1], [1.9]]).tolist()
    ['red', 'blue']
    """

    def __init__(
        self,
        loss: Any = "squared",
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        n_components: int | None = None,
        approximation: str = "nystroem",
        centres: str = "uniform",
        solver: str = "auto",
        candidates: Any = "training",
        bounds: tuple[float, float] | None = None,
        cv: Any = None,
        Cs: Any = None,
        gammas: Any = None,
        dtype: Any = "float64",
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        super().__init__(
            loss, kernel, C=C, gamma=gamma, degree=degree, coef0=coef0, n_components=n_components,
            approximation=approximation, centres=centres, solver=solver, candidates=candidates,
            cv=cv, Cs=Cs, gammas=gammas, dtype=dtype, max_iter=max_iter, tol=tol,
            random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        self.bounds = bounds


class KernelDependencyEstimator(RidgeEstimator):
    """Kernel dependency estimation: regress on output features, then look for a pre-image.

    ``predict(x) = argmin over y of k(y, y) - 2 sum_i alpha_i(x) k(y, y_i)`` for an output kernel
    k, with the weights of kernel ridge regression (Weston et al. 2002; Cortes, Mohri and Weston
    2005). Where ``k(y, y)`` is constant that is `LossTrickPredictor` with the loss that k
    induces. Elsewhere the two differ as far as weights do not sum to one, and neither is consistent
    for another loss of k, such as ``constant - k(y, y')``; here for comparison.

    Parameters are those of `LossTrickPredictor`; `loss` is a `concordant.losses.KernelInduced`,
    by default that of a Gaussian kernel with gamma 1.

    Examples
    --------
    >>> import numpy as np, concordant as cc
    >>> X = np.linspace(-1.0, 1.0, 40)[:, None]
    >>> model = cc.KernelDependencyEstimator(C=100.0, gamma=10.0).fit(X, np.hstack([X, X**2]))
    >>> model.predict([[0.5]]).round(2)
    array([[0.5 , 0.25]])
    """

    def _find_loss(self, y: Any) -> OutputLoss:
        loss = KernelInduced() if self.loss is None else self.loss
        if not isinstance(loss, KernelInduced):
            raise TypeError(
                "kernel dependency estimation is for the losses that kernels induce, "
                f"concordant.losses.KernelInduced; got {loss!r}. LossTrickPredictor takes any loss"
            )
        return loss

    def _decoder(self, truths: np.ndarray) -> Decoder:
        return UnweightedPreImage(self.loss_, truths, Options(self.candidates))

    def consistency(self) -> str:
        """Whether unlimited data lead to the best predictions, and why, as sentences."""
        assert isinstance(self.decoder_, UnweightedPreImage)
        own = self.decoder_.own
        if np.ptp(own) <= 1e-9 * np.abs(own).max():
            return "As the loss trick, because k(y, y) is constant: " + super().consistency()
        return (
            "In the limit as the loss trick for the loss that k induces, because weights then sum "
            "to one; on finite samples not the same, because k(y, y) is not constant. Not "
            "consistent for other losses of k (Ciliberto et al. 2016, section 5)."
        )


class NadarayaWatson(SelectingEstimator):
    """The output that is best under training outputs weighted by their kernel with the input.

    ``predict(x) = argmin over y of sum_i k(x, x_i) loss(y, y_i)``: with the Cauchy loss the robust
    estimator of Härdle (1984). The same losses and decoders as `LossTrickPredictor`, other
    weights, which a kernel that is not negative keeps positive. Inputs far from all training
    inputs weigh them alike.

    Parameters
    ----------
    loss, kernel, gamma, degree, coef0, candidates, bounds, cv, gammas, random_state, n_jobs :
        As in `LossTrickPredictor`; `cv` chooses gamma.

    Examples
    --------
    >>> import numpy as np, concordant as cc
    >>> X = np.linspace(-1.0, 1.0, 41)[:, None]
    >>> model = cc.NadarayaWatson("absolute", gamma=200.0).fit(X, X[:, 0])
    >>> model.predict([[0.5]])
    array([0.5])
    """

    def __init__(
        self,
        loss: Any = "squared",
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        candidates: Any = "training",
        bounds: tuple[float, float] | None = None,
        cv: Any = None,
        gammas: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.candidates = candidates
        self.bounds = bounds
        self.cv = cv
        self.gammas = gammas
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learn(self, examples: Examples, seed: int) -> None:
        gamma = self.gamma
        if self.cv is not None:
            _, gamma, self.cv_results_ = best(self._trials(examples, seed))
        self._kernel = self._kernel_of(examples.x, examples.weight, gamma)
        self.gamma_ = constant(self._kernel)
        self.decoder_ = self._decoder(examples.truths)
        self._targets = examples.targets(self.decoder_)
        self._weight, self.origin_ = examples.weight, examples.origin
        self._rows = None if self._kernel is None else examples.x

    def _values(self, x: Any) -> np.ndarray:
        return x if self._kernel is None else self._kernel(x, self._rows)

    def _sums(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(_shares(values, self._weight) @ self._targets)

    # ---- choice of gamma ----

    def _grid(self) -> list[float]:
        return [float("nan")]  # there is no C

    def _held_out(
        self, examples: Examples, train: np.ndarray, test: np.ndarray, gamma: Any,
        Cs: list[float], seed: int,
    ) -> Iterator[np.ndarray]:  # fmt: skip
        part = examples.take(train, self.kernel == "precomputed")
        kernel = self._kernel_of(examples.x, examples.weight, gamma)
        decoder = self._decoder(part.truths)
        values = (
            examples.x[np.ix_(test, train)] if kernel is None else kernel(examples.x[test], part.x)
        )
        yield decoder.decode(_shares(values, part.weight) @ part.targets(decoder))

    def _left_out(self, examples: Examples, gamma: Any, Cs: list[float]) -> Iterator[np.ndarray]:
        decoder = self._decoder(examples.truths)
        kernel = self._kernel_of(examples.x, examples.weight, gamma)
        values = self._gram(kernel, examples, look=False)
        np.fill_diagonal(values, 0.0)
        yield decoder.decode(_shares(values, examples.weight) @ examples.targets(decoder))


def _shares(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rows of weighted kernel values, scaled to sum to one; alike where they are all zero."""
    values = values * weight
    total = values.sum(axis=1, keepdims=True)
    alike = weight / weight.sum()
    return np.where(total > 0.0, values / np.where(total > 0.0, total, 1.0), alike)
