"""Ridge weights on many examples: a few features in place of the whole kernel matrix.

With features ``phi(x)`` of length M and a penalty P the coefficients solve

    (sum_i w_i phi_i phi_i' + P / C) beta = sum_i w_i phi_i targets_i

and ``sums = phi(x) @ beta``. Nystroem's method takes kernel values with M centres as features and
the kernel between the centres as P; random Fourier features of the Gaussian kernel have P = I.
The features are made block by block and never kept: memory is M squared, M times the number of
targets, and a block.

Two ways to the solution: the matrix on the left is summed in one pass and serves every C; or
conjugate gradients, a pass each, preconditioned by the same matrix on a sample (Rudi, Carratino
and Rosasco, *FALKON*, NIPS 2017), which pays when M is large.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from concordant.executor import SERIAL, Executor, chunks
from concordant.outputs.ridge import Coefficients, dense

#: Numbers in a block of features: they should stay in a cache or near it.
BLOCK = 1 << 22
#: Up to so many features the matrix is summed; above, conjugate gradients.
MOST_SUMMED = 3000
#: Part of the diagonal that keeps the kernel between centres positive definite.
JITTER = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-7}


class Gaussian:
    """``exp(-gamma |a - b|**2)`` between rows, in the precision of the data, in place.

    Faster than the general function because it makes one matrix and changes it in place. Rows
    are first shifted by `origin`, so that large means do not cost the small differences.
    """

    def __init__(self, gamma: float, origin: Any = 0.0):
        self.gamma = gamma
        self.origin = origin

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a, b = a - self.origin, b - self.origin
        out = a @ (b.T * (2.0 * self.gamma)).astype(a.dtype)
        out -= (self.gamma * np.einsum("ij,ij->i", a, a))[:, None].astype(a.dtype)
        out -= (self.gamma * np.einsum("ij,ij->i", b, b)).astype(a.dtype)
        np.minimum(out, 0.0, out=out)
        return np.exp(out, out=out)


class CentreFeatures:
    """Kernel values with centres as features."""

    def __init__(self, kernel: Any, centres: Any):
        self.kernel = kernel
        self.centres = centres

    def __call__(self, x: Any) -> np.ndarray:
        return self.kernel(x, self.centres)

    def penalty_root(self, dtype: Any) -> np.ndarray | None:
        """Lower triangular root of the kernel between the centres."""
        gram = np.array(self.kernel(self.centres, self.centres), dtype=np.float64)
        gram.flat[:: len(gram) + 1] += JITTER[np.dtype(dtype)] * len(gram) * gram.diagonal().max()
        try:
            return np.linalg.cholesky(gram)
        except np.linalg.LinAlgError:
            raise ValueError(
                "the kernel between the centres is not positive semidefinite: its smallest "
                f"eigenvalue is {np.linalg.eigvalsh(gram)[0]:.3g}"
            ) from None


class Fourier:
    """Random cosines whose products are on average the Gaussian kernel."""

    def __init__(self, gamma: float, n_features: int, n_components: int, seed: int, dtype: Any):
        rng = np.random.default_rng(seed)
        size = (n_features, n_components)
        self.waves = (rng.normal(size=size) * np.sqrt(2.0 * gamma)).astype(dtype)
        self.shift = rng.uniform(0.0, 2.0 * np.pi, n_components).astype(dtype)

    def __call__(self, x: Any) -> np.ndarray:
        out = np.asarray(x @ self.waves)
        out += self.shift
        np.cos(out, out=out)
        out *= np.sqrt(2.0 / len(self.shift))
        return out

    def penalty_root(self, dtype: Any) -> np.ndarray | None:
        """None: the penalty is the plain square."""
        return None


def leverage_centres(
    kernel: Any, x: Any, diagonal: np.ndarray, C: float, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows drawn by approximate ridge leverage scores, without repetition.

    ``C (k(x, x) - k_S(x)' (K_SS + I/C)^-1 k_S(x))`` with a uniform sample S of as many rows.
    """
    n = x.shape[0]
    first = x[np.sort(rng.permutation(n)[:count])]
    gram = np.array(kernel(first, first), dtype=np.float64)
    gram.flat[:: len(gram) + 1] += 1.0 / C + 1e-10 * gram.diagonal().max()
    root = np.linalg.cholesky(gram)
    scores = np.empty(n)
    for rows in chunks(n, max(BLOCK // count, 1)):
        values = np.array(kernel(x[rows], first), dtype=np.float64)
        inner = scipy.linalg.solve_triangular(root, values.T, lower=True, overwrite_b=True)
        scores[rows] = diagonal[rows] - np.einsum("ij,ij->j", inner, inner)
    scores = np.maximum(scores, 1e-12 * max(float(scores.max()), 1e-300))
    # The largest of log(uniform) / score: a draw without repetition in proportion to the scores.
    return np.sort(np.argsort(np.log(rng.uniform(size=n)) / scores)[-count:])


class Sums:
    """The two sums of the normal equations over one pass, ready for every C.

    Blocks are made by as many threads as there are, and added in their order.
    """

    def __init__(
        self,
        features: Any,
        x: Any,
        weight: np.ndarray,
        targets: Any,
        dtype: Any,
        executor: Executor = SERIAL,
    ):
        self.root = features.penalty_root(dtype)

        def part(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            # Sums in single precision would lose the small eigenvalues, which decide the answer.
            values = np.asarray(features(x[rows]), dtype=np.float64)
            scale = np.sqrt(weight[rows, None])
            if (scale != 1.0).any():
                values = values * scale
            # NumPy sees that both sides are one array and does half of the work.
            return values.T @ values, values.T @ (dense(targets[rows]) * scale)

        left: Any = 0.0
        right: Any = 0.0
        blocks = _blocks(x, features, self.root)
        for start in range(0, len(blocks), executor.n_jobs):
            for gram, moment in executor.map(part, blocks[start : start + executor.n_jobs]):
                left, right = left + gram, right + moment
        self.values, self.vectors = np.linalg.eigh(_whiten(self.root, left))
        self.values = np.maximum(self.values, 0.0)
        self.inner = self.vectors.T @ _half(self.root, right)

    def coefficients(self, C: float) -> Coefficients:
        """For one C."""
        inner = self.vectors @ (self.inner / (self.values + 1.0 / C)[:, None])
        return Coefficients(_half_back(self.root, inner))


def _blocks(x: Any, features: Any, root: np.ndarray | None) -> list[slice]:
    width = len(root) if root is not None else len(features.shift)
    return chunks(x.shape[0], max(BLOCK // width, 16))


def _half(root: np.ndarray | None, right: np.ndarray) -> np.ndarray:
    if root is None:
        return right
    return scipy.linalg.solve_triangular(root, right, lower=True)


def _half_back(root: np.ndarray | None, right: np.ndarray) -> np.ndarray:
    if root is None:
        return right
    return scipy.linalg.solve_triangular(root, right, lower=True, trans="T")


def _whiten(root: np.ndarray | None, left: np.ndarray) -> np.ndarray:
    return _half(root, _half(root, left).T)


def conjugate_gradients(
    features: Any,
    x: Any,
    weight: np.ndarray,
    targets: Any,
    C: float,
    sample: np.ndarray,
    dtype: Any,
    tol: float,
    max_iter: int,
) -> tuple[Coefficients, int, float]:
    """Coefficients for one C, the number of passes, and the relative residual that is left.

    `sample` are the rows whose normal equations make the preconditioner.
    """
    root = features.penalty_root(dtype)
    values = np.asarray(features(x[sample]), dtype=np.float64)
    n = float(weight.sum())
    near = _whiten(root, values.T @ values * (n / len(sample)))
    near.flat[:: len(near) + 1] += 1.0 / C
    factor = np.linalg.cholesky(near)

    def forward(v: np.ndarray) -> np.ndarray:
        """From preconditioned unknowns to coefficients."""
        return _half_back(root, scipy.linalg.solve_triangular(factor, v, lower=True, trans="T"))

    def backward(u: np.ndarray) -> np.ndarray:
        return scipy.linalg.solve_triangular(factor, _half(root, u), lower=True)

    def one_pass(beta: np.ndarray | None) -> np.ndarray:
        """``sum_i w_i phi_i (phi_i' beta)``, or with the targets in place of the bracket."""
        total: Any = 0.0
        for rows in _blocks(x, features, root):
            block = features(x[rows])
            inner = dense(targets[rows]) if beta is None else block @ beta.astype(block.dtype)
            inner = (inner * weight[rows, None]).astype(block.dtype)
            total = total + (block.T @ inner).astype(np.float64)
        return total

    def left(v: np.ndarray) -> np.ndarray:
        beta = forward(v)
        penalty = beta if root is None else root @ (root.T @ beta)
        return backward(one_pass(beta) + penalty / C)

    right = backward(one_pass(None))
    v = np.zeros_like(right)
    residual, direction = right.copy(), right.copy()
    size = _squares(residual)
    target = tol**2 * np.maximum(size, 1e-300)
    done = 0
    while done < max_iter and (size > target).any():
        image = left(direction)
        bend = np.einsum("ij,ij->j", direction, image)
        step = np.where(bend > 0.0, size / np.where(bend > 0.0, bend, 1.0), 0.0)
        v += step * direction
        residual -= step * image
        after = _squares(residual)
        direction = residual + direction * (after / np.where(size > 0.0, size, 1.0))
        size = after
        done += 1
    relative = float(np.sqrt((size / np.maximum(_squares(right), 1e-300)).max(initial=0.0)))
    return Coefficients(forward(v)), done, relative


def _squares(a: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", a, a)
