"""Equilibria of the game under every family of costs, proved by their own certificates."""

from __future__ import annotations

import importlib
import pkgutil
from fractions import Fraction

import numpy as np
import pytest

import concordant as cc
from concordant.losses import LOSSES, CostMatrix, find_loss
from concordant.oracles import games
from concordant.oracles.blocks import compile_play, play_rows
from concordant.oracles.games import find, matrix
from tests.reference import game_certificate, game_exact, game_lp, simplex_violation

ALPHAS = (0.02, 0.3, 0.5, 0.55, 0.6, 2 / 3, 0.75, 0.8, 0.9, 0.99, 1.0, 1.5)
TOLERANCE = 1e-12  # of the largest cost; the promise is 1e-9


def distance(k):
    return np.arange(k)[:, None] - np.arange(k)


def convex_columns(steps):
    """Columns with these increments between rows, sorted to be convex; the least cost is 0."""
    costs = np.vstack([np.zeros(steps.shape[1]), np.cumsum(np.sort(steps, axis=0), axis=0)])
    return costs - costs.min()


def pinball(k, rng):
    d, tau = distance(k), rng.uniform(0.05, 0.45)
    return np.where(d < 0, -tau * d, (1 - tau) * d)


def huber(k, rng):
    d, delta = np.abs(distance(k)), rng.uniform(0.3, 1.7)
    return np.where(d <= delta, 0.5 * d**2, delta * (d - 0.5 * delta))


def abstention(k, rng, alpha=None):
    alpha = rng.choice(ALPHAS) if alpha is None else alpha
    return rng.choice([1.0, 0.3, 7.0]) * np.vstack([1 - np.eye(k), np.full(k, alpha)])


def strict(k, rng):
    """A square matrix whose right answers are cheapest."""
    return rng.random((k, k)) + 0.5 - 0.5 * np.eye(k) * rng.random(k)


# name -> (family expected for k > 2, costs for k labels)
FAMILIES = {
    "zero_one": ("zero_one", lambda k, rng: rng.choice([1.0, 0.3, 7.0]) * (1 - np.eye(k))),
    "label weights": ("weighted", lambda k, rng: rng.uniform(0.1, 3, k) * (1 - np.eye(k))),
    "abstention": ("abstention", abstention),
    "absolute": ("convex", lambda k, rng: np.abs(distance(k)) * rng.choice([1.0, 2.5])),
    "squared": ("convex", lambda k, rng: distance(k) ** 2 * rng.choice([1.0, 0.37])),
    "pinball": ("convex", pinball),
    "huber": ("convex", huber),
    "convex": ("convex", lambda k, rng: convex_columns(rng.normal(size=(rng.integers(1, 9), k)))),
    "convex ties": (
        "convex",
        lambda k, rng: convex_columns(1.0 * rng.integers(-2, 3, (rng.integers(1, 6), k))),
    ),
    "two actions": ("convex", lambda k, rng: rng.random((2, k))),
    "square": ("matrix", lambda k, rng: rng.random((k, k))),
    "strict": ("matrix", strict),
    "rectangular": ("matrix", lambda k, rng: 3 * rng.random((rng.integers(3, 13), k))),
    "one action": ("matrix", lambda k, rng: rng.random((1, k))),
    "integer ties": (None, lambda k, rng: 1.0 * rng.integers(0, 3, (rng.integers(1, 9), k))),
    "no cost": (None, lambda k, rng: np.zeros((rng.integers(1, 4), k))),
}


def hard_scores(k, rng, n=3):
    """Rows of scores at every scale, with ties, parabolas and labels that are out of reach."""
    scales = [1e-9, 1e-6, 1e-3, 0.1, 1.0, 1.0, 3.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e300]
    rows = [scale * rng.normal(size=(n, k)) for scale in scales]
    j = np.arange(k)
    rows.append([np.zeros(k), -1.0 * j**2, -1.0 * j, 1.0 * j, -0.37 * j**2, -2.5 * j])
    rows.append(rng.integers(-2, 3, (n, k)))
    rows.append(rng.integers(-4, 5, (n, k)) / 4)
    for shift in (2.0**49, -(2.0**49)):  # these sums are exact: nothing may change
        rows.append(rng.integers(-8, 9, (n, k)) / 8 + shift)
    for low in (-1e30, -1e300):
        rows.append(np.where(rng.random((n, k)) < 0.4, low, rng.normal(size=(n, k))))
    rows.append([np.full(k, 1e300), np.full(k, -1e300), 1e15 * (j == k - 1), -1e300 * (j > 0)])
    return np.vstack(rows)


