"""Every question about chains against enumeration of all labellings."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from concordant.structures import Chain

Array = np.ndarray


def labellings(T: int, k: int) -> Array:
    return np.array(list(product(range(k), repeat=T)))


def listed_scores(nodes: Array, tables: Array, Y: Array) -> Array:
    """Score of each labelling in the rows of Y; `tables` (T - 1, k, k)."""
    T = Y.shape[1]
    out = nodes[np.arange(T), Y].sum(axis=1)
    for t in range(T - 1):
        out = out + tables[t, Y[:, t], Y[:, t + 1]]
    return out


def batches(kind: str) -> list[tuple[Chain, Array]]:
    """Random batches and their scores: ordinary, tied, huge, tiny, with forbidden transitions."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    out = []
    for k in (1, 2, 3, 4):
        for per_edge in (False, True):
            chain = Chain(rng.integers(1, 6 if k < 4 else 5, 60), k, per_edge)
            size = len(chain.empty())
            scores = {
                "ordinary": lambda n: 2.0 * rng.normal(size=n),
                "ties": lambda n: rng.integers(-1, 2, n).astype(float),
                "huge": lambda n: 1e5 * rng.normal(size=n),
                "wide": lambda n: 300.0 * rng.normal(size=n),
                "steep": lambda n: 75.0 * rng.normal(size=n),
                "tiny": lambda n: 1e-9 * rng.normal(size=n),
                "forbidden": lambda n: rng.normal(size=n),
            }[kind](size)
            if kind == "forbidden":
                tables = chain.tables(scores)
                tables[rng.random(tables.shape) < 0.3] = -np.inf
                tables[:, 0, 0] = 0.0  # one labelling is always allowed
            out.append((chain, scores))
    return out


def each(chain: Chain, scores: Array) -> list[tuple[slice, slice, Array, Array, Array]]:
    """Nodes and tables of each sequence, and its labellings with their scores."""
    out = []
    for i, T in enumerate(chain.lengths):
        nodes = slice(chain.offsets[i], chain.offsets[i + 1])
        own = slice(chain.table_offsets[i], chain.table_offsets[i + 1])
        tables = chain.tables(scores)[own]
        if not chain.per_edge:
            tables = np.repeat(tables, T - 1, axis=0)
        Y = labellings(T, chain.n_classes)
        out.append((nodes, own, tables, Y, listed_scores(chain.nodes(scores)[nodes], tables, Y)))
    return out


KINDS = ("ordinary", "ties", "huge", "wide", "steep", "tiny", "forbidden")


@pytest.mark.parametrize("kind", KINDS)
def test_argmax_and_k_best_agree_with_enumeration(kind: str) -> None:
    for chain, scores in batches(kind):
        labels, values = chain.decode(scores)
        ranked = chain.k_best(scores, 5)
        for i, (nodes, _, tables, _Y, f) in enumerate(each(chain, scores)):
            here = chain.nodes(scores)[nodes]
            own = listed_scores(here, tables, labels[None, nodes])[0]
            np.testing.assert_allclose(values[i], f.max(), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(own, f.max(), rtol=1e-12, atol=1e-12)
            best, kept = ranked[i]
            top = np.sort(f[f > -np.inf])[::-1][:5]
            np.testing.assert_allclose(kept, top, rtol=1e-12, atol=1e-11)
            np.testing.assert_allclose(listed_scores(here, tables, best), top, atol=1e-9)
            assert len(np.unique(best, axis=0)) == len(top)


@pytest.mark.parametrize("kind", KINDS)
def test_marginals_agree_with_enumeration(kind: str) -> None:
    for chain, scores in batches(kind):
        partition, mu = chain.marginals(scores)
        k = chain.n_classes
        for i, (nodes, own, _, Y, f) in enumerate(each(chain, scores)):
            p = np.exp(f - logsumexp(f))
            tolerance = 1e-10 * max(1.0, np.abs(f[f > -np.inf]).max())
            np.testing.assert_allclose(partition[i], logsumexp(f), rtol=1e-12, atol=1e-12)
            expected = np.array([p @ (Y == j) for j in range(k)]).T
            np.testing.assert_allclose(chain.nodes(mu)[nodes], expected, atol=tolerance)
            pairs = np.array(
                [
                    [
                        [p @ ((Y[:, t] == a) & (Y[:, t + 1] == b)) for b in range(k)]
                        for a in range(k)
                    ]
                    for t in range(Y.shape[1] - 1)
                ]
            ).reshape(-1, k, k)
            if not chain.per_edge:
                pairs = pairs.sum(axis=0, keepdims=True)
            np.testing.assert_allclose(chain.tables(mu)[own], pairs, atol=tolerance)
            if chain.per_edge and kind != "huge":
                one, where = chain.take(slice(i, i + 1))
                entropy = -(p[p > 0] @ np.log(p[p > 0]))
                np.testing.assert_allclose(one.entropy(mu[where])[0], entropy, atol=1e-8)


def test_samples_follow_the_distribution() -> None:
    rng = np.random.default_rng(0)
    one = Chain([3], 2)
    scores = rng.normal(size=len(one.empty()))
    many, where = one.take(np.zeros(20000, int))
    drawn = many.sample(scores[where], rng).reshape(-1, 3)
    f = each(one, scores)[0][4]
    p = np.exp(f - logsumexp(f))
    share = np.bincount(drawn @ [4, 2, 1], minlength=8) / len(drawn)
    assert np.abs(share - p).max() < 4.0 * np.sqrt(0.25 / len(drawn))


def test_a_long_sequence_is_stable() -> None:
    rng = np.random.default_rng(1)
    for scale in (1.0, 50.0, 400.0):
        chain = Chain([3000, 1], 5)
        scores = scale * rng.normal(size=len(chain.empty()))
        partition, mu = chain.marginals(scores)
        assert np.isfinite(partition).all()
        np.testing.assert_allclose(chain.nodes(mu).sum(axis=1), 1.0, rtol=1e-9)
        np.testing.assert_allclose(chain.tables(mu)[0].sum(), 2999.0)
        assert partition[0] >= chain.decode(scores)[1][0]


def test_empty_sequence_is_named() -> None:
    with pytest.raises(ValueError, match="sequence 1 is empty"):
        Chain([2, 0], 3)
