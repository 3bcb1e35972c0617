"""What the experiments and benchmarks of assignments stand on: peers, measures, the chain CRF."""

from __future__ import annotations

from itertools import pairwise, permutations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp

import concordant as cc
from benchmarks import matchings
from benchmarks.published_matching import ProjectedGradient, admm, osqp_projection
from concordant.features import double_nodes
from experiments import tracking, word_alignment
from experiments.common import DataMissing, Options
from experiments.tracking import data, timing, work
from experiments.word_alignment import data as words
from experiments.word_alignment.chain import JUMPS, ChainCrf


def test_peers_project_as_we_do() -> None:
    pytest.importorskip("osqp")  # of the benchmarks' extra
    rng = np.random.default_rng(0)
    batch = matchings.batch_of(7)
    for scale in (0.1, 3.0):
        x = scale * rng.normal(size=(7, 7))
        ours = batch.proximal(x.ravel(), np.ones(1), None).reshape(7, 7)
        np.testing.assert_allclose(admm(x, 1e-10, 0.0, 100_000), ours, atol=1e-7)
        np.testing.assert_allclose(osqp_projection(x, 1e-9)(x), ours, atol=1e-6)
        assert matchings.off(x, ours) < 1e-9


def test_the_published_route_finds_the_same_optimum() -> None:
    x, y = matchings.problem(3, 0.3, 4)
    lam, mu = 1.0, 0.1
    peer = ProjectedGradient(x, y, lam, mu, 1e-8)
    q = peer.project(np.random.default_rng(0).uniform(size=(4, 3, 3)))
    move = peer.project(np.random.default_rng(1).uniform(size=(4, 3, 3))) - q
    ahead, behind = (peer.evaluate(q + h * move)[0] for h in (1e-4, -1e-4))
    slope = float((peer.evaluate(q)[1] * move).sum())
    assert slope == pytest.approx((ahead - behind) / 2e-4, rel=1e-3)
    theta = peer.run(2.0)[-1][1]
    model = cc.Matcher(C=1 / (lam * 4), mu=mu, tol=1e-8).fit(list(x), list(y))
    theirs, ours = (matchings.smooth_value(x, y, lam, mu, w) for w in (theta, model.coef_))
    assert theirs == pytest.approx(ours, rel=1e-4)


def test_accuracy_of_doubled_nodes_is_the_mean_over_ties() -> None:
    """Against every way to order the nodes for nothing."""
    rng = np.random.default_rng(2)
    half = 3
    for _ in range(10):
        n, m = rng.integers(1, 4, 2)
        truth, guess = np.full(n, -1), np.full(n, -1)
        for each in (truth, guess):
            met = rng.integers(0, min(n, m) + 1)
            each[rng.permutation(n)[:met]] = rng.permutation(m)[:met]
        plain = data.Sequence([np.zeros((n, m, 1))], [truth])
        whole, given = (double_nodes(plain.pairs[0], each, half)[1] for each in (truth, guess))
        found = work.scores_of(plain, half, [given], np.array([0]))
        shares = []
        for rows in map(list, permutations(range(n, 2 * half))):
            for columns in map(list, permutations(range(m, 2 * half))):
                other = np.r_[given[:n], given[rows]]
                other = np.r_[np.arange(m), columns][other]
                shares.append(np.mean(other == whole))
        assert found["random"][0] == pytest.approx(np.mean(shares))
        assert found["favour"][0] == pytest.approx(np.max(shares))
        again = work.scores_of(plain, half, [guess], np.array([0]))
        assert again == found  # both forms of an answer say the same


def test_wilcoxon_marks() -> None:
    rng = np.random.default_rng(3)
    base = rng.uniform(size=50)
    assert tracking.mark(list(base + 0.1), list(base)) == "*"
    assert tracking.mark(list(base), list(base + 0.1)) == "−"
    assert tracking.mark(list(base), list(base)) == ""


# ---- word alignment ----


def small_pairs(rng: np.random.Generator) -> list[words.Pair]:
    out = []
    for n, m in ((3, 2), (2, 3), (1, 1)):
        sure = rng.random((n, m)) < 0.5
        features = rng.normal(size=(n, m, 2))
        out.append(words.Pair(features, sure, sure, words.choose(sure)))
    return out


def test_chain_crf_sums_over_all_paths() -> None:
    rng = np.random.default_rng(4)
    pairs, model = small_pairs(rng), ChainCrf(C=2.0)
    weights = rng.normal(size=2 + 1 + JUMPS)
    value, gradient = model._objective(weights, pairs, 2)
    expected = 0.5 * weights @ weights
    for pair in pairs:
        n, m, _ = pair.features.shape
        node = np.c_[pair.features @ weights[:2], np.full(n, weights[2])]
        paths = list(product(range(m + 1), repeat=n))
        worth = np.array([path_score(path, node, weights[3:]) for path in paths])
        truth = path_score(np.where(pair.answer < 0, m, pair.answer), node, weights[3:])
        expected += 2.0 * (logsumexp(worth) - truth)
    assert value == pytest.approx(expected)
    for k in range(len(weights)):
        step = 1e-5 * np.eye(len(weights))[k]
        ahead, behind = (model._objective(weights + s, pairs, 2)[0] for s in (step, -step))
        assert gradient[k] == pytest.approx((ahead - behind) / 2e-5, abs=1e-5)
    assert model.fit(pairs).weights.shape == weights.shape
    assert [len(each) for each in model.predict(pairs)] == [3, 2, 1]


def path_score(path: np.ndarray, node: np.ndarray, jumps: np.ndarray) -> float:
    from experiments.word_alignment.chain import _jump

    m = node.shape[1] - 1
    steps = sum(jumps[_jump(i, j, m)] for i, j in pairwise(path))
    return float(node[np.arange(len(path)), path].sum() + steps)


def test_error_rate_and_one_to_one_choice() -> None:
    sure = np.array([[True, True, False], [False, True, False], [False, False, False]])
    possible = sure | np.array([[0, 0, 0], [0, 0, 0], [0, 0, 1]], bool)
    answer = words.choose(sure)
    np.testing.assert_array_equal(answer, [0, 1, -1])
    pair = words.Pair(np.zeros((3, 3, 1)), sure, possible, answer)
    assert words.error_rate([pair], [answer]) == pytest.approx(1 - (2 + 2) / (2 + 3))
    guess = np.array([2, 1, 2])
    assert words.error_rate([pair], [guess]) == pytest.approx(1 - (1 + 2) / (3 + 3))


# ---- quick forms ----


@pytest.mark.parametrize("module", [tracking, timing, word_alignment])
def test_quick_experiments(module: object, tmp_path: Path) -> None:
    try:
        data.tracks("TUD-Campus")
        words.load(1)
    except DataMissing:
        pytest.skip("the data are not here")
    report = module.EXPERIMENT.run(Options(quick=True, output=tmp_path))  # type: ignore[attr-defined]
    assert report.tables[0].rows
    assert report.text()


def test_quick_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("osqp")
    monkeypatch.setattr(matchings, "EXAMPLES", 5)
    content = {
        "projections": matchings.projections((5,), 1),
        "trainings": matchings.trainings((5,), 1),
        "published": matchings.against_published(0.2, 3, 3),
        "predictions": matchings.predictions(5, 1),
    }
    for table in matchings.tables(content):
        assert table.rows
        assert table.text()
