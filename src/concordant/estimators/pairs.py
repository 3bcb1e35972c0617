"""Checks of pair features and of assignments, and their packed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Pairs(NamedTuple):
    """A ragged batch: the features of all pairs below one another, and each example's size."""

    features: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    forbidden: list[np.ndarray | None] | None

    def take(self, kept: np.ndarray) -> Pairs:
        """Some of the examples."""
        if len(kept) == len(self.rows):
            return self
        sizes = self.rows * self.columns
        stops = np.cumsum(sizes)
        blocks = [self.features[stops[i] - sizes[i] : stops[i]] for i in kept]
        masks = None if self.forbidden is None else [self.forbidden[i] for i in kept]
        return Pairs(np.concatenate(blocks), self.rows[kept], self.columns[kept], masks)


def check_shapes(X: Sequence[Any], n_features: int | None = None) -> list[np.ndarray]:
    """Each example as a float array (n, m, d), all of one width, or an error that names it."""
    arrays = []
    for e, each in enumerate(X):
        try:
            x = np.asarray(each, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X[{e}] must be an array of numbers: {error}") from error
        if x.ndim != 3:
            raise ValueError(f"X[{e}] must have shape (rows, columns, features), got {x.shape}")
        if n_features is None:
            n_features = x.shape[2]
        if x.shape[2] != n_features:
            raise ValueError(
                f"X[{e}] has {x.shape[2]} features a pair, but {n_features} are expected"
            )
        arrays.append(x)
    if n_features == 0:
        raise ValueError("X has 0 feature(s) a pair while a minimum of 1 is required")
    return arrays


def check_pairs(arrays: list[np.ndarray]) -> Pairs:
    """The batch of these examples, or an error that names the first value that is no number.

    A pair is forbidden if one of its features is minus infinity.
    """
    rows = np.array([x.shape[0] for x in arrays])
    columns = np.array([x.shape[1] for x in arrays])
    features = np.concatenate([x.reshape(-1, x.shape[2]) for x in arrays])
    bad = ~np.isfinite(features)
    if not bad.any():
        return Pairs(features, rows, columns, None)
    masks = _forbidden(arrays)
    features[bad.any(axis=1)] = 0.0
    return Pairs(features, rows, columns, masks)


def _forbidden(arrays: list[np.ndarray]) -> list[np.ndarray | None]:
    """Masks of forbidden pairs, or an error at the first NaN or plus infinity."""
    masks: list[Any] = []
    for e, x in enumerate(arrays):
        wrong = np.isnan(x) | (x == np.inf)
        if wrong.any():
            i, j, k = np.argwhere(wrong)[0]
            raise ValueError(
                f"X[{e}][{i}, {j}, {k}] = {x[i, j, k]} is not finite; only minus infinity has a "
                "meaning, it forbids the pair"
            )
        mask = np.isneginf(x).any(axis=2)
        masks.append(mask if mask.any() else None)
    return masks


def check_answers(
    y: Sequence[Any], arrays: list[np.ndarray], forbidden: list[np.ndarray | None] | None = None
) -> list[np.ndarray]:
    """The column of each row, -1 for alone, or an error that names example and row."""
    out = []
    for e, (each, x) in enumerate(zip(y, arrays)):
        n, m = x.shape[:2]
        answer = np.asarray(each)
        if answer.size == 0:
            answer = answer.astype(np.int64)
        if answer.shape != (n,):
            raise ValueError(f"y[{e}] must have shape ({n},), one column a row, got {answer.shape}")
        if answer.dtype.kind not in "iu":
            raise ValueError(f"y[{e}] must hold integers, got dtype {answer.dtype}")
        answer = answer.astype(np.int64)
        bad = (answer < -1) | (answer >= m)
        if bad.any():
            i = int(bad.argmax())
            raise ValueError(f"y[{e}][{i}] = {answer[i]} is not a column in 0..{m - 1}, or -1")
        taken = answer[answer >= 0]
        if len(np.unique(taken)) < len(taken):
            column = int(np.bincount(taken).argmax())
            first, second = np.flatnonzero(answer == column)[:2]
            raise ValueError(f"y[{e}] gives column {column} to rows {first} and {second}")
        mask = None if forbidden is None else forbidden[e]
        if mask is not None:
            rows = np.flatnonzero(answer >= 0)
            hit = mask[rows, answer[rows]]
            if hit.any():
                i = int(rows[hit.argmax()])
                raise ValueError(f"y[{e}][{i}] = {answer[i]} is a pair that X forbids")
        out.append(answer)
    return out


def stays_alone(pairs: Pairs, answers: list[np.ndarray]) -> tuple[int, int] | None:
    """An example and a row of it that has no partner though there are columns left over."""
    for e, (answer, n, m) in enumerate(zip(answers, pairs.rows, pairs.columns)):
        if (answer >= 0).sum() < min(n, m):
            return e, int((answer < 0).argmax())
    return None
