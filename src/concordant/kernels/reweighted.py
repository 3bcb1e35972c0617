"""Approximate questions about scores of graphs whose width forbids exact ones.

**Maximum.** The scores are shared out between nodes and edges: ``share[e, end]`` (k,) moves from
edge e to its node at that end, so that

    bound = sum_i max(nodes_i + shares of i's edges) + sum_e max(table_e - its two shares)

is at least the score of every labelling, whatever the shares. A step of `ascend` at node i first
takes from each edge what it can give (its maximum for each label of i), which cannot raise the
bound, then hands a part of the node's total on to the edges ahead in the order of the sweep, which
leaves the bound as it is. With the part ``1 / max(edges behind, edges ahead)`` this is sequential
tree-reweighted message passing (Kolmogorov 2006), written as block-coordinate descent on the bound.
`round_off` reads labels off in the order of the nodes and improves them node by node.

**Marginals.** `propagate` iterates the sum-product messages of Wainwright, Jaakkola and Willsky
(2005), for edge appearance probabilities rho in the spanning-tree polytope, in the same sweeps. Its
fixed point maximises ``<scores, mu> + sum_i H(mu_i) - sum_e rho_e I(mu_e)`` over locally consistent
mu, a concave problem whose maximum is at least the log-partition; with rho = 1 on a forest it is
belief propagation, and exact.

A graph's edges are ``edges`` (m, 2) between its n nodes, `tables` (m, k, k); `at` (n + 1) and
`incident` list each node's edges. No score is infinite here.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.vector import kernel


@kernel
def edge_maximum(table, share, end, out):
    """Largest entry for each label at one end of an edge, after its shares."""
    k = out.shape[0]
    for a in range(k):
        top = -np.inf
        for b in range(k):
            value = table[a, b] - share[1, b] if end == 0 else table[b, a] - share[0, b]
            top = max(top, value)
        out[a] = top - share[end, a]


@kernel
def ascend(totals, tables, edges, at, incident, share, forward, give):
    """One sweep over the nodes; `totals` (n, k) are the nodes' scores with their shares."""
    n, k = totals.shape
    for turn in range(n):
        i = turn if forward else n - 1 - turn
        behind = ahead = 0
        for place in range(at[i], at[i + 1]):
            e = incident[place]
            end = 0 if edges[e, 0] == i else 1
            edge_maximum(tables[e], share[e], end, give)
            for j in range(k):
                share[e, end, j] += give[j]
                totals[i, j] += give[j]
            if edges[e, 1 - end] > i:
                ahead += 1
            else:
                behind += 1
        part = 1.0 / max(ahead, behind, 1)
        count = ahead if forward else behind
        for place in range(at[i], at[i + 1]):
            e = incident[place]
            end = 0 if edges[e, 0] == i else 1
            if (edges[e, 1 - end] > i) == forward:
                for j in range(k):
                    share[e, end, j] -= part * totals[i, j]
        for j in range(k):
            totals[i, j] -= count * part * totals[i, j]


@kernel
def bound(totals, tables, share):
    """Upper bound on the score of every labelling."""
    out = 0.0
    for i in range(totals.shape[0]):
        out += np.max(totals[i])
    k = totals.shape[1]
    for e in range(tables.shape[0]):
        top = -np.inf
        for a in range(k):
            for b in range(k):
                top = max(top, tables[e, a, b] - share[e, 0, a] - share[e, 1, b])
        out += top
    return out


@kernel
def round_off(nodes, totals, tables, edges, at, incident, share, labels, work):
    """A labelling from the shares, then best single changes until none helps; its score."""
    n, k = totals.shape
    for i in range(n):
        for j in range(k):
            work[0, j] = totals[i, j]
        for place in range(at[i], at[i + 1]):
            e = incident[place]
            end = 0 if edges[e, 0] == i else 1
            other = edges[e, 1 - end]
            if other > i:
                edge_maximum(tables[e], share[e], end, work[1])
                for j in range(k):
                    work[0, j] += work[1, j]
            else:
                for j in range(k):
                    a, b = (j, labels[other]) if end == 0 else (labels[other], j)
                    work[0, j] += tables[e, a, b] - share[e, 0, a] - share[e, 1, b]
        labels[i] = np.argmax(work[0])
    changed = True
    while changed:
        changed = False
        for i in range(n):
            for j in range(k):
                work[0, j] = nodes[i, j]
            for place in range(at[i], at[i + 1]):
                e = incident[place]
                for j in range(k):
                    if edges[e, 0] == i:
                        work[0, j] += tables[e, j, labels[edges[e, 1]]]
                    else:
                        work[0, j] += tables[e, labels[edges[e, 0]], j]
            top = np.argmax(work[0])
            if work[0, top] > work[0, labels[i]] + 1e-12 * abs(work[0, top]):
                labels[i] = top
                changed = True
    value = 0.0
    for i in range(n):
        value += nodes[i, labels[i]]
    for e in range(tables.shape[0]):
        value += tables[e, labels[edges[e, 0]], labels[edges[e, 1]]]
    return value


