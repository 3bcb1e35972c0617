"""The contract of a scorer: a linear map from weights to the scores of a batch.

Weights are one float array of any shape. `scores` is the map, `pullback` its transpose, and
`penalised` says which entries count in the penalty (intercepts do not).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from concordant.executor import SERIAL, Executor, chunks
from concordant.penalty import Penalty


class Scorer(ABC):
    """Features of a batch of examples as a linear map from weights to scores."""

    n_examples: int
    executor: Executor = SERIAL

    @abstractmethod
    def start(self) -> np.ndarray:
        """Weights of zero."""

    @abstractmethod
    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Scores of every example, as a part array of its structure."""

    @abstractmethod
    def pullback(self, residual: np.ndarray) -> np.ndarray:
        """The transpose: ``<scores(W), residual> = <W, pullback(residual)>``."""

    @abstractmethod
    def square_norms(self) -> np.ndarray:
        """Largest ``|pullback(r)|**2 / |r|**2`` over residuals r of one example, ``(n,)``."""

    def pull(self, norms: np.ndarray) -> float:
        """Squared size of the feature as which intercepts follow in a dual pass; `norms` are
        `square_norms`."""
        return max(float(norms.mean()), 1.0)

    def free_norms(self) -> np.ndarray:
        """The same as `square_norms` for the intercepts, which are not in those."""
        return np.ones(self.n_examples)

    @abstractmethod
    def take(self, rows: slice | np.ndarray) -> Scorer:
        """The scorer of some of the examples; indices may repeat."""

    def restrict(self, rows: np.ndarray) -> Scorer:
        """The scorer of the training problem of these examples alone."""
        return self.take(rows)

    def narrow(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Weights for `restrict`, as near as it has them."""
        return weights

    def plain(self, weights: np.ndarray) -> np.ndarray:
        """Weights of the same function that refer to nothing but features and coefficients."""
        return weights

    def widen(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """`plain` weights of `restrict` as weights here, of the same function."""
        return weights

    #: Weights live in a Euclidean space whose inner product is the penalty's.
    euclidean: bool = True

    def penalised(self, weights: np.ndarray) -> np.ndarray:
        """A view of the entries that the penalty sees."""
        return weights

    def free(self, weights: np.ndarray) -> np.ndarray:
        """A view of the entries that it does not see: intercepts."""
        return weights[:0]

    def free_step(self, residual: np.ndarray) -> np.ndarray:
        """Where `free` weights go that follow a residual's total over the examples."""
        return residual

    def image(self, weights: np.ndarray) -> np.ndarray:
        """The weights as a linear form under the penalty's inner product: themselves, or for
        a kernel the matrix times them."""
        return weights

    def scores_of(self, weights: np.ndarray, image: np.ndarray) -> np.ndarray:
        """`scores`, given the image of the weights."""
        return self.scores(weights)

    def penalty_value(
        self, penalty: Penalty, weights: np.ndarray, scores: np.ndarray | None = None
    ) -> float:
        """The penalty of these weights; their `scores` help where they are known."""
        return penalty.value(self.penalised(weights))

    def conjugate_value(
        self, penalty: Penalty, dual: np.ndarray, scores: np.ndarray | None = None
    ) -> float:
        """The penalty's conjugate at a dual weight vector, whose `scores` may help."""
        return penalty.conjugate(self.penalised(dual))

    def pieces(self) -> list[slice]:
        """Chunks over which a sum over examples is evaluated."""
        return chunks(self.n_examples)

    def dual_pass(self, state: Any, order: np.ndarray, block: Any, problem: Any) -> bool:
        """Run a compiled pass of dual coordinate ascent, if this scorer has one.

        `state` is an `objective.DualState`, `block` the route's compiled block, `problem` the
        tuple (square norms, target, weight, loss weight, l2, l1, pull). Returns whether it ran.
        """
        return False

    #: Whether there is a `regression`.
    regresses: bool = False

    def regression(self, rho: float) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """The map from y to the minimiser of ``|W|**2 / 2 + rho/2 |scores(W) - y|**2`` and its
        scores, after a factorisation."""
        raise NotImplementedError

    def cached_scores(self, state: Any) -> np.ndarray | None:
        """Scores at the weights of a dual state if its passes keep them, else None."""
        return None
