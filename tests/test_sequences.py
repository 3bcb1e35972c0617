"""SequenceLabeler and the passes under it, against generic code, a conic solver and by hand."""

from __future__ import annotations

import warnings
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import concordant as cc
from concordant.checks import check_structured_estimator
from concordant.corpus.data import Features, Layout
from concordant.corpus.gibbs import dual_weights
from concordant.corpus.objective import CorpusObjective, Model
from concordant.objective import Objective
from concordant.penalty import Penalty
from concordant.scorers import PairwiseScorer
from concordant.solvers import (
    BlockFrankWolfe,
    ExponentiatedGradient,
    Fista,
    Lbfgs,
    Result,
    minimise,
)
from concordant.structures import Chain
from concordant.surrogates import Adversarial, Hinge, Hybrid, Log, SmoothedRoute
from tests.reference import solve_conic
from tests.test_node_games import labellings

Array = np.ndarray
K = 3
COSTS = np.array([[0.0, 3.0, 1.0], [1.0, 0.0, 2.0], [2.0, 0.5, 0.0]])
ROUTES = {
    "log": (Log(), Model(COSTS, 1.0)),
    "hinge": (Hinge(), Model(COSTS, 0.0)),
    "hybrid": (Hybrid(0.4), Model(COSTS, 0.4)),
    "adversarial": (Adversarial(), Model(COSTS, 0.0, adversarial=True)),
}


