"""Assignments, slow and obvious: every answer listed, and the games and projections over them."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np

from concordant.structures import Assignments


def every_answer(n: int, m: int, partial: bool) -> list[list[int]]:
    """Columns of the rows, -1 for alone, of every assignment; complete ones make all the pairs
    that there can be."""
    out = []
    for size in range(min(n, m) + 1) if partial else [min(n, m)]:
        for rows in combinations(range(n), size):
            for columns in permutations(range(m), size):
                y = [-1] * n
                for i, j in zip(rows, columns):
                    y[i] = j
                out.append(y)
    return out


def listed_parts(one: Assignments) -> np.ndarray:
    """Parts of every answer of a batch of one that is allowed, one a row."""
    answers = every_answer(int(one.rows[0]), int(one.columns[0]), one.partial)
    parts = np.array([one.parts([y]) for y in answers])
    return parts[(parts <= one.allowed).all(axis=1)]


def hamming(action: np.ndarray, truth: np.ndarray, miss: float = 1.0, false: float = 1.0) -> float:
    """The loss of one example from its definition."""
    total = 0.0
    for here, right in zip(action, truth):
        if here != right:
            total += miss if here < 0 else false
    return total


def listed_costs(one: Assignments, miss: float = 1.0, false: float = 1.0) -> np.ndarray:
    """``costs[action, truth]`` between all answers that are allowed."""
    answers = every_answer(int(one.rows[0]), int(one.columns[0]), one.partial)
    good = [y for y in answers if (one.parts([y]) <= one.allowed).all()]
    return np.array([[hamming(a, y, miss, false) for y in good] for a in good])


def random_batch(rng: np.random.Generator, partial: bool, most: int = 4, size: int = 3):
    """A ragged batch, now and then with forbidden pairs, that has answers."""
    while True:
        n, m = rng.integers(1, most + 1, (2, size))
        if not partial and rng.random() < 0.5:
            m = n.copy()
        masks = None
        if rng.random() < 0.5:
            masks = [rng.random((a, b)) < 0.25 for a, b in zip(n, m)]
        try:
            return Assignments(n, m, partial, masks)
        except ValueError:
            continue
