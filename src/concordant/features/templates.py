"""CRF++ feature templates: lines of macros that read columns of data near a token."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_MACRO = re.compile(r"%x\[\s*(-?\d+)\s*,\s*(\d+)\s*\]")


class CrfppTemplate:
    r"""Features of tokens by the rules of a CRF++ template file.

    ``U...`` lines are features of a token, ``B...`` lines of a pair of neighbouring labels, and
    ``%x[row,column]`` stands for the column of the token at that distance; beyond the ends it reads
    ``_B-1``, ``_B+1`` and so on. A line ``B`` alone is the plain transition between labels, which
    a `SequenceLabeler` always has; other ``B`` lines are features of steps, which it takes from
    ``concordant.Sequence(template(rows), template.pairs(rows))``.

    Parameters
    ----------
    text : str
        The template itself.

    Examples
    --------
    >>> from concordant.features import CrfppTemplate
    >>> template = CrfppTemplate("U00:%x[0,0]\nU01:%x[-1,0]/%x[0,1]\nB")
    >>> template([("The", "DT"), ("cat", "NN")])
    [['U00:The', 'U01:_B-1/DT'], ['U00:cat', 'U01:The/NN']]
    """

    def __init__(self, text: str):
        self.text = text
        self.unigrams: list[str] = []
        self.bigrams: list[str] = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            if "%x" in _MACRO.sub("", line) or line[0] not in "UB":
                raise ValueError(f"line {number} of the template, {line!r}, is not a CRF++ feature")
            (self.unigrams if line[0] == "U" else self.bigrams).append(line)
        self._rules = [_compile(line) for line in self.unigrams]
        self._pair_rules = [_compile(line) for line in self.bigrams if "%x" in line]

    @classmethod
    def read(cls, path: Any) -> CrfppTemplate:
        """The template in a file."""
        return cls(Path(path).read_text(encoding="utf-8"))

    @property
    def has_pair_features(self) -> bool:
        """Whether transitions depend on the tokens."""
        return bool(self._pair_rules)

    def __call__(self, rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """Features of the tokens of one sequence, given as rows of columns."""
        return self._apply(self._rules, rows)

    def pairs(self, rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """Features of every token's transition from the token before it, from the second on."""
        return self._apply(self._pair_rules, rows)[1:]

    @staticmethod
    def _apply(rules: list[Callable[..., list[str]]], rows: Sequence[Sequence[str]]) -> Any:
        cache: dict[tuple[int, int], list[str]] = {}
        columns = [rule(rows, cache) for rule in rules]
        return [list(features) for features in zip(*columns)] if rules else [[] for _ in rows]


def _shifted(
    rows: Sequence[Sequence[str]], by: int, column: int, cache: dict[tuple[int, int], list[str]]
) -> list[str]:
    """A column moved by some rows, padded as CRF++ does."""
    if (by, column) not in cache:
        n = len(rows)
        try:
            values = [row[column] for row in rows]
        except IndexError:
            raise ValueError(f"the template reads column {column}, a token has fewer") from None
        if by < 0:
            pad = [f"_B{i}" for i in range(by, 0)]
            values = (pad + values)[:n]
        elif by > 0:
            pad = [f"_B+{i}" for i in range(1, by + 1)]
            values = (values + pad)[-n:] if n else []
        cache[by, column] = values
    return cache[by, column]


def _compile(line: str) -> Callable[..., list[str]]:
    """A function from rows to one feature a token."""
    places = [(int(row), int(column)) for row, column in _MACRO.findall(line)]
    form = _MACRO.sub("%s", line.replace("%x", "\0").replace("%", "%%").replace("\0", "%x"))

    def rule(rows: Any, cache: dict[tuple[int, int], list[str]]) -> list[str]:
        if not places:
            return [line] * len(rows)
        columns = [_shifted(rows, by, column, cache) for by, column in places]
        return [form % values for values in zip(*columns)]

    return rule
