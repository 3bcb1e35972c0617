"""The adversarial route on forests as published: its games by dual decomposition.

For comparison only. Values and gradients are those of `SmoothedRoute` without smoothing, up to what
the decomposition leaves open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.structures import LabelCosts
from concordant.surrogates.adversarial import Adversarial
from concordant.surrogates.base import Solution
from concordant.surrogates.smoothed import NodeRoute

#: Gap of a game at which to stop, in largest costs a node, and the steps it may take.
TOLERANCE, STEPS = 1e-2, 300


class DecomposedRoute(NodeRoute):
    """Asks `oracles.decomposed_game`; knows no smoothing."""

    def solve(
        self,
        scores: np.ndarray,
        target: Any,
        weight: np.ndarray | None = None,
        strength: float | np.ndarray = 0.0,
        centre: np.ndarray | None = None,
    ) -> Solution:
        """The one question, with a strength of 0."""
        from concordant.oracles.decomposed_game import play

        if np.any(strength):
            raise TypeError("dual decomposition answers no proximal questions")
        structure, w = self.structure, self.weights(weight)
        at_nodes = structure.node_weight * w[structure.node_owner]
        labels = Adversarial().label_route(structure.n_nodes, LabelCosts(self.loss.costs))
        anything = np.zeros(structure.n_nodes, np.int64)

        def games(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found = labels.solve(a, anything, at_nodes)
            return found.upper, found.mu

        enough = TOLERANCE * self.loss.scale * w * structure.lengths
        return Solution(*play(structure, self.loss, scores, w, games, enough, STEPS))
