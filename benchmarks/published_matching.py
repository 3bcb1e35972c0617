"""The published training of adversarial matchings, written anew and compiled, as a peer.

Spectral projected gradient on the adversary's marginals Q of all examples (thesis, section
4.3.2; the authors' code uses it in place of projected quasi-Newton), every projection on the
doubly stochastic matrices by ADMM between the rows' and the columns' simplices.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def _simplex(values, out):
    falling = np.sort(values)[::-1]
    total, t = 0.0, 0.0
    for k in range(len(values)):
        total += falling[k]
        level = (total - 1.0) / (k + 1)
        if falling[k] <= level:
            break
        t = level
    for k in range(len(values)):
        out[k] = max(values[k] - t, 0.0)


@njit(cache=True)
def admm(x, absolute, relative, most):
    """Projection of `x` by the updates (4.21)-(4.23), penalty adapted and stopped after Boyd et
    al. (2011); the scaled multipliers move with the penalty."""
    n = len(x)
    p, s, w = np.zeros((n, n)), np.full((n, n), 1.0 / n), np.zeros((n, n))
    line, rho = np.empty(n), 1.0
    for _ in range(most):
        target = (x + rho * (s - w)) / (1.0 + rho)
        for i in range(n):
            _simplex(target[i], p[i])
        old = s.copy()
        target = (x + rho * (p + w)) / (1.0 + rho)
        for j in range(n):
            _simplex(target[:, j].copy(), line)
            s[:, j] = line
        w += p - s
        primal = np.sqrt(((p - s) ** 2).sum())
        dual = rho * np.sqrt(((s - old) ** 2).sum())
        size = max(np.sqrt((p**2).sum()), np.sqrt((s**2).sum()))
        enough = n * absolute + relative * size
        if primal <= enough and dual <= n * absolute + relative * rho * np.sqrt((w**2).sum()):
            break
        if primal > 10.0 * dual:
            rho *= 2.0
            w /= 2.0
        elif dual > 10.0 * primal:
            rho /= 2.0
            w *= 2.0
    return s


@njit(cache=True)
def admm_all(x, absolute, relative, most):
    out = np.empty_like(x)
    for e in range(len(x)):
        out[e] = admm(x[e], absolute, relative, most)
    return out


class ProjectedGradient:
    """``max_Q`` of equation (4.11) by spectral projected gradient (Birgin et al. 2000).

    `absolute` and `relative` stop the projections; the published code has 1e-4 and 1e-2.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, lam: float, mu: float, relative: float):
        self.x, self.lam, self.mu = x, lam, mu  # (m, n, n, d)
        self.y = np.eye(y.shape[1])[y]
        self.stop = (1e-4 if relative >= 1e-2 else relative, relative, 2000)

    def project(self, q: np.ndarray) -> np.ndarray:
        return admm_all(q, *self.stop)

    def theta(self, q: np.ndarray) -> np.ndarray:
        m = len(q)
        return -np.tensordot(q - self.y, self.x, 3) / (self.lam * m)

    def evaluate(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the dual at Q, and its gradient."""
        m = len(q)
        theta, p = self.theta(q), self.project(q / self.mu)
        inner = (-p * q + self.mu / 2 * (p**2 - q**2)).sum() / m
        value = inner - self.lam / 2 * theta @ theta
        gradient = (self.x @ theta - p - self.mu * q) / m
        return -value, -gradient

    def run(self, seconds: float) -> list[tuple[float, np.ndarray]]:
        """Weights met, each with the CPU seconds until then."""
        start, met = time.process_time(), []
        q = np.full(self.y.shape, 1.0 / self.y.shape[1])
        value, gradient = self.evaluate(q)
        step, last = 1.0 / np.abs(gradient).max(), [value]
        while time.process_time() - start < seconds:
            met.append((time.process_time() - start, self.theta(q)))
            move = self.project(q - step * gradient) - q
            slope = float((move * gradient).sum())
            if slope > -1e-14:
                break
            length = 1.0
            while True:
                trial = q + length * move
                new, new_gradient = self.evaluate(trial)
                if new <= max(last[-10:]) + 1e-4 * length * slope or length < 1e-4:
                    break
                length /= 2.0
            change, turn = trial - q, new_gradient - gradient
            bend = float((change * turn).sum())
            step = float((change**2).sum()) / bend if bend > 0.0 else 1e10
            step = min(max(step, 1e-10), 1e10)
            q, value, gradient = trial, new, new_gradient
            last.append(value)
        met.append((time.process_time() - start, self.theta(q)))
        return met


def osqp_projection(x: np.ndarray, tolerance: float) -> Any:
    """A loaded OSQP model of the projection, and a function that solves it for other x."""
    import osqp
    import scipy.sparse as sp

    n = len(x)
    rows = sp.kron(sp.eye(n), np.ones((1, n)))
    columns = sp.kron(np.ones((1, n)), sp.eye(n))
    a = sp.vstack([rows, columns, sp.eye(n * n)]).tocsc()
    low = np.r_[np.ones(2 * n), np.zeros(n * n)]
    high = np.r_[np.ones(2 * n), np.full(n * n, np.inf)]
    model = osqp.OSQP()
    model.setup(
        sp.eye(n * n).tocsc(), -x.ravel(), a, low, high, verbose=False, eps_abs=tolerance,
        eps_rel=tolerance, max_iter=100_000, polishing=False,
    )  # fmt: skip

    def solve(other: np.ndarray) -> np.ndarray:
        model.update(q=-other.ravel())
        model.warm_start(x=np.full(n * n, 1.0 / n), y=np.zeros(len(low)))
        return model.solve().x.reshape(n, n)

    return solve
