"""The published surrogates as maxima over sets, and the check of ours against them.

A published surrogate is a maximum over a finite set D of pairs (q, v) of <q, f> + v - f_y, one
facet a pair. `surrogates.evaluate` does not know these sets.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import concordant as cc
from concordant.losses import Abstain
from experiments import common

Pairs = list[tuple[np.ndarray, float]]


def _unit(k: int, i: int) -> np.ndarray:
    return np.eye(k)[i]


def zero_one_pairs(k: int, weight: float = 1.0) -> Pairs:
    """Equations 2.18 and 2.49: every set of labels, evenly mixed."""
    out: Pairs = []
    for size in range(1, k + 1):
        for chosen in itertools.combinations(range(k), size):
            out.append((np.eye(k)[list(chosen)].mean(axis=0), weight * (size - 1) / size))
    return out


def absolute_pairs(k: int, weight: float = 1.0) -> Pairs:
    """Equations 2.31 and 2.50: two labels, evenly mixed."""
    pairs = itertools.combinations_with_replacement(range(k), 2)
    return [((_unit(k, i) + _unit(k, j)) / 2, weight * (j - i) / 2) for i, j in pairs]


def squared_pairs(k: int, weight: float = 1.0) -> Pairs:
    """Equations 2.38 and 2.51: one label, or two that make the rows beside a half-integer tie."""
    out: Pairs = [(_unit(k, i), 0.0) for i in range(k)]
    for i, j in itertools.combinations(range(k), 2):
        for middle in range(i + 1, j + 1):
            a = (2 * (j - middle) + 1) / (2 * (j - i))
            value = a * (middle - i) ** 2 + (1 - a) * (j - middle) ** 2
            out.append((a * _unit(k, i) + (1 - a) * _unit(k, j), weight * value))
    return out


def abstain_pairs(k: int, cost: float) -> Pairs:
    """Equation 2.54, for costs up to one half."""
    out: Pairs = [(_unit(k, i), 0.0) for i in range(k)]
    for i, j in itertools.permutations(range(k), 2):
        out.append(((1 - cost) * _unit(k, i) + cost * _unit(k, j), cost))
    return out


class Surface(NamedTuple):
    """A surrogate of the thesis: ours, the published set, and the published number of facets."""

    name: str
    figure: str
    loss: Any
    pairs: Callable[[int], Pairs]
    k: int
    facets: int | None
    weight: float = 1.0


SURFACES = (
    Surface("0-1", "3", "zero_one", zero_one_pairs, 2, 3),
    Surface("0-1", "4a", "zero_one", zero_one_pairs, 3, 7),
    Surface("absolute", "7", "absolute", absolute_pairs, 3, 6),
    Surface("squared", "8", "squared", squared_pairs, 3, None),
    Surface("2 × 0-1", "eq. 2.49", "zero_one", lambda k: zero_one_pairs(k, 2.0), 3, None, 2.0),
    Surface("2 × absolute", "eq. 2.50", "absolute", lambda k: absolute_pairs(k, 2.0), 3, None, 2.0),
    Surface("2 × squared", "eq. 2.51", "squared", lambda k: squared_pairs(k, 2.0), 3, None, 2.0),
    Surface("abstention, 1/3", "9a", Abstain(1 / 3), lambda k: abstain_pairs(k, 1 / 3), 2, 4),
    Surface("abstention, 1/2", "9b", Abstain(1 / 2), lambda k: abstain_pairs(k, 1 / 2), 2, 3),
    Surface("abstention, 1/3", "10a", Abstain(1 / 3), lambda k: abstain_pairs(k, 1 / 3), 3, 9),
    Surface("abstention, 1/2", "10b", Abstain(1 / 2), lambda k: abstain_pairs(k, 1 / 2), 3, 6),
)


def adversarial(
    scores: np.ndarray, y: int, loss: Any, weight: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Values and gradients of ours at many scores with the same label."""
    labels = np.full(len(scores), y)
    return cc.surrogates.evaluate(
        "adversarial", scores, labels, loss=loss, loss_weight=np.full(len(scores), weight)
    )


def facet_numbers(gradient: np.ndarray) -> np.ndarray:
    """The same number for the same gradient."""
    return np.unique(gradient.round(9), axis=0, return_inverse=True)[1].ravel()


def check(surface: Surface, n: int) -> dict[str, Any]:
    """Facets seen and largest difference from the published formula, over random scores."""
    rng = np.random.default_rng(common.SEED)
    scores = rng.uniform(-5, 5, (n, surface.k))
    pairs = surface.pairs(surface.k)
    q, v = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    facets, worst = set(), 0.0
    for y in range(surface.k):
        values, gradient = adversarial(scores, y, surface.loss, surface.weight)
        published = (scores @ q.T + v).max(axis=1) - scores[:, y]
        worst = max(worst, float(np.abs(values - published).max()))
        facets.add(int(facet_numbers(gradient).max()) + 1)
    assert len(facets) == 1, "the number of facets must not depend on the label"
    return {
        "surrogate": surface.name,
        "figure": surface.figure,
        "labels": surface.k,
        "facets": facets.pop(),
        "published_facets": surface.facets,
        "formula_facets": len({(*np.round(a, 9), round(b, 9)) for a, b in pairs}),
        "largest_difference": worst,
    }
