"""Choice of C and of a kernel's width under the loss that is asked for, not under a surrogate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, check_cv

from concordant.estimators.outputs import Examples, OutputEstimator

#: What is tried by default: C as a multiple of nothing, widths as multiples of `gamma`.
CS = tuple(10.0 ** np.arange(-2, 7))
WIDTHS = tuple(4.0 ** np.arange(-2, 3))


class Choice(NamedTuple):
    """The best of a grid, and the mean loss of everything tried."""

    C: float
    gamma: Any
    results: dict[str, list[Any]]


class SelectingEstimator(OutputEstimator):
    """Chooses C and the width of its kernel by the loss of predictions on held-out examples.

    A subclass gives `_grid`, `_held_out` and `_left_out`.
    """

    cv: Any
    gammas: Any

    def _grid(self) -> list[float]:
        """Values of C to try."""
        raise NotImplementedError

    def _left_out(self, examples: Examples, gamma: Any, Cs: list[float]) -> Iterator[np.ndarray]:
        """Predictions of every example without it, for each C.

        The left-out output stays among the candidates, where the decoder has any.
        """
        raise NotImplementedError

    def _held_out(
        self, examples: Examples, train: np.ndarray, test: np.ndarray, gamma: Any,
        Cs: list[float], seed: int,
    ) -> Iterator[np.ndarray]:  # fmt: skip
        """Predictions of the test rows from the training rows, for each C."""
        raise NotImplementedError

    def _trials(self, examples: Examples, seed: int) -> Iterator[tuple[Any, float, float]]:
        """Gamma, C and mean loss of everything on the grid."""
        Cs = self._grid()
        n = len(examples.truths)
        splits = None if self._leaves_one_out() else self._splits(examples, seed)
        tested = [np.arange(n)] if splits is None else [test for _, test in splits]
        weight = sum(float(examples.weight[rows].sum()) for rows in tested)
        for gamma in self._widths(examples):
            total = np.zeros(len(Cs))
            if splits is None:
                total += self._losses(self._left_out(examples, gamma, Cs), examples, tested[0])
            for train, test in splits or ():
                predicted = self._held_out(examples, train, test, gamma, Cs, seed)
                total += self._losses(predicted, examples, test)
            yield from ((gamma, C, float(loss)) for C, loss in zip(Cs, total / weight))

    def _leaves_one_out(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "loo"

    def _splits(self, examples: Examples, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training and test rows of each fold.

        A number of folds is of the examples that count; a splitter speaks of those given, of
        which some may have weight zero.
        """
        if isinstance(self.cv, (int, np.integer)) and not isinstance(self.cv, bool):
            return folds(int(self.cv), len(examples.truths), seed)
        place = np.full(self._given, -1)
        place[examples.origin] = np.arange(len(examples.origin))
        every = check_cv(self.cv).split(np.zeros((self._given, 1)))
        kept = [tuple(place[rows][place[rows] >= 0] for rows in split) for split in every]
        return [(train, test) for train, test in kept if len(train) and len(test)]

    def _widths(self, examples: Examples) -> list[Any]:
        width = constant(self._kernel_of(examples.x, examples.weight, self.gamma))
        if width is not None:
            return grid(self.gammas, "gammas", tuple(width * step for step in WIDTHS))
        if self.gammas is not None:
            raise ValueError(f"kernel {self.kernel!r} has no width: gammas means nothing")
        return [self.gamma]

    def _losses(
        self, predicted: Iterator[np.ndarray], examples: Examples, rows: np.ndarray
    ) -> list[float]:
        """Weighted sum of the losses of each set of predictions."""
        truths, weight = examples.truths[rows], examples.weight[rows] * examples.loss_weight[rows]
        return [float(self.loss_.pairs(answers, truths) @ weight) for answers in predicted]


def constant(kernel: Any) -> float | None:
    """The width of a kernel, if it has one."""
    gamma = getattr(kernel, "gamma", None)
    return getattr(kernel, "constants", {}).get("gamma") if gamma is None else gamma


def grid(given: Any, name: str, default: tuple[float, ...]) -> list[float]:
    """Values to try, each positive and finite."""
    values = np.ravel(default if given is None else given).astype(float)
    if len(values) == 0 or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"{name} must be positive numbers to choose from, got {given!r}")
    return values.tolist()


def folds(number: int, n: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of so many shuffled folds."""
    if not 2 <= number <= n:
        raise ValueError(f"cv must be 'loo' or from 2 to the number of examples, got {number!r}")
    return list(KFold(number, shuffle=True, random_state=seed).split(np.zeros((n, 1))))


def best(trials: Iterator[tuple[Any, float, float]]) -> Choice:
    """The trial (gamma, C, mean loss) of least loss; of equals the first."""
    tried = list(trials)
    losses = [loss for _, _, loss in tried]
    gamma, C, _ = tried[int(np.argmin(losses))]
    names = ("gamma", "C", "mean_loss")
    return Choice(C, gamma, {name: list(column) for name, column in zip(names, zip(*tried))})
