"""Blocks of routes whose scores are answers to questions of their own, not scores of labels.

Nothing is subtracted for the truth: ``value = max over mu of <f, mu> + bonus(mu)``, and the
gradient is mu itself.
"""

from __future__ import annotations

from concordant.oracles.blocks import kernel
from concordant.oracles.simplex import project


@kernel
def separate_block(scores, target, weight, params, costs, strength, centre, work, mu):
    """``sum_j p_j [a_j - f_j]_+ + q_j [b_j + f_j]_+`` with ``-b_j <= a_j`` where both count.

    `costs` holds the tables p, q, a, b of the truth above each other; `weight` multiplies the
    margins a and b. ``-p_j <= mu_j <= q_j``, each on its own.
    """
    m = scores.shape[0]
    value, bonus = 0.0, 0.0
    for j in range(m):
        f = scores[j]
        p, q = costs[j, target], costs[m + j, target]
        a, b = weight * costs[2 * m + j, target], weight * costs[3 * m + j, target]
        value += p * max(a - f, 0.0) + q * max(b + f, 0.0)
        if strength == 0.0:
            r = q * (b + f > 0.0) - p * (a - f > 0.0)
        else:
            at_b, at_a = centre[j] + (f + b) / strength, centre[j] + (f - a) / strength
            if p == 0.0:
                r = min(max(at_b, 0.0), q)
            elif q == 0.0:
                r = min(max(at_a, -p), 0.0)
            elif at_b <= q - p:
                r = max(at_b, -p)
            else:
                r = min(max(at_a, q - p), q)
        mu[j] = r
        left = q - r if r >= q - p else p
        bonus += a * left + b * (left + r)
    return value, bonus


@kernel
def encoded_block(scores, target, weight, params, costs, strength, centre, work, mu):
    """``[weight - min_j B_j f_j]_+`` for the truth's code B in {-1, 1}; ``mu = -B d`` with d >= 0
    and ``sum d <= 1``."""
    m = scores.shape[0]
    d = work[:m]
    least, total = 0, 0.0
    for j in range(m):
        if costs[j, target] * scores[j] < costs[least, target] * scores[least]:
            least = j
    value = max(weight - costs[least, target] * scores[least], 0.0)
    if strength == 0.0:
        d[:] = 0.0
        d[least] = 1.0 if value > 0.0 else 0.0
    else:
        for j in range(m):
            sign = costs[j, target]
            d[j] = -sign * centre[j] + (weight - sign * scores[j]) / strength
            total += max(d[j], 0.0)
        if total > 1.0:
            project(d, d)
    bonus = 0.0
    for j in range(m):
        d[j] = max(d[j], 0.0)
        mu[j] = -costs[j, target] * d[j]
        bonus += weight * d[j]
    return value, bonus
