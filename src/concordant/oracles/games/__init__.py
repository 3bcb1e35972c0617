"""The zero-sum game of adversarial prediction, ``max_q min_p p'Lq + f'q``.

One file a family of cost matrices. Each offers

``recognise(costs)``
    the constants (`params`) of the family, or None if `costs` is not of it;
``play``
    the equilibrium: value, predictor's strategy p, adversary's q;
``block``
    the same as the block of a route (see `concordant.oracles.blocks`), which also
    answers the proximal question of dual solvers;
``scratch(n_actions, n_classes)``
    how much work space they want.

`find` takes the first family that recognises the costs; the last recognises all.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np


def find(costs: np.ndarray) -> tuple[ModuleType, np.ndarray]:
    """The fastest family that solves the game with these costs, and its constants."""
    from concordant.oracles.games import abstention, convex, matrix, weighted, zero_one

    for family in (zero_one, weighted, abstention, convex, matrix):
        params = family.recognise(costs)
        if params is not None:
            return family, np.asarray(params, dtype=float)
    raise AssertionError("the general family recognises every matrix")
