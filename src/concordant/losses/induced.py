"""Losses that a kernel between outputs induces: ``k(y, y) - 2 k(y, y') + k(y', y')``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from concordant.losses.outputs import OutputLoss, matched, numbers, objects, refuse
from concordant.losses.reals import positive


class KernelInduced(OutputLoss):
    """Squared distance of two outputs in the feature space of a kernel.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A name of `sklearn.metrics.pairwise.pairwise_kernels`, or a function of two sequences of
        outputs that returns the matrix of kernel values.
    gamma : float, default=1.0
        Width, for the kernels that have one.
    degree, coef0 : float, default=3, 1.0
        Constants of the polynomial kernel.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.KernelInduced("rbf", gamma=1.0)([[0.0]], [[1.0]])
    array([1.26424112])
    """

    embedding = "psi(y) = (phi(y), k(y, y), 1) with the features phi of the kernel"

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float = 1.0,
        degree: float = 3,
        coef0: float = 1.0,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        return objects(outputs, name) if callable(self.kernel) else numbers(outputs, name, (2,))

    def gram(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Kernel values between two arrays of outputs."""
        from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels

        if callable(self.kernel):
            values = np.asarray(self.kernel(a, b), dtype=float)
            if values.shape != (len(a), len(b)):
                raise ValueError(
                    f"the kernel between outputs returned shape {values.shape}, not "
                    f"{(len(a), len(b))}"
                )
            refuse(~np.isfinite(values), values, "the kernel between outputs", "is not finite")
            return values
        if self.kernel not in KERNEL_PARAMS:
            raise ValueError(f"unknown kernel {self.kernel!r}; names are {sorted(KERNEL_PARAMS)}")
        given = {"gamma": positive(self, "gamma", self.gamma), "degree": self.degree,
                 "coef0": self.coef0}  # fmt: skip
        constants = {name: given[name] for name in KERNEL_PARAMS[self.kernel] & given.keys()}
        return pairwise_kernels(a, b, metric=self.kernel, **constants)

    def diagonal(self, outputs: np.ndarray) -> np.ndarray:
        """``k(y, y)`` of each output."""
        if self.kernel in ("rbf", "laplacian"):
            return np.ones(len(outputs))
        return matched(self.gram, outputs, outputs)

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        cross = matched(self.gram, actions, truths)
        return self.diagonal(actions) - 2.0 * cross + self.diagonal(truths)

    def table(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        own = self.diagonal(actions)[:, None] + self.diagonal(truths)
        return own - 2.0 * self.gram(actions, truths)


class Diffusion(OutputLoss):
    """Squared diffusion distance: what the heat kernel at a time induces.

    Parameters
    ----------
    space : {"circle", "sphere"} or array-like, default="circle"
        Outputs are angles on the circle, unit vectors of length 3 on the sphere, or nodes of the
        finite graph with this symmetric matrix of edge weights.
    time : float, default=0.1
        How far heat has spread. Small times tell near outputs apart, large ones do not.

    Notes
    -----
    The heat kernel of the circle is ``(1 + 2 sum_m exp(-m**2 t) cos(m (y - y'))) / (2 pi)``, that
    of the sphere ``sum_l (2 l + 1) exp(-l (l + 1) t) P_l(<y, y'>) / (4 pi)``, and that of a graph
    the exponential of minus t times its Laplacian. Series end where terms fall below 1e-15.

    Examples
    --------
    >>> import numpy as np, concordant as cc
    >>> loss = cc.losses.Diffusion("circle", time=1.0)
    >>> loss([0.0, 0.0], [0.0, np.pi]).round(4)
    array([0.    , 0.4686])
    """

    embedding = "psi(y) = (phi(y), k(y, y), 1) with the features phi of the heat kernel"

    def __init__(self, space: Any = "circle", time: float = 0.1):
        self.space = space
        self.time = time

    def on(self) -> str:
        """``"circle"``, ``"sphere"`` or ``"graph"``."""
        if not isinstance(self.space, str):
            return "graph"
        if self.space not in ("circle", "sphere"):
            raise ValueError(f"Diffusion knows the circle, the sphere and graphs: {self.space!r}")
        return self.space

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        space = self.on()
        if space == "circle":
            return np.mod(numbers(outputs, name, (1,)), 2.0 * np.pi)
        if space == "graph":
            nodes = np.asarray(outputs)
            if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
                raise ValueError(f"{name} must hold one node number an example")
            count = len(self.adjacency())
            refuse((nodes < 0) | (nodes >= count), nodes, name, f"nodes are 0..{count - 1}")
            return nodes.astype(np.int64)
        points = numbers(outputs, name, (2,))
        if points.shape[1] != 3:
            raise ValueError(f"points of the sphere have 3 coordinates, {name} {points.shape[1]}")
        norms = np.linalg.norm(points, axis=1)
        refuse(np.abs(norms - 1.0) > 1e-6, norms, f"the length of {name}", "is not 1")
        return points / norms[:, None]

    def adjacency(self) -> np.ndarray:
        """Edge weights of the graph, checked."""
        weights = numbers(self.space, "the graph", (2,))
        if weights.shape[0] != weights.shape[1] or not np.allclose(weights, weights.T):
            raise ValueError("the graph must be a symmetric matrix of edge weights")
        refuse(weights < 0.0, weights, "the graph", "an edge weight is not negative")
        return weights

    def spectrum(self) -> np.ndarray:
        """Weights of the terms of the series, in order."""
        time = positive(self, "time", self.time)
        if self.on() == "circle":
            m = np.arange(1 + int(np.ceil(np.sqrt(35.0 / time))))
            return np.where(m > 0, 2.0, 1.0) * np.exp(-(m**2) * time) / (2.0 * np.pi)
        l = np.arange(2 + int(np.ceil(np.sqrt(40.0 / time))))
        return (2 * l + 1) * np.exp(-l * (l + 1) * time) / (4.0 * np.pi)

    def heat(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Heat kernel between two arrays of outputs."""
        space = self.on()
        if space == "circle":
            m = np.arange(len(self.spectrum()))
            waves = [np.exp(1j * np.multiply.outer(angles, m)) for angles in (a, b)]
            return np.real((waves[0] * self.spectrum()) @ waves[1].conj().T)
        if space == "sphere":
            return np.polynomial.legendre.legval(np.clip(a @ b.T, -1.0, 1.0), self.spectrum())
        weights = self.adjacency()
        values, vectors = np.linalg.eigh(np.diag(weights.sum(axis=1)) - weights)
        spread = (vectors * np.exp(-positive(self, "time", self.time) * values)) @ vectors.T
        return spread[np.ix_(a, b)]

    def diagonal(self, outputs: np.ndarray) -> np.ndarray:
        """Heat that stays at each output."""
        if self.on() == "graph":
            nodes = np.arange(len(self.adjacency()))
            return np.diag(self.heat(nodes, nodes))[outputs]
        return np.full(len(outputs), self.heat(outputs[:1], outputs[:1])[0, 0])

    def table(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        own = self.diagonal(actions)[:, None] + self.diagonal(truths)
        return np.maximum(own - 2.0 * self.heat(actions, truths), 0.0)

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        return matched(self.table, actions, truths)
