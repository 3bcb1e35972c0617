"""Small bags at random, and slow, obvious versions of what is computed on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import concordant as cc
from concordant.executor import SERIAL
from concordant.latent.bags import Bag
from concordant.latent.training import build_examples
from concordant.losses import find_pair_loss

KINDS = ("label_only", "zero_one", "overlap", "table", "full")


def make_boxes(m: int, rng: np.random.Generator) -> np.ndarray:
    corner = rng.integers(0, 4, (m, 2))
    return np.column_stack([corner, corner + rng.integers(1, 5, (m, 2))]).astype(float)


def make_bags(
    n: int, k: int, kind: str, rng: np.random.Generator, d: int = 3, most: int = 5, sparse=False
) -> list[Bag]:
    """Bags of 1 to `most` choices, with what the loss of this kind needs."""
    bags = []
    for _ in range(n):
        m = int(rng.integers(1, most + 1))
        x = rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.7)
        costs = None
        if kind in ("table", "full"):
            size = m if kind == "table" else k * m
            costs = rng.random((size, size)) * (1.0 - np.eye(size))
        boxes = make_boxes(m, rng) if kind == "overlap" else None
        bags.append(Bag(sp.csr_matrix(x) if sparse else x, boxes, costs))
    return bags


def make_loss(kind: str) -> Any:
    if kind == "label_only":
        return cc.losses.LabelOnly("absolute")
    return cc.losses.PairMatrix() if kind in ("table", "full") else find_pair_loss(kind)


def slow_cost(
    kind: str, bag: Bag, k: int, answer: tuple[int, int], truth: tuple[int, int]
) -> float:
    """The loss of one (label, choice) answer, from its definition."""
    (y, h), (z, g) = answer, truth
    if kind == "label_only":
        return float(abs(y - z))
    if kind == "full":
        return float(bag.costs[y * bag.n_choices + h, z * bag.n_choices + g])
    if y != z:
        return 1.0
    if kind == "zero_one":
        return float(h != g)
    if kind == "table":
        return float(bag.costs[h, g])
    a, b = bag.boxes[h], bag.boxes[g]
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0.0) * max(height, 0.0)
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    return 1.0 - shared / (sum(areas) - shared)


def slow_matrix(kind: str, bag: Bag, k: int) -> np.ndarray:
    """All costs of one bag, (k m, k m), cells in the order of its part array: choice-major."""
    cells = [(y, h) for h in range(bag.n_choices) for y in range(k)]
    return np.array([[slow_cost(kind, bag, k, a, t) for t in cells] for a in cells])


def problem(
    kind: str, rng: np.random.Generator, n: int = 6, k: int = 3, known: Any = None, **options: Any
) -> Any:
    """Bags, labels and the `Examples` of a small training problem."""
    bags = make_bags(n, k, kind, rng, **options)
    labels = np.arange(n) % k
    known = np.full(n, -1) if known is None else known
    weight, loss_weight = rng.uniform(0.2, 1.0, n), rng.uniform(0.5, 1.5, n)
    classes = np.arange(k)
    return bags, build_examples(
        bags, labels, classes, make_loss(kind), known, weight, loss_weight, SERIAL
    )
