"""Kernels by name or function: their width, their matrix, and Nystroem's approximation."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp

from concordant.executor import Executor, chunks

ADVICE = (
    "It takes two feature matrices and returns the matrix of kernel values; for a function of two "
    "rows use functools.partial(sklearn.metrics.pairwise.pairwise_kernels, metric=function)"
)

#: Rows of a tile of a kernel matrix.
TILE = 256


def check_name(kernel: Any) -> None:
    """`kernel` is None, a function, or a name that exists."""
    if kernel is None or callable(kernel):
        return
    from sklearn.metrics.pairwise import KERNEL_PARAMS

    names = ["precomputed", *sorted(KERNEL_PARAMS)]
    if kernel not in names:
        raise ValueError(f"unknown kernel {kernel!r}; names are {', '.join(names)}")


class Kernel:
    """A kernel with its constants settled on the training features.

    Parameters
    ----------
    kernel : str or callable
        A name that `sklearn.metrics.pairwise.pairwise_kernels` knows, or a function of two
        feature matrices that returns the matrix of kernel values, as for `sklearn.svm.SVC`.
    gamma, degree, coef0 : the constants of the named ones
    x : array or sparse matrix
        Training features, from which ``gamma="scale"`` is measured.
    weight : ndarray of shape (n,)
        How many copies of each training row there are.
    """

    def __init__(
        self, kernel: Any, gamma: Any, degree: float, coef0: float, x: Any, weight: np.ndarray
    ):
        from sklearn.metrics.pairwise import KERNEL_PARAMS

        self.function = kernel
        self.constants: dict[str, float] = {}
        if callable(kernel):
            return
        constants = {"degree": degree, "coef0": coef0}
        if "gamma" in KERNEL_PARAMS[kernel]:
            constants["gamma"] = _width(gamma, x, weight)
        self.constants = {name: constants[name] for name in sorted(KERNEL_PARAMS[kernel])}

    def __call__(self, a: Any, b: Any) -> np.ndarray:
        """Kernel values between the rows of a and of b; they may overflow."""
        if callable(self.function):
            gram = self._call(a, b)
        else:
            from sklearn.metrics.pairwise import pairwise_kernels

            with np.errstate(over="ignore", invalid="ignore"):
                gram = pairwise_kernels(a, b, metric=self.function, **self.constants)
        return gram.toarray() if sp.issparse(gram) else np.asarray(gram, dtype=float)

    def is_gaussian(self, x: Any) -> bool:
        """Whether the training matrix is that of `gaussian_gram`."""
        return self.function == "rbf" and not sp.issparse(x)

    def training(self, x: Any, executor: Executor) -> np.ndarray:
        """The matrix between the training rows."""
        if self.is_gaussian(x):
            return gaussian_gram(x, self.constants["gamma"], executor)
        return self(x, x)

    def _call(self, a: Any, b: Any) -> Any:
        try:
            gram = self.function(a, b)
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            if sp.issparse(a):
                raise TypeError(
                    f"the kernel function failed on sparse features ({error}); "
                    "pass dense ones or a kernel that takes sparse matrices"
                ) from error
            raise type(error)(f"the kernel function failed: {error}. {ADVICE}") from error
        expected = (a.shape[0], b.shape[0])
        if np.shape(gram) != expected:
            raise ValueError(
                f"the kernel function gave shape {np.shape(gram)} instead of {expected}. {ADVICE}"
            )
        return gram


def gaussian_gram(x: np.ndarray, gamma: float, executor: Executor) -> np.ndarray:
    """``exp(-gamma |x_i - x_j|**2)`` of all rows, by tiles that stay in cache and half of them.

    Rows are measured from their mean, because their squares are subtracted. Where the square of
    one overflows, its own value is not a number.
    """
    n = x.shape[0]
    gram = np.empty((n, n))
    with np.errstate(all="ignore"):
        scaled = (x - x.mean(axis=0)) * np.sqrt(2.0 * gamma)
        half = 0.5 * np.einsum("ij,ij->i", scaled, scaled)
    pieces = chunks(n, TILE)

    def run(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        with np.errstate(all="ignore"):  # a setting of the thread
            here = scaled[rows] @ scaled[columns].T
            here -= half[rows, None] + half[columns]  # at once: symmetric to the last bit
            if rows == columns:
                np.fill_diagonal(here, 0.0 * half[rows])
            np.exp(np.minimum(here, 0.0, out=here), out=here)
        gram[rows, columns] = here
        gram[columns, rows] = here.T

    executor.map(run, [(a, b) for i, a in enumerate(pieces) for b in pieces[: i + 1]])
    return gram


class Nystroem:
    """Features whose inner products approximate a kernel, from a random basis of rows."""

    def __init__(self, kernel: Kernel, x: Any, n_components: int, seed: int):
        n = x.shape[0]
        rows = np.random.default_rng(seed).permutation(n)[: min(n_components, n)]
        self.kernel = kernel
        self.basis = x[np.sort(rows)]
        gram = kernel(self.basis, self.basis)
        check_overflow(gram)
        values, vectors = np.linalg.eigh(gram)
        kept = values > 1e-12 * max(values[-1], 0.0)
        self.map = vectors[:, kept] / np.sqrt(values[kept])

    def __call__(self, x: Any) -> np.ndarray:
        gram = self.kernel(x, self.basis)
        check_overflow(gram)
        return np.ascontiguousarray(gram @ self.map)


def check_overflow(gram: np.ndarray, index: np.ndarray | None = None) -> None:
    """Kernel values are finite; `index` says where the rows stood in the user's data."""
    with np.errstate(all="ignore"):
        if np.isfinite(gram.sum()):
            return
    bad = ~np.isfinite(gram).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        value = gram[row][~np.isfinite(gram[row])][0]
        named = row if index is None else int(index[row])
        raise ValueError(f"the kernel of row {named} is {value}; are its features too large?")


