"""Decoders of histograms."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from concordant.losses.histograms import Hellinger, HistogramLoss, KullbackLeibler
from concordant.outputs.base import Decoder, Options, distinct


class SphereMean(Decoder):
    """Squared Hellinger: ``sqrt y`` maximises ``<sqrt y, sum_i alpha_i sqrt y_i>``.

    It is the positive part of that sum, scaled to length one; if nothing is positive, all mass
    goes where the sum is largest.
    """

    def __init__(self, loss: Hellinger, truths: np.ndarray, options: Options):
        self.targets = np.sqrt(truths)

    def decode(self, sums: np.ndarray) -> np.ndarray:
        top = sums.max(axis=1, keepdims=True)
        positive = np.maximum(sums / np.where(top > 0.0, top, 1.0), 0.0) ** 2
        alone = np.zeros_like(sums)
        np.put_along_axis(alone, sums.argmax(axis=1)[:, None], 1.0, axis=1)
        out = np.where(top > 0.0, positive, alone)
        return out / out.sum(axis=1, keepdims=True)


class SphereMedians(Decoder):
    """Hellinger as a sum of absolute differences: medians, tied by a multiplier.

    ``z = sqrt y`` minimises a sum of weighted absolute differences on the unit sphere.
    """

    most_rows = 16
    exact = False
    guarantee = (
        "approximate: `bounded` gives a lower bound beside each answer, by the dual of one "
        "multiplier; the answer leaves minimisers of the relaxed problem in one entry at most"
    )
    ROUNDS = 50

    def __init__(self, loss: Hellinger, truths: np.ndarray, options: Options):
        roots, self.targets = distinct(truths)
        roots = np.sqrt(roots)
        n = len(roots)
        edges = np.broadcast_to([[0.0], [1.0]], (2, roots.shape[1]))
        order = np.argsort(roots, axis=0, kind="stable").T
        ends = np.full((roots.shape[1], 1), -1)
        self.order = np.ascontiguousarray(np.hstack([ends, order, ends]))
        sorted_ = np.take_along_axis(roots, order.T, axis=0)
        self.knots = np.ascontiguousarray(np.vstack([edges[:1], sorted_, edges[1:]]).T)
        assert self.knots.shape[1] == n + 2

    def decode(self, sums: np.ndarray) -> np.ndarray:
        return self.bounded(sums)[0]

    def bounded(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Answers, and for each row of sums a value that no histogram is below."""
        from concordant.kernels.univariate import medians_on_sphere

        sums = np.ascontiguousarray(sums)
        roots, bound = np.empty((len(sums), len(self.knots))), np.empty(len(sums))
        medians_on_sphere(sums, self.knots, self.order, self.ROUNDS, roots, bound)
        squares = roots**2
        return squares / squares.sum(axis=1, keepdims=True), bound


class FlooredMass(Decoder):
    """Kullback–Leibler: mass in proportion to positive sums, above the floor.

    ``-sum_j s_j log y_j`` over histograms with entries of at least the floor: an entry whose sum
    is not positive stays on the floor while another's is, and the rest is water-filling. If
    none is positive the objective is concave and all free mass goes to one entry, that with the
    sum nearest zero.
    """

    def __init__(self, loss: KullbackLeibler, truths: np.ndarray, options: Options):
        self.floor = loss.least(truths.shape[1])
        self.targets = truths

    def decode(self, sums: np.ndarray) -> np.ndarray:
        return np.stack([self._one(row) for row in sums])

    def _one(self, sums: np.ndarray) -> np.ndarray:
        out = np.full(len(sums), self.floor)
        order = np.argsort(-sums, kind="stable")
        top = sums[order]
        if top[0] <= 0.0:
            out[order[0]] += 1.0 - self.floor * len(sums)
            return out
        # The k largest share what the floors of the others leave, if all stay above the floor.
        count = np.arange(1, len(sums) + 1)
        mass = np.cumsum(np.maximum(top, 0.0))
        share = (1.0 - self.floor * (len(sums) - count)) / mass
        k = int(np.flatnonzero((top > 0.0) & (top * share >= self.floor)).max(initial=0)) + 1
        out[order[:k]] = top[:k] * share[k - 1]
        return out


