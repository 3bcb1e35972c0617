"""Losses on labels: what they cost, how they name things, and what they refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from concordant.losses import (
    LOSSES,
    Absolute,
    Abstain,
    CostMatrix,
    LabelLoss,
    Squared,
    ZeroOne,
    find_loss,
)

TRIAGE = [[0.0, 9.0], [1.0, 0.0], [2.0, 2.0]]
SQUARE = [[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]]

# What a loss says of (action i, truth j) among k labels, in plain Python.
MEANING = {
    ZeroOne: lambda i, j, k: float(i != j),
    Absolute: lambda i, j, k: float(abs(i - j)),
    Squared: lambda i, j, k: float((i - j) ** 2),
}


def every_loss(k: int) -> list[LabelLoss]:
    """An instance of every class, all fit for k labels."""
    named = [cls() for cls in LOSSES.values()]
    rows = np.arange(12.0 * k).reshape(12, k) % 7
    return [*named, Abstain(0.3), Abstain(1.2), CostMatrix(rows[:k]), CostMatrix(rows)]


def test_every_loss_of_the_registry_has_its_meaning_here():
    assert set(LOSSES.values()) == set(MEANING)


@pytest.mark.parametrize("cls", MEANING)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_matrices_of_label_losses(cls, k):
    expected = [[MEANING[cls](i, j, k) for j in range(k)] for i in range(k)]
    assert cls().matrix(k).tolist() == expected


def test_abstaining_is_one_more_row():
    assert Abstain(0.3).matrix(2).tolist() == [[0, 1], [1, 0], [0.3, 0.3]]


def test_a_cost_matrix_is_indexed_by_action_then_truth():
    loss = CostMatrix(TRIAGE)
    assert loss.matrix(2).tolist() == TRIAGE
    assert loss([0, 2], [1, 0], n_classes=2).tolist() == [9.0, 2.0]


def test_a_confusion_table_is_the_same_list_transposed():
    confusion = np.array(TRIAGE).T  # rows are truths
    loss = CostMatrix.from_confusion(confusion, actions=["home", "ward", "test"])
    assert loss.matrix(2).tolist() == TRIAGE
    frame = pd.DataFrame(confusion, index=["well", "ill"], columns=["home", "ward", "test"])
    loss = CostMatrix.from_confusion(frame)
    matrix, actions = loss.resolve(np.array(["ill", "well"]))
    assert actions.tolist() == ["home", "ward", "test"]
    assert matrix.tolist() == [[9.0, 0.0], [0.0, 1.0], [2.0, 2.0]]


@pytest.mark.parametrize("loss", every_loss(4), ids=repr)
def test_expected_cost_call_and_bayes_action_follow_from_the_matrix(loss):
    matrix = loss.matrix(4)
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(4), size=20)
    cost = [[sum(d[j] * row[j] for j in range(4)) for row in matrix.tolist()] for d in proba]
    np.testing.assert_allclose(loss.expected(proba), cost, rtol=0, atol=1e-12)
    assert loss.bayes_action(proba).tolist() == [int(np.argmin(c)) for c in cost]
    action, truth = np.divmod(np.arange(matrix.size), 4)
    assert loss(action, truth, n_classes=4).tolist() == matrix.ravel().tolist()


def test_one_distribution_is_a_batch_of_one_and_ties_go_to_the_first_action():
    assert Absolute().expected([0.5, 0.5]).tolist() == [[0.5, 0.5]]
    assert Absolute().bayes_action([0.5, 0.5]).tolist() == [0]
    assert Abstain(0.5).bayes_action([[0.5, 0.5], [0.4, 0.6]]).tolist() == [0, 1]


def test_a_call_reads_the_number_of_labels_off_the_codes_or_off_the_price_list():
    assert Squared()([0, 3], [2, 3]).tolist() == [4.0, 0.0]
    assert ZeroOne()(1, 1).tolist() == [0.0]
    assert CostMatrix(SQUARE)([0, 1], [1, 1]).tolist() == [1.0, 0.0]  # label 2 does not occur
    assert CostMatrix(TRIAGE)([2], [0]).tolist() == [2.0]  # action 2 is not a third label
    assert Abstain(0.3)([2, 0], [0, 1], n_classes=2).tolist() == [0.3, 1.0]


@pytest.mark.parametrize(
    ("action", "truth"), [([0.0], [1]), ([0], ["a"]), ([-1], [0]), ([0], [-1]), ([True], [0])]
)
def test_a_call_wants_codes(action, truth):
    with pytest.raises(ValueError, match=r"must hold codes 0, 1, \.\.\."):
        ZeroOne()(action, truth)


# --- names ----------------------------------------------------------------------------------


def test_labels_are_actions_unless_said_otherwise():
    classes = np.array(["a", "b", "c"])
    for loss in (ZeroOne(), Absolute(), Squared(), CostMatrix(SQUARE)):
        matrix, actions = loss.resolve(classes)
        assert actions.tolist() == ["a", "b", "c"]
        assert matrix.tolist() == loss.matrix(3).tolist()


def test_rows_of_a_rectangular_matrix_are_numbered():
    matrix, actions = CostMatrix(TRIAGE).resolve(np.array(["ill", "well"]))
    assert actions.tolist() == [0, 1, 2]
    assert matrix.tolist() == TRIAGE


def test_a_labelled_frame_names_actions_and_labels():
    frame = pd.DataFrame(TRIAGE, index=["home", "ward", "test"], columns=["well", "ill"])
    loss = CostMatrix(frame)
    matrix, actions = loss.resolve(np.array(["ill", "well"]))  # sorted classes
    assert actions.tolist() == ["home", "ward", "test"]
    assert matrix.tolist() == [[9.0, 0.0], [0.0, 1.0], [2.0, 2.0]]
    assert loss.label_names() == ["well", "ill"]


def test_permuted_labels_move_rows_and_columns_together():
    loss = CostMatrix(SQUARE, labels=["c", "a", "b"])
    matrix, actions = loss.resolve(np.array(["a", "b", "c"]))
    assert actions.tolist() == ["a", "b", "c"]
    for i, action in enumerate("abc"):
        for j, truth in enumerate("abc"):
            assert matrix[i, j] == SQUARE["cab".index(action)]["cab".index(truth)]


def test_classes_that_a_sample_lacks_keep_their_rows_behind_the_others():
    loss = CostMatrix(SQUARE, labels=[10, 20, 30])
    matrix, actions = loss.resolve(np.array([20, 30]))
    assert actions.tolist() == [20, 30, 10]
    assert matrix.tolist() == [[0.0, 1.0], [3.0, 0.0], [1.0, 4.0]]


def test_actions_of_other_names_keep_the_order_of_the_matrix():
    loss = CostMatrix(SQUARE, actions=["x", "a", "y"], labels=["b", "a", "c"])
    matrix, actions = loss.resolve(np.array(["a", "b", "c"]))
    assert actions.tolist() == ["x", "a", "y"]
    assert matrix.tolist() == np.array(SQUARE)[:, [1, 0, 2]].tolist()


def test_mixed_names_stay_what_they_are():
    _, actions = CostMatrix(TRIAGE, actions=["home", 1, None]).resolve(np.array([0, 1]))
    assert actions.tolist() == ["home", 1, None]


@pytest.mark.parametrize(
    ("classes", "label", "actions"),
    [
        (["a", "b"], None, ["a", "b", "abstain"]),
        ([0, 1, 2], None, [0, 1, 2, -1]),
        (np.array([0, 200], dtype=np.uint8), None, [0, 200, -1]),
        ([False, True], None, [False, True, -1]),
        ([0, 1], 9, [0, 1, 9]),
        ([0, 1], "ask", [0, 1, "ask"]),
        (["a", "b"], -1, ["a", "b", -1]),
    ],
)
def test_what_abstaining_is_called(classes, label, actions):
    found = Abstain(0.2, label=label).resolve(np.asarray(classes))[1].tolist()
    assert found == actions
    assert [type(a) for a in found] == [type(a) for a in actions]


def test_abstaining_among_floats_is_nan():
    actions = Abstain().resolve(np.array([0.5, 1.5]))[1]
    assert actions[:2].tolist() == [0.5, 1.5]
    assert np.isnan(actions[2])


def test_a_cost_matrix_prints_itself_as_sentences():
    text = str(CostMatrix(TRIAGE, actions=["home", "ward", "test"], labels=["well", "ill"]))
    assert text.splitlines()[1] == "answering 'home' when the truth is 'ill' costs 9"
    assert len(text.splitlines()) == 6
    assert str(CostMatrix([[0, 0.25]])).splitlines()[1] == (
        "answering 0 when the truth is 1 costs 0.25"
    )


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize("cost", [0, -1, np.nan, np.inf])
def test_abstaining_costs_something(cost):
    with pytest.raises(ValueError, match="finite cost > 0"):
        Abstain(cost).matrix(3)
    with pytest.raises(ValueError, match="finite cost > 0"):
        Abstain(cost).resolve(np.arange(3))


@pytest.mark.parametrize(
    ("classes", "label"), [(["a", "abstain"], None), ([-1, 1], None), ([0, 1], 1), ([1, 2], 1.0)]
)
def test_abstaining_is_not_called_like_a_class(classes, label):
    with pytest.raises(ValueError, match="is also a class"):
        Abstain(label=label).resolve(np.array(classes))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1], [-2, 0]], r"\[1, 0\] = -2\.0 is negative"),
        ([[0, np.nan], [1, 0]], r"\[0, 1\] = nan is not finite"),
        ([[0, 1], [1, np.inf]], r"\[1, 1\] = inf is not finite"),
        ([0, 1], "must be 2-D"),
        ([[[0]]], "must be 2-D"),
        (np.empty((0, 3)), "must be 2-D"),
        (np.empty((3, 0)), "must be 2-D"),
    ],
)
def test_bad_costs_are_named(matrix, message):
    with pytest.raises(ValueError, match=message):
        CostMatrix(matrix).matrix(2)
    with pytest.raises(ValueError, match=message):
        CostMatrix(matrix).resolve(np.arange(2))


def test_a_matrix_of_another_width_says_what_to_do():
    for ask in (CostMatrix(SQUARE).matrix, lambda k: CostMatrix(SQUARE).resolve(np.arange(k))):
        with pytest.raises(ValueError, match=r"3 columns, but there are 2 classes.*labels="):
            ask(2)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"labels": ["a", "b"]}, "3 labels, but 2 names"),
        ({"actions": ["a"]}, "3 actions, but 1 names"),
        ({"labels": ["a", "b", "a"]}, "one of its labels twice"),
        ({"actions": [1, 1, 2]}, "one of its actions twice"),
    ],
)
def test_names_must_fit(names, message):
    with pytest.raises(ValueError, match=message):
        CostMatrix(SQUARE, **names).resolve(np.array(["a", "b", "c"]))


def test_a_class_without_a_column_is_named():
    with pytest.raises(ValueError, match="no column for class 'z'"):
        CostMatrix(SQUARE, labels=["a", "b", "c"]).resolve(np.array(["a", "z"]))


def test_unknown_losses_are_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown loss 'zero-one'.*zero_one"):
        find_loss("zero-one")
    with pytest.raises(TypeError, match="got ndarray"):
        find_loss(np.eye(2))


# --- life inside estimators -----------------------------------------------------------------


@pytest.mark.parametrize("loss", every_loss(3), ids=repr)
def test_losses_are_cloned_and_pickled(loss):
    matrix = loss.matrix(3)
    for twin in (clone(loss), pickle.loads(pickle.dumps(loss)), type(loss)(**loss.get_params())):
        assert type(twin) is type(loss)
        assert twin.matrix(3).tolist() == matrix.tolist()
        assert twin.get_params().keys() == loss.get_params().keys()


def test_parameters_are_kept_as_given_and_can_be_set():
    given = [[0, 1], [2, 0]]
    loss = CostMatrix(given, labels=("a", "b"))
    assert loss.get_params()["matrix"] is given
    assert loss.get_params()["labels"] == ("a", "b")
    loss.set_params(matrix=[[0, 5], [2, 0]], labels=None)
    assert loss.matrix(2).tolist() == [[0, 5], [2, 0]]
    assert loss.label_names() is None
    assert Abstain().set_params(cost=0.1).matrix(1).tolist() == [[0.0], [0.1]]
    with pytest.raises(ValueError, match="Invalid parameter"):
        loss.set_params(costs=1)


def test_representations_show_the_parameters():
    assert repr(ZeroOne()) == "ZeroOne()"
    assert repr(Abstain(cost=0.3)) == "Abstain(cost=0.3)"
    assert "[0, 5]" in repr(CostMatrix([[0, 5], [2, 0]]))


def test_the_given_matrix_is_neither_changed_nor_shared():
    given = np.array(SQUARE)
    loss = CostMatrix(given)
    loss.matrix(3)[0, 0] = 99.0
    loss.resolve(np.arange(3))[0][0, 0] = 99.0
    assert given.tolist() == SQUARE
    assert loss.matrix(3).tolist() == SQUARE
