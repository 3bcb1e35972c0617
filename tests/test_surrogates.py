"""Surrogates as plain functions of scores: formulas, gradients, identities, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logsumexp, softmax
from sklearn.base import clone

import concordant as cc
from concordant.losses import Absolute, Abstain, CostMatrix, Squared, ZeroOne
from concordant.structures import Label
from concordant.surrogates import ALIASES, SURROGATES, Hybrid
from tests.reference import surrogate_value

K = 4
TRIAGE = [[0.0, 3.0, 1.0, 2.0], [1.0, 0.0, 2.0, 1.0], [0.6, 0.6, 0.6, 0.6]]
SQUARE = 1.0 - np.eye(K) + np.arange(16.0).reshape(K, K) % 5 * (1 - np.eye(K))
LOSSES = [ZeroOne(), Absolute(), Squared(), Abstain(0.3), Abstain(0.8)]
LOSSES += [CostMatrix(SQUARE), CostMatrix(TRIAGE)]
ROUTES = [*SURROGATES, *ALIASES, Hybrid(0.1)]
ROUTE_IDS = [str(route) for route in ROUTES]


def value(route, scores, y, loss="zero_one", weight=None):
    return cc.surrogates.evaluate(route, scores, y, loss=loss, loss_weight=weight)[0]


def gradient(route, scores, y, loss="zero_one", weight=None):
    return cc.surrogates.evaluate(route, scores, y, loss=loss, loss_weight=weight)[1]


def sample(n=40, k=K, seed=0):
    rng = np.random.default_rng(seed)
    return 2.0 * rng.normal(size=(n, k)), rng.integers(0, k, n), rng.uniform(0.3, 2.5, n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("route", ROUTES, ids=ROUTE_IDS)
def test_values_are_the_textbook_formulas(route, loss, weighted):
    scores, y, w = sample()
    w = w if weighted else np.ones(len(y))
    name, alpha = (route, 0.5) if isinstance(route, str) else ("hybrid", route.alpha)
    expected = [
        surrogate_value(name, f, label, loss.matrix(K), weight, alpha)
        for f, label, weight in zip(scores, y, w, strict=True)
    ]
    found = value(route, scores, y, loss, w if weighted else None)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("route", ROUTES, ids=ROUTE_IDS)
def test_gradients_are_slopes_of_the_values(route, loss, weighted):
    scores, y, w = sample(seed=1)
    weight = w if weighted else None
    slope = gradient(route, scores, y, loss, weight)
    h = 1e-6
    for j in range(K):
        step = h * np.eye(K)[j]
        ahead, behind = (value(route, scores + e, y, loss, weight) for e in (step, -step))
        np.testing.assert_allclose(slope[:, j], (ahead - behind) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("route", ROUTES, ids=ROUTE_IDS)
def test_gradients_are_subgradients_even_at_kinks(route, loss):
    rng = np.random.default_rng(2)
    scores, y = rng.integers(-1, 2, (30, K)).astype(float), rng.integers(0, K, 30)
    here, slope = cc.surrogates.evaluate(route, scores, y, loss=loss)
    for _ in range(20):
        move = rng.normal(size=scores.shape) * 10.0 ** rng.uniform(-3, 1)
        below = here + np.einsum("ij,ij->i", slope, move)
        assert (value(route, scores + move, y, loss) >= below - 1e-9).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_equilibrium_is_a_saddle_point(loss):
    scores, _, _ = sample(seed=3)
    p, q, game = cc.surrogates.equilibrium(scores, loss=loss)
    costs = loss.matrix(K)
    np.testing.assert_allclose((p @ costs + scores).max(axis=1), game, atol=1e-12)
    lower = (q @ costs.T).min(axis=1) + (q * scores).sum(axis=1)
    np.testing.assert_allclose(lower, game, atol=1e-12)


def test_evaluate_and_equilibrium_play_the_same_game():
    scores, y, _ = sample(seed=4)
    for loss in LOSSES:
        game = cc.surrogates.equilibrium(scores, loss=loss)[2]
        found = value("adversarial", scores, y, loss)
        np.testing.assert_allclose(found, game - scores[np.arange(len(y)), y], atol=1e-12)


# --- identities -----------------------------------------------------------------------------


def test_two_class_log_is_the_logistic_loss():
    scores, y, w = sample(k=2, seed=5)
    margin = np.where(y == 0, 1.0, -1.0) * (scores[:, 0] - scores[:, 1])
    np.testing.assert_allclose(value("log", scores, y), np.logaddexp(0.0, -margin))
    np.testing.assert_allclose(value("log", scores, y, weight=w), w * np.logaddexp(0.0, -margin))
    slope = gradient("log", scores, y)
    np.testing.assert_allclose(slope[np.arange(len(y)), y], -expit(-margin))


def test_two_class_hinges_are_the_binary_hinge():
    scores, y, w = sample(k=2, seed=6)
    margin = np.where(y == 0, 1.0, -1.0) * (scores[:, 0] - scores[:, 1])
    for route in ("hinge", "crammer_singer", "weston_watkins"):
        np.testing.assert_allclose(value(route, scores, y), np.maximum(1.0 - margin, 0.0))
        np.testing.assert_allclose(value(route, scores, y, weight=w), np.maximum(w - margin, 0.0))
    centred = np.maximum(1.0 - 0.5 * margin, 0.0)
    np.testing.assert_allclose(value("lee_lin_wahba", scores, y), centred)


def test_two_class_adversarial_is_half_the_hinge_inside_the_margin():
    scores, y, _ = sample(n=200, k=2, seed=7)
    margin = np.where(y == 0, 1.0, -1.0) * (scores[:, 0] - scores[:, 1])
    expected = np.where(margin < -1.0, -margin, np.maximum(0.5 - 0.5 * margin, 0.0))
    np.testing.assert_allclose(value("adversarial", scores, y), expected, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_hybrid_lies_between_hinge_and_log(loss):
    scores, y, w = sample(seed=8)
    log = cc.surrogates.evaluate("log", scores, y, loss=loss, loss_weight=w)
    hinge = cc.surrogates.evaluate("hinge", scores, y, loss=loss, loss_weight=w)
    for alpha in (0.0, 0.3, 1.0):
        ours = cc.surrogates.evaluate(Hybrid(alpha), scores, y, loss=loss, loss_weight=w)
        for mixed, a, b in zip(ours, log, hinge, strict=True):
            np.testing.assert_allclose(mixed, alpha * a + (1 - alpha) * b, atol=1e-12)


def test_crammer_singer_is_the_hinge_of_zero_one_loss_whatever_loss_is_named():
    scores, y, _ = sample(seed=9)
    expected = value("hinge", scores, y, "zero_one")
    np.testing.assert_array_equal(value("crammer_singer", scores, y, "squared"), expected)


def test_published_formulas_under_zero_one_loss():
    """Written out by hand once more, without the referee's code."""
    scores, y, _ = sample(seed=10)
    rows = np.arange(len(y))
    right, wrong = scores[rows, y], np.where(np.eye(K)[y] > 0, -np.inf, scores)
    pairs = np.maximum(1.0 + wrong - right[:, None], 0.0)
    np.testing.assert_allclose(value("weston_watkins", scores, y), pairs.sum(axis=1))
    np.testing.assert_allclose(value("crammer_singer", scores, y), pairs.max(axis=1))
    centred = wrong - scores.mean(axis=1, keepdims=True)
    llw = np.maximum(1.0 + centred, 0.0).sum(axis=1)
    np.testing.assert_allclose(value("lee_lin_wahba", scores, y), llw)
    ovr = np.maximum(1.0 - right, 0.0) + np.maximum(1.0 + wrong, 0.0).sum(axis=1)
    np.testing.assert_allclose(value("one_vs_rest", scores, y), ovr)
    np.testing.assert_allclose(value("log", scores, y), logsumexp(scores, axis=1) - right)
    np.testing.assert_allclose(gradient("log", scores, y), softmax(scores, axis=1) - np.eye(K)[y])
    ordered = -np.sort(-scores, axis=1)
    game = ((np.cumsum(ordered, axis=1) + np.arange(K)) / np.arange(1, K + 1)).max(axis=1)
    np.testing.assert_allclose(value("adversarial", scores, y), game - right)  # thesis (2.21)


