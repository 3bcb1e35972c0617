"""Pairwise surrogates of rankings: values, gradients, bounds, and their optimum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from concordant.outputs.pairwise import KINDS, PairwiseObjective, Smoothing
from concordant.solvers import minimise


def data(n=6, items=5, d=3):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    grades = np.where(rng.uniform(size=(n, items)) < 0.3, np.nan, rng.integers(1, 5, (n, items)))
    return x, grades.astype(float), rng.uniform(0.1, 1.0, n), rng


def written_out(kind, w, x, grades, price):
    total = 0.5 * np.sum(w**2)
    for i in range(len(x)):
        f = w @ x[i]
        for a, b in itertools.permutations(range(grades.shape[1]), 2):
            d = grades[i, a] - grades[i, b]
            if not d > 0:
                continue
            s = f[a] - f[b]
            value = {"hinge": d * max(1 - s, 0), "logistic": d * np.log1p(np.exp(-s)),
                     "struct": max(d - s, 0)}[kind]  # fmt: skip
            total += price[i] * value
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_gradients(kind):
    x, grades, price, rng = data()
    objective = PairwiseObjective(kind, x, grades, price)
    w = rng.normal(size=objective.shape)
    plain = objective.bounds_at(w)
    assert plain.primal == pytest.approx(written_out(kind, w, x, grades, price))
    bounds = objective.bounds(w, 0.5)
    assert bounds.smooth <= bounds.primal + 1e-12
    for step in np.eye(w.size)[::4].reshape(-1, *w.shape):
        h = 1e-6
        rise = (
            objective.bounds(w + h * step, 0.5).smooth - objective.bounds(w - h * step, 0.5).smooth
        )
        assert np.vdot(bounds.gradient, step) == pytest.approx(rise / (2 * h), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0])
def test_training_is_certified_and_brackets_the_optimum(kind, scale):
    """The optimum by a conic solver, from the definition."""
    import cvxpy as cp

    x, grades, price, _ = data()
    price = scale * price
    objective = PairwiseObjective(kind, x, grades, price)
    result = minimise(Smoothing(), objective, tol=1e-3, max_iter=3000)
    assert result.reason == "tol"
    assert result.gap <= 1e-3 * result.objective
    w = cp.Variable(objective.shape)
    cost = 0.5 * cp.sum_squares(w)
    for i in range(len(x)):
        f = w @ x[i]
        for a, b in itertools.permutations(range(grades.shape[1]), 2):
            d = grades[i, a] - grades[i, b]
            if d > 0:
                s = f[a] - f[b]
                cost += price[i] * {"hinge": d * cp.pos(1 - s), "logistic": d * cp.logistic(-s),
                                    "struct": cp.pos(d - s)}[kind]  # fmt: skip
    optimum = cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    slack = 1e-5 * (1.0 + optimum)
    assert result.objective - result.gap - slack <= optimum <= result.objective + slack
