"""Checks of bags, their labels and their known choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from concordant.latent.bags import Bag
from concordant.metrics import check_labels


def as_bags(X: Sequence[Any]) -> list[Bag]:
    """Bags; a table of features is a bag without boxes. An error names the bag."""
    out = []
    for i, item in enumerate(X):
        if isinstance(item, Bag):
            out.append(item)
            continue
        if not (sp.issparse(item) or isinstance(item, np.ndarray)):
            raise TypeError(f"example {i} must be a Bag or a table of features, got {type(item)}")
        try:
            out.append(Bag(item))
        except (TypeError, ValueError) as error:
            raise type(error)(f"example {i}: {error}") from error
    return out


def as_labels(y: Sequence[Any]) -> np.ndarray:
    """Labels as one array of their own type."""
    labels = np.array(list(y))
    if labels.ndim != 1:
        raise ValueError(f"y must hold one label a bag, got shape {labels.shape}")
    check_labels(labels, "y")
    return labels


def check_latent(latent: Any, bags: list[Bag]) -> np.ndarray:
    """Known choices, one a bag, -1 for unknown; an error names the first bad one."""
    if latent is None:
        return np.full(len(bags), -1, dtype=np.int64)
    latent = np.asarray(latent)
    if latent.shape != (len(bags),):
        raise ValueError(f"latent must have shape ({len(bags)},), got {latent.shape}")
    if latent.dtype.kind not in "iu":
        raise TypeError(f"latent must hold choices as integers, got dtype {latent.dtype}")
    sizes = np.array([bag.n_choices for bag in bags])
    bad = (latent < -1) | (latent >= sizes)
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(
            f"latent[{i}] = {latent[i]} is no choice of bag {i}, which has {sizes[i]} "
            "(-1 stands for unknown)"
        )
    return latent.astype(np.int64)
