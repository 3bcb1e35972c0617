"""The adversarial game between two mixtures of assignments, in their marginals, compiled.

With prices L of wrong pairs the expected loss of the mixture P against Q is
``<L, P> - <L * P, Q>`` (elementwise product), and the one question of the adversarial route is

    max_Q min_P  <S, Q> + <L, P> - <L * P, Q> - strength/2 |Q - centre|**2

over two copies of a transport polytope. A *step* adds ``k/2 |P - P'|**2`` and, where the strength
is smaller than k, as much to Q's own term that it reaches k, around the last feasible pair
(P', Q'): the proximal-point method for saddle points, which needs no small k. Its multipliers,
a and b for the sums of Q and c and d for those of P, solve a piecewise linear equation. In each
part, with ``al = S + ... - a_i - b_j`` and ``ga = L - k P' + c_i + d_j``,

    q = (al - L p)_+ / s,    p = (L q - ga)_+ / k

has a closed form, whose slopes make a quasi-definite system

    [ -K1  K2 ] [x]   [-rows and columns of Q, less one]
    [  K2  K3 ] [y] = [ rows and columns of P, less one]

Each Newton step eliminates the rows and factors what is left, without pivoting. Two assignments
(the best replies) bound what the pair is off the equilibrium: the steps end when that is
nothing, whatever the Newton method did.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.assignment import best, kernel, lap_scratch, potentials, write_parts
from concordant.kernels.symmetric import back_solve, factor
from concordant.kernels.transport import round_to_feasible

NEWTON_STEPS = 40
STEPS = 200
#: Steps without progress after which rounding is blamed.
PATIENCE = 20
#: Strength of the first step, in units of the largest price: in general, and for a question with
#: a term of its own whose last pair is remembered; and the smallest.
COLD, WARM, SMALLEST = 0.1, 0.01, 1e-4


@kernel
def _residual(al, ga, prices, s, k, n, m, slack, dual, q, p, left):
    """The pair at these multipliers, and by how much its sums exceed one; returns the square."""
    a, b, c, d = dual
    left[:, :] = -1.0
    for i in range(n + slack):
        ai, ci = (a[i], c[i]) if i < n else (0.0, 0.0)
        for j in range(m + slack):
            bj, dj = (b[j], d[j]) if j < m else (0.0, 0.0)
            gain, need, price = al[i, j] - ai - bj, ga[i, j] + ci + dj, prices[i, j]
            qq, pp = max(gain, 0.0) / s, 0.0
            if gain == -np.inf:  # not allowed
                qq = 0.0
            elif price * qq > need:
                pp = (price * gain - s * need) / (price * price + s * k)
                if pp > 0.0 and gain > price * pp:
                    qq = (gain - price * pp) / s
                else:
                    qq, pp = 0.0, max(-need / k, 0.0)
            q[i, j], p[i, j] = qq, pp
            if i < n:
                left[0, i] += qq
                left[2, i] += pp
            if j < m:
                left[1, j] += qq
                left[3, j] += pp
    total = 0.0
    for i in range(n):
        total += left[0, i] ** 2 + left[2, i] ** 2
    for j in range(m):
        total += left[1, j] ** 2 + left[3, j] ** 2
    return total


@kernel
def _direction(q, p, prices, s, k, n, m, slack, ridge, left, system, move):
    """Newton's direction for the multipliers; the rows are eliminated pair by pair."""
    schur, diagonal, scaled, right, active, weights, own = system
    for r in range(2 * m):
        for t in range(r + 1):
            schur[r, t] = 0.0
    for j in range(m):
        schur[2 * j, 2 * j] = -ridge
        schur[2 * j + 1, 2 * j + 1] = ridge
        right[2 * j] = -left[1, j]
        right[2 * j + 1] = left[3, j]
    for i in range(n + slack):
        used = 0
        b11, b12, b22 = -ridge, 0.0, ridge
        for j in range(m + slack):
            if i == n and j == m:
                continue
            k1, k2, k3 = 0.0, 0.0, 0.0
            if q[i, j] > 0.0 and p[i, j] > 0.0:
                scale = 1.0 / (prices[i, j] ** 2 + s * k)
                k1, k2, k3 = k * scale, prices[i, j] * scale, s * scale
            elif q[i, j] > 0.0:
                k1 = 1.0 / s
            elif p[i, j] > 0.0:
                k3 = 1.0 / k
            else:
                continue
            if i < n:
                b11 -= k1
                b12 += k2
                b22 += k3
            if j < m:
                schur[2 * j, 2 * j] -= k1
                schur[2 * j + 1, 2 * j] += k2
                schur[2 * j + 1, 2 * j + 1] += k3
                active[used] = j
                weights[used, 0], weights[used, 1], weights[used, 2] = k1, k2, k3
                used += 1
        if i == n:
            continue
        det = b11 * b22 - b12 * b12
        i11, i12, i22 = b22 / det, -b12 / det, b11 / det
        own[i, 0], own[i, 1], own[i, 2] = i11, i12, i22
        r1, r2 = -left[0, i], left[2, i]
        z1, z2 = i11 * r1 + i12 * r2, i12 * r1 + i22 * r2
        for t in range(used):
            j, k1, k2, k3 = active[t], weights[t, 0], weights[t, 1], weights[t, 2]
            right[2 * j] -= -k1 * z1 + k2 * z2
            right[2 * j + 1] -= k2 * z1 + k3 * z2
            # E_j' B^-1 with E_j = [[-k1, k2], [k2, k3]]
            e11, e12 = -k1 * i11 + k2 * i12, -k1 * i12 + k2 * i22
            e21, e22 = k2 * i11 + k3 * i12, k2 * i12 + k3 * i22
            for u in range(t + 1):
                w, l1, l2, l3 = active[u], weights[u, 0], weights[u, 1], weights[u, 2]
                schur[2 * j, 2 * w] -= -e11 * l1 + e12 * l2
                schur[2 * j + 1, 2 * w] -= -e21 * l1 + e22 * l2
                schur[2 * j + 1, 2 * w + 1] -= e21 * l2 + e22 * l3
                if w != j:
                    schur[2 * j, 2 * w + 1] -= e11 * l2 + e12 * l3
    factor(schur, 2 * m, diagonal, scaled)
    back_solve(schur, 2 * m, diagonal, right)
    for j in range(m):
        move[1, j], move[3, j] = right[2 * j], right[2 * j + 1]
    for i in range(n):
        r1, r2 = -left[0, i], left[2, i]
        for j in range(m):
            k1, k2, k3 = 0.0, 0.0, 0.0
            if q[i, j] > 0.0 and p[i, j] > 0.0:
                scale = 1.0 / (prices[i, j] ** 2 + s * k)
                k1, k2, k3 = k * scale, prices[i, j] * scale, s * scale
            elif q[i, j] > 0.0:
                k1 = 1.0 / s
            elif p[i, j] > 0.0:
                k3 = 1.0 / k
            else:
                continue
            r1 -= -k1 * right[2 * j] + k2 * right[2 * j + 1]
            r2 -= k2 * right[2 * j] + k3 * right[2 * j + 1]
        move[0, i] = own[i, 0] * r1 + own[i, 1] * r2
        move[2, i] = own[i, 1] * r1 + own[i, 2] * r2


