"""The game under 0-1 loss with the action "abstain" at price alpha, for every alpha.

With ``m = ceil(1/(1-alpha))``, f_(m) the m-th largest score and t the larger of f_(m) and the
sparsemax threshold, the value is ``t + alpha + (1-alpha) S`` with ``S = sum_j (f_j - t)_+``;
``p_j = (f_j - t)_+`` and the rest abstains. The adversary is uniform where the sparsemax
threshold is the larger, else it puts ``1-alpha`` on each of the m-1 largest and the rest on
the m-th. For alpha <= 1/2 this is Theorem 2.7 of Fathony's thesis, whose pair formula does
not extend further.
"""

from __future__ import annotations

import numpy as np

from concordant.oracles.blocks import inlined, kernel, reduction
from concordant.oracles.games.zero_one import cap, greedy
from concordant.oracles.simplex import (
    clip_into,
    clip_root,
    dot,
    largest,
    lower,
    project,
    smoothed_scores,
    threshold,
)


def recognise(costs):
    k = costs.shape[1]
    if costs.shape[0] != k + 1 or k == 1:
        return None
    cost = costs[0, 1]
    same = cost > 0 and np.array_equal(costs[:k], cost * (1 - np.eye(k)))
    flat = np.ptp(costs[k]) == 0 and 0 < costs[k, 0]
    return (cost, costs[k, 0] / cost) if same and flat else None


def scratch(n_actions, n_classes):
    return 3 * n_classes + 1


@kernel
def play(scores, params, costs, work, p, q):
    k = scores.shape[0]
    x = work[:k]
    top = lower(scores, x)
    return top + solve(x, params[0], params[1], work[k:], p, q)


@kernel
def solve(scores, cost, alpha, work, p, q):
    k = scores.shape[0]
    if cost == 0.0:
        p[k] = 0.0
        return greedy(scores, p[:k], q)
    if alpha <= 0.5:
        return solve_pair(scores, cost, alpha, p, q)
    t = threshold(scores, cost)
    level = t
    m = k + 1
    if alpha < 1.0:
        m = int(min(np.ceil(1.0 / (1.0 - alpha)), k + 1))
    if m <= k:
        work[:k] = scores
        ordered = work[:k]
        ordered.sort()
        level = ordered[k - m]
    if level <= t:
        level, m = t, k + 1
    total, support = 0.0, 0
    for j in range(k):
        excess = scores[j] - level
        p[j] = max(excess, 0.0) / cost
        total += p[j]
        support += excess > 0.0
    p[k] = max(1.0 - total, 0.0)
    if m > k:
        p[k] = 0.0
        share = 1.0 / support
        for j in range(k):
            p[j] /= total
            q[j] = share if scores[j] > t else 0.0
        return t + cost
    spread_over_top(scores, level, m, alpha, q)
    return level + cost * (alpha + (1.0 - alpha) * total)


@kernel
def spread_over_top(scores, level, m, alpha, q):
    """``1-alpha`` on the m-1 largest scores, the rest on one equal to `level`.

    Scores tied at `level` are taken in order until the mass is used up.
    """
    left = 1.0
    for j in range(scores.shape[0]):
        q[j] = 0.0
        if scores[j] > level:
            q[j] = 1.0 - alpha
            left -= q[j]
    for j in range(scores.shape[0]):
        if scores[j] == level and left > 0.0:
            q[j] = min(1.0 - alpha, left)
            left -= q[j]


@kernel
def solve_pair(scores, cost, alpha, p, q):
    """alpha <= 1/2: only the two largest scores matter."""
    value, _, lead = pair_adversary(scores, cost, alpha, q)
    top, best = largest(scores), 0
    while scores[best] != top:
        best += 1
    p[:] = 0.0
    p[best] = lead
    p[-1] = 1.0 - lead
    return value


@inlined
def pair_adversary(scores, cost, alpha, q):
    """Value, bonus, and how much of p the leading label gets."""
    first, second = top_two(scores)
    lead = (first - second) / cost
    pure = lead >= 1.0
    share = 1.0 if pure else 1.0 - alpha
    rest = 0.0 if pure else alpha
    if mark(scores, first, share, second, rest, q) > 1.0:
        break_ties(scores, first, share, second, rest, q)
    if pure:
        return first, 0.0, 1.0
    return first + alpha * (cost - (first - second)), alpha * cost, lead