def test_published_formulas_of_ordinal_and_abstaining_games():
    scores, y, _ = sample(seed=11)
    rows, j = np.arange(len(y)), np.arange(K)
    right = scores[rows, y]
    absolute = 0.5 * ((scores + j).max(axis=1) + (scores - j).max(axis=1))
    ordinal = value("adversarial", scores, y, "absolute")
    np.testing.assert_allclose(ordinal, absolute - right, atol=1e-12)
    first, second = -np.sort(-scores, axis=1)[:, :2].T
    for cost in (0.1, 0.5):
        pair = np.maximum(first, (1 - cost) * first + cost * second + cost)
        abstaining = value("adversarial", scores, y, Abstain(cost))
        np.testing.assert_allclose(abstaining, pair - right, atol=1e-12)


def test_routes_without_a_loss_inside_weigh_the_example():
    scores, y, w = sample(seed=12)
    for route in ("log", "one_vs_rest"):
        for plain, weighted in zip(
            cc.surrogates.evaluate(route, scores, y, loss="squared"),
            cc.surrogates.evaluate(route, scores, y, loss="squared", loss_weight=w),
            strict=True,
        ):
            np.testing.assert_allclose(weighted, (plain.T * w).T)


LEVELLED = ("quadratic", "one_vs_rest")  # routes whose scores have a level of their own


