"""Unpenalised intercepts for the block methods on the dual of a corpus.

In the dual an intercept is a constraint: expected labels add up to those of the answers. The
method of multipliers enforces it. With ``r`` what is left of the constraint, the intercepts are

    b = base + pull * r,

and `base` takes over their value from time to time. The second term is a feature of value
``sqrt(pull)`` at every token: its dual weights are ``sqrt(pull) * r``, its scores ``pull * r``. So
a pass with intercepts is a pass without, over one more feature and from scores that begin at
`base`: a proximal step, ``|b - base|**2 / (2 pull)`` being this feature's penalty. It is taken
once the pass's own problem is solved well against its length; moved after every pass, intercepts
swing, because Frank-Wolfe steps follow slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from concordant.corpus.data import Features, Layout

if TYPE_CHECKING:
    from concordant.corpus.objective import CorpusObjective


def with_constant(features: Features, value: float) -> Features:
    """The features, and one more that every token has."""
    ones, n = not len(features.values), features.n_tokens
    data = np.ones(len(features.indices), np.float32) if ones else features.values
    x = sp.csr_matrix((data, features.indices, features.indptr), (n, features.n_features))
    constant = sp.csr_matrix(np.full((n, 1), value, data.dtype))
    return Features(sp.hstack([x, constant], format="csr"), features.lengths)


def size_of(features: Features) -> float:
    """Square of the constant feature's value: 1 beside features of value 1, else three times
    their mean square size in a token. (Measured; ten times either is far slower.)"""
    if not len(features.values):
        return 1.0
    return max(3.0 * float(features.square_norms().sum() / features.n_tokens), 1.0)


def wider(layout: Layout) -> Layout:
    """Weights for one more feature and all labels, and none for intercepts."""
    k = layout.n_classes
    begin = np.append(layout.begin, layout.begin[-1] + k)
    labels = layout.labels
    if len(labels):
        labels = np.append(labels, np.arange(k, dtype=labels.dtype))
    return Layout(begin, labels, k, False)


#: A pass's problem is solved well if its gap is at most this share of its proximal term.
SHARE = 0.3


class Multipliers:
    """The intercepts `base` of a corpus whose last feature is the constant one.

    Weights are `[node | constant | transitions]` within and `[node | transitions | intercepts]`
    outside.
    """

    def __init__(self, outside: CorpusObjective):
        self.outside = outside
        self.pull = size_of(outside.features)
        self.base = np.zeros(outside.layout.n_classes)

    @property
    def _cuts(self) -> list[int]:
        nodes = self.outside.layout.n_nodes
        return [nodes, nodes + len(self.base)]

    def inside(self, weights: np.ndarray) -> np.ndarray:
        """Features of answers, whose intercepts are counts of labels."""
        layout = self.outside.layout
        node, pairs, free = np.split(weights, [layout.n_nodes, layout.n_penalised])
        return np.concatenate([node, np.sqrt(self.pull) * free, pairs])

    def primal(self, weights: np.ndarray) -> np.ndarray:
        """The weights that these stand for."""
        node, constant, pairs = np.split(weights, self._cuts)
        return np.concatenate([node, pairs, self.base + np.sqrt(self.pull) * constant])

    def dual(self, weights: np.ndarray) -> np.ndarray:
        """The dual point's weights, with what is left of the constraint as intercepts."""
        node, constant, pairs = np.split(weights, self._cuts)
        return np.concatenate([node, pairs, constant / np.sqrt(self.pull)])

    def move(self, weights: np.ndarray, loss: float, gain: float) -> None:
        """The step of the multipliers, if it is time for it.

        `loss` is the sum over sentences at these weights, `gain` the first term of the dual.
        """
        k = len(self.base)
        free, left = self.primal(weights)[-k:], self.dual(weights)[-k:]
        node, _, pairs = np.split(weights, self._cuts)
        gap = loss - gain + float(node @ node + pairs @ pairs + free @ left)
        if gap <= SHARE * self.pull * float(left @ left):
            self.base = free
