"""Small, freely licensed data sets that come with the library.

Sources and licences stand beside the files, in ``data/README.md``, and in ``DESCR``.
"""

from __future__ import annotations

import gzip
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from concordant.datasets.synthetic import make_chains, make_ordered, make_pairs, make_uncertain

__all__ = ["load_redwine", "make_chains", "make_ordered", "make_pairs", "make_uncertain"]

_REDWINE = """Red wine quality.

1,599 red vinho verde wines from Portugal: 11 physicochemical measurements, and the grade given
by tasters (scale 0 to 10, grades 3 to 8 occur). Grades are ordered, so the natural loss is the
absolute distance between them.

Source: P. Cortez, A. Cerdeira, F. Almeida, T. Matos and J. Reis, Wine Quality, UCI Machine
Learning Repository, 2009, doi:10.24432/C56S3T; described in Modeling wine preferences by data
mining from physicochemical properties, Decision Support Systems 47(4), 547-553, 2009.
Licence: CC BY 4.0 (Creative Commons Attribution 4.0 International).
"""


def load_redwine(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Red wine quality: 1,599 wines, 11 measurements, grades 3 to 8 (Cortez et al. 2009).

    The grades are ordered, so the natural loss is ``"absolute"``.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a `Bunch`.
    as_frame : bool, default=False
        A pandas dataframe and series instead of arrays.

    Returns
    -------
    Bunch
        ``data`` (1599, 11), ``target`` (1599,) grades as integers, ``feature_names``,
        ``target_names`` the grades that occur, ``frame`` (None unless `as_frame`), ``DESCR`` with
        source and licence.

    Examples
    --------
    >>> import concordant as cc
    >>> wine = cc.datasets.load_redwine()
    >>> wine.data.shape
    (1599, 11)
    >>> wine.target_names
    array([3, 4, 5, 6, 7, 8])
    """
    names, table = _read("redwine.csv.gz")
    data: Any = np.ascontiguousarray(table[:, :-1])
    target: Any = table[:, -1].astype(np.int64)
    grades, frame = np.unique(target), None
    if as_frame:
        import pandas as pd

        frame = pd.DataFrame(data, columns=names[:-1]).assign(target=target)
        data, target = frame[names[:-1]], frame["target"]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=names[:-1],
        target_names=grades,
        DESCR=_REDWINE,
    )


def _read(name: str) -> tuple[list[str], np.ndarray]:
    """Column names and values of a bundled table of numbers."""
    packed = files("concordant").joinpath("data", name).read_bytes()
    header, *rows = gzip.decompress(packed).decode("ascii").splitlines()
    return header.split(","), np.loadtxt(rows, delimiter=",", ndmin=2)