def moderate_scores(k, rng, n):
    return np.vstack([rng.normal(size=(n, k)), rng.integers(-2, 3, (n, k)), np.zeros((1, k))])


def play(costs, scores):
    """The equilibria of these scores; checked to be well-formed."""
    p, q, value = cc.surrogates.equilibrium(scores, loss=CostMatrix(costs))
    assert p.shape == (len(scores), costs.shape[0])
    assert q.shape == scores.shape
    assert value.shape == (len(scores),)
    assert simplex_violation(p) <= 1e-14
    assert simplex_violation(q) <= 1e-14
    return p, q, value


def run_family(family, costs, scores):
    """The same by one family's own kernel."""
    params = np.asarray(family.recognise(costs), dtype=float)
    (r, k), n = costs.shape, len(scores)
    p, q, value = np.empty((n, r)), np.empty((n, k)), np.empty(n)
    work = np.full(family.scratch(r, k), np.nan)  # nobody may rely on what is in there
    kernel = compile_play(family.play)
    play_rows(kernel, np.ascontiguousarray(scores), params, costs, work, p, q, value)
    return p, q, value


def check_certificate(costs, scores, p, q, value):
    gap = game_certificate(scores, costs, p, q)
    assert np.abs(gap).max() <= TOLERANCE * costs.max()
    top = scores.max(axis=1)
    relative = ((p @ costs) + (scores - top[:, None])).max(axis=1)
    rounding = 4e-16 * np.abs(top)  # of a number of this size
    assert (np.abs(value - (top + relative)) <= TOLERANCE * costs.max() + rounding).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_equilibria_prove_themselves(name):
    """16 families x 12 numbers of labels x 2 matrices x 65 rows of scores: 24,960 games."""
    rng = np.random.default_rng(0)
    n_games = 0
    for k in range(1, 13):
        for _ in range(2):
            costs, scores = FAMILIES[name][1](k, rng), hard_scores(k, rng)
            check_certificate(costs, scores, *play(costs, scores))
            n_games += len(scores)
    assert n_games > 1500


@pytest.mark.parametrize("size", [1e-20, 1e-5, 1e7, 1e100])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_unit_of_costs_does_not_matter(name, size):
    rng = np.random.default_rng(12)
    for k in (2, 3, 6, 12):
        costs = size * FAMILIES[name][1](k, rng)
        scores = size * np.vstack([moderate_scores(k, rng, 6), 30 * moderate_scores(k, rng, 3)])
        check_certificate(costs, scores, *play(costs, scores))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_abstention_at_every_price(alpha):
    rng = np.random.default_rng(1)
    for k in range(2, 13):
        costs, scores = abstention(k, rng, alpha), hard_scores(k, rng, n=2)
        check_certificate(costs, scores, *play(costs, scores))


@pytest.mark.parametrize("name", FAMILIES)
def test_values_agree_with_linear_programs(name):
    """16 families x 8 numbers of labels x 80 rows of scores: 10,240 games."""
    rng = np.random.default_rng(2)
    n_games = 0
    for k in (1, 2, 3, 4, 5, 7, 9, 12):
        costs = FAMILIES[name][1](k, rng)
        scores = np.vstack([hard_scores(k, rng), moderate_scores(k, rng, 7)])[-80:]
        value = play(costs, scores)[2]
        for f, v in zip(scores, value, strict=True):
            expected = game_lp(f, costs)[0]
            assert abs(v - expected) <= 1e-9 * max(abs(expected), costs.max(), 1e-300)
        n_games += len(scores)
    assert n_games == 640


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("w", [0.0, 1e-9, 1e-3, 0.7, 3.0, 1e6])
def test_weights_multiply_the_loss_inside_the_game(name, w):
    """The value with weight w is ``w G(f/w)``, and the gradient is the adversary who gets it."""
    rng = np.random.default_rng(11)
    for k in (1, 2, 3, 5, 8):
        costs, scores = FAMILIES[name][1](k, rng), hard_scores(k, rng, n=1)
        scores = scores[np.abs(scores).max(axis=1) < 1e100]
        scores = scores - scores.max(axis=1, keepdims=True)
        y = rng.integers(0, k, len(scores))
        weight = np.full(len(scores), w)
        value, q = cc.surrogates.evaluate(
            "adversarial", scores, y, loss=CostMatrix(costs), loss_weight=weight
        )
        rows = np.arange(len(scores))
        value += scores[rows, y]
        q[rows, y] += 1.0
        assert simplex_violation(q) <= 1e-14
        expected = w * play(costs, scores / w)[2] if w > 0.0 else np.zeros(len(scores))
        played = np.where(q > 0.0, q * scores, 0.0).sum(axis=1)
        attained = played + w * (q @ costs.T).min(axis=1)
        # `value` was less the true label's score: its rounding is of that size
        slack = TOLERANCE * w * costs.max() + 4e-16 * np.abs(scores[rows, y])
        assert (np.abs(value - expected) <= slack).all()
        assert (np.abs(attained - expected) <= slack).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_values_agree_with_exact_enumeration(name):
    rng = np.random.default_rng(3)
    for k in (1, 2, 3):
        costs = FAMILIES[name][1](k, rng)[-4:]
        scores = moderate_scores(k, rng, 1)
        value = play(costs, scores)[2]
        for f, v in zip(scores, value, strict=True):
            exact = game_exact(f, costs)
            assert abs(Fraction(float(v)) - exact) <= 1e-14 * max(abs(exact), costs.max())


