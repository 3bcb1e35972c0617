"""Features of nodes and edges as users give them: numbers, or names as CRFsuite takes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from concordant.features.strings import encode_tokens

_GROUPS = (list, tuple, set, frozenset)


class Batch(NamedTuple):
    """Checked examples as one batch.

    Node features (N, d), nodes of each example, edge features (E, d_e) or None, edges of each
    example, and the edges (E, 2), numbered through the batch; None for chains.
    """

    x: Any
    lengths: np.ndarray
    edge_x: Any
    edge_counts: np.ndarray
    edges: np.ndarray | None = None


def is_named(blocks: Iterable[Any]) -> bool:
    """Whether rows are dictionaries or collections of strings, by the first that tells."""
    for block in blocks:
        if block is None:
            continue
        if isinstance(block, np.ndarray) or sp.issparse(block) or not hasattr(block, "__iter__"):
            return False
        for row in block:
            if isinstance(row, dict):
                return True
            if isinstance(row, _GROUPS) and len(row):
                return isinstance(next(iter(row)), str)
            if not isinstance(row, _GROUPS):
                return isinstance(row, str)  # a list of strings is no list of rows: refused later
    return False


def read_nodes(
    blocks: Iterable[Any], vocabulary: dict[str, int] | None, grow: bool, noun: str
) -> tuple[Any, np.ndarray]:
    """All node features and the number of nodes of each example."""
    if vocabulary is not None:
        x, lengths = encode_tokens(blocks, vocabulary, grow, (noun, _item(noun)))
    else:
        rows = [numeric(block, f"nodes of {noun} {i}") for i, block in enumerate(blocks)]
        lengths = np.array([block.shape[0] for block in rows], np.int64)
        _check_lengths(lengths, noun)  # before widths: an empty list has none
        x = _stacked(rows, f"{noun} {{}} has {{}} node features, {noun} {{}} has {{}}")
    _check_lengths(lengths, noun)
    return x, lengths


def _item(noun: str) -> str:
    return "token" if noun == "sequence" else "node"


def _check_lengths(lengths: np.ndarray, noun: str) -> None:
    if (lengths == 0).any():
        i = int((lengths == 0).argmax())
        raise ValueError(f"{noun} {i} is empty: it has no {_item(noun)}s")


def read_edges(
    blocks: Sequence[Any], counts: np.ndarray, vocabulary: dict[str, int] | None, grow: bool,
    noun: str,
) -> Any:  # fmt: skip
    """All edge features, ``(E, d_e)``; None if there are none. Where an example has no edges it
    need not say so."""
    given = [block is not None and counts[i] > 0 for i, block in enumerate(blocks)]
    lacking = [block is None and counts[i] > 0 for i, block in enumerate(blocks)]
    if any(given) and any(lacking):
        raise ValueError(
            f"{noun} {lacking.index(True)} has edges without features, {noun} "
            f"{given.index(True)} has edge features: give all or none"
        )
    for i, (block, count) in enumerate(zip(blocks, counts)):
        rows = 0 if block is None else block.shape[0] if sp.issparse(block) else len(block)
        if rows != count and block is not None:
            raise ValueError(f"{noun} {i} has {count} edges, but {rows} rows of edge_features")
    if not any(given):
        return None
    if vocabulary is not None:
        named = [block if block is not None else [] for block in blocks]
        return encode_tokens(named, vocabulary, grow, (noun, "edge"))[0]
    rows_of = [
        numeric(block, f"edge_features of {noun} {i}") if given[i] else None
        for i, block in enumerate(blocks)
    ]
    return _stacked(rows_of, f"{noun} {{}} has {{}} edge features, {noun} {{}} has {{}}")


def _stacked(blocks: Sequence[Any], words: str) -> Any:
    """All rows; `words` is the error about different numbers of features."""
    known = [(i, block) for i, block in enumerate(blocks) if block is not None]
    first, one = known[0]
    for i, block in known:
        if block.shape[1] != one.shape[1]:
            raise ValueError(words.format(i, block.shape[1], first, one.shape[1]))
    if any(sp.issparse(block) for _, block in known):
        return sp.csr_matrix(sp.vstack([sp.csr_matrix(block) for _, block in known]))
    return np.concatenate([block for _, block in known])


def numeric(values: Any, name: str) -> Any:
    """Numbers as (rows, features), dense or CSR, or an error that names the bad row."""
    if sp.issparse(values):
        out = sp.csr_matrix(values, dtype=np.float64)
        finite = np.isfinite(out.data)
        if not finite.all():
            row = int(np.searchsorted(out.indptr, int((~finite).argmax()), side="right")) - 1
            raise ValueError(f"{name}: row {row} contains NaN or infinity")
        return out
    try:
        out = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be numbers, rows equally many, or dictionaries or lists of strings "
            f"everywhere: {error}"
        ) from error
    out = out.reshape(0, 0) if out.size == 0 and out.ndim == 1 else out
    if out.ndim != 2:
        raise ValueError(f"{name} must have shape (rows, features), got {out.shape}")
    finite = np.isfinite(out).all(axis=1)
    if not finite.all():
        raise ValueError(f"{name}: row {int((~finite).argmax())} contains NaN or infinity")
    return out
