"""What the constructor was given, checked when `fit` needs it."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from concordant.estimators.kernels import check_name
from concordant.losses import Among, LabelLoss, SequenceZeroOne, find_loss, find_node_loss
from concordant.penalty import Penalty
from concordant.solvers import Validation
from concordant.surrogates import Log, Surrogate, find_surrogate

RATIOS = {"l2": 0.0, "l1": 1.0, "elasticnet": None}


class Parameters(NamedTuple):
    """Names replaced by objects. A route like Crammer-Singer trains for a loss of its own, while
    decisions and scores are always for the loss the user gave."""

    surrogate: Surrogate
    training_loss: LabelLoss
    loss: LabelLoss
    penalty: Penalty
    seed: int

    def on_order(self, order: list[Any]) -> Parameters:
        """With losses whose ranks are places in this order."""
        training, loss = Among(self.training_loss, order), Among(self.loss, order)
        return self._replace(training_loss=training, loss=loss)


def check_parameters(given: Any) -> Parameters:
    """The estimator's constructor arguments as objects, or an error that names the bad one."""
    _check_training(given)
    check_number("degree", given.degree, np.isfinite, "finite")
    check_number("coef0", given.coef0, np.isfinite, "finite")
    if given.n_components is not None:
        check_number("n_components", given.n_components, lambda v: v >= 1, ">= 1", integer=True)
    check_name(given.kernel)
    if given.kernel == "poly" and (given.degree < 1 or given.degree % 1):
        raise ValueError(f"the polynomial kernel needs a whole degree >= 1, got {given.degree!r}")
    if not isinstance(given.gamma, str):
        check_number("gamma", given.gamma, lambda v: 0 < v < np.inf, "finite and > 0")
    if given.n_components is not None and given.kernel == "precomputed":
        raise ValueError("n_components needs the features, not a precomputed kernel")
    surrogate, training_loss = find_surrogate(given.surrogate, given.loss)
    seed = draw_seed(given.random_state)
    return Parameters(
        clone(surrogate),
        clone(find_loss(training_loss)),
        clone(find_loss(given.loss)),
        check_penalty(given),
        seed,
    )


def draw_seed(random_state: Any) -> int:
    """A seed for one fit."""
    return int(random_numbers(random_state).randint(2**31 - 1))


def random_numbers(random_state: Any) -> np.random.RandomState:
    """The generator meant; an error names the argument."""
    try:
        return check_random_state(random_state)
    except ValueError:
        raise ValueError(
            "random_state must be None, a whole number from 0 to 2**32 - 1 or a "
            f"numpy.random.RandomState, got {random_state!r}"
        ) from None


class NodeParameters(NamedTuple):
    """The same for labellers of nodes, and what may stop them early."""

    surrogate: Surrogate
    training_loss: LabelLoss
    loss: LabelLoss
    seed: int
    validation: Validation | None = None


def check_node_parameters(given: Any) -> NodeParameters:
    """Constructor arguments of a labeller of nodes as objects, or an error."""
    _check_training(given)
    if given.features not in ("seen", "all"):
        raise ValueError(f"features must be 'seen' or 'all', got {given.features!r}")
    check_flag("early_stopping", given.early_stopping)
    share, patience = given.validation_fraction, given.n_iter_no_change
    check_number("validation_fraction", share, lambda v: 0 < v < 1, "between 0 and 1")
    check_number("n_iter_no_change", patience, lambda v: v >= 1, ">= 1", integer=True)
    surrogate, training_loss = find_surrogate(given.surrogate, given.loss)
    if type(surrogate).maximise is Surrogate.maximise:
        raise ValueError(
            f"the {surrogate.name!r} route is defined for labels only; "
            "use 'adversarial', 'log', 'hinge' or 'hybrid' here"
        )
    seed = draw_seed(given.random_state)
    loss, own = clone(find_node_loss(given.loss)), clone(find_node_loss(training_loss))
    if isinstance(loss, SequenceZeroOne) and not isinstance(surrogate, Log):
        raise ValueError(
            f"the {surrogate.name!r} route trains for losses summed over nodes; "
            "'sequence_zero_one' is for surrogate='log', or use 'zero_one'"
        )
    return NodeParameters(clone(surrogate), own, loss, seed)


def _check_training(given: Any) -> None:
    for name in ("fit_intercept", "warm_start", "verbose"):
        if (name, getattr(given, name, False)) != ("fit_intercept", "auto"):  # sequences have it
            check_flag(name, getattr(given, name, False))
    check_number("C", given.C, lambda v: 0 < v < np.inf, "finite and > 0")
    check_number("tol", given.tol, lambda v: 0 <= v < np.inf, "finite and >= 0")
    check_number("max_iter", given.max_iter, lambda v: v >= 1, ">= 1", integer=True)
    if given.n_jobs is not None:
        check_number("n_jobs", given.n_jobs, bool, "other than 0 (None: all cores)", integer=True)


def check_penalty(given: Any) -> Penalty:
    """The penalty by its name, or an error; a kernel has its own norm and no lasso."""
    if not isinstance(given.penalty, str) or given.penalty not in RATIOS:
        raise ValueError(
            f"unknown penalty {given.penalty!r}; names are {', '.join(sorted(RATIOS))}"
        )
    ratio = RATIOS[given.penalty]
    if ratio is None:
        check_number("l1_ratio", given.l1_ratio, lambda v: 0 <= v <= 1, "between 0 and 1")
        ratio = float(given.l1_ratio)
    if ratio and getattr(given, "kernel", None) is not None and given.n_components is None:
        raise ValueError(
            f"penalty={given.penalty!r} needs linear scores; a kernel is penalised by its own "
            "norm (use penalty='l2', or n_components=... for explicit features)"
        )
    return Penalty(1.0 - ratio, ratio)


def check_flag(name: str, value: Any) -> None:
    """True, False, or a whole number as `verbose` may be."""
    if not isinstance(value, (bool, np.bool_, numbers.Integral)):
        raise TypeError(f"{name} must be a bool or a whole number, got {value!r}")


def check_number(name: str, value: Any, allowed: Any, words: str, integer: bool = False) -> None:
    """A constructor argument is a number, and an allowed one, or an error that names it."""
    kind = numbers.Integral if integer else numbers.Real
    if not isinstance(value, kind) or isinstance(value, bool):
        noun = "an integer" if integer else "a number"
        raise TypeError(f"{name} must be {noun}, {words}, got {value!r}")
    if not allowed(value):
        raise ValueError(f"{name} must be {words}, got {value!r}")
