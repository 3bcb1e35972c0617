"""The one question of every route on labels, plain and proximal: exact by its own optimality.

A point mu maximises ``<f, mu> + bonus(mu) - s/2 |mu - c|**2`` exactly if it maximises the plain
question at the scores tilted by the last term's gradient, ``f - s (mu - c)``. The plain question
is proved against textbook formulas, so this proves the proximal one on any number of cases.
"""

from __future__ import annotations

import numpy as np
import pytest

from concordant.losses import LOSSES, Absolute, Abstain, CostMatrix, Squared, ZeroOne
from concordant.oracles.blocks import compile_block, solve_rows
from concordant.oracles.games import matrix
from concordant.oracles.mixture import best_mixture
from concordant.structures import Label
from concordant.surrogates import SURROGATES, Adversarial, Hybrid, LabelRoute
from tests.reference import constant, simplex_violation, solve_qp_reference, surrogate_value

ROUTES = {name: cls() for name, cls in SURROGATES.items()} | {
    f"hybrid {alpha}": Hybrid(alpha) for alpha in (0.0, 0.05, 0.97, 1.0)
}


def distance(k):
    return np.arange(k)[:, None] - np.arange(k)


LOSSES_HERE = {
    "zero_one": lambda k, rng: ZeroOne(),
    "absolute": lambda k, rng: Absolute(),
    "squared": lambda k, rng: Squared(),
    "abstain": lambda k, rng: Abstain(0.3),
    "dear abstain": lambda k, rng: Abstain(0.7),
    "abstain never": lambda k, rng: Abstain(1.2),
    "label weights": lambda k, rng: CostMatrix(rng.uniform(0.1, 3, k) * (1 - np.eye(k))),
    "pinball": lambda k, rng: CostMatrix(np.where(distance(k) < 0, -0.3, 0.7) * distance(k)),
    "square": lambda k, rng: CostMatrix(rng.random((k, k)) + 1.0 - np.eye(k)),
    "rectangular": lambda k, rng: CostMatrix(rng.random((rng.integers(2, 9), k))),
    "integers": lambda k, rng: CostMatrix(rng.integers(0, 3, (k, k)) * (1 - np.eye(k))),
    "nothing": lambda k, rng: CostMatrix(np.zeros((2, k))),
}


def bind(name, loss, k, n):
    return ROUTES[name].bind(Label(n, k), loss.matrix(k))


def reference_name(name):
    return name.split()[0], (ROUTES[name].alpha if name.startswith("hybrid") else 0.5)


def random_rows(k, n, rng):
    """Scores at several sizes and with ties, answers, and weights of the loss."""
    scores = rng.normal(size=(n, k)) * 10.0 ** rng.uniform(-2, 2, (n, 1))
    scores[::4] = rng.integers(-2, 3, scores[::4].shape)
    scores[5::16] = 0.0
    weight = rng.uniform(0.2, 2.0, n)
    weight[::3] = 1.0
    weight[7::32] = 0.0
    return scores, rng.integers(0, k, n), weight


def random_centre(route, k, n, y, w, rng):
    """Points of the route's polytope: vertices, mixtures of two, and an answer itself."""
    at = [route.solve(3 * rng.normal(size=(n, k)), y, w).mu for _ in range(2)]
    share = rng.random((n, 1))
    share[::3] = 1.0
    centre = share * at[0] + (1 - share) * at[1]
    centre[1::5] = np.eye(k)[y[1::5]]
    return centre


def outside(route, mu, y, w):
    """How far mu is from a mixture of answers of the route's mass, the rest being the truth."""
    mass = route.surrogate.mass(w)
    free = mu - (1 - mass)[:, None] * route.parts(y)
    return max(float(-free.min()), float(np.abs(free.sum(axis=1) - mass).max()))


def dot(a, b):
    return np.einsum("ij,ij->i", a, b)


def optimality_gap(route, scores, y, w, strength, centre, answer):
    """What the best mu gains over the answer's at the tilted scores; relative to their top."""
    tilted = scores - strength[:, None] * (answer.mu - centre)
    top = tilted.max(axis=1, keepdims=True) * route.surrogate.mixes_answers
    best = route.solve(tilted - top, y, w).upper
    return best - dot(tilted - top, answer.mu) - answer.bonus


def size_of(route, scores, w, strength, k):
    """Magnitude of what is summed, against which rounding counts."""
    spread = np.abs(scores - scores.max(axis=1, keepdims=True) * route.surrogate.mixes_answers)
    return spread.max(axis=1) + w * route.scale + strength + np.log(k) + 1.0


def test_every_named_loss_and_route_is_here():
    assert set(LOSSES) <= set(LOSSES_HERE)
    assert set(SURROGATES) <= set(ROUTES)


