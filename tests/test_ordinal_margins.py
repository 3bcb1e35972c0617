"""All-threshold, immediate-threshold and reduction routes as functions of scores."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pytest

import concordant as cc
from concordant.losses import Absolute, CostMatrix, Squared, ZeroOne
from concordant.structures import Label, LabelCosts
from concordant.surrogates import ORDERED, AllThreshold, ImmediateThreshold, Reduction
from tests.reference import solve_conic
from tests.reference_training import route_values, threshold_weights
from tests.test_blocks import dot, optimality_gap, random_rows, size_of

BASES = ("hinge", "logistic", "squared_hinge")
ROUTES = {f"{name} {base}": cls(base) for name, cls in ORDERED.items() for base in BASES}
PHI = {
    "hinge": lambda z: np.maximum(1.0 - z, 0.0),
    "logistic": lambda z: np.logaddexp(0.0, -z),
    "squared_hinge": lambda z: np.maximum(1.0 - z, 0.0) ** 2,
}


def pinball(k):
    away = np.arange(k)[:, None] - np.arange(k)
    return np.where(away < 0, -0.3, 0.7) * away


def losses(k):
    return [Absolute(), Squared(), ZeroOne(), CostMatrix(pinball(k))]


def textbook(name, scores, y, D):
    """One threshold of one example at a time."""
    route, base = name.split()
    weights = threshold_weights(route, D)
    out = []
    for f, label in zip(scores, y, strict=True):
        total = 0.0
        for j in range(len(f) - 1):
            sign = 1.0 if label > j else -1.0
            total += weights[j, label] * PHI[base](sign * (f[j + 1] - f[j]))
        out.append(total)
    return np.array(out)


@pytest.mark.parametrize("name", ROUTES)
def test_values_and_slopes_are_those_of_the_formula(name):
    rng = np.random.default_rng(0)
    for k in (2, 3, 6):
        for loss in losses(k):
            scores, y = 2.0 * rng.normal(size=(30, k)), rng.integers(0, k, 30)
            found, slope = cc.surrogates.evaluate(ROUTES[name], scores, y, loss=loss)
            D = loss.matrix(k)
            np.testing.assert_allclose(found, textbook(name, scores, y, D), rtol=1e-12, atol=1e-12)
            for j in range(k):
                step = 1e-6 * np.eye(k)[j]
                rise = textbook(name, scores + step, y, D) - textbook(name, scores - step, y, D)
                np.testing.assert_allclose(slope[:, j], rise / 2e-6, atol=2e-6 * D.max())


@pytest.mark.parametrize("name", ROUTES)
def test_slopes_are_subgradients_at_kinks(name):
    rng = np.random.default_rng(1)
    scores, y = rng.integers(-1, 2, (60, 4)).astype(float), rng.integers(0, 4, 60)
    here, slope = cc.surrogates.evaluate(ROUTES[name], scores, y, loss="squared")
    for _ in range(20):
        move = rng.normal(size=scores.shape) * 10.0 ** rng.uniform(-3, 1)
        there = cc.surrogates.evaluate(ROUTES[name], scores + move, y, loss="squared")[0]
        assert (there >= here + dot(slope, move) - 1e-9 * (1.0 + np.abs(there))).all()


def centres(route, k, n, y, rng):
    """Vertices, mixtures and answers, in the route's polytope."""
    at = [route.solve(3 * rng.normal(size=(n, k)), y).mu for _ in range(2)]
    share = rng.random((n, 1))
    share[::3] = 1.0
    centre = share * at[0] + (1 - share) * at[1]
    centre[1::5] = np.eye(k)[y[1::5]]
    return centre


@pytest.mark.parametrize("name", ROUTES)
def test_proximal_question_is_solved_exactly(name):
    """9 routes x 4 losses x 6 numbers of labels x 2 centres x 60 rows: 25,920 cases."""
    rng = np.random.default_rng(2)
    n = 60
    for k in (1, 2, 3, 5, 8, 13):
        for loss in losses(k):
            route = ROUTES[name].bind(Label(n, k), loss.matrix(k))
            scores, y, _ = random_rows(k, n, rng)
            w, strength = np.ones(n), 10.0 ** rng.uniform(-3, 3, n)
            for centre in (centres(route, k, n, y, rng), None):
                answer = route.solve(scores, y, None, strength, centre)
                anchor = np.zeros_like(scores) if centre is None else centre
                gap = optimality_gap(route, scores, y, w, strength, anchor, answer)
                size = size_of(route, scores, w, strength, k) * route.scale
                assert (np.abs(gap) <= 1e-9 * size).all(), (gap / size).max()
                own = route.bonus(answer.mu, y)
                assert (np.abs(own - answer.bonus) <= 1e-9 * size).all()


