"""Checks that every estimator of structured answers passes; usable on your own.

scikit-learn's `check_estimator` runs a single check on estimators whose input is not a table.
`check_structured_estimator` runs those of its checks that need no data and does the others
again on examples that you give.

>>> from concordant.checks import STRUCTURED_CHECKS
>>> "check_refit_is_idempotent" in [check.__name__ for check in STRUCTURED_CHECKS]
True
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks as theirs

Check = Callable[[Any, Sequence[Any], Sequence[Any]], None]

#: scikit-learn's checks that call no method with data.
DATA_FREE = (
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
)


def check_structured_estimator(estimator: Any, X: Sequence[Any], y: Sequence[Any]) -> None:
    """Raise an AssertionError at the first convention that `estimator` breaks.

    Parameters
    ----------
    estimator : estimator
        Not fitted; it is cloned.
    X, y : sequences
        At least six examples and their answers, of different sizes.
    """
    name = type(estimator).__name__
    for check in DATA_FREE:
        getattr(theirs, check)(name, clone(estimator))
    for own in STRUCTURED_CHECKS:
        own(estimator, X, y)


def check_unfitted_raises(estimator: Any, X: Sequence[Any], y: Sequence[Any]) -> None:
    """`predict` before `fit` raises NotFittedError."""
    assert _error(NotFittedError, lambda: clone(estimator).predict(X))


def check_answers_are_an_object_array(estimator: Any, X: Sequence[Any], y: Sequence[Any]) -> None:
    """`predict` returns one object an example, whatever the container of the examples."""
    fitted = clone(estimator).fit(X, y)
    expected = fitted.predict(X)
    assert isinstance(expected, np.ndarray)
    assert expected.dtype == object
    assert expected.shape == (len(X),)
    for container in (_as_objects(X), tuple(X)):
        _assert_same(fitted.predict(container), expected)
    _assert_same(clone(estimator).fit(_as_objects(X), _as_objects(y)).predict(X), expected)


def check_fit_keeps_parameters_and_data(estimator: Any, X: Sequence[Any], y: Sequence[Any]) -> None:
    """`fit` returns self, and changes neither the constructor's arguments nor its input."""
    model = clone(estimator)
    before, data = _frozen(model.get_params()), pickle.dumps((list(X), list(y)))
    assert model.fit(X, y) is model
    model.predict(X)
    assert _frozen(model.get_params()) == before
    assert pickle.dumps((list(X), list(y))) == data, "fit or predict wrote into its input"


def check_refit_is_idempotent(estimator: Any, X: Sequence[Any], y: Sequence[Any]) -> None:
    """Fitting twice gives one answer."""
    model = clone(estimator).fit(X, y)
    first = model.predict(X)
    _assert_same(model.fit(X, y).predict(X), first)


def check_pickle_round_trip(estimator: Any, X: Sequence[Any], y: Sequence[Any]) -> None:
    """A pickled model, and a deep copy, predict the same."""
    model = clone(estimator).fit(X, y)
    expected = model.predict(X)
    _assert_same(pickle.loads(pickle.dumps(model)).predict(X), expected)
    _assert_same(copy.deepcopy(model).predict(X), expected)


def check_examples_are_independent(estimator: Any, X: Sequence[Any], y: Sequence[Any]) -> None:
    """An example's answer depends on neither order nor company."""
    model = clone(estimator).fit(X, y)
    expected = model.predict(X)
    order = np.random.default_rng(0).permutation(len(X))
    _assert_same(model.predict([X[i] for i in order]), expected[order])
    for i in range(min(len(X), 3)):
        _assert_same(model.predict([X[i]]), expected[i : i + 1])


def check_errors_leave_the_model(estimator: Any, X: Sequence[Any], y: Sequence[Any]) -> None:
    """A failed `fit` leaves an earlier one as it was; lengths that differ are named."""
    model = clone(estimator).fit(X, y)
    expected = model.predict(X)
    message = _error(ValueError, lambda: model.fit(X, list(y)[:-1]))
    assert str(len(X)) in message, "more examples than answers: the error must name the lengths"
    _assert_same(model.predict(X), expected)
    assert _error(ValueError, lambda: clone(estimator).fit([], [])), "no examples must be an error"


def check_model_selection(estimator: Any, X: Sequence[Any], y: Sequence[Any]) -> None:
    """Cross-validation, grid search and pipelines take the examples as a list."""
    folds = KFold(2)
    scores = cross_val_score(clone(estimator), X, y, cv=folds, error_score="raise")
    assert np.isfinite(scores).all()
    assert cross_val_predict(clone(estimator), X, y, cv=folds).shape == (len(X),)
    grid = GridSearchCV(clone(estimator), {"C": [0.1, 1.0]}, cv=folds, error_score="raise")
    assert grid.fit(X, y).predict(X).shape == (len(X),)
    assert make_pipeline(clone(estimator)).fit(X, y).predict(X).shape == (len(X),)


STRUCTURED_CHECKS: tuple[Check, ...] = (
    check_unfitted_raises,
    check_answers_are_an_object_array,
    check_fit_keeps_parameters_and_data,
    check_refit_is_idempotent,
    check_pickle_round_trip,
    check_examples_are_independent,
    check_errors_leave_the_model,
    check_model_selection,
)


def _error(kind: type[Exception], call: Callable[[], Any]) -> str:
    """The message of the error that `call` must raise."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"expected {kind.__name__}")


def _as_objects(items: Sequence[Any]) -> np.ndarray:
    out = np.empty(len(items), dtype=object)
    out[:] = list(items)
    return out


def _frozen(parameters: dict[str, Any]) -> dict[str, str]:
    return {key: repr(value) for key, value in parameters.items()}


def _assert_same(a: np.ndarray, b: np.ndarray) -> None:
    assert len(a) == len(b)
    for i, (one, other) in enumerate(zip(a, b)):
        assert np.array_equal(one, other), f"example {i}: {one!r} is not {other!r}"
