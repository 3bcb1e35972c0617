"""Assignments: every oracle against listing, linear and quadratic programs, and certificates."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

import concordant as cc
from concordant.kernels import assignment as kernels
from concordant.losses import Matching
from concordant.oracles import double_oracle
from concordant.structures import Assignments, PairPrices
from concordant.surrogates import SmoothGame
from tests.reference import game_lp, solve_conic
from tests.reference_assignments import hamming, listed_costs, listed_parts, random_batch

Array = np.ndarray
SCALES = (0.0, 0.1, 1.0, 10.0, 1e6)


def square(n: int, size: int = 1) -> Assignments:
    return Assignments(np.full(size, n), np.full(size, n))


def draw_scores(rng: np.random.Generator, batch: Assignments) -> Array:
    """Of any size, now and then with many ties."""
    scores = rng.choice(SCALES) * rng.normal(size=batch.starts[-1])
    return np.round(scores) if rng.random() < 0.3 else scores


# ---- the best assignment ----


@pytest.mark.parametrize("kind", ["normal", "ties", "holes", "huge"])
def test_cheapest_assignment_is_scipys(kind: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        n = int(rng.integers(1, 8))
        m = int(rng.integers(n, 9))
        cost = rng.normal(size=(n, m))
        if kind == "ties":
            cost = rng.integers(0, 3, (n, m)).astype(float)
        elif kind == "huge":
            cost *= 10.0 ** rng.integers(-9, 9, (n, m))
        elif kind == "holes":
            cost[rng.random((n, m)) < 0.3] = np.inf
        _, col_of, _, u, v, _, _ = lap = kernels.lap_scratch(n, m)
        lap[0][...] = cost
        stuck = kernels.assign(lap[0], n, m, *lap[1:])
        try:
            rows, columns = linear_sum_assignment(cost)
        except ValueError:  # infeasible
            assert 0 <= stuck < n
            continue
        best = cost[rows, columns].sum()
        assert stuck == -1
        assert len(set(col_of[:n])) == n
        np.testing.assert_allclose(cost[np.arange(n), col_of[:n]].sum(), best, rtol=1e-12)
        # The dual proves it, whatever scipy says.
        tolerance = 1e-12 * (1.0 + np.abs(cost[np.isfinite(cost)]).max())
        assert (cost - u[:n, None] - v[:m] >= -tolerance).all()
        np.testing.assert_allclose(u[:n].sum() + v[:m].sum(), best, rtol=1e-9, atol=tolerance)


@pytest.mark.parametrize("partial", [True, False])
def test_ragged_batches_agree_with_listing(partial: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        batch = random_batch(rng, partial)
        scores = draw_scores(rng, batch)
        loss = Matching(rng.choice([0.0, 0.5, 1.0]), rng.choice([1.0, 3.0]))
        prices, w = PairPrices.of(batch, loss), rng.uniform(0.5, 2.0, batch.n_examples)
        best, (partition, mu) = batch.argmax(scores), batch.marginals(scores)
        upper, q, bonus, _, gap = batch.play(prices, scores, w)
        for e in range(batch.n_examples):
            one, where = batch.take(slice(e, e + 1))
            answers, costs = listed_parts(one), listed_costs(one, loss.miss, loss.false)
            f = answers @ scores[where]
            size = 1.0 + np.abs(f).max()
            assert best[where] @ scores[where] == pytest.approx(f.max(), abs=1e-12 * size)
            assert (best[where] == answers).all(axis=1).any()
            assert partition[e] == pytest.approx(logsumexp(f), abs=1e-12 * size)
            p = np.exp(f - logsumexp(f))
            np.testing.assert_allclose(mu[where], p @ answers, atol=1e-9)
            value = game_lp(f, costs, w[e])[0]
            assert upper[e] == pytest.approx(value, abs=1e-8 * size)
            assert q[where] @ scores[where] + bonus[e] == pytest.approx(value, abs=1e-8 * size)
            assert gap[e] <= 1e-8 * size
            own = prices.on(one)
            np.testing.assert_allclose(answers @ own.of_actions(answers[0]), costs[:, 0])
            np.testing.assert_allclose(answers @ own.of_truths(answers[0]), costs[0])


def test_prices_weigh_rows_and_pairs() -> None:
    batch = Assignments([3], [2], partial=True)
    rng = np.random.default_rng(2)
    answers = listed_parts(batch)
    rows, pairs = rng.uniform(1, 2, 3), rng.uniform(1, 2, (3, 2))
    by_row = PairPrices.of(batch, Matching(0.5, 2.0), [rows])
    by_pair = PairPrices.of(batch, Matching(0.5, 2.0), [pairs])
    for action in answers:
        for truth in answers:
            a, t = action.reshape(4, 3)[:3], truth.reshape(4, 3)[:3]
            wrong, missed = a[:, :2] * (1 - t[:, :2]), a[:, 2] * (1 - t[:, 2])
            expected = (2.0 * wrong.sum(axis=1) + 0.5 * missed) @ rows
            assert action @ by_row.of_actions(truth) == pytest.approx(expected)
            expected = 2.0 * (wrong * pairs).sum() + 0.5 * missed.sum()
            assert action @ by_pair.of_actions(truth) == pytest.approx(expected)


# ---- the game ----


def test_equilibrium_of_five_agrees_with_all_permutations() -> None:
    rng, batch = np.random.default_rng(3), square(5, 6)
    scores = np.array([0.0, 0.3, 1.0, 1.0, 3.0, 30.0]).repeat(25) * rng.normal(size=150)
    prices = batch.loss("hamming")
    upper, q, bonus, p, _ = batch.play(prices, scores, np.ones(6))
    for e in range(6):
        one, where = batch.take(slice(e, e + 1))
        answers = listed_parts(one)
        value, _, _ = game_lp(answers @ scores[where], listed_costs(one))
        assert upper[e] == pytest.approx(value, rel=1e-8)
        assert scores[where] @ q[where] + bonus[e] == pytest.approx(value, rel=1e-8)
        reply = answers @ (scores[where] + prices.on(one).of_truths(p[where]))
        assert reply.max() == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("n", [4, 8])
def test_equilibrium_agrees_with_mixtures_of_permutations(n: int) -> None:
    """The published permutation-mixture form, by the double oracle, as a referee."""
    rng, batch = np.random.default_rng(4), square(n, 8)
    scores, w = rng.normal(size=8 * n * n), rng.uniform(0.5, 2.0, 8)
    prices = batch.loss("hamming")
    theirs = double_oracle.equilibrium(batch, prices, scores, w)
    ours = batch.play(prices, scores, w)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-7)
    np.testing.assert_allclose(batch.dot(scores, ours[1]) + ours[2], theirs[0], rtol=1e-7)


@pytest.mark.parametrize("partial", [True, False])
@pytest.mark.parametrize("strength", [0.0, 1e-3, 0.3, 20.0])
def test_games_close_their_gap(partial: bool, strength: float) -> None:
    """The certificate is computed here anew: two best replies bound what a pair is off."""
    rng = np.random.default_rng(5)
    for trial in range(60):
        batch = random_batch(rng, partial, most=9, size=4)
        scores = draw_scores(rng, batch)
        prices = PairPrices.of(batch, Matching(rng.choice([0.0, 1.0]), 1.0))
        w = 10.0 ** rng.uniform(-3, 3, 4)
        centre = batch.argmax(rng.normal(size=batch.starts[-1]))
        strengths = strength * w
        upper, q, bonus, p, _ = batch.play(prices, scores, w, strengths, centre)
        for mu in (p, q):
            assert_feasible(batch, mu)
        cost = batch.scale(w, prices.of_actions(q))
        bottom = batch.dot(cost, batch.argmax(-cost))
        np.testing.assert_allclose(bottom, bonus, rtol=1e-9, atol=1e-9 * w.max())
        raised = scores + batch.scale(w, prices.of_truths(p))
        tilted = raised - batch.scale(strengths, q - centre)
        gain = batch.dot(tilted, batch.argmax(tilted) - q)
        gap = gain + batch.dot(cost, p) - bottom
        size = w * (1.0 + batch.rows) + np.abs(batch.dot(tilted, q)) + strengths
        assert (gap <= 1e-8 * size).all(), (trial, gap / size)
        best = batch.dot(raised, batch.argmax(raised))
        np.testing.assert_allclose(upper, best, rtol=1e-9, atol=1e-12)


def assert_feasible(batch: Assignments, mu: Array) -> None:
    assert (mu >= 0.0).all()
    assert (mu[~batch.allowed] == 0.0).all()
    for grid, n, m in zip(batch.grids(mu), batch.rows, batch.columns):
        np.testing.assert_allclose(grid[:n].sum(axis=1), 1.0, atol=1e-9)
        np.testing.assert_allclose(grid[:, :m].sum(axis=0), 1.0, atol=1e-9)


def test_memory_changes_nothing_but_time() -> None:
    rng = np.random.default_rng(6)
    rows, columns = np.array([3, 6, 1]), np.array([5, 6, 2])
    cold, warm = (Assignments(rows, columns, True, remember=flag) for flag in (False, True))
    scores = rng.normal(size=cold.starts[-1])
    prices, w = cold.loss("hamming"), np.ones(3)
    centre = cold.argmax(scores)
    for _ in range(4):
        scores = scores + 0.1 * rng.normal(size=len(scores))
        first, again = (b.play(prices, scores, w, 0.5, centre) for b in (cold, warm))
        np.testing.assert_allclose(first[1], again[1], atol=1e-5)
        np.testing.assert_allclose(first[2], again[2], rtol=1e-6)
        first, again = (b.proximal(scores, np.full(3, 0.5), centre) for b in (cold, warm))
        np.testing.assert_allclose(first, again, atol=1e-9)


@pytest.mark.parametrize("mu", [0.01, 0.3])
def test_published_smoothing_has_the_gradient_it_says(mu: float) -> None:
    rng = np.random.default_rng(7)
    batch = Assignments([4, 2, 3], [4, 3, 3], partial=True)
    route = SmoothGame(mu).bind(batch, "hamming")
    target = batch.table([[0, 2, -1, 1], [1, 0], [2, 0, 1]])
    scores, move = rng.normal(size=(2, batch.starts[-1]))
    _, gradient = route.values(scores, target)
    ahead, behind = (route.values(scores + e * move, target)[0] for e in (1e-5, -1e-5))
    np.testing.assert_allclose(batch.dot(gradient, move), (ahead - behind) / 2e-5, atol=1e-5)
    upper, q, bonus = route.solve(scores, target)
    np.testing.assert_allclose(route.bonus(q, target), bonus, atol=1e-7)
    np.testing.assert_allclose(batch.dot(scores, q) + bonus, upper, atol=1e-7)
    # Against the same saddle point by a conic solver, for the one example without slack parts.
    import cvxpy as cp

    one, where = batch.take(slice(2, 3))
    s, loss = scores[where], one.loss("hamming")
    Q = cp.Variable(len(s), nonneg=True)
    answers = listed_parts(one)
    share = cp.Variable(len(answers), nonneg=True)
    least = cp.Variable(len(s), nonneg=True)  # P's own optimum by duality: a, b free
    a, b = cp.Variable(3), cp.Variable(3)
    costs = cp.multiply(loss.prices, 1 - Q)
    lift = np.zeros((len(s), 6))
    for i, grid_row in enumerate(np.arange(len(s)).reshape(4, 4)[:3]):
        lift[grid_row, i] = 1.0
    for j in range(3):
        lift[np.arange(len(s)).reshape(4, 4)[:, j], 3 + j] = 1.0
    inner = cp.sum(a) + cp.sum(b) - cp.sum_squares(least) / (2 * mu)
    okay = one.allowed.astype(float)
    problem = cp.Problem(
        cp.Maximize(s @ Q + inner - mu / 2 * cp.sum_squares(Q)),
        [Q == answers.T @ share, cp.sum(share) == 1,
         cp.multiply(okay, least) >= cp.multiply(okay, lift @ cp.hstack([a, b]) - costs)],
    )  # fmt: skip
    solve_conic(problem)
    assert problem.value == pytest.approx(upper[2], rel=1e-6)


# ---- projection ----


@pytest.mark.parametrize("partial", [True, False])
def test_projection_meets_its_variational_inequality(partial: bool) -> None:
    """A point is the projection of x if no answer is better than it for the scores x - p."""
    rng = np.random.default_rng(8)
    for _ in range(300):
        batch = random_batch(rng, partial, most=7, size=4)
        x = draw_scores(rng, batch)
        p = batch.proximal(x, np.ones(4), None)
        assert_feasible(batch, p)
        left = np.where(batch.allowed, x - p, 0.0)
        gain = batch.dot(left, batch.argmax(left) - p)
        assert (gain <= 1e-9 * (1.0 + np.abs(x).max())).all()


@pytest.mark.parametrize(("n", "m", "partial"), [(4, 4, False), (3, 5, False), (5, 3, True)])
def test_projection_agrees_with_a_quadratic_program(n: int, m: int, partial: bool) -> None:
    import cvxpy as cp

    rng = np.random.default_rng(9)
    batch = Assignments([n], [m], partial)
    answers = listed_parts(batch)
    centre = answers[:3].mean(axis=0)
    for strength in (0.1, 3.0):
        scores = rng.normal(size=batch.starts[-1])
        share = cp.Variable(len(answers), nonneg=True)
        point = answers.T @ share
        value = scores @ point - strength / 2 * cp.sum_squares(point - centre)
        problem = cp.Problem(cp.Maximize(value), [cp.sum(share) == 1])
        solve_conic(problem)
        ours = batch.proximal(scores, np.array([strength]), centre)
        np.testing.assert_allclose(ours, point.value, atol=1e-5)
        reached = scores @ ours - strength / 2 * ((ours - centre) ** 2).sum()
        assert reached >= problem.value - 1e-8


@pytest.mark.parametrize("n", [34, 120])
def test_large_projections(n: int) -> None:
    rng, batch = np.random.default_rng(10), square(n, 2)
    for scale in (1e-3, 1.0, 100.0):
        x = scale * rng.normal(size=2 * n * n)
        p = batch.proximal(x, np.ones(2), None)
        assert_feasible(batch, p)
        gain = batch.dot(x - p, batch.argmax(x - p) - p)
        assert (gain <= 1e-9 * n * max(scale, 1.0)).all()


# ---- sums over assignments ----


def ryser(a: Array) -> float:
    """The permanent by Ryser's formula."""
    n = len(a)
    total = 0.0
    for s in range(1, 1 << n):
        chosen = [j for j in range(n) if s >> j & 1]
        total += (-1) ** (n - len(chosen)) * a[:, chosen].sum(axis=1).prod()
    return total


