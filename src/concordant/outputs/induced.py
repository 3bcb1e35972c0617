"""Decoders of losses that a kernel induces: ``A k(y, y) - 2 sum_i alpha_i k(y, y_i)``.

A is the sum of the weights. Kernel dependency estimation decodes with 1 in its place: `total`
chooses. That is the same where ``k(y, y)`` is constant. Elsewhere the answers differ as far as the
weights do not sum to one, which they do in the limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from concordant.losses.induced import Diffusion, KernelInduced
from concordant.outputs.base import Decoder, Options, distinct
from concordant.outputs.candidates import training_actions


class PreImage(Decoder):
    """The best candidate; for the Gaussian kernel then fixed-point steps that improve on it."""

    total: str = "weights"
    STEPS = 100

    def __init__(self, loss: KernelInduced, truths: np.ndarray, options: Options):
        self.loss = loss
        self.truths, rows = distinct(truths)
        self.targets = sp.hstack([rows, np.ones((len(truths), 1))], format="csr")
        given = isinstance(options.candidates, str) and options.candidates == "training"
        self.actions = (
            training_actions(loss, self.truths)
            if given
            else loss.check_actions(options.candidates, "candidates")
        )
        self.own = loss.diagonal(self.actions)
        self.cross = loss.gram(self.truths, self.actions)
        self.exact = not (loss.kernel == "rbf" and given)
        self.guarantee = (
            "exact among the candidates"
            if self.exact
            else "approximate without a bound: no worse than the best training output, and a "
            "fixed point of the mean-shift step or as far as it went down"
        )

    def decode(self, sums: np.ndarray) -> np.ndarray:
        weights = sums[:, :-1]
        total = sums[:, -1:] if self.total == "weights" else 1.0
        values = total * self.own - 2.0 * (weights @ self.cross)
        start = self.actions[values.argmin(axis=1)]
        return start if self.exact else self._refine(start.astype(float), weights)

    def _refine(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Mean shift, ``y = sum_i w_i y_i / sum_i w_i`` with ``w_i = alpha_i k(y, y_i)``.

        Under weights of both signs the step can go up or blow up: it is halved until it goes
        down, and rows that no longer do are at rest.
        """
        y = y.copy()
        active = np.arange(len(y))
        for _ in range(self.STEPS):
            here = weights[active] * self.loss.gram(y[active], self.truths)
            total = here.sum(axis=1)
            ascent = here @ self.truths - total[:, None] * y[active]
            scale = np.maximum(np.abs(total), 0.1 * np.abs(here).sum(axis=1))
            step = ascent / np.where(scale > 0.0, scale, 1.0)[:, None]
            gain = self._halved(y, active, weights, step, total)
            active = active[gain > 1e-10 * (1.0 + np.abs(total))]
            if len(active) == 0:
                break
        return y

    def _halved(
        self,
        y: np.ndarray,
        rows: np.ndarray,
        weights: np.ndarray,
        step: np.ndarray,
        before: np.ndarray,
    ) -> np.ndarray:
        """Move the rows by their steps, halved where needed; returns what each gained."""
        gain = np.zeros(len(rows))
        waiting = np.arange(len(rows))
        for _ in range(8):
            there = y[rows[waiting]] + step[waiting]
            after = (weights[rows[waiting]] * self.loss.gram(there, self.truths)).sum(axis=1)
            better = after > before[waiting]
            done = waiting[better]
            y[rows[done]], gain[done] = there[better], after[better] - before[done]
            waiting = waiting[~better]
            if len(waiting) == 0:
                break
            step[waiting] *= 0.5
        return gain


class UnweightedPreImage(PreImage):
    """Kernel dependency estimation's own rule, ``k(y, y) - 2 sum_i alpha_i k(y, y_i)``."""

    total = "one"