@kernel
def _newton(al, ga, prices, s, k, n, m, slack, dual, trial, q, p, left, move, system):
    """Solve the piecewise linear equation; returns the steps taken, or NEWTON_STEPS."""
    square = _residual(al, ga, prices, s, k, n, m, slack, dual, q, p, left)
    for it in range(NEWTON_STEPS):
        size = np.sqrt(square)
        if size <= 1e-12 * (1.0 + n):
            return it
        ridge = min(max(1e-4 * size, 1e-9), 1e-2) / k
        _direction(q, p, prices, s, k, n, m, slack, ridge, left, system, move)
        step = 1.0
        for _ in range(20):
            trial[:, :] = dual + step * move
            new = _residual(al, ga, prices, s, k, n, m, slack, trial, q, p, left)
            if new <= (1.0 - 1e-4 * step) * square:
                break
            step *= 0.5
        else:
            _residual(al, ga, prices, s, k, n, m, slack, dual, q, p, left)
            return NEWTON_STEPS if size > 1e-9 else it
        dual[:, :] = trial
        square = new
    return NEWTON_STEPS


@kernel
def _inner(a, b, n, m, slack):
    """``<a, b>`` over the parts of two grids, with 0 times minus infinity as 0."""
    total = 0.0
    for i in range(n + slack):
        for j in range(m + slack):
            if b[i, j] != 0.0:
                total += a[i, j] * b[i, j]
    return total


@kernel
def _reply(grid, n, m, slack, kind, answer, parts, lap):
    """Value of the best answer to these scores, whose parts are written too."""
    best(grid, n, m, slack, kind, answer, lap)
    write_parts(answer, n, m, slack, parts)
    return _inner(grid, parts, n, m, slack)


