"""What labellers of nodes say of their consistency, against conditional risks of two nodes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import concordant as cc
from concordant.structures import LabelCosts
from tests.test_consistency import adversarial_minimum

K = 3
RANKS = np.arange(K)
MATRICES = {
    "zero_one": 1.0 - np.eye(K),
    "absolute": np.abs(np.subtract.outer(RANKS, RANKS)).astype(float),
    "squared": np.subtract.outer(RANKS, RANKS) ** 2.0,
    "lopsided": np.array([[0.0, 1.0, 1.0], [4.0, 0.0, 1.0], [1.0, 1.0, 0.0]]),
}
EVERY = np.array(list(product(range(K), repeat=2)))


def summed(costs: np.ndarray) -> np.ndarray:
    """Costs between labellings of two nodes."""
    return costs[EVERY[:, None, 0], EVERY[None, :, 0]] + costs[EVERY[:, None, 1], EVERY[None, :, 1]]


def hinge_minimum(L: np.ndarray, d: np.ndarray, top: int | None = None) -> float:
    """Least conditional risk of the hinge, with a largest score forced if `top` is given."""
    m = len(d)
    rows, bounds = [], []
    for y, other in product(range(m), repeat=2):  # t_y >= L[other, y] + f[other] - f[y]
        row = np.zeros(2 * m)
        row[other] += 1.0
        row[y] -= 1.0
        row[m + y] -= 1.0
        rows.append(row)
        bounds.append(-L[other, y])
    for other in range(m) if top is not None else ():
        row = np.zeros(2 * m)
        row[other] += 1.0
        row[top] -= 1.0
        rows.append(row)
        bounds.append(0.0)
    c = np.concatenate([np.zeros(m), d])
    found = linprog(c, np.array(rows), bounds, bounds=[(None, None)] * (2 * m))
    assert found.success
    return float(found.fun)


def distributions(majority: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    found = []
    while len(found) < 4:
        d = rng.dirichlet(np.full(len(EVERY), 0.2))
        if (d.max() > 0.55) if majority else (d.max() < 0.45):
            found.append(d)
    return found


def sentence(route: str, costs: np.ndarray, X: Any = None, **more: Any) -> str:
    data = [np.eye(3), np.eye(3)[:2]]
    model = cc.SequenceLabeler(cc.losses.CostMatrix(costs), route, tol=0.1, **more)
    return model.fit(data, [[0, 1, 2], [1, 1]]).consistency(X)


@pytest.mark.parametrize("name", ["zero_one", "absolute"])
def test_the_hinge_finds_a_majority_labelling_under_a_distance(name: str) -> None:
    L = summed(MATRICES[name])
    assert "probability above 1/2" in sentence("hinge", MATRICES[name])
    for d in distributions(majority=True):
        expected = L @ d
        best = int(expected.argmin())
        assert best == d.argmax()
        least = hinge_minimum(L, d)
        assert least == pytest.approx(2.0 * expected[best])
        for wrong in set(range(len(d))) - {best}:
            assert hinge_minimum(L, d, wrong) > least + 1e-6


def test_the_hinge_may_tie_without_a_majority() -> None:
    L, ties = summed(MATRICES["zero_one"]), 0
    for d in distributions(majority=False):
        expected = L @ d
        least = hinge_minimum(L, d)
        worse = np.flatnonzero(expected > expected.min() + 1e-3)
        ties += any(hinge_minimum(L, d, int(y)) <= least + 1e-9 for y in worse)
    assert ties > 0


@pytest.mark.parametrize("name", MATRICES)
def test_the_adversarial_route_needs_no_majority(name: str) -> None:
    """Fathony (2019), Theorem 3.3, with scores free for each labelling."""
    L = summed(MATRICES[name])
    assert sentence("adversarial", MATRICES[name]).startswith("Consistent for this loss")
    for d in distributions(majority=False)[:2]:
        expected = L @ d
        least, _ = adversarial_minimum(L, d)
        assert least == pytest.approx(expected.min())
        for wrong in np.flatnonzero(expected > expected.min() + 1e-3)[:3]:
            assert adversarial_minimum(L, d, top=int(wrong))[0] > least + 1e-9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sentences_name_their_conditions() -> None:
    assert "not those of a distance" in sentence("hinge", MATRICES["squared"])
    assert "not those of a distance" in sentence("hinge", MATRICES["lopsided"])
    free = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert sentence("adversarial", free).startswith("Not covered where predict takes")
    rejecting = np.vstack([1.0 - np.eye(3), np.full(3, 0.3)])
    assert "actions are not labels" in sentence("adversarial", rejecting)
    assert sentence("log", free).startswith("Consistent for every loss")
    assert "perceptron" in sentence("hinge", MATRICES["zero_one"], solver="perceptron")
    assert "passive" in sentence("hinge", MATRICES["zero_one"], solver="passive_aggressive")
    assert LabelCosts(MATRICES["absolute"]).is_distance
    assert not LabelCosts(MATRICES["squared"]).is_distance


def test_the_hybrid_counts_examples_without_a_majority_labelling() -> None:
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(1 + i % 4, 2)) for i in range(20)]
    y = [rng.integers(0, 3, len(x)) for x in X]
    model = cc.SequenceLabeler(surrogate="hybrid", C=30.0, tol=1e-2).fit(X, y)
    share = np.mean(model.predict_proba(X) < 0.5)
    assert 0.0 < share < 1.0
    assert f"{share:.1%} of the examples" in model.consistency()
    part = [x for x, p in zip(X, model.predict_proba(X)) if p >= 0.5]
    assert "probabilities 0.0% of the examples" in model.consistency(part)


def test_approximate_inference_has_no_guarantee() -> None:
    from itertools import combinations

    clique = cc.Graph(np.zeros((6, 1)), list(combinations(range(6), 2)))
    for inference, start in (("approximate", "No guarantee"), ("exact", "Consistent")):
        model = cc.GraphLabeler(surrogate="log", inference=inference, tol=0.1)
        assert model.fit([clique], [[0, 1] * 3]).consistency().startswith(start)
