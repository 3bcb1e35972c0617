"""Graphs against enumeration: forests, junction trees, and brackets for the rest."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from concordant.structures import Chain, Graph
from concordant.structures.elimination import min_fill

Array = np.ndarray


def random_edges(rng: np.random.Generator, n: int, kind: str) -> Array:
    """A random graph: a forest, or any; directions at random, some pairs in both."""
    pairs = []
    if kind == "forest":
        for b in range(1, n):
            if rng.random() < 0.85:
                pairs.append((int(rng.integers(b)), b))
    else:
        share = rng.uniform(0.2, 0.9)
        pairs = [pair for pair in combinations(range(n), 2) if rng.random() < share]
    rng.shuffle(pairs)
    edges = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]
    edges += [pair[::-1] for pair in edges if rng.random() < 0.1]
    names = rng.permutation(n)
    return names[np.array(edges, np.int64).reshape(-1, 2)]


def random_batch(
    rng: np.random.Generator, kind: str, k: int, per_edge: bool, number: int = 12, largest: int = 6,
    **options: Any,
) -> Graph:  # fmt: skip
    lengths = rng.integers(1, largest + 1, number)
    lists = [random_edges(rng, n, kind) for n in lengths]
    starts = np.r_[0, np.cumsum(lengths)]
    edges = np.concatenate([e + s for e, s in zip(lists, starts)])
    return Graph(lengths, k, edges, [len(e) for e in lists], per_edge, **options)


def random_scores(rng: np.random.Generator, graph: Graph, style: str) -> Array:
    scores = rng.normal(size=len(graph.empty()))
    if style == "ties":
        return np.round(scores)
    if style == "huge":
        return 1e4 * scores
    if style == "tiny":
        return 1e-9 * scores
    if style == "forbidden":
        tables = graph.tables(scores)
        tables[rng.random(tables.shape) < 0.2] = -np.inf
        nodes = graph.nodes(scores)
        nodes[rng.random(nodes.shape) < 0.1] = -np.inf
    return scores


def listing(graph: Graph, scores: Array, i: int) -> tuple[Array, Array]:
    """All labellings of one example, and their scores."""
    one, where = graph.take(slice(i, i + 1))
    nodes, tables = one.nodes(scores[where]), one.tables(scores[where])
    answers = np.array(list(product(range(graph.n_classes), repeat=one.n_nodes)))
    values = nodes[np.arange(one.n_nodes), answers].sum(axis=1)
    for (a, b), table in zip(one.edges, one.table_of_edge):
        values = values + tables[table, answers[:, a], answers[:, b]]
    return answers, values


STYLES = ("plain", "ties", "huge", "tiny", "forbidden")


@pytest.mark.parametrize("per_edge", [False, True])
@pytest.mark.parametrize("kind", ["forest", "any"])
def test_exact_oracles_agree_with_enumeration(kind: str, per_edge: bool) -> None:
    rng = np.random.default_rng(0)
    for style, k in product(STYLES, (1, 2, 3)):
        graph = random_batch(rng, kind, k, per_edge, number=40)
        assert graph.exact.all()
        scores = random_scores(rng, graph, style)
        labels, values = graph.decode(scores)
        partition, mu = graph.marginals(scores)
        best = graph.parts([labels])
        for i in range(graph.n_examples):
            answers, listed = listing(graph, scores, i)
            one, where = graph.take(slice(i, i + 1))
            top = listed.max()
            assert values[i] == pytest.approx(top, rel=1e-12, abs=1e-12)
            if top == -np.inf:
                assert partition[i] == -np.inf
                continue
            finite = np.where(best[where] > 0, scores[where], 0.0)
            assert best[where] @ finite == pytest.approx(top, rel=1e-12, abs=1e-12)
            assert partition[i] == pytest.approx(logsumexp(listed), rel=1e-12, abs=1e-12)
            share = np.exp(listed - partition[i])
            expected = sum(p * one.parts([y]) for p, y in zip(share, answers) if p > 0)
            np.testing.assert_allclose(mu[where], expected, atol=1e-10)


def test_a_forest_that_is_a_chain_answers_like_the_chain() -> None:
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 40, 30)
    for per_edge in (False, True):
        chain = Chain(lengths, 5, per_edge)
        graph = Graph(lengths, 5, chain.edges, lengths - 1, per_edge)
        assert graph.width.max() == 1
        scores = 3.0 * rng.normal(size=len(chain.empty()))
        np.testing.assert_array_equal(graph.decode(scores)[0], chain.decode(scores)[0])
        for ours, theirs in zip(graph.marginals(scores), chain.marginals(scores)):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
        if per_edge:
            mu = chain.marginals(scores)[1]
            np.testing.assert_allclose(graph.entropy(mu), chain.entropy(mu), atol=1e-9)


def test_entropy_of_a_forest_is_that_of_its_distribution() -> None:
    rng = np.random.default_rng(2)
    graph = random_batch(rng, "forest", 3, True, number=60)
    scores = rng.normal(size=len(graph.empty()))
    partition, mu = graph.marginals(scores)
    np.testing.assert_allclose(graph.entropy(mu), partition - graph.dot(scores, mu), atol=1e-10)


def test_where_marginals_do_not_determine_the_entropy_it_is_refused() -> None:
    cycle = np.array([[0, 1], [1, 2], [2, 0]])
    with pytest.raises(TypeError, match="graph 0 has cycles"):
        Graph([3], 2, cycle, [3], per_edge=True).entropy(np.zeros(18))
    with pytest.raises(TypeError, match="per_edge=True"):
        Graph([3], 2, cycle[:2], [2]).entropy(np.zeros(10))


def test_best_answers_come_in_order() -> None:
    rng = np.random.default_rng(3)
    for style in ("plain", "ties", "forbidden"):
        graph = random_batch(rng, "any", 2, True, number=12, largest=5)
        scores = random_scores(rng, graph, style)
        for i, (labels, values) in enumerate(graph.k_best(scores, 7)):
            _, listed = listing(graph, scores, i)
            expected = np.sort(listed[listed > -np.inf])[::-1][:7]
            np.testing.assert_allclose(values, expected, atol=1e-9)
            assert len({tuple(y) for y in labels}) == len(labels), "no answer twice"


def test_samples_follow_the_distribution() -> None:
    rng = np.random.default_rng(4)
    edges = np.array([[0, 1], [1, 2], [2, 0], [2, 3]])
    one = Graph([4], 2, edges, [4], per_edge=True)
    scores = rng.normal(size=len(one.empty()))
    batch, where = one.take(np.zeros(40_000, np.int64))
    drawn = batch.sample(scores[where], rng).reshape(-1, 4)
    counts = np.bincount(drawn @ [8, 4, 2, 1], minlength=16) / len(drawn)
    _, listed = listing(one, scores, 0)
    np.testing.assert_allclose(counts, np.exp(listed - logsumexp(listed)), atol=0.01)


def test_widths_of_known_graphs() -> None:
    def width(n: int, pairs: list[tuple[int, int]], **options: Any) -> Graph:
        return Graph([n], 2, np.array(pairs), [len(pairs)], **options)

    cycle = [(i, (i + 1) % 30) for i in range(30)]
    assert width(30, cycle).width == [2]
    assert width(6, list(combinations(range(6), 2))).width == [5]
    assert width(5, [(0, i) for i in range(1, 5)]).width == [1]
    assert width(3, [(0, 1), (1, 0)]).width == [1], "both directions of a pair are no cycle"
    grid = [(5 * r + c, 5 * r + c + 1) for r in range(5) for c in range(4)]
    grid += [(5 * r + c, 5 * r + c + 5) for r in range(4) for c in range(5)]
    assert width(25, grid).width == [5]
    wide = width(25, grid, limit=2**4)
    assert not wide.exact.any()
    assert wide.width > 3
    with pytest.raises(ValueError, match="graph 0 has width"):
        wide.sample(np.zeros(len(wide.empty())), np.random.default_rng(0))
    assert Graph([1, 2], 3, np.zeros((0, 2), int), [0, 0]).width.tolist() == [0, 0]
    assert min_fill(4, ((0, 1), (1, 2), (2, 3), (3, 0)), 10)[1] == ((1, 3), (2, 3), (3,), ())


def test_taking_examples_moves_everything_along() -> None:
    rng = np.random.default_rng(5)
    graph = random_batch(rng, "any", 3, True, node_weight=None)
    scores = rng.normal(size=len(graph.empty()))
    chosen = rng.integers(0, graph.n_examples, 20)
    some, where = graph.take(chosen)
    fresh = Graph(some.lengths, 3, some.edges, some.edge_counts, True)
    np.testing.assert_array_equal(some.width, graph.width[chosen])
    for part in (some, fresh):
        np.testing.assert_allclose(part.decode(scores[where])[1], graph.decode(scores)[1][chosen])
        partition, mu = part.marginals(scores[where])
        np.testing.assert_allclose(partition, graph.marginals(scores)[0][chosen], atol=1e-12)
        np.testing.assert_allclose(mu, graph.marginals(scores)[1][where], atol=1e-12)


# --- graphs too wide for exact answers ------------------------------------------------------


def test_brackets_hold_the_maximum_and_are_often_closed() -> None:
    rng = np.random.default_rng(6)
    closed = []
    for style, k in product(("plain", "ties", "forbidden", "huge"), (2, 3)):
        graph = random_batch(rng, "any", k, True, number=25, limit=0)
        exact = Graph(graph.lengths, k, graph.edges, graph.edge_counts, True)
        scores = random_scores(rng, graph, style)
        best = exact.decode(scores)[1]
        upper, mu = graph.maximum(scores)
        value = graph.dot(np.where(mu > 0, scores, 0.0), mu)
        allowed = best > -np.inf
        slack = 1e-9 * np.abs(best[allowed]).max()
        assert (upper[allowed] >= best[allowed] - slack).all()
        assert (value[allowed] <= best[allowed] + slack).all()
        closed.append(np.mean(upper[allowed] - value[allowed] <= 1e-6 * np.abs(best[allowed])))
    assert np.mean(closed) > 0.7


def test_bounds_never_rise() -> None:
    from concordant.kernels.reweighted import ascend, bound
    from concordant.structures.loopy import shape_of

    rng = np.random.default_rng(7)
    for _ in range(20):
        edges = random_edges(rng, 8, "any")
        pairs, at, incident, *_ = shape_of(8, edges.tobytes())
        totals, tables = rng.normal(size=(8, 3)), rng.normal(size=(len(pairs), 3, 3))
        share, last = np.zeros((len(pairs), 2, 3)), np.inf
        for turn in range(20):
            ascend(totals, tables, pairs, at, incident, share, turn % 2 == 0, np.empty(3))
            new = bound(totals, tables, share)
            assert new <= last + 1e-9
            last = new


def test_reweighted_marginals_are_exact_on_forests_and_bound_the_partition() -> None:
    rng = np.random.default_rng(8)
    for kind, per_edge in product(("forest", "any"), (False, True)):
        graph = random_batch(rng, kind, 3, per_edge)
        scores = rng.normal(size=len(graph.empty()))
        partition, mu = graph.marginals(scores)
        other, _ = graph.take(slice(None))
        other.__dict__["exact"] = np.zeros(graph.n_examples, bool)
        approximate, near = other.marginals(scores)
        if kind == "forest":
            np.testing.assert_allclose(approximate, partition, atol=1e-6)
            np.testing.assert_allclose(near, mu, atol=1e-6)
        else:
            assert (approximate >= partition - 1e-6).all()
            assert np.abs(graph.nodes(near) - graph.nodes(mu)).mean() < 0.05
        sums = graph.nodes(near).sum(axis=1)
        np.testing.assert_allclose(sums, 1.0)


def test_reweighted_marginals_are_the_gradient_of_their_partition() -> None:
    rng = np.random.default_rng(9)
    edges = np.array(list(combinations(range(5), 2)))
    graph = Graph([5], 2, edges, [10], per_edge=True, limit=0)
    scores = rng.normal(size=len(graph.empty()))
    _, mu = graph.marginals(scores)
    for _ in range(5):
        direction = rng.normal(size=len(scores))
        up, down = (graph.marginals(scores + h * direction)[0][0] for h in (1e-4, -1e-4))
        assert (up - down) / 2e-4 == pytest.approx(mu @ direction, abs=1e-6)