@kernel
def maximum(nodes, tables, edges, at, incident, sweeps, tol, labels, trial):
    """Best labels found, their score, and an upper bound on every score.

    Stops when the bracket is closed to `tol` of the bound's size, or when neither end has moved
    by as much in ten double sweeps.
    """
    k = nodes.shape[1]
    share, give, work = np.zeros((tables.shape[0], 2, k)), np.empty(k), np.empty((2, k))
    totals = nodes.copy()
    value, upper, settled = -np.inf, np.inf, 0
    for _ in range(sweeps):
        ascend(totals, tables, edges, at, incident, share, True, give)
        ascend(totals, tables, edges, at, incident, share, False, give)
        new = bound(totals, tables, share)
        found = round_off(nodes, totals, tables, edges, at, incident, share, trial, work)
        small = tol * max(abs(new), 1e-300)
        settled = settled + 1 if new > upper - small and found <= value else 0
        if found > value:
            value = found
            labels[:] = trial
        upper = min(upper, new)
        if upper - value <= small or settled == 10:
            break
    return value, max(upper, value)


@kernel
def beliefs(nodes, message, edges, at, incident, i, out):
    """Logarithm of a node's unnormalised marginal: its scores and all messages to it."""
    for j in range(out.shape[0]):
        out[j] = nodes[i, j]
    for place in range(at[i], at[i + 1]):
        e = incident[place]
        end = 0 if edges[e, 0] == i else 1
        for j in range(out.shape[0]):
            out[j] += message[e, end, j]


@kernel
def send(table, rho, end, belief, back, out):
    """New message to the other end of an edge, its largest entry 0; `back` came from there."""
    k = out.shape[0]
    highest = -np.inf
    for b in range(k):
        top = -np.inf
        for a in range(k):
            entry = table[a, b] if end == 0 else table[b, a]
            top = max(top, (entry - back[a]) / rho + belief[a])
        mass = 0.0
        for a in range(k):
            entry = table[a, b] if end == 0 else table[b, a]
            mass += np.exp((entry - back[a]) / rho + belief[a] - top)
        out[b] = rho * (top + np.log(mass))
        highest = max(highest, out[b])
    for b in range(k):
        out[b] -= highest


@kernel
def propagate(nodes, tables, edges, at, incident, rho, sweeps, tol, message):
    """Sum-product sweeps until no message moves by `tol`; returns the last movement.

    If it does not fall within 50 double sweeps, messages move half the way only.
    """
    n, k = nodes.shape
    belief, new = np.empty(k), np.empty(k)
    moved, step = np.inf, 1.0
    for sweep in range(sweeps):
        before, moved = moved, 0.0
        for turn in range(2 * n):
            i = turn if turn < n else 2 * n - 1 - turn
            beliefs(nodes, message, edges, at, incident, i, belief)
            for place in range(at[i], at[i + 1]):
                e = incident[place]
                end = 0 if edges[e, 0] == i else 1
                if (edges[e, 1 - end] > i) == (turn < n):
                    send(tables[e], rho[e], end, belief, message[e, end], new)
                    for j in range(k):
                        change = new[j] - message[e, 1 - end, j]
                        moved = max(moved, abs(change))
                        message[e, 1 - end, j] += step * change
        if moved <= tol:
            break
        if sweep >= 50 and moved > 0.9 * before:
            step = 0.5
    return moved


@kernel
def read_off(nodes, tables, edges, at, incident, rho, message, mu, pair):
    """Marginals of nodes and edges at these messages; returns the relaxation's entropy."""
    n, k = nodes.shape
    left, right = np.empty(k), np.empty(k)
    entropy = 0.0
    for i in range(n):
        beliefs(nodes, message, edges, at, incident, i, left)
        top, mass = np.max(left), 0.0
        for j in range(k):
            mu[i, j] = np.exp(left[j] - top)
            mass += mu[i, j]
        for j in range(k):
            mu[i, j] /= mass
            if mu[i, j] > 0.0:
                entropy -= mu[i, j] * np.log(mu[i, j])
    for e in range(tables.shape[0]):
        beliefs(nodes, message, edges, at, incident, edges[e, 0], left)
        beliefs(nodes, message, edges, at, incident, edges[e, 1], right)
        top, mass = -np.inf, 0.0
        for a in range(k):
            left[a] -= message[e, 0, a] / rho[e]
            right[a] -= message[e, 1, a] / rho[e]
        for a in range(k):
            for b in range(k):
                pair[e, a, b] = tables[e, a, b] / rho[e] + left[a] + right[b]
                top = max(top, pair[e, a, b])
        for a in range(k):
            for b in range(k):
                pair[e, a, b] = np.exp(pair[e, a, b] - top)
                mass += pair[e, a, b]
        for a in range(k):
            for b in range(k):
                pair[e, a, b] /= mass
                apart = mu[edges[e, 0], a] * mu[edges[e, 1], b]
                if pair[e, a, b] > 0.0 and apart > 0.0:
                    entropy -= rho[e] * pair[e, a, b] * np.log(pair[e, a, b] / apart)
    return entropy
