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


@pytest.mark.parametrize("what", ["Cortez", "CC BY 4.0", "10.24432/C56S3T"])
def test_source_and_licence_come_with_the_data(what):
    assert what in cc.datasets.load_redwine().DESCR
    assert what in FOLDER.joinpath("README.md").read_text(encoding="utf-8")


def test_every_file_is_documented_with_its_checksum():
    documented = FOLDER.joinpath("README.md").read_text(encoding="utf-8")
    pattern = r"^## (\S+)$.*?\*\*SHA-256\*\*: `([0-9a-f]{64})`"
    checksums = dict(re.findall(pattern, documented, flags=re.S | re.M))
    tables = {f.name: f.read_bytes() for f in FOLDER.iterdir() if f.name.endswith(".gz")}
    assert tables
    assert {name: hashlib.sha256(raw).hexdigest() for name, raw in tables.items()} == checksums
