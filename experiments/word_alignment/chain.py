"""A linear chain CRF of alignments (Blunsom and Cohn 2006): each English word chooses a French
one or none, whatever the others take; neighbours care about the width of the jump."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from scipy.optimize import minimize

from experiments.word_alignment.data import Pair

#: Jumps from one word's partner to the next one's, cut off here, and to or from no partner.
REACH = 4
JUMPS = 2 * REACH + 1 + 3


@njit(cache=True)
def _jump(i, j, m):
    if i == m or j == m:
        return JUMPS - 1 if i == m and j == m else (JUMPS - 2 if j == m else JUMPS - 3)
    return min(max(j - i, -REACH), REACH) + REACH


@njit(cache=True)
def forward_backward(node, jumps, mu, counts):
    """Log-partition; writes node marginals and adds expected jumps to `counts`."""
    n, k = node.shape
    step = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            step[i, j] = np.exp(jumps[_jump(i, j, k - 1)])
    here, ahead, behind, size = np.empty((n, k)), np.empty((n, k)), np.ones((n, k)), 0.0
    for t in range(n):
        top = node[t].max()
        here[t] = np.exp(node[t] - top)
        ahead[t] = here[t] * (ahead[t - 1] @ step) if t else here[t]
        total = ahead[t].sum()
        ahead[t] /= total
        size += top + np.log(total)
    for t in range(n - 2, -1, -1):
        behind[t] = step @ (here[t + 1] * behind[t + 1])
        behind[t] /= behind[t].max()
    for t in range(n):
        mu[t] = ahead[t] * behind[t]
        mu[t] /= mu[t].sum()
    for t in range(n - 1):
        pair = np.outer(ahead[t], here[t + 1] * behind[t + 1]) * step
        pair /= pair.sum()
        for i in range(k):
            for j in range(k):
                counts[_jump(i, j, k - 1)] += pair[i, j]
    return size


class ChainCrf:
    """``½|W|² + C sum log-loss``, by L-BFGS; predicts the most probable partner of each word."""

    def __init__(self, C: float):
        self.C = C

    def fit(self, pairs: list[Pair]) -> ChainCrf:
        d = pairs[0].features.shape[2]
        start = np.zeros(d + 1 + JUMPS)
        self.weights = minimize(
            self._objective, start, args=(pairs, d), jac=True, method="L-BFGS-B",
            options={"maxiter": 200},
        ).x  # fmt: skip
        return self

    def _nodes(self, weights: np.ndarray, pair: Pair) -> np.ndarray:
        n, m, d = pair.features.shape
        node = np.full((n, m + 1), weights[d])
        node[:, :m] = pair.features @ weights[:d]
        return node

    def _objective(self, weights: np.ndarray, pairs: list[Pair], d: int) -> tuple[float, Any]:
        value, gradient = 0.5 * weights @ weights, weights.copy()
        jumps = weights[d + 1 :]
        for pair in pairs:
            node, m = self._nodes(weights, pair), pair.features.shape[1]
            mu, counts = np.empty_like(node), np.zeros(JUMPS)
            partition = forward_backward(node, jumps, mu, counts)
            truth = np.where(pair.answer < 0, m, pair.answer)
            rows = np.arange(len(truth))
            score = node[rows, truth].sum()
            mu[rows, truth] -= 1.0
            for i, j in pairwise(truth):
                score += jumps[_jump(i, j, m)]
                counts[_jump(i, j, m)] -= 1.0
            value += self.C * (partition - score)
            gradient[:d] += self.C * np.einsum("ij,ijd->d", mu[:, :m], pair.features)
            gradient[d] += self.C * mu[:, m].sum()
            gradient[d + 1 :] += self.C * counts
        return value, gradient

    def predict(self, pairs: list[Pair]) -> list[np.ndarray]:
        out = []
        for pair in pairs:
            node = self._nodes(self.weights, pair)
            mu = np.empty_like(node)
            forward_backward(node, self.weights[-JUMPS:], mu, np.zeros(JUMPS))
            best = mu.argmax(axis=1)
            out.append(np.where(best == node.shape[1] - 1, -1, best))
        return out
