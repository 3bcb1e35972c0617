"""Random splits, standardised features and kernel values."""

from __future__ import annotations

import numpy as np

from experiments import common


def split(dataset: str, n: int, train: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of a random split, with so many training rows."""
    key = [common.SEED, number, *dataset.encode()]
    order = np.random.default_rng(key).permutation(n)
    return order[:train], order[train:]


def standardise(train: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both with the mean and standard deviation of the first; constant features become 0."""
    mean, sd = train.mean(axis=0), train.std(axis=0, ddof=1)
    sd[sd == 0.0] = 1.0
    return (train - mean) / sd, (other - mean) / sd


class Problem:
    """A training set and a test set as a kernel sees them."""

    def __init__(self, kernel: str, train: np.ndarray, test: np.ndarray, one: bool = True):
        self.linear = kernel == "linear"
        train, test = standardise(train, test)
        if not self.linear:
            self.train, self.test = _squares(train, train), _squares(test, train)
        elif one:  # a constant feature: its weight is an intercept, penalised
            self.train, self.test = _with_one(train), _with_one(test)
        else:
            self.train, self.test = train, test

    def at(self, gamma: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Features, or kernel values, of the training and the test rows."""
        if gamma is None:
            return self.train, self.test
        return np.exp(-(2.0**gamma) * self.train), np.exp(-(2.0**gamma) * self.test)

    def pick(self, values: np.ndarray, rows: np.ndarray, train: np.ndarray) -> np.ndarray:
        """Some rows of `values`, against some training rows where they are kernel values."""
        return values[rows] if self.linear else values[np.ix_(rows, train)]


def _with_one(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(x)), x])


def _squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    from sklearn.metrics import euclidean_distances

    return euclidean_distances(a, b, squared=True)
