"""The waist: one operation of a route serves labels, chains and matchings alike.

``solve(scores, target, weight, strength, centre) -> (upper, mu, bonus)`` is checked against
enumeration, and then carries a gradient method, a dual method and their certificates to the
optimum that a conic solver finds by listing all answers.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import logsumexp

from concordant.losses import Matching as Prices
from concordant.objective import Objective
from concordant.penalty import Penalty
from concordant.scorers import LinearScorer, PairwiseScorer, Scorer
from concordant.scorers import PairScorer as PairsOf
from concordant.solvers import DualAscent, Lbfgs, minimise
from concordant.structures import (
    Assignments,
    Graph,
    Label,
    LabelCosts,
    NodeCosts,
    PairPrices,
    Pairwise,
    PartLoss,
    Structure,
)
from concordant.structures import Chain as PackedChain
from concordant.surrogates import Adversarial, Hinge, Hybrid, Log, Route
from concordant.surrogates.base import Surrogate
from tests.reference import game_lp, solve_conic
from tests.reference_assignments import listed_parts
from tests.small_structures import Chain, ChainScorer, Matching, PairScorer
from tests.small_structures import NodeCosts as SmallCosts

STRUCTURES = ("label", "chain", "matching", "packed", "assignments", "graph")
ROUTES = {"adversarial": Adversarial(), "log": Log(), "hinge": Hinge()}
N = 4


class Case(NamedTuple):
    """A small data set, with every answer of every example listed."""

    structure: Structure
    scorer: Scorer
    target: Any
    loss: PartLoss
    answers: list[np.ndarray]  # (number of answers, number of parts) each


@cache
def make_case(name: str) -> Case:
    rng = np.random.default_rng(7)
    costs = np.array([[0.0, 3.0, 1.0], [1.0, 0.0, 2.0], [2.0, 0.5, 0.0]])  # of no special family
    if name == "label":
        label = Label(N, 3)
        x = rng.normal(size=(N, 2))
        every = [np.eye(3)] * N
        return Case(
            label, LinearScorer(x, 3, False), np.array([0, 2, 1, 1]), LabelCosts(costs), every
        )
    if name == "chain":
        lengths = np.array([3, 1, 2, 3])
        chain = Chain(lengths, 3)
        x, y = np.empty(N, object), np.empty(N, object)
        x[:] = [rng.normal(size=(T, 2)) for T in lengths]
        y[:] = [rng.integers(0, 3, T) for T in lengths]
        return Case(chain, ChainScorer(x, 3), y, chain.loss(costs), chain.enumerate())
    if name == "packed":  # the library's own chains, with features of edges
        lengths = np.array([3, 1, 2, 3])
        packed = PackedChain(lengths, 3, per_edge=True, node_weight=rng.uniform(0.5, 1.5, 9))
        y = np.empty(N, object)
        y[:] = [rng.integers(0, 3, T) for T in lengths]
        edge_scorer = PairwiseScorer(rng.normal(size=(9, 2)), packed, rng.normal(size=(5, 1)))
        return Case(packed, edge_scorer, y, packed.loss(costs), every_labelling(packed))
    if name == "assignments":  # partial, ragged, with a forbidden pair and an example without rows
        n, m = np.array([2, 3, 0, 1]), np.array([3, 2, 2, 1])
        forbidden = np.zeros((3, 2), bool)
        forbidden[0, 1] = True
        batch = Assignments(n, m, True, [None, forbidden, None, None])
        pairs = PairsOf(rng.normal(size=(batch.places.pairs.size, 4)), batch)
        prices = PairPrices.of(batch, Prices(miss=0.5, false=2.0))
        y = batch.table([[1, -1], [0, -1, 1], [], [0]])
        one_by_one = [batch.take(slice(i, i + 1))[0] for i in range(N)]
        return Case(batch, pairs, y, prices, [listed_parts(one) for one in one_by_one])
    if name == "graph":  # forests: a path, a single node, two in one, and a pair linked twice
        edges = np.array([[0, 1], [2, 1], [5, 4], [5, 6], [7, 8], [8, 7]])
        weight = rng.uniform(0.5, 1.5, 9)
        graph = Graph([3, 1, 3, 2], 3, edges, [2, 0, 2, 2], per_edge=True, node_weight=weight)
        y = np.empty(N, object)
        y[:] = [rng.integers(0, 3, T) for T in graph.lengths]
        edge_scorer = PairwiseScorer(rng.normal(size=(9, 2)), graph, rng.normal(size=(6, 1)))
        return Case(graph, edge_scorer, y, graph.loss(costs), every_labelling(graph))
    matching = Matching(N, 3)
    y = np.array([rng.permutation(3) for _ in range(N)])
    scorer = PairScorer(rng.normal(size=(N, 9, 4)))
    return Case(matching, scorer, y, matching.loss("hamming"), matching.enumerate())


def every_labelling(chain: Pairwise) -> list[np.ndarray]:
    """All answers of each example, one a row."""
    tables = []
    for i, T in enumerate(chain.lengths):
        one, _ = chain.take(slice(i, i + 1))
        paths = product(range(chain.n_classes), repeat=int(T))
        tables.append(np.array([one.parts([np.array(y)]) for y in paths]))
    return tables


def listed(case: Case, i: int, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Example i's problem as labels: score of each answer, their costs, and the right one."""
    one, where = case.structure.take(slice(i, i + 1))
    answers, loss = case.answers[i], case.loss.on(one)
    shape = scores[where].shape
    prices = [loss.of_actions(y.reshape(shape)).ravel() for y in answers]
    truth = one.parts(case.target[i : i + 1]).ravel()
    right = int(np.flatnonzero((answers == truth).all(axis=1))[0])
    return answers @ scores[where].ravel(), answers @ np.array(prices).T, right


