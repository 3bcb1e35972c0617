"""Chains and matchings, small and obvious: the second and third case of every abstraction."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import entr, logsumexp

from concordant.scorers.base import Scorer
from concordant.structures import PartLoss, Structure

Array = np.ndarray


# --- chains ---------------------------------------------------------------------------------


class Chain(Structure):
    """Sequences of labels 0..k-1, of any lengths; targets are an object array of int arrays.

    An example's parts are its node indicators (T, k), then its edge indicators (T - 1, k, k);
    the part array is flat, example after example.
    """

    def __init__(self, lengths: Any, k: int):
        self.lengths = np.asarray(lengths, dtype=int)
        self.k = k
        self.n_examples = len(self.lengths)
        self.sizes = self.lengths * k + (self.lengths - 1) * k * k
        self.starts = np.r_[0, np.cumsum(self.sizes)]
        places = [s + np.arange(T * k).reshape(T, k) for s, T in zip(self.starts, self.lengths)]
        self.nodes = np.concatenate(places)  # where the node parts of the batch are

    def views(self, a: Array) -> list[tuple[Array, Array]]:
        """Each example's (nodes, edges), as views of a part array."""
        out, k = [], self.k
        for start, stop, T in zip(self.starts, self.starts[1:], self.lengths):
            cut = start + T * k
            out.append((a[start:cut].reshape(T, k), a[cut:stop].reshape(T - 1, k, k)))
        return out

    def parts(self, target: Any) -> Array:
        mu = np.zeros(self.starts[-1])
        for (node, edge), y in zip(self.views(mu), target):
            node[np.arange(len(y)), y] = 1.0
            edge[np.arange(len(y) - 1), y[:-1], y[1:]] = 1.0
        return mu

    def dot(self, a: Array, b: Array) -> Array:
        return np.add.reduceat(a * b, self.starts[:-1])

    def scale(self, factor: Array, a: Array) -> Array:
        return np.repeat(factor, self.sizes) * a

    def take(self, rows: Any) -> tuple[Chain, Any]:
        part = Chain(self.lengths[rows], self.k)
        chosen = np.arange(self.n_examples)[rows]
        if isinstance(rows, slice):
            stop = self.starts[chosen[-1] + 1] if len(chosen) else self.starts[0]
            return part, slice(self.starts[chosen[0]] if len(chosen) else stop, stop)
        spans = [np.arange(self.starts[i], self.starts[i + 1]) for i in chosen]
        return part, np.concatenate(spans)

    def argmax(self, scores: Array) -> Array:
        """Viterbi's algorithm."""
        answers = []
        for node, edge in self.views(scores):
            best, back = node[0], []
            for here, step in zip(node[1:], edge):
                reach = best[:, None] + step
                back.append(reach.argmax(axis=0))
                best = reach.max(axis=0) + here
            path = [int(best.argmax())]
            for came_from in reversed(back):
                path.append(int(came_from[path[-1]]))
            answers.append(np.array(path[::-1]))
        return self.parts(answers)

    def marginals(self, scores: Array) -> tuple[Array, Array]:
        """Forward-backward, in logarithms."""
        mu, partition = np.empty_like(scores), np.empty(self.n_examples)
        for i, ((node, edge), (p, pair)) in enumerate(zip(self.views(scores), self.views(mu))):
            T = len(node)
            ahead, behind = node.copy(), np.zeros_like(node)
            for t in range(1, T):
                ahead[t] += logsumexp(ahead[t - 1][:, None] + edge[t - 1], axis=0)
            for t in range(T - 2, -1, -1):
                behind[t] = logsumexp(edge[t] + node[t + 1] + behind[t + 1], axis=1)
            partition[i] = logsumexp(ahead[-1])
            p[...] = np.exp(ahead + behind - partition[i])
            arrive = (node + behind)[1:, None, :]
            pair[...] = np.exp(ahead[:-1, :, None] + edge + arrive - partition[i])
        return partition, mu

    def entropy(self, mu: Array) -> Array:
        """Bethe's formula, exact on chains: edges less the nodes counted twice."""
        out = []
        for node, edge in self.views(np.maximum(mu, 0.0)):
            alone = len(node) == 1
            out.append(entr(node if alone else edge).sum() - entr(node[1:-1]).sum())
        return np.array(out)

    def enumerate(self) -> list[Array]:
        """All answers of each example, one a row."""
        tables = []
        for T in self.lengths:
            one = Chain([T], self.k)
            paths = product(range(self.k), repeat=int(T))
            tables.append(np.array([one.parts([np.array(y)]) for y in paths]))
        return tables

    def loss(self, loss: Any) -> PartLoss:
        return NodeCosts(self, loss)


class NodeCosts(PartLoss):
    """A k x k table ``costs[action, truth]``, added up over the nodes."""

    def __init__(self, chain: Chain, costs: Any):
        self.chain = chain
        self.costs = np.asarray(costs, dtype=float)
        self.scale = self.costs.max()

    def on(self, structure: Structure) -> NodeCosts:
        return NodeCosts(structure, self.costs)

    def _at_nodes(self, a: Array, table: Array) -> Array:
        out = np.zeros_like(a)
        out[self.chain.nodes] = a[self.chain.nodes] @ table
        return out

    def of_actions(self, q: Array) -> Array:
        return self._at_nodes(q, self.costs.T)

    def of_truths(self, p: Array) -> Array:
        return self._at_nodes(p, self.costs)