def test_the_pair_formula_does_not_extend_beyond_one_half():
    abstain = np.vstack([1 - np.eye(2), np.full(2, 0.6)])
    assert play(abstain, np.zeros((1, 2)))[2].tolist() == [0.5]


def test_the_predictor_under_zero_one_loss_is_the_sparsemax():
    p, q, value = play(1 - np.eye(3), np.array([[0.5, 0.2, -1.0]]))
    np.testing.assert_allclose(p, [[0.65, 0.35, 0.0]], atol=1e-15)
    np.testing.assert_allclose(q, [[0.5, 0.5, 0.0]], atol=1e-15)
    np.testing.assert_allclose(value, [0.85], atol=1e-15)


def test_strategies_do_not_depend_on_the_level_of_the_scores():
    rng = np.random.default_rng(4)
    scores = rng.integers(-8, 9, (20, 4)) / 8
    for name, (_, make) in FAMILIES.items():
        costs = make(4, rng)
        p, q, value = play(costs, scores)
        for shift in (2.0**49, -(2.0**49)):
            shifted = play(costs, scores + shift)
            assert np.array_equal(shifted[0], p), name
            assert np.array_equal(shifted[1], q), name
            np.testing.assert_allclose(shifted[2], value + shift, rtol=4e-16)


# --- which family solves what ---------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, (family, _) in FAMILIES.items() if family])
def test_the_expected_family_is_found(name):
    expected, make = FAMILIES[name]
    rng = np.random.default_rng(5)
    for k in (3, 4, 7, 12):
        family, params = find(make(k, rng))
        assert family.__name__ == f"{games.__name__}.{expected}"
        assert params.dtype == float


def test_named_losses_find_their_closed_forms():
    closed = {
        "zero_one": ("zero_one", [1.0]),
        "absolute": ("convex", [1.0, 1.0]),
        "squared": ("convex", [2.0, 1.0]),
    }
    assert closed.keys() == LOSSES.keys()
    for name, (family, params) in closed.items():
        found = find(find_loss(name).matrix(5))
        assert found[0].__name__ == f"{games.__name__}.{family}"
        assert found[1].tolist() == params


def test_every_family_is_met_in_these_tests():
    modules = {m.name for m in pkgutil.iter_modules(games.__path__)}
    assert modules == {family for family, _ in FAMILIES.values() if family}


@pytest.mark.parametrize("name", [n for n, (f, _) in FAMILIES.items() if f not in (None, "matrix")])
def test_special_families_agree_with_the_general_one(name):
    rng = np.random.default_rng(6)
    for k in (3, 4, 7, 12):
        costs = FAMILIES[name][1](k, rng)
        scores = hard_scores(k, rng, n=2)
        family = importlib.import_module(f"{games.__name__}.{FAMILIES[name][0]}")
        special, general = run_family(family, costs, scores), run_family(matrix, costs, scores)
        for solved in (special, general):
            check_certificate(costs, scores, *solved)
        slack = TOLERANCE * costs.max() + 4e-16 * np.abs(scores).max(axis=1)
        assert (np.abs(special[2] - general[2]) <= slack).all()


