"""How two sets of boxes lie to one another. Boxes are rows x1, y1, x2, y2; answers (n, m)."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.losses.boxes import areas, check_boxes, iou

__all__ = ["centre_distance", "check_boxes", "iou", "move", "size_ratio"]


def _centres(boxes: np.ndarray) -> np.ndarray:
    return 0.5 * (boxes[:, :2] + boxes[:, 2:])


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
    unit = np.sqrt(np.sqrt(areas(a)[:, None] * areas(b)))
    return apart / np.where(unit > 0.0, unit, 1.0)


def size_ratio(a: Any, b: Any) -> np.ndarray:
    """The smaller area over the larger one: 1 for equal sizes.

    Examples
    --------
    >>> from concordant.features import size_ratio
    >>> size_ratio([[0, 0, 2, 2]], [[0, 0, 4, 2]])
    array([[0.5]])
    """
    a, b = areas(check_boxes(a))[:, None], areas(check_boxes(b))
    large = np.maximum(a, b)
    return np.where(large > 0.0, np.minimum(a, b) / np.where(large > 0.0, large, 1.0), 1.0)


def move(boxes: Any, shifts: Any) -> np.ndarray:
    """Boxes shifted by (n, 2) offsets x, y."""
    return check_boxes(boxes) + np.tile(np.asarray(shifts, dtype=float).reshape(-1, 2), 2)
