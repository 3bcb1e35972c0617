"""Block-coordinate Frank-Wolfe on the dual of a corpus (Lacoste-Julien et al. 2013).

Each sentence keeps a point mu of its polytope: node marginals and summed pairs. A step asks the
route for the best answer at the present weights (a labelling for the hinge, an equilibrium for the
adversarial route) and moves mu towards it by an exact line search, so the dual never falls. The
answers of a mini-batch are asked for together, by threads; the steps follow one after another,
each measured at the weights of its moment. Sentences are visited in proportion to the gaps they
showed last (Osokin et al. 2016).

Where the best answer to the true labels, the predictor's first strategy, is the truth itself, a
sentence's game is solved by that one question (`play` begins with it); soon most are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from concordant.corpus.oracles import (
    Atoms,
    game_atoms,
    game_value,
    hinge_atoms,
    hinge_value,
)
from concordant.structures.pairwise import offsets_of

if TYPE_CHECKING:
    from concordant.corpus.objective import CorpusObjective

#: Sentences whose answers are asked for at the same weights: pieces of a mini-batch.
PIECE, PIECES = 32, 4


@dataclass
class BlockState:
    """A dual point of the corpus with the weights it stands for."""

    weights: np.ndarray
    mu: np.ndarray
    tables: np.ndarray
    bonus: np.ndarray
    gaps: np.ndarray
    tolerance: float
    p: np.ndarray | None = None
    tau: np.ndarray | None = None


def start(objective: CorpusObjective) -> BlockState:
    """Every sentence at its true answer, where it pulls at no weight."""
    k, n = objective.layout.n_classes, objective.n_examples
    codes, offsets = objective.codes, objective.features.offsets
    mu = np.zeros((len(codes), k))
    mu[np.arange(len(codes)), codes] = 1.0
    tables = np.zeros((n, k, k))
    owner = np.repeat(np.arange(n), objective.features.lengths)
    left = np.delete(np.arange(len(codes)), offsets[1:] - 1)
    np.add.at(tables, (owner[left], codes[left], codes[left + 1]), 1.0)
    costs = objective.model.costs
    state = BlockState(
        objective.start(), mu, tables, np.zeros(n), np.full(n, np.inf), 0.1 * objective.scale
    )
    if objective.model.adversarial:
        own = costs.argmin(axis=0)[codes]
        own = np.where(
            costs[np.minimum(codes, len(costs) - 1), codes] <= costs[own, codes], codes, own
        )
        state.p = np.eye(len(costs))[own]
        state.tau = np.full(n, 0.125 * objective.scale)
        state.bonus = _least_bonus(objective, mu)
    else:
        each = objective.node_weight * costs[codes, codes]
        state.bonus = np.add.reduceat(each, offsets[:-1])
    return state


def _least_bonus(objective: CorpusObjective, mu: np.ndarray) -> np.ndarray:
    """Least expected cost of any prediction against these marginals, per sentence."""
    least = objective.node_weight * (mu @ objective.model.costs.T).min(axis=1)
    return np.add.reduceat(least, objective.features.offsets[:-1])


def block_pass(objective: CorpusObjective, state: BlockState, order: np.ndarray) -> None:
    """One step on each of these sentences."""
    from concordant.kernels.steps import block_steps

    node, transitions, free = objective.layout.split(state.weights)
    lengths = objective.features.lengths
    scratch = objective.scratch()
    f, layout = objective.features, objective.layout
    for begin in range(0, len(order), PIECE * PIECES):
        chosen = order[begin : begin + PIECE * PIECES]
        pieces = [chosen[a : a + PIECE] for a in range(0, len(chosen), PIECE)]
        for piece, atoms in zip(
            pieces, objective.executor.map(lambda piece: _ask(objective, state, piece), pieces)
        ):
            gaps = np.empty(len(piece))
            work = transitions + objective.blocked
            block_steps(
                f.indptr, f.indices, f.values, layout.begin, layout.labels, node, work, free,
                f.offsets, piece, offsets_of(lengths[piece]), atoms.nodes, atoms.tables,
                atoms.bonus, objective.weight, state.mu, state.tables, state.bonus, *scratch, gaps,
            )  # fmt: skip
            open_ = objective.blocked == 0.0
            transitions[open_] = work[open_]
            state.gaps[piece] = objective.weight[piece] * np.maximum(gaps, 0.0)
    if objective.model.adversarial:  # the bonus is concave: a mixture's is larger than the mean
        state.bonus = np.maximum(state.bonus, _least_bonus(objective, state.mu))


def _ask(objective: CorpusObjective, state: BlockState, piece: np.ndarray) -> Atoms:
    if not objective.model.adversarial:
        return hinge_atoms(objective, state.weights, piece)
    assert state.p is not None
    assert state.tau is not None
    return game_atoms(objective, state.weights, piece, state.p, state.tau, state.tolerance)


def certify(objective: CorpusObjective, state: BlockState) -> tuple[np.ndarray, float, float]:
    """The state's weights freed of rounding drift, primal value there, dual value at its point."""
    from concordant.corpus.objective import DualPoint

    state.weights = dual_weights(objective, state.mu, state.tables)
    whole, weights, point = objective.whole(state.weights)
    if state.p is None:
        value = hinge_value(whole, weights)
    else:
        value = game_value(whole, weights, state.p)
    gain = float(objective.weight @ state.bonus)
    primal, dual = value + whole.penalty_value(weights), whole.dual(DualPoint(gain, point))
    if objective.multipliers is not None:
        objective.multipliers.move(state.weights, value, gain)
    state.tolerance = float(
        np.clip(0.2 * (primal - dual) / objective.weight.sum(), 1e-4, 0.1) * objective.scale
    )
    return weights, primal, dual


def dual_weights(objective: CorpusObjective, mu: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """The weights of a dual point, from the point itself."""
    return objective.gold - features_of(objective, objective.mass, mu, tables)


def features_of(
    objective: CorpusObjective, mass: np.ndarray, mu: np.ndarray, tables: np.ndarray
) -> np.ndarray:
    """The features of these points of the polytopes, sentences weighted by `mass`."""
    from concordant.kernels.tokens import add_gradient

    given, offsets = objective.arrays(objective.start())[:5], objective.features.offsets

    def run(part: tuple[int, int]) -> np.ndarray:
        out = objective.start()
        node, pairs, free = objective.layout.split(out)
        for first in range(*part, 256):  # a few sentences at a time: what is added is dense
            last = min(first + 256, part[1])
            start, stop = offsets[first], offsets[last]
            c = np.repeat(mass[first:last], objective.features.lengths[first:last])
            own = c[:, None] * mu[start:stop]
            add_gradient(*given, own, start, stop, node)
            free += own.sum(axis=0)
            pairs += np.tensordot(mass[first:last], tables[first:last], 1)
        return out

    done = objective.executor.map(run, objective.parts)
    return sum(done[1:], start=done[0])
