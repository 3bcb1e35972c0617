"""Products of kernels on groups of columns: kernels between (input, part) pairs, and more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


class ProductKernel(BaseEstimator):
    """The product of kernels, each on columns of its own. A kernel for any estimator here.

    With an example for each part of an output, its features in some columns and the part's
    place in others, this is the kernel of localised structured prediction, ``k(x_p, x'_p')
    h(p, p')`` (Ciliberto, Bach and Rudi, NeurIPS 2019).

    Parameters
    ----------
    factors : sequence of (kernel, columns, gamma)
        A name that `sklearn.metrics.pairwise.pairwise_kernels` knows, the columns it is on, and
        its width, None for kernels without one.

    Examples
    --------
    Patches of a signal: near in value, and near in place.

    >>> import numpy as np, concordant as cc
    >>> from concordant.outputs import ProductKernel
    >>> kernel = ProductKernel([("rbf", [0, 1], 1.0), ("rbf", [2], 0.5)])
    >>> kernel(np.array([[0.0, 0.0, 1.0]]), np.array([[1.0, 0.0, 3.0]]))
    array([[0.04978707]])
    >>> X = np.array([[0.0, 0.1, 0.0], [0.1, 0.0, 1.0], [1.0, 0.9, 0.0], [0.9, 1.0, 1.0]])
    >>> cc.LossTrickPredictor("absolute", kernel, C=10.0).fit(X, [0.0, 1.0, 2.0, 3.0]).predict(X)
    array([0., 1., 2., 3.])
    """

    def __init__(self, factors: Sequence[tuple[str, Sequence[int], float | None]]):
        self.factors = factors

    def __call__(self, a: Any, b: Any) -> np.ndarray:
        """Kernel values between two feature matrices."""
        from sklearn.metrics.pairwise import pairwise_kernels

        if not len(self.factors):
            raise ValueError("a product of kernels needs at least one factor")
        out: Any = 1.0
        for name, columns, gamma in self.factors:
            given = {} if gamma is None else {"gamma": gamma}
            at = list(columns)
            out = out * pairwise_kernels(a[:, at], b[:, at], metric=name, **given)
        return out
