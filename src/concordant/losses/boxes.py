"""Losses on (label, choice) pairs: an answer says what is there and where.

The cost of answering (y, h) when (y', h') is the truth is ``labels[y, y'] + [y = y'] D[h, h']``:
each loss here gives the costs between labels and says what D is.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from concordant.losses.base import LabelLoss
from concordant.losses.labels import ZeroOne
from concordant.losses.names import find_loss


class PairLoss(BaseEstimator):
    """Cost of answering with a label and a choice when another pair is the truth.

    A subclass names the costs between choices in `choices`: ``"nothing"`` for none,
    ``"zero_one"``, ``"overlap"`` of the bag's boxes, ``"table"`` for the bag's own ``costs``.
    """

    choices: ClassVar[str]

    @abstractmethod
    def label_costs(self, classes: np.ndarray) -> np.ndarray:
        """Cost of each label under each true label, ``(k, k)``, in the order of the classes."""


class PairZeroOne(PairLoss):
    """One unless label and choice are both right; what `ZeroOne` means for such answers."""

    choices = "zero_one"

    def label_costs(self, classes: np.ndarray) -> np.ndarray:
        return 1.0 - np.eye(len(classes))


class Overlap(PairLoss):
    """1 - intersection over union of the two boxes if the labels agree, else 1.

    Bags need boxes.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.losses.Overlap().choices
    'overlap'
    >>> cc.losses.iou([[0, 0, 2, 2]], [[0, 0, 2, 2], [1, 0, 3, 2]])
    array([[1.  , 0.33...]])
    """

    choices = "overlap"

    def label_costs(self, classes: np.ndarray) -> np.ndarray:
        return 1.0 - np.eye(len(classes))


class LabelOnly(PairLoss):
    """A loss on labels, blind to the choice.

    Under it learning with two distributions is latent SVM.

    Parameters
    ----------
    loss : str or LabelLoss, default="zero_one"
        Its actions must be the labels.

    Examples
    --------
    >>> import numpy as np, concordant as cc
    >>> cc.losses.LabelOnly("absolute").label_costs(np.array(["a", "b", "c"]))
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """

    choices = "nothing"

    def __init__(self, loss: Any = "zero_one"):
        self.loss = loss

    def label_costs(self, classes: np.ndarray) -> np.ndarray:
        return _square_costs(self.loss, classes)


class PairMatrix(PairLoss):
    """Costs that every bag brings along: its ``costs``.

    An (m, m) matrix ``costs[answered choice, true choice]`` counts where the labels agree, and
    `wrong` where they do not. An (k m, k m) matrix over (label, choice) pairs, label-major and
    labels in sorted order, is the whole loss; `wrong` is not read then.

    Parameters
    ----------
    wrong : str or LabelLoss, default="zero_one"
        Costs between different labels.
    """

    choices = "table"

    def __init__(self, wrong: Any = "zero_one"):
        self.wrong = wrong

    def label_costs(self, classes: np.ndarray) -> np.ndarray:
        return _square_costs(self.wrong, classes)


def _square_costs(loss: Any, classes: np.ndarray) -> np.ndarray:
    costs, actions = find_loss(loss).resolve(classes)
    if not np.array_equal(actions, classes):
        raise ValueError(
            f"{loss!r} has actions that are not the labels; answers here are labels with a choice"
        )
    return np.asarray(costs, dtype=float)


#: Name -> loss on pairs.
PAIR_LOSSES: dict[str, type[PairLoss]] = {"zero_one": PairZeroOne, "overlap": Overlap}


def find_pair_loss(loss: Any) -> PairLoss:
    """The loss on pairs of this name, or the object itself; `ZeroOne` means the pair."""
    if isinstance(loss, str):
        if loss not in PAIR_LOSSES:
            raise ValueError(
                f"unknown loss {loss!r} on (label, choice) pairs; names are "
                f"{', '.join(PAIR_LOSSES)}, and a loss on labels alone is LabelOnly({loss!r})"
            )
        return PAIR_LOSSES[loss]()
    if isinstance(loss, ZeroOne):
        return PairZeroOne()
    if isinstance(loss, LabelLoss):
        raise TypeError(
            f"{type(loss).__name__} is a loss on labels; use LabelOnly({type(loss).__name__}(...)) "
            "to be blind to the choice"
        )
    if not isinstance(loss, PairLoss):
        raise TypeError(
            f"loss must be a name or a loss on (label, choice) pairs, got {type(loss).__name__}"
        )
    return clone(loss)


def iou(a: Any, b: Any) -> np.ndarray:
    """Intersection over union of every box of `a` with every box of `b`, ``(n_a, n_b)``.

    Boxes are rows ``x1, y1, x2, y2`` with ``x1 <= x2`` and ``y1 <= y2``. Two boxes without area
    overlap fully if they are the same, else not at all.

    Examples
    --------
    >>> import concordant as cc
    >>> boxes = [[0, 0, 2, 2], [1, 0, 3, 2], [5, 5, 6, 6]]
    >>> cc.features.iou([[0, 0, 2, 2]], boxes).round(3)  # also cc.losses.iou
    array([[1.   , 0.333, 0.   ]])
    """
    a, b = check_boxes(a, "a"), check_boxes(b, "b")
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.maximum(high - low, 0.0).prod(axis=2)
    union = areas(a)[:, None] + areas(b) - shared
    same = (a[:, None] == b).all(axis=2)
    return np.where(union > 0.0, shared / np.where(union > 0.0, union, 1.0), same)


def areas(boxes: np.ndarray) -> np.ndarray:
    """The area of each box."""
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def check_boxes(boxes: Any, name: str = "boxes", area: bool = False) -> np.ndarray:
    """Finite boxes, ``(m, 4)``, or an error that names the first bad one; with `area` they must
    have some."""
    try:
        boxes = np.array(boxes, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error
    boxes = boxes.reshape(0, 4) if boxes.shape == (0,) else boxes
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"{name} must have shape (m, 4): x1, y1, x2, y2; got {boxes.shape}")
    bad = ~np.isfinite(boxes).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"box {row} of {name} is not finite: {boxes[row].tolist()}")
    bad = (boxes[:, 2:] < boxes[:, :2]).any(axis=1)
    if area:
        bad |= (boxes[:, 2:] <= boxes[:, :2]).any(axis=1)
    if bad.any():
        row = int(bad.argmax())
        wrong, sign = ("has no area", "<") if area else ("is inside out", "<=")
        raise ValueError(
            f"box {row} of {name} {wrong}: x1, y1, x2, y2 = {boxes[row].tolist()} needs "
            f"x1 {sign} x2 and y1 {sign} y2"
        )
    return boxes