@cache
def corpus(n: int = 12, seed: int = 0) -> tuple[Any, Array, Array, Array]:
    """Features, lengths, codes and node weights."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, n)
    N = int(lengths.sum())
    x = sp.random(N, 4, 0.6, random_state=seed, format="csr")
    return x, lengths, rng.integers(0, K, N), rng.uniform(0.5, 1.5, N)


def fused(
    route: str, fit_intercept: bool = False, forbidden: Any = None, penalty: Any = None
) -> CorpusObjective:
    x, lengths, codes, node_weight = corpus()
    layout = Layout.all_pairs(4, K, fit_intercept)
    weight = np.linspace(0.5, 2.0, len(lengths))
    if route == "hybrid":  # whose log part generic code weighs by example only
        node_weight = np.ones_like(node_weight)
    return CorpusObjective(
        Features(x, lengths), layout, codes, ROUTES[route][1], weight, node_weight, penalty,
        forbidden,
    )  # fmt: skip


def generic(objective: CorpusObjective, route: str) -> Objective:
    """The same problem with all scores in memory."""
    x, lengths, codes, _ = corpus()
    chain = Chain(lengths, K, node_weight=objective.node_weight)
    scorer = PairwiseScorer(x, chain, None, objective.has_intercept)
    weight = objective.weight * (objective.log_weight if route == "log" else 1.0)
    y = np.empty(len(lengths), object)
    y[:] = chain.codes_of(codes)
    smoothed = SmoothedRoute(ROUTES[route][0], chain, chain.loss(COSTS))
    return Objective(scorer, smoothed, y, weight)


# --- fused passes -----------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    ("route", "strength"),
    [
        ("log", 0.0),
        ("hinge", 0.0),
        ("hinge", 0.3),
        ("hybrid", 0.0),
        ("hybrid", 0.3),
        ("adversarial", 0.0),  # games are smoothed by generic code only
    ],
)
def test_fused_passes_agree_with_generic_code(
    route: str, strength: float, fit_intercept: bool
) -> None:
    ours = fused(route, fit_intercept)
    theirs = generic(ours, route)
    rng = np.random.default_rng(1)
    rough = 1e-2 if route == "adversarial" else 1e-9  # games are solved to a tolerance
    for scale in (0.0, 1.0, 300.0):
        if scale == 0.0 and not strength and route != "log":
            continue  # all answers tie: any gradient is one
        weights = scale * rng.normal(size=len(ours.start()))
        a = ours.loss(weights, strength)
        b = theirs.loss(theirs.scorer.scores(weights), strength)
        size = 1.0 + abs(b.value)
        assert abs(a.value - b.value) <= rough * size
        if route != "adversarial":
            np.testing.assert_allclose(a.gain, b.gain, rtol=1e-8, atol=1e-9 * size)
            np.testing.assert_allclose(
                a.residual, theirs.scorer.pullback(b.residual), atol=1e-9 * size
            )
            np.testing.assert_allclose(
                ours.dual_at(weights, strength)[1],
                theirs.dual_at(theirs.scorer.scores(weights), strength)[1],
                rtol=1e-7,
            )


@pytest.mark.parametrize("route", ["log", "hybrid"])
def test_gradient_by_finite_differences(route: str) -> None:
    objective, rng = fused(route, True), np.random.default_rng(2)
    weights, move = rng.normal(size=(2, len(objective.start())))
    gradient = objective.loss(weights, 0.5).residual
    ahead, behind = (objective.loss(weights + e * move, 0.5).value for e in (1e-5, -1e-5))
    np.testing.assert_allclose(gradient @ move, (ahead - behind) / 2e-5, rtol=1e-6)


def test_sums_do_not_depend_on_threads() -> None:
    from concordant.executor import Executor

    objective, weights = fused("hybrid"), np.linspace(-1.0, 1.0, 21)
    one = objective.loss(weights, 0.3)
    with Executor(3) as executor:
        objective.executor = executor
        many = objective.loss(weights, 0.3)
    assert one.value == many.value
    np.testing.assert_array_equal(one.residual, many.residual)


def test_seen_pairs_are_all_pairs_with_the_others_left_out() -> None:
    x, lengths, codes, _ = corpus()
    features = Features(x, lengths)
    codes = np.where(codes == 2, 0, codes)  # label 2 never occurs
    seen = Layout.seen_pairs(features, codes, K, False)
    full = Layout.all_pairs(4, K, False)
    weights = np.random.default_rng(3).normal(size=seen.size)
    assert 0 < len(seen.labels) < 4 * K
    wide = np.concatenate([seen.dense(weights[: seen.n_nodes]).T.ravel(), weights[seen.n_nodes :]])
    ones = np.ones(len(lengths))
    a = CorpusObjective(features, seen, codes, Model(COSTS, 1.0), ones).loss(weights)
    b = CorpusObjective(features, full, codes, Model(COSTS, 1.0), ones).loss(wide)
    np.testing.assert_allclose(a.value, b.value)
    table = b.residual[: 4 * K].reshape(4, K)
    rows = np.repeat(np.arange(4), np.diff(seen.begin))
    np.testing.assert_allclose(a.residual[: seen.n_nodes], table[rows, seen.labels])


# --- training ---------------------------------------------------------------------------------


@cache
def optimum(route: str, fit_intercept: bool) -> float:
    """By a conic solver, over listed answers."""
    import cvxpy as cp

    objective = fused(route, fit_intercept)
    problem = generic(objective, route)
    scorer, chain = problem.scorer, problem.route.structure
    linear = np.array([scorer.scores(unit) for unit in np.eye(len(scorer.start()))])
    W = cp.Variable(len(linear))
    penalised = len(linear) - fit_intercept * K
    total, constraints = 0.5 * cp.sum_squares(W[:penalised]), []
    for i in range(chain.n_examples):
        one, where = chain.take(slice(i, i + 1))
        answers, truth = labellings(chain, i), one.parts(problem.target[i : i + 1])
        costs = one.loss(COSTS)
        f = (answers @ linear[:, where].T) @ W
        right = int(np.flatnonzero((answers == truth).all(axis=1))[0])
        if route == "adversarial":  # the predictor's strategies, node by node
            p = cp.Variable((int(chain.lengths[i]), K), nonneg=True)
            constraints.append(cp.sum(p, axis=1) == 1)
            nodes = np.array([costs.at_nodes(one.nodes(a)).ravel() for a in answers])
            value = cp.max(f + nodes @ cp.vec(p, order="C"))
        else:
            prices = np.array([one.dot(costs.of_actions(truth), a)[0] for a in answers])
            alpha = ROUTES[route][1].alpha
            value = alpha * cp.log_sum_exp(f) + (1.0 - alpha) * cp.max(f + prices)
        total += problem.weight[i] * (value - f[right])
    solution = cp.Problem(cp.Minimize(total), constraints)
    solve_conic(solution)
    return float(solution.value)


@pytest.mark.parametrize(
    ("route", "solver", "tol"),
    [
        ("log", Lbfgs(), 1e-5),
        ("log", ExponentiatedGradient(), 1e-4),
        ("hybrid", ExponentiatedGradient(), 1e-2),
        ("hinge", ExponentiatedGradient(), 5e-2),
        ("adversarial", ExponentiatedGradient(), 5e-2),
        ("hinge", Lbfgs(), 1e-3),
        ("hybrid", Lbfgs(), 1e-3),
        ("hinge", BlockFrankWolfe(), 2e-2),
        ("adversarial", BlockFrankWolfe(), 5e-2),
    ],
)
def test_training_brackets_the_conic_optimum(route: str, solver: Any, tol: float) -> None:
    assert bracket(route, solver, tol, False).reason == "tol"


def bracket(route: str, solver: Any, tol: float, fit_intercept: bool) -> Result:
    """What the solver finds, and that its certificate is right."""
    result = minimise(solver, fused(route, fit_intercept), tol=tol, max_iter=500)
    best = optimum(route, fit_intercept)
    assert result.objective - result.gap <= best * (1.0 + 1e-6)
    assert result.objective >= best * (1.0 - 1e-6)
    return result


@pytest.mark.parametrize(
    ("route", "solver", "tol"),
    [
        ("log", Lbfgs(), 1e-5),
        ("log", ExponentiatedGradient(), 1e-4),
        ("hinge", Lbfgs(), 1e-2),
        ("hinge", BlockFrankWolfe(), 0.1),  # the repair of what is left of a constraint is dear
        ("adversarial", BlockFrankWolfe(), 0.1),
    ],
)
def test_intercepts_do_not_spoil_the_bracket(route: str, solver: Any, tol: float) -> None:
    result = bracket(route, solver, tol, True)
    assert result.reason == "tol"
    assert np.abs(result.weights[-K:]).max() > 0.1
    assert result.objective <= (1.0 + tol) * optimum(route, True)


def test_block_steps_never_lose() -> None:
    for route in ("hinge", "adversarial"):
        objective = fused(route)
        state = objective.block_start()
        duals = []
        for _ in range(6):
            objective.block_pass(state, np.arange(objective.n_examples))
            duals.append(objective.block_bounds(state)[-1])
        assert duals[0] > 0.0
        assert (np.diff(duals) >= -1e-9).all()


@pytest.mark.parametrize("route", ["log", "hinge", "hybrid", "adversarial"])
def test_exponentiated_gradients_keep_their_dual_point(route: str) -> None:
    objective = fused(route)
    state = objective.gibbs_start()
    chain = Chain(objective.features.lengths, K)
    values = []
    for _ in range(5):
        objective.gibbs_pass(state, np.arange(objective.n_examples * len(state.blocks)))
        own = dual_weights(objective, state.blocks)
        for stream in state.streams:
            np.testing.assert_allclose(stream.weights, own, atol=1e-10)
        for blocks in state.blocks:
            # Its entropies are those of its marginals under the scores that it keeps.
            kept = np.concatenate([blocks.theta.ravel(), blocks.theta_tables.ravel()])
            partition, mu = chain.marginals(kept)
            np.testing.assert_allclose(chain.nodes(mu), blocks.mu, atol=1e-6)
            np.testing.assert_allclose(partition - chain.dot(kept, mu), blocks.entropy, atol=1e-7)
            if len(blocks.costs):
                if blocks.game:
                    each = (blocks.mu @ blocks.costs.T).min(axis=1)
                else:
                    each = (blocks.mu @ blocks.costs)[range(len(blocks.mu)), objective.codes]
                each = np.add.reduceat(each * objective.node_weight, chain.offsets[:-1])
                np.testing.assert_allclose(blocks.worth, each, atol=1e-6)
        values.append(objective.gibbs_bounds(state))
    assert all((blocks.rates > 0.0).all() for blocks in state.blocks)
    if route == "log":  # nothing is smoothed, so the dual cannot fall
        assert (np.diff([dual for *_, dual in values]) >= -1e-9).all()


def test_strategies_are_projections() -> None:
    from concordant.kernels.gibbs import strategy
    from concordant.oracles.simplex import project_rows

    rng = np.random.default_rng(0)
    for _ in range(2000):
        costs = rng.integers(0, 3, (rng.integers(1, 5), 3)).astype(float)  # ties
        mu, tau = rng.dirichlet(np.full(3, 0.3)), 10.0 ** rng.integers(-3, 2)
        play, price = np.empty(len(costs)), np.empty(len(costs))
        value = strategy(costs, mu, tau, play, price)
        best = project_rows(-(costs @ mu)[None] / tau)[0]
        np.testing.assert_allclose(play, best, atol=1e-9)
        np.testing.assert_allclose(value, best @ costs @ mu + 0.5 * tau * (best @ best - 1.0))


def test_streams_do_not_depend_on_threads() -> None:
    from concordant.executor import Executor

    objective, weights = fused("log"), []
    for threads in (1, 3):
        with Executor(threads) as executor:
            objective.executor = executor
            weights.append(minimise(ExponentiatedGradient(), objective, max_iter=5).weights)
    np.testing.assert_array_equal(*weights)


def test_lasso_leaves_out_and_is_certified() -> None:
    objective = fused("log", penalty=Penalty(0.0, 1.0))
    result = minimise(Fista(), objective, tol=1e-4, max_iter=3000)
    assert result.reason == "tol"
    smooth = minimise(Lbfgs(), fused("log", penalty=Penalty(1e-6, 0.0)), tol=1e-4)
    assert (result.weights == 0.0).sum() > (smooth.weights == 0.0).sum()


def test_the_perceptron_is_the_perceptron() -> None:
    """Against the algorithm written out, on seen examples in a known order."""
    objective = fused("hinge")
    chain = generic(objective, "hinge").route.structure
    scorer = PairwiseScorer(corpus()[0], chain)
    weights, average, total = objective.start(), objective.start(), objective.start()
    order, seen = np.array([3, 0, 7, 3, 1]), 0
    truth = chain.parts([corpus()[2]])
    kept = []
    for i in order:
        one, where = chain.take(slice(i, i + 1))
        answer = one.argmax(scorer.scores(weights)[where])
        residual = np.zeros_like(truth)
        residual[where] = truth[where] - answer
        weights = weights + scorer.pullback(residual)
        kept.append(weights)
    ours = objective.start()
    seen = objective.online_pass(ours, total, 0, order, 0)
    np.testing.assert_allclose(ours, weights, atol=1e-12)
    average = ours - total / seen
    # The total counts an update from its own step on.
    shifted = [objective.start(), *kept[:-1]]
    np.testing.assert_allclose(average, np.mean(shifted, axis=0), atol=1e-12)


# --- the estimator ----------------------------------------------------------------------------


def word_data(n: int = 8, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """A toy language: the label follows from the word and the label before."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for i in range(n):
        words = rng.choice(["a", "b", "c"], 2 + i % 3)
        X.append(
            [{"word": w, "size": float(rng.integers(1, 3)), "even": i % 2 == 0} for w in words]
        )
        y.append(["V" if w == "c" else "N" if i % 2 else "D" for w in words])
    return X, y


