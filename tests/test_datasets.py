"""The bundled data are what their documentation says."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files

import numpy as np
import pytest

import concordant as cc

FOLDER = files("concordant").joinpath("data")


def test_redwine_is_the_published_table():
    wine = cc.datasets.load_redwine()
    assert wine.data.shape == (1599, 11)
    assert wine.data.dtype == np.float64
    assert np.isfinite(wine.data).all()
    assert np.issubdtype(wine.target.dtype, np.integer)
    # first row and counts of the grades as in the UCI file
    first = [7.4, 0.7, 0.0, 1.9, 0.076, 11.0, 34.0, 0.9978, 3.51, 0.56, 9.4]
    assert wine.data[0].tolist() == first
    assert wine.target[0] == 5
    grades, counts = np.unique(wine.target, return_counts=True)
    assert grades.tolist() == wine.target_names.tolist() == [3, 4, 5, 6, 7, 8]
    assert counts.tolist() == [10, 53, 681, 638, 199, 18]
    assert len(wine.feature_names) == 11
    assert wine.feature_names[0] == "fixed_acidity"
    assert wine.feature_names[-1] == "alcohol"


def test_arrays_and_frame_hold_the_same():
    X, y = cc.datasets.load_redwine(return_X_y=True)
    wine = cc.datasets.load_redwine(as_frame=True)
    assert list(wine.frame.columns) == [*wine.feature_names, "target"]
    np.testing.assert_array_equal(wine.data.to_numpy(), X)
    np.testing.assert_array_equal(wine.target.to_numpy(), y)
    frame, grades = cc.datasets.load_redwine(return_X_y=True, as_frame=True)
    assert list(frame.columns) == wine.feature_names
    assert grades.name == "target"
    assert cc.datasets.load_redwine().frame is None


def test_changing_what_was_loaded_changes_nothing_for_the_next():
    X, y = cc.datasets.load_redwine(return_X_y=True)
    X[:], y[:] = 0.0, 0
    again = cc.datasets.load_redwine()
    assert again.data[0, 0] == 7.4
    assert again.target[0] == 5


def test_vertebral_is_the_published_table():
    spine = cc.datasets.load_vertebral(as_frame=True)
    assert spine.data.shape == (310, 6)
    first = [63.0278175, 22.55258597, 39.60911701, 40.47523153, 98.67291675, -0.254399986]
    assert spine.data.iloc[0].tolist() == first
    assert spine.target.value_counts().to_dict() == {
        "Spondylolisthesis": 150,
        "Normal": 100,
        "Hernia": 60,
    }


def test_webtags_are_sentences():
    web = cc.datasets.load_webtags()
    assert len(web.words) == len(web.tags) == 383
    assert all(5 <= len(w) == len(t) <= 25 for w, t in zip(web.words, web.tags))
    assert {"NN", "VBZ", "DT", "."} < set(web.target_names.tolist())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("redwine", ["Cortez", "CC BY 4.0", "10.24432/C56S3T"]),
        ("vertebral", ["Barreto", "CC BY 4.0", "10.24432/C5K89B"]),
        ("webtags", ["Silveira", "CC BY-SA 4.0", "UD_English-EWT"]),
    ],
)
def test_source_and_licence_come_with_the_data(name, words):
    readme = " ".join(FOLDER.joinpath("README.md").read_text(encoding="utf-8").split())
    for word in words:
        assert word in getattr(cc.datasets, f"load_{name}")().DESCR
        assert word in readme


def test_every_file_is_documented_with_its_checksum():
    documented = FOLDER.joinpath("README.md").read_text(encoding="utf-8")
    pattern = r"^## (\S+)$.*?\*\*SHA-256\*\*: `([0-9a-f]{64})`"
    checksums = dict(re.findall(pattern, documented, flags=re.S | re.M))
    tables = {f.name: f.read_bytes() for f in FOLDER.iterdir() if f.name.endswith(".gz")}
    assert tables
    assert {name: hashlib.sha256(raw).hexdigest() for name, raw in tables.items()} == checksums


@pytest.mark.parametrize("seed", range(3))
def test_generators_give_what_they_say_and_repeat(seed):
    X, y = cc.datasets.make_ordered(101, 3, 4, random_state=seed)
    assert X.shape == (101, 3)
    assert np.ptp(np.bincount(y, minlength=4)) <= 1
    X, y, proba = cc.datasets.make_uncertain(20_000, 4, random_state=seed)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    for label in range(4):  # drawn from these probabilities: within five standard errors
        error = np.sqrt((proba[:, label] * (1 - proba[:, label])).sum())
        assert abs((y == label).sum() - proba[:, label].sum()) < 5 * error
    X, y = cc.datasets.make_chains(200, 3, length=(1, 9), stay=0.7, random_state=seed)
    assert {len(labels) for labels in y} == set(range(1, 10))
    moves = np.concatenate([np.diff(labels) for labels in y])
    assert abs((moves == 0).mean() - 0.7) < 0.1
    X, y = cc.datasets.make_pairs(5, 4, noise=0.0, random_state=seed)
    for pairs, columns in zip(X, y):
        assert (pairs[np.arange(4), columns] == 0).all()
    again = cc.datasets.make_pairs(5, 4, noise=0.0, random_state=seed)
    np.testing.assert_array_equal(X, again[0])


@pytest.mark.parametrize(
    "call",
    [
        lambda: cc.datasets.make_ordered(3, 2, 5),
        lambda: cc.datasets.make_uncertain(0),
        lambda: cc.datasets.make_chains(length=(0, 3)),
        lambda: cc.datasets.make_chains(length=(3, 2)),
        lambda: cc.datasets.make_pairs(size=0),
    ],
)
def test_impossible_sizes_are_refused(call):
    with pytest.raises(ValueError, match="must be"):
        call()
