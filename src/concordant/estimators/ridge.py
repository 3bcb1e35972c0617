"""Ridge weights of training outputs: what `LossTrickPredictor` and its relatives do."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from concordant.estimators.kernels import check_overflow
from concordant.estimators.outputs import Examples
from concordant.estimators.parameters import check_number
from concordant.estimators.selection import CS, SelectingEstimator, best, constant, grid
from concordant.estimators.training import one_blas_thread
from concordant.executor import Executor
from concordant.outputs import Decoder
from concordant.outputs.features import (
    MOST_SUMMED,
    CentreFeatures,
    Fourier,
    Sums,
    conjugate_gradients,
    leverage_centres,
)
from concordant.outputs.ridge import Coefficients, Spectrum, solve

#: Most numbers among the coefficients of features.
MOST_COEFFICIENTS = 1 << 29


class RidgeEstimator(SelectingEstimator):
    """Kernel ridge weights, exact or by features, with C and width chosen under the loss."""

    coefficients_: Coefficients

    def __init__(
        self,
        loss: Any = None,
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
        cv: Any = None,
        Cs: Any = None,
        gammas: Any = None,
        dtype: Any = "float64",
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.loss = loss
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.approximation = approximation
        self.centres = centres
        self.solver = solver
        self.candidates = candidates
        self.cv = cv
        self.Cs = Cs
        self.gammas = gammas
        self.dtype = dtype
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check(self) -> None:
        super()._check()
        check_number("C", self.C, lambda v: 0 < v < np.inf, "finite and > 0 (lambda is 1/(n C))")
        check_number("tol", self.tol, lambda v: 0 <= v < np.inf, "finite and >= 0")
        check_number("max_iter", self.max_iter, lambda v: v >= 1, ">= 1", integer=True)
        _among("approximation", self.approximation, ("nystroem", "fourier"))
        _among("centres", self.centres, ("uniform", "leverage"))
        _among("solver", self.solver, ("auto", "cholesky", "cg"))
        _among("dtype", np.dtype(self.dtype).name, ("float64", "float32"))
        if self.n_components is None:
            return
        check_number("n_components", self.n_components, lambda v: v >= 1, ">= 1", integer=True)
        if self.kernel == "precomputed":
            raise ValueError("n_components needs the inputs, not a precomputed kernel")
        if self.approximation == "fourier" and self.kernel != "rbf":
            raise ValueError(f'approximation="fourier" is for kernel="rbf", not {self.kernel!r}')
        if self._leaves_one_out():
            raise ValueError('cv="loo" needs exact weights (n_components=None); try cv=5')

    def _input_dtype(self) -> Any:
        return np.dtype(self.dtype)

    def _learn(self, examples: Examples, seed: int) -> None:
        self.C_, gamma = float(self.C), self.gamma
        if self.cv is not None:
            choice = best(self._trials(examples, seed))
            self.C_, gamma, self.cv_results_ = choice
        kernel = self._kernel_of(examples.x, examples.weight, gamma)
        self.gamma_ = constant(kernel)
        self.decoder_ = self._decoder(examples.truths)
        targets = examples.targets(self.decoder_)
        self.n_iter_ = 1
        if self.n_components is None:
            gram = self._gram(kernel, examples)
            self.coefficients_ = solve(gram, self.C_, examples.weight, targets)
            self._kernel, self.origin_ = kernel, examples.origin
            self._rows = None if kernel is None else examples.x
        else:
            self._by_features(kernel, examples, targets, seed)

    def _by_features(self, kernel: Any, examples: Examples, targets: Any, seed: int) -> None:
        size = targets.shape[1] * int(self.n_components or 0)
        if size > MOST_COEFFICIENTS:
            raise ValueError(
                f"{self.n_components} features times {targets.shape[1]} targets are too many "
                "numbers; round the outputs to fewer different values, give candidates=..., or "
                "lower n_components"
            )
        self._features, sample = self._make_features(kernel, examples, self.C_, seed)
        many = len(sample) > MOST_SUMMED
        if self.solver == "cg" or (self.solver == "auto" and many):
            self.coefficients_, self.n_iter_, self.residual_ = conjugate_gradients(
                self._features, examples.x, examples.weight, targets, self.C_, sample,
                self.dtype, self.tol, self.max_iter,
            )  # fmt: skip
            if self.residual_ > self.tol:
                warnings.warn(
                    f"stopped (max_iter) after {self.n_iter_} passes with a relative residual of "
                    f"{self.residual_:.3g}; raise max_iter or tol",
                    ConvergenceWarning,
                    stacklevel=5,
                )
        else:
            with Executor(self.n_jobs) as executor, one_blas_thread():
                sums = Sums(
                    self._features, examples.x, examples.weight, targets, self.dtype, executor
                )
            self.coefficients_ = sums.coefficients(self.C_)
        self.coefficients_ = Coefficients(self.coefficients_.matrix.astype(self.dtype))

    def _make_features(
        self, kernel: Any, examples: Examples, C: float, seed: int
    ) -> tuple[Any, np.ndarray]:
        """The features, and the rows that stand for all in a preconditioner."""
        n = examples.x.shape[0]
        count = min(int(self.n_components or n), n)
        rng = np.random.default_rng(seed)
        width = constant(kernel)
        if self.approximation == "fourier" and width is not None:
            n_features = examples.x.shape[1]
            features: Any = Fourier(
                width, n_features, int(self.n_components or 1), seed, self.dtype
            )
            return features, np.sort(rng.permutation(n)[:count])
        if self.centres == "leverage":
            diagonal = _diagonal(kernel, examples.x)
            rows = leverage_centres(kernel, examples.x, diagonal, C, count, rng)
        else:
            rows = np.sort(rng.permutation(n)[:count])
        return CentreFeatures(kernel, examples.x[rows]), rows

    # ---- choice of parameters ----

    def _trial_decoder(self, truths: np.ndarray) -> Decoder:
        """What trial predictions are decoded with."""
        return self._decoder(truths)

    def _grid(self) -> list[float]:
        return grid(self.Cs, "Cs", CS)

    def _left_out(self, examples: Examples, gamma: Any, Cs: list[float]) -> Iterator[np.ndarray]:
        kernel = self._kernel_of(examples.x, examples.weight, gamma)
        decoder = self._trial_decoder(examples.truths)
        gram = self._gram(kernel, examples, look=False)
        spectrum = Spectrum(gram, examples.weight, examples.targets(decoder))
        for C in Cs:
            yield decoder.decode(spectrum.left_out(C))

    def _held_out(
        self, examples: Examples, train: np.ndarray, test: np.ndarray, gamma: Any,
        Cs: list[float], seed: int,
    ) -> Iterator[np.ndarray]:  # fmt: skip
        part = examples.take(train, self.kernel == "precomputed")
        kernel = self._kernel_of(examples.x, examples.weight, gamma)
        decoder = self._trial_decoder(part.truths)
        targets = part.targets(decoder)
        path: Any
        if self.n_components is None:
            path = Spectrum(self._gram(kernel, part, look=False), part.weight, targets)
            values = (
                examples.x[np.ix_(test, train)]
                if kernel is None
                else kernel(examples.x[test], part.x)
            )
        else:
            features, _ = self._make_features(kernel, part, 1.0, seed)
            path = Sums(features, part.x, part.weight, targets, self.dtype)
            values = features(examples.x[test])
        check_overflow(values)
        for C in Cs:
            yield decoder.decode(path.coefficients(C).sums(values))

    # ---- prediction ----

    def _values(self, x: Any) -> np.ndarray:
        if hasattr(self, "_features"):
            return self._features(x)
        return x if self._kernel is None else self._kernel(x, self._rows)

    def _sums(self, values: np.ndarray) -> np.ndarray:
        return self.coefficients_.sums(values)

    def consistency(self) -> str:
        """Whether unlimited data lead to the best predictions, and why, as sentences."""
        universal = self.kernel in ("rbf", "laplacian")
        first = (
            "Universally consistent as lambda = 1/(n C) falls no faster than n**(-1/4) "
            "(Ciliberto et al. 2016, Theorem 4)"
            if universal
            else "Consistent if this kernel is universal, or rich enough for the data"
        )
        return (
            f"{first}, for a loss of the form <psi(y), V psi(y')>: {self.loss_.embedding}. "
            f"Decoding: {self.decoder_.guarantee}."
        )


def _among(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def _diagonal(kernel: Any, x: Any) -> np.ndarray:
    """``k(x, x)`` of each row."""
    if _is_one(kernel):
        return np.ones(x.shape[0])
    return np.array([float(kernel(x[i : i + 1], x[i : i + 1])[0, 0]) for i in range(x.shape[0])])


def _is_one(kernel: Any) -> bool:
    name = getattr(kernel, "function", "rbf")
    return name in ("rbf", "laplacian")