class Circle(Decoder):
    """Angles: a trigonometric polynomial, whose stationary points are roots of a polynomial."""

    guarantee = "exact up to the rounding of polynomial roots"

    def __init__(self, loss: Diffusion, truths: np.ndarray, options: Options):
        self.spectrum = loss.spectrum()[1:]
        waves = np.multiply.outer(truths, np.arange(1, len(self.spectrum) + 1))
        self.targets = np.hstack([np.cos(waves), np.sin(waves)])

    def decode(self, sums: np.ndarray) -> np.ndarray:
        count = len(self.spectrum)
        # heat(y) = Re sum_m c_m exp(i m y), to be maximised
        c = self.spectrum * (sums[:, :count] - 1j * sums[:, count:])
        return np.array([self._one(row) for row in c])

    def _one(self, c: np.ndarray) -> float:
        used = np.flatnonzero(np.abs(c) > 1e-15 * np.abs(c).max(initial=0.0))
        if len(used) == 0:
            return 0.0
        c = c[: used[-1] + 1]
        m = np.arange(1, len(c) + 1)
        slope = 1j * m * c
        roots = np.roots(np.concatenate([slope[::-1], [0.0], slope.conj()]))
        grid = 2.0 * np.pi * np.arange(4 * len(c)) / (4 * len(c))
        angles = np.concatenate([np.angle(roots), grid])
        values = np.real(np.exp(1j * np.multiply.outer(angles, m)) @ c)
        return float(np.mod(angles[values.argmax()], 2.0 * np.pi))


class Sphere(Decoder):
    """Points of the sphere: a grid, then gradient steps from its best points."""

    exact = False
    GRID = 2000
    STARTS = 4
    STEPS = 60

    def __init__(self, loss: Diffusion, truths: np.ndarray, options: Options):
        self.spectrum = loss.spectrum()
        self.truths, self.targets = distinct(truths)
        self.grid = np.vstack([fibonacci(self.GRID), self.truths])
        self.heat = loss.heat(self.truths, self.grid)
        steepest = float(np.abs(self.spectrum * _slopes_at_one(len(self.spectrum))).sum())
        self.guarantee = (
            f"approximate, from a grid of {self.GRID} points and refined: within "
            f"{2.0 * steepest * COVER / np.sqrt(self.GRID):.3g} sum |alpha|"
        )

    def decode(self, sums: np.ndarray) -> np.ndarray:
        values = sums @ self.heat
        starts = np.argpartition(-values, self.STARTS, axis=1)[:, : self.STARTS]
        found = [self._climb(self.grid[starts[:, k]], sums) for k in range(self.STARTS)]
        best = np.argmax([value for _, value in found], axis=0)
        return np.stack([found[k][0][i] for i, k in enumerate(best)])

    def _climb(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        legendre = np.polynomial.legendre
        slope = legendre.legder(self.spectrum)
        value = (weights * legendre.legval(y @ self.truths.T, self.spectrum)).sum(axis=1)
        scale = np.abs(weights).sum(axis=1) * float(np.abs(slope).sum()) + 1e-300
        step = 1.0 / scale
        for _ in range(self.STEPS):
            ascent = (weights * legendre.legval(y @ self.truths.T, slope)) @ self.truths
            there = y + step[:, None] * ascent
            there /= np.linalg.norm(there, axis=1, keepdims=True)
            after = (weights * legendre.legval(there @ self.truths.T, self.spectrum)).sum(axis=1)
            better = after > value
            y = np.where(better[:, None], there, y)
            value = np.where(better, after, value)
            step = np.where(better, 2.0 * step, 0.25 * step)
        return y, value


#: No point of the sphere is farther from the nearest of N Fibonacci points than this over sqrt N
#: (measured 2.6 at most for N from 500 to 4,000; the tests look again).
COVER = 3.0


def fibonacci(count: int) -> np.ndarray:
    """Points spread evenly over the sphere."""
    k = np.arange(count) + 0.5
    height = 1.0 - 2.0 * k / count
    angle = np.pi * (1.0 + np.sqrt(5.0)) * k
    ring = np.sqrt(1.0 - height**2)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), height])


def _slopes_at_one(count: int) -> np.ndarray:
    """``P_l'(1) = l (l + 1) / 2``, the largest slope of each Legendre polynomial."""
    l = np.arange(count)
    return l * (l + 1) / 2.0


def diffusion(loss: Diffusion, truths: np.ndarray, options: Options) -> Any:
    """The decoder of each space."""
    if loss.on() == "graph":
        from concordant.outputs.candidates import Candidates

        nodes = np.arange(len(loss.adjacency()))
        return Candidates(loss, truths, options._replace(candidates=nodes))
    return {"circle": Circle, "sphere": Sphere}[loss.on()](loss, truths, options)
