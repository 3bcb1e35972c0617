"""Labels of nodes as users give them: a list with one entry a node for each example."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np


def flat_labels(y: Sequence[Any], lengths: np.ndarray, noun: str, name: str = "y") -> list[Any]:
    """All labels one after another, None where unknown; an error names the example."""
    out: list[Any] = []
    for i, (labels, n) in enumerate(zip(y, lengths)):
        if isinstance(labels, (str, bytes, dict)) or not hasattr(labels, "__len__"):
            raise TypeError(
                f"{name}[{i}] must be a list with one label a node, got {type(labels).__name__}"
            )
        values = labels.tolist() if hasattr(labels, "tolist") else list(labels)
        if len(values) != n:
            raise ValueError(f"{noun} {i} has {n} nodes, but {name}[{i}] has {len(values)} labels")
        for t, value in enumerate(values):
            if value is None:
                continue
            if not isinstance(value, (str, bytes, numbers.Real)) or value != value:
                raise ValueError(f"{name}[{i}] has no label at node {t}, but {value!r}")
        out += values
    _check_one_kind(out, lengths, name)
    return out


def _check_one_kind(values: list[Any], lengths: np.ndarray, name: str) -> None:
    """Labels are all strings or all numbers."""
    first: Any = None
    for place, value in enumerate(values):
        if value is None:
            continue
        first = value if first is None else first
        if isinstance(value, numbers.Real) != isinstance(first, numbers.Real):
            i = int(np.searchsorted(np.cumsum(lengths), place, side="right"))
            raise ValueError(
                f"{name}[{i}] has {value!r}, an earlier label is {first!r}: mixed kinds"
            )


def classes_of(values: list[Any]) -> np.ndarray:
    """The labels that occur, sorted."""
    known = [value for value in values if value is not None]
    if not known:
        raise ValueError("y has no known labels")
    return np.unique(np.array(known))


def codes_of(
    values: list[Any], classes: np.ndarray, lengths: np.ndarray, name: str = "y"
) -> np.ndarray:
    """Position of each label among the classes; -1 where unknown."""
    table: dict[Any, int] = {label: code for code, label in enumerate(classes.tolist())}
    table[None] = -1
    codes = np.array([table.get(value, -2) for value in values], np.int64)
    if (codes == -2).any():
        place = int((codes == -2).argmax())
        i = int(np.searchsorted(np.cumsum(lengths), place, side="right"))
        raise ValueError(
            f"{name}[{i}] has {values[place]!r}, which is not a known label; known are "
            f"{', '.join(map(repr, classes.tolist()[:20]))}"
        )
    return codes


def node_weights(loss_weight: Any, lengths: np.ndarray, noun: str) -> np.ndarray:
    """One weight a node from a list with one array an example; ones if None."""
    if loss_weight is None:
        return np.ones(int(lengths.sum()))
    if len(loss_weight) != len(lengths):
        raise ValueError(
            f"loss_weight has {len(loss_weight)} arrays, but there are {len(lengths)} examples"
        )
    out = []
    for i, (given, n) in enumerate(zip(loss_weight, lengths)):
        weights = np.asarray(given, dtype=np.float64)
        if weights.shape != (n,):
            raise ValueError(
                f"{noun} {i} has {n} nodes, but loss_weight[{i}] has shape {weights.shape}"
            )
        if not (np.isfinite(weights) & (weights >= 0.0)).all():
            raise ValueError(f"loss_weight[{i}] must be finite and >= 0")
        out.append(weights)
    return np.concatenate(out)
