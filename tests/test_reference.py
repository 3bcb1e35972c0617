"""The referees agree with each other, and with outside truth where there is any."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.reference import (
    ROUTES,
    constant,
    game_certificate,
    game_exact,
    game_exact_solution,
    game_lp,
    label_costs,
    simplex_violation,
    solve_qp_reference,
    surrogate_value,
)
from tests.reference_training import conic_optimum, kernel_features, primal_objective

ZERO_ONE = 1.0 - np.eye(3)
RECTANGULAR = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [4.0, 1.5, 0.0], [0.7, 0.6, 0.8]])


def tiny_games(n_games=60):
    """Games up to 4 x 4: continuous, integer with many ties, all-equal scores, exact parabolas."""
    rng = np.random.default_rng(0)
    for i in range(n_games):
        r, k = rng.integers(1, 5, size=2)
        kind = i % 5
        if kind == 0:
            yield rng.normal(size=k), rng.random((r, k)), float(rng.uniform(0.2, 3))
        elif kind == 1:
            yield rng.integers(-2, 3, size=k).astype(float), 1.0 * rng.integers(0, 3, (r, k)), 1.0
        elif kind == 2:
            yield np.zeros(k), 1.0 - np.eye(k), 1.0
        elif kind == 3:
            j = np.arange(k)
            yield -1.0 * j**2, 1.0 * (j[:, None] - j) ** 2, 0.5
        else:
            yield rng.normal(size=k) * 10, np.c_[1 - np.eye(k), np.full(k, 0.3)].T, 2.0


def test_linear_program_against_rational_enumeration():
    for f, L, w in tiny_games():
        value, p, q = game_lp(f, L, w)
        exact = game_exact(f, L, w)
        assert abs(value - float(exact)) <= 1e-12 * max(1.0, abs(float(exact)))
        assert simplex_violation(p) <= 1e-14
        assert simplex_violation(q) <= 1e-14
        assert abs(game_certificate(f, L, p, q, w)) <= 1e-12 * max(1.0, w * L.max())


def test_games_known_by_hand():
    assert game_exact([0, 0, 0], ZERO_ONE) == Fraction(2, 3)
    abstain = [[0, 1], [1, 0], [Fraction(3, 5), Fraction(3, 5)]]
    assert game_exact([0, 0], abstain) == Fraction(1, 2)  # the published formula says 3/5
    assert game_exact_solution([1, 0], [[0, 1], [1, 0]])[1:] == ([1, 0], [1, 0])
    # sparsemax of (.5, .2, -1) has threshold -.15: the value is .85, p the sparsemax
    value, p, _ = game_lp([0.5, 0.2, -1.0], ZERO_ONE)
    assert value == pytest.approx(0.85, abs=1e-14)
    assert p == pytest.approx([0.65, 0.35, 0.0], abs=1e-14)


@pytest.mark.parametrize("scale", [1e15, 1e300])
def test_linear_program_with_extreme_scores(scale):
    f = np.array([1.0, -1.0, 0.3]) * scale
    value, p, q = game_lp(f, RECTANGULAR)
    assert value == scale
    assert q.tolist() == [1, 0, 0]
    assert game_certificate(f, RECTANGULAR, p, q) == 0
    f = scale + np.zeros(3)
    assert game_certificate(f, ZERO_ONE, *game_lp(f, ZERO_ONE)[1:]) <= 1e-12


def test_certificate_sees_a_wrong_strategy_and_takes_batches():
    rng = np.random.default_rng(1)
    F, w = rng.normal(size=(5, 3)), rng.uniform(0.5, 2, size=5)
    P, Q = (np.array(s) for s in zip(*(game_lp(*a)[1:] for a in zip(F, [RECTANGULAR] * 5, w))))
    assert np.abs(game_certificate(F, RECTANGULAR, P, Q, w)).max() <= 1e-12
    assert (game_certificate(F, RECTANGULAR, np.roll(P, 1, axis=1), Q, w) > 1e-3).all()
    assert simplex_violation([[0.5, 0.5], [0.6, 0.5]]) == pytest.approx(0.1)
    assert simplex_violation([1.2, -0.2]) == pytest.approx(0.2)
    assert simplex_violation([np.nan, 1.0]) == np.inf


def test_label_costs():
    ties = np.array([[0.0, 0.0, 2.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    assert (label_costs(ties) == ties).all()
    assert (label_costs(RECTANGULAR) == RECTANGULAR[:3]).all()
    assert (label_costs(RECTANGULAR[::-1]) == RECTANGULAR[:3]).all()


def test_values_by_hand():
    f, L = np.array([1.0, 0.5, -0.5]), np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    expected = {
        "hinge": 1.0 + 1.0 - 0.5,
        "weston_watkins": 1.5,
        "lee_lin_wahba": 1 * (1 + 2 / 3) + 1 * (1 - 5 / 6),
        "one_vs_rest": 0.5 + 2.0 + 0.5,
        "quadratic": 0.5 * (1 + 0.25 + 0.25),
        "adversarial": 1.25 - 0.5,  # A = 1 at 0, C = 1.5 at 1: (A + C) / 2
        "log": np.log(np.exp(f).sum()) - 0.5,
    }
    expected["crammer_singer"] = expected["hinge"]
    expected["hybrid"] = 0.3 * expected["log"] + 0.7 * expected["hinge"]
    for route in ROUTES:
        assert surrogate_value(route, f, 1, L, alpha=0.3) == pytest.approx(expected[route])


@pytest.mark.parametrize("L", [ZERO_ONE, RECTANGULAR], ids=["zero_one", "rectangular"])
@pytest.mark.parametrize("route", ROUTES)
def test_prox_without_strength_is_the_value_and_its_gradient(route, L):
    rng = np.random.default_rng(2)
    f, y, w, alpha = rng.normal(size=3), 1, 1.6, 0.3
    value = surrogate_value(route, f, y, L, w, alpha)
    shift = constant(route, w) - f[y]
    exact = solve_qp_reference(route, f, y, L, w=w, alpha=alpha)
    assert exact.value + shift == pytest.approx(value, abs=1e-8)
    assert f @ exact.mu + exact.bonus == pytest.approx(exact.value, abs=1e-8)
    small = solve_qp_reference(route, f, y, L, s=1e-5, c=np.eye(3)[y], w=w, alpha=alpha)
    assert value - 1e-3 <= small.value + shift <= value + 1e-8
    slope = exact.mu - np.eye(3)[y]
    for _ in range(20):
        step = rng.normal(size=3) * rng.choice([1e-3, 1.0])
        assert surrogate_value(route, f + step, y, L, w, alpha) >= value + slope @ step - 1e-7


@pytest.mark.parametrize("L", [ZERO_ONE, RECTANGULAR], ids=["zero_one", "rectangular"])
@pytest.mark.parametrize("route", ROUTES)
def test_prox_optimality(route, L):
    """mu solves the proximal problem at f iff it is a maximiser at scores f - s(mu - c)."""
    rng = np.random.default_rng(3)
    for s in (0.2, 3.0):
        f, c, y, w = rng.normal(size=3), rng.normal(size=3), 2, 0.7
        value, mu, bonus = solve_qp_reference(route, f, y, L, s, c, w, 0.6)
        assert value == pytest.approx(f @ mu + bonus - 0.5 * s * ((mu - c) ** 2).sum(), abs=1e-8)
        tilted = f - s * (mu - c)
        unsmoothed = surrogate_value(route, tilted, y, L, w, 0.6) + tilted[y] - constant(route, w)
        assert tilted @ mu + bonus == pytest.approx(unsmoothed, abs=1e-7)


def blobs(n=18, k=3, d=2, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return 2 * rng.normal(size=(k, d))[y] + spread * rng.normal(size=(n, d)), y


@pytest.mark.parametrize("L", [ZERO_ONE, RECTANGULAR], ids=["zero_one", "rectangular"])
@pytest.mark.parametrize("route", ROUTES)
def test_conic_optimum_is_a_minimum_of_the_literal_objective(route, L):
    X, y = blobs()
    rng = np.random.default_rng(4)
    weights = {
        "sample_weight": rng.integers(1, 4, size=len(y)),
        "loss_weight": rng.uniform(0.5, 2, size=len(y)),
        "alpha": 0.3,
    }
    best, W, b = conic_optimum(X, y, L, route, 0.5, **weights)

    def objective(W, b):
        return primal_objective(W, b, X, y, L, route, 0.5, **weights)

    assert objective(W, b) == pytest.approx(best, rel=1e-7)
    for size in (1e-3, 1e-1):
        for _ in range(5):
            moved = objective(W + size * rng.normal(size=W.shape), b + size * rng.normal(size=3))
            assert moved >= best * (1 - 1e-7)


@pytest.mark.parametrize("route", ["adversarial", "hybrid", "one_vs_rest"])
def test_weights_equal_copies(route):
    X, y = blobs(n=12)
    counts = np.arange(12) % 3
    weighted = conic_optimum(X, y, RECTANGULAR, route, sample_weight=counts)[0]
    repeated = conic_optimum(X.repeat(counts, 0), y.repeat(counts), RECTANGULAR, route)[0]
    assert weighted == pytest.approx(repeated, rel=1e-7)


def test_kernel_matrix_of_the_features_gives_the_same_optimum():
    X, y = blobs()
    for route in ("adversarial", "log"):
        linear, W, b = conic_optimum(X, y, RECTANGULAR, route)
        kernel, V, a = conic_optimum(None, y, RECTANGULAR, route, K=X @ X.T)
        assert kernel == pytest.approx(linear, rel=1e-7)
        assert kernel_features(X @ X.T) @ V.T + a == pytest.approx(X @ W.T + b, abs=1e-3)
    with pytest.raises(ValueError, match="positive semidefinite"):
        kernel_features(-np.eye(2))


def test_two_class_adversarial_is_half_the_hinge_where_no_margin_is_below_minus_one():
    X, y = blobs(n=20, k=2, seed=5)
    L = 1.0 - np.eye(2)
    half_hinge, W, b = conic_optimum(X, y, L, "hinge", C=0.5)
    F = X @ W.T + b
    margins = F[np.arange(20), y] - F[np.arange(20), 1 - y]
    assert -1 < margins.min() < 0.9
    assert half_hinge > 0.1
    assert conic_optimum(X, y, L, "adversarial", C=1.0)[0] == pytest.approx(half_hinge, rel=1e-7)
    X, y = blobs(n=20, k=2, seed=5, spread=6.0)  # in general only a lower bound
    assert (
        conic_optimum(X, y, L, "adversarial", C=9.0)[0] > conic_optimum(X, y, L, "hinge", C=4.5)[0]
    )


def test_log_against_sklearn():
    from sklearn.linear_model import LogisticRegression

    X, y = blobs(n=24, spread=2.0)
    sw = np.linspace(0.5, 2, 24)
    best, W, _ = conic_optimum(X, y, ZERO_ONE, "log", C=0.8, sample_weight=sw)
    peer = LogisticRegression(C=0.8, tol=1e-10, max_iter=1000).fit(X, y, sw)
    theirs = primal_objective(
        peer.coef_, peer.intercept_, X, y, ZERO_ONE, "log", 0.8, sample_weight=sw
    )
    assert theirs == pytest.approx(best, rel=1e-8)
    assert peer.coef_ == pytest.approx(W, abs=1e-4)


def test_quadratic_against_ridge():
    X, y = blobs()
    best, W, _ = conic_optimum(X, y, ZERO_ONE, "quadratic", C=0.8, fit_intercept=False)
    ridge = np.linalg.solve(X.T @ X + np.eye(2) / 0.8, X.T @ np.eye(3)[y]).T
    assert pytest.approx(ridge, abs=1e-6) == W
    zero = np.zeros(3)
    assert primal_objective(ridge, zero, X, y, ZERO_ONE, "quadratic", 0.8) == pytest.approx(best)