@pytest.mark.parametrize("route", [r for r in ROUTES if r not in LEVELLED], ids=str)
def test_a_level_shared_by_all_scores_changes_nothing(route):
    scores, y, w = sample(seed=13)
    scores = np.round(8 * scores) / 8
    for loss in LOSSES:
        here = cc.surrogates.evaluate(route, scores, y, loss=loss, loss_weight=w)
        there = cc.surrogates.evaluate(route, scores + 1024.0, y, loss=loss, loss_weight=w)
        np.testing.assert_allclose(there[0], here[0], atol=1e-11)
        np.testing.assert_allclose(there[1], here[1], atol=1e-11)


# --- sizes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("route", ROUTES, ids=ROUTE_IDS)
def test_huge_and_tiny_scores(route, scale):
    scores, y, _ = sample(seed=14)
    scores /= np.abs(scores).max()
    if route == "quadratic":
        scale = min(scale, 1e150)  # its value is a square
    for loss in LOSSES:
        found, slope = cc.surrogates.evaluate(route, 0.2 * scale * scores, y, loss=loss)
        assert np.isfinite(found).all()
        assert np.isfinite(slope).all()
        assert (found >= -1e-12 * max(scale, 1.0)).all()
        if scale < 1:
            still = value(route, np.zeros_like(scores), y, loss)
            np.testing.assert_allclose(found, still, atol=1e-9)


def test_a_hopeless_label_costs_what_it_should():
    scores = np.array([[1e300, 0.0, -1e300]])
    for route in ("adversarial", "log", "hinge", "hybrid"):
        found, slope = cc.surrogates.evaluate(route, scores, [1], loss="zero_one")
        assert found[0] == 1e300
        np.testing.assert_allclose(slope, [[1.0, -1.0, 0.0]], atol=1e-15)


def test_zero_loss_weight_leaves_the_largest_score():
    scores, y, _ = sample(seed=15)
    nothing = np.zeros(len(y))
    excess = scores.max(axis=1) - scores[np.arange(len(y)), y]
    for loss in LOSSES:
        for route in ("adversarial", "hinge"):
            np.testing.assert_allclose(value(route, scores, y, loss, nothing), excess, atol=1e-12)
        np.testing.assert_allclose(value("hybrid", scores, y, loss, nothing), 0.5 * excess)
        assert (value("log", scores, y, loss, nothing) == 0.0).all()


@pytest.mark.parametrize("route", ROUTES, ids=ROUTE_IDS)
def test_no_examples_and_one_class(route):
    found, slope = cc.surrogates.evaluate(route, np.empty((0, 3)), np.empty(0, int))
    assert (found.shape, slope.shape) == ((0,), (0, 3))
    found, slope = cc.surrogates.evaluate(route, [[1.0], [0.25]], [0, 0])
    assert found.shape == (2,)
    assert slope.shape == (2, 1)
    if route not in LEVELLED:
        assert found.tolist() == [0.0, 0.0]


# --- containers -----------------------------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES, ids=ROUTE_IDS)
def test_any_layout_and_type_of_scores(route):
    scores, y, w = sample(seed=16)
    scores = np.round(4 * scores)
    expected = cc.surrogates.evaluate(route, scores, y, loss="absolute", loss_weight=w)
    wide = np.zeros((len(y), 2 * K))
    wide[:, ::2] = scores
    frozen = scores.copy()
    frozen.flags.writeable = False
    layouts = [
        np.asfortranarray(scores),
        wide[:, ::2],
        frozen,
        scores.astype(np.float32),
        scores.astype(np.int32),
        scores.tolist(),
    ]
    for same in layouts:
        found = cc.surrogates.evaluate(
            route, same, y.astype(np.uint8), loss="absolute", loss_weight=w.tolist()
        )
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == np.float64
            np.testing.assert_array_equal(ours, theirs)


