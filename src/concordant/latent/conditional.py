"""Distributions of the latent choice given the label, and how they follow the weights.

A conditional knows P as one flat array ``(N,)``, and can propose another one at new weights.
What it minimises stands in `kernels.conditional`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from concordant.executor import chunks
from concordant.latent.margin import Features
from concordant.structures import PairCosts, Pairs
from concordant.surrogates.latent import Dissimilarity

#: Bags a chunk of a pass.
CHUNK = 64

#: Temperature of the smooth bound that L-BFGS descends on, in units of the largest cost: with
#: 0.05 kinks are smooth enough for long steps; what smoothing costs is seen by the check that
#: only keeps steps that lower the objective itself.
TEMPERATURE = 0.05


@dataclass
class Examples:
    """Bags with labels: everything that stays fixed while weights and distributions move.

    `known` holds the choices that are given, -1 where there is none.
    """

    features: Features
    conditional: Features
    structure: Pairs
    costs: PairCosts
    labels: np.ndarray
    known: np.ndarray
    weight: np.ndarray

    @property
    def rows_of_label(self) -> np.ndarray:
        """Each choice's column in a part array: the label of its bag."""
        return self.structure.spread(self.labels)

    def own(self, parts: np.ndarray) -> np.ndarray:
        """The column of the right label, ``(N,)``."""
        return np.take_along_axis(parts, self.rows_of_label[:, None], axis=1)[:, 0]

    def fill_known(self, values: np.ndarray) -> np.ndarray:
        """Put all mass of bags whose choice is known on it; in place."""
        given = np.flatnonzero(self.known >= 0)
        if len(given):
            values[self.structure.spread(self.known >= 0)] = 0.0
            values[self.structure.offsets[given] + self.known[given]] = 1.0
        return values

    def uniform(self) -> np.ndarray:
        """Equal mass on all choices, but for known ones."""
        return self.fill_known(self.structure.spread(1.0 / self.structure.sizes))

    def one_hot(self, choices: np.ndarray) -> np.ndarray:
        """All mass on these choices, but for known ones."""
        out = np.zeros(self.structure.shape[0])
        out[self.structure.offsets[:-1] + choices] = 1.0
        return self.fill_known(out)

    def completed(self, scores: np.ndarray) -> np.ndarray:
        """All mass on the best choice at the right label."""
        return self.one_hot(self.structure.first_largest(self.own(scores)))


def predictions(examples: Examples, scores: np.ndarray) -> np.ndarray:
    """The answers with the largest scores, (label, choice) a row."""
    return np.column_stack(examples.structure.best(scores)).astype(np.int64)


class LogLinear:
    """``P(h | x, y) = softmax(theta_y · x_h)``."""

    def __init__(self, route: Dissimilarity, examples: Examples, rng: np.random.Generator):
        self.route = route
        self.examples = examples
        self.rng = rng
        features = examples.conditional.x.shape[1]
        self.theta = np.zeros((examples.structure.n_classes, features))
        self._scratch = int(examples.structure.sizes.max())

    def distribution(self, theta: np.ndarray) -> np.ndarray:
        """P of every bag."""
        from concordant.kernels.conditional import distributions

        examples = self.examples
        out = np.empty(examples.structure.shape[0])
        offsets, labels = examples.structure.offsets, examples.labels
        arrays = examples.conditional.arrays

        def run(bags: slice) -> None:
            distributions(arrays, offsets, bags.start, bags.stop, labels, theta, out)

        examples.conditional.executor.map(run, self._pieces())
        return examples.fill_known(out)

    def penalty(self, theta: np.ndarray) -> float:
        """``J/2 |theta|^2``."""
        return float(0.5 * self.route.J * np.vdot(theta, theta))

    def propose(self, scores: np.ndarray, tol: float) -> np.ndarray:
        """A theta that is better at the weights with these scores, to about `tol`."""
        if not (self.examples.known < 0).any():
            return self.theta
        if self.route.theta_solver == "sgd":
            return self._stochastic(scores)
        return self._quasi_newton(scores, tol)

    def _answers(self, scores: np.ndarray) -> np.ndarray:
        """The fixed answers, or labels of -1, which ask for the bound."""
        if self.route.theta_target == "prediction":
            return predictions(self.examples, scores)
        return np.full((self.examples.structure.n_examples, 2), -1, dtype=np.int64)

    def value(
        self, theta: np.ndarray, scores: np.ndarray, answers: np.ndarray, temperature: float
    ) -> tuple[float, np.ndarray]:
        """What theta minimises at fixed weights, but for constants, and its gradient."""
        from concordant.kernels.conditional import theta_pass

        examples, k = self.examples, len(theta)
        arrays, free = examples.conditional.arrays, examples.known < 0
        p = np.empty(examples.structure.shape[0])

        def run(bags: slice) -> tuple[float, np.ndarray]:
            gradient = np.zeros(theta.shape)
            total = theta_pass(
                arrays, examples.costs.arrays, bags.start, bags.stop, examples.labels, free,
                scores, answers, examples.weight, self.route.beta, temperature, theta, p,
                np.empty((2 * k + 1, self._scratch)), np.empty(self._scratch), gradient,
            )  # fmt: skip
            return total, gradient

        sums = examples.conditional.executor.map(run, self._pieces())
        value = self.penalty(theta) + sum(total for total, _ in sums)
        return value, self.route.J * theta + sum(gradient for _, gradient in sums)

    def _quasi_newton(self, scores: np.ndarray, tol: float) -> np.ndarray:
        temperature = TEMPERATURE * self.examples.costs.scale
        answers = self._answers(scores)

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.value(
                flat.reshape(self.theta.shape), scores, answers, temperature
            )
            return value / tol, gradient.ravel() / tol

        options = {"maxiter": 50, "ftol": 0.0, "gtol": 0.0, "maxfun": 80}
        stop = _Slow()
        end = minimize(
            objective, self.theta.ravel(), jac=True, method="L-BFGS-B", options=options,
            callback=stop,
        )  # fmt: skip
        return end.x.reshape(self.theta.shape)

    def _stochastic(self, scores: np.ndarray, epochs: int = 5) -> np.ndarray:
        from concordant.kernels.conditional import stochastic_steps

        examples = self.examples
        used = np.flatnonzero((examples.known < 0) & (examples.weight > 0.0))
        order = self.rng.choice(used, epochs * len(used))
        rate = self.route.J / examples.weight.sum()
        weight = examples.weight * (len(used) / examples.weight.sum())
        theta, k = self.theta.copy(), len(self.theta)
        stochastic_steps(
            examples.conditional.arrays, examples.costs.arrays, order, examples.labels, scores,
            self._answers(scores), weight, self.route.beta, rate, theta,
            np.empty(examples.structure.shape[0]), np.empty((2 * k + 1, self._scratch)),
            np.empty(self._scratch),
        )  # fmt: skip
        return theta

    def _pieces(self) -> list[slice]:
        return chunks(self.examples.structure.n_examples, CHUNK)


class _Slow:
    """Ends L-BFGS when three steps together gain less than one, in units of the tolerance."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def __call__(self, intermediate_result: Any) -> None:
        self.values.append(float(intermediate_result.fun))
        if len(self.values) > 3 and self.values[-4] - self.values[-1] < 1.0:
            raise StopIteration
