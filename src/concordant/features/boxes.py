"""How two sets of boxes lie to one another. Boxes are rows x1, y1, x2, y2; answers (n, m)."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_boxes(boxes: Any) -> np.ndarray:
    """Boxes as an (n, 4) float array, or an error that names the bad one."""
    boxes = np.asarray(boxes, dtype=float).reshape(-1, 4) if np.size(boxes) == 0 else boxes
    boxes = np.asarray(boxes, dtype=float)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"boxes must be rows of x1, y1, x2, y2, got shape {boxes.shape}")
    bad = ~(np.isfinite(boxes).all(axis=1) & (boxes[:, 2:] >= boxes[:, :2]).all(axis=1))
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(f"box {i} is {boxes[i].tolist()}: need finite x1 <= x2 and y1 <= y2")
    return boxes


def _areas(boxes: np.ndarray) -> np.ndarray:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def _centres(boxes: np.ndarray) -> np.ndarray:
    return 0.5 * (boxes[:, :2] + boxes[:, 2:])


def iou(a: Any, b: Any) -> np.ndarray:
    """Intersection over union of every box of `a` with every box of `b`.

    Two boxes without area overlap fully if they are the same, else not at all.

    Examples
    --------
    >>> from concordant.features import iou
    >>> iou([[0, 0, 2, 2]], [[0, 0, 2, 2], [1, 0, 3, 2], [5, 5, 6, 6]]).round(3)
    array([[1.   , 0.333, 0.   ]])
    """
    a, b = check_boxes(a), check_boxes(b)
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.maximum(high - low, 0.0).prod(axis=2)
    union = _areas(a)[:, None] + _areas(b) - shared
    same = (a[:, None] == b).all(axis=2)
    return np.where(union > 0.0, shared / np.where(union > 0.0, union, 1.0), same)


def centre_distance(a: Any, b: Any) -> np.ndarray:
    """Euclidean distance between centres, in units of the geometric mean of the boxes' sides.

    Examples
    --------
    >>> from concordant.features import centre_distance
    >>> centre_distance([[0, 0, 2, 2]], [[3, 4, 5, 6]])
    array([[2.5]])
    """
    a, b = check_boxes(a), check_boxes(b)
    apart = np.linalg.norm(_centres(a)[:, None] - _centres(b), axis=2)
    unit = np.sqrt(np.sqrt(_areas(a)[:, None] * _areas(b)))
    return apart / np.where(unit > 0.0, unit, 1.0)


def size_ratio(a: Any, b: Any) -> np.ndarray:
    """The smaller area over the larger one: 1 for equal sizes.

    Examples
    --------
    >>> from concordant.features import size_ratio
    >>> size_ratio([[0, 0, 2, 2]], [[0, 0, 4, 2]])
    array([[0.5]])
    """
    a, b = _areas(check_boxes(a))[:, None], _areas(check_boxes(b))
    large = np.maximum(a, b)
    return np.where(large > 0.0, np.minimum(a, b) / np.where(large > 0.0, large, 1.0), 1.0)


def move(boxes: Any, shifts: Any) -> np.ndarray:
    """Boxes shifted by (n, 2) offsets x, y."""
    return check_boxes(boxes) + np.tile(np.asarray(shifts, dtype=float).reshape(-1, 2), 2)
