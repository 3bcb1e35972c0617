"""Data whose truth is known, at any size."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def make_ordered(
    n_samples: int = 1000,
    n_features: int = 10,
    n_labels: int = 5,
    *,
    noise: float = 1.0,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Ordered labels along one direction: a noisy projection, cut into equally frequent grades.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
    noise : float, default=1.0
        Standard deviation of what is added to the projection, whose own is 1.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Grades ``0..n_labels-1``.

    Examples
    --------
    >>> X, y = make_ordered(100, 3, 4, random_state=0)
    >>> np.bincount(y)
    array([25, 25, 25, 25])
    """
    _at_least(n_samples=(n_samples, n_labels), n_features=(n_features, 1), n_labels=(n_labels, 2))
    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, n_features))
    direction = rng.standard_normal(n_features)
    latent = X @ (direction / np.linalg.norm(direction)) + noise * rng.standard_normal(n_samples)
    rank = np.argsort(np.argsort(latent, kind="stable"), kind="stable")
    return X, rank * n_labels // n_samples


def make_uncertain(
    n_samples: int = 1000,
    n_labels: int = 3,
    *,
    n_features: int = 2,
    doubt: float = 0.5,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels drawn from known probabilities, many without a majority: where routes differ.

    Scores are linear in the features and probabilities their softmax, so that log loss can learn
    the truth; the smaller the scores, the less certain any answer.

    Parameters
    ----------
    n_samples, n_labels, n_features : int
    doubt : float, default=0.5
        Larger is less certain: scores are divided by it.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    proba : ndarray of shape (n_samples, n_labels)
        The probabilities that `y` was drawn from: the best possible decision is known.

    Examples
    --------
    >>> X, y, proba = make_uncertain(200, random_state=0)
    >>> proba.shape, bool((proba.max(axis=1) < 0.5).any())
    ((200, 3), True)
    """
    _at_least(n_samples=(n_samples, 1), n_features=(n_features, 1), n_labels=(n_labels, 2))
    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, n_features))
    scores = X @ rng.standard_normal((n_features, n_labels)) / doubt
    proba = np.exp(scores - scores.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    draws = rng.random_sample(n_samples)
    y = np.minimum((draws[:, None] > np.cumsum(proba, axis=1)).sum(axis=1), n_labels - 1)
    return X, y, proba


def make_chains(
    n_samples: int = 100,
    n_labels: int = 4,
    *,
    length: tuple[int, int] = (3, 12),
    n_features: int = 8,
    noise: float = 1.0,
    stay: float = 0.7,
    random_state: Any = None,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Label sequences from a Markov chain, seen through noise.

    Parameters
    ----------
    n_samples, n_labels, n_features : int
    length : (int, int), default=(3, 12)
        Least and largest number of positions, both possible.
    noise : float, default=1.0
        Standard deviation of features around the mean of their label.
    stay : float, default=0.7
        Probability that the next label is the same; otherwise any other.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : list of ndarray of shape (T, n_features)
    y : list of ndarray of shape (T,)

    Examples
    --------
    >>> X, y = make_chains(3, random_state=0)
    >>> [x.shape[0] == len(labels) for x, labels in zip(X, y)]
    [True, True, True]
    """
    least, largest = length
    _at_least(n_samples=(n_samples, 1), n_labels=(n_labels, 2), length=(least, 1))
    if largest < least:
        raise ValueError(f"length must be (least, largest), got {length!r}")
    rng = check_random_state(random_state)
    means = rng.standard_normal((n_labels, n_features))
    X, y = [], []
    for _ in range(n_samples):
        size = int(rng.randint(least, largest + 1))
        moves = (rng.random_sample(size) > stay) * rng.randint(1, n_labels, size)
        labels = (rng.randint(n_labels) + np.cumsum(moves)) % n_labels
        y.append(labels)
        X.append(means[labels] + noise * rng.standard_normal((size, n_features)))
    return X, y


def make_pairs(
    n_samples: int = 50,
    size: int = 6,
    *,
    n_features: int = 4,
    noise: float = 0.5,
    random_state: Any = None,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Two views of the same points in different orders: one-to-one matching.

    Features of a pair are the squared differences of the two views' coordinates.

    Parameters
    ----------
    n_samples, size, n_features : int
    noise : float, default=0.5
        Standard deviation of the second view around the first.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : list of ndarray of shape (size, size, n_features)
    y : list of ndarray of shape (size,)
        Column that belongs to each row.

    Examples
    --------
    >>> X, y = make_pairs(2, 3, random_state=0)
    >>> X[0].shape, sorted(y[0].tolist())
    ((3, 3, 4), [0, 1, 2])
    """
    _at_least(n_samples=(n_samples, 1), size=(size, 1), n_features=(n_features, 1))
    rng = check_random_state(random_state)
    X, y = [], []
    for _ in range(n_samples):
        first = rng.standard_normal((size, n_features))
        columns = rng.permutation(size)
        second = np.empty_like(first)
        second[columns] = first + noise * rng.standard_normal(first.shape)
        X.append((first[:, None, :] - second[None, :, :]) ** 2)
        y.append(columns)
    return X, y


def _at_least(**given: tuple[int, int]) -> None:
    for name, (value, least) in given.items():
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value!r}")
