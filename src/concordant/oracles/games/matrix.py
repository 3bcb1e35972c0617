"""The game under any cost matrix.

Equilibrium: the dense simplex method on ``max 1'y s.t. A y <= 1, y >= 0`` with A the pay-offs
made positive, whose dual is the other player. Labels that can never be played are screened
out first, exactly: column j goes if ``f_i - f_j > max_a (L_aj - L_ai)`` for some i. That also
keeps hopeless scores from destroying accuracy.

Proximal question: a quadratic programme with the optimality conditions of a linear
complementarity problem, solved exactly by Lemke's method (see `prox`).
"""

from __future__ import annotations

import numpy as np

from concordant.oracles.blocks import kernel
from concordant.oracles.games.zero_one import greedy
from concordant.oracles.simplex import dot, largest, project, smoothed_scores

#: How far below zero, of numbers of order 1, a step of Lemke's method may go.
SLACK = 1e-10


def recognise(costs):
    """Everything. The constants are the screening table, ``max_a (L_aj - L_ai)`` at (i, j)."""
    return (costs[:, None, :] - costs[:, :, None]).max(axis=0).ravel()


def scratch(n_actions, n_classes):
    size = n_actions + n_classes + 2
    return 6 * n_classes + n_actions + size * (size + 2) + 2 * size + 1


@kernel
def play(scores, params, costs, work, p, q):
    return solve(scores, params, 1.0, costs, work, p, q)


@kernel
def screen(scores, params, weight, kept):
    """Indices of the labels that may be played, written into `kept`; returns how many."""
    k = scores.shape[0]
    number = 0
    for j in range(k):
        alive = True
        for i in range(k):
            if scores[i] - scores[j] > weight * params[i * k + j]:
                alive = False
                break
        if alive:
            kept[number] = j
            number += 1
    return number


@kernel
def solve(scores, params, weight, costs, work, p, q):
    r, k = costs.shape
    p[:] = 0.0
    q[:] = 0.0
    if weight == 0.0:
        return greedy(scores, p[:1], q)
    kept = work[:k]
    n = screen(scores, params, weight, kept)
    top = largest(scores)
    low, high = np.inf, -np.inf
    for b in range(n):
        j = int(kept[b])
        for i in range(r):
            pay = (scores[j] - top) + weight * costs[i, j]
            low, high = min(low, pay), max(high, pay)
    spread = high - low
    if spread <= 0.0:
        p[0] = 1.0
        q[int(kept[0])] = 1.0
        return top + low
    # Pay-offs made positive, B = (pay - low)/spread + 1. With x = p / value the predictor's
    # programme is max 1'x s.t. B'x <= 1, x >= 0: one row a label, one column an action.
    table = work[3 * k : 3 * k + (n + 1) * (r + 1)].reshape((n + 1, r + 1))
    names = work[3 * k + (n + 1) * (r + 1) :]
    for b in range(n):
        j = int(kept[b])
        for i in range(r):
            pay = (scores[j] - top) + weight * costs[i, j]
            table[b, i] = (pay - low) / spread + 1.0
        table[b, r] = 1.0
        names[b] = r + b
    for i in range(r):
        table[n, i] = -1.0
        names[n + i] = i
    table[n, r] = 0.0
    simplex(table, names)
    read_strategies(table, names, kept, p, q)
    return top + game_value_of(scores, top, weight, costs, q)


@kernel
def game_value_of(scores, top, weight, costs, q):
    """``min_i (wLq)_i + f'q`` relative to `top`."""
    gain = 0.0
    for j in range(q.shape[0]):
        if q[j] > 0.0:
            gain += q[j] * (scores[j] - top)
    return gain + weight * least_row(costs, q)


@kernel
def least_row(costs, mu):
    least = np.inf
    for i in range(costs.shape[0]):
        least = min(least, dot(costs[i], mu))
    return least


@kernel
def simplex(table, names):
    """Maximise in a condensed tableau that starts feasible.

    Rows of `names`: first the basic variable of each row, then the non-basic one of each
    column. Largest coefficient, largest pivot among ties; Bland's rule once the pivots are
    many, so that degenerate games end too.
    """
    n, r = table.shape[0] - 1, table.shape[1] - 1
    for pivots in range(50 * (n + r)):
        bland = pivots > 5 * (n + r)
        column = -1
        for i in range(r):
            if table[n, i] < -1e-13:
                if column < 0:
                    column = i
                elif bland:
                    if names[n + i] < names[n + column]:
                        column = i
                elif table[n, i] < table[n, column]:
                    column = i
        if column < 0:
            return
        row, ratio = -1, np.inf
        for b in range(n):
            if table[b, column] > 1e-12:
                here = table[b, r] / table[b, column]
                better = here < ratio
                if here == ratio:
                    if bland:
                        better = names[b] < names[row]
                    else:
                        better = table[b, column] > table[row, column]
                if better:
                    row, ratio = b, here
        if row < 0:
            return
        pivot(table, row, column)
        names[row], names[n + column] = names[n + column], names[row]


