"""Pairwise surrogates of graded items under linear scores, over the graded items only.

Row i of the data grades ``items[offsets[i]:offsets[i + 1]]``; its scores are ``w[item] . x_i``.
A pair with ``g_a > g_b`` costs ``price_i`` times, with ``s`` the difference of its scores and
``d`` that of its grades,

    hinge     d max(1 - s, 0)
    logistic  d log(1 + exp(-s))
    struct    max(d - s, 0)

Each is the maximum over a multiplier m in [0, 1] of something linear in s; with `strength` > 0
the two with a kink have ``strength / 2 m**2`` taken away inside the maximum.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.vector import kernel, reduction

HINGE, LOGISTIC, STRUCT = 0, 1, 2


@reduction
def _dot(a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@kernel
def _pair(kind, s, d, strength):
    """Value, smoothed value, dual value and multiplier of a pair at unit weight."""
    if kind == LOGISTIC:
        small = np.exp(-abs(s))
        value = np.log1p(small) + max(-s, 0.0)
        m = (small if s > 0.0 else 1.0) / (1.0 + small)
        return value, value, value + m * s, m
    margin = 1.0 if kind == HINGE else d
    short = margin - s
    value = max(short, 0.0)
    if strength <= 0.0:
        m = 1.0 if short > 0.0 else 0.0
    else:
        m = min(max(short / strength, 0.0), 1.0)
    return value, m * (short - 0.5 * strength * m), m * margin, m


@kernel
def evaluate(w, x, offsets, items, grades, price, kind, strength, scores, pull, gradient):
    """Sums of the values, smoothed values and dual values; writes the gradient of the second.

    `scores` and `pull` are scratch of the length of `items`.
    """
    gradient[:] = 0.0
    value, smooth, dual = 0.0, 0.0, 0.0
    for i in range(offsets.shape[0] - 1):
        start, stop = offsets[i], offsets[i + 1]
        for s in range(start, stop):
            scores[s] = _dot(w[items[s]], x[i])
            pull[s] = 0.0
        for s in range(start, stop):
            for t in range(s + 1, stop):
                away = grades[s] - grades[t]
                if away == 0.0:
                    continue
                high, low = (s, t) if away > 0.0 else (t, s)
                away = abs(away)
                weight = price[i] if kind == STRUCT else price[i] * away
                one, two, three, m = _pair(kind, scores[high] - scores[low], away, strength)
                value += weight * one
                smooth += weight * two
                dual += weight * three
                pull[high] -= weight * m
                pull[low] += weight * m
        for s in range(start, stop):
            if pull[s] != 0.0:
                row = gradient[items[s]]
                for j in range(x.shape[1]):
                    row[j] += pull[s] * x[i, j]
    return value, smooth, dual