@pytest.mark.parametrize("loss", LOSSES_HERE)
@pytest.mark.parametrize("name", ROUTES)
def test_plain_question_against_textbook_formulas(name, loss):
    rng = np.random.default_rng(0)
    textbook, alpha = reference_name(name)
    for k in (2, 3, 6):
        costs = LOSSES_HERE[loss](k, rng)
        n = 12
        route, (scores, y, w) = bind(name, costs, k, n), random_rows(k, n, rng)
        w = np.maximum(w, 0.1)
        if ROUTES[name].weighs == "example":  # these routes take no weight inside
            w[:] = 1.0
        upper, mu, bonus = route.solve(scores, y, w)
        for i in range(n):
            value = surrogate_value(textbook, scores[i], y[i], costs.matrix(k), w[i], alpha)
            value += scores[i, y[i]] - constant(textbook, w[i])
            slack = 1e-9 * (np.abs(scores[i]).max() ** (2 if name == "quadratic" else 1) + 1)
            assert abs(upper[i] - value) <= slack
            assert abs(scores[i] @ mu[i] + bonus[i] - value) <= slack
        np.testing.assert_allclose(route.bonus(mu, y, w), bonus, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES_HERE)
@pytest.mark.parametrize("name", ROUTES)
def test_proximal_question_is_solved_exactly(name, loss):
    """12 routes x 12 losses x 5 numbers of labels x 2 centres x 64 rows: 92,160 cases."""
    rng = np.random.default_rng(1)
    for k in (2, 3, 5, 8, 12):
        n = 64
        route = bind(name, LOSSES_HERE[loss](k, rng), k, n)
        scores, y, w = random_rows(k, n, rng)
        if ROUTES[name].weighs == "example":
            w[:] = 1.0
        strength = 10.0 ** rng.uniform(-3, 3, n)
        for centre in (random_centre(route, k, n, y, w, rng), None):
            answer = route.solve(scores, y, w, strength, centre)
            anchor = np.zeros_like(scores) if centre is None else centre
            gap = optimality_gap(route, scores, y, w, strength, anchor, answer)
            size = size_of(route, scores, w, strength, k)
            assert (np.abs(gap) <= 1e-9 * size).all(), (gap / size).max()
            plain = route.solve(scores, y, w).upper
            assert (answer.upper >= plain - 1e-9 * size).all()
            own = route.bonus(answer.mu, y, w)
            assert (np.abs(own - answer.bonus) <= 1e-7 * size).all()
            if route.surrogate.mixes_answers:
                assert outside(route, answer.mu, y, w) <= 1e-12


@pytest.mark.parametrize("loss", ["zero_one", "absolute", "dear abstain", "square", "rectangular"])
@pytest.mark.parametrize("name", SURROGATES)
def test_proximal_question_against_a_conic_solver(name, loss):
    rng = np.random.default_rng(2)
    k, n = 4, 3
    costs = LOSSES_HERE[loss](k, rng)
    route = bind(name, costs, k, n)
    scores, y, w = rng.normal(size=(n, k)), rng.integers(0, k, n), np.array([1.0, 0.6, 1.7])
    if ROUTES[name].weighs == "example":
        w[:] = 1.0
    strength = np.array([0.2, 1.0, 4.0])
    centre = random_centre(route, k, n, y, w, rng)
    _, mu, bonus = route.solve(scores, y, w, strength, centre)
    for i in range(n):
        L, s, c = costs.matrix(k), strength[i], centre[i]
        best = solve_qp_reference(name, scores[i], y[i], L, s, c, w[i])
        ours = scores[i] @ mu[i] + bonus[i] - 0.5 * s * ((mu[i] - c) ** 2).sum()
        assert ours == pytest.approx(best.value, abs=1e-7)
        np.testing.assert_allclose(mu[i], best.mu, atol=3e-4)