def test_exact_sum_is_the_permanent() -> None:
    rng, batch = np.random.default_rng(11), square(9)
    scores = rng.normal(size=81)
    partition, mu = batch.marginals(scores)
    weights = np.exp(scores).reshape(9, 9)
    assert partition[0] == pytest.approx(np.log(ryser(weights)), rel=1e-12)
    without = np.delete(np.delete(weights, 2, 0), 5, 1)
    share = weights[2, 5] * ryser(without) / ryser(weights)
    assert mu.reshape(9, 9)[2, 5] == pytest.approx(share, rel=1e-10)


def test_exact_sum_survives_scores_of_any_size() -> None:
    batch = square(3)
    scores = np.array([[800.0, 0, 0], [0, -900.0, 700.0], [0, 800.0, 5.0]]).ravel()
    partition, mu = batch.marginals(scores)
    assert partition[0] == pytest.approx(2300.0)
    np.testing.assert_allclose(mu.reshape(3, 3), np.eye(3)[[0, 2, 1]], atol=1e-12)


@pytest.mark.parametrize("partial", [True, False])
def test_bethe_is_a_lower_bound_with_a_gradient(partial: bool) -> None:
    rng = np.random.default_rng(12)
    for _ in range(20):
        n, m = rng.integers(1, 7, (2, 3))
        exact, bethe = (Assignments(n, m, partial, sums=sums) for sums in ("exact", "bethe"))
        scores, move = rng.normal(size=(2, exact.starts[-1]))
        partition, mu = bethe.marginals(scores)
        assert_feasible(bethe, mu)
        assert (partition <= exact.marginals(scores)[0] + 1e-9).all()
        alone = np.minimum(n, m) == 1  # a tree: nothing is approximated
        np.testing.assert_allclose(partition[alone], exact.marginals(scores)[0][alone], atol=1e-9)
        ahead, behind = (bethe.marginals(scores + h * move)[0] for h in (1e-5, -1e-5))
        np.testing.assert_allclose((ahead - behind) / 2e-5, bethe.dot(mu, move), atol=1e-6)
        # It is the maximum of <scores, mu> + entropy: nothing nearby is better.
        other = 0.9 * mu + 0.1 * bethe.argmax(rng.normal(size=len(scores)))
        assert (bethe.dot(scores, other) + bethe.entropy(other) <= partition + 1e-9).all()
        np.testing.assert_array_less(bethe.entropy(mu), exact.entropy(mu) + 1e-6)


