"""Training that ends when the loss on held-out examples no longer falls."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

import concordant as cc
from concordant.solvers import Lbfgs, Validation, minimise
from tests.test_sequences import fused

FEW = {"max_iter": 60, "tol": 1e-9}


def noisy(n: int = 40, as_graphs: bool = False) -> tuple[list[Any], list[Any]]:
    """Labels that follow one feature of thirty."""
    rng = np.random.default_rng(3)
    X, y = [], []
    for i in range(n):
        x = rng.normal(size=(3 + i % 3, 30))
        y.append((x[:, 0] + rng.normal(size=len(x)) > 0.0).astype(int).tolist())
        edges = [(t, t + 1) for t in range(len(x) - 1)]
        X.append(cc.Graph(x, edges) if as_graphs else x)
    return X, y


def held_out(n: int, share: float, random_state: int) -> np.ndarray:
    """As documented: drawn by `random_state`."""
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    return np.sort(np.random.default_rng(seed).permutation(n)[: int(np.ceil(share * n))])


def test_a_run_keeps_the_weights_with_the_least_loss() -> None:
    objective = fused("log")
    goal = 0.5 * minimise(Lbfgs(), objective, tol=1e-8).weights
    seen = []

    def distance(weights: np.ndarray) -> float:
        seen.append((float(np.sum((weights - goal) ** 2)), weights.copy()))
        return seen[-1][0]

    result = minimise(Lbfgs(), objective, tol=1e-12, validation=Validation(distance, 4))
    least = min(range(len(seen)), key=lambda i: seen[i][0])
    assert result.reason == "validation"
    assert len(seen) == least + 5, "four passes without a smaller loss"
    np.testing.assert_array_equal(result.weights, seen[least][1])
    assert result.history["validation_loss"] == [loss for loss, _ in seen]
    assert result.objective == objective.primal(result.weights)
    best = minimise(Lbfgs(), objective, tol=1e-8).objective
    assert result.objective - result.gap <= best * (1.0 + 1e-9) <= result.objective


CASES = [
    ("log", "auto", False), ("hinge", "auto", False), ("adversarial", "auto", False),
    ("hinge", "block_frank_wolfe", False), ("log", "exponentiated_gradient", False),
    ("hinge", "perceptron", False), ("log", "auto", True), ("hybrid", "auto", True),
]  # fmt: skip


@pytest.mark.parametrize(("route", "solver", "as_graphs"), CASES)
def test_the_best_model_on_held_out_examples_is_kept(
    route: str, solver: str, as_graphs: bool
) -> None:
    X, y = noisy(as_graphs=as_graphs)
    labeler: Any = cc.GraphLabeler if as_graphs else cc.SequenceLabeler
    model = labeler(
        "absolute", route, C=30.0, solver=solver, early_stopping=True, validation_fraction=0.3,
        n_iter_no_change=5, random_state=7, fit_intercept=False, **FEW,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error" if solver != "perceptron" else "ignore", ConvergenceWarning)
        model.fit(X, y)
    held = held_out(len(X), 0.3, 7)
    losses = model.history_["validation_loss"]
    now = 1.0 - model.score([X[i] for i in held], [y[i] for i in held])
    assert min(losses) == pytest.approx(now)
    assert len(losses) == len(model.history_["objective"])
    assert model.n_iter_ < FEW["max_iter"]
    # What is held out has no part in the objective.
    others = np.setdiff1d(np.arange(len(X)), held)
    whole = labeler("absolute", route, C=30.0, fit_intercept=False, tol=1e-2)
    whole.fit([X[i] for i in others], [y[i] for i in others])
    assert model.objective_ >= whole.objective_ - whole.gap_ - 1e-9
    assert model.objective_ - model.gap_ <= whole.objective_


def test_the_loss_of_whole_sequences_is_watched() -> None:
    X, y = noisy()
    model = cc.SequenceLabeler(
        "sequence_zero_one", "log", early_stopping=True, validation_fraction=0.3, random_state=7,
        n_iter_no_change=3,
    ).fit(X, y)  # fmt: skip
    held = held_out(len(X), 0.3, 7)
    answers = model.predict([X[i] for i in held])
    wrong = np.mean([list(a) != y[i] for a, i in zip(answers, held)])
    assert min(model.history_["validation_loss"]) == pytest.approx(wrong)


def test_unknown_labels_and_weights_are_left_out_of_the_loss() -> None:
    X, y = noisy()
    weight = np.ones(len(X))
    weight[::4] = 0.0
    y = [[None, *labels[1:]] if i % 2 else labels for i, labels in enumerate(y)]
    y[1] = [None] * len(y[1])
    model = cc.SequenceLabeler(surrogate="log", early_stopping=True, random_state=0, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, sample_weight=weight)
    assert 0.0 < min(model.history_["validation_loss"]) < 0.5


def test_arguments_are_checked() -> None:
    X, y = noisy(4)
    for arguments, error, words in (
        ({"validation_fraction": 1.0}, ValueError, "validation_fraction must be between 0 and 1"),
        ({"n_iter_no_change": 0}, ValueError, "n_iter_no_change must be >= 1"),
        ({"n_iter_no_change": 2.5}, TypeError, "n_iter_no_change must be an integer"),
        ({"early_stopping": "yes"}, TypeError, "early_stopping must be a bool"),
        ({"early_stopping": True, "validation_fraction": 0.99}, ValueError, "holds out all 4"),
    ):
        with pytest.raises(error, match=words):
            cc.SequenceLabeler(surrogate="log", **arguments).fit(X, y)
    model = cc.SequenceLabeler(surrogate="log").fit(X, y)
    assert "validation_loss" not in model.history_
