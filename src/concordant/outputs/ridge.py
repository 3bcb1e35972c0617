"""Kernel ridge weights, ``alpha(x) = (K + I/C)^-1 K_x``, summed against targets.

What decoders need of an example x is ``sums = alpha(x) @ targets = K_x (K + I/C)^-1 targets``,
so training ends with coefficients ``(K + I/C)^-1 targets`` and weights are never formed. If
there are more targets than examples, they are solved for the identity instead and the targets
follow at prediction.

A weight w of an example stands for w copies: with ``s = sqrt(w)`` the matrix is ``s K s + I/C``
and coefficients are ``s (s K s + I/C)^-1 s targets``.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

#: A kernel matrix is called indefinite if its least eigenvalue is below minus this times the
#: largest entry of its diagonal times the square root of its order.
INDEFINITE = 1e-7


class Coefficients(NamedTuple):
    """What kernel values, or features, are multiplied by: ``values @ matrix @ through``."""

    matrix: np.ndarray
    through: Any = None

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums of the targets under the weights of each row, in double precision."""
        out = values @ self.matrix
        if self.through is not None:
            out = out @ self.through
        return np.asarray(out, dtype=np.float64)


def split(targets: Any, n: int, dtype: Any) -> tuple[np.ndarray, Any]:
    """The right sides to solve for, and what to multiply the solutions with."""
    if targets.shape[1] > n:
        return np.eye(n, dtype=dtype), targets.astype(dtype)
    return dense(targets).astype(dtype), None


def dense(targets: Any) -> np.ndarray:
    """Targets as an array."""
    return targets.toarray() if sp.issparse(targets) else np.asarray(targets)


def solve(gram: np.ndarray, C: float, weight: np.ndarray, targets: Any) -> Coefficients:
    """Coefficients for one C, by Cholesky. `gram` is overwritten."""
    n = len(gram)
    right, through = split(targets, n, gram.dtype)
    scale = np.sqrt(weight).astype(gram.dtype)
    uniform = bool((scale == 1.0).all())
    if not uniform:
        gram *= scale[:, None]
        gram *= scale
        right = right * scale[:, None]
    gram.flat[:: n + 1] += 1.0 / C
    try:
        factor = scipy.linalg.cho_factor(gram, lower=True, check_finite=False)
        matrix = scipy.linalg.cho_solve(factor, right, overwrite_b=True, check_finite=False)
    except np.linalg.LinAlgError:
        matrix = scipy.linalg.solve(gram, right, assume_a="sym", check_finite=False)
    return Coefficients(matrix if uniform else matrix * scale[:, None], through)


class Spectrum:
    """One eigendecomposition for every C: coefficients, and what leaving one out would give.

    With ``K = Q diag(l) Q'`` and ``c = 1/C`` the residuals are ``Q diag(c / (l + c)) Q' T`` and
    one minus the leverages is the diagonal of the same matrix. Leaving example i out changes its
    sums to ``T_i - residual_i / (1 - leverage_i)``: exact, for any number of targets, and so for
    any decoder and any loss.
    """

    def __init__(self, gram: np.ndarray, weight: np.ndarray, targets: Any):
        self.right, self.through = split(targets, len(gram), gram.dtype)
        self.scale = np.sqrt(weight).astype(gram.dtype)[:, None]
        gram = gram * self.scale * self.scale.T
        # evd is the fastest where all vectors are wanted; Fortran order saves it a copy.
        self.values, self.vectors = scipy.linalg.eigh(
            gram.T, driver="evd", overwrite_a=True, check_finite=False
        )
        self.values = np.maximum(self.values, 0.0)
        self.inner = self.vectors.T @ (self.right * self.scale)
        self.squares: np.ndarray | None = None

    def coefficients(self, C: float) -> Coefficients:
        """As `solve` gives them."""
        inner = self.inner / (self.values + 1.0 / C)[:, None]
        return Coefficients(self.vectors @ inner * self.scale, self.through)

    def left_out(self, C: float) -> np.ndarray:
        """Sums of every example when it is left out of training."""
        shrink = 1.0 / (1.0 + C * self.values)
        residual = (self.vectors @ (self.inner * shrink[:, None])) / self.scale
        if self.squares is None:
            self.squares = self.vectors**2
        kept = self.squares @ shrink
        out = self.right - residual / np.maximum(kept, np.finfo(kept.dtype).tiny)[:, None]
        if self.through is not None:
            out = out @ self.through
        return np.asarray(out, dtype=np.float64)


def warn_if_indefinite(gram: np.ndarray) -> None:
    """Warn with the smallest eigenvalue if a kernel matrix is not positive semidefinite."""
    n = len(gram)
    allowed = INDEFINITE * np.sqrt(n) * float(np.abs(np.diag(gram)).max(initial=0.0))
    shifted = gram.astype(np.float64)
    shifted.flat[:: n + 1] += allowed
    try:
        scipy.linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        return
    except np.linalg.LinAlgError:
        pass
    least = float(scipy.linalg.eigvalsh(gram, subset_by_index=[0, 0])[0])
    if least < -allowed:
        warnings.warn(
            f"the kernel is not positive semidefinite: the smallest eigenvalue of its matrix on "
            f"the training data is {least:.3g}. The weights (K + I/C)^-1 K_x are solved for as "
            "they are, but no theorem speaks for them",
            UserWarning,
            stacklevel=2,
        )
