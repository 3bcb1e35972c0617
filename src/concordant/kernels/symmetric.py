"""Symmetric systems of some dozens of equations, solved in compiled code."""

from __future__ import annotations

from numba import njit

from concordant.kernels.assignment import kernel

#: For sums over finite numbers: may be reordered, so that they use vector registers.
reduction = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})


@reduction
def _dot(a, b, size):
    total = 0.0
    for k in range(size):
        total += a[k] * b[k]
    return total


@kernel
def factor(a, size, diagonal, scaled):
    """``a = L D L'`` in place (lower triangle), without pivoting.

    Good for positive definite and for quasi-definite matrices (Vanderbei 1995).
    """
    for j in range(size):
        for k in range(j):
            scaled[k] = a[j, k] * diagonal[k]
        pivot = a[j, j] - _dot(a[j], scaled, j)
        diagonal[j] = pivot
        for i in range(j + 1, size):
            a[i, j] = (a[i, j] - _dot(a[i], scaled, j)) / pivot


@kernel
def back_solve(a, size, diagonal, x):
    """Solve with the factors, in place of the right-hand side."""
    for i in range(size):
        x[i] -= _dot(a[i], x, i)
    for i in range(size):
        x[i] /= diagonal[i]
    for i in range(size - 1, -1, -1):
        value = x[i]
        for k in range(i):
            x[k] -= a[i, k] * value