def value_by_listing(case: Case, route: str, i: int, scores: np.ndarray, w: float) -> float:
    f, L, right = listed(case, i, scores)
    if route == "adversarial":
        return game_lp(f, L, w)[0]
    if route == "log":
        return float(logsumexp(f))
    return float((f + w * L[:, right]).max())


def loss_weights(route: str, rng: np.random.Generator) -> np.ndarray:
    return np.ones(N) if route == "log" else rng.uniform(0.5, 2.0, N)


def random_scores(case: Case, rng: np.random.Generator) -> np.ndarray:
    return 2.0 * rng.normal(size=case.structure.parts(case.target).shape)


def random_mixture(case: Case, rng: np.random.Generator) -> np.ndarray:
    """A point of the polytope with several answers in it."""
    scores = [random_scores(case, rng) for _ in range(3)]
    return np.tensordot([0.5, 0.3, 0.2], [case.structure.argmax(f) for f in scores], 1)


# --- the pieces the proofs stand on ---------------------------------------------------------


@pytest.mark.parametrize("name", STRUCTURES)
def test_oracles_agree_with_listing(name: str) -> None:
    case, rng = make_case(name), np.random.default_rng(0)
    scores = random_scores(case, rng)
    partition, mu = case.structure.marginals(scores)
    best, entropy = case.structure.argmax(scores), case.structure.entropy(mu)
    for i in range(N):
        _, where = case.structure.take(slice(i, i + 1))
        f = listed(case, i, scores)[0]
        p = np.exp(f - logsumexp(f))
        np.testing.assert_allclose(partition[i], logsumexp(f))
        np.testing.assert_allclose(mu[where].ravel(), p @ case.answers[i], atol=1e-12)
        np.testing.assert_array_equal(best[where].ravel(), case.answers[i][f.argmax()])
        np.testing.assert_allclose(entropy[i], -(p @ np.log(p)), rtol=1e-8)
    np.testing.assert_allclose(case.structure.entropy(best), 0.0, atol=1e-12)


