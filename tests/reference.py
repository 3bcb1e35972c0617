"""Referees for labels: slow, literal versions of games, surrogates and proximal steps.

Nothing here imports the library. Conventions, everywhere:

- ``f`` (k,) scores, ``y`` the true label's code, ``w > 0`` a weight on the loss;
- ``L`` (r, k) costs, ``L[action, truth]``;
- every surrogate is ``max_mu [<f, mu> + bonus(mu)] - f[y] + constant`` and its gradient is
  ``mu* - e_y``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.special import logsumexp

Array = NDArray[np.float64]

ROUTES = (
    "adversarial",
    "log",
    "hinge",
    "crammer_singer",
    "hybrid",
    "weston_watkins",
    "lee_lin_wahba",
    "one_vs_rest",
    "quadratic",
)


# --- the game: max_q min_p  p'(wL)q + f'q --------------------------------------------------


def game_lp(f: ArrayLike, L: ArrayLike, w: float = 1.0) -> tuple[float, Array, Array]:
    """Value, predictor's p (r,) and adversary's q (k,), by one linear program (HiGHS).

    The program is ``min t, (wL'p)_j + f_j <= t``; q is its dual. Labels that can never attain
    the maximum over j, whatever p is, are left out first, and scores and costs are
    shifted and scaled to about 1, so that scores of any size keep the solver's tolerance
    (1e-10 of the range of wL; usually exact to rounding). ``value`` is the best response to p.
    """
    f = np.asarray(f, dtype=float)
    cost = w * np.asarray(L, dtype=float)
    n_actions, n_labels = cost.shape
    top, floor = f.max(), cost.min()
    g, cost = f - top, cost - floor
    scale = cost.max()
    p, q = np.zeros(n_actions), np.zeros(n_labels)
    if scale == 0:
        p[0] = q[f.argmax()] = 1.0
        return float(top + floor), p, q
    least = (g + cost.min(axis=0)).max()  # the maximum over j is at least this, for every p
    keep = np.flatnonzero(g + cost.max(axis=0) >= least)
    result = linprog(
        np.r_[np.zeros(n_actions), 1.0],
        A_ub=np.c_[cost[:, keep].T / scale, -np.ones(len(keep))],
        b_ub=-g[keep] / scale,
        A_eq=np.r_[np.ones(n_actions), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * n_actions + [(None, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        raise RuntimeError(f"linprog: {result.message}")
    p = np.clip(result.x[:-1], 0, None)
    q[keep] = np.clip(-result.ineqlin.marginals, 0, None)
    p, q = p / p.sum(), q / q.sum()
    value = (p @ cost + g)[keep].max()
    return float(value + floor + top), p, q


def game_exact(f: Sequence[Any], L: Sequence[Any], w: Any = 1) -> Fraction:
    """The game's exact value for tiny games, in rational arithmetic, without any solver."""
    return game_exact_solution(f, L, w)[0]


def game_exact_solution(
    f: Sequence[Any], L: Sequence[Any], w: Any = 1
) -> tuple[Fraction, list[Fraction], list[Fraction]]:
    """Exact value and one exact pair of equilibrium strategies (p, q).

    Since q sums to one, the game is the matrix game ``M = wL + f``. Some square submatrix makes
    both players indifferent at an equilibrium (Shapley and Snow 1950): try them all. A pair is
    accepted only when ``max_j (M'p)_j == min_i (Mq)_i`` exactly, which proves it optimal.
    """
    weight = _fraction(w)
    scores = [_fraction(v) for v in f]
    M = [[weight * _fraction(v) + s for v, s in zip(row, scores, strict=True)] for row in L]
    n_actions, n_labels = len(M), len(scores)
    for size in range(1, min(n_actions, n_labels) + 1):
        for rows in combinations(range(n_actions), size):
            for columns in combinations(range(n_labels), size):
                square = [[M[i][j] for j in columns] for i in rows]
                on_columns = _equalizer(square)
                on_rows = _equalizer([list(column) for column in zip(*square, strict=True)])
                if on_columns is None or on_rows is None:
                    continue
                if min(on_columns) < 0 or min(on_rows) < 0:
                    continue
                p = [Fraction(0)] * n_actions
                q = [Fraction(0)] * n_labels
                for i, v in zip(rows, on_rows, strict=True):
                    p[i] = v
                for j, v in zip(columns, on_columns, strict=True):
                    q[j] = v
                lower = min(sum(M[i][j] * q[j] for j in range(n_labels)) for i in range(n_actions))
                upper = max(sum(M[i][j] * p[i] for i in range(n_actions)) for j in range(n_labels))
                if lower == upper:
                    return Fraction(lower), p, q
    raise AssertionError("no equilibrium found: impossible for a finite matrix game")


def _fraction(value: Any) -> Fraction:
    return Fraction(value if isinstance(value, Fraction | int) else float(value))


def _equalizer(A: list[list[Fraction]]) -> list[Fraction] | None:
    """The unique x with ``A x = v 1`` and ``sum(x) = 1`` for some v, or None."""
    size = len(A)
    table = [[*row, Fraction(-1), Fraction(0)] for row in A]
    table.append([Fraction(1)] * size + [Fraction(0), Fraction(1)])
    for c in range(size + 1):  # Gauss-Jordan elimination of the bordered system
        pivot = next((i for i in range(c, size + 1) if table[i][c] != 0), None)
        if pivot is None:
            return None
        table[c], table[pivot] = table[pivot], table[c]
        head = table[c][c]
        table[c] = [v / head for v in table[c]]
        for i in range(size + 1):
            if i != c and table[i][c] != 0:
                factor = table[i][c]
                table[i] = [v - factor * u for v, u in zip(table[i], table[c], strict=True)]
    return [table[i][-1] for i in range(size)]


def game_certificate(
    f: ArrayLike, L: ArrayLike, p: ArrayLike, q: ArrayLike, w: ArrayLike = 1.0
) -> Any:
    """``max_j [(wL'p)_j + f_j] - min_i (wLq)_i - f'q``: zero exactly at an equilibrium.

    Takes one game, or a batch: f, q (n, k), p (n, r), w (n,). Valid only for p and q in their
    simplices: check `simplex_violation` too.
    """
    f, L, p, q = (np.asarray(a, dtype=float) for a in (f, L, p, q))
    weight = np.asarray(w, dtype=float)[..., None]
    g = f - f.max(axis=-1, keepdims=True)  # both terms move together: less cancellation
    upper = (weight * (p @ L) + g).max(axis=-1)
    lower = (weight * (q @ L.T)).min(axis=-1) + (g * q).sum(axis=-1)
    return upper - lower


def simplex_violation(p: ArrayLike) -> float:
    """How far the vectors on the last axis are from the simplex; 0 inside, inf if not finite."""
    p = np.asarray(p, dtype=float)
    if not np.isfinite(p).all():
        return float("inf")
    return float(max(-p.min(), np.abs(p.sum(axis=-1) - 1).max(), 0.0))


# --- surrogate values, one textbook formula each --------------------------------------------


def label_costs(L: ArrayLike) -> Array:
    """``D[j, y] = L[a(j), y]`` (k, k), a(j) the best action when the truth is j.

    Ties: action j itself where it is among the best, else the first. So D = L for a square L
    with a zero diagonal, whatever other zeros it has.
    """
    L = np.asarray(L, dtype=float)
    best = L.argmin(axis=0)
    for j in range(min(L.shape)):
        if L[j, j] == L[:, j].min():
            best[j] = j
    return L[best]


def log_value(f: Array, y: int, L: ArrayLike, w: float = 1.0) -> float:
    """Logistic loss; no loss inside, so w acts as a sample weight."""
    return float(w * (logsumexp(f) - f[y]))


def hinge_value(f: Array, y: int, L: ArrayLike, w: float = 1.0) -> float:
    """Loss-augmented hinge."""
    D = label_costs(L)
    return float(max(f[j] + w * D[j, y] for j in range(len(f))) - f[y])


def crammer_singer_value(f: Array, y: int, L: ArrayLike, w: float = 1.0) -> float:
    """The hinge under the 0-1 loss, whatever L is."""
    return hinge_value(f, y, 1.0 - np.eye(len(f)), w)


def hybrid_value(f: Array, y: int, L: ArrayLike, w: float = 1.0, alpha: float = 0.5) -> float:
    """``alpha * log + (1 - alpha) * hinge``."""
    return alpha * log_value(f, y, L, w) + (1 - alpha) * hinge_value(f, y, L, w)


def weston_watkins_value(f: Array, y: int, L: ArrayLike, w: float = 1.0) -> float:
    """Sum of the pairwise hinges, each with its own margin."""
    D = label_costs(L)
    return float(sum(max(w * D[j, y] + f[j] - f[y], 0.0) for j in range(len(f)) if j != y))


def lee_lin_wahba_value(f: Array, y: int, L: ArrayLike, w: float = 1.0) -> float:
    """Absolute-margin hinge of the centred scores, weighted by the loss."""
    D, g = label_costs(L), f - np.mean(f)
    return float(sum(w * D[j, y] * max(1.0 + g[j], 0.0) for j in range(len(f)) if j != y))


def one_vs_rest_value(f: Array, y: int, L: ArrayLike, w: float = 1.0) -> float:
    """One binary hinge per label."""
    others = sum(max(1.0 + f[j], 0.0) for j in range(len(f)) if j != y)
    return float(w * (max(1.0 - f[y], 0.0) + others))


def quadratic_value(f: Array, y: int, L: ArrayLike, w: float = 1.0) -> float:
    """Squared distance of the scores to the weighted one-hot label."""
    target = np.zeros(len(f))
    target[y] = w
    return float(0.5 * np.sum((f - target) ** 2))


def adversarial_value(f: Array, y: int, L: ArrayLike, w: float = 1.0) -> float:
    """The game's value minus the true label's score."""
    return game_lp(f, L, w)[0] - float(f[y])


VALUES: dict[str, Callable[..., float]] = {
    "adversarial": adversarial_value,
    "log": log_value,
    "hinge": hinge_value,
    "crammer_singer": crammer_singer_value,
    "hybrid": hybrid_value,
    "weston_watkins": weston_watkins_value,
    "lee_lin_wahba": lee_lin_wahba_value,
    "one_vs_rest": one_vs_rest_value,
    "quadratic": quadratic_value,
}


def surrogate_value(
    route: str, f: ArrayLike, y: int, L: ArrayLike, w: float = 1.0, alpha: float = 0.5
) -> float:
    """One example's surrogate by route name; alpha is the hybrid's."""
    extra = {"alpha": alpha} if route == "hybrid" else {}
    return VALUES[route](np.asarray(f, dtype=float), y, L, w, **extra)


def constant(route: str, w: float = 1.0) -> float:
    """The constant in ``value = max_mu [<f, mu> + bonus(mu)] - f[y] + constant``."""
    return 0.5 * w**2 if route == "quadratic" else 0.0


# --- the proximal subproblem ----------------------------------------------------------------


class Prox(NamedTuple):
    """Maximum of ``<f, mu> + bonus - s/2 |mu - c|^2``, the maximiser, and its bonus."""

    value: float
    mu: Array
    bonus: float


def solve_qp_reference(
    route: str,
    f: ArrayLike,
    y: int,
    L: ArrayLike,
    s: float = 0.0,
    c: ArrayLike | None = None,
    w: float = 1.0,
    alpha: float = 0.5,
) -> Prox:
    """``max_mu <f, mu> + bonus(mu) - s/2 |mu - c|^2`` by a conic solver (cvxpy, Clarabel).

    ``c`` defaults to zero; ``value`` includes neither ``-f[y]`` nor `constant`. For w != 1 the
    log part is ``mu = w pi + (1 - w) e_y`` with bonus ``w H(pi)``, and the quadratic's bonus is
    ``-|mu - (1 - w) e_y|^2 / 2``: the forms that give gradient ``mu - e_y``.
    """
    import cvxpy as cp

    f = np.asarray(f, dtype=float)
    k = len(f)
    truth = np.eye(k)[y]
    others = 1.0 - truth
    L = np.asarray(L, dtype=float)
    D_y = label_costs(L)[:, y]
    centre = np.zeros(k) if c is None else np.asarray(c, dtype=float)

    def simplex() -> tuple[Any, list[Any]]:
        v = cp.Variable(k)
        return v, [v >= 0, cp.sum(v) == 1]

    constraints: list[Any]
    if route == "adversarial":
        mu, constraints = simplex()
        bonus = w * cp.min(L @ mu)
    elif route in ("hinge", "crammer_singer"):
        mu, constraints = simplex()
        bonus = w * ((D_y if route == "hinge" else others) @ mu)
    elif route == "log":
        pi, constraints = simplex()
        mu, bonus = w * pi + (1 - w) * truth, w * cp.sum(cp.entr(pi))
    elif route == "hybrid":
        pi, soft = simplex()
        nu, hard = simplex()
        constraints = soft + hard
        mu = alpha * (w * pi + (1 - w) * truth) + (1 - alpha) * nu
        bonus = alpha * w * cp.sum(cp.entr(pi)) + (1 - alpha) * w * (D_y @ nu)
    elif route == "weston_watkins":
        d = cp.Variable(k)
        constraints = [d >= 0, d <= others]
        mu, bonus = truth + d - cp.sum(d) * truth, w * (D_y @ d)
    elif route == "lee_lin_wahba":
        d = cp.Variable(k)
        constraints = [d >= 0, d <= w * D_y * others]
        mu, bonus = truth + d - cp.sum(d) / k, cp.sum(d)
    elif route == "one_vs_rest":
        d = cp.Variable(k)
        constraints = [d >= 0, d <= w]
        mu, bonus = truth + cp.multiply(others - truth, d), cp.sum(d)
    elif route == "quadratic":
        mu, constraints = cp.Variable(k), []
        bonus = -0.5 * cp.sum_squares(mu - (1 - w) * truth)
    else:
        raise ValueError(f"unknown route {route!r}")
    objective = f @ mu + bonus
    if s > 0:
        objective = objective - 0.5 * s * cp.sum_squares(mu - centre)
    problem = cp.Problem(cp.Maximize(objective), constraints)
    solve_conic(problem)
    return Prox(float(problem.value), np.asarray(mu.value, dtype=float), float(bonus.value))


def solve_conic(problem: Any) -> None:
    """Solve a cvxpy problem with Clarabel to 1e-10, at worst to 1e-8, or raise."""
    for tol in (1e-10, 1e-9, 1e-8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # cvxpy's "may be inaccurate"
            problem.solve(solver="CLARABEL", tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
        if problem.status == "optimal":
            return
    raise RuntimeError(f"Clarabel: {problem.status}")
