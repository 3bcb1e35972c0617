"""Losses between real numbers, or vectors of them: sums over coordinates of ``value(residual)``.

The residual is action minus truth. `Pieces` are quadratic between a few knots, so that the best
action under weights of both signs can be found exactly. `Smooth` ones have a bounded second
derivative, `steepest`, from which a search gets its bounds. `Margin` losses are functions of
``truth * action`` with truths -1 and 1.

Scales and names follow the table of robust losses in Huber and Ronchetti, *Robust Statistics*,
2011, and Ciliberto et al., NIPS 2016, Example 1.
"""

from __future__ import annotations

import numbers as _numbers
from abc import abstractmethod
from typing import Any

import numpy as np

from concordant.losses.outputs import OutputLoss, numbers, refuse


def positive(loss: Any, name: str, value: Any, allow_zero: bool = False) -> float:
    """A constructor argument that must be a finite positive number."""
    least = ">= 0" if allow_zero else "> 0"
    ok = isinstance(value, _numbers.Real) and not isinstance(value, bool)
    if not (ok and (0 < value < np.inf or (allow_zero and value == 0))):
        raise ValueError(f"{type(loss).__name__} needs a finite {name} {least}, got {value!r}")
    return float(value)


class RealLoss(OutputLoss):
    """A function of the residual, summed over coordinates."""

    embedding = (
        "on a bounded interval the loss is an absolutely convergent Fourier series of the "
        "residual, so it is <psi(y), V psi(y')> (Ciliberto et al. 2016, Example 1)"
    )

    @abstractmethod
    def value(self, residual: np.ndarray) -> np.ndarray:
        """Loss of each residual."""

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        return numbers(outputs, name)

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        if actions.shape[1:] != truths.shape[1:]:
            raise ValueError(
                f"actions of shape {actions.shape} do not match truths of shape {truths.shape}"
            )
        values = self.value(actions - truths)
        return values.sum(axis=1) if values.ndim == 2 else values


# ---- quadratic between knots ----


class Pieces(RealLoss):
    """A loss that is quadratic between a few knots."""

    @abstractmethod
    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        """Knots ``(p,)``, increasing, and coefficients ``(p + 1, 3)`` of
        ``a r**2 + b r + c`` left of, between and right of them."""

    def value(self, residual: np.ndarray) -> np.ndarray:
        knots, coefficients = self.pieces()
        a, b, c = np.moveaxis(coefficients[np.searchsorted(knots, residual)], -1, 0)
        return (a * residual + b) * residual + c


class SquaredError(RealLoss):
    """``(y - y')**2``. The name ``"squared"`` means it where outputs are numbers."""

    embedding = "psi(y) = (|y|**2, y, 1) is finite-dimensional"

    def value(self, residual: np.ndarray) -> np.ndarray:
        return residual**2


class AbsoluteError(Pieces):
    """``|y - y'|``. The name ``"absolute"`` means it where outputs are numbers."""

    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(1), np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]])


class Pinball(Pieces):
    """Loss of a quantile: ``quantile`` times a shortfall, ``1 - quantile`` times an excess.

    Parameters
    ----------
    quantile : float, default=0.5

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.Pinball(quantile=0.9)([0.0, 2.0], [1.0, 1.0])
    array([0.9, 0.1])
    """

    def __init__(self, quantile: float = 0.5):
        self.quantile = quantile

    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        q = positive(self, "quantile", self.quantile)
        if q >= 1:
            raise ValueError(f"Pinball needs a quantile between 0 and 1, got {self.quantile!r}")
        return np.zeros(1), np.array([[0.0, -q, 0.0], [0.0, 1.0 - q, 0.0]])


class EpsilonInsensitive(Pieces):
    """``max(|y - y'| - epsilon, 0)``, the loss of support vector regression.

    Parameters
    ----------
    epsilon : float, default=0.1
    """

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        e = positive(self, "epsilon", self.epsilon, allow_zero=True)
        return np.array([-e, e]), np.array([[0.0, -1.0, -e], [0.0, 0.0, 0.0], [0.0, 1.0, -e]])