@pytest.mark.parametrize("name", STRUCTURES)
def test_scorers_are_linear_maps_with_their_transpose_and_norm(name: str) -> None:
    case, rng = make_case(name), np.random.default_rng(1)
    weights = rng.normal(size=case.scorer.start().shape)
    residual = random_scores(case, rng)
    forward = np.vdot(case.scorer.scores(weights), residual)
    np.testing.assert_allclose(forward, np.vdot(weights, case.scorer.pullback(residual)))
    for i, norm in enumerate(case.scorer.square_norms()):
        one, (_, where) = case.scorer.take(slice(i, i + 1)), case.structure.take(slice(i, i + 1))
        pulled = one.pullback(residual[where])
        bound = norm * np.vdot(residual[where], residual[where])
        assert np.vdot(pulled, pulled) <= bound * (1.0 + 1e-12)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("rows", [slice(1, 3), np.array([2, 0, 2])])
def test_any_examples_make_a_batch(name: str, rows: Any) -> None:
    case, rng = make_case(name), np.random.default_rng(2)
    scores, w = random_scores(case, rng), loss_weights("hinge", rng)
    for surrogate in ROUTES.values():
        route = Route(surrogate, case.structure, case.loss)
        whole = route.solve(scores, case.target, w, 0.5)
        some, where = route.take(rows)
        part = some.solve(scores[where], case.target[rows], w[rows], 0.5)
        np.testing.assert_array_equal(part.mu, whole.mu[where])
        np.testing.assert_array_equal(part.upper, whole.upper[rows])


# --- the one question -----------------------------------------------------------------------


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("route", ROUTES)
def test_plain_question_agrees_with_listing(name: str, route: str) -> None:
    case, rng = make_case(name), np.random.default_rng(3)
    scores, w = random_scores(case, rng), loss_weights(route, rng)
    for bound in (Route(ROUTES[route], case.structure, case.loss), bind(case, route)):
        upper, mu, bonus = bound.solve(scores, case.target, w)
        expected = [value_by_listing(case, route, i, scores, w[i]) for i in range(N)]
        np.testing.assert_allclose(upper, expected, rtol=1e-9)
        np.testing.assert_allclose(case.structure.dot(scores, mu) + bonus, upper, rtol=1e-8)
        np.testing.assert_allclose(bound.bonus(mu, case.target, w), bonus, rtol=1e-7, atol=1e-9)