@pytest.mark.parametrize("name", ROUTES)
def test_the_ends_of_the_strength(name):
    """A huge strength stays at a centre of the polytope; a tiny one is the plain question."""
    rng = np.random.default_rng(3)
    for loss in LOSSES_HERE:
        k, n = 5, 20
        route = bind(name, LOSSES_HERE[loss](k, rng), k, n)
        scores, y = rng.normal(size=(n, k)), rng.integers(0, k, n)
        w = np.ones(n)
        centre = random_centre(route, k, n, y, w, rng)
        stay = route.solve(scores, y, w, 1e12, centre)
        np.testing.assert_allclose(stay.mu, centre, atol=1e-9)
        plain = route.solve(scores, y, w)
        nearly = route.solve(scores, y, w, 1e-7, centre)
        np.testing.assert_allclose(dot(scores, nearly.mu) + nearly.bonus, plain.upper, atol=1e-6)


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize("scale", [1e-12, 1e9, 1e15, 1e300])
def test_proximal_question_at_extreme_scores(name, scale):
    """Finite, in the polytope, and never worse than where it came from."""
    rng = np.random.default_rng(4)
    if name == "quadratic" and scale > 1e100:
        scale = 1e100  # its value is a square
    for loss in LOSSES_HERE:
        k, n = 4, 20
        route = bind(name, LOSSES_HERE[loss](k, rng), k, n)
        scores, y, w = scale * rng.normal(size=(n, k)), rng.integers(0, k, n), np.ones(n)
        scores[::5] = 0.0
        scores[::5, 0] = scale
        centre = random_centre(route, k, n, y, w, rng)
        top = scores.max(axis=1, keepdims=True) * route.surrogate.mixes_answers
        for strength in (1e-6, 1.0, 1e6):
            upper, mu, bonus = route.solve(scores, y, w, strength, centre)
            assert np.isfinite(upper).all()
            assert np.isfinite(mu).all()
            if route.surrogate.mixes_answers:
                assert outside(route, mu, y, w) <= 1e-12
            gain = dot(scores - top, mu) + bonus - 0.5 * strength * dot(mu - centre, mu - centre)
            stay = dot(scores - top, centre) + route.bonus(centre, y, w)
            size = np.abs(scores - top).max(axis=1) + route.scale + strength
            if name == "quadratic":
                size = size**2
            assert (gain >= stay - 1e-9 * size).all()


@pytest.mark.parametrize("name", ROUTES)
def test_examples_do_not_see_each_other(name):
    rng = np.random.default_rng(5)
    for loss in LOSSES_HERE:
        k, n = 4, 24
        route = bind(name, LOSSES_HERE[loss](k, rng), k, n)
        scores, y, w = random_rows(k, n, rng)
        strength = np.where(np.arange(n) % 3 == 0, 0.0, 10.0 ** rng.uniform(-2, 2, n))
        centre = random_centre(route, k, n, y, w, rng)
        whole = route.solve(scores, y, w, strength, centre)
        order = rng.permutation(n)
        some, _ = route.take(order)
        part = some.solve(scores[order], y[order], w[order], strength[order], centre[order])
        for ours, all_ in zip(part, whole, strict=True):
            np.testing.assert_array_equal(ours, all_[order])


# --- the general proximal step of the game: Lemke's method -----------------------------------

NEAR_DEGENERATE = {
    "integers": lambda r, k, rng: 1.0 * rng.integers(0, 4, (r, k)),
    "binary": lambda r, k, rng: 1.0 * rng.integers(0, 2, (r, k)),
    "repeated": lambda r, k, rng: repeat_some(1.0 * rng.integers(0, 3, (r, k)), rng),
    "nearly repeated": lambda r, k, rng: (
        repeat_some(1.0 * rng.integers(0, 3, (r, k)), rng) + 1e-9 * rng.random((r, k))
    ),
    "barely repeated": lambda r, k, rng: (
        repeat_some(1.0 * rng.integers(0, 3, (r, k)), rng) + 1e-12 * rng.random((r, k))
    ),
    "zero": lambda r, k, rng: np.zeros((r, k)),
    "constant": lambda r, k, rng: np.full((r, k), 2.0),
    "nearly constant": lambda r, k, rng: 1.0 + 1e-9 * rng.random((r, k)),
    "low rank": lambda r, k, rng: rng.random((r, 2)) @ rng.random((2, k)),
    "every size": lambda r, k, rng: 10.0 ** rng.uniform(-8, 4, (r, k)),
    "zero_one": lambda r, k, rng: 1.0 - np.eye(k),
    "absolute": lambda r, k, rng: 1.0 * np.abs(distance(k)),
    "label weights": lambda r, k, rng: 10.0 ** rng.uniform(-3, 3, k) * (1 - np.eye(k)),
}


def repeat_some(costs, rng):
    """Two rows and two columns made equal."""
    (a, b), (i, j) = rng.integers(costs.shape[0], size=2), rng.integers(costs.shape[1], size=2)
    costs[a] = costs[b]
    costs[:, i] = costs[:, j]
    return costs


def tied_scores(n, k, rng):
    scores = rng.normal(size=(n, k)) * 10.0 ** rng.uniform(-3, 3, (n, 1))
    ties = rng.integers(-2, 3, (n, k))
    scores[::3] = ties[::3]
    scores[1::5] = ties[1::5] + 1e-9 * rng.random(ties[1::5].shape)
    scores[2::9] = 0.0
    return scores


def run_general(costs, scores, w, strength, centre):
    """The general family's own kernel, on a matrix that another family may recognise."""
    (r, k), n = costs.shape, len(scores)
    upper, mu, bonus = np.empty(n), np.empty((n, k)), np.empty(n)
    work = np.full(matrix.scratch(r, k), np.nan)
    params = matrix.recognise(costs).astype(float)
    target = np.zeros(n, dtype=np.int64)
    block = compile_block(matrix.block)
    solve_rows(block, scores, target, w, params, costs, strength, centre, work, mu, upper, bonus)
    return upper, mu, bonus