def check_gram(
    gram: np.ndarray, index: np.ndarray, ours: bool = False, gaussian: bool = False
) -> None:
    """A kernel matrix is finite and symmetric, and its diagonal is not negative.

    One of `ours`, of a kernel by name, is symmetric as it is made; what is not finite in one of
    `gaussian_gram` shows on its diagonal.
    """
    diagonal = np.diag(gram)
    check_overflow(diagonal[:, None] if gaussian else gram, index)
    if (diagonal < 0).any():
        row = int((diagonal < 0).argmax())
        raise ValueError(
            f"the kernel matrix is not positive semidefinite: [{index[row]}, {index[row]}] = "
            f"{diagonal[row]}"
        )
    if ours:
        return
    size = float(np.abs(gram).max(initial=0.0))
    for rows in chunks(len(gram), 512):
        away = np.abs(gram[rows] - gram[:, rows].T) > 1e-6 * size
        if away.any():
            row, column = (int(v) for v in np.argwhere(away)[0])
            row += rows.start
            raise ValueError(
                f"the kernel matrix is not symmetric: [{index[row]}, {index[column]}] = "
                f"{gram[row, column]}, [{index[column]}, {index[row]}] = {gram[column, row]}"
            )


def _width(gamma: Any, x: Any, weight: np.ndarray) -> float:
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / x.shape[1]
    if isinstance(gamma, str) and gamma == "scale":
        variance = _variance(x, weight)
        return 1.0 / (x.shape[1] * variance) if variance > 0.0 else 1.0
    if not (isinstance(gamma, numbers.Real) and 0 < float(gamma) < np.inf):
        raise ValueError(f"gamma must be 'scale', 'auto' or > 0, got {gamma!r}")
    return float(gamma)


def _variance(x: Any, weight: np.ndarray) -> float:
    """Variance of all entries, each as often as its row counts; exactly 0 where it is rounding."""
    size = x.shape[1] * float(weight.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(weight @ np.asarray(x.sum(axis=1)).ravel()) / size
        total = 0.0
        for rows in chunks(x.shape[0]):
            piece = x[rows]
            if sp.issparse(piece):
                stored = np.repeat(weight[rows], np.diff(piece.indptr))
                total += float(stored @ (piece.data - mean) ** 2)
                zeros = x.shape[1] * float(weight[rows].sum()) - float(stored.sum())
                total += zeros * mean**2
            else:
                total += float(weight[rows] @ ((piece - mean) ** 2).sum(axis=1))
        variance = total / size
    if not np.isfinite(variance):
        raise ValueError("the features are too large for gamma='scale': their squares overflow")
    return variance if variance > (1e-14 * mean) ** 2 else 0.0
