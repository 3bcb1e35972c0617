"""The distribution of the latent choice given the label: values and slopes, bag by bag.

P = softmax(t) with ``t_h = theta_{y_i}·x_h``. As a function of theta the training problem is, but
for constants,

    J/2 |theta|^2 + sum_i C_i [ G_i(P_i) - beta P_i' D_i P_i ],

with D_i the costs between choices at the right label, and c_i(y, h) = (expected cost of answering
(y, h) under P_i), which is linear in P_i. G_i is one of

- c_i at one fixed answer, the prediction (equations 15 and 16 of Kumar et al., ICML 2012);
- the bound itself, ``max over (y, h) of [s_i(y, h) + c_i(y, h)]``;
- for a temperature > 0 its smooth upper bound ``temperature * log sum exp(. / temperature)``.

With q the weights that G_i puts on answers, and c_i = T_i P_i, the slope in t is

    P o (g - P'g),    g = T_i'q - beta (D_i + D_i') P.

Their equation 17 prints + for -beta, and leaves out the factor J/C of the penalty's slope.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.bags import FULL, TABLE, cost_of_answer, cost_of_truth
from concordant.kernels.margin import add_row, dot
from concordant.kernels.vector import kernel


@kernel
def distribution(features, lo, hi, theta, y, p):
    """Write P of one bag."""
    top = -np.inf
    for h in range(lo, hi):
        p[h - lo] = dot(features, h, theta, y)
        top = max(top, p[h - lo])
    total = 0.0
    for h in range(hi - lo):
        p[h] = np.exp(p[h] - top)
        total += p[h]
    for h in range(hi - lo):
        p[h] /= total


@kernel
def distributions(features, offsets, first, last, labels, theta, out):
    """P of bags first..last."""
    for i in range(first, last):
        lo, hi = offsets[i], offsets[i + 1]
        distribution(features, lo, hi, theta, labels[i], out[lo:hi])


@kernel
def weigh_answers(scores, lo, m, c, temperature, q):
    """The bound's value, and the weights `q` that it puts on answers."""
    k = scores.shape[1]
    top, best, label = -np.inf, 0, 0
    for h in range(m):
        for y in range(k):
            q[y, h] = scores[lo + h, y] + c[y, h]
            if q[y, h] > top:
                top, best, label = q[y, h], h, y
    if temperature == 0.0:
        q[:, :m] = 0.0
        q[label, best] = 1.0
        return top
    total = 0.0
    for y in range(k):
        for h in range(m):
            q[y, h] = np.exp((q[y, h] - top) / temperature)
            total += q[y, h]
    for y in range(k):
        for h in range(m):
            q[y, h] /= total
    return top + temperature * np.log(total)


@kernel
def slope_of_bag(costs, i, y, scores, answer, beta, temperature, p, work, slope):
    """``G_i - beta P'DP`` at P = `p`, and its slope in t. `answer` is the fixed one, (label,
    choice); a label below 0 asks for the bound."""
    kind, offsets = costs[0], costs[1]
    lo = offsets[i]
    m, k = offsets[i + 1] - lo, scores.shape[1]
    c, q, one = work[:k], work[k : 2 * k], work[2 * k]
    for label in range(k):
        cost_of_truth(costs, i, y, label, p, c[label])
    if answer[0] < 0:
        value = weigh_answers(scores, lo, m, c, temperature, q)
    else:
        q[:, :m] = 0.0
        q[answer[0], answer[1]] = 1.0
        value = c[answer[0], answer[1]]
    slope[:m] = 0.0
    for label in range(k):
        if label == y or kind == FULL:  # elsewhere the cost does not depend on the true choice
            cost_of_answer(costs, i, y, label, q[label, :m], one)
            for h in range(m):
                slope[h] += one[h]
    if kind == FULL or kind == TABLE:
        cost_of_answer(costs, i, y, y, p, one)
    else:
        one[:m] = c[y, :m]
    diversity, mean = 0.0, 0.0
    for h in range(m):
        diversity += p[h] * c[y, h]
        slope[h] -= beta * (c[y, h] + one[h])
        mean += p[h] * slope[h]
    for h in range(m):
        slope[h] = p[h] * (slope[h] - mean)
    return value - beta * diversity


@kernel
def theta_pass(
    features, costs, first, last, labels, free, scores, answers, weight, beta, temperature, theta,
    p, work, slope, gradient,
):  # fmt: skip
    """Sum over bags first..last of C_i times value, with its gradient in theta; bags whose choice
    is known (not `free`) do not move theta. Writes their P into `p`."""
    total = 0.0
    offsets = costs[1]
    for i in range(first, last):
        if not free[i] or weight[i] == 0.0:
            continue
        lo, hi = offsets[i], offsets[i + 1]
        y = labels[i]
        distribution(features, lo, hi, theta, y, p[lo:hi])
        total += weight[i] * slope_of_bag(
            costs, i, y, scores, answers[i], beta, temperature, p[lo:hi], work, slope
        )
        for h in range(hi - lo):
            if slope[h] != 0.0:
                add_row(features, lo + h, weight[i] * slope[h], gradient, y)
    return total


@kernel
def stochastic_steps(
    features, costs, order, labels, scores, answers, weight, beta, rate, theta, p, work, slope
):
    """``theta <- theta - 1/(rate t) (rate theta + weight_i slope_i)`` for the bags in order."""
    offsets = costs[1]
    for t in range(order.shape[0]):
        i = order[t]
        lo, hi = offsets[i], offsets[i + 1]
        y = labels[i]
        distribution(features, lo, hi, theta, y, p[lo:hi])
        slope_of_bag(costs, i, y, scores, answers[i], beta, 0.0, p[lo:hi], work, slope)
        theta *= 1.0 - 1.0 / (t + 1.0)
        for h in range(hi - lo):
            add_row(features, lo + h, -weight[i] * slope[h] / (rate * (t + 1.0)), theta, y)
