"""Online exponentiated gradients on the dual of the log route (Collins et al. 2008).

Each sentence keeps a distribution over its labelings, as the scores `theta` that give it, and the
weights are those of all of them together: a dual point, so every pass is certified. No step size
is asked for; each sentence finds its own (see `kernels.tokens.gibbs_steps`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from concordant.corpus.blocks import dual_weights
from concordant.structures import Chain

if TYPE_CHECKING:
    from concordant.corpus.objective import CorpusObjective

#: First log-odds of the true label at every token: nearly certain, so that weights begin small.
TRUST = 9.0
FIRST_RATE = 0.1


@dataclass
class GibbsState:
    """A dual point of the corpus: distributions, their scores and entropies, and the weights."""

    weights: np.ndarray
    mu: np.ndarray
    tables: np.ndarray
    theta: np.ndarray
    theta_tables: np.ndarray
    entropy: np.ndarray
    rates: np.ndarray


def start(objective: CorpusObjective) -> GibbsState:
    """Every sentence nearly certain of its true answer."""
    n, k = objective.n_examples, objective.layout.n_classes
    chain = Chain(objective.features.lengths, k)
    theta = TRUST * np.eye(k)[objective.codes]
    theta_tables = np.zeros((n, k, k)) + objective.blocked
    scores = np.concatenate([theta.ravel(), theta_tables.ravel()])
    partition, mu = chain.marginals(scores)
    attained = chain.dot(np.where(mu > 0.0, scores, 0.0), mu)
    state = GibbsState(
        objective.start(), chain.nodes(mu), chain.tables(mu), theta, theta_tables,
        partition - attained, np.full(n, FIRST_RATE),
    )  # fmt: skip
    state.weights = dual_weights(objective, state.weights, state.mu, state.tables)
    return state


def gibbs_pass(objective: CorpusObjective, state: GibbsState, order: np.ndarray) -> None:
    """One step on each of these sentences."""
    from concordant.kernels.tokens import gibbs_steps

    given = objective.arrays(state.weights)
    transitions = objective.layout.split(state.weights)[1]
    work = given[6].copy()
    gibbs_steps(
        *given[:6], work, given[7], given[8], order, objective.mass, state.theta,
        state.theta_tables, state.mu, state.tables, state.entropy, state.rates,
        *objective.scratch(),
    )  # fmt: skip
    open_ = objective.blocked == 0.0
    transitions[open_] = work[open_]


def certify(objective: CorpusObjective, state: GibbsState) -> tuple[np.ndarray, float, float]:
    """The state's weights freed of rounding drift, primal value there, dual value at its point."""
    from concordant.corpus.objective import DualPoint

    state.weights = dual_weights(objective, state.weights, state.mu, state.tables)
    gain = float(objective.mass @ state.entropy)
    whole, weights, point = objective.whole(state.weights)
    primal, dual = whole.primal(weights), whole.dual(DualPoint(gain, point))
    if objective.multipliers is not None:
        loss = primal - whole.penalty_value(weights)
        objective.multipliers.move(state.weights, loss, gain)
    return weights, primal, dual