def number_data() -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(2 + i % 3, 2)) for i in range(8)]
    return X, [np.where(x[:, 0] > 0.0, "up", "down") for x in X]


@pytest.mark.parametrize("route", ["log", "hinge", "hybrid", "adversarial"])
@pytest.mark.parametrize("data", [word_data, number_data])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_structured_checks(route: str, data: Any) -> None:
    model = cc.SequenceLabeler(surrogate=route, tol=1e-2, random_state=0, n_jobs=1)
    check_structured_estimator(model, *data())


def test_it_learns_from_words_and_from_transitions() -> None:
    X, y = word_data(20)
    for route in ("log", "hinge", "hybrid"):
        model = cc.SequenceLabeler(surrogate=route, C=10.0, tol=1e-2).fit(X, y)
        assert model.score(X, y) == 1.0
    plain = [[["w"]] * 6 for _ in range(5)]
    turns = [["A", "B"] * 3 for _ in range(5)]
    model = cc.SequenceLabeler(surrogate="log", C=10.0).fit(plain, turns)
    fixed = [["A", *[None] * 5]]
    assert model.predict(plain[:1], fixed=fixed)[0].tolist() == ["A", "B"] * 3
    assert model.predict(plain[:1], fixed=[["B", *[None] * 5]])[0][:3].tolist() == ["B", "A", "B"]