class ChainScorer(Scorer):
    """Features (T, d) of nodes times weights (d, k), and transition weights (k, k)."""

    def __init__(self, features: Any, k: int):
        self.features = features  # object array of (T, d) arrays
        self.n_examples = len(features)
        self.d, self.k = features[0].shape[1], k
        self.chain = Chain([len(x) for x in features], k)

    def start(self) -> Array:
        return np.zeros((self.d + self.k, self.k))

    def scores(self, weights: Array) -> Array:
        out = np.empty(self.chain.starts[-1])
        for x, (node, edge) in zip(self.features, self.chain.views(out)):
            node[...] = x @ weights[: self.d]
            edge[...] = weights[self.d :]
        return out

    def pullback(self, residual: Array) -> Array:
        out = self.start()
        for x, (node, edge) in zip(self.features, self.chain.views(residual)):
            out[: self.d] += x.T @ node
            out[self.d :] += edge.sum(axis=0)
        return out

    def square_norms(self) -> Array:
        return np.array([max(np.linalg.norm(x, 2) ** 2, len(x) - 1) for x in self.features])

    def take(self, rows: Any) -> ChainScorer:
        return ChainScorer(self.features[rows], self.k)


# --- matchings ------------------------------------------------------------------------------


class Matching(Structure):
    """Permutations of m things: parts (n, m * m), targets (n, m) with y[i] matched to i."""

    def __init__(self, n_examples: int, m: int):
        self.n_examples, self.m = n_examples, m
        orders = list(permutations(range(m)))
        self.all = np.array([np.eye(m)[list(y)].ravel() for y in orders])

    def parts(self, target: Any) -> Array:
        return np.eye(self.m)[np.asarray(target)].reshape(self.n_examples, -1)

    def dot(self, a: Array, b: Array) -> Array:
        return np.einsum("ij,ij->i", a, b)

    def scale(self, factor: Array, a: Array) -> Array:
        return factor[:, None] * a

    def take(self, rows: Any) -> tuple[Matching, Any]:
        return Matching(len(np.arange(self.n_examples)[rows]), self.m), rows

    def argmax(self, scores: Array) -> Array:
        tables = scores.reshape(-1, self.m, self.m)
        return self.parts([linear_sum_assignment(table, maximize=True)[1] for table in tables])

    def marginals(self, scores: Array) -> tuple[Array, Array]:
        worth = scores @ self.all.T
        partition = logsumexp(worth, axis=1)
        return partition, np.exp(worth - partition[:, None]) @ self.all

    def entropy(self, mu: Array) -> Array:
        return np.array([self._entropy(row) for row in mu])

    def _entropy(self, mu: Array) -> float:
        """``min_theta log-partition(theta) - <theta, mu>`` by damped Newton steps.

        A matching through a part of mass 0 has probability 0 (every face of the polytope is
        like that); without those the minimum is attained.
        """
        answers = self.all[(self.all[:, mu < 1e-10] == 0).all(axis=1)]
        theta, value, p = np.zeros_like(mu), np.log(len(answers)), np.full(len(answers), 1.0)
        for _ in range(100):
            p /= p.sum()
            gradient = p @ answers - mu
            if np.abs(gradient).max() < 1e-12:
                break
            curvature = (answers.T * p) @ answers - np.outer(p @ answers, p @ answers)
            move = -np.linalg.lstsq(curvature, gradient, rcond=1e-12)[0]
            step = 1.0
            while step > 1e-6:
                trial = theta + step * move
                new = logsumexp(answers @ trial) - trial @ mu
                if new <= value + 1e-4 * step * (gradient @ move):
                    break
                step /= 2.0
            else:
                break
            theta, value = trial, new
            p = np.exp(answers @ theta - (answers @ theta).max())
        return float(value)

    def enumerate(self) -> list[Array]:
        """All answers of each example, one a row."""
        return [self.all] * self.n_examples

    def loss(self, loss: Any) -> PartLoss:
        assert loss == "hamming"
        return Mismatches()


class Mismatches(PartLoss):
    """Number of things matched wrongly."""

    def of_actions(self, q: Array) -> Array:
        return 1.0 - q

    def of_truths(self, p: Array) -> Array:
        return 1.0 - p


class PairScorer(Scorer):
    """Features (m * m, d) of pairs times weights (d,)."""

    def __init__(self, features: Array):
        self.features = features  # (n, m * m, d)
        self.n_examples = len(features)

    def start(self) -> Array:
        return np.zeros(self.features.shape[2])

    def scores(self, weights: Array) -> Array:
        return self.features @ weights

    def pullback(self, residual: Array) -> Array:
        return np.einsum("ipd,ip->d", self.features, residual)

    def square_norms(self) -> Array:
        return np.array([np.linalg.norm(x, 2) ** 2 for x in self.features])

    def take(self, rows: Any) -> PairScorer:
        return PairScorer(self.features[rows])