@kernel
def pivot(table, row, column):
    """Exchange the basic variable of `row` with the non-basic one of `column`."""
    inverse = 1.0 / table[row, column]
    for j in range(table.shape[1]):
        table[row, j] *= inverse
    table[row, column] = inverse
    for i in range(table.shape[0]):
        factor = table[i, column]
        if i == row or factor == 0.0:
            continue
        for j in range(table.shape[1]):
            table[i, j] -= factor * table[row, j]
        table[i, column] = -factor * inverse


@kernel
def read_strategies(table, names, kept, p, q):
    """Actions in the basis give p, reduced costs of labels out of it give q."""
    n, r = table.shape[0] - 1, table.shape[1] - 1
    total_p, total_q = 0.0, 0.0
    for b in range(n):
        if names[b] < r:
            p[int(names[b])] = max(table[b, r], 0.0)
            total_p += max(table[b, r], 0.0)
    for i in range(r):
        if names[n + i] >= r:
            q[int(kept[int(names[n + i]) - r])] = max(table[n, i], 0.0)
            total_q += max(table[n, i], 0.0)
    for i in range(p.shape[0]):
        p[i] /= total_p
    for j in range(q.shape[0]):
        q[j] /= total_q


@kernel
def prox(scores, weight, costs, strength, centre, work, mu):
    """Exact proximal step of the game.

    With x = centre + f/strength, costs scaled to [1, 2] and kappa the scaled weight over the
    strength, optimality of (q, p) and the multipliers u, v of the two simplices reads

        q - L'p + u - x  >= 0  orthogonal to  q >= 0        1 - sum q      >= 0  to  u >= 0
        L q - v          >= 0  orthogonal to  p >= 0        sum p - kappa  >= 0  to  v >= 0

    a linear complementarity problem with a positive semidefinite matrix. Shifting x keeps
    u >= 0 and the costs' shift keeps v > 0, so the last two lines hold with equality. Labels
    with x below max(x) - 1 - kappa cannot be played.
    """
    r, k = costs.shape
    x = work[:k]
    smoothed_scores(scores, strength, centre, x)
    biggest = 0.0
    for i in range(r):
        biggest = max(biggest, largest(costs[i]))
    kappa = weight * biggest / strength
    if kappa == 0.0:
        project(x, mu)
        return largest(scores), 0.0
    kept = work[k : 2 * k]
    top = largest(x)
    n = 0
    for j in range(k):
        if x[j] >= top - 1.0 - kappa:
            kept[n] = j
            n += 1
    size = n + r + 2
    table = work[3 * k : 3 * k + size * (size + 2)].reshape((size, size + 2))
    names = work[3 * k + size * (size + 2) : 3 * k + size * (size + 2) + 2 * size + 1]
    total = 0.0
    for attempt in range(4):  # (the second was needed once in 10,000 nearly degenerate games)
        conditions(x, top, kappa, costs, biggest, kept, n, table)
        if lemke(table, names, SLACK * 10.0 ** (-2 * attempt)):
            total = read_mixture(table, names, kept, n, mu)
        if total > 0.5:
            for j in range(k):
                mu[j] /= total
            upper = upper_bound(scores, weight, costs, table, names, n, size)
            return upper, weight * least_row(costs, mu)
    project(centre, mu)  # stay: a step not taken is still a valid one
    return safe_value(scores, weight, costs), weight * least_row(costs, mu)


@kernel
def conditions(x, top, kappa, costs, biggest, kept, n, table):
    """The table of `prox`, its conditions and variables divided so that all entries and right
    sides are of order 1 at most, whatever kappa is."""
    r = costs.shape[0]
    size = n + r + 2
    stiff, soft = max(kappa, 1.0), min(kappa, 1.0)
    table[:, :] = 0.0
    for b in range(n):
        j = int(kept[b])
        table[b, b] = 1.0 / stiff
        for i in range(r):
            cost = soft * (costs[i, j] / biggest + 1.0)
            table[b, n + i] = -cost
            table[n + i, b] = cost
        table[b, n + r] = 1.0
        table[n + r, b] = -1.0
        table[b, size + 1] = -(x[j] - top + 1.0) / stiff
    for i in range(r):
        table[n + i, n + r + 1] = -1.0
        table[n + r + 1, n + i] = 1.0
    table[n + r, size + 1] = 1.0
    table[n + r + 1, size + 1] = -1.0
    for i in range(size):
        table[i, size] = 1.0


