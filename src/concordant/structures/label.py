"""One label an example: parts are one-hot rows, ``(n, k)``."""

from __future__ import annotations

import numpy as np

from concordant.structures.base import PartLoss, Structure


class LabelCosts(PartLoss):
    """A cost matrix ``costs[action, truth]`` as a bilinear form on label distributions.

    ``own_action`` holds the action a label stands for: itself where actions are labels, else
    the cheapest action under certainty of that label.
    """

    def __init__(self, costs: np.ndarray, actions_are_labels: bool | None = None):
        self.costs = np.ascontiguousarray(costs, dtype=float)
        r, k = self.costs.shape
        self.actions_are_labels = r == k if actions_are_labels is None else actions_are_labels
        cheapest = self.costs.argmin(axis=0)
        labels = np.arange(k)
        if r >= k:  # a label that is among its own cheapest actions stands for itself
            own = self.costs[labels, labels] <= self.costs.min(axis=0)
            cheapest = np.where(own, labels, cheapest)
        self.own_action = labels if self.actions_are_labels else cheapest
        self.scale = float(self.costs.max()) or 1.0  # free of charge: any unit will do

    @property
    def is_zero_one(self) -> bool:
        """Plain 0-1 loss on labels."""
        k = self.costs.shape[1]
        return self.actions_are_labels and np.array_equal(self.costs, 1.0 - np.eye(k))

    @property
    def is_absolute(self) -> bool:
        """Distances between ranks, at any price a step."""
        ranks = np.arange(len(self.costs), dtype=float)
        distance = np.abs(ranks[:, None] - ranks)
        if not self.actions_are_labels or len(ranks) < 2:
            return self.actions_are_labels
        return bool(np.allclose(self.costs, self.costs[0, 1] * distance, rtol=1e-12, atol=0.0))

    @property
    def convex_when_wrong(self) -> bool:
        """Actions are labels; under each truth costs are convex in them and least when right."""
        if not self.actions_are_labels:
            return False
        least = np.diag(self.costs) <= self.costs.min(axis=0)
        return bool((np.diff(self.costs, n=2, axis=0) >= -1e-12 * self.scale).all() and least.all())

    @property
    def cheapest_when_right(self) -> bool:
        """Actions are labels, and each costs strictly less when it is right than when not."""
        if not self.actions_are_labels:
            return False
        wrong = self.costs + np.diag(np.full(len(self.costs), np.inf))
        return bool((np.diag(self.costs) < wrong.min(axis=1)).all())

    @property
    def is_distance(self) -> bool:
        """Costs between labels are symmetric, zero on the diagonal and nowhere shorter by a
        detour."""
        d = self.costs
        if not self.actions_are_labels or np.diag(d).any() or not np.array_equal(d, d.T):
            return False
        detour = (d[:, :, None] + d[None, :, :]).min(axis=1)
        return bool((d <= detour * (1.0 + 1e-12)).all())

    @property
    def between_labels(self) -> np.ndarray:
        """``D[j, y]``: cost of acting on label j when y is the truth, ``(k, k)``."""
        return np.ascontiguousarray(self.costs[self.own_action])

    def of_actions(self, q: np.ndarray) -> np.ndarray:
        return q @ self.costs.T

    def of_truths(self, p: np.ndarray) -> np.ndarray:
        return p @ self.costs


class Label(Structure):
    """A batch of n labels out of k; targets are integer codes."""

    def __init__(self, n_examples: int, n_classes: int):
        self.n_examples = n_examples
        self.n_classes = n_classes

    def parts(self, target: np.ndarray) -> np.ndarray:
        mu = np.zeros((self.n_examples, self.n_classes))
        mu[np.arange(self.n_examples), target] = 1.0
        return mu

    def dot(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", a, b)

    def scale(self, factor: np.ndarray, a: np.ndarray) -> np.ndarray:
        return factor[:, None] * a

    def take(self, rows: slice | np.ndarray) -> tuple[Label, slice | np.ndarray]:
        whole = range(self.n_examples)
        n = len(whole[rows]) if isinstance(rows, slice) else len(rows)
        return Label(n, self.n_classes), rows

    def argmax(self, scores: np.ndarray) -> np.ndarray:
        return self.parts(scores.argmax(axis=1))

    def marginals(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from scipy.special import logsumexp, softmax

        return logsumexp(scores, axis=1), softmax(scores, axis=1)

    def entropy(self, mu: np.ndarray) -> np.ndarray:
        from scipy.special import entr

        return entr(np.maximum(mu, 0.0)).sum(axis=1)

    def loss(self, loss: np.ndarray | LabelCosts) -> LabelCosts:
        """Accepts a cost matrix over these codes, or costs that are bound already."""
        return loss if isinstance(loss, LabelCosts) else LabelCosts(loss)
