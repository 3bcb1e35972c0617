"""Referee for training: the conic-solver optimum of small problems, for every route."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tests.reference import Array, label_costs, solve_conic, surrogate_value

ORDERED = ("all_threshold", "immediate_threshold", "reduction")
QUESTIONS = ("one_sided_regression", "cost_one_vs_one", "cost_one_vs_all", "binary_encoded")
SHIFTED = (
    "one_vs_rest",
    "rejecting_one_vs_rest",
    "quadratic",
    *QUESTIONS,
)  # routes where adding a constant to all scores matters


def kernel_features(K: ArrayLike) -> Array:
    """Features (n, rank) with ``features @ features.T = K``, from the eigenvectors of K."""
    values, vectors = np.linalg.eigh(np.asarray(K, dtype=float))
    if values[0] < -1e-8 * max(values[-1], 1.0):
        raise ValueError(f"K is not positive semidefinite (eigenvalue {values[0]:.3g})")
    keep = values > 1e-12 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])


def conic_optimum(
    X: ArrayLike | None,
    y: ArrayLike,
    L: ArrayLike,
    route: str,
    C: float = 1.0,
    alpha: float = 0.5,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    loss_weight: ArrayLike | None = None,
    K: ArrayLike | None = None,
    l1_ratio: float = 0.0,
    D: ArrayLike | None = None,
) -> tuple[float, Array, Array]:
    """Minimum of ``|W|^2/2 + C sum_i sample_weight_i surrogate_i(W x_i + b)``; W (k, d), b (k,).

    The intercept is not penalised; where a shift of all scores changes nothing it is made to sum
    to zero. For n <= 30 and k <= 5. Every label should occur: with an intercept, the log route
    attains no minimum otherwise.

    With a kernel matrix ``K`` (n, n), X is ignored (pass None) and the features are
    `kernel_features(K)`: W lives there, ``|W|^2 = sum_j alpha_j' K alpha_j`` for scores
    ``K alpha + b``, and the training scores are ``kernel_features(K) @ W.T + b``.

    ``l1_ratio`` r makes the penalty ``(1 - r) |W|^2/2 + r sum_ja |W_ja|``. ``D`` (k, k) are the
    costs of acting on label j when y is the truth, by default `label_costs` of L; where actions are
    labels and a label is not its own cheapest answer, D = L is another choice.
    """
    import cvxpy as cp

    X = np.asarray(X, dtype=float) if K is None else kernel_features(K)
    L = np.asarray(L, dtype=float)
    y = np.asarray(y, dtype=int)
    n, k = len(X), L.shape[1]
    sw = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    w = np.ones(n) if loss_weight is None else np.asarray(loss_weight, dtype=float)
    X, y, sw, w = (a[sw > 0] for a in (X, y, sw, w))  # idle rows only disturb the solver
    n = len(X)
    m = {"cost_one_vs_one": k * (k - 1) // 2, "binary_encoded": int(np.ceil(np.log2(k)))}
    m = m.get(route, k)
    W = cp.Variable((m, X.shape[1]))
    b = cp.Variable(m) if fit_intercept else cp.Constant(np.zeros(m))
    F = X @ W.T + np.ones((n, 1)) @ cp.reshape(b, (1, m), order="C")
    D = label_costs(L) if D is None else np.asarray(D, dtype=float)
    values, constraints = route_values(route, F, y, L, D, w, alpha)
    if fit_intercept and route not in SHIFTED:
        constraints.append(cp.sum(b) == 0)
    penalty = 0.5 * (1 - l1_ratio) * cp.sum_squares(W) + l1_ratio * cp.sum(cp.abs(W))
    problem = cp.Problem(cp.Minimize(penalty + C * (sw @ values)), constraints)
    solve_conic(problem)
    return float(problem.value), np.asarray(W.value), np.asarray(b.value)


def route_values(
    route: str, F: Any, y: Array, L: Array, D: Array, w: Array, alpha: float = 0.5
) -> tuple[Any, list[Any]]:
    """Surrogates of every example as cvxpy expressions of the scores F, and their constraints."""
    import cvxpy as cp

    n, k = len(y), L.shape[1]
    truth = np.eye(k)[y]
    others = 1.0 - truth
    margins = w[:, None] * D[:, y].T  # (n, k): w_i D[j, y_i]
    constraints: list[Any] = []
    name, _, base = route.partition(" ")
    if name in ORDERED:
        c = w[:, None] * threshold_weights(name, D).T[y]
        signs = np.where(np.arange(k - 1) < y[:, None], 1.0, -1.0)
        z = cp.multiply(signs, F[:, 1:] - F[:, :-1])
        phi = {"hinge": cp.pos(1 - z), "squared_hinge": cp.square(cp.pos(1 - z))}
        phi["logistic"] = cp.logistic(-z)
        return cp.sum(cp.multiply(c, phi[base or "logistic"]), axis=1), constraints
    if name in QUESTIONS:
        return question_values(name, F, y, D, w), constraints
    f_y = cp.sum(cp.multiply(truth, F), axis=1)

    def hinge(costs: Array) -> Any:
        return cp.max(F + costs, axis=1) - f_y

    def log() -> Any:
        return cp.multiply(w, cp.log_sum_exp(F, axis=1) - f_y)

    if route == "adversarial":  # max_q min_p of the game = min over p of the best response
        P = cp.Variable((n, L.shape[0]), nonneg=True)
        constraints.append(cp.sum(P, axis=1) == 1)
        values = cp.max(cp.multiply(np.outer(w, np.ones(k)), P @ L) + F, axis=1) - f_y
    elif route == "log":
        values = log()
    elif route in ("hinge", "rejecting_crammer_singer"):
        values = hinge(margins)
    elif route == "crammer_singer":
        values = hinge(w[:, None] * others)
    elif route == "hybrid":
        values = alpha * log() + (1 - alpha) * hinge(margins)
    elif route == "weston_watkins":
        gaps = F - cp.reshape(f_y, (n, 1), order="C") @ np.ones((1, k)) + margins
        values = cp.sum(cp.multiply(others, cp.pos(gaps)), axis=1)
    elif route == "lee_lin_wahba":
        centred = F @ (np.eye(k) - 1.0 / k)
        values = cp.sum(cp.multiply(margins * others, cp.pos(1 + centred)), axis=1)
    elif route in ("one_vs_rest", "rejecting_one_vs_rest"):
        values = cp.multiply(w, cp.sum(cp.pos(1 + cp.multiply(others - truth, F)), axis=1))
    elif route == "quadratic":
        values = 0.5 * cp.sum(cp.square(F - w[:, None] * truth), axis=1)
    else:
        raise ValueError(f"unknown route {route!r}")
    return values, constraints


def threshold_weights(route: str, D: Array) -> Array:
    """What threshold j counts when y is the truth, (k - 1, k), one entry at a time."""
    k = D.shape[1]
    out = np.zeros((k - 1, k))
    for j in range(k - 1):
        for y in range(k):
            if route == "all_threshold":
                out[j, y] = 1.0
            elif route == "immediate_threshold":
                out[j, y] = 1.0 if j in (y - 1, y) else 0.0
            else:
                out[j, y] = abs(D[j + 1, y] - D[j, y])
    return out


def question_values(route: str, F: Any, y: Array, D: Array, w: Array) -> Any:
    """The reductions to questions, one example and one question at a time."""
    import cvxpy as cp

    k = D.shape[1]
    rows = []
    for i, label in enumerate(y):
        c = D[:, label]
        if route == "one_sided_regression":
            signs = np.where(c <= c[label], 1.0, -1.0)  # r = -f: pay where sign (r - c) > 0
            terms = [cp.pos(signs[j] * (-F[i, j] - w[i] * c[j])) for j in range(k)]
        elif route == "cost_one_vs_all":
            right = c <= c[label]
            terms = [
                w[i] * (c.max() * cp.pos(1 - F[i, j]) if right[j] else c[j] * cp.pos(1 + F[i, j]))
                for j in range(k)
            ]
        elif route == "cost_one_vs_one":
            pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
            terms = [
                w[i] * abs(c[a] - c[b]) * cp.pos(1 - np.sign(c[b] - c[a]) * F[i, column])
                for column, (a, b) in enumerate(pairs)
            ]
        else:
            bits = [1 if (label >> j) & 1 else -1 for j in range(F.shape[1])]
            terms = [cp.pos(w[i] - cp.min(cp.hstack([b * F[i, j] for j, b in enumerate(bits)])))]
        rows.append(cp.sum(cp.hstack(terms)))
    return cp.hstack(rows)


def thresholded_optimum(
    X: ArrayLike | None,
    y: ArrayLike,
    L: ArrayLike,
    route: str,
    C: float = 1.0,
    free: bool = True,
    sample_weight: ArrayLike | None = None,
    loss_weight: ArrayLike | None = None,
    K: ArrayLike | None = None,
) -> float:
    """Minimum of ``|w|^2/2 + C sum_i surrogate_i`` over one direction w and offsets of the labels:
    any offsets if free (under immediate thresholds with thresholds in order), else
    ``sum_{l >= j} eta_l`` with ``|eta|^2/2`` in the penalty."""
    import cvxpy as cp

    X = np.asarray(X, dtype=float) if K is None else kernel_features(K)
    y, L = np.asarray(y, dtype=int), np.asarray(L, dtype=float)
    n, k = len(X), L.shape[1]
    sw = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    w = np.ones(n) if loss_weight is None else np.asarray(loss_weight, dtype=float)
    X, y, sw, w = (a[sw > 0] for a in (X, y, sw, w))
    direction = cp.Variable(X.shape[1])
    ranks = np.arange(k) - (k - 1) / 2
    penalty = 0.5 * cp.sum_squares(direction)
    if free:
        offsets = cp.Variable(k)
    else:
        eta = cp.Variable(k - 1)
        offsets = cp.hstack([cp.sum(eta[j:]) if j < k - 1 else 0.0 for j in range(k)])
        penalty += 0.5 * cp.sum_squares(eta)
    F = cp.reshape(X @ direction, (len(X), 1), order="C") @ ranks[None]
    F = F + np.ones((len(X), 1)) @ cp.reshape(offsets, (1, k), order="C")
    values, constraints = route_values(route, F, y, L, label_costs(L), w)
    if free and route not in SHIFTED:
        constraints.append(cp.sum(offsets) == 0)
    if free and route.startswith("immediate_threshold") and k > 2:
        constraints.append(cp.diff(offsets, 2) <= 0)
    problem = cp.Problem(cp.Minimize(penalty + C * (sw @ values)), constraints)
    solve_conic(problem)
    return float(problem.value)


def primal_objective(
    W: ArrayLike,
    b: ArrayLike,
    X: ArrayLike,
    y: ArrayLike,
    L: ArrayLike,
    route: str,
    C: float = 1.0,
    alpha: float = 0.5,
    sample_weight: ArrayLike | None = None,
    loss_weight: ArrayLike | None = None,
) -> float:
    """The training objective at W (k, d), b (k,), one example at a time by `surrogate_value`."""
    W, b, X = (np.asarray(a, dtype=float) for a in (W, b, X))
    n = len(X)
    sw = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    w = np.ones(n) if loss_weight is None else np.asarray(loss_weight, dtype=float)
    total = 0.0
    for i, label in enumerate(np.asarray(y, dtype=int)):
        total += sw[i] * surrogate_value(route, W @ X[i] + b, int(label), L, w[i], alpha)
    return float(0.5 * np.sum(W**2) + C * total)
