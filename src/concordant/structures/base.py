"""The contract of a structure: a *batch* of examples whose answers are made of parts.

An answer is an indicator array over parts: a one-hot label, the node and edge indicators of a
chain, a permutation matrix. Scores, answers and convex combinations of answers (``mu``) all
live in one array a batch; a structure knows how that array is laid out and nobody else does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class PartLoss(ABC):
    """A loss as a bilinear form on parts: the expected loss of ``p`` against ``q``."""

    #: Size of a score difference that matters: the largest cost of a part.
    scale: float = 1.0

    @abstractmethod
    def of_actions(self, q: np.ndarray) -> np.ndarray:
        """Cost of each action part when the truth is distributed as `q`."""

    @abstractmethod
    def of_truths(self, p: np.ndarray) -> np.ndarray:
        """Cost of each truth part when the action is distributed as `p`."""

    def on(self, structure: Structure) -> PartLoss:
        """The same loss for another batch, such as some of the examples.

        A loss that knows how the parts of its batch are laid out must say how here.
        """
        return self


class Structure(ABC):
    """A batch of examples and the layout of their parts.

    A structure must give `parts`, `dot`, `take` and `argmax`. With `marginals` and `entropy`
    the log route works too; with `loss` the routes that look at the loss.
    """

    n_examples: int

    @abstractmethod
    def parts(self, target: Any) -> np.ndarray:
        """Indicator array of these answers, one an example."""

    @abstractmethod
    def dot(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Inner product of two part arrays within each example, ``(n_examples,)``.

        The ordinary one: oracles that mix answers of one example use matrix products.
        """

    @abstractmethod
    def scale(self, factor: np.ndarray, a: np.ndarray) -> np.ndarray:
        """A part array with each example multiplied by its own factor."""

    @abstractmethod
    def take(self, rows: slice | np.ndarray) -> tuple[Structure, slice | np.ndarray]:
        """The sub-batch of some examples, and the index of their parts in the whole array.

        Any indices make a batch, in their order and with repetitions.
        """

    @abstractmethod
    def argmax(self, scores: np.ndarray) -> np.ndarray:
        """Parts of the answer with the largest score in each example."""

    def maximum(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """An upper bound on the score of every answer, and the answer of `argmax`.

        Where `argmax` is exact the bound is its score. Structures that can only approximate it say
        here how far from the best it may be, and certificates count that in.
        """
        mu = self.argmax(scores)
        return self.dot(scores, mu), mu

    def marginals(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log-partition of each example and the expected parts under exp(scores)."""
        raise TypeError(f"{type(self).__name__} has no marginals; the log route needs them")

    def entropy(self, mu: np.ndarray) -> np.ndarray:
        """Largest entropy of a distribution over answers with these expected parts."""
        raise TypeError(f"{type(self).__name__} has no entropy; certifying log needs it")

    def proximal(
        self, scores: np.ndarray, strength: np.ndarray, centre: np.ndarray | None
    ) -> np.ndarray | None:
        """Maximiser of ``<scores, mu> - strength/2 |mu - centre|**2``, where there is a fast way.

        `strength` (n_examples,) may have zeros. None: ask the generic oracle.
        """
        return None

    def equilibrium(
        self,
        loss: PartLoss,
        scores: np.ndarray,
        weight: np.ndarray,
        strength: np.ndarray,
        centre: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """The adversarial game, where there is a fast way (None: ask the generic oracles).

        Returns the adversary's mixture mu in the maximum of ``<scores, mu> + weight min_p loss(p,
        mu) - strength/2 |mu - centre|**2``, between an upper bound on the same without the last
        term and the least expected loss against mu (times the weight).
        """
        return None

    def loss(self, loss: Any) -> PartLoss:
        """`loss` as a bilinear form on the parts of this batch."""
        raise TypeError(f"{type(loss).__name__} does not decompose over {type(self).__name__}")
