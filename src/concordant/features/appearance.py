"""What boxes show: colour and texture histograms, how far apart they are, and how boxes move.

Images are (height, width, channels) or (height, width) arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.features.boxes import check_boxes

#: Texture codes: 0 to 8 bits set in a circle with at most two changes, and everything else.
PATTERNS = 10


def _channels(image: Any) -> np.ndarray:
    image = np.asarray(image)
    if image.ndim == 2:
        image = image[:, :, None]
    if image.ndim != 3 or 0 in image.shape:
        raise ValueError(f"an image must be (height, width[, channels]), got {image.shape}")
    return image


def _uniform_codes() -> np.ndarray:
    """Code of each of the 256 patterns of eight neighbours, the same when turned."""
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    changes = (bits != np.roll(bits, 1, axis=1)).sum(axis=1)
    return np.where(changes <= 2, bits.sum(axis=1), PATTERNS - 1).astype(np.uint8)


def local_binary_patterns(image: Any) -> np.ndarray:
    """Texture code of every pixel and channel: which of its eight neighbours are as bright.

    The rotation-invariant uniform codes 0..9 of Ojala et al. (2002), radius 1; pixels outside
    repeat the border.

    Examples
    --------
    >>> import numpy as np
    >>> from concordant.features import local_binary_patterns
    >>> local_binary_patterns(np.ones((2, 2)))[:, :, 0]  # all neighbours are as bright
    array([[8, 8],
           [8, 8]], dtype=uint8)
    """
    image = _channels(image)
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge")
    h, w, _ = image.shape
    circle = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
    pattern = np.zeros(image.shape, np.uint8)
    for bit, (y, x) in enumerate(circle):
        pattern |= (padded[y : y + h, x : x + w] >= image).astype(np.uint8) << np.uint8(bit)
    return _uniform_codes()[pattern]


def box_histograms(codes: Any, boxes: Any, bins: int, strips: int = 7) -> np.ndarray:
    """Histograms of integer codes 0..bins-1 in horizontal strips of each box.

    Returns (n, strips, channels, bins), each adding up to one, or to zero outside the image.

    Examples
    --------
    >>> import numpy as np
    >>> from concordant.features import box_histograms
    >>> box_histograms(np.array([[0, 1], [1, 1]]), [[0, 0, 2, 2]], bins=2, strips=2)[0, :, 0]
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    codes, boxes = _channels(codes), check_boxes(boxes)
    height, width, channels = codes.shape
    out = np.zeros((len(boxes), strips, channels, bins))
    for i, (x1, y1, x2, y2) in enumerate(boxes):
        left, right = np.clip(np.round([x1, x2]).astype(int), 0, width)
        edges = np.clip(np.round(np.linspace(y1, y2, strips + 1)).astype(int), 0, height)
        for s in range(strips):
            patch = codes[edges[s] : edges[s + 1], left:right]
            if patch.size:
                for c in range(channels):
                    count = np.bincount(patch[:, :, c].ravel(), minlength=bins)
                    out[i, s, c] = count[:bins] / patch[:, :, c].size
    return out


def bhattacharyya(a: Any, b: Any) -> np.ndarray:
    """Bhattacharyya distance of every histogram of `a` (n, ..., bins) to every one of `b`.

    ``sqrt(1 - sum sqrt(a b))``, between 0 and 1: (n, m, ...).

    Examples
    --------
    >>> from concordant.features import bhattacharyya
    >>> bhattacharyya([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([[0.   , 0.541]])
    """
    a, b = np.sqrt(np.asarray(a, dtype=float)), np.sqrt(np.asarray(b, dtype=float))
    overlap = np.einsum("i...k,j...k->ij...", a, b)
    return np.sqrt(np.clip(1.0 - overlap, 0.0, 1.0))


def block_motion(image: Any, following: Any, boxes: Any, reach: int = 16) -> np.ndarray:
    """Shift (x, y) of each box at which the next image looks most like it.

    Block matching of grey values over shifts of up to `reach` pixels: mean square difference,
    first on a coarse grid, then pixel by pixel around its best place.

    Examples
    --------
    >>> import numpy as np
    >>> from concordant.features import block_motion
    >>> image = np.random.default_rng(0).uniform(size=(40, 40))
    >>> block_motion(image, np.roll(image, 4, axis=1), [[10, 10, 20, 20]])
    array([[4., 0.]])
    """
    grey, after = (_channels(each).mean(axis=2, dtype=np.float32) for each in (image, following))
    if grey.shape != after.shape:
        raise ValueError(f"images differ in size: {grey.shape} and {after.shape}")
    boxes = check_boxes(boxes)
    out = np.zeros((len(boxes), 2))
    coarse = np.arange(-reach, reach + 1, 4)
    for i, box in enumerate(boxes):
        around = [(y, x) for y in coarse for x in coarse]
        y, x = _best_shift(grey, after, box, around, 2)
        near = [(y + b, x + a) for b in range(-3, 4) for a in range(-3, 4)]
        y, x = _best_shift(grey, after, box, near, 1)
        out[i] = x, y
    return out


def _best_shift(
    grey: np.ndarray, after: np.ndarray, box: np.ndarray, shifts: list[Any], step: int
) -> tuple[int, int]:
    """The shift (y, x) with the least mean square difference; the shortest of equals."""
    height, width = grey.shape
    x1, y1, x2, y2 = np.round(box).astype(int)
    best = (np.inf, np.inf, 0, 0)
    for y, x in shifts:
        top, bottom = max(y1, 0, -y), min(y2, height, height - y)
        left, right = max(x1, 0, -x), min(x2, width, width - x)
        if bottom <= top or right <= left:
            continue
        here = grey[top:bottom:step, left:right:step]
        there = after[top + y : bottom + y : step, left + x : right + x : step]
        difference = here - there
        best = min(best, (float(np.mean(difference * difference)), x * x + y * y, y, x))
    return int(best[2]), int(best[3])
