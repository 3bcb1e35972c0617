"""Digits on clutter: images whose label says what, but not where."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.utils import Bunch, check_random_state

from concordant.latent.bags import Bag

_CLUTTERED = """Digits on clutter.

Synthetic: each image shows one digit at a random place of a grid, on a background of pieces of
digits of other classes. The default digits are the 8×8 ones of the UCI Machine Learning
Repository (E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, 1998,
doi:10.24432/C50P49, CC BY 4.0), which come with scikit-learn.
"""


def make_cluttered_digits(
    n_samples: int = 200,
    *,
    digits: Any = None,
    labels: Any = None,
    classes: Any = None,
    size: int = 32,
    stride: int = 4,
    pieces: int = 8,
    piece_size: int = 8,
    random_state: Any = None,
) -> Bunch:
    """Digits on backgrounds made of pieces of other digits: which digit, and where?

    A digit is put on a square background at a random place of a grid. The background holds
    square pieces cut out of digits of other classes, at random places, so that it has the
    strokes of digits everywhere. The windows of the grid are the choices of a `Bag`; their
    features are pixels scaled to unit norm.

    Parameters
    ----------
    n_samples : int, default=200
        Images; classes take turns.
    digits : array-like of shape (n, h, h), default=None
        Grey square images, 0 for background. By default scikit-learn's 8×8 digits, doubled in
        size.
    labels : array-like of shape (n,), default=None
        Their classes, if `digits` are given.
    classes : sequence, default=None
        Use these classes only.
    size : int, default=32
        Height and width of an image.
    stride : int, default=4
        Distance between places of the grid.
    pieces, piece_size : int, default=8, 8
        Number and size of the pieces.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    Bunch
        ``images`` (n_samples, size, size); ``bags``; ``target`` (n_samples,); ``latent``
        (n_samples,) the choice at which the digit is; ``boxes`` (n_choices, 4) of every image,
        ``x1, y1, x2, y2``; ``DESCR``.

    Examples
    --------
    >>> import concordant as cc
    >>> data = cc.datasets.make_cluttered_digits(4, random_state=0)
    >>> data.images.shape, data.bags[0]
    ((4, 32, 32), Bag(25 choices, 256 features, boxes))
    """
    digits, labels = _digits(digits, labels)
    wanted = np.unique(labels) if classes is None else np.asarray(classes)
    _check_cluttered(digits, labels, wanted, size, stride, piece_size)
    rng = check_random_state(random_state)
    height = digits.shape[1]
    corners = np.arange(0, size - height + 1, stride)
    x, y = (grid.ravel() for grid in np.meshgrid(corners, corners))
    boxes = np.column_stack([x, y, x + height, y + height]).astype(float)
    target = wanted[np.arange(n_samples) % len(wanted)]
    latent = rng.randint(len(boxes), size=n_samples)
    images = np.zeros((n_samples, size, size))
    for image, label, place in zip(images, target, latent):
        others = np.flatnonzero(labels != label)
        for _ in range(pieces):
            _put(image, _piece(digits[rng.choice(others)], piece_size, rng), rng)
        digit = digits[rng.choice(np.flatnonzero(labels == label))]
        window = image[y[place] : y[place] + height, x[place] : x[place] + height]
        np.maximum(window, digit, out=window)
    windows = sliding_window_view(images, (height, height), axis=(1, 2))[:, y, x]
    windows = windows.reshape(n_samples, len(boxes), -1)
    norms = np.linalg.norm(windows, axis=2, keepdims=True)
    windows = windows / np.where(norms > 0.0, norms, 1.0)
    return Bunch(
        images=images,
        bags=[Bag(features, boxes) for features in windows],
        target=target,
        latent=latent,
        boxes=boxes,
        DESCR=_CLUTTERED,
    )


def _digits(digits: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    if (digits is None) != (labels is None):
        raise ValueError("digits and labels go together: give both or neither")
    if digits is None:
        from sklearn.datasets import load_digits

        pixels, labels = load_digits(return_X_y=True)
        return np.kron(pixels.reshape(-1, 8, 8) / 16.0, np.ones((1, 2, 2))), labels
    digits, labels = np.asarray(digits, dtype=float), np.asarray(labels)
    if digits.ndim != 3 or digits.shape[1] != digits.shape[2]:
        raise ValueError(f"digits must have shape (n, h, h), got {digits.shape}")
    if labels.shape != (len(digits),):
        raise ValueError(f"labels must have shape ({len(digits)},), got {labels.shape}")
    return digits, labels


def _check_cluttered(
    digits: np.ndarray, labels: np.ndarray, wanted: np.ndarray, size: int, stride: int, piece: int
) -> None:
    height = digits.shape[1]
    if size < height:
        raise ValueError(f"size={size} is smaller than the digits, which are {height}×{height}")
    if not 1 <= piece <= height:
        raise ValueError(f"piece_size must be between 1 and {height}, got {piece}")
    if stride < 1:
        raise ValueError(f"stride must be at least 1, got {stride}")
    missing = np.setdiff1d(wanted, labels)
    if len(missing):
        raise ValueError(f"there are no digits of class {missing.tolist()[0]!r}")
    if len(np.unique(labels)) < 2:
        raise ValueError("clutter is cut from digits of other classes, but there is one class only")


def _piece(digit: np.ndarray, size: int, rng: np.random.RandomState) -> np.ndarray:
    """A square cut out of a digit at a random place."""
    row, column = rng.randint(len(digit) - size + 1, size=2)
    return digit[row : row + size, column : column + size]


def _put(image: np.ndarray, piece: np.ndarray, rng: np.random.RandomState) -> None:
    """Lay a piece on an image at a random place."""
    row, column = rng.randint(len(image) - len(piece) + 1, size=2)
    window = image[row : row + len(piece), column : column + len(piece)]
    np.maximum(window, piece, out=window)