def test_weights_equal_copies() -> None:
    X, y = word_data(6)
    doubled = cc.SequenceLabeler(surrogate="log", tol=1e-8).fit(
        X, y, sample_weight=[2, 1, 0, 1, 1, 1]
    )
    copied = cc.SequenceLabeler(surrogate="log", tol=1e-8)
    copied.fit([X[i] for i in (0, 0, 1, 3, 4, 5)], [y[i] for i in (0, 0, 1, 3, 4, 5)])
    assert doubled.objective_ == pytest.approx(copied.objective_, rel=1e-6)
    np.testing.assert_allclose(doubled.transitions_, copied.transitions_, atol=1e-3)


def test_forbidden_transitions_never_happen() -> None:
    X, y = word_data(20)
    pairs = {(a, b) for labels in y for a, b in pairwise(labels)}
    forbidden = [(a, b) for a in "DNV" for b in "DNV" if (a, b) not in pairs]
    rng = np.random.default_rng(0)
    new = [[{"word": w} for w in rng.choice(["a", "b", "c"], 6)] for _ in range(30)]
    for route in ("log", "hinge", "hybrid", "adversarial"):
        model = cc.SequenceLabeler(surrogate=route, forbidden=forbidden, tol=5e-2, max_iter=50)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        for ranked in model.predict_best(new, 2):
            for labels, _ in ranked:
                assert not {*pairwise(labels)} & {*forbidden}
    with pytest.raises(ValueError, match=r"y\[\d+\] has the forbidden pair"):
        cc.SequenceLabeler(surrogate="log", forbidden=[next(iter(pairs))]).fit(X, y)


