"""Fisher consistency, theorem by theorem: minimise the conditional risk on label distributions.

At one x with label distribution d everything is finite: the risk of scores f is
``sum_y d_y surrogate(f, y)``, its minimum a linear or conic program, and a route is consistent
there if every f whose largest score is at a wrong action has a strictly larger risk.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import concordant as cc
from concordant.structures import LabelCosts

MARGIN = 1e-4  # losses and distributions are round numbers: real differences are larger


def grid(k: int, steps: int) -> np.ndarray:
    """All label distributions with positive multiples of ``1/steps``."""
    cells = itertools.product(range(1, steps), repeat=k)
    return np.array([c for c in cells if sum(c) == steps]) / steps


RNG = np.random.default_rng(3)
SQUARE = {
    "zero_one": cc.losses.ZeroOne().matrix(3),
    "absolute": cc.losses.Absolute().matrix(4),
    "squared": cc.losses.Squared().matrix(4),
    "lopsided": np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [1.0, 3.0, 0.0]]),
    "right answers cost": np.array([[1.0, 2.0, 3.0], [2.0, 0.5, 1.0], [4.0, 3.0, 2.0]]),
}
ACTIONS = {
    "abstain at 0.2": cc.losses.Abstain(0.2).matrix(3),
    "abstain at 0.5": cc.losses.Abstain(0.5).matrix(3),
    "abstain at 0.6": cc.losses.Abstain(0.6).matrix(4),
    "five actions": RNG.integers(0, 5, (5, 3)).astype(float),
    "two actions": RNG.integers(0, 5, (2, 3)).astype(float),
}


def adversarial_minimum(L: np.ndarray, d: np.ndarray, top: int | None = None):
    """Least conditional risk, and scores that attain it; `top` forces the largest score.

    ``min_f max_q min_p p'Lq + f'q - f'd`` as a linear program in (f, p, v): v is at least every
    ``(p'L)_j + f_j``.
    """
    r, k = L.shape
    c = np.r_[-d, np.zeros(r), 1.0]
    rows = [np.c_[np.eye(k), L.T, -np.ones(k)]]
    if top is not None:
        above = np.eye(k) - np.eye(k)[top]
        rows.append(np.c_[above, np.zeros((k, r + 1))])
    A = np.vstack(rows)
    equal = np.array([np.r_[np.ones(k), np.zeros(r + 1)], np.r_[np.zeros(k), np.ones(r), 0.0]])
    bounds = [(None, None)] * k + [(0, None)] * r + [(None, None)]
    found = linprog(c, A, np.zeros(len(A)), equal, [0.0, 1.0], bounds)
    assert found.success, found.message
    return found.fun, found.x[:k]


def risk(surrogate, scores: np.ndarray, d: np.ndarray, loss) -> float:
    """The library's conditional risk."""
    k = len(d)
    values, _ = cc.surrogates.evaluate(surrogate, np.tile(scores, (k, 1)), np.arange(k), loss=loss)
    return float(d @ values)


@pytest.mark.parametrize("name", [*SQUARE, *ACTIONS])
def test_the_least_adversarial_risk_is_the_bayes_risk(name):
    L = {**SQUARE, **ACTIONS}[name]
    for d in grid(L.shape[1], 7):
        least, scores = adversarial_minimum(L, d)
        assert least == pytest.approx((L @ d).min(), abs=1e-9)
        assert risk("adversarial", scores, d, cc.losses.CostMatrix(L)) == pytest.approx(
            least, abs=1e-9
        )


@pytest.mark.parametrize("name", SQUARE)
def test_wrong_largest_scores_cost_more_under_the_adversary(name):
    """Thesis of Fathony, Theorem 2.9."""
    L = SQUARE[name]
    checked = 0
    for d in grid(len(L), 7):
        expected = L @ d
        best = int(expected.argmin())
        if np.sort(expected)[1] - expected[best] < 1e-9:
            continue
        for wrong in set(range(len(L))) - {best}:
            forced, scores = adversarial_minimum(L, d, top=wrong)
            assert forced > expected[best] + MARGIN
            value = risk("adversarial", scores, d, cc.losses.CostMatrix(L))
            assert value == pytest.approx(forced, abs=1e-9)
            checked += 1
    assert checked > 10


@pytest.mark.parametrize("name", SQUARE)
def test_every_tied_best_answer_has_its_own_minimiser(name):
    """Theorem 2.10 (a): the minimisers are mixtures of ``-L[a]`` over tied best actions a."""
    L = SQUARE[name]
    rng = np.random.default_rng(0)
    ties = 0
    for d in grid(len(L), 8):
        expected = L @ d
        best = np.flatnonzero(expected <= expected.min() + 1e-12)
        ties += len(best) > 1
        for a in best:
            assert (-L[a]).argmax() == a
        mixtures = [*np.eye(len(best)), rng.dirichlet(np.ones(len(best)))]
        for mixture in mixtures:
            value = risk("adversarial", -mixture @ L[best], d, cc.losses.CostMatrix(L))
            assert value == pytest.approx(expected.min(), abs=1e-9)
    assert ties


def test_no_minimiser_is_wrong_at_ties_of_zero_one_loss():
    """Theorem 2.10 (b): where mixing rows of tied actions cannot prefer another label."""
    L = SQUARE["zero_one"]
    d = np.array([3, 3, 1]) / 7
    assert adversarial_minimum(L, d, top=2)[0] > (L @ d).min() + MARGIN
    assert adversarial_minimum(L, d, top=1)[0] == pytest.approx((L @ d).min(), abs=1e-9)


@pytest.mark.parametrize("name", [*SQUARE, *ACTIONS])
def test_the_predictors_equilibrium_reaches_the_bayes_risk(name):
    """Theorem 2.11: also for actions that are not labels."""
    L = {**SQUARE, **ACTIONS}[name]
    for d in grid(L.shape[1], 7):
        _, scores = adversarial_minimum(L, d)
        p, _, _ = cc.surrogates.equilibrium(scores[None], loss=cc.losses.CostMatrix(L))
        assert p[0] @ L @ d == pytest.approx((L @ d).min(), abs=1e-7)


def says_consistent(L: np.ndarray) -> bool:
    return cc.surrogates.Adversarial().consistency(LabelCosts(L), {}).startswith("Consistent")


def test_an_answer_that_costs_less_when_it_is_wrong_is_not_called_consistent():
    """The theorems compare costs along a row. Here every right answer is the cheapest for its
    truth, yet answering 0 costs more when it is right than when it is wrong."""
    L = np.array([[1.0, 0.5], [2.0, 0.2]])
    d = np.array([0.5, 0.5])
    assert (L @ d).argmin() == 0
    assert adversarial_minimum(L, d, top=1)[0] == pytest.approx((L @ d)[0], abs=1e-9)
    assert not says_consistent(L)


def test_what_is_called_consistent_is():
    rng = np.random.default_rng(5)
    praised = 0
    for _ in range(400):
        L = rng.integers(0, 5, (3, 3)) / 4.0
        L[np.diag_indices(3)] = rng.integers(0, 3, 3) / 4.0
        if not says_consistent(L):
            continue
        praised += 1
        for d in grid(3, 5):
            expected = L @ d
            best = int(expected.argmin())
            if np.sort(expected)[1] - expected[best] < 1e-9:
                continue
            for wrong in set(range(3)) - {best}:
                assert adversarial_minimum(L, d, top=wrong)[0] > expected[best] + MARGIN
    assert praised >= 5


class HybridRisk:
    """Least conditional risk of the hybrid under 0-1 loss, by a conic solver."""

    def __init__(self, k: int):
        import cvxpy as cp

        self.d, self.alpha = cp.Parameter(k, nonneg=True), cp.Parameter(nonneg=True)
        self.rest = cp.Parameter(k, nonneg=True)
        self.f = cp.Variable(k)
        self.above = cp.Parameter((k, k))
        margins = [cp.max(self.f + (1.0 - np.eye(k))[y]) for y in range(k)]
        hinge = self.rest @ cp.hstack(margins)
        goal = self.alpha * cp.log_sum_exp(self.f) + hinge - self.d @ self.f
        constraints = [self.above @ self.f <= 0, cp.sum(self.f) == 0]
        self.problem = cp.Problem(cp.Minimize(goal), constraints)

    def minimum(self, d: np.ndarray, alpha: float, top: int | None = None):
        k = len(d)
        self.d.value, self.alpha.value, self.rest.value = d, alpha, (1.0 - alpha) * d
        self.above.value = np.zeros((k, k)) if top is None else np.eye(k) - np.eye(k)[top]
        tight = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
        self.problem.solve(solver="CLARABEL", **tight)
        return float(self.problem.value), np.asarray(self.f.value)


def falling(k: int, steps: int) -> list[np.ndarray]:
    """Distributions with a single most probable label, the first; the loss knows no order."""
    some = [d for d in grid(k, steps) if d[0] > d[1] and np.all(np.diff(d) <= 0)]
    assert some
    return some


def alpha_asked(d: np.ndarray) -> float:
    """The share above which the hybrid puts the first label alone on top.

    At scores tied on the t most probable labels, stationarity fixes the softmax outside them at
    ``d_j/alpha`` and asks for hinge weights ``m_j = (d_j - alpha p)/(1-alpha)`` on them, p being
    their common softmax. A label gets no hinge weight from its own examples, so ``m_1 <= 1 - d_1``;
    where that fails for every t >= 2 nothing ties with the first label.
    """
    t = np.arange(2, len(d) + 1)
    outside = 1.0 - np.cumsum(d)[1:]
    return float(((1.0 - 2.0 * d[0] - outside / t) / (1.0 - d[0] - 1.0 / t)).max())


def published_alpha(d: np.ndarray) -> float:
    """Theorem 1 of Shi et al. (2015)."""
    return 1.0 - (d[0] - d[1]) / (1.0 - 2.0 * d[0])


def lead(program: HybridRisk, d: np.ndarray, alpha: float) -> float:
    """How much more the best scores with a wrong label on top cost than the best scores."""
    least, scores = program.minimum(d, alpha)
    value = risk(cc.surrogates.Hybrid(alpha), scores, d, "zero_one")
    assert value == pytest.approx(least, abs=1e-6)
    return min(program.minimum(d, alpha, wrong)[0] for wrong in range(1, len(d))) - least


@pytest.mark.parametrize(("k", "steps"), [(3, 9), (4, 11), (5, 11)])
def test_the_hybrid_is_consistent_where_a_majority_exists(k, steps):
    """The first half of Theorem 1 of Shi et al. (2015): D1 >= 1/2."""
    program = HybridRisk(k)
    for d in falling(k, steps):
        if d[0] > 0.5:
            assert all(lead(program, d, alpha) > 1e-5 for alpha in (0.05, 0.5))


@pytest.mark.parametrize(("k", "steps"), [(3, 9), (4, 11), (5, 11)])
def test_the_hybrid_is_consistent_exactly_above_the_alpha_it_asks_for(k, steps):
    """The second half, as `Hybrid` has it: no majority, alpha large enough."""
    program, above, below = HybridRisk(k), 0, 0
    for d in falling(k, steps):
        if d[0] > 0.5:
            continue
        asked = alpha_asked(d)
        assert asked >= published_alpha(d) - 1e-12
        for alpha in (asked + 0.1, asked + 0.4 * (1.0 - asked)):
            if alpha < 1.0:
                assert lead(program, d, alpha) > 1e-5
                above += 1
        if asked > 0.05:
            assert abs(lead(program, d, asked - 0.05)) < 1e-7
            below += 1
    assert above
    assert below


def test_the_published_alpha_is_that_of_two_tied_labels():
    """Theorem 1 as printed sees ties of two labels only: three may tie at a larger alpha."""
    d = np.array([4, 3, 2]) / 9
    assert published_alpha(d) == pytest.approx(0.0)
    assert alpha_asked(d) == pytest.approx(0.5)
    assert abs(lead(HybridRisk(3), d, 0.4)) < 1e-7
    rare = np.array([0.45, 0.44, 0.06, 0.05])  # here two tie first, and the two conditions agree
    assert alpha_asked(rare) == pytest.approx(published_alpha(rare))


def test_the_hybrid_reports_the_alpha_of_its_sample():
    """`summarise` on scores whose softmax is a known distribution."""
    d = np.array([[4, 3, 2], [7, 1, 1], [2, 4, 3]]) / 9
    costs = LabelCosts(1.0 - np.eye(3))
    found = cc.surrogates.Hybrid(0.4).summarise(costs, np.log(d), np.ones(3))
    assert found["no_majority"] == pytest.approx(2 / 3)
    assert found["met"] == 0.0
    assert found["median"] == pytest.approx(0.5)
    assert cc.surrogates.Hybrid(0.6).summarise(costs, np.log(d), np.ones(3))["met"] == 1.0


def test_the_hinge_ties_every_label_where_none_has_a_majority():
    """What the log part is for: at alpha = 0 another label may lead at no extra risk."""
    program = HybridRisk(3)
    d = np.array([0.4, 0.3, 0.3])
    least, _ = program.minimum(d, 0.0)
    assert program.minimum(d, 0.0, top=2)[0] == pytest.approx(least, abs=1e-7)
    assert risk("hinge", np.zeros(3), d, "zero_one") == pytest.approx(least, abs=1e-7)