@pytest.mark.parametrize("kind", NEAR_DEGENERATE)
def test_lemke_does_not_break_down(kind):
    """13 kinds of costs x 60 matrices x 40 rows, strengths of 1e-6 to 1e6: 31,200 cases."""
    rng = np.random.default_rng(6)
    gaps = []
    for _ in range(60):
        r, k = rng.integers(1, 13, size=2)
        costs, n = np.ascontiguousarray(NEAR_DEGENERATE[kind](r, k, rng)), 40
        scores = tied_scores(n, k, rng)
        w = np.where(rng.random(n) < 0.4, 1.0, 10.0 ** rng.uniform(-3, 3, n))
        strength = 10.0 ** rng.uniform(-6, 6, n)
        centre = rng.dirichlet(np.ones(k), n)
        centre[::3] = np.eye(k)[rng.integers(0, k, len(centre[::3]))]
        centre[1::4] = 1.0 / k
        upper, mu, bonus = run_general(costs, scores, w, strength, centre)
        assert simplex_violation(mu) <= 1e-12
        assert np.isfinite(upper).all()
        tilted = scores - strength[:, None] * (mu - centre)
        tilted -= tilted.max(axis=1, keepdims=True)
        best = run_general(costs, tilted, w, np.zeros(n), centre)[0]
        plain = run_general(costs, scores, w, np.zeros(n), centre)[0]
        size = w * costs.max() + strength + np.ptp(scores, axis=1) + 1e-300
        gaps.append((best - dot(tilted, mu) - bonus) / size)
        assert (upper >= plain - 1e-9 * size).all()
    gaps = np.concatenate(gaps)
    # Exact but for rounding, which nearly equal costs, or costs of every size, may magnify.
    most, worst = (1e-7, 1e-3) if kind == "every size" else (1e-9, 1e-6)
    assert np.quantile(gaps, 0.998) <= most
    assert gaps.max() <= worst


def test_a_nearly_degenerate_game_that_once_ruined_the_table():
    rng = np.random.default_rng(7)
    rows = np.repeat(rng.integers(0, 3, (4, 12)), 3, axis=0)
    for jitter in (0.0, 1e-13, 1e-11, 1e-9, 1e-7):
        costs = rows + jitter * rng.random((12, 12))
        scores, n = 1.0 * rng.integers(-2, 3, (40, 12)), 40
        for strength in np.full((9, n), 10.0 ** np.arange(-6.0, 3.0)[:, None]):
            centre = np.zeros((n, 12))
            _, mu, bonus = run_general(costs, scores, np.ones(n), strength, centre)
            tilted = scores - strength[:, None] * mu
            best = run_general(costs, tilted, np.ones(n), np.zeros(n), centre)[0]
            gap = best - dot(tilted, mu) - bonus
            assert (gap <= 1e-7 * (costs.max() + strength + 4.0)).all()


def test_special_proximal_steps_agree_with_the_general_one():
    rng = np.random.default_rng(8)
    for loss in ("zero_one", "absolute", "squared", "abstain", "dear abstain", "pinball"):
        k, n = 6, 50
        costs = LOSSES_HERE[loss](k, rng).matrix(k)
        scores, w = rng.normal(size=(n, k)), rng.uniform(0.2, 2.0, n)
        strength, centre = 10.0 ** rng.uniform(-2, 2, n), rng.dirichlet(np.ones(k), n)
        special = Adversarial().bind(Label(n, k), costs)
        ours = special.solve(scores, np.zeros(n, int), w, strength, centre)
        general = run_general(costs, scores, w, strength, centre)
        np.testing.assert_allclose(ours.mu, general[1], atol=1e-9)
        np.testing.assert_allclose(ours.bonus, general[2], atol=1e-9)


def test_the_best_mixture_of_points():
    """Its optimality: no point gains more than the mixture itself."""
    rng = np.random.default_rng(9)
    for m in (1, 2, 5, 12):
        for rank in (1, 3, 12):
            points = rng.normal(size=(m, rank))
            points[rng.integers(m)] = points[rng.integers(m)]
            gain, gram = rng.normal(size=m), points @ points.T
            x = best_mixture(gain, gram)
            assert simplex_violation(x) <= 1e-12
            slope = gain - gram @ x
            assert slope.max() - slope @ x <= 1e-9 * (1.0 + np.abs(gram).max())
    assert best_mixture(np.ones(3), np.full((3, 3), np.nan)) is None


def test_a_route_on_labels_is_compiled():
    assert all(isinstance(bind(name, ZeroOne(), 3, 2), LabelRoute) for name in ROUTES)