@kernel
def read_mixture(table, names, kept, n, mu):
    """Write q, which should sum to one; returns its sum."""
    size = table.shape[0]
    mu[:] = 0.0
    total = 0.0
    for i in range(size):
        name = int(names[i]) - size
        if 0 <= name < n:
            mu[int(kept[name])] = max(table[i, size + 1], 0.0)
            total += mu[int(kept[name])]
    return total


@kernel
def safe_value(scores, weight, costs):
    """An upper bound on the game: the best of the predictor's pure strategies."""
    least = np.inf
    for i in range(costs.shape[0]):
        worst = -np.inf
        for j in range(costs.shape[1]):
            worst = max(worst, scores[j] + weight * costs[i, j])
        least = min(least, worst)
    return least


@kernel
def upper_bound(scores, weight, costs, table, names, n, size):
    """``max_j f_j + (wL'p)_j`` at the predictor's side of the solution."""
    r, k = costs.shape
    total = 0.0
    for i in range(size):
        action = int(names[i]) - size - n
        if 0 <= action < r:
            total += max(table[i, size + 1], 0.0)
    upper = -np.inf
    for j in range(k):
        cost = 0.0
        for i in range(size):
            action = int(names[i]) - size - n
            if 0 <= action < r:
                cost += max(table[i, size + 1], 0.0) * costs[action, j]
        upper = max(upper, scores[j] + weight * cost / total)
    return upper


@kernel
def lemke(table, names, slack=SLACK):
    """Lemke's method for ``w = M z + z0 + b``, w and z >= 0 and orthogonal.

    `table` is ``[M | 1 | b]``: each row gives a basic variable in terms of the non-basic ones.
    Variables are named w_i = i, z_i = size + i, z0 = 2 size; `names` lists the basic ones,
    then the non-basic ones. Returns whether it reached a solution.
    """
    size = table.shape[0]
    last = size + 1
    row = 0
    for i in range(size):
        names[i] = i
        names[size + i] = size + i
        if table[i, last] < table[row, last]:
            row = i
    names[2 * size] = 2 * size
    if table[row, last] >= 0.0:
        return True
    column = size
    for _ in range(40 * size):
        leaving = int(names[row])
        exchange(table, row, column)
        names[row], names[size + column] = names[size + column], names[row]
        if leaving == 2 * size:
            return True
        entering = leaving + size if leaving < size else leaving - size
        column = 0
        while int(names[size + column]) != entering:
            column += 1
        row = leaving_row(table, names, column, slack)
        if row < 0:
            return False
    return False


@kernel
def leaving_row(table, names, column, slack):
    """The row that blocks the entering variable, or -1; z0's row where it is among several.

    Harris's ratio test: rows may go below zero by `slack`, and of those that block no later
    than that the one with the largest pivot is taken. Nearly equal rows or columns of costs
    leave pivots of their tiny difference, and dividing by one of those ruins the table.
    """
    size, last = table.shape[0], table.shape[0] + 1
    furthest = np.inf
    for i in range(size):
        if table[i, column] < -1e-11:
            room = max(table[i, last], 0.0) * (1.0 + slack) + slack
            furthest = min(furthest, room / -table[i, column])
    row, z0, slope = -1, -1, 0.0
    for i in range(size):
        if table[i, column] < -1e-11:
            if max(table[i, last], 0.0) <= furthest * -table[i, column]:
                if table[i, column] < slope:
                    row, slope = i, table[i, column]
                if int(names[i]) == 2 * size:
                    z0 = i
    return z0 if z0 >= 0 and table[z0, column] < 1e-3 * slope else row


@kernel
def exchange(table, row, column):
    """Solve `row` for the variable of `column` and substitute it everywhere else."""
    inverse = 1.0 / table[row, column]
    for j in range(table.shape[1]):
        table[row, j] *= -inverse
    table[row, column] = inverse
    for i in range(table.shape[0]):
        factor = table[i, column]
        if i == row or factor == 0.0:
            continue
        for j in range(table.shape[1]):
            table[i, j] += factor * table[row, j]
        table[i, column] = factor * inverse


@kernel
def block(scores, target, weight, params, costs, strength, centre, work, mu):
    if strength == 0.0:
        r, k = costs.shape
        p = work[2 * k : 2 * k + r]
        value = solve(scores, params, weight, costs, work[2 * k + r :], p, mu)
        return value, weight * least_row(costs, mu)
    return prox(scores, weight, costs, strength, centre, work, mu)
