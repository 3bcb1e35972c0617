"""Tokens described by named features, in the forms that CRFsuite takes.

A token is a list of strings, each a feature of value 1, or a dictionary. In a dictionary

- a number is the feature's value, and true and false are 1 and 0;
- a string makes a feature ``name:value`` of value 1;
- a list or set of strings makes one such feature each;
- a dictionary is read in the same way, its names prefixed with ``name:``.
"""

from __future__ import annotations

import math
import numbers
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, count, repeat
from typing import Any

import numpy as np
import scipy.sparse as sp

_PLAIN, _LISTS = {str}, {list, tuple}
#: What errors call a sequence and one of its tokens.
WORDS = ("sequence", "token")


def encode_tokens(
    sequences: Iterable[Sequence[Any]], vocabulary: dict[str, int], grow: bool = False,
    words: tuple[str, str] = WORDS,
) -> tuple[Any, np.ndarray]:  # fmt: skip
    """Feature matrix of all tokens, one sequence after another, and the sequences' lengths.

    Parameters
    ----------
    sequences : iterable of sequences of tokens
    vocabulary : dict
        Column of each name; names that it lacks are added if `grow`, else left out.
    grow : bool, default=False
    words : (str, str), default=("sequence", "token")
        What errors call a sequence and one of its tokens.

    Returns
    -------
    x : CSR matrix of shape (N, d)
        Of short integers where all values are 1.
    lengths : ndarray of shape (n,)

    Examples
    --------
    >>> from concordant.features import encode_tokens
    >>> names = {}
    >>> x, lengths = encode_tokens([[{"word": "The", "length": 3}, ["word:cat"]]], names, grow=True)
    >>> names
    {'word:The': 0, 'length': 1, 'word:cat': 2}
    >>> x.toarray(), lengths
    (array([[1., 3., 0.],
           [0., 0., 1.]]), array([2]))
    """
    indices, counts, lengths = array("i"), array("i"), array("q")
    values: array[float] | None = None  # made when the first value is not 1
    table = defaultdict(count(len(vocabulary)).__next__, vocabulary if grow else {})

    def look(names: Iterable[str]) -> Iterable[int]:  # by maps, which know no Python frames
        return map(table.__getitem__, names) if grow else map(vocabulary.get, names, repeat(-1))

    for i, sequence in enumerate(sequences):
        before = len(counts)
        plain = _all_names(sequence)
        if plain is not None:
            indices.extend(look(plain))
            counts.extend(map(len, sequence))
            if values is not None:
                values.extend([1.0] * len(plain))
        for t, token in enumerate(sequence if plain is None else ()):
            names, own = _token(token, i, t, words)
            indices.extend(look(names))
            counts.append(len(names))
            if own is not None and values is None and any(v != 1.0 for v in own):
                values = array("d", [1.0]) * (len(indices) - len(own))
            if values is not None:
                values.extend([1.0] * len(names) if own is None else own)
        lengths.append(len(counts) - before)
    if grow:
        vocabulary.update(table)
    # Copies: a view of an `array` forbids it to grow, and would be read-only to others.
    columns = np.array(indices, dtype=np.int32)
    data = np.ones(len(columns), np.uint16) if values is None else np.array(values)
    indptr = np.concatenate([[0], np.cumsum(np.frombuffer(counts, np.int32), dtype=np.int64)])
    known = columns >= 0
    if not known.all():
        indptr = np.concatenate([[0], np.cumsum(known)])[indptr]
        columns, data = columns[known], data[known]
    x = sp.csr_matrix((data, columns, indptr), shape=(len(counts), len(vocabulary)))
    return x, np.array(lengths, dtype=np.int64)


def _all_names(sequence: Sequence[Any]) -> list[str] | None:
    """The names of all tokens, one after another, where each is a list of strings."""
    if set(map(type, sequence)) - _LISTS:
        return None
    names = list(chain.from_iterable(sequence))
    return None if set(map(type, names)) - _PLAIN else names


def _token(
    token: Any, i: int, t: int, words: tuple[str, str]
) -> tuple[Sequence[str], list[float] | None]:
    """Names of a token's features, and values if it gives them."""
    if isinstance(token, dict):
        return _read(token, i, t, words)
    return _strings(token, i, t, words), None


def token_features(token: Any, i: int, t: int) -> list[tuple[str, float]]:
    """Names and values of one token's features; i and t name it in errors."""
    if isinstance(token, dict):
        return list(zip(*_read(token, i, t)))
    return [(name, 1.0) for name in _strings(token, i, t)]


def _place(i: int, t: int, words: tuple[str, str]) -> str:
    return f"{words[0]} {i}, {words[1]} {t}"


def _strings(token: Any, i: int, t: int, words: tuple[str, str] = WORDS) -> Sequence[str]:
    if isinstance(token, (str, bytes)) or not isinstance(token, Iterable):
        raise TypeError(
            f"{_place(i, t, words)} must be a dictionary or a list of strings, got {token!r}"
        )
    names = token if isinstance(token, (list, tuple)) else list(token)
    if set(map(type, names)) - _PLAIN:  # the quick way to see that all are strings
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"{_place(i, t, words)}: feature {name!r} is not a string")
    return names


def _read(
    token: dict[Any, Any], i: int, t: int, words: tuple[str, str] = WORDS
) -> tuple[list[str], list[float]]:
    names: list[str] = []
    values: list[float] = []

    def read(prefix: str, given: dict[Any, Any]) -> None:
        for key, value in given.items():
            name = f"{prefix}{key}"
            if isinstance(value, str):
                names.append(f"{name}:{value}")
                values.append(1.0)
            elif isinstance(value, (bool, np.bool_, numbers.Real)):
                number = float(value)
                if not math.isfinite(number):
                    raise ValueError(
                        f"{_place(i, t, words)}: feature {name!r} is {number}; "
                        "leave out what is not known"
                    )
                names.append(name)
                values.append(number)
            elif isinstance(value, dict):
                read(f"{name}:", value)
            elif isinstance(value, (list, tuple, set, frozenset)) and all(
                isinstance(item, str) for item in value
            ):
                for item in sorted(value) if isinstance(value, (set, frozenset)) else value:
                    names.append(f"{name}:{item}")
                    values.append(1.0)
            else:
                raise TypeError(
                    f"{_place(i, t, words)}: feature {name!r} has the value {value!r}; values "
                    "are numbers, strings, lists of strings or dictionaries of these"
                )

    read("", token)
    return names, values
