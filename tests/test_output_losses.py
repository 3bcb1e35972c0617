"""Losses between outputs: their values, their tables, and what they refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from concordant import losses
from concordant.losses import OUTPUT_LOSSES, find_output_loss
from concordant.losses.outputs import OfLabels
from concordant.losses.reals import AbsoluteError, Smooth, SquaredError

NAN = float("nan")
R = 1.5  # a residual
# (loss, actions, truths, values), in plain numbers
VALUES = [
    (SquaredError(), [R, 0.0], [0.0, R], [2.25, 2.25]),
    (AbsoluteError(), [[R, 1.0]], [[0.0, 3.0]], [3.5]),
    (losses.Pinball(0.9), [R, 0.0], [0.0, R], [0.15, 1.35]),
    (losses.EpsilonInsensitive(0.5), [R, 0.2], [0.0, 0.0], [1.0, 0.0]),
    (losses.Huber(), [R, 0.5], [0.0, 0.0], [1.0, 0.125]),
    (losses.Huber(2.0), [R, 3.0], [0.0, 0.0], [1.125, 4.0]),
    (losses.Cauchy(), [R], [0.0], [np.log(3.25)]),
    (losses.Cauchy(0.5), [R], [0.0], [np.log(10.0)]),
    (losses.GemanMcClure(), [R], [0.0], [2.25 / 3.25]),
    (losses.Fair(), [R], [0.0], [1.5 - np.log(2.5)]),
    (losses.Fair(2.0), [R], [0.0], [4.0 * (0.75 - np.log(1.75))]),
    (losses.L2L1(), [R], [0.0], [2.0 * (np.sqrt(1.0 + 1.125) - 1.0)]),
    (losses.LogisticLoss(), [R, R], [1, -1], [np.log1p(np.exp(-R)), np.log1p(np.exp(R))]),
    (losses.HingeLoss(), [R, R], [1, -1], [0.0, 2.5]),
    (losses.Hamming(), [["a", "b", "c"]], [["a", "x", "y"]], [2.0]),
    (losses.Hamming(normalize=True), [[0, 1, 2, 3]], [[0, 1, 2, 4]], [0.25]),
    (losses.Hamming(permutations=True), [[0, 2, 1]], [[0, 1, 2]], [2.0]),
    (losses.Jaccard(), [[1, 1, 0], [0, 0, 0]], [[0, 1, 1], [0, 0, 0]], [2 / 3, 0.0]),
    (losses.FMeasure(), [[1, 1, 0], [0, 0, 0]], [[0, 1, 1], [0, 0, 0]], [0.5, 0.0]),
    (losses.FMeasure(2.0), [[1, 1, 1]], [[0, 0, 1]], [1.0 - 5.0 / (4.0 + 3.0)]),
    (losses.Hellinger(), [[0.25, 0.75]], [[1.0, 0.0]], [0.25 + 0.75]),
    (losses.Hellinger("sum"), [[0.25, 0.75]], [[1.0, 0.0]], [0.5 + np.sqrt(0.75)]),
    (losses.Hellinger("root"), [[0.25, 0.75]], [[1.0, 0.0]], [1.0]),
    (losses.ChiSquared(), [[0.5, 0.5, 0.0]], [[1.0, 0.0, 0.0]], [0.25 / 1.5 + 0.5]),
    (losses.KullbackLeibler(0.1), [[0.5, 0.5]], [[1.0, 0.0]], [np.log(2.0)]),
    (losses.KullbackLeibler(0.1), [[1.0, 0.0]], [[0.0, 1.0]], [np.log(10.0)]),
    (losses.KernelInduced("rbf", 0.5), [[1.0, 0.0]], [[0.0, 0.0]], [2.0 - 2.0 * np.exp(-0.5)]),
    (losses.KernelInduced("linear"), [[1.0, 2.0]], [[0.0, 0.0]], [5.0]),
    (losses.KernelInduced(lambda a, b: np.array([[float(x == y) for y in b] for x in a])),
     ["p", "q"], ["p", "p"], [0.0, 2.0]),
    (losses.Kendall(), [[0, 1, 2], [1, 0, 2]], [[2, 1, 0], [0, 1, 2]], [3.0, 1.0]),
    (losses.Spearman(), [[0, 1, 2]], [[2, 1, 0]], [8.0]),
    (losses.Spearman("footrule"), [[0, 1, 2]], [[1, 2, 0]], [4.0]),
    (losses.Rank(), [[2, 0, 1]], [[1.0, NAN, 4.0]], [0.0]),
    (losses.Rank(), [[0, 1, 2]], [[1.0, NAN, 4.0]], [3.0]),
    (losses.EditDistance(), ["kitten", ""], ["sitting", "ab"], [3.0, 2.0]),
    (losses.EditDistance(2.0, 1.0, 0.5), ["ab"], ["b"], [0.5]),
    (losses.EditDistance(5.0, 1.0, 0.5), [("x", "y")], [("x", "z")], [1.5]),
    (losses.FunctionLoss(lambda a, b: abs(a - b) ** 3), [1, 5], [3, 5], [8.0, 0.0]),
    (OfLabels(losses.Abstain(0.3), np.array([1, 2])), [1, 2, -1], [1, 1, 2], [0.0, 1.0, 0.3]),
]  # fmt: skip


@pytest.mark.parametrize("case", VALUES, ids=lambda case: repr(case[0])[:40])
def test_values(case):
    loss, actions, truths, values = case
    assert np.allclose(loss(actions, truths), values, atol=1e-12)
    # The table is the pairs, row by row.
    a, t = loss.check_actions(actions), loss.check(truths)
    table = loss.table(a, t)
    for i in range(len(a)):
        again = loss.pairs(np.repeat(a[i : i + 1], len(t), axis=0), t)
        assert np.allclose(table[i], again, atol=1e-7)


def test_every_named_loss_has_its_values_here():
    assert set(OUTPUT_LOSSES.values()) <= {type(case[0]) for case in VALUES}


@pytest.mark.parametrize("name", OUTPUT_LOSSES)
def test_named_losses_clone_pickle_and_say_what_form_they_have(name):
    loss = find_output_loss(name, [])
    assert clone(loss).get_params() == loss.get_params()
    assert type(pickle.loads(pickle.dumps(loss))) is type(loss)
    assert len(loss.embedding) > 10
    public = losses.__all__
    assert type(loss).__name__ in public


@pytest.mark.parametrize("loss", [losses.Cauchy(0.7), losses.GemanMcClure(0.7), losses.Fair(0.7),
                                  losses.L2L1()], ids=repr)  # fmt: skip
def test_slopes_and_bends_of_smooth_losses(loss):
    assert isinstance(loss, Smooth)
    r = np.linspace(-6.0, 6.0, 4001)
    h = 1e-5
    assert np.allclose(loss.slope(r), (loss.value(r + h) - loss.value(r - h)) / (2 * h), atol=1e-8)
    bend = np.abs(loss.slope(r + h) - loss.slope(r - h)) / (2 * h)
    assert bend.max() <= loss.steepest * (1 + 1e-6)
    assert bend.max() >= 0.9 * loss.steepest


def test_edit_distances_against_the_recursion():
    def distance(a, b):
        if not a or not b:
            return 1.5 * len(b) + 0.7 * len(a)
        change = distance(a[:-1], b[:-1]) + (0.0 if a[-1] == b[-1] else 2.0)
        return min(change, distance(a[:-1], b) + 0.7, distance(a, b[:-1]) + 1.5)

    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), rng.integers(0, 6))) for _ in range(12)]
    table = losses.EditDistance(2.0, 1.5, 0.7).table(np.array(words, object),
                                                     np.array(words, object))  # fmt: skip
    assert np.allclose(table, [[distance(a, b) for b in words] for a in words])


@pytest.mark.parametrize(
    ("loss", "outputs", "message"),
    [
        ("hellinger", [[0.5, 0.5], [0.5, 0.6]], r"y, row 1 sums to 1.1; a histogram sums to 1"),
        ("hellinger", [[1.5, -0.5]], r"row 0, column 1.*no negative entry"),
        ("chi_squared", [[0.5, NAN]], r"row 0, column 1.*not finite"),
        ("kendall", [[0, 1, 2], [0, 2, 2]], r"row 1: \[0, 2, 2\] is no permutation of 0..2"),
        (losses.Hamming(permutations=True), [[1, 2]], r"row 0: \[1, 2\] is no permutation"),
        ("jaccard", [[0, 1], [2, 0]], r"row 1, column 0.*a set is a row of 0 and 1"),
        ("logistic", [1, -1, 0], r"row 2.*must be -1 or 1"),
        ("cauchy", [0.0, np.inf], r"row 1.*not finite"),
        ("cauchy", [[0.0, 1.0], [1.0]], r"y must hold numbers, equally many an example"),
        ("rank", [[1.0, np.inf]], r"the grade of item 1 in row 0 is inf"),
        ("edit_distance", ["a", 3], r"row 1: 3 is neither a string nor a sequence"),
        (losses.Diffusion("sphere"), [[1.0, 0.0, 1.0]], r"row 0.*is not 1"),
        (losses.Diffusion(np.zeros((2, 2))), [0, 2], r"row 1.*nodes are 0..1"),
        (losses.Diffusion([[0, 1], [0, 0]]), [0, 1], r"symmetric matrix"),
    ],
)
def test_bad_outputs_are_named(loss, outputs, message):
    with pytest.raises(ValueError, match=message):
        find_output_loss(loss, outputs).check(outputs)


@pytest.mark.parametrize(
    "loss",
    [losses.Cauchy(0.0), losses.Huber(-1.0), losses.Pinball(1.0), losses.Fair(np.inf),
     losses.EpsilonInsensitive(-0.1), losses.GemanMcClure("x")],
    ids=repr,
)  # fmt: skip
def test_bad_constants_are_named(loss):
    name = type(loss).__name__
    with pytest.raises(ValueError, match=f"{name} needs a"):
        loss.steepest if isinstance(loss, Smooth) else loss.pieces()


def test_functions_must_return_one_finite_number():
    with pytest.raises(ValueError, match="the loss of action 1 against truth 1 is nan"):
        losses.FunctionLoss(lambda a, b: a)([0.0, NAN], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"action 0 and truth 0 it returned an array of shape"):
        losses.FunctionLoss(lambda a, b: [a, b])([0.0], [0.0])


def test_names_mean_numbers_where_outputs_are_numbers():
    assert isinstance(find_output_loss("absolute", [0.5, 1.0]), AbsoluteError)
    assert isinstance(find_output_loss(losses.Squared(), [[0.5, 1.0]]), SquaredError)
    assert isinstance(find_output_loss("absolute", ["a", "b"]), OfLabels)
    assert isinstance(find_output_loss("zero_one", [1, 2]), OfLabels)
    with pytest.raises(ValueError, match="unknown loss 'cosy'; names are absolute"):
        find_output_loss("cosy", [1.0])
    with pytest.raises(TypeError, match="a name, a concordant loss or a function"):
        find_output_loss(3, [1.0])
    with pytest.raises(ValueError, match="ZeroOne is a loss on labels"):
        find_output_loss("zero_one", [[1, 2]])
