"""The dual's repair for unpenalised intercepts: true labels, changed at random, are mixed in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from concordant.surrogates.base import cheapest_repair, transport

if TYPE_CHECKING:
    from concordant.corpus.objective import CorpusObjective


class DualPoint(NamedTuple):
    """What the dual needs to know of a point: its first term and its weights."""

    gain: float
    weights: np.ndarray


def balanced(objective: CorpusObjective, point: DualPoint) -> DualPoint:
    """A point near this one whose labels add up to the answers'."""
    c = np.repeat(objective.mass, objective.features.lengths)
    want = objective.free(objective.gold)
    surplus = -objective.free(point.weights)
    if objective.forbidden is not None:
        shifts = np.array([-objective.free(other) for other in objective.extremes])
        shares = cheapest_repair(shifts, surplus)
        if shares is None:
            return DualPoint(0.0, np.zeros_like(point.weights))
        total = 1.0 + float(shares.sum())
        moved = sum((w * v for w, v in zip(shares, objective.extremes)), start=point.weights)
        return DualPoint(point.gain / total, moved / total)
    ratio = float(np.max(surplus / np.maximum(want, 1e-300), initial=0.0))
    if ratio <= 0.0:
        return point
    if ratio > 1e15:
        return DualPoint(0.0, np.zeros_like(point.weights))
    t = ratio / (1.0 + ratio)
    have = np.bincount(np.maximum(objective.codes, 0), c, objective.layout.n_classes)
    odds = transport(have, np.maximum(want - surplus / ratio, 0.0))
    other = objective.gold - relabelled(objective, odds)
    weights = (1.0 - t) * point.weights + t * other
    return DualPoint((1.0 - t) * point.gain, weights)


def relabelled(objective: CorpusObjective, odds: np.ndarray) -> np.ndarray:
    """Features of the answers, every label changed at random by these odds. (Unknown labels,
    where `gold` is not made here, count as the first: any labelling will do for a repair.)"""
    from concordant.kernels.tokens import add_gradient

    out = objective.start()
    node, pairs, free = objective.layout.split(out)
    f, layout, offsets = objective.features, objective.layout, objective.features.offsets
    mass = objective.mass
    for first in range(0, objective.n_examples, 1024):  # the labels of all would take memory
        last = min(first + 1024, objective.n_examples)
        start, stop = offsets[first], offsets[last]
        c = np.repeat(mass[first:last], f.lengths[first:last])
        mu = c[:, None] * odds[np.maximum(objective.codes[start:stop], 0)]
        add_gradient(
            f.indptr, f.indices, f.values, layout.begin, layout.labels, mu, start, stop, node
        )
        free += mu.sum(axis=0)
    pairs += odds.T @ transition_counts(objective, mass) @ odds
    return out


def transition_counts(objective: CorpusObjective, weight: np.ndarray) -> np.ndarray:
    """How often each label follows each in the answers, sentences weighted, ``(k, k)``."""
    k, last = objective.layout.n_classes, objective.features.offsets[1:] - 1
    left = np.delete(np.arange(len(objective.codes)), last)
    codes = np.maximum(objective.codes, 0)
    c = np.repeat(weight, objective.features.lengths - 1)
    return np.bincount(codes[left] * k + codes[left + 1], c, k * k).reshape(k, k)