@kernel
def _raise(scores, prices, p, tilted, n, m, slack):
    """Scores of the adversary against the predictor `p`, but for the price of all of `p`."""
    for i in range(n + slack):
        for j in range(m + slack):
            tilted[i, j] = scores[i, j] - prices[i, j] * p[i, j]


@kernel
def _start(game, qk, pk, tilted, answer, lap, dual):
    """The best answer for both players, and multipliers from the adversary's reply to it: an
    equilibrium as they are where scores are far apart."""
    scores, prices, _, n, m, slack, kind, _, _, _ = game
    _reply(scores, n, m, slack, kind, answer, qk, lap)
    pk[:, :] = qk
    _raise(scores, prices, pk, tilted, n, m, slack)
    best(tilted, n, m, slack, kind, answer, lap)
    potentials(tilted, n, m, kind, lap, dual[0], dual[1])
    dual[2:] = 0.0


@kernel
def _step(game, k, qk, pk, al, ga, dual, duals, system, q, p):
    """A proximal-point step of strength k from the pair (qk, pk), made feasible.

    Returns the Newton steps it took, and the mass that could not be made feasible.
    """
    scores, prices, allowed, n, m, slack, kind, strength, own, centre = game
    trial, move, left = duals[0], duals[1], duals[2]
    more_q, more_p = max(k - strength, 0.0), max(k - own, 0.0)
    for i in range(n + slack):
        for j in range(m + slack):
            pull = strength * centre[i, j] if strength > 0.0 else 0.0
            al[i, j] = scores[i, j] + pull + more_q * qk[i, j]
            ga[i, j] = prices[i, j] - more_p * pk[i, j]
    steps = _newton(
        al, ga, prices, strength + more_q, own + more_p, n, m, slack, dual, trial, q, p, left,
        move, system,
    )  # fmt: skip
    lost = round_to_feasible(q, allowed, n, m, slack, kind, left[0], left[1])
    lost += round_to_feasible(p, allowed, n, m, slack, kind, left[0], left[1])
    return steps, lost


@kernel
def _certify(game, q, p, tilted, parts, answer, lap):
    """How far a feasible pair is off, by the best replies of both players.

    Returns the gap, a lower bound of the least expected loss against q (with the predictor's own
    term), and the size of the numbers that went in.
    """
    scores, prices, allowed, n, m, slack, kind, strength, own, centre = game
    _raise(scores, prices, p, tilted, n, m, slack)
    if strength > 0.0:
        for i in range(n + slack):
            for j in range(m + slack):
                tilted[i, j] -= strength * (q[i, j] - centre[i, j])
    here = _inner(tilted, q, n, m, slack)
    gain = _reply(tilted, n, m, slack, kind, answer, parts, lap) - here
    cost, square = 0.0, 0.0
    for i in range(n + slack):
        for j in range(m + slack):
            tilted[i, j] = -np.inf
            if allowed[i, j]:
                tilted[i, j] = prices[i, j] * (q[i, j] - 1.0) - own * p[i, j]
                cost -= tilted[i, j] * p[i, j]
                square += p[i, j] * p[i, j]
    cheapest = -_reply(tilted, n, m, slack, kind, answer, parts, lap)
    gap = max(gain, 0.0) + max(cost - cheapest, 0.0)
    return gap, cheapest - 0.5 * own * square, abs(here)


@kernel
def game_scratch(n, m):
    """Room for `play` on grids of up to n rows and m columns."""
    size, side = max(n, m) + 1, 2 * m + 2
    system = (
        np.empty((side, side)),
        np.empty(side),
        np.empty(side),
        np.empty(side),
        np.empty(m + 1, np.int64),
        np.empty((m + 1, 3)),
        np.empty((n + 1, 3)),
    )
    duals = np.zeros((3, 4, size))
    return np.empty((8, n + 1, m + 1)), duals, system, lap_scratch(n, m), np.empty(size, np.int64)