@pytest.mark.parametrize("name", ROUTES)
def test_proximal_question_against_a_conic_solver(name):
    """Its dual form: minimise the value at x plus the squared distance of x from f + s c."""
    rng = np.random.default_rng(3)
    k, n = 5, 3
    loss = Squared()
    route = ROUTES[name].bind(Label(n, k), loss.matrix(k))
    scores, y = rng.normal(size=(n, k)), rng.integers(0, k, n)
    strength, centre = np.array([0.2, 1.0, 4.0]), centres(route, k, n, y, rng)
    _, mu, bonus = route.solve(scores, y, None, strength, centre)
    ours = dot(scores, mu) + bonus - 0.5 * strength * dot(mu - centre, mu - centre)
    for i in range(n):
        x = cp.Variable((1, k))
        D = loss.matrix(k)
        values, _ = route_values(name, x, y[i : i + 1], D, D, np.ones(1))
        away = x[0] - scores[i] - strength[i] * centre[i]
        goal = values[0] + x[0, y[i]] + cp.sum_squares(away) / (2 * strength[i])
        problem = cp.Problem(cp.Minimize(goal))
        solve_conic(problem)
        shift = 0.5 * strength[i] * centre[i] @ centre[i]
        assert ours[i] + shift == pytest.approx(problem.value, abs=1e-6)


@pytest.mark.parametrize("name", ROUTES)
def test_proximal_question_at_the_ends(name):
    """Huge strengths stay, tiny ones are the plain question, huge scores stay finite."""
    rng = np.random.default_rng(4)
    k, n = 6, 40
    route = ROUTES[name].bind(Label(n, k), Squared().matrix(k))
    y, scores = rng.integers(0, k, n), rng.normal(size=(n, k))
    centre = centres(route, k, n, y, rng)
    np.testing.assert_allclose(route.solve(scores, y, None, 1e12, centre).mu, centre, atol=1e-9)
    nearly = route.solve(scores, y, None, 1e-7, centre)
    plain = route.solve(scores, y).upper
    np.testing.assert_allclose(dot(scores, nearly.mu) + nearly.bonus, plain, atol=1e-3)
    for scale in (1e-12, 1e9, 1e15, 1e100):
        huge = scale * scores
        huge[::5] = 0.0
        for strength in (1e-6, 1.0, 1e6):
            upper, mu, bonus = route.solve(huge, y, None, strength, centre)
            assert np.isfinite(upper).all()
            assert np.isfinite(mu).all()
            gain = dot(huge, mu) + bonus - 0.5 * strength * dot(mu - centre, mu - centre)
            stay = dot(huge, centre) + route.bonus(centre, y)
            size = route.scale * (np.abs(huge).max(axis=1) + strength + 1.0)
            assert (gain >= stay - 1e-9 * size * np.maximum(np.abs(mu).max(axis=1), 1.0)).all()


@pytest.mark.parametrize("name", ROUTES)
def test_the_repair_balances_the_classes_inside_the_polytope(name):
    rng = np.random.default_rng(5)
    k, n = 5, 50
    route = ROUTES[name].bind(Label(n, k), Absolute().matrix(k))
    y, weight = rng.integers(0, k, n), rng.uniform(0.1, 2.0, n)
    mu = route.solve(rng.normal(size=(n, k)), y).mu
    repaired = ROUTES[name].balance(mu, y, weight, np.ones(n))
    np.testing.assert_allclose(weight @ repaired, np.bincount(y, weight, k), atol=1e-9)
    # Inside: a point of the polytope gains at most the value at any scores.
    for _ in range(10):
        scores = 3.0 * rng.normal(size=(n, k))
        upper = route.solve(scores, y).upper
        assert (dot(scores, repaired) + route.bonus(repaired, y) <= upper + 1e-9).all()


def test_two_labels_are_one_threshold():
    rng = np.random.default_rng(6)
    scores, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
    for name in ORDERED:
        found = cc.surrogates.evaluate(name, scores, y, loss="absolute")[0]
        log = cc.surrogates.evaluate("log", scores, y, loss="absolute")[0]
        np.testing.assert_allclose(found, log)


def test_under_absolute_loss_the_reduction_is_all_threshold():
    rng = np.random.default_rng(7)
    scores, y = rng.normal(size=(20, 5)), rng.integers(0, 5, 20)
    both = [cc.surrogates.evaluate(name, scores, y, loss="absolute")[0] for name in ORDERED]
    np.testing.assert_array_equal(both[0], both[2])
    assert (both[1] <= both[0]).all()


def test_weights_of_ones_own():
    weighting = np.arange(6.0).reshape(2, 3)
    route = Reduction("hinge", weighting)
    found = cc.surrogates.evaluate(route, np.zeros((3, 3)), [0, 1, 2], loss="absolute")[0]
    np.testing.assert_allclose(found, weighting.sum(axis=0))
    for bad, message in (
        (np.ones((3, 3)), r"shape \(2, 3\), got \(3, 3\)"),
        (-weighting, r"weighting\[0, 1\] = -1"),
        (np.full((2, 3), np.nan), r"weighting\[0, 0\] = nan"),
    ):
        with pytest.raises(ValueError, match=message):
            cc.surrogates.evaluate(Reduction(weighting=bad), [[0.0] * 3], [0], loss="absolute")


