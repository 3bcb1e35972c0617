"""The game under ``L_ij = c_j [i != j]``: a wrong answer costs what the truth is worth.

The value v solves ``sum_j (1 - (v - f_j)/c_j)_+ = 1``, whose terms are the predictor's
strategy; the adversary is proportional to ``1/c_j`` on its support.
"""

from __future__ import annotations

import numpy as np

from concordant.oracles.blocks import kernel
from concordant.oracles.games import matrix
from concordant.oracles.games.zero_one import greedy
from concordant.oracles.simplex import dot, largest, lower


def recognise(costs):
    k = costs.shape[1]
    if costs.shape[0] != k or k == 1:
        return None
    each = costs.max(axis=0)
    return each if each.min() > 0 and np.array_equal(costs, each * (1 - np.eye(k))) else None


scratch = matrix.scratch


@kernel
def play(scores, params, costs, work, p, q):
    return solve(scores, params, 1.0, p, q)


@kernel
def solve(scores, each, weight, p, q):
    if weight == 0.0:
        return greedy(scores, p, q)
    top = largest(scores)
    v, count = (
        0.0,
        scores.shape[0] + 1,
    )  # relative to `top`; Newton's method from the left of the root
    while True:
        mass, rate, number = 0.0, 0.0, 0
        for j in range(scores.shape[0]):
            price = weight * each[j]
            part = 1.0 + ((scores[j] - top) - v) / price
            if part > 0.0:
                mass += part
                rate += 1.0 / price
                number += 1
        if number >= count or mass <= 1.0:
            break
        count = number
        v += (mass - 1.0) / rate
    for j in range(scores.shape[0]):
        price = weight * each[j]
        p[j] = max(1.0 + ((scores[j] - top) - v) / price, 0.0)
        q[j] = 1.0 / (price * rate) if p[j] > 0.0 else 0.0
    total, total_q = 0.0, 0.0
    for j in range(scores.shape[0]):
        total += p[j]
        total_q += q[j]
    for j in range(scores.shape[0]):
        p[j] /= total
        q[j] /= total_q
    return top + v


@kernel
def block(scores, target, weight, params, costs, strength, centre, work, mu):
    if strength == 0.0:
        x = work[: scores.shape[0]]
        top = lower(scores, x)
        value = solve(x, params, weight, work[x.shape[0] : 2 * x.shape[0]], mu)
        return top + value, value - dot(x, mu)
    return matrix.prox(scores, weight, costs, strength, centre, work, mu)