def test_unknown_labels_are_marginalised_or_completed() -> None:
    X, y = word_data(20)
    rng = np.random.default_rng(4)
    partly = [[label if rng.random() < 0.7 else None for label in labels] for labels in y]
    for route, least in (("log", 0.9), ("hinge", 0.75)):
        model = cc.SequenceLabeler(surrogate=route, C=10.0, tol=1e-2).fit(X, partly)
        assert model.score(X, y) > least
    # Unknown everywhere in a sequence: it says nothing.
    more = cc.SequenceLabeler(surrogate="log", tol=1e-7).fit([*X, X[0]], [*y, [None] * len(y[0])])
    less = cc.SequenceLabeler(surrogate="log", tol=1e-7).fit(X, y)
    np.testing.assert_allclose(more.transitions_, less.transitions_, atol=1e-2)


def test_posterior_decoding_takes_the_least_expected_loss() -> None:
    X, y = word_data(12)
    model = cc.SequenceLabeler(surrogate="log", loss=cc.losses.Abstain(cost=0.2)).fit(X, y)
    costs = cc.losses.Abstain(cost=0.2).matrix(3)
    for answer, q in zip(model.predict(X), model.predict_marginals(X)):
        expected = model.actions_[(q @ costs.T).argmin(axis=1)]
        np.testing.assert_array_equal(answer, expected)
    best = model.predict_best(X, 3)
    proba = model.predict_proba(X)
    top = [next(labels for labels, _ in ranked) for ranked in best]
    np.testing.assert_allclose(model.predict_proba(X, top), proba)
    assert (proba > 0.0).all()
    assert (proba <= 1.0).all()


def test_whole_sequences_are_decoded_whole_if_they_count_as_wholes() -> None:
    """The most probable labelling, where the most probable labels make another."""
    rng = np.random.default_rng(9)
    X = [rng.normal(size=(4, 1)) for _ in range(40)]
    y = [np.array([rng.permutation(3)[0]] * 4) for _ in X]
    nodes = cc.SequenceLabeler(loss="hamming", surrogate="log", C=3.0).fit(X, y)
    whole = cc.SequenceLabeler(loss="sequence_zero_one", surrogate="log", C=3.0).fit(X, y)
    np.testing.assert_allclose(nodes.coef_, whole.coef_)
    best = [labels for ((labels, _),) in whole.predict_best(X, 1)]
    assert all(np.array_equal(a, b) for a, b in zip(whole.predict(X), best))
    assert any(not np.array_equal(a, b) for a, b in zip(whole.predict(X), nodes.predict(X)))
    right = [np.array_equal(a, b) for a, b in zip(whole.predict(X), y)]
    weight = rng.uniform(size=40)
    assert whole.score(X, y, weight) == pytest.approx(np.average(right, weights=weight))
    assert "whole labellings" in whole.consistency()
    with pytest.raises(ValueError, match="'hinge' route trains for losses summed over nodes"):
        cc.SequenceLabeler("sequence_zero_one", "hinge").fit(X, y)


