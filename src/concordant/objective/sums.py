"""What an objective is made of: sums over some of the examples, points, bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from concordant.surrogates import Route


class Bounds(NamedTuple):
    """Certified bracket of the optimum: ``dual <= optimum <= primal``."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap against the primal value; 0 where both bounds are 0."""
        return self.gap / abs(self.primal) if self.primal else 0.0


class Loss(NamedTuple):
    """The sum over examples at given scores.

    Its (smoothed) value, its gradient in the scores, an upper bound on the unsmoothed value, the
    first term of the dual at the maximisers, and what smoothing may have changed.
    """

    value: float
    residual: np.ndarray
    upper: float
    gain: float
    blur: float


class Vector:
    """A point of weight space with its image under the inner product of the penalty.

    For linear weights the two are one array. For a kernel the coordinates are dual
    coefficients, the image is the kernel times them, and inner products need both.
    """

    __slots__ = ("at", "image")

    def __init__(self, at: np.ndarray, image: np.ndarray):
        self.at = at
        self.image = image

    def dot(self, other: Vector) -> float:
        """Inner product."""
        return float(np.vdot(self.at, other.image))

    def plus(self, factor: float, other: Vector) -> Vector:
        """``self + factor * other``."""
        at = self.at + factor * other.at
        return Vector(at, at if self.image is self.at else self.image + factor * other.image)

    def times(self, factor: float) -> Vector:
        """``factor * self``."""
        at = factor * self.at
        return Vector(at, at if self.image is self.at else factor * self.image)


@dataclass
class DualState:
    """A dual point with the weights it stands for, and what a compiled pass keeps."""

    mu: np.ndarray
    weights: np.ndarray
    rest: np.ndarray
    quiet: np.ndarray
    cache: np.ndarray | None = field(default=None, repr=False)
    gaps: np.ndarray | None = field(default=None, repr=False)


class Examples(NamedTuple):
    """Some of the examples: their route, answers, and weights outside and inside of the loss."""

    route: Route
    target: Any
    weight: np.ndarray
    loss_weight: np.ndarray


def sum_losses(
    some: Examples, scores: np.ndarray, strength: float, centre: np.ndarray | None
) -> Loss:
    """The sum over these examples at their scores, smoothed by `strength`."""
    route, target, c, w = some
    structure = route.structure
    upper, mu, bonus = route.solve(scores, target, w, strength, centre)
    constant = route.constant(w)
    rest = constant - route.at(scores, target)
    attained = upper
    if strength or not route.exact:
        attained = bonus + structure.dot(scores, mu)
    if strength and not route.entropic:
        away = mu if centre is None else mu - centre
        attained = attained - 0.5 * strength * structure.dot(away, away)
    above, value = float(c @ (upper + rest)), float(c @ (attained + rest))
    blur = above - value
    gain = float(c @ (bonus + constant))
    residual = structure.scale(c, route.residual(mu, target))
    # By entropy, the smoothed value is itself the upper bound.
    return Loss(above if route.entropic else value, residual, above, gain, blur)


def surrogates_of(some: Examples, scores: np.ndarray) -> np.ndarray:
    """The surrogate of each of these examples."""
    route, target, _, w = some
    upper = route.solve(scores, target, w).upper
    return upper - route.at(scores, target) + route.constant(w)
