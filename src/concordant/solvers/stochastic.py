"""Stochastic subgradient methods, as published, for comparison with the certified solvers.

They work on the primal one mini-batch at a time; the certificate after each pass is that of
the maximisers at the current weights, which is weak but valid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from concordant.solvers.base import Run


class _Stochastic(ABC):
    """A pass is n / batch steps; subclasses give the update."""

    def __init__(self, learning_rate: float = 0.01, batch: int = 32):
        self.learning_rate = learning_rate
        self.batch = batch

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        weights = objective.start() if start is None else start.copy()
        memory = self.begin(objective, weights)
        n, step = objective.n_examples, 0
        while True:
            order = rng.permutation(n)
            for first in range(0, n, self.batch):
                step += 1
                rows = np.sort(order[first : first + self.batch])
                gradient = objective.sample_gradient(weights, rows)
                gradient += objective.penalty_gradient(weights)
                self.update(weights, gradient, step, n, memory)
            bounds = objective.bounds_at(weights)
            if run.record(weights, bounds.primal, bounds.dual):
                return

    def begin(self, objective: Any, weights: np.ndarray) -> list[np.ndarray]:
        """State of the method besides the weights."""
        return []

    @abstractmethod
    def update(
        self, weights: np.ndarray, gradient: np.ndarray, step: int, n: int, memory: list[np.ndarray]
    ) -> None:
        """Move `weights` in place. `gradient` is of the whole objective, a sum over n."""


class Sgd(_Stochastic):
    """Subgradient steps ``learning_rate / sqrt(t)`` on the mean objective."""

    def update(
        self, weights: np.ndarray, gradient: np.ndarray, step: int, n: int, memory: list[np.ndarray]
    ) -> None:
        weights -= self.learning_rate / np.sqrt(step) / n * gradient


class Pegasos(_Stochastic):
    """Steps ``1/(lambda t)`` with ``lambda = 1/(n C)`` (thesis, Algorithm 1).

    On a kernel this is the published kernel PEGASOS: each step adds the residual of the
    sampled examples to their dual coefficients. Intercepts, which have no penalty to contract
    them, take the steps ``1/sqrt(t)`` of a mean instead.
    """

    def __init__(self, batch: int = 1):
        super().__init__(batch=batch)

    def begin(self, objective: Any, weights: np.ndarray) -> list[np.ndarray]:
        return [objective.unpenalised()]

    def update(
        self, weights: np.ndarray, gradient: np.ndarray, step: int, n: int, memory: list[np.ndarray]
    ) -> None:
        weights -= np.where(memory[0], 1.0 / (n * np.sqrt(step)), 1.0 / step) * gradient


class AdaGrad(_Stochastic):
    """Steps scaled by the root of the summed squared gradients (Duchi et al. 2011)."""

    def __init__(self, learning_rate: float = 0.1, batch: int = 32):
        super().__init__(learning_rate, batch)

    def begin(self, objective: Any, weights: np.ndarray) -> list[np.ndarray]:
        return [np.zeros_like(weights)]

    def update(
        self, weights: np.ndarray, gradient: np.ndarray, step: int, n: int, memory: list[np.ndarray]
    ) -> None:
        mean = gradient / n
        memory[0] += mean**2
        weights -= self.learning_rate * mean / (np.sqrt(memory[0]) + 1e-12)


class Adam(_Stochastic):
    """Adam with its usual constants (Kingma and Ba 2015)."""

    def begin(self, objective: Any, weights: np.ndarray) -> list[np.ndarray]:
        return [np.zeros_like(weights), np.zeros_like(weights)]

    def update(
        self, weights: np.ndarray, gradient: np.ndarray, step: int, n: int, memory: list[np.ndarray]
    ) -> None:
        mean = gradient / n
        first, second = memory
        first += 0.1 * (mean - first)
        second += 0.001 * (mean**2 - second)
        scaled = np.sqrt(second / (1.0 - 0.999**step)) + 1e-8
        weights -= self.learning_rate * (first / (1.0 - 0.9**step)) / scaled
