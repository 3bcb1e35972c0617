"""Training with latent choices: convex problems, gradients, and the three observations of Kumar,
Packer and Koller (ICML 2012)."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import logsumexp

from concordant.latent.alternating import Agreement, Completion, Descent, Settings
from concordant.latent.conditional import LogLinear, predictions
from concordant.latent.likelihood import likelihood, maximise_likelihood
from concordant.latent.margin import INNER, FrankWolfe, MarginProblem
from concordant.solvers import Run
from concordant.surrogates import Dissimilarity
from tests.latent_problems import KINDS, problem, slow_cost
from tests.reference import solve_conic

TIGHT = Settings(tol=1e-7, max_iter=200)


def margin_problem(kind, rng, **options):
    _, examples = problem(kind, rng, **options)
    p = examples.uniform()
    expected = examples.costs.expected(examples.labels, p)
    weight = examples.weight * np.exp(rng.normal())
    target = (
        p if rng.random() < 0.5 else examples.one_hot(rng.integers(0, examples.structure.sizes))
    )
    return MarginProblem(
        examples.features, examples.structure, examples.labels, expected, target, weight
    )


def conic_optimum(convex):
    import cvxpy as cp

    x = convex.features.x.toarray() if hasattr(convex.features.x, "toarray") else convex.features.x
    k = convex.structure.n_classes
    W, slack = cp.Variable((k, x.shape[1])), cp.Variable(len(convex.labels))
    constraints = []
    for i, (lo, hi) in enumerate(zip(convex.structure.offsets, convex.structure.offsets[1:])):
        own = convex.target[lo:hi] @ x[lo:hi]
        reached = own @ W[convex.labels[i]]
        constraints.append(x[lo:hi] @ W.T + convex.costs[lo:hi] - reached <= slack[i])
    asked = cp.Problem(cp.Minimize(cp.sum_squares(W) / 2 + convex.weight @ slack), constraints)
    solve_conic(asked)
    return asked.value


def solved(convex, name, tol=1e-6, **options):
    run = Run(tol, 5000, floor=1e-12)
    INNER[name](**options).run(convex, None, run, np.random.default_rng(0))
    return run


@pytest.mark.parametrize("name", INNER)
@pytest.mark.parametrize("sparse", [False, True])
def test_convex_problem_is_solved_with_a_certificate(name, sparse):
    rng = np.random.default_rng(0)
    for case in range(6):
        kind = KINDS[case % len(KINDS)]
        convex = margin_problem(kind, rng, sparse=sparse, n=4 + case, k=1 + case % 4, most=7)
        run, optimum = solved(convex, name), conic_optimum(convex)
        assert run.reason == "tol"
        assert run.dual - 1e-6 <= optimum <= run.primal + 1e-6
        assert run.primal == pytest.approx(convex.value(run.weights), rel=1e-9)


def test_frank_wolfe_keeps_distributions_and_their_weights():
    rng = np.random.default_rng(1)
    for _ in range(20):
        convex = margin_problem("overlap", rng, n=8, most=12)
        run = solved(convex, "frank_wolfe", 1e-4)
        assert run.mu.min() >= 0.0
        assert np.allclose(convex.structure.total(run.mu.sum(axis=1)), 1.0)
        assert convex.dual(run.mu, convex.weights_of(run.mu)) == pytest.approx(run.dual, rel=1e-6)


def test_many_choices_fit_into_a_small_room(monkeypatch):
    """A visit that cannot hold all rows with mass still makes progress."""
    from concordant.latent import margin

    rng = np.random.default_rng(2)
    convex = margin_problem("zero_one", rng, n=6, most=40, d=20)
    optimum = solved(convex, "frank_wolfe").primal
    monkeypatch.setattr(margin, "ROOM", 3)
    assert solved(convex, "frank_wolfe").primal == pytest.approx(optimum, rel=3e-6)


def test_a_dual_point_is_a_warm_start():
    rng = np.random.default_rng(3)
    convex = margin_problem("zero_one", rng, n=20, d=8)
    cold = solved(convex, "frank_wolfe")
    warm = Run(2e-6, 100, floor=1e-12)
    FrankWolfe(cold.mu.copy()).run(convex, None, warm, rng)
    assert warm.n_iter == 1 < cold.n_iter


# ---- the conditional distribution ----


def conditional(kind, rng, known=None, **route):
    _, examples = problem(kind, rng, known=known)
    out = LogLinear(Dissimilarity(J=0.3, beta=0.4, **route), examples, rng)
    return examples, out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["bound", "prediction"])
def test_theta_gradient_agrees_with_differences(kind, target):
    rng = np.random.default_rng(4)
    known = np.array([-1, -1, 0, -1, -1, -1])
    for temperature in (0.3, 0.05) if target == "bound" else (0.0,):
        examples, model = conditional(kind, rng, known, theta_target=target)
        scores = rng.normal(size=examples.structure.shape)
        answers = model._answers(scores)

        def value(flat, part, model=model, scores=scores, answers=answers, t=temperature):
            out = model.value(flat.reshape(model.theta.shape), scores, answers, t)
            return out[0] if part == 0 else out[1].ravel()

        for _ in range(3):
            at = rng.normal(size=model.theta.size)
            error = check_grad(lambda f, v=value: v(f, 0), lambda f, v=value: v(f, 1), at)
            assert error < 2e-5


@pytest.mark.parametrize("kind", KINDS)
def test_value_of_theta_by_definition(kind):
    """Fixed answers: J/2 |theta|^2 + C sum (H_i(w, theta) - beta H_i(theta)), by listing."""
    rng = np.random.default_rng(5)
    bags, examples = problem(kind, rng)
    model = LogLinear(Dissimilarity(J=0.3, beta=0.4, theta_target="prediction"), examples, rng)
    theta = rng.normal(size=model.theta.shape)
    scores = rng.normal(size=examples.structure.shape)
    answers = predictions(examples, scores)
    total = 0.15 * (theta**2).sum()
    for i, bag in enumerate(bags):
        y, choices = examples.labels[i], range(bag.n_choices)
        logits = bag.features @ theta[y]
        p = np.exp(logits - logsumexp(logits))

        def loss(a, b, bag=bag):
            return slow_cost(kind, bag, 3, a, b)

        own = sum(p[h] * loss(tuple(answers[i]), (y, h)) for h in choices)
        own -= 0.4 * sum(p[g] * p[h] * loss((y, g), (y, h)) for g, h in product(choices, choices))
        total += examples.weight[i] * examples.costs.arrays[-1][i] * own
    assert model.value(theta, scores, answers, 0.0)[0] == pytest.approx(total)


def test_published_sign_and_scale_are_not_a_gradient():
    """Equation 17 adds the slope of H_i(theta); the gradient subtracts beta times it."""
    rng = np.random.default_rng(6)
    examples, model = conditional("overlap", rng, theta_target="prediction")
    scores = rng.normal(size=examples.structure.shape)
    at, answers = rng.normal(size=model.theta.shape), predictions(examples, scores)

    def value(flat):
        return model.value(flat.reshape(at.shape), scores, answers, 0.0)[0]

    right = model.value(at, scores, answers, 0.0)[1].ravel()
    model.route.beta = -1.0
    wrong = model.value(at, scores, answers, 0.0)[1].ravel()
    model.route.beta = 0.4
    assert check_grad(value, lambda _: right, at.ravel()) < 2e-5
    assert check_grad(value, lambda _: wrong, at.ravel()) > 1e-2


def test_hard_bound_is_the_limit_of_the_smooth_one():
    rng = np.random.default_rng(7)
    examples, model = conditional("overlap", rng)
    scores = rng.normal(size=examples.structure.shape)
    theta, answers = rng.normal(size=model.theta.shape), model._answers(scores)
    hard, smooth = (model.value(theta, scores, answers, t)[0] for t in (0.0, 1e-3))
    cells = max(examples.structure.sizes) * 3
    assert hard <= smooth <= hard + 1e-3 * np.log(cells) * examples.weight.sum()
    descent = Descent(examples, TIGHT, rng)
    descent.set_distribution(model.distribution(theta))
    bound = examples.structure.largest((scores + descent.expected).max(axis=1))
    rest = examples.structure.total(descent.p * examples.own(descent.expected))
    slow = model.penalty(theta) + examples.weight @ (bound - 0.4 * rest)
    assert hard == pytest.approx(slow)


@pytest.mark.parametrize("solver", ["lbfgs", "sgd"])
def test_both_theta_solvers_descend(solver):
    rng = np.random.default_rng(8)
    _, examples = problem("overlap", rng, n=30, d=5)
    route = Dissimilarity(J=0.3, beta=0.4, theta_solver=solver, theta_target="prediction")
    model = LogLinear(route, examples, rng)
    scores = rng.normal(size=examples.structure.shape)
    answers = predictions(examples, scores)
    before = model.value(model.theta, scores, answers, 0.0)[0]
    best = LogLinear(Dissimilarity(J=0.3, beta=0.4, theta_target="prediction"), examples, rng)
    best.theta = best.propose(scores, 1e-6)
    lowest, slope = best.value(best.theta, scores, answers, 0.0)
    if solver == "lbfgs":
        assert np.abs(slope).max() < 0.01
    after = model.value(model.propose(scores, 1e-3), scores, answers, 0.0)[0]
    assert after < before - 0.5 * (before - lowest)


# ---- the three observations, and monotone descent ----


def test_observation_1_a_label_loss_gives_latent_svm():
    rng = np.random.default_rng(9)
    for _ in range(5):
        _, examples = problem("label_only", rng, n=12, d=5)
        start = examples.one_hot(rng.integers(0, examples.structure.sizes))
        fits = [
            Completion(examples, 1, TIGHT, np.random.default_rng(0)).run(start),
            Completion(examples, None, TIGHT, np.random.default_rng(0)).run(start),
            Agreement(examples, Dissimilarity(), TIGHT, np.random.default_rng(0)).run(start),
        ]
        assert not fits[2].theta.any()
        for fit in fits[1:]:
            assert fit.objective == pytest.approx(fits[0].objective, rel=1e-5)
            assert np.allclose(fit.weights, fits[0].weights, atol=1e-2)


def test_observation_2_the_procedure_never_raises_the_objective():
    """The objective is computed here from its definition, choice by choice."""
    rng = np.random.default_rng(10)
    for kind in KINDS:
        _, examples = problem(kind, rng, n=8, d=4)
        descent = Descent(examples, Settings(tol=1e-3), rng)
        descent.set_distribution(examples.one_hot(rng.integers(0, examples.structure.sizes)))
        target, values = examples.uniform(), []
        for _ in range(6):
            values.append(slow_objective(examples, descent))
            assert values[-1] == pytest.approx(descent.value())
            descent.convex_step(target, examples.weight, 0.1)  # loosely: steps must still not harm
            target = examples.completed(descent.scores)
        assert (np.diff(values) <= 1e-12).all()
        assert values[-1] < values[0]


def slow_objective(examples, descent):
    total = 0.5 * (descent.weights**2).sum()
    for i, (lo, hi) in enumerate(zip(examples.structure.offsets, examples.structure.offsets[1:])):
        scores = examples.features.x[lo:hi] @ descent.weights.T
        slack = (scores + descent.expected[lo:hi]).max() - scores[:, examples.labels[i]].max()
        total += examples.weight[i] * slack
    return total


@pytest.mark.parametrize("kind", ["zero_one", "overlap", "table"])
def test_observation_3_deltas_give_iterative_latent_svm(kind):
    """Among all deltas the completed choices minimise H_i(w, theta), whose diversity is 0; and a
    log-linear P that is nearly a delta poses the same problem for the weights."""
    rng = np.random.default_rng(11)
    bags, examples = problem(kind, rng, d=4)
    descent = Completion(examples, None, Settings(tol=1e-6), np.random.default_rng(0))
    descent.weights = rng.normal(size=descent.weights.shape)
    descent.scores = examples.features.scores(descent.weights)
    completed = examples.completed(descent.scores)
    choices = examples.structure.first_largest(completed)
    labels, said = examples.structure.best(descent.scores)
    for i, bag in enumerate(bags):
        loss = [
            slow_cost(kind, bag, 3, (labels[i], said[i]), (examples.labels[i], h))
            for h in range(bag.n_choices)
        ]
        assert loss[choices[i]] == min(loss)
    model = LogLinear(Dissimilarity(), examples, rng)
    sharp = model.distribution(1e4 * descent.weights)
    assert np.allclose(sharp, completed, atol=1e-5)
    first = Descent(examples, TIGHT, np.random.default_rng(0))
    second = Descent(examples, TIGHT, np.random.default_rng(0))
    first.set_distribution(completed)
    second.set_distribution(sharp)
    for each in (first, second):
        each.descend_weights(examples.uniform(), 50)
    assert first.value() == pytest.approx(second.value(), rel=1e-4)


@pytest.mark.parametrize("solver", ["lbfgs", "sgd"])
@pytest.mark.parametrize("target", ["bound", "prediction"])
def test_the_whole_objective_never_rises(solver, target):
    rng = np.random.default_rng(12)
    for kind in ("zero_one", "overlap", "table"):
        _, examples = problem(kind, rng, n=15, d=5)
        route = Dissimilarity(J=0.01, beta=0.3, theta_solver=solver, theta_target=target)
        descent = Agreement(examples, route, Settings(tol=1e-4), rng)
        fit = descent.run(examples.uniform())
        values = np.array(fit.history["objective"])
        assert (np.diff(values) <= 1e-12).all()
        assert fit.objective == pytest.approx(values[-1])
        model = LogLinear(route, examples, rng)
        descent.set_distribution(model.distribution(fit.theta))
        ridge = 0.005 * (fit.theta**2).sum()
        diversity = examples.structure.total(descent.p * examples.own(descent.expected))
        slow = slow_objective(examples, descent) + ridge - 0.3 * examples.weight @ diversity
        assert fit.objective == pytest.approx(slow)


def test_known_choices_make_a_structured_svm():
    """With every choice known the problem is convex, and every route reaches its optimum."""
    rng = np.random.default_rng(13)
    known = np.array([0, 0, 0, 0, 0, 0])
    _, examples = problem("overlap", rng, known=known, d=4)
    expected = examples.costs.expected(examples.labels, examples.uniform())
    convex = MarginProblem(
        examples.features, examples.structure, examples.labels, expected,
        examples.one_hot(known), examples.weight,
    )  # fmt: skip
    optimum = conic_optimum(convex)
    for descent in (
        Completion(examples, 1, TIGHT, rng),
        Completion(examples, None, TIGHT, rng),
        Agreement(examples, Dissimilarity(), TIGHT, rng),
    ):
        fit = descent.run(examples.uniform())
        assert fit.objective == pytest.approx(optimum, rel=1e-5)
        assert np.array_equal(fit.p, examples.one_hot(known))


def test_self_paced_start_ends_at_an_objective_of_all_examples():
    rng = np.random.default_rng(14)
    _, examples = problem("overlap", rng, n=20, d=5)
    settings = Settings(tol=1e-6, self_paced=True)
    fit = Completion(examples, 1, settings, rng).run(examples.uniform())
    descent = Completion(examples, 1, settings, rng)
    descent.set_distribution(fit.p)
    descent.weights = fit.weights
    descent.scores = examples.features.scores(fit.weights)
    assert slow_objective(examples, descent) == pytest.approx(fit.objective)


# ---- the marginal likelihood ----


def test_likelihood_and_its_gradient():
    rng = np.random.default_rng(15)
    known = np.array([-1, 0, -1, -1, 0, -1])
    _, examples = problem("zero_one", rng, known=known)
    weights = rng.normal(size=(3, 3))
    slow = 0.5 * (weights**2).sum()
    for i, (lo, hi) in enumerate(zip(examples.structure.offsets, examples.structure.offsets[1:])):
        scores = examples.features.x[lo:hi] @ weights.T
        own = scores[:, i % 3] if known[i] < 0 else scores[known[i], i % 3]
        slow += examples.weight[i] * (logsumexp(scores) - logsumexp(own))
    value, gradient, p = likelihood(examples, weights)
    assert value == pytest.approx(slow)
    assert np.allclose(examples.structure.total(p), 1.0)
    error = check_grad(
        lambda flat: likelihood(examples, flat.reshape(3, 3))[0],
        lambda flat: likelihood(examples, flat.reshape(3, 3))[1].ravel(),
        weights.ravel(),
    )
    assert error < 1e-5
    fit = maximise_likelihood(examples, weights, Settings(tol=1e-9))
    assert np.abs(likelihood(examples, fit.weights)[1]).max() < 1e-3
    assert (np.diff(fit.history["objective"]) <= 1e-12).all()
    assert gradient.shape == weights.shape