class Descent(Decoder):
    """Projected gradient steps from the best training output and from a weighted mean.

    A subclass says in which coordinates: `_of` and `_back`, `_slope`, and the projection.
    """

    most_rows = 16
    exact = False
    guarantee = (
        "approximate without a bound: a point where descent ends, no worse than the best training "
        "output"
    )
    STEPS = 100

    def __init__(self, loss: HistogramLoss, truths: np.ndarray, options: Options):
        self.loss = loss
        self.truths, self.targets = distinct(truths)
        self.costs = loss.table(self.truths, self.truths).T

    @abstractmethod
    def _of(self, histograms: np.ndarray) -> np.ndarray:
        """Coordinates of histograms."""

    @abstractmethod
    def _project(self, point: np.ndarray) -> np.ndarray:
        """The nearest coordinates of a histogram."""

    @abstractmethod
    def _back(self, point: np.ndarray) -> np.ndarray:
        """The histogram at coordinates."""

    @abstractmethod
    def _slope(self, point: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Gradient of the weighted sum of losses in the coordinates."""

    def decode(self, sums: np.ndarray) -> np.ndarray:
        chosen = (sums @ self.costs).argmin(axis=1)
        means = self._of(self.truths).T @ sums.T
        return np.stack([self._best((self._of(self.truths[i]), self._project(mean)), w)
                         for i, mean, w in zip(chosen, means.T, sums)])  # fmt: skip

    def _best(self, starts: tuple[np.ndarray, ...], weights: np.ndarray) -> np.ndarray:
        found = [self._descend(start, weights) for start in starts]
        return self._back(min(found, key=lambda pair: pair[0])[1])

    def _sum(self, point: np.ndarray, weights: np.ndarray) -> float:
        actions = np.broadcast_to(self._back(point), self.truths.shape)
        return float(self.loss.pairs(actions, self.truths) @ weights)

    def _descend(self, now: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
        lowest = self._sum(now, weights)
        size = float(np.abs(weights).sum())
        step = 1.0 / size if size > 0.0 else 1.0
        for _ in range(self.STEPS):
            slope = self._slope(now, weights)
            while True:
                there = self._project(now - step * slope)
                value = self._sum(there, weights)
                if value <= lowest - 1e-4 / step * float(((there - now) ** 2).sum()):
                    break
                step *= 0.5
                if step * size < 1e-10:
                    return lowest, now
            gain, now, lowest = lowest - value, there, value
            if gain <= 1e-12 * size:
                break
            step *= 2.0
        return lowest, now


class SphereDescent(Descent):
    """The root of squared Hellinger: descent over ``sqrt y`` on the unit sphere."""

    def _of(self, histograms: np.ndarray) -> np.ndarray:
        return np.sqrt(histograms)

    def _project(self, point: np.ndarray) -> np.ndarray:
        inside = np.maximum(point, 0.0)
        size = float(np.linalg.norm(inside))
        if size == 0.0:
            inside[int(point.argmax())] = size = 1.0
        return inside / size

    def _back(self, point: np.ndarray) -> np.ndarray:
        return point**2 / float((point**2).sum())

    def _slope(self, point: np.ndarray, weights: np.ndarray) -> np.ndarray:
        away = point - np.sqrt(self.truths)
        size = np.linalg.norm(away, axis=1)
        return (weights / np.where(size > 0.0, size, np.inf)) @ away


class SimplexDescent(Descent):
    """Chi-squared: descent over y itself."""

    def _of(self, histograms: np.ndarray) -> np.ndarray:
        return histograms

    def _project(self, point: np.ndarray) -> np.ndarray:
        """Euclidean projection on the simplex."""
        falling = np.sort(point)[::-1]
        shift = (np.cumsum(falling) - 1.0) / np.arange(1, len(point) + 1)
        return np.maximum(point - shift[np.flatnonzero(falling > shift)[-1]], 0.0)

    def _back(self, point: np.ndarray) -> np.ndarray:
        return point / float(point.sum())

    def _slope(self, point: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """``d/dy (y - a)**2 / (y + a) = 1 - 4 a**2 / (y + a)**2``."""
        total = point + self.truths
        share = self.truths / np.where(total > 0.0, total, 1.0)
        return weights @ (1.0 - 4.0 * share**2)
