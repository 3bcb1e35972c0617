"""Orderings from preferences: the kernels against enumeration and definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from concordant import losses
from concordant.kernels import orderings as O
from concordant.losses.rankings import positions
from concordant.outputs.orderings import best_order, net_preferences


def antisymmetric(rng, n, kind="normal", dtype=float):
    w = rng.normal(size=(n, n)) if kind == "normal" else rng.integers(-2, 3, (n, n)).astype(float)
    return np.ascontiguousarray(np.triu(w, 1) - np.triu(w, 1).T, dtype=dtype)


def value(w, order):
    return float(np.triu(w[np.ix_(order, order)], 1).sum())


@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_a_dozen_items_are_ordered_exactly(kind):
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 6):
        orders = np.array(list(itertools.permutations(range(n))))
        for _ in range(60):
            w = antisymmetric(rng, n, kind)
            order = best_order(w)
            assert sorted(order) == list(range(n))
            assert value(w, order) == pytest.approx(max(value(w, o) for o in orders), abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_single_insertion_improves_and_the_greedy_is_not_better(dtype):
    rng = np.random.default_rng(1)
    for n in (13, 20, 75):
        w = antisymmetric(rng, n, dtype=dtype)
        order = best_order(w)
        assert sorted(order) == list(range(n))
        best = value(w.astype(float), order)
        slack = 1e-5 * n
        for start in range(n):
            rest = np.delete(order, start)
            for stop in range(n):
                moved = np.insert(rest, stop, order[start])
                assert value(w.astype(float), moved) <= best + slack
        greedy = np.empty(n, dtype=np.int64)
        O.eades(w, greedy)
        assert sorted(greedy) == list(range(n))
        assert best >= value(w.astype(float), greedy) - slack
        assert O.value(w, greedy) == pytest.approx(value(w.astype(float), greedy), rel=1e-4)


def test_insertion_is_nearly_optimal_where_the_optimum_is_known():
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(60):
        w = antisymmetric(rng, 9)
        exact, local = np.empty(9, np.int64), np.argsort(-w.sum(axis=1))
        O.best_subset(w, exact)
        O.insert(w, local, 1000)
        assert value(w, local) <= value(w, exact) + 1e-12
        found += value(w, local) >= value(w, exact) - 1e-9
    assert found >= 36  # 41 when written; Borda alone finds one or two


def test_the_greedy_undoes_no_order_without_conflict():
    rng = np.random.default_rng(3)
    truth = rng.permutation(30)
    place = np.argsort(truth)
    w = np.sign(place[None, :] - place[:, None]).astype(float)
    order = np.empty(30, dtype=np.int64)
    O.eades(w, order)
    assert order.tolist() == truth.tolist()


def test_preferences_are_their_definition():
    rng = np.random.default_rng(0)
    grades = np.where(rng.uniform(size=(6, 70)) < 0.6, np.nan, rng.integers(1, 6, (6, 70)))
    weights = rng.normal(size=6)
    weights[2] = 0.0
    known = ~np.isnan(grades)
    w = np.full((70, 70), 9.0)
    O.preferences(weights, np.concatenate([[0], np.cumsum(known.sum(axis=1))]),
                  np.nonzero(known)[1], grades[known], w)  # fmt: skip
    away = grades[:, :, None] - grades[:, None, :]
    expected = np.einsum("i,iab->ab", weights, np.nan_to_num(away))
    assert np.allclose(w, expected)
    net = net_preferences(grades)
    assert np.allclose(net, np.nan_to_num(away).sum(axis=2))


def test_the_rank_loss_is_its_definition():
    """Equation (21) with positive parts, pair by pair; half of equation (21) up to a constant."""
    rng = np.random.default_rng(0)
    grades = np.where(rng.uniform(size=(50, 6)) < 0.3, np.nan, rng.integers(1, 6, (50, 6)))
    orders = np.array([rng.permutation(6) for _ in range(50)])
    plain, share = losses.Rank()(orders, grades), losses.Rank(normalize=True)(orders, grades)
    for row in range(50):
        place = np.argsort(orders[row])
        wrong = total = signed = 0.0
        for a, b in itertools.permutations(range(6), 2):
            gamma = grades[row, a] - grades[row, b]
            if np.isnan(gamma):
                continue
            total += max(gamma, 0.0)
            wrong += max(gamma, 0.0) * (place[a] > place[b])
            signed += 0.5 * gamma * (1.0 - np.sign(place[b] - place[a]))
        assert plain[row] == pytest.approx(wrong)
        assert share[row] == pytest.approx(wrong / total if total else 0.0)
        assert signed == pytest.approx(2.0 * wrong - total)


def test_random_orders_cost_one_half_and_the_reverse_one():
    rng = np.random.default_rng(0)
    grades = rng.normal(size=(1, 9))
    loss = losses.Rank(normalize=True)
    orders = np.array([rng.permutation(9) for _ in range(2000)])
    assert loss(orders, np.repeat(grades, 2000, axis=0)).mean() == pytest.approx(0.5, abs=0.02)
    assert loss(np.argsort(grades), grades).tolist() == [1.0]
    assert loss(np.argsort(-grades), grades).tolist() == [0.0]


def test_places_are_the_inverse_of_orders():
    orders = np.array([[2, 0, 1], [0, 1, 2]])
    assert positions(orders).tolist() == [[1, 2, 0], [0, 1, 2]]