@pytest.mark.parametrize("cls", [AllThreshold, ImmediateThreshold, Reduction])
def test_an_unknown_base_is_named(cls):
    with pytest.raises(ValueError, match="exponential"):
        cc.surrogates.evaluate(cls("exponential"), [[0.0, 1.0]], [0])


# --- decisions -------------------------------------------------------------------------------


def test_predictions_count_the_thresholds_passed():
    rng = np.random.default_rng(8)
    scores = rng.normal(size=(200, 6))
    passed = (np.diff(scores, axis=1) > 0).sum(axis=1)
    costs = LabelCosts(Absolute().matrix(6))
    for route in (AllThreshold(), Reduction()):
        np.testing.assert_array_equal(route.decision(costs, scores).argmax(axis=1), passed)
    largest = ImmediateThreshold().decision(costs, scores).argmax(axis=1)
    np.testing.assert_array_equal(largest, scores.argmax(axis=1))


def test_probabilities_are_differences_of_the_odds():
    gaps = np.array([[2.0, 0.5, -1.0]])
    scores = np.concatenate([np.zeros((1, 1)), np.cumsum(gaps, axis=1)], axis=1)
    above = 1.0 / (1.0 + np.exp(-gaps[0]))
    expected = [1 - above[0], above[0] - above[1], above[1] - above[2], above[2]]
    found = AllThreshold().probabilities(LabelCosts(Absolute().matrix(4)), scores)
    np.testing.assert_allclose(found, [expected])
    assert AllThreshold("hinge").probabilities(LabelCosts(np.eye(4)), scores) is None


# --- consistency: minimise the conditional risk, one gap at a time ---------------------------


def grid(k, steps):
    cells = itertools.product(range(1, steps), repeat=k)
    return np.array([c for c in cells if sum(c) == steps]) / steps


def best_scores(route, L, d):
    """Scores of least conditional risk: it is a sum over gaps, each searched on a grid."""
    k = len(d)
    gaps = np.linspace(-4.0, 4.0, 161)
    weights = route.weights(LabelCosts(L))
    phi = PHI[route.base]
    best = []
    for j in range(k - 1):
        above, below = weights[j, j + 1 :] @ d[j + 1 :], weights[j, : j + 1] @ d[: j + 1]
        risk = above * phi(gaps) + below * phi(-gaps)
        best.append(gaps[risk.argmin()])
    return np.concatenate([[0.0], np.cumsum(best)])


@pytest.mark.parametrize("base", BASES)
def test_what_is_called_consistent_decides_like_bayes(base):
    """Theorems of Pedregosa et al. (2017) and Li and Lin (2007), on a grid of distributions."""
    cases = [
        (AllThreshold(base), Absolute().matrix(4)),
        (Reduction(base), Absolute().matrix(4)),
        (Reduction(base), Squared().matrix(4)),
        (Reduction(base), pinball(4)),
    ]
    for route, L in cases:
        costs = LabelCosts(L)
        assert route.consistency(costs, {}).startswith("Consistent")
        for d in grid(4, 9):
            expected = L @ d
            if np.sort(expected)[1] - expected.min() < 1e-9:
                continue
            action = route.decision(costs, best_scores(route, L, d)[None]).argmax()
            assert action == expected.argmin()


def test_probabilities_of_all_threshold_are_right_in_the_limit():
    """At the least risk of the logistic base they are the label distribution itself."""
    for d in grid(4, 7):
        above = 1.0 - np.cumsum(d)[:-1]
        scores = np.concatenate([[0.0], np.cumsum(np.log(above / (1.0 - above)))])
        near = best_scores(AllThreshold(), Squared().matrix(4), d)
        np.testing.assert_allclose(near, scores, atol=0.15)
        found = AllThreshold().probabilities(LabelCosts(Squared().matrix(4)), scores[None])
        np.testing.assert_allclose(found[0], d)


def test_immediate_thresholds_with_a_logistic_base_find_the_mode():
    route, L = ImmediateThreshold(), ZeroOne().matrix(4)
    costs = LabelCosts(L)
    assert route.consistency(costs, {}).startswith("Consistent")
    for d in grid(4, 9):
        if np.sort(d)[-1] - np.sort(d)[-2] < 1e-9:
            continue
        assert route.decision(costs, best_scores(route, L, d)[None]).argmax() == d.argmax()


def test_what_is_not_consistent_is_not_called_so():
    zero_one, squared = LabelCosts(ZeroOne().matrix(3)), LabelCosts(Squared().matrix(3))
    assert AllThreshold("hinge").consistency(squared, {}).startswith("Not")
    assert AllThreshold().consistency(squared, {}).startswith("Consistent for every loss")
    assert ImmediateThreshold("hinge").consistency(zero_one, {}).startswith("Not")
    assert Reduction().consistency(zero_one, {}).startswith("Not")
