"""Features of pairs of boxes in two frames, as `Matcher` takes them.

The features are those of Kim et al. (2012), which Fathony's thesis (section 4.4.1) takes over:
overlap, distance of centres, colour and texture histograms in strips of the box, motion. The
last one asks how far the second box is from where the first one seems to have moved.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from concordant.features import appearance as look
from concordant.features import boxes as place

COLOURS = 16


class Frame:
    """Boxes of one image and what they show, worked out once.

    Parameters
    ----------
    boxes : array-like of shape (n, 4)
        Rows x1, y1, x2, y2.
    image : array-like of shape (height, width[, channels]), default=None
        Values 0..255. Without it there are no features of appearance and motion.
    strips : int, default=7
        Horizontal strips of a box with a histogram each.
    """

    def __init__(self, boxes: Any, image: Any = None, strips: int = 7):
        self.boxes = place.check_boxes(boxes)
        self.image = None if image is None else np.asarray(image)
        self.strips = strips

    @cached_property
    def colours(self) -> np.ndarray:
        """(n, strips, channels, 16) histograms of the channels' values."""
        codes = np.asarray(self.image, dtype=np.uint8) // (256 // COLOURS)
        return look.box_histograms(codes, self.boxes, COLOURS, self.strips)

    @cached_property
    def textures(self) -> np.ndarray:
        """(n, strips, channels, 10) histograms of local binary patterns."""
        codes = look.local_binary_patterns(self.image)
        return look.box_histograms(codes, self.boxes, look.PATTERNS, self.strips)


def frame_pairs(before: Frame, after: Frame, reach: int = 16) -> np.ndarray:
    """Features (n, m, d) of every pair of boxes, in the order of `pair_names`.

    Examples
    --------
    >>> from concordant.features import Frame, frame_pairs
    >>> frame_pairs(Frame([[0, 0, 2, 2]]), Frame([[0, 0, 2, 2], [1, 0, 3, 2]])).round(2)
    array([[[1.  , 0.  , 1.  ],
            [0.33, 0.5 , 1.  ]]])
    """
    a, b = before.boxes, after.boxes
    plain = [place.iou(a, b), place.centre_distance(a, b), place.size_ratio(a, b)]
    out = [each[:, :, None] for each in plain]
    if before.image is not None and after.image is not None:
        n, m = len(a), len(b)
        for one, other in ((before.colours, after.colours), (before.textures, after.textures)):
            apart = look.bhattacharyya(one, other)
            out.append(apart.reshape(n, m, int(np.prod(apart.shape[2:]))))
        shifts = look.block_motion(before.image, after.image, a, reach)
        out.append(place.centre_distance(place.move(a, shifts), b)[:, :, None])
    return np.concatenate(out, axis=2)


def pair_names(strips: int = 7, channels: int = 3, images: bool = True) -> list[str]:
    """Names of the features of `frame_pairs`."""
    names = ["overlap", "centre distance", "size ratio"]
    if images:
        for kind in ("colour", "texture"):
            names += [f"{kind} {s}.{c}" for s in range(strips) for c in range(channels)]
        names.append("motion")
    return names


def double_nodes(pairs: Any, answer: Any, half: int) -> tuple[np.ndarray, np.ndarray]:
    """The published square form of a partial assignment: 2 * half rows and as many columns.

    Behind the n objects of the first frame stand nodes that stand for nothing, and so in the
    second; three more features say that a pair means leaving, entering or staying absent.
    `Matcher` needs none of this: it lets objects stay alone.

    Parameters
    ----------
    pairs : ndarray of shape (n, m, d)
    answer : (n,) int array
        The column of each row, -1 for objects that leave.
    half : int
        At least n and m: the most objects of any frame.

    Returns
    -------
    pairs : ndarray of shape (2 * half, 2 * half, d + 3)
    answer : ndarray of shape (2 * half,)
        Nodes that stand for nothing take the free columns in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from concordant.features import double_nodes
    >>> pairs, answer = double_nodes(np.ones((1, 2, 1)), [1], 2)
    >>> pairs.shape, answer
    ((4, 4, 4), array([1, 0, 2, 3]))
    """
    pairs, answer = np.asarray(pairs, dtype=float), np.asarray(answer)
    n, m, d = pairs.shape
    if max(n, m) > half:
        raise ValueError(f"half={half} is less than the {max(n, m)} objects of a frame")
    size = 2 * half
    out = np.zeros((size, size, d + 3))
    out[:n, :m, :d] = pairs
    out[:n, m:, d] = 1.0
    out[n:, :m, d + 1] = 1.0
    out[n:, m:, d + 2] = 1.0
    doubled = np.full(size, -1)
    doubled[:n] = answer
    # Objects that enter are met by the first nodes for nothing, objects that leave take the
    # first columns for nothing.
    free = np.setdiff1d(np.arange(size), answer[answer >= 0])
    leaving = np.flatnonzero(answer < 0)
    places = free[free >= m][: len(leaving)]
    doubled[leaving] = places
    doubled[n:] = np.setdiff1d(free, places)
    return out, doubled
