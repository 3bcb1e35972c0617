"""Pairs of a label and a choice: costs, marginals and every generic route, by enumeration."""

import numpy as np
import pytest
from scipy.special import logsumexp

import concordant as cc
from concordant.latent.bags import Bag, bind_costs, pack
from concordant.structures import Pairs
from tests.latent_problems import KINDS, make_bags, make_loss, slow_cost, slow_matrix
from tests.reference import adversarial_value


def batch(kind, rng, n=4, k=3, **options):
    bags = make_bags(n, k, kind, rng, **options)
    structure = Pairs(pack(bags)[0], k)
    return bags, structure, bind_costs(make_loss(kind), bags, structure, np.arange(k))


def blocks(structure, parts):
    """Each example's part array, flat: choice-major, then labels."""
    return [block.ravel() for block in np.split(parts, structure.offsets[1:-1])]


@pytest.mark.parametrize("kind", KINDS)
def test_costs_are_those_of_the_definition(kind):
    rng = np.random.default_rng(0)
    for case in range(40):
        bags, structure, costs = batch(kind, rng, k=1 + case % 3)
        q = rng.random(structure.shape)
        matrices = [slow_matrix(kind, bag, structure.n_classes) for bag in bags]
        for bilinear, transpose in ((costs.of_actions, False), (costs.of_truths, True)):
            expected = [
                (matrix.T if transpose else matrix) @ part
                for matrix, part in zip(matrices, blocks(structure, q))
            ]
            assert np.allclose(bilinear(q).ravel(), np.concatenate(expected), atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_expected_costs_and_costs_of_pairs(kind):
    rng = np.random.default_rng(1)
    for _ in range(40):
        bags, structure, costs = batch(kind, rng)
        labels = rng.integers(0, 3, 4)
        truth, answer = rng.integers(0, structure.sizes), rng.integers(0, structure.sizes)
        said = rng.integers(0, 3, 4)
        slow = [
            slow_cost(kind, bag, 3, (said[i], answer[i]), (labels[i], truth[i]))
            for i, bag in enumerate(bags)
        ]
        assert np.allclose(costs.of_pairs((said, answer), (labels, truth)), slow, atol=1e-13)
        p = rng.random(structure.shape[0])
        mu = np.zeros(structure.shape)
        mu[np.arange(len(p)), structure.spread(labels)] = p
        assert np.allclose(costs.expected(labels, p), costs.of_actions(mu), atol=1e-13)


def test_loss_weights_multiply_the_costs():
    rng = np.random.default_rng(2)
    bags, structure, costs = batch("overlap", rng)
    weight = np.array([0.0, 1.0, 2.0, 0.5])
    heavy = bind_costs(make_loss("overlap"), bags, structure, np.arange(3), weight)
    q = rng.random(structure.shape)
    assert np.allclose(heavy.of_actions(q), structure.scale(weight, costs.of_actions(q)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_its_parts(kind):
    rng = np.random.default_rng(3)
    _, structure, costs = batch(kind, rng, n=5)
    q, scores = rng.random(structure.shape), rng.normal(size=structure.shape)
    taken, index = structure.take(np.array([4, 1, 1]))
    again, twice = taken.take(np.array([2, 0]))
    for part, rows, own in ((taken, index, costs.on(taken)), (again, index[twice], None)):
        own = own or costs.on(taken).on(again)
        assert np.allclose(own.of_actions(q[rows]), costs.of_actions(q)[rows])
        assert np.allclose(part.marginals(scores[rows])[1], structure.marginals(scores)[1][rows])
        assert np.array_equal(part.argmax(scores[rows]), structure.argmax(scores)[rows])


def test_marginals_argmax_and_entropy():
    rng = np.random.default_rng(4)
    _, structure, _ = batch("zero_one", rng)
    for scale in (1.0, 1e-3, 1e3):
        scores = scale * rng.normal(size=structure.shape)
        total, mu = structure.marginals(scores)
        assert np.allclose(total, [logsumexp(b) for b in blocks(structure, scores)])
        assert np.allclose(structure.dot(mu, np.ones_like(mu)), 1.0)
        attained = structure.dot(scores, mu) + structure.entropy(mu)
        assert np.allclose(attained, total)
    labels, choices = structure.best(scores)
    tops = [b.max() for b in blocks(structure, scores)]
    assert np.array_equal(structure.dot(scores, structure.parts((labels, choices))), tops)
    assert np.array_equal(structure.best(np.zeros(structure.shape)), np.zeros((2, 4)))


def slow_value(route, scores, truth, costs):
    if route == "log":
        return logsumexp(scores) - scores[truth]
    if route == "hinge":
        return (scores + costs[:, truth]).max() - scores[truth]
    return adversarial_value(scores, truth, costs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("route", ["log", "hinge", "adversarial"])
def test_generic_routes_know_pairs(route, kind):
    """Bags whose choices are known are a structure like any other."""
    rng = np.random.default_rng(5)
    for _ in range(3):
        bags, structure, costs = batch(kind, rng, k=2, most=3)
        scores = rng.normal(size=structure.shape)
        truth = rng.integers(0, 2, 4), rng.integers(0, structure.sizes)
        values, gradient = cc.surrogates.evaluate(
            route, scores, truth, structure=structure, loss=costs
        )
        slow = [
            slow_value(route, block, 2 * truth[1][i] + truth[0][i], slow_matrix(kind, bag, 2))
            for i, (bag, block) in enumerate(zip(bags, blocks(structure, scores)))
        ]
        assert np.allclose(values, slow, atol=1e-6)
        assert np.allclose(structure.total(gradient.sum(axis=1)), 0.0, atol=1e-9)


def test_iou_by_counting_cells():
    rng = np.random.default_rng(6)
    for _ in range(30):
        boxes = np.column_stack([rng.integers(0, 6, (4, 2)), rng.integers(6, 12, (4, 2))])
        grid = np.zeros((4, 12, 12), dtype=bool)
        for cells, (x1, y1, x2, y2) in zip(grid, boxes):
            cells[y1:y2, x1:x2] = True
        both = (grid[:, None] & grid[None]).sum(axis=(2, 3))
        either = (grid[:, None] | grid[None]).sum(axis=(2, 3))
        assert np.allclose(cc.losses.iou(boxes, boxes), both / either)


def test_names_of_losses():
    assert isinstance(cc.losses.find_pair_loss("overlap"), cc.losses.Overlap)
    assert cc.losses.find_pair_loss(cc.losses.ZeroOne()).choices == "zero_one"
    with pytest.raises(ValueError, match="LabelOnly\\('absolute'\\)"):
        cc.losses.find_pair_loss("absolute")
    with pytest.raises(TypeError, match="Squared is a loss on labels"):
        cc.losses.find_pair_loss(cc.losses.Squared())
    with pytest.raises(TypeError, match="got int"):
        cc.losses.find_pair_loss(3)
    with pytest.raises(ValueError, match="actions that are not the labels"):
        cc.losses.LabelOnly(cc.losses.Abstain(0.3)).label_costs(np.arange(3))


def test_consecutive_bags_are_not_copied(tmp_path):
    rng = np.random.default_rng(7)
    for dtype in (np.float64, np.float32):
        stored = np.memmap(tmp_path / "features", dtype=dtype, mode="w+", shape=(9, 4))
        stored[:] = rng.normal(size=(9, 4))
        bags = [Bag(stored[a:b]) for a, b in ((0, 2), (2, 3), (3, 9))]
        offsets, x = pack(bags)
        assert np.shares_memory(x, stored)
        assert np.array_equal(x, stored)
        assert offsets.tolist() == [0, 2, 3, 9]
        assert not np.shares_memory(pack(bags[::-1])[1], stored)
        assert np.array_equal(pack(bags[::-1])[1][:6], stored[3:])
