"""Features of box pairs against their definitions, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import features

Array = np.ndarray


def random_boxes(rng: np.random.Generator, n: int, size: int = 30) -> Array:
    low = rng.integers(0, size - 5, (n, 2))
    return np.c_[low, low + rng.integers(1, 6, (n, 2))].astype(float)


def test_overlap_counts_pixels() -> None:
    rng = np.random.default_rng(0)
    a, b = random_boxes(rng, 20), random_boxes(rng, 15)
    grid = np.zeros((2, 20, 40, 40), bool)
    for which, boxes in enumerate((a, b)):
        for i, (x1, y1, x2, y2) in enumerate(boxes.astype(int)):
            grid[which, i, y1:y2, x1:x2] = True
    found = features.iou(a, b)
    for i in range(20):
        for j in range(15):
            shared, union = (grid[0, i] & grid[1, j]).sum(), (grid[0, i] | grid[1, j]).sum()
            assert found[i, j] == pytest.approx(shared / union)
    assert (np.diag(features.iou(a, a)) == 1.0).all()


def test_boxes_without_area_and_bad_boxes() -> None:
    point = [[1, 1, 1, 1]]
    assert features.iou(point, point)[0, 0] == 1.0
    assert features.iou(point, [[2, 2, 2, 2]])[0, 0] == 0.0
    assert features.size_ratio(point, point)[0, 0] == 1.0
    assert np.isfinite(features.centre_distance(point, [[5, 5, 5, 5]])).all()
    assert features.iou(np.zeros((0, 4)), point).shape == (0, 1)
    assert features.iou([], point).shape == (0, 1)
    with pytest.raises(ValueError, match="box 1 of a"):
        features.iou([[0, 0, 1, 1], [2, 2, 1, 3]], point)
    with pytest.raises(ValueError, match=r"a must have shape \(m, 4\): x1, y1, x2, y2"):
        features.iou([[0, 0, 1]], point)


def test_centre_distance_and_size_ratio_do_not_depend_on_scale() -> None:
    rng = np.random.default_rng(1)
    a, b = random_boxes(rng, 5), random_boxes(rng, 4)
    for measure in (features.iou, features.centre_distance, features.size_ratio):
        np.testing.assert_allclose(measure(a, b), measure(3 * a, 3 * b))
        np.testing.assert_allclose(measure(a, b), measure(b, a).T)
    shifted = features.move(a, np.tile([2.0, -1.0], (5, 1)))
    np.testing.assert_allclose(shifted - a, np.tile([2.0, -1.0, 2.0, -1.0], (5, 1)))


def pattern_by_hand(image: Array, y: int, x: int) -> int:
    h, w = image.shape
    circle = [(-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1)]
    bits = []
    for dy, dx in circle:
        near = image[min(max(y + dy, 0), h - 1), min(max(x + dx, 0), w - 1)]
        bits.append(int(near >= image[y, x]))
    changes = sum(bits[k] != bits[k - 1] for k in range(8))
    return sum(bits) if changes <= 2 else 9


def test_textures_pixel_by_pixel() -> None:
    rng = np.random.default_rng(2)
    image = rng.integers(0, 4, (9, 7, 2))
    codes = features.local_binary_patterns(image)
    for c in range(2):
        expected = [[pattern_by_hand(image[:, :, c], y, x) for x in range(7)] for y in range(9)]
        np.testing.assert_array_equal(codes[:, :, c], expected)
    quarter = features.local_binary_patterns(np.rot90(image))
    np.testing.assert_array_equal(np.rot90(codes), quarter)  # the same when turned


def test_histograms_add_up_and_end_at_the_border() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 5, (20, 30, 3))
    boxes = [[2, 3, 12, 17], [25, 15, 40, 30], [50, 50, 60, 60]]
    found = features.box_histograms(codes, boxes, bins=5, strips=2)
    assert found.shape == (3, 2, 3, 5)
    patch = codes[3:10, 2:12, 1]
    np.testing.assert_allclose(found[0, 0, 1], [(patch == k).mean() for k in range(5)])
    np.testing.assert_allclose(found[1, 0].sum(axis=-1), 1.0)
    assert (found[2] == 0.0).all()


def test_bhattacharyya_is_a_distance_of_histograms() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.dirichlet(np.ones(6), (4, 2)), rng.dirichlet(np.ones(6), (3, 2))
    found = features.bhattacharyya(a, b)
    assert found.shape == (4, 3, 2)
    by_hand = np.sqrt(1.0 - np.sqrt(a[1, 0] * b[2, 0]).sum())
    assert found[1, 2, 0] == pytest.approx(by_hand)
    assert features.bhattacharyya([[1.0, 0.0]], [[0.0, 1.0]])[0, 0] == 1.0


def test_motion_finds_where_boxes_went() -> None:
    rng = np.random.default_rng(5)
    y, x = np.mgrid[:60, :80]
    image = sum(np.exp(-((y - a) ** 2 + (x - b) ** 2) / 30) for a, b in rng.uniform(5, 55, (25, 2)))
    for down, right in ((0, 0), (3, -5), (-7, 9)):
        after = np.roll(image, (down, right), axis=(0, 1))
        found = features.block_motion(image, after, [[25, 25, 40, 40]], reach=12)
        np.testing.assert_array_equal(found[0], [right, down])
    with pytest.raises(ValueError, match="differ in size"):
        features.block_motion(image, image[1:], [[0, 0, 1, 1]])


def test_frames_name_their_features() -> None:
    rng = np.random.default_rng(6)
    images = rng.integers(0, 256, (2, 40, 40, 3)).astype(np.uint8)
    frames = [features.Frame(random_boxes(rng, n), image) for n, image in zip((3, 2), images)]
    pairs = features.frame_pairs(*frames)
    assert pairs.shape == (3, 2, len(features.pair_names()))
    np.testing.assert_allclose(pairs[:, :, 0], features.iou(frames[0].boxes, frames[1].boxes))
    plain = features.frame_pairs(*[features.Frame(frame.boxes) for frame in frames])
    assert plain.shape[2] == len(features.pair_names(images=False))
    empty = features.frame_pairs(features.Frame([], images[0]), frames[1])
    assert empty.shape == (0, 2, pairs.shape[2])


def test_doubling_says_the_same_as_staying_alone() -> None:
    """The published square form has the same best answers for the boxes."""
    rng = np.random.default_rng(7)
    w, alone = rng.normal(size=3), -0.3
    for _ in range(50):
        n, m = rng.integers(1, 4, 2)
        pairs = rng.normal(size=(n, m, 3))
        batch = cc.Matcher().fit([rng.normal(size=(1, 1, 3))], [[-1]])
        batch.coef_, batch.unmatched_ = w, np.array([alone, alone])
        ours = batch.predict([pairs])[0]
        answer = np.full(n, -1)
        doubled, whole = features.double_nodes(pairs, answer, 3)
        assert sorted(whole) == list(range(6))
        square = cc.Matcher().fit([rng.normal(size=(1, 1, 6))], [[0]])
        square.coef_ = np.r_[w, alone, alone, 0.0]
        theirs = square.predict([doubled])[0][:n]
        np.testing.assert_array_equal(np.where(theirs < m, theirs, -1), ours)
        again, whole = features.double_nodes(pairs, ours, 3)
        np.testing.assert_array_equal(again, doubled)
        np.testing.assert_array_equal(np.where(whole[:n] < m, whole[:n], -1), ours)
    with pytest.raises(ValueError, match="half=1"):
        features.double_nodes(np.ones((2, 1, 1)), [0, -1], 1)
