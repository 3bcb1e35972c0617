r"""CRFsuite's text files: a line a token, its label first, then attributes between tabs.

An attribute is ``name`` or ``name:value``; ``\:`` and ``\\`` in a name stand for the characters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from concordant.io.conll import open_text

_SPLIT = re.compile(r"(?<!\\)((?:\\\\)*):")


def read_crfsuite(path: Any) -> tuple[list[list[dict[str, float]]], list[list[str]]]:
    """Sequences of feature dictionaries, and their labels.

    Examples
    --------
    >>> from concordant.io import read_crfsuite, write_crfsuite
    >>> path = getfixture("tmp_path") / "data.txt"
    >>> write_crfsuite(path, [[["w=The"], {"w=cat": 1.0, "size": 0.5}]], [["DT", "NN"]])
    >>> read_crfsuite(path)
    ([[{'w=The': 1.0}, {'w=cat': 1.0, 'size': 0.5}]], [['DT', 'NN']])
    """
    X: list[list[dict[str, float]]] = [[]]
    y: list[list[str]] = [[]]
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            fields = line.rstrip("\r\n").split("\t")
            if fields == [""]:
                if X[-1]:
                    X.append([])
                    y.append([])
                continue
            if fields[0] in ("@bos", "@eos", "@BOS", "@EOS"):
                continue
            token: dict[str, float] = {}
            for field in fields[1:]:
                if field:
                    name, value = _attribute(field, path, number)
                    token[name] = token.get(name, 0.0) + value
            X[-1].append(token)
            y[-1].append(_plain(fields[0]))
    if not X[-1]:
        X.pop()
        y.pop()
    return X, y


def _attribute(field: str, path: Any, number: int) -> tuple[str, float]:
    found = _SPLIT.search(field)
    if found is None:
        return _plain(field), 1.0
    name, value = field[: found.end() - 1], field[found.end() :]
    try:
        number_ = float(value)
    except ValueError:
        number_ = math.nan
    if not math.isfinite(number_):
        raise ValueError(f"{path}, line {number}: {value!r} in {field!r} is not a finite number")
    return _plain(name), number_


def _plain(text: str) -> str:
    return re.sub(r"\\([:\\])", r"\1", text)


def _escaped(text: str) -> str:
    if "\t" in text or "\n" in text:
        raise ValueError(f"{text!r} has a tab or a line break, which the format cannot hold")
    return text.replace("\\", "\\\\").replace(":", "\\:")


def write_crfsuite(path: Any, X: Iterable[Sequence[Any]], y: Iterable[Sequence[str]]) -> None:
    """Write feature dictionaries or lists of strings and labels as `read_crfsuite` reads them."""
    from concordant.features.strings import token_features

    with open_text(path, "w") as file:
        for i, (sequence, labels) in enumerate(zip(X, y, strict=True)):
            if len(sequence) != len(labels):
                raise ValueError(f"sequence {i} has {len(sequence)} tokens, {len(labels)} labels")
            for t, (token, label) in enumerate(zip(sequence, labels)):
                fields = [_escaped(str(label))]
                for name, value in token_features(token, i, t):
                    fields.append(_escaped(name) + ("" if value == 1.0 else f":{value!r}"))
                file.write("\t".join(fields) + "\n")
            file.write("\n")
