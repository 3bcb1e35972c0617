"""Best answers and games of some sentences of a corpus, as a batch of chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from concordant.executor import chunks
from concordant.structures import Chain, LabelCosts, NodeCosts
from concordant.structures.pairwise import spans

if TYPE_CHECKING:
    from concordant.corpus.objective import CorpusObjective

#: Sentences whose scores are held at a time by one thread.
BATCH = 128


class Atoms(NamedTuple):
    """What the adversary answers: an upper bound of each sentence's maximum (n,), a point of its
    polytope (nodes, summed tables) and a lower bound of its bonus (n,)."""

    upper: np.ndarray
    nodes: np.ndarray
    tables: np.ndarray
    bonus: np.ndarray


def batch(
    objective: CorpusObjective, weights: np.ndarray, chosen: np.ndarray
) -> tuple[Chain, np.ndarray, np.ndarray]:
    """These sentences as chains, their scores, and their tokens' places in the corpus."""
    from concordant.kernels.tokens import batch_scores

    features = objective.features
    tokens = spans(features.offsets, chosen)
    chain = Chain(
        features.lengths[chosen], objective.layout.n_classes,
        node_weight=objective.node_weight[tokens],
    )  # fmt: skip
    scores = chain.empty()
    arrays = objective.arrays(weights)
    *given, _, intercept, offsets = arrays
    chain.tables(scores)[...] = objective.layout.split(weights)[1]
    chain.forbidden = objective.forbidden
    batch_scores(*given, intercept, offsets, chosen, chain.offsets, chain.nodes(scores))
    return chain, scores, tokens


def hinge_atoms(objective: CorpusObjective, weights: np.ndarray, chosen: np.ndarray) -> Atoms:
    """The answers of loss-augmented decoding."""
    chain, scores, tokens = batch(objective, weights, chosen)
    costs = objective.node_weight[tokens, None] * objective.model.costs.T[objective.codes[tokens]]
    chain.nodes(scores)[...] += costs
    labels, upper = chain.decode(scores)
    mu = chain.parts([labels])
    bonus = np.add.reduceat(costs[np.arange(len(labels)), labels], chain.offsets[:-1])
    return Atoms(upper, chain.nodes(mu), chain.tables(mu), bonus)


def game_atoms(
    objective: CorpusObjective, weights: np.ndarray, chosen: np.ndarray, p: np.ndarray,
    tau: np.ndarray, tolerance: float,
) -> Atoms:  # fmt: skip
    """Near-equilibria. `p` (N, r) and `tau` (n,) hold where all games stopped, and are updated."""
    from concordant.oracles.node_game import play

    chain, scores, tokens = batch(objective, weights, chosen)
    loss = NodeCosts(chain, objective.model.costs)
    ones = np.ones(len(chosen))
    result = play(chain, loss, scores, ones, tolerance, p[tokens], 4.0 * tau[chosen])
    p[tokens], tau[chosen] = result.p, result.tau
    mu = result.mu
    return Atoms(result.upper, chain.nodes(mu), chain.tables(mu), result.bonus)


def hinge_value(objective: CorpusObjective, weights: np.ndarray) -> float:
    """The sum over sentences of the plain hinge."""

    def run(rows: slice) -> float:
        chosen = np.arange(rows.start, rows.stop)
        return float(objective.weight[chosen] @ hinge_atoms(objective, weights, chosen).upper)

    total = sum(objective.executor.map(run, chunks(objective.n_examples, BATCH)))
    return float(total - objective.gold @ weights)


def atom_totals(objective: CorpusObjective, weights: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Weighted sums of the atoms of all sentences: upper bounds, bonuses, features."""
    from concordant.kernels.tokens import add_gradient

    p = truth_strategies(objective) if objective.model.adversarial else np.zeros((0, 0))
    tau = np.full(objective.n_examples, 0.125 * objective.scale)

    def run(part: tuple[int, int]) -> tuple[float, float, np.ndarray]:
        value = gain = 0.0
        gradient = objective.start()
        node, pairs, free = objective.layout.split(gradient)
        given = objective.arrays(gradient)[:5]
        for first in range(*part, BATCH):
            chosen = np.arange(first, min(first + BATCH, part[1]))
            if objective.model.adversarial:
                enough = 1e-3 * objective.scale
                atoms = game_atoms(objective, weights, chosen, p, tau, enough)
            else:
                atoms = hinge_atoms(objective, weights, chosen)
            c = objective.weight[chosen]
            value += float(c @ atoms.upper)
            gain += float(c @ atoms.bonus)
            start, stop = objective.features.offsets[[chosen[0], chosen[-1] + 1]]
            mu = np.repeat(c, objective.features.lengths[chosen])[:, None] * atoms.nodes
            add_gradient(*given, mu, start, stop, node)
            free += mu.sum(axis=0)
            pairs += np.tensordot(c, atoms.tables, 1)
        return value, gain, gradient

    done = objective.executor.map(run, objective.parts)
    values, gains, gradients = zip(*done)
    return float(sum(values)), float(sum(gains)), sum(gradients[1:], start=gradients[0])


def truth_strategies(objective: CorpusObjective) -> np.ndarray:
    """Strategies (N, r) that play the best action for the true label."""
    costs = objective.model.costs
    return np.eye(len(costs))[LabelCosts(costs).own_action[objective.codes]]


def game_value(objective: CorpusObjective, weights: np.ndarray, p: np.ndarray) -> float:
    """An upper bound of the sum of the games' values: the best replies to the strategies `p`."""

    def run(rows: slice) -> float:
        chosen = np.arange(rows.start, rows.stop)
        chain, scores, tokens = batch(objective, weights, chosen)
        chain.nodes(scores)[...] += NodeCosts(chain, objective.model.costs).raised(p[tokens])
        return float(objective.weight[chosen] @ chain.decode(scores)[1])

    total = sum(objective.executor.map(run, chunks(objective.n_examples, BATCH)))
    return float(total - objective.gold @ weights)
