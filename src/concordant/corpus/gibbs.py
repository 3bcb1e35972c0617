"""Online exponentiated gradients on the dual of a corpus (Collins et al. 2008 for the log loss).

Each sentence keeps a distribution over its labelings, as the scores `theta` that give it, and the
weights are those of all of them together: a dual point, so every pass is certified. No step size
is asked for; each sentence finds its own (see `concordant.kernels.gibbs`).

Threads take turns in streams (Smith et al. 2018): two halves of a mini-batch are gone through at
once, each with weights of its own, and then exchange what they changed. Two streams that both
repair the same error would together overshoot, so each counts its own changes twice until the
exchange: then the dual cannot fall. (Counted once they diverge on CoNLL-2000; proposing many steps
at the same weights and taking those that still gain is slower than one thread.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.corpus.blocks import features_of

if TYPE_CHECKING:
    from concordant.corpus.objective import CorpusObjective

#: Streams, and sentences of each between two exchanges, at most this share of those ever visited.
STREAMS, ROUND, SHARE = 2, 64, 16
#: First temperature of a hinge, in largest costs; it falls when gaps are this share of the blur.
FIRST_TAU, SHARPEN = 2.0, 1.5


class Stream:
    """One of the orders in which steps follow each other at once.

    It has weights of its own, and writes down what its steps change (node weights, by how much,
    and transitions) in two rooms in turns: one is read by others while the next is written.
    """

    def __init__(self, objective: CorpusObjective, weights: np.ndarray):
        room = ROUND * objective.most_touched()  # memory that is never written costs nothing
        self.weights = weights
        self.moved = np.zeros(objective.layout.n_nodes)
        self.rooms = [(np.empty(room, np.int32), np.empty(room)) for _ in range(2)]
        self.written: list[Any] = []

    def room(self) -> tuple[np.ndarray, np.ndarray]:
        self.rooms.reverse()
        return self.rooms[0]


@dataclass
class Blocks:
    """A point of every sentence's polytope for one of the losses: see `kernels.gibbs`.

    A sentence without a step yet rests at its answer and has the rate 0.
    """

    mass: np.ndarray
    costs: np.ndarray
    game: bool
    tau: float
    theta: np.ndarray
    theta_tables: np.ndarray
    mu: np.ndarray
    tables: np.ndarray
    entropy: np.ndarray
    worth: np.ndarray
    rates: np.ndarray
    gaps: np.ndarray

    @property
    def kept(self) -> tuple[np.ndarray, ...]:
        """The arrays that kernels change."""
        return (
            self.theta, self.theta_tables, self.mu, self.tables, self.entropy, self.worth,
            self.rates, self.gaps,
        )  # fmt: skip

    @property
    def blur(self) -> float:
        """What smoothing takes off the dual."""
        return self.tau * float(self.mass @ self.entropy) if len(self.costs) else 0.0

    @property
    def gain(self) -> float:
        """The first term of the dual."""
        return float(self.mass @ (self.worth if len(self.costs) else self.entropy))


@dataclass
class GibbsState:
    """A dual point of the corpus, and the weights it stands for: those of the first stream."""

    blocks: list[Blocks]
    streams: list[Stream]
    visited: int = 0

    @property
    def weights(self) -> np.ndarray:
        return self.streams[0].weights

    @property
    def gaps(self) -> np.ndarray:
        """Of all sentences for one loss, then for the other."""
        return np.concatenate([blocks.gaps for blocks in self.blocks])

    @property
    def left(self) -> float:
        """About what the gap is."""
        return sum(float(blocks.gaps.sum()) + blocks.blur for blocks in self.blocks)


def start(objective: CorpusObjective) -> GibbsState:
    """Every sentence at its true answer (unknown labels at the first one)."""
    alpha, costs, scale = objective.model.alpha, objective.model.costs, objective.scale
    weight = objective.weight
    blocks = []
    if alpha > 0.0:
        own = alpha * weight * objective.log_weight
        blocks.append(_at_answers(objective, own, np.zeros((0, 0)), 1.0))
    if alpha < 1.0:
        blocks.append(_at_answers(objective, (1.0 - alpha) * weight, costs, FIRST_TAU * scale))
    weights = objective.start()
    if (objective.codes < 0).any():
        weights = dual_weights(objective, blocks)
    streams = [Stream(objective, weights)]
    streams += [Stream(objective, weights.copy()) for _ in range(STREAMS - 1)]
    return GibbsState(blocks, streams)


def _at_answers(
    objective: CorpusObjective, mass: np.ndarray, costs: np.ndarray, tau: float
) -> Blocks:
    features, n, k = objective.features, objective.n_examples, objective.layout.n_classes
    codes, offsets = np.maximum(objective.codes, 0), features.offsets
    mu = np.zeros((len(codes), k), np.float32)
    mu[np.arange(len(codes)), codes] = 1.0
    tables = np.zeros((n, k, k), np.float32)
    left = np.delete(np.arange(len(codes)), offsets[1:] - 1)
    owner = np.repeat(np.arange(n), features.lengths - 1)
    np.add.at(tables, (owner, codes[left], codes[left + 1]), 1.0)
    worth = np.zeros(n)
    if len(costs):
        each = costs.min(axis=0)[codes] if objective.model.adversarial else costs[codes, codes]
        worth = np.add.reduceat(objective.node_weight * each, offsets[:-1])
    return Blocks(
        mass, costs, objective.model.adversarial, tau, np.zeros(mu.shape, mu.dtype),
        np.zeros(tables.shape, mu.dtype), mu, tables, np.zeros(n), worth, np.zeros(n),
        mass * tau * features.lengths * np.log(k),
    )  # fmt: skip


def gibbs_pass(objective: CorpusObjective, state: GibbsState, order: np.ndarray) -> None:
    """One step on each of these sentences (one also where it is listed again soon)."""
    from concordant.kernels.gibbs import follow, gibbs_steps

    streams, n = state.streams, objective.n_examples
    given = [objective.arrays(stream.weights) for stream in streams]

    def catch_up(i: int) -> None:
        for j, other in enumerate(streams):
            # One's own have been counted STREAMS times.
            times = 1.0 if j != i else 1.0 - STREAMS
            for places, amounts, shift, number in other.written:
                follow(*given[i][5:7], places, amounts, number, shift, times)

    def run(work: tuple[int, np.ndarray]) -> list[Any]:
        i, chosen = work
        catch_up(i)
        out, (places, amounts), used = [], streams[i].room(), 0
        for b, blocks in enumerate(state.blocks):
            own = chosen[chosen // n == b] - b * n
            shift = np.empty_like(objective.blocked)
            rest = places[used:], amounts[used:]
            number = gibbs_steps(
                given[i], own, objective.codes, blocks.mass, blocks.tau, blocks.costs,
                blocks.game, objective.node_weight, blocks.kept, STREAMS, *rest, shift,
                streams[i].moved,
            )  # fmt: skip
            out.append((*rest, shift, number))
            used += number
        return out

    begin = 0
    while begin < len(order):
        seen = min(state.visited, n)
        batch = STREAMS * int(np.clip(seen // (SHARE * STREAMS), 1, ROUND))
        chosen = np.unique(order[begin : begin + batch])
        begin, state.visited = begin + batch, state.visited + batch
        work = [(i, chosen[i::STREAMS]) for i in range(STREAMS)]
        for stream, written in zip(streams, objective.executor.map(run, work)):
            stream.written = written
    open_ = objective.blocked == 0.0
    for i, stream in enumerate(streams):
        catch_up(i)
        objective.layout.split(stream.weights)[1][open_] = given[i][6][open_]
    for stream in streams:
        stream.written = []
    for blocks in state.blocks:
        if len(blocks.costs) and blocks.gaps.sum() <= SHARPEN * blocks.blur:
            blocks.tau *= 0.6


def certify(objective: CorpusObjective, state: GibbsState) -> tuple[np.ndarray, float, float]:
    """The state's weights, the primal value there (of games an upper bound), the dual value at its
    point."""
    from concordant.corpus.objective import DualPoint

    whole, weights, point = objective.whole(state.weights)
    gain = sum(blocks.gain for blocks in state.blocks)
    dual = whole.dual(DualPoint(gain, point))
    if objective.model.adversarial:
        loss = _value_of_plays(objective, state) - float(whole.gold @ weights)
        primal = loss + whole.penalty_value(weights)
    else:
        primal = whole.primal(weights)
        loss = primal - whole.penalty_value(weights)
    if objective.multipliers is not None:
        objective.multipliers.move(state.weights, loss, gain)
    return weights, primal, dual


def _value_of_plays(objective: CorpusObjective, state: GibbsState) -> float:
    from concordant.kernels.gibbs import value_of_plays

    given, (blocks,) = objective.arrays(state.weights), state.blocks

    def run(part: tuple[int, int]) -> float:
        return value_of_plays(
            given, *part, objective.codes, blocks.mass, blocks.tau, blocks.costs,
            objective.node_weight, blocks.mu,
        )  # fmt: skip

    return sum(objective.executor.map(run, objective.parts))


def dual_weights(objective: CorpusObjective, blocks: list[Blocks]) -> np.ndarray:
    """The weights of a dual point, from the point itself."""
    out = objective.gold.copy()
    for each in blocks:
        out -= features_of(objective, each.mass, each.mu, each.tables)
    return out
