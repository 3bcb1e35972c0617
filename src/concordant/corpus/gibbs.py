"""Online exponentiated gradients on the dual of the log route (Collins et al. 2008).

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

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from concordant.corpus.blocks import dual_weights

if TYPE_CHECKING:
    from concordant.corpus.objective import CorpusObjective

#: Streams, and sentences of each between two exchanges, at most this share of those ever visited.
STREAMS, ROUND, SHARE = 2, 64, 16


class Stream:
    """One of the orders in which steps follow each other at once.

    It has weights of its own, and in turns two lists of what its steps changed (node weights, by
    how much, and transitions), one being read by the others while the next is written.
    """

    def __init__(self, objective: CorpusObjective, weights: np.ndarray):
        k, room = objective.layout.n_classes, ROUND * objective.most_touched()
        self.weights = weights
        self.moved = np.zeros(objective.layout.n_nodes)
        self.lists = [  # memory that is never written costs nothing
            (np.empty(room, np.int32), np.empty(room), np.zeros((k, k))) for _ in range(2)
        ]
        self.number = 0

    def turn(self) -> None:
        self.lists.reverse()


@dataclass
class GibbsState:
    """A dual point of the corpus: distributions, their scores and entropies, and the weights.

    A sentence without a step yet rests at its answer and has the rate 0.
    """

    weights: np.ndarray
    theta: np.ndarray
    theta_tables: np.ndarray
    mu: np.ndarray
    tables: np.ndarray
    entropy: np.ndarray
    rates: np.ndarray
    gaps: np.ndarray
    streams: list[Stream] = field(default_factory=list)
    visited: int = 0

    @property
    def kept(self) -> tuple[np.ndarray, ...]:
        """The arrays that kernels change."""
        return (
            self.theta, self.theta_tables, self.mu, self.tables, self.entropy, self.rates,
            self.gaps,
        )  # fmt: skip


def start(objective: CorpusObjective) -> GibbsState:
    """Every sentence at its true answer (unknown labels at the first one)."""
    features, n, k = objective.features, objective.n_examples, objective.layout.n_classes
    codes, offsets = np.maximum(objective.codes, 0), features.offsets
    mu = np.zeros((len(codes), k), np.float32)
    mu[np.arange(len(codes)), codes] = 1.0
    tables = np.zeros((n, k, k), np.float32)
    left = np.delete(np.arange(len(codes)), offsets[1:] - 1)
    owner = np.repeat(np.arange(n), features.lengths - 1)
    np.add.at(tables, (owner, codes[left], codes[left + 1]), 1.0)
    state = GibbsState(
        objective.start(), np.zeros_like(mu), np.zeros_like(tables), mu, tables, np.zeros(n),
        np.zeros(n), objective.mass * features.lengths * np.log(k),
    )  # fmt: skip
    if (objective.codes < 0).any():
        state.weights = dual_weights(objective, state.weights, state.mu, state.tables)
    state.streams = [Stream(objective, state.weights)]
    state.streams += [Stream(objective, state.weights.copy()) for _ in range(STREAMS - 1)]
    return state


def gibbs_pass(objective: CorpusObjective, state: GibbsState, order: np.ndarray) -> None:
    """One step on each of these sentences (one also where it is listed again soon)."""
    from concordant.kernels.gibbs import follow, gibbs_steps

    codes, weight, kept, streams = objective.codes, objective.mass, state.kept, state.streams
    given = [objective.arrays(stream.weights) for stream in streams]

    def catch_up(i: int) -> None:
        for j, other in enumerate(streams):
            places, amounts, shift = other.lists[0]
            # One's own have been counted STREAMS times.
            times = 1.0 if j != i else 1.0 - STREAMS
            follow(*given[i][5:7], places, amounts, other.number, shift, times)

    def run(work: tuple[int, np.ndarray]) -> int:
        i, chosen = work
        catch_up(i)
        changed, moved = streams[i].lists[1], streams[i].moved
        return gibbs_steps(given[i], chosen, codes, weight, kept, STREAMS, *changed, moved)

    begin = 0
    while begin < len(order):
        seen = min(state.visited, objective.n_examples)
        batch = STREAMS * int(np.clip(seen // (SHARE * STREAMS), 1, ROUND))
        chosen = np.unique(order[begin : begin + batch])
        begin, state.visited = begin + batch, state.visited + batch
        work = list(enumerate(np.array_split(chosen, STREAMS)))
        for stream, number in zip(streams, objective.executor.map(run, work)):
            stream.number = number
            stream.turn()
    open_ = objective.blocked == 0.0
    for i, stream in enumerate(streams):
        catch_up(i)
        objective.layout.split(stream.weights)[1][open_] = given[i][6][open_]
    for stream in streams:
        stream.number, stream.lists[0][2][...] = 0, 0.0


def certify(objective: CorpusObjective, state: GibbsState) -> tuple[float, float]:
    """Primal value at the state's weights, dual value at its point."""
    from concordant.corpus.objective import DualPoint

    gain = float(objective.mass @ state.entropy)
    dual = objective.dual(DualPoint(gain, state.weights))
    return objective.primal(state.weights), dual
