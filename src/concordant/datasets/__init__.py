"""Data: small sets that come with the library, generators, and larger sets to fetch.

Bundled sets are freely licensed; sources and licences stand beside the files, in
``data/README.md``, and in ``DESCR``.
"""

from __future__ import annotations

import gzip
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from concordant.datasets.clutter import make_cluttered_digits
from concordant.datasets.fetch import fetch_basenp, fetch_conll2000, fetch_movielens
from concordant.datasets.synthetic import make_chains, make_ordered, make_pairs, make_uncertain

__all__ = [
    "fetch_basenp",
    "fetch_conll2000",
    "fetch_movielens",
    "load_redwine",
    "load_vertebral",
    "load_webtags",
    "make_chains",
    "make_cluttered_digits",
    "make_ordered",
    "make_pairs",
    "make_uncertain",
]

_REDWINE = """Red wine quality.

1,599 red vinho verde wines from Portugal: 11 physicochemical measurements, and the grade given
by tasters (scale 0 to 10, grades 3 to 8 occur). Grades are ordered, so the natural loss is the
absolute distance between them.

Source: P. Cortez, A. Cerdeira, F. Almeida, T. Matos and J. Reis, Wine Quality, UCI Machine
Learning Repository, 2009, doi:10.24432/C56S3T; described in Modeling wine preferences by data
mining from physicochemical properties, Decision Support Systems 47(4), 547-553, 2009.
Licence: CC BY 4.0 (Creative Commons Attribution 4.0 International).
"""

_VERTEBRAL = """Vertebral column.

310 patients: six biomechanical angles and distances of the pelvis and the lumbar spine, and the
diagnosis: normal (100), disk hernia (60) or spondylolisthesis (150).

Source: G. Barreto and A. Neto, Vertebral Column, UCI Machine Learning Repository, 2005,
doi:10.24432/C5K89B.
Licence: CC BY 4.0 (Creative Commons Attribution 4.0 International).
"""

_WEBTAGS = """Part-of-speech tags of English from the web.

383 sentences of reviews, of 5 to 25 tokens, each token with its Penn tag.

Source: English Web Treebank; words from Universal Dependencies, UD_English-EWT (N. Silveira et al.,
A Gold Standard Dependency Corpus for English, LREC 2014), tags from the PropBank release.
Licence: CC BY-SA 4.0 (Creative Commons Attribution-ShareAlike 4.0 International).
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
    names, rows = _read("redwine.csv.gz")
    table = np.loadtxt(rows, delimiter=",", ndmin=2)
    target = table[:, -1].astype(np.int64)
    return _bunch(names[:-1], table[:, :-1], target, _REDWINE, return_X_y, as_frame)


def load_vertebral(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Vertebral column: 310 patients, 6 measurements, 3 diagnoses (Barreto and Neto 2005).

    Diagnoses are not ordered; mistakes cost differently, and asking a specialist is an answer too.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a `Bunch`.
    as_frame : bool, default=False
        A pandas dataframe and series instead of arrays.

    Returns
    -------
    Bunch
        As for `load_redwine`; ``target`` (310,) holds texts.

    Examples
    --------
    >>> import concordant as cc
    >>> cc.datasets.load_vertebral().target_names
    array(['Hernia', 'Normal', 'Spondylolisthesis'], dtype='<U17')
    """
    names, rows = _read("vertebral.csv.gz")
    cells = [row.split(",") for row in rows]
    data = np.array([[float(v) for v in row[:-1]] for row in cells])
    target = np.array([row[-1] for row in cells])
    return _bunch(names[:-1], data, target, _VERTEBRAL, return_X_y, as_frame)


def load_webtags() -> Bunch:
    """383 English sentences of reviews with part-of-speech tags (English Web Treebank).

    Returns
    -------
    Bunch
        ``words`` and ``tags``: lists with one list of texts a sentence; ``target_names``, the tags
        that occur; ``DESCR`` with source and licence (CC BY-SA 4.0).

    Examples
    --------
    >>> import concordant as cc
    >>> web = cc.datasets.load_webtags()
    >>> len(web.words), len(web.words[0]) == len(web.tags[0])
    (383, True)
    """
    first, rest = _read("webtags.txt.gz", separator="\t")
    sentences = [[first]]
    for line in rest:
        if line:
            sentences[-1].append(line.split("\t"))
        else:
            sentences.append([])
    words, tags = ([[token[i] for token in s] for s in sentences] for i in (0, 1))
    names = np.unique([tag for s in tags for tag in s])
    return Bunch(words=words, tags=tags, target_names=names, DESCR=_WEBTAGS)


def _bunch(
    names: list[str], data: Any, target: Any, story: str, return_X_y: bool, as_frame: bool
) -> Any:
    data, labels, frame = np.ascontiguousarray(data), np.unique(target), None
    if as_frame:
        import pandas as pd

        frame = pd.DataFrame(data, columns=names).assign(target=target)
        data, target = frame[names], frame["target"]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=names,
        target_names=labels,
        DESCR=story,
    )


def _read(name: str, separator: str = ",") -> tuple[list[str], list[str]]:
    """First line of a bundled text in its cells, and the other lines."""
    packed = files("concordant").joinpath("data", name).read_bytes()
    header, *rows = gzip.decompress(packed).decode("utf-8").splitlines()
    return header.split(separator), rows
