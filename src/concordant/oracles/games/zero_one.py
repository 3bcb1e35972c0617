"""The game under ``L_ij = c [i != j]``.

Every column asks ``p_j >= 1 + (f_j - v)/c`` of the predictor, so its equilibrium is the
sparsemax of ``f/c`` (Martins and Astudillo 2016) and the value is ``v = c + t`` where
``sum_j (f_j - t)_+ = c``, the least v for which these demands add up to one. The adversary is
uniform on ``f_j > t``. The value is Theorem 2.2 of Fathony's thesis.
"""

from __future__ import annotations

import numpy as np

from concordant.oracles.blocks import kernel
from concordant.oracles.simplex import excess, largest, lower, project, smoothed_scores, threshold


def recognise(costs):
    k = costs.shape[1]
    if costs.shape[0] != k:
        return None
    cost = costs[0, 1] if k > 1 else 1.0
    return (cost,) if cost > 0 and np.array_equal(costs, cost * (1 - np.eye(k))) else None


def scratch(n_actions, n_classes):
    return 2 * n_classes


@kernel
def play(scores, params, costs, work, p, q):
    x = work[: scores.shape[0]]
    top = lower(scores, x)
    return top + solve(x, params[0], p, q)


@kernel
def solve(scores, cost, p, q):
    if cost == 0.0:  # a weightless example: the game is plain argmax
        return greedy(scores, p, q)
    t = threshold(scores, cost)
    total, number = 0.0, 0
    for j in range(scores.shape[0]):
        excess = scores[j] - t
        p[j] = max(excess, 0.0)
        total += p[j]
        number += excess > 0.0
    share = 1.0 / number
    for j in range(scores.shape[0]):
        p[j] /= total
        q[j] = share if scores[j] > t else 0.0
    return t + cost


@kernel
def adversary(scores, cost, q):
    """The adversary's side alone: value, and bonus ``cost (1 - 1/m)`` on a support of m."""
    if cost == 0.0:
        return greedy(scores, q, q), 0.0
    t = threshold(scores, cost)
    number = excess(scores, t)[1]
    share = 1.0 / number
    for j in range(scores.shape[0]):
        q[j] = share if scores[j] > t else 0.0
    return t + cost, cost * (1.0 - share)


@kernel
def greedy(scores, p, q):
    best = 0
    for j in range(scores.shape[0]):
        p[j] = 0.0
        q[j] = 0.0
        if scores[j] > scores[best]:
            best = j
    p[best] = 1.0
    q[best] = 1.0
    return scores[best]


@kernel
def cap(x, cost, strength):
    """The a at which the predictor's strategy ``strength/cost (x - a)_+`` sums to one."""
    return threshold(x, cost / strength)


@kernel
def block(scores, target, weight, params, costs, strength, centre, work, mu):
    k = scores.shape[0]
    cost = weight * params[0]
    x = work[:k]
    if strength == 0.0:
        top = lower(scores, x)
        value, bonus = adversary(x, cost, mu)
        return top + value, bonus
    # Every row of the game is a cap on q: q = projection of min(x, a), where a is the
    # threshold at which the caps' multipliers p sum to one.
    smoothed_scores(scores, strength, centre, x)
    if cost > 0.0:
        a = cap(x, cost, strength)
        upper = scores[0]
        for j in range(k):
            p_j = max(x[j] - a, 0.0) * strength
            upper = max(upper, scores[j] - p_j) if j else scores[0] - p_j
            x[j] = min(x[j], a)
        upper += cost
    else:
        upper = largest(scores)
    project(x, mu)
    return upper, cost * (1.0 - largest(mu))
