"""Losses whose truth is one label: 0-1, absolute, squared, abstention, any cost matrix."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from concordant.losses.base import LabelLoss, check_costs


class ZeroOne(LabelLoss):
    """One for a wrong label, zero for the right one: plain accuracy.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.ZeroOne().matrix(2)
    array([[0., 1.],
           [1., 0.]])
    """

    def matrix(self, n_classes: int) -> np.ndarray:
        return 1.0 - np.eye(n_classes)


class SequenceZeroOne(ZeroOne):
    """One for a sequence or graph with any wrong label, by name ``"sequence_zero_one"``.

    `SequenceLabeler` and `GraphLabeler` take it with the log route, which then answers with the
    most probable labelling instead of each node's most probable label. (The other routes train
    for losses summed over nodes, as ``"zero_one"`` is there.)

    Examples
    --------
    >>> import concordant as cc
    >>> X, y = [[["a"], ["b"]], [["b"], ["b"]]], [["x", "y"], ["y", "x"]]
    >>> model = cc.SequenceLabeler(loss="sequence_zero_one", surrogate="log").fit(X, y)
    >>> model.score(X, y)  # the share of sequences without a mistake
    1.0
    """


def _rank_distance(n_classes: int) -> np.ndarray:
    ranks = np.arange(n_classes, dtype=float)
    return np.abs(ranks[:, None] - ranks)


class Absolute(LabelLoss):
    """Distance ``|i - j|`` between the ranks of two ordered labels.

    Numbers rank as they ascend, ordered categoricals as they say; strings alphabetically, unless
    `OrdinalClassifier` is given their ``categories``.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.Absolute()([0, 2], [2, 2])
    array([2., 0.])
    """

    ordered = True

    def matrix(self, n_classes: int) -> np.ndarray:
        return _rank_distance(n_classes)


class Squared(LabelLoss):
    """Squared distance ``(i - j)**2`` between the ranks of two ordered labels."""

    ordered = True

    def matrix(self, n_classes: int) -> np.ndarray:
        return _rank_distance(n_classes) ** 2


class Among(LabelLoss):
    """A loss whose ranks are places among given categories, of which a sample may lack some.

    Estimators of ordered labels make it from ``categories=``: between "bad" and "good" there
    is a step for "fair" even where no example is fair.

    Parameters
    ----------
    loss : loss
    categories : sequence
        All labels, in their order.

    Examples
    --------
    >>> import concordant as cc
    >>> loss = cc.losses.Among(cc.losses.Absolute(), ["bad", "fair", "good"])
    >>> loss.resolve(["bad", "good"])[0]
    array([[0., 2.],
           [2., 0.]])
    """

    def __init__(self, loss: LabelLoss, categories: Sequence[Any]):
        self.loss = loss
        self.categories = categories

    def label_names(self) -> list[Any]:
        """All labels."""
        return list(self.categories)

    def matrix(self, n_classes: int) -> np.ndarray:
        return self.loss.matrix(n_classes)

    def resolve(self, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        names = list(self.categories)
        costs, actions = self.loss.resolve(_array(names))
        column = [names.index(label) for label in np.asarray(classes).tolist()]
        actions = np.asarray(actions).tolist()
        rows = [i for i, action in enumerate(actions) if action not in names]
        if set(names) <= set(actions):
            rows = [actions.index(names[j]) for j in column] + rows
        return costs[np.ix_(rows, column)], _array([actions[i] for i in rows])


class Abstain(LabelLoss):
    """0-1 loss with one more action, to abstain, at a fixed price.

    Parameters
    ----------
    cost : float, default=0.5
        Price of abstaining, more than 0. At 1 or more it never pays.
    label : object, default=None
        What ``predict`` returns for abstaining. By default ``"abstain"`` among
        strings, -1 among integers and NaN among floats.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.Abstain(cost=0.3).bayes_action([[0.9, 0.1], [0.5, 0.5]])
    array([0, 2])
    """

    def __init__(self, cost: float = 0.5, label: Any = None):
        self.cost = cost
        self.label = label

    def __call__(
        self, action: np.ndarray, truth: np.ndarray, n_classes: int | None = None
    ) -> np.ndarray:
        """Cost of each pair of codes; that of abstaining is `n_classes`, which must be given."""
        if n_classes is None:
            raise TypeError(
                "the code of abstaining is the number of labels: pass n_classes, or use "
                "concordant.metrics.mean_loss with labels as you write them"
            )
        return super().__call__(action, truth, n_classes)

    def matrix(self, n_classes: int) -> np.ndarray:
        real = isinstance(self.cost, numbers.Real) and not isinstance(self.cost, bool)
        if not (real and 0 < self.cost < np.inf):
            raise ValueError(f"Abstain needs a finite cost > 0, got {self.cost!r}")
        return np.vstack([1.0 - np.eye(n_classes), np.full(n_classes, float(self.cost))])

    def resolve(self, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        classes = np.asarray(classes)
        label = self._default_label(classes) if self.label is None else self.label
        if label in classes.tolist():
            raise ValueError(
                f"the abstaining label {label!r} is also a class; "
                "pass Abstain(label=...) with another one"
            )
        actions = np.array([*classes.tolist(), label], dtype=self._dtype(classes, label))
        return self.matrix(len(classes)), actions

    @staticmethod
    def _default_label(classes: np.ndarray) -> Any:
        return {"f": np.nan, "i": -1, "u": -1, "b": -1}.get(classes.dtype.kind, "abstain")

    @staticmethod
    def _dtype(classes: np.ndarray, label: Any) -> Any:
        same_kind = np.asarray(label).dtype.kind == classes.dtype.kind
        numeric = np.asarray(label).dtype.kind in "iuf" and classes.dtype.kind in "iuf"
        return None if same_kind or numeric else object


class CostMatrix(LabelLoss):
    """Any price list: ``matrix[action, truth]``, square or rectangular.

    Parameters
    ----------
    matrix : array-like or dataframe of shape (n_actions, n_labels)
        Non-negative costs. A dataframe's index names the actions and its
        columns the labels. For rows = truth use `from_confusion`.
    actions : sequence, default=None
        Names of the rows. By default the labels, if the matrix is square, else
        ``0..n_actions-1``.
    labels : sequence, default=None
        Labels of the columns, in any order. By default the classes seen by
        ``fit``, sorted; naming them allows classes that a training sample lacks.
        Codes, as in `matrix`, `expected` and calls, count the columns as given;
        estimators put them in the order of their classes.

    Examples
    --------
    >>> import concordant as cc
    >>> triage = cc.losses.CostMatrix(
    ...     [[0, 9], [1, 0], [2, 2]], actions=["home", "ward", "test"], labels=["well", "ill"]
    ... )
    >>> print(triage)
    answering 'home' when the truth is 'well' costs 0
    answering 'home' when the truth is 'ill' costs 9
    answering 'ward' when the truth is 'well' costs 1
    answering 'ward' when the truth is 'ill' costs 0
    answering 'test' when the truth is 'well' costs 2
    answering 'test' when the truth is 'ill' costs 2
    """

    def __init__(
        self, matrix: Any, actions: Sequence[Any] | None = None, labels: Sequence[Any] | None = None
    ):
        self._given = matrix  # `matrix` is the method
        self.actions = actions
        self.labels = labels

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments; `matrix` is stored apart, because it is also a method."""
        return {"matrix": self._given, "actions": self.actions, "labels": self.labels}

    def set_params(self, **params: Any) -> CostMatrix:
        """Change constructor arguments."""
        self._given = params.pop("matrix", self._given)
        super().set_params(**params)
        return self

    @classmethod
    def from_confusion(
        cls, matrix: Any, actions: Sequence[Any] | None = None, labels: Sequence[Any] | None = None
    ) -> CostMatrix:
        """The same price list written the other way round: ``matrix[truth, action]``."""
        transposed = matrix.T if hasattr(matrix, "T") else np.asarray(matrix).T
        return cls(transposed, actions=actions, labels=labels)

    def _costs(self) -> np.ndarray:
        return check_costs(self._given, "the cost matrix")

    def label_names(self) -> list[Any] | None:
        """Labels of the columns, or None if they were not named."""
        if self.labels is not None:
            labels = list(self.labels)
        elif hasattr(self._given, "columns"):
            labels = list(self._given.columns)
        else:
            return None
        return self._named(labels, self._costs().shape[1], "labels")

    def _actions(self) -> list[Any] | None:
        """Names of the rows; the labels' where the matrix is square and names none."""
        rows, columns = self._costs().shape
        if self.actions is not None:
            return self._named(list(self.actions), rows, "actions")
        if hasattr(self._given, "index") and not callable(self._given.index):
            index = list(self._given.index)
            if index != list(range(rows)):  # the index of a dataframe that was given none
                return self._named(index, rows, "actions")
        return self.label_names() if rows == columns else None

    @staticmethod
    def _named(names: list[Any], expected: int, what: str) -> list[Any]:
        if len(names) != expected:
            raise ValueError(f"the cost matrix has {expected} {what}, but {len(names)} names")
        if len(set(names)) != expected:
            raise ValueError(f"the cost matrix names one of its {what} twice: {names}")
        return names

    def matrix(self, n_classes: int) -> np.ndarray:
        costs = self._costs()
        if costs.shape[1] != n_classes:
            raise ValueError(
                f"the cost matrix has {costs.shape[1]} columns, but there are {n_classes} "
                "classes; name its columns with labels=... if some are absent from the data"
            )
        return costs

    def __call__(
        self, action: np.ndarray, truth: np.ndarray, n_classes: int | None = None
    ) -> np.ndarray:
        """Cost of each (row, column) pair; the matrix knows how many labels there are."""
        return super().__call__(action, truth, n_classes or self._costs().shape[1])

    def resolve(self, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        classes = np.asarray(classes)
        labels, actions = self.label_names(), self._actions()
        if labels is None:
            costs = self.matrix(len(classes))
            labels = classes.tolist()
        else:
            unknown = [c for c in classes.tolist() if c not in labels]
            if unknown:
                raise ValueError(
                    f"the cost matrix has no column for class {unknown[0]!r}; its labels are "
                    f"{', '.join(map(repr, labels))}"
                )
            costs = self._costs()
        if actions is None:
            square = costs.shape[0] == costs.shape[1]
            actions = labels if square else list(range(costs.shape[0]))
        column = [labels.index(c) for c in classes.tolist()]
        # Rows named like the classes come first and in their order, so that an
        # action's code is its label's code wherever every class is an action.
        if set(classes.tolist()) <= set(actions):
            rows = [actions.index(c) for c in classes.tolist()]
            rows += [i for i in range(len(actions)) if i not in rows]
        else:
            rows = list(range(len(actions)))
        return costs[np.ix_(rows, column)], _array([actions[i] for i in rows])

    def __str__(self) -> str:
        costs = self._costs()
        actions = self._actions() or list(range(costs.shape[0]))
        labels = self.label_names() or list(range(costs.shape[1]))
        return "\n".join(
            f"answering {a!r} when the truth is {t!r} costs {costs[i, j]:g}"
            for i, a in enumerate(actions)
            for j, t in enumerate(labels)
        )


def _array(names: list[Any]) -> np.ndarray:
    """Names as an array that keeps each as it is (mixed types become objects)."""
    array = np.array(names)
    if array.ndim == 1 and array.tolist() == names:
        return array
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array