def test_whole_sequences_have_the_probabilities_of_their_parts() -> None:
    X = [[["a"], ["b"]]] * 3
    y = [["N", "V"], ["N", "N"], ["V", "V"]]
    model = cc.SequenceLabeler(surrogate="log").fit(X, y)
    every = [[a, b] for a in ("N", "V") for b in ("N", "V")]
    assert model.predict_proba(X[:1], [[None] * len(X[0])]) == pytest.approx(1.0)
    assert model.predict_proba(X[:1], [["never seen", *[None] * (len(X[0]) - 1)]]) == 0.0
    total = model.predict_proba([X[0]] * 4, every).sum()
    assert total == pytest.approx(1.0)


def test_edge_features_of_sequences() -> None:
    rng = np.random.default_rng(5)
    X = [cc.Sequence(np.zeros((5, 1)), rng.normal(size=(4, 1))) for _ in range(20)]
    y = [np.concatenate([[0], np.cumsum(x.edge_features[:, 0] > 0.0) % 2]) for x in X]
    model = cc.SequenceLabeler(surrogate="log", C=10.0).fit(X, y)
    fixed = [[0, *[None] * 4]] * 20
    assert model.edge_coef_.shape == (1, 2, 2)
    assert np.mean(np.concatenate(model.predict(X, fixed=fixed)) == np.concatenate(y)) > 0.8


def test_the_adversarial_theorem_on_small_distributions() -> None:
    """With scores free for every labelling's parts, the largest score has the least expected loss
    (Fathony 2019, Theorem 3.3), majority or not."""
    rng = np.random.default_rng(6)
    every = np.array([(a, b) for a in range(3) for b in range(3)])
    for concentration in (0.3, 1.0, 3.0):
        P = rng.dirichlet(np.full(9, concentration))
        X = [cc.Sequence(np.eye(2), np.ones((1, 1)))] * 9
        model = cc.SequenceLabeler(surrogate="adversarial", C=300.0, tol=1e-2, fit_intercept=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, list(every), sample_weight=P)
        answer = model.predict(X[:1])[0]
        costs = np.array([P @ (every != y).sum(axis=1) for y in every])
        mine = P @ (every != answer).sum(axis=1)
        assert mine <= costs.min() + 0.02


BAD = {
    "empty sequence": ([[["a"]], []], [["N"], []], ValueError, "sequence 1 is empty"),
    "lengths": ([[["a"]], [["b"]]], [["N"], ["N", "V"]], ValueError, "sequence 1 has 1 nodes"),
    "count": ([[["a"]]], [["N"], ["V"]], ValueError, "X has 1 examples, y has 2"),
    "nan value": ([[{"a": np.nan}]], [["N"]], ValueError, "sequence 0, token 0: feature 'a'"),
    "no features": ([["ab"]], [["N"]], TypeError, "sequence 0, token 0"),
    "odd value": ([[{"a": object()}]], [["N"]], TypeError, "feature 'a' has the value"),
    "widths": ([np.zeros((1, 2)), np.zeros((1, 3))], [[0], [1]], ValueError, "sequence 1 has 3"),
    "nan array": ([np.full((1, 2), np.nan)], [[0]], ValueError, "sequence 0: row 0 contains"),
    "no labels": ([[["a"]]], [[None]], ValueError, "no known labels"),
    "edges": (
        [cc.Sequence(np.zeros((2, 1)), np.zeros((2, 1)))], [[0, 1]], ValueError, "2 rows of",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case: str) -> None:
    X, y, error, message = BAD[case]
    with pytest.raises(error, match=message):
        cc.SequenceLabeler(surrogate="log").fit(X, y)


def test_bad_arguments_are_named() -> None:
    X, y = word_data()
    for arguments, message in (
        ({"solver": "magic"}, "unknown solver 'magic'"),
        ({"features": "none"}, "features must be"),
        ({"surrogate": "weston_watkins"}, "labels only"),
        ({"surrogate": "log", "solver": "block_frank_wolfe"}, "hinge and adversarial"),
        ({"penalty": "l1", "surrogate": "log", "solver": "lbfgs"}, "fista"),
        ({"penalty": "l3"}, "unknown penalty"),
    ):
        with pytest.raises(ValueError, match=message):
            cc.SequenceLabeler(**arguments).fit(X, y)
    model = cc.SequenceLabeler(surrogate="log").fit(X, y)
    with pytest.raises(ValueError, match="fixed\\[0\\] has 'Q'"):
        model.predict(X[:1], fixed=[["Q", *[None] * (len(X[0]) - 1)]])