class Huber(Pieces):
    """``r**2 / 2`` up to `delta`, then a straight line: ``delta (|r| - delta / 2)``.

    Parameters
    ----------
    delta : float, default=1.0
    """

    def __init__(self, delta: float = 1.0):
        self.delta = delta

    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        d = positive(self, "delta", self.delta)
        rest = -0.5 * d * d
        return np.array([-d, d]), np.array([[0.0, -d, rest], [0.5, 0.0, 0.0], [0.0, d, rest]])


# ---- smooth, with a bounded second derivative ----


class Smooth(RealLoss):
    """A loss with a continuous slope whose own slope is bounded."""

    @property
    @abstractmethod
    def steepest(self) -> float:
        """Largest absolute second derivative."""

    @abstractmethod
    def slope(self, residual: np.ndarray) -> np.ndarray:
        """First derivative."""


class Cauchy(Smooth):
    """``log(1 + (r / scale)**2)``: far outliers hardly count.

    Parameters
    ----------
    scale : float, default=1.0

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.Cauchy(scale=2.0)([2.0], [0.0])
    array([0.69314718])
    """

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    @property
    def steepest(self) -> float:
        return 2.0 / positive(self, "scale", self.scale) ** 2

    def value(self, residual: np.ndarray) -> np.ndarray:
        return np.log1p((residual / self.scale) ** 2)

    def slope(self, residual: np.ndarray) -> np.ndarray:
        return 2.0 * residual / (self.scale**2 + residual**2)


class GemanMcClure(Smooth):
    """``r**2 / (scale**2 + r**2)``: bounded by one.

    Parameters
    ----------
    scale : float, default=1.0
    """

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    @property
    def steepest(self) -> float:
        return 2.0 / positive(self, "scale", self.scale) ** 2

    def value(self, residual: np.ndarray) -> np.ndarray:
        return residual**2 / (self.scale**2 + residual**2)

    def slope(self, residual: np.ndarray) -> np.ndarray:
        return 2.0 * residual * self.scale**2 / (self.scale**2 + residual**2) ** 2


class Fair(Smooth):
    """``scale**2 (|r| / scale - log(1 + |r| / scale))``.

    Parameters
    ----------
    scale : float, default=1.0
    """

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    @property
    def steepest(self) -> float:
        positive(self, "scale", self.scale)
        return 1.0

    def value(self, residual: np.ndarray) -> np.ndarray:
        ratio = np.abs(residual) / self.scale
        return self.scale**2 * (ratio - np.log1p(ratio))

    def slope(self, residual: np.ndarray) -> np.ndarray:
        return residual / (1.0 + np.abs(residual) / self.scale)


class L2L1(Smooth):
    """``2 (sqrt(1 + r**2 / 2) - 1)``: a square near zero, a distance far away."""

    steepest = 1.0

    def value(self, residual: np.ndarray) -> np.ndarray:
        return residual**2 / (1.0 + np.sqrt(1.0 + residual**2 / 2.0))

    def slope(self, residual: np.ndarray) -> np.ndarray:
        return residual / np.sqrt(1.0 + residual**2 / 2.0)


# ---- functions of truth * action ----


class Margin(OutputLoss):
    """A function of ``truth * action``: the truth is -1 or 1, the action any number."""

    embedding = (
        "truths are two, so psi(y') is an indicator and V its row of the loss as a function of y"
    )

    @abstractmethod
    def value(self, margin: np.ndarray) -> np.ndarray:
        """Loss at each margin."""

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        truths = numbers(outputs, name, (1,))
        refuse(np.abs(truths) != 1.0, truths, name, "a truth must be -1 or 1")
        return truths

    def check_actions(self, outputs: Any, name: str = "actions") -> np.ndarray:
        return numbers(outputs, name, (1,))

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        return self.value(actions * truths)


class LogisticLoss(Margin):
    """``log(1 + exp(-y y'))`` of an action y and a truth -1 or 1."""

    def value(self, margin: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -margin)


class HingeLoss(Margin):
    """``max(1 - y y', 0)`` of an action y and a truth -1 or 1."""

    def value(self, margin: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - margin, 0.0)