# Passes over the labels without branches or positions, so that they use vector registers.


@kernel
def top_two(x):
    """The two largest entries (equal if the largest is there twice).

    Four lanes, each with its own two largest: a single chain of comparisons would wait for
    each one's result before the next.
    """
    low = -np.inf
    a0, a1, a2, a3 = low, low, low, low
    b0, b1, b2, b3 = low, low, low, low
    whole = x.shape[0] - x.shape[0] % 4
    for j in range(0, whole, 4):
        a0, b0 = insert(x[j], a0, b0)
        a1, b1 = insert(x[j + 1], a1, b1)
        a2, b2 = insert(x[j + 2], a2, b2)
        a3, b3 = insert(x[j + 3], a3, b3)
    for j in range(whole, x.shape[0]):
        a0, b0 = insert(x[j], a0, b0)
    a0, b0 = max(a0, a1), max(max(b0, b1), min(a0, a1))
    a2, b2 = max(a2, a3), max(max(b2, b3), min(a2, a3))
    return max(a0, a2), max(max(b0, b2), min(a0, a2))


@inlined
def insert(value, first, second):
    """The two largest of three numbers, the last two being in order."""
    return max(first, value), max(second, min(first, value))


@reduction
def mark(x, first, share, second, rest, out):
    """Write `share` where x is `first`, `rest` where it is `second`; count the latter."""
    number = 0.0
    for j in range(x.shape[0]):
        out[j] = share if x[j] == first else (rest if x[j] == second else 0.0)
        number += 1.0 if x[j] == second else 0.0
    return number


@kernel
def break_ties(x, first, share, second, rest, out):
    """The same with `share` and `rest` on the first places only."""
    leader = -1
    for j in range(x.shape[0]):
        out[j] = 0.0
        if x[j] == first and leader < 0:
            out[j] = share
            leader = j
        elif x[j] == second and rest > 0.0:
            out[j] = rest
            rest = 0.0


@kernel
def block(scores, target, weight, params, costs, strength, centre, work, mu):
    cost, alpha = weight * params[0], params[1]
    if strength == 0.0 and alpha <= 0.5 and cost > 0.0:
        value, bonus, _ = pair_adversary(scores, cost, alpha, mu)
        return value, bonus
    return rare_block(scores, cost, alpha, strength, centre, work, mu)


@kernel
def rare_block(scores, cost, alpha, strength, centre, work, mu):
    """High prices and proximal questions, apart so that `block` keeps its registers."""
    k = scores.shape[0]
    if strength == 0.0:
        x = work[:k]
        top = lower(scores, x)
        value = solve(x, cost, alpha, work[k : 2 * k], work[2 * k : 3 * k + 1], mu)
        return top + value, value - dot(x, mu)
    x = work[:k]
    smoothed_scores(scores, strength, centre, x)
    if cost == 0.0:
        project(x, mu)
        return largest(scores), 0.0
    # Bonus = cost (1 - max(max q, 1 - alpha)): caps on q as under 0-1, but never below 1 - alpha.
    capped = work[k : 2 * k]
    a = cap(x, cost, strength)
    for j in range(k):
        capped[j] = min(x[j], a)
    project(capped, mu)
    if largest(mu) < 1.0 - alpha:
        for j in range(k):
            capped[j] = 1.0 - alpha
        u = clip_root(x, capped, 0.0, 1.0)
        clip_into(x, capped, u, mu)
        a = u + 1.0 - alpha
    total, upper = 0.0, -np.inf
    for j in range(k):
        total += max(x[j] - a, 0.0) * strength
    total = min(total, cost)
    for j in range(k):
        upper = max(upper, scores[j] - min(max(x[j] - a, 0.0) * strength, cost))
    upper += total + alpha * (cost - total)
    return upper, cost * (1.0 - max(largest(mu), 1.0 - alpha))