def bind(case: Case, route: str) -> Route:
    """As the library does: compiled on labels."""
    loss: Any = "hamming"
    if isinstance(case.loss, PairPrices):
        loss = case.loss
    elif isinstance(case.loss, LabelCosts | NodeCosts | SmallCosts):
        loss = case.loss.costs
    return ROUTES[route].bind(case.structure, loss)


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1e4])
@pytest.mark.parametrize("name", ["chain", "matching", "packed", "graph"])
def test_double_oracle_closes_its_gap_at_any_scale(name: str, scale: float) -> None:
    case, rng = make_case(name), np.random.default_rng(4)
    scores = scale * random_scores(case, rng)
    upper, mu, bonus = bind(case, "adversarial").solve(scores, case.target, np.full(N, 0.7))
    attained = case.structure.dot(scores, mu) + bonus
    np.testing.assert_allclose(attained, upper, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("route", [*ROUTES, "hybrid"])
def test_gradient_is_mu_less_parts(name: str, route: str) -> None:
    case, rng = make_case(name), np.random.default_rng(5)
    surrogate = ROUTES.get(route, Hybrid(0.3))
    bound = Route(surrogate, case.structure, case.loss)
    scores, move = random_scores(case, rng), random_scores(case, rng)
    w = loss_weights(route, rng)
    _, gradient = bound.values(scores, case.target, w)
    ahead, behind = (bound.values(scores + e * move, case.target, w)[0] for e in (1e-6, -1e-6))
    slope = (ahead - behind) / 2e-6
    np.testing.assert_allclose(case.structure.dot(gradient, move), slope, atol=1e-6)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("strength", [0.01, 0.5, 20.0])
@pytest.mark.parametrize("centred", [True, False])
def test_proximal_question(name: str, route: str, strength: float, centred: bool) -> None:
    case, rng = make_case(name), np.random.default_rng(6)
    bound = Route(ROUTES[route], case.structure, case.loss)
    scores, w = random_scores(case, rng), loss_weights(route, rng)
    centre = random_mixture(case, rng) if centred else None
    anchor = 0.0 if centre is None else centre
    dot = case.structure.dot

    def proximal_value(mu: np.ndarray, bonus: np.ndarray) -> np.ndarray:
        return dot(scores, mu) + bonus - 0.5 * strength * dot(mu - anchor, mu - anchor)

    upper, mu, bonus = bound.solve(scores, case.target, w, strength, centre)
    plain = bound.solve(scores, case.target, w).upper
    assert (upper >= plain - 1e-9).all()
    assert (bonus <= bound.bonus(mu, case.target, w) + 1e-8).all()
    # The variational inequality: at the scores tilted by the proximal term's gradient nothing
    # beats mu. It is exact for the polyhedral routes; entropy is approached.
    tilted = scores - strength * (mu - anchor)
    best = bound.solve(tilted, case.target, w).upper
    gap = best - dot(tilted, mu) - bonus
    assert (gap >= -1e-9).all()
    if centre is None:
        tolerance = 1e-9 * (1.0 + np.abs(best)) + (1e-3 if route == "log" else 0.0)
    else:
        stay = bound.bonus(centre, case.target, w)
        assert (proximal_value(mu, bonus) >= proximal_value(centre, stay)).all()
        at_stake = plain - dot(scores, centre) - stay
        tolerance = 1e-9 + (1e-4 * at_stake if route == "log" else 0.0)
    assert (gap <= tolerance).all(), (gap, tolerance)


@pytest.mark.parametrize("route", ROUTES)
def test_generic_and_compiled_labels_agree(route: str) -> None:
    case, rng = make_case("label"), np.random.default_rng(9)
    scores, w = random_scores(case, rng), loss_weights(route, rng)
    for centre in (None, random_mixture(case, rng)):
        question = (scores, case.target, w, np.array([0.0, 0.1, 1.0, 10.0]), centre)
        generic = Route(ROUTES[route], case.structure, case.loss).solve(*question)
        compiled = bind(case, route).solve(*question)
        np.testing.assert_allclose(generic.mu, compiled.mu, atol=2e-3 if route == "log" else 1e-7)


def test_hybrid_on_structures_says_what_it_cannot_do() -> None:
    case, rng = make_case("chain"), np.random.default_rng(10)
    mu, w = random_mixture(case, rng), np.full(N, 1.0)
    for alpha, same in ((0.0, Hinge()), (1.0, Log())):
        ours = Route(Hybrid(alpha), case.structure, case.loss).bonus(mu, case.target, w)
        theirs = Route(same, case.structure, case.loss).bonus(mu, case.target, w)
        np.testing.assert_allclose(ours, theirs)
    with pytest.raises(TypeError, match="split of mu"):
        Route(Hybrid(0.5), case.structure, case.loss).bonus(mu, case.target, w)


# --- training: a gradient method and a dual method, each with its certificate -----------------


def make_objective(name: str, surrogate: Surrogate) -> Objective:
    case = make_case(name)
    rng = np.random.default_rng(11)
    weight = rng.uniform(0.5, 1.5, N)
    w = loss_weights(surrogate.name, rng)
    route = Route(surrogate, case.structure, case.loss)
    return Objective(case.scorer, route, case.target, weight, w)


@cache
def optimum(name: str, route: str) -> float:
    """The same problem over listed answers, by a conic solver."""
    import cvxpy as cp

    case, objective = make_case(name), make_objective(name, ROUTES[route])
    shape = case.scorer.start().shape
    units = np.eye(int(np.prod(shape)))
    linear = np.array([case.scorer.scores(unit.reshape(shape)) for unit in units])
    W = cp.Variable(len(units))
    total, constraints = 0.5 * cp.sum_squares(W), []
    for i in range(N):
        f = np.array([listed(case, i, scores)[0] for scores in linear]).T @ W
        _, L, right = listed(case, i, linear[0])
        if route == "adversarial":
            p = cp.Variable(len(L), nonneg=True)
            constraints.append(cp.sum(p) == 1)
            value = cp.max(f + objective.loss_weight[i] * (L.T @ p))
        elif route == "log":
            value = cp.log_sum_exp(f)
        else:
            value = cp.max(f + objective.loss_weight[i] * L[:, right])
        total += objective.weight[i] * (value - f[right])
    problem = cp.Problem(cp.Minimize(total), constraints)
    solve_conic(problem)
    return float(problem.value)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("solver", [Lbfgs(), DualAscent(finish=False)], ids=["lbfgs", "dual"])
def test_training_is_certified_and_brackets_the_optimum(name: str, route: str, solver: Any) -> None:
    objective = make_objective(name, ROUTES[route])
    result = minimise(solver, objective, tol=1e-3, max_iter=1000)
    best = optimum(name, route)
    slack = 1e-7 * best
    assert result.reason == "tol"
    assert result.gap <= 1e-3 * result.objective
    assert result.objective - result.gap - slack <= best <= result.objective + slack
    # What a solver reports is a bound: exact, or the predictor's mixture in a smoothed game.
    assert best - slack <= objective.primal(result.weights) <= result.objective + slack


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("route", ROUTES)
def test_dual_passes_never_lose(name: str, route: str) -> None:
    objective = make_objective(name, ROUTES[route])
    state = objective.dual_start()
    duals = [objective.dual(state.mu)]
    for _ in range(5):
        objective.dual_pass(state, np.arange(N))
        duals.append(objective.dual(state.mu))
        np.testing.assert_allclose(state.weights, objective.dual_weights(state.mu), atol=1e-12)
    assert (np.diff(duals) >= -1e-9).all()
    assert duals[-1] > duals[0]


@pytest.mark.parametrize("name", STRUCTURES)
def test_hybrid_at_one_trains_as_log(name: str) -> None:
    objective = make_objective(name, Hybrid(1.0))
    objective.loss_weight[:] = 1.0
    log = make_objective(name, Log())
    log.weight[:] = objective.weight
    ours, theirs = (minimise(Lbfgs(), each, tol=1e-5) for each in (objective, log))
    assert ours.reason == theirs.reason == "tol"
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-5)