def test_inputs_are_not_written_to():
    scores, y, w = sample(seed=17)
    copies = scores.copy(), y.copy(), w.copy()
    for route in ROUTES:
        for loss in LOSSES:
            cc.surrogates.evaluate(route, scores, y, loss=loss, loss_weight=w)
    for ours, before in zip((scores, y, w), copies, strict=True):
        np.testing.assert_array_equal(ours, before)


def test_a_batch_of_labels_may_be_given_as_a_structure():
    scores, y, w = sample(seed=18)
    expected = cc.surrogates.evaluate("hybrid", scores, y, loss="absolute", loss_weight=w)
    costs = Absolute().matrix(K)
    given = cc.surrogates.evaluate(
        "hybrid", scores, y, loss=costs, structure=Label(len(y), K), loss_weight=w
    )
    np.testing.assert_array_equal(given[0], expected[0])
    np.testing.assert_array_equal(given[1], expected[1])


def test_many_rows_in_chunks_are_the_same_as_few():
    scores, y, w = sample(n=20_000, seed=19)
    whole = cc.surrogates.evaluate("adversarial", scores, y, loss="squared", loss_weight=w)
    last = slice(19_990, None)
    part = cc.surrogates.evaluate(
        "adversarial", scores[last], y[last], loss="squared", loss_weight=w[last]
    )
    np.testing.assert_array_equal(whole[0][last], part[0])
    np.testing.assert_array_equal(whole[1][last], part[1])


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "y", "message"),
    [
        (np.zeros(3), [0], r"scores must have shape \(n, k\) with k > 0, got \(3,\)"),
        (np.zeros((2, 0)), [0, 0], r"scores must have shape \(n, k\)"),
        ([[0.0, np.nan]], [0], r"scores\[0, 1\] = nan is not finite"),
        ([[0.0, 1.0], [np.inf, 0.0]], [0, 0], r"scores\[1, 0\] = inf is not finite"),
        (np.zeros((2, 3)), [0], r"y must have shape \(2,\).*got \(1,\)"),
        (np.zeros((2, 3)), [[0, 1]], r"y must have shape \(2,\).*got \(1, 2\)"),
        (np.zeros((2, 3)), [0.0, 1.0], r"integer codes 0\.\.2, got dtype float64"),
        (np.zeros((2, 3)), ["a", "b"], r"integer codes 0\.\.2"),
        (np.zeros((2, 3)), [0, 3], r"y\[1\] = 3 is not a code in 0\.\.2"),
        (np.zeros((2, 3)), [-1, 2], r"y\[0\] = -1 is not a code in 0\.\.2"),
    ],
)
def test_bad_scores_and_codes_are_named(scores, y, message):
    with pytest.raises(ValueError, match=message):
        cc.surrogates.evaluate("log", scores, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], r"loss_weight must have shape \(2,\), got \(1,\)"),
        ([1.0, -1.0], r"loss_weight\[1\] = -1\.0 is not >= 0"),
        ([np.nan, 1.0], r"loss_weight\[0\] = nan is not >= 0"),
        ([1.0, np.inf], r"loss_weight\[1\] = inf is not >= 0"),
    ],
)
def test_bad_loss_weights_are_named(weight, message):
    with pytest.raises(ValueError, match=message):
        cc.surrogates.evaluate("hinge", np.zeros((2, 3)), [0, 1], loss_weight=weight)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, np.nan])
def test_the_hybrids_share_is_a_share(alpha):
    with pytest.raises(ValueError, match="0 <= alpha <= 1"):
        cc.surrogates.evaluate(Hybrid(alpha), [[0.0, 1.0]], [0])


def test_losses_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="3 columns, but there are 2 classes"):
        cc.surrogates.evaluate("log", [[0.0, 1.0]], [0], loss=CostMatrix(np.eye(3)))
    with pytest.raises(ValueError, match="unknown surrogate 'svm'"):
        cc.surrogates.evaluate("svm", [[0.0, 1.0]], [0])


@pytest.mark.parametrize("name", SURROGATES)
def test_routes_are_cloned_and_say_whether_they_are_consistent(name):
    route = clone(SURROGATES[name]())
    assert route.name == name
    for loss in LOSSES:
        costs = Label(1, K).loss(loss.matrix(K))
        summary = route.summarise(costs, np.zeros((1, K)), np.ones(1))
        sentence = route.consistency(costs, summary)
        assert sentence.endswith(".")
        assert "onsistent" in sentence or "covers" in sentence or "covered" in sentence
