"""Named features, CRF++ templates, and files of sequences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from concordant.features import CrfppTemplate, encode_tokens
from concordant.io import read_conll, read_crfsuite, write_conll, write_crfsuite


def encoded(token: Any) -> dict[str, float]:
    names: dict[str, int] = {}
    x, _ = encode_tokens([[token]], names, grow=True)
    return {name: float(x[0, column]) for name, column in names.items()}


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (["a", "b"], {"a": 1.0, "b": 1.0}),
        (("a", "a"), {"a": 2.0}),
        ({"w": "The"}, {"w:The": 1.0}),
        ({"w": 2, "x": 0.5, "y": True, "z": False}, {"w": 2.0, "x": 0.5, "y": 1.0, "z": 0.0}),
        ({"s": ["p", "q"]}, {"s:p": 1.0, "s:q": 1.0}),
        ({"s": {"q", "p"}}, {"s:p": 1.0, "s:q": 1.0}),
        ({"n": {"a": "b", "c": 2.0}}, {"n:a:b": 1.0, "n:c": 2.0}),
        ({}, {}),
    ],
)
def test_tokens_are_read_as_crfsuite_reads_them(token: Any, expected: dict[str, float]) -> None:
    assert encoded(token) == expected
    crfsuite = pytest.importorskip("pycrfsuite")
    theirs = crfsuite.ItemSequence([list(token) if isinstance(token, tuple) else token]).items()[0]
    if not isinstance(token, tuple):  # it merges equal names
        assert theirs == expected


def test_unknown_names_are_left_out_later() -> None:
    names: dict[str, int] = {}
    encode_tokens([[["a"], {"b": 2.0}]], names, grow=True)
    x, lengths = encode_tokens([[{"b": 3.0, "c": 1.0}, ["z"]], [["a"]]], names)
    assert names == {"a": 0, "b": 1}
    np.testing.assert_array_equal(x.toarray(), [[0.0, 3.0], [0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(lengths, [2, 1])


def test_templates_pad_and_join_as_crfpp_does() -> None:
    rows = [("He", "PRP"), ("reckons", "VBZ"), ("the", "DT")]
    text = """
    # Unigram
    U00:%x[-2,0]
    U01:%x[0,1]/%x[+1,1]
    U02:bias 100%
    U03:%x[2,0]
    # Bigram
    B
    B01:%x[0,0]
    """.replace("+1", "1")
    template = CrfppTemplate(text)
    assert template(rows) == [
        ["U00:_B-2", "U01:PRP/VBZ", "U02:bias 100%", "U03:the"],
        ["U00:_B-1", "U01:VBZ/DT", "U02:bias 100%", "U03:_B+1"],
        ["U00:He", "U01:DT/_B+1", "U02:bias 100%", "U03:_B+2"],
    ]
    assert template.has_pair_features
    assert template.pairs(rows) == [["B01:reckons"], ["B01:the"]]


@pytest.mark.parametrize("text", ["X00:%x[0,0]", "U00:%x[a,0]", "U00:%x[0]"])
def test_bad_templates_are_named(text: str) -> None:
    with pytest.raises(ValueError, match="line 1 of the template"):
        CrfppTemplate(text)
    with pytest.raises(ValueError, match="column 5"):
        CrfppTemplate("U00:%x[0,5]")([("a", "b")])


def test_conll_columns_there_and_back(tmp_path: Path) -> None:
    sequences = [[("a", "X"), ("b", "Y")], [("c", "Z")]]
    for name in ("plain.txt", "packed.txt.gz"):
        write_conll(tmp_path / name, sequences)
        assert read_conll(tmp_path / name) == sequences
    text = "-DOCSTART- O\n\n\na X\r\nb Y\n# note\n\n\nc Z"
    (tmp_path / "odd.txt").write_text(text)
    assert read_conll(tmp_path / "odd.txt", comment="# ") == sequences
    (tmp_path / "bad.txt").write_text("a X\nb\n")
    with pytest.raises(ValueError, match=r"bad.txt, line 2: 1 columns, the lines before have 2"):
        read_conll(tmp_path / "bad.txt")
    with pytest.raises(ValueError, match="sequence 0: the column 'a b'"):
        write_conll(tmp_path / "no.txt", [[("a b",)]])


def test_crfsuite_files_there_and_back(tmp_path: Path) -> None:
    X = [[["w:a", "b\\"], {"c:d": 0.25, "e": 1.0}], [{"f": "g"}]]
    y = [["B:x", "O"], ["O"]]
    write_crfsuite(tmp_path / "data.txt", X, y)
    read, labels = read_crfsuite(tmp_path / "data.txt")
    assert labels == y
    assert read == [[{"w:a": 1.0, "b\\": 1.0}, {"c:d": 0.25, "e": 1.0}], [{"f:g": 1.0}]]
    (tmp_path / "bad.txt").write_text("O\tw:x\n")
    with pytest.raises(ValueError, match=r"line 1: 'x' in 'w:x' is not a finite number"):
        read_crfsuite(tmp_path / "bad.txt")