@kernel
def play(game, warm, last_q, last_p, accuracy, dual, room, q, p):
    """Equilibrium of one example; writes `q` and `p`, returns (upper, bonus, gap).

    `game` is (scores, prices, allowed, n, m, slack, kind, strength, own, centre), where the
    predictor has a term ``own/2 |P|**2``. `upper` bounds the question without strength, `bonus`
    is the least expected loss against `q`, own term included, and `gap` what the pair may be off
    the equilibrium, at most `accuracy` prices a row but for rounding. With `warm` the search starts
    from `dual` and the pair (`last_q`, `last_p`).
    """
    scores, prices, _, n, m, slack, kind, strength, own, _ = game
    grids, duals, system, lap, answer = room
    grids = grids[:, : n + slack, : m + slack]
    al, ga, qk, pk, parts, tilted, q2, p2 = (
        grids[0], grids[1], grids[2], grids[3], grids[4], grids[5], grids[6], grids[7]
    )  # fmt: skip
    unit = 0.0
    for i in range(n + slack):
        for j in range(m + slack):
            unit = max(unit, prices[i, j])
    unit = unit if unit > 0.0 else 1.0
    if warm:
        qk[:, :], pk[:, :] = last_q, last_p
    else:
        _start(game, qk, pk, tilted, answer, lap, dual)
    floor = max(own, SMALLEST * unit)
    k = max((WARM if warm and strength > 0.0 else COLD) * unit, floor)
    least, bonus, stuck = np.inf, 0.0, 0
    for it in range(STEPS):
        if it == 0 and strength == 0.0 and not warm:
            q2[:, :], p2[:, :], steps, lost = qk, pk, 0, 0.0
        else:
            steps, lost = _step(game, k, qk, pk, al, ga, dual, duals, system, q2, p2)
        gap, its_bonus, size = _certify(game, q2, p2, tilted, parts, answer, lap)
        if lost <= 1e-9 and gap < least:
            stuck = 0 if gap < 0.9 * least else stuck + 1
            least, bonus = gap, its_bonus
            q[:, :], p[:, :] = q2, p2
        else:
            stuck += 1
        if least <= accuracy * unit * max(n, 1) + 1e-14 * size or stuck > PATIENCE:
            break
        if steps < NEWTON_STEPS:
            qk[:, :], pk[:, :] = q2, p2
            if steps <= 10:  # the fewer, the surer that the parts in use stay the same
                k = max((0.05 if steps <= 2 else 0.4) * k, floor)
        else:  # too hard: shorter steps, from the best pair so far
            k *= 4.0
            if least < np.inf:
                qk[:, :], pk[:, :] = q, p
    _raise(scores, prices, p, tilted, n, m, slack)
    price = _inner(prices, p, n, m, slack)
    return price + _reply(tilted, n, m, slack, kind, answer, parts, lap), bonus, least


@kernel
def play_rows(
    scores, prices, allowed, starts, n, m, slack, kind, first, last, strength, own, centre,
    memory, last_q, last_p, accuracy, q, p, upper, bonus, gap,
):  # fmt: skip
    """`play` for examples first..last-1 of a batch.

    `memory` (n_examples, 1 + 2 rows + 2 columns) keeps each example's multipliers, behind a flag,
    and the part arrays `last_q` and `last_p` its pair, for the next call; empty for no memory.
    Questions without strength read it and leave it: they are asked in between.
    """
    most_n, most_m = n[first:last].max(), m[first:last].max()
    room = game_scratch(most_n, most_m)
    dual, remembers = np.zeros((4, max(most_n, most_m) + 1)), memory.shape[0] > 0
    for e in range(first, last):
        ne, me = n[e], m[e]
        shape, lo, hi = (ne + slack, me + slack), starts[e], starts[e + 1]
        warm = remembers and memory[e, 0] > 0.0
        before_q, before_p = (last_q, last_p) if remembers else (q, p)
        if warm:
            line = memory[e, 1:]
            dual[0, :ne], dual[2, :ne] = line[:ne], line[ne : 2 * ne]
            line = line[2 * ne :]
            dual[1, :me], dual[3, :me] = line[:me], line[me : 2 * me]
        game = (
            scores[lo:hi].reshape(shape), prices[lo:hi].reshape(shape),
            allowed[lo:hi].reshape(shape), ne, me, slack, kind[e], strength[e], own,
            centre[lo:hi].reshape(shape),
        )  # fmt: skip
        upper[e], bonus[e], gap[e] = play(
            game, warm, before_q[lo:hi].reshape(shape), before_p[lo:hi].reshape(shape), accuracy,
            dual, room, q[lo:hi].reshape(shape), p[lo:hi].reshape(shape),
        )  # fmt: skip
        if remembers and (strength[e] > 0.0 or not warm):
            last_q[lo:hi], last_p[lo:hi] = q[lo:hi], p[lo:hi]
            memory[e, 0] = 1.0
            line = memory[e, 1:]
            line[:ne], line[ne : 2 * ne] = dual[0, :ne], dual[2, :ne]
            line = line[2 * ne :]
            line[:me], line[me : 2 * me] = dual[1, :me], dual[3, :me]
