"""Sequences as users give them, as one batch of tokens."""

from __future__ import annotations

from collections.abc import Sequence as AnySequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from concordant.features.strings import encode_tokens


class Sequence(NamedTuple):
    """A sequence with features of its steps from one token to the next.

    Parameters
    ----------
    nodes : array-like or sparse matrix of shape (T, d)
        Features of the tokens.
    edge_features : array-like of shape (T - 1, d_e), default=None
    """

    nodes: Any
    edge_features: Any = None


class Tokens(NamedTuple):
    """A batch: node features (N, d), lengths (n,), edge features (E, d_e) or None."""

    x: Any
    lengths: np.ndarray
    edge_x: np.ndarray | None


def is_named(X: AnySequence[Any]) -> bool:
    """Whether tokens are dictionaries or collections of strings, by the first that tells."""
    for sequence in X:
        if isinstance(sequence, (np.ndarray, Sequence)) or sp.issparse(sequence):
            return False
        for token in sequence:
            if isinstance(token, dict):
                return True
            if isinstance(token, (list, tuple, set, frozenset)) and len(token):
                return isinstance(next(iter(token)), str)
            if not isinstance(token, (list, tuple, set, frozenset)):
                return isinstance(token, str)  # a list of strings is no sequence of tokens: refused
    return False


def read_named(X: AnySequence[Any], vocabulary: dict[str, int], grow: bool) -> Tokens:
    """Tokens described by names."""
    x, lengths = encode_tokens(X, vocabulary, grow)
    _check_lengths(lengths)
    return Tokens(x, lengths, None)


def read_numeric(X: AnySequence[Any]) -> Tokens:
    """Tokens described by numbers: arrays (T, d), dense or sparse, or `Sequence` objects."""
    rows, edges = [], []
    for i, item in enumerate(X):
        nodes, edge = item if isinstance(item, Sequence) else (item, None)
        rows.append(_matrix(nodes, f"sequence {i}"))
        if rows[-1].shape[1] != rows[0].shape[1]:
            raise ValueError(
                f"sequence {i} has {rows[-1].shape[1]} features, sequence 0 has {rows[0].shape[1]}"
            )
        if edge is not None:
            edge = _matrix(edge, f"edge_features of sequence {i}")
            if edge.shape[0] != max(rows[-1].shape[0] - 1, 0):
                raise ValueError(
                    f"sequence {i} has {rows[-1].shape[0]} tokens and {edge.shape[0]} rows of "
                    "edge_features; there must be one less than tokens"
                )
            edges.append(edge)
        if len(edges) not in (0, i + 1):
            raise ValueError(f"sequence {i} has no edge_features, or those before it have none")
    lengths = np.array([x.shape[0] for x in rows], np.int64)
    _check_lengths(lengths)
    sparse = any(sp.issparse(x) for x in rows)
    x = sp.csr_matrix(sp.vstack(rows)) if sparse else np.concatenate(rows)
    if not edges:
        return Tokens(x, lengths, None)
    if len({edge.shape[1] for edge in edges}) > 1:
        raise ValueError("edge_features have different numbers of columns")
    return Tokens(x, lengths, np.concatenate(edges))


def _check_lengths(lengths: np.ndarray) -> None:
    if (lengths == 0).any():
        raise ValueError(f"sequence {int((lengths == 0).argmax())} is empty")


def _matrix(values: Any, what: str) -> Any:
    if sp.issparse(values):
        x = sp.csr_matrix(values, dtype=np.float64)
        finite = np.isfinite(x.data).all()
    else:
        try:
            x = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{what} is neither an array of numbers nor a list of feature dictionaries or "
                f"lists of strings: {error}"
            ) from error
        x = x.reshape(0, 0) if x.size == 0 and x.ndim == 1 else x
        if x.ndim != 2:
            raise ValueError(f"{what} must be 2-D (tokens, features), got shape {x.shape}")
        finite = np.isfinite(x).all()
    if not finite:
        raise ValueError(f"{what} contains NaN or infinity")
    return x