def test_a_family_declines_costs_that_only_look_like_its_own():
    """One cell changed: still solved, and never by the closed form it resembles."""
    rng = np.random.default_rng(7)
    for name in ("zero_one", "label weights", "abstention", "absolute", "squared"):
        costs = FAMILIES[name][1](4, rng)
        for cell in [(0, 1), (1, 0), (3, 2), (2, 2), (costs.shape[0] - 1, 3)]:
            changed = costs.copy()
            changed[cell] += 0.7
            scores = moderate_scores(4, rng, 5)
            check_certificate(changed, scores, *play(changed, scores))


# --- screening ------------------------------------------------------------------------------


def screened(costs, f, weight=1.0):
    kept = np.empty(len(f))
    number = matrix.screen(f, matrix.recognise(costs), weight, kept)
    return kept[:number].astype(int).tolist()


def test_screening_drops_exactly_the_labels_that_another_one_beats_everywhere():
    rng = np.random.default_rng(8)
    dropped = 0
    for i in range(200):
        r, k = rng.integers(1, 7, size=2)
        weight = (0.5, 1.0, 2.0)[i % 3]
        integer = i % 2
        costs = 1.0 * rng.integers(0, 4, (r, k)) if integer else rng.random((r, k))
        f = 1.0 * rng.integers(-3, 4, k) if integer else rng.normal(size=k)
        pay = weight * costs + f
        beaten = [any((pay[:, i] > pay[:, j]).all() for i in range(k)) for j in range(k)]
        kept = screened(costs, f, weight)
        assert kept == [j for j in range(k) if not beaten[j]]
        if 0 < len(kept) < k:
            whole = game_lp(f, costs, weight)[0]
            assert game_lp(f[kept], costs[:, kept], weight)[0] == pytest.approx(whole, abs=1e-12)
            dropped += k - len(kept)
    assert dropped > 50


def test_a_label_that_is_only_tied_is_kept():
    assert screened(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.0])) == [0, 1]
    assert screened(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([1.0, -0.1])) == [0]
    assert screened(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([0.9, 0.0])) == [1]


def test_the_largest_score_always_stays_somewhere_near():
    """Dominance can never drop all labels, at any scale."""
    rng = np.random.default_rng(9)
    for scale in (0.0, 1e-9, 1.0, 1e9, 1e300):
        for _ in range(20):
            costs = rng.random((3, 6))
            assert screened(costs, scale * rng.normal(size=6))


# --- the plain function ---------------------------------------------------------------------


def test_batches_equal_single_rows_and_any_layout():
    rng = np.random.default_rng(10)
    for _, make in FAMILIES.values():
        costs = make(5, rng)
        scores = rng.normal(size=(30, 5))
        whole = play(costs, scores)
        for i in range(0, 30, 7):
            for part, all_ in zip(play(costs, scores[i : i + 1]), whole, strict=True):
                assert np.array_equal(part[0], all_[i])
        frozen = np.asfortranarray(scores)
        frozen.flags.writeable = False
        before = frozen.copy()
        for part, all_ in zip(play(costs, frozen), whole, strict=True):
            assert np.array_equal(part, all_)
        assert np.array_equal(frozen, before)


def test_no_rows_and_integer_scores():
    p, q, value = cc.surrogates.equilibrium(np.empty((0, 3)), loss="zero_one")
    assert (p.shape, q.shape, value.shape) == ((0, 3), (0, 3), (0,))
    assert cc.surrogates.equilibrium([[0, 0, 0, 0]], loss="zero_one")[2].tolist() == [0.75]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_named(bad):
    scores = np.zeros((3, 2))
    scores[2, 1] = bad
    with pytest.raises(ValueError, match=rf"scores\[2, 1\] = {bad} is not finite"):
        cc.surrogates.equilibrium(scores, loss="zero_one")


@pytest.mark.parametrize("shape", [(3,), (2, 0), (1, 2, 2)])
def test_scores_are_a_table(shape):
    with pytest.raises(ValueError, match=r"scores must have shape \(n, k\)"):
        cc.surrogates.equilibrium(np.zeros(shape), loss="zero_one")


def test_a_cost_matrix_of_another_width_is_refused():
    with pytest.raises(ValueError, match="2 columns, but there are 3 classes"):
        cc.surrogates.equilibrium(np.zeros((1, 3)), loss=CostMatrix(np.eye(2)))