def test_small_examples_are_exact_whatever_their_company() -> None:
    rng = np.random.default_rng(16)
    both, small = Assignments([3, 14], [4, 14], True), Assignments([3], [4], True)
    assert both.exact.tolist() == [True, False]
    scores = rng.normal(size=both.starts[-1])
    _, where = both.take(slice(0, 1))
    partition, mu = both.marginals(scores)
    alone = small.marginals(scores[where])
    np.testing.assert_array_equal(mu[where], alone[1])
    assert partition[0] == alone[0][0]
    np.testing.assert_allclose(both.entropy(mu)[:1], small.entropy(mu[where]))


# ---- layout and errors ----


def test_parts_and_answers_are_inverse() -> None:
    rng = np.random.default_rng(13)
    for partial in (True, False):
        batch = random_batch(rng, partial, most=5, size=5)
        answers = batch.decode(rng.normal(size=batch.starts[-1]))
        parts = batch.parts(answers)
        assert_feasible(batch, parts)
        for got, expected in zip(batch.decode(parts - 0.5), answers):
            np.testing.assert_array_equal(got, expected)
        some, where = batch.take(np.array([4, 0, 4]))
        np.testing.assert_array_equal(some.parts([answers[i] for i in (4, 0, 4)]), parts[where])


def test_forbidden_pairs_without_an_answer_name_the_row() -> None:
    mask = np.zeros((3, 3), bool)
    mask[1] = True
    with pytest.raises(ValueError, match="example 1: every pair of row 1 is forbidden"):
        Assignments([2, 3], [2, 3], forbidden=[None, mask])
    mask[:] = True
    mask[:, 0] = False
    with pytest.raises(ValueError, match=r"example 0: .* no partner for row [0-2]"):
        Assignments([3], [3], forbidden=[mask])
    assert Assignments([3], [3], True, [mask]).partial  # they stay alone
    with pytest.raises(ValueError, match="sums"):
        Assignments([1], [1], sums="ryser")
    with pytest.raises(ValueError, match="example 1 has 21 rows"):
        Assignments([1, 21], [1, 30], sums="exact")