@pytest.mark.parametrize("name", STRUCTURES)
def test_sampled_gradients_add_up(name: str) -> None:
    objective, rng = make_objective(name, Hybrid(0.5)), np.random.default_rng(12)
    weights = rng.normal(size=objective.start().shape)
    singles = [objective.sample_gradient(weights, np.array([i])) for i in range(N)]
    np.testing.assert_allclose(np.mean(singles, axis=0), objective.loss_gradient(weights)[1])


@pytest.mark.parametrize("penalty", [Penalty(), Penalty(2.0, 0.1)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_plain_pass_is_the_compiled_pass(penalty: Penalty, fit_intercept: bool) -> None:
    """One waist, two loops: the structures' pass on labels moves as the labels' own."""
    rng = np.random.default_rng(13)
    x, y = rng.normal(size=(6, 2)), rng.integers(0, 3, 6)
    route = Log().bind(Label(6, 3), 1.0 - np.eye(3))
    scorer = LinearScorer(x, 3, fit_intercept)
    objective = Objective(scorer, route, y, np.ones(6), penalty=penalty)
    start = rng.normal(size=scorer.start().shape)
    ours, compiled = objective.dual_start(start), objective.dual_start(start)
    order = rng.permutation(6)
    objective._plain_pass(ours, order)
    problem = (
        objective._norms, y, objective.weight, objective.loss_weight,
        penalty.l2, penalty.l1, objective._pull,
    )  # fmt: skip
    assert scorer.dual_pass(compiled, order, route.block, problem)  # without the last step
    np.testing.assert_allclose(ours.mu, compiled.mu, atol=1e-12)
    np.testing.assert_allclose(ours.weights, compiled.weights, atol=1e-12)
