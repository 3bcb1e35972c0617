"""Sequences as users give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Sequence:
    """A sequence with features of its steps from one token to the next.

    Parameters
    ----------
    nodes : array-like or sparse matrix of shape (T, d), or list
        Features of the tokens: numbers, or a dictionary or a list of strings a token.
    edge_features : array-like or sparse matrix of shape (T - 1, d_e), or list, default=None
        Features of the steps, in the same forms.

    Examples
    --------
    >>> import concordant as cc
    >>> words = [["the"], ["old"], ["man"]]
    >>> cc.Sequence(words, [["the|old"], ["old|man"]]).edge_features[0]
    ['the|old']
    """

    nodes: Any
    edge_features: Any = None
