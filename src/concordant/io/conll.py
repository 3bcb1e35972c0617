"""Columns of tokens in text files: one token a line, a blank line between sequences."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def open_text(path: Any, mode: str = "r") -> Any:
    """A text file in UTF-8, packed by gzip if its name ends with .gz."""
    if str(path).endswith(".gz"):
        return gzip.open(path, mode + "t", encoding="utf-8")
    return Path(path).open(mode, encoding="utf-8")


def read_conll(
    path: Any, *, separator: str | None = None, comment: str | None = None
) -> list[list[tuple[str, ...]]]:
    """Sequences of tokens, each token a tuple of its columns.

    Parameters
    ----------
    path : str or path
        A .gz file is unpacked on the way.
    separator : str, default=None
        What stands between columns; by default any white space.
    comment : str, default=None
        Lines that begin so are left out, such as "# " in CoNLL-U.

    Returns
    -------
    list of list of tuple
        ``-DOCSTART-`` lines are left out. Lines of CoNLL-U that are no tokens (ranges ``3-4`` and
        empty nodes ``3.1``) are left out if a `comment` is given.

    Examples
    --------
    >>> from concordant.io import read_conll, write_conll
    >>> path = getfixture("tmp_path") / "tokens.txt"
    >>> write_conll(path, [[("The", "DT"), ("cat", "NN")], [("Hm", "UH")]])
    >>> read_conll(path)
    [[('The', 'DT'), ('cat', 'NN')], [('Hm', 'UH')]]
    """
    sequences: list[list[tuple[str, ...]]] = []
    current: list[tuple[str, ...]] = []
    width = 0
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\r\n")
            if not line.strip():
                if current:
                    sequences.append(current)
                current = []
                continue
            if line.startswith("-DOCSTART-") or (comment is not None and line.startswith(comment)):
                continue
            token = tuple(line.split(separator))
            if comment is not None and not token[0].isdigit() and token[0][:1].isdigit():
                continue
            width = width or len(token)
            if len(token) != width:
                raise ValueError(
                    f"{path}, line {number}: {len(token)} columns, the lines before have {width}"
                )
            current.append(token)
    if current:
        sequences.append(current)
    return sequences


def write_conll(
    path: Any, sequences: Iterable[Iterable[Sequence[str]]], *, separator: str = " "
) -> None:
    """Write sequences of tokens as `read_conll` reads them."""
    with open_text(path, "w") as file:
        for i, sequence in enumerate(sequences):
            for token in sequence:
                for column in token:
                    if not column or column != "".join(column.split()):
                        raise ValueError(
                            f"sequence {i}: the column {column!r} is empty or has white space"
                        )
                file.write(separator.join(token) + "\n")
            file.write("\n")