def test_scores_with_structure_as_a_plain_function() -> None:
    """evaluate() on a batch: forbidden pairs are in the structure, values as listed."""
    batch = Assignments([2, 3], [3, 3])
    rng = np.random.default_rng(14)
    scores = batch.scores([rng.normal(size=(2, 3)), rng.normal(size=(3, 3))])
    y = [[2, 0], [1, 2, 0]]
    values, gradient = cc.surrogates.evaluate("hinge", scores, y, structure=batch, loss="hamming")
    for e in range(2):
        one, where = batch.take(slice(e, e + 1))
        answers, truth = listed_parts(one), one.parts([y[e]])
        right = int((answers == truth).all(axis=1).argmax())
        f, costs = answers @ scores[where], listed_costs(one)
        assert values[e] == pytest.approx((f + costs[:, right]).max() - f[right])
    np.testing.assert_allclose(gradient[~batch.allowed], 0.0)


def test_matching_loss_is_its_definition() -> None:
    rng = np.random.default_rng(15)
    loss = Matching(miss=0.5, false=2.0)
    y = [rng.permutation(5)[: rng.integers(1, 5)] for _ in range(20)]
    guess = [
        np.where(rng.random(len(each)) < 0.3, -1, rng.permutation(5)[: len(each)]) for each in y
    ]
    expected = [hamming(a, t, 0.5, 2.0) for a, t in zip(guess, y)]
    np.testing.assert_allclose(loss(guess, y), expected)
    assert Matching()([[0, 1]], [[0, 1]])[0] == 0.0
    with pytest.raises(ValueError, match="example 0 has 2 rows"):
        loss([[0]], [[0, 1]])
    for bad in (Matching(-1), Matching(np.nan), Matching(0, 0)):
        with pytest.raises(ValueError):
            bad.prices()
    with pytest.raises(TypeError):
        Matching(miss="much").prices()


def test_every_permutation_is_an_answer() -> None:
    assert len(listed_parts(square(4))) == len(list(permutations(range(4))))
    assert len(listed_parts(Assignments([2], [2], True))) == 7
