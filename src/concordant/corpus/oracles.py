"""Best answers and games of some sentences of a corpus, as a batch of chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from concordant.executor import chunks
from concordant.structures import Chain, NodeCosts
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
    *given, transitions, intercept, offsets = arrays
    chain.tables(scores)[...] = transitions
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
        upper = hinge_atoms(objective, weights, chosen).upper
        return float(objective.weight[chosen] @ (upper - truth_scores(objective, weights, chosen)))

    return float(sum(objective.executor.map(run, chunks(objective.n_examples, BATCH))))


def game_value(objective: CorpusObjective, weights: np.ndarray, p: np.ndarray) -> float:
    """An upper bound of the sum of the games' values: the best replies to the strategies `p`."""

    def run(rows: slice) -> float:
        chosen = np.arange(rows.start, rows.stop)
        chain, scores, tokens = batch(objective, weights, chosen)
        truth = _truth_of(objective, chain, scores, tokens)
        chain.nodes(scores)[...] += NodeCosts(chain, objective.model.costs).raised(p[tokens])
        return float(objective.weight[chosen] @ (chain.decode(scores)[1] - truth))

    return float(sum(objective.executor.map(run, chunks(objective.n_examples, BATCH))))


def truth_scores(objective: CorpusObjective, weights: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Scores of the true answers of these sentences."""
    return _truth_of(objective, *batch(objective, weights, chosen))


def _truth_of(
    objective: CorpusObjective, chain: Chain, scores: np.ndarray, tokens: np.ndarray
) -> np.ndarray:
    codes = objective.codes[tokens]
    nodes = chain.nodes(scores)[np.arange(len(codes)), codes]
    out = np.add.reduceat(nodes, chain.offsets[:-1])
    left, right = codes[chain.edges].T
    worth = chain.tables(scores)[chain.table_of_edge, left, right]
    return out + np.bincount(chain.table_of_edge, worth, chain.n_examples)
