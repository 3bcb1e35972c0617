"""Exact questions about scores of labelled graphs, by eliminating one node after another.

Eliminating node v asks for one table over the labels of v and of its separator, the neighbours
that are still there (through edges, or because they shared a table before). The table collects
the scores of v, of the edges between v and its separator, and the messages of earlier nodes
whose separator begins with v; maximising or summing over the label of v leaves the message of v,
one number for each labelling (row) of its separator. On forests a separator has at most one
node; in general the work is exponential in the largest, the width.

A schedule (built once a batch by `concordant.structures.elimination`) says all this in flat
arrays. Steps are nodes in the order of elimination, example after example:

- `variable`, `size`, `use_count`: the node (counted within its example), the nodes in its
  separator, and the edges and messages that its table collects;
- `message_at`: where its message stands in the example's scratch;
- `source`: one entry a use: the edge (within the example), or -1 less the place of a message;
- `strides`: for each use, how its entry moves with the label of each separator node and of v.

`starts` (n + 1, 5) holds where an example's nodes, edges, uses and strides begin in these arrays,
and in its last column the size of its tables is summed up. Scores are `nodes` (N, k) and the flat
tables; `table_of_edge` says which table an edge uses.

Sums keep, instead of the table of v, the distribution of its label in each row. The way back
multiplies these by what the separator already has, so that nothing is divided, and nothing
underflows that is not negligible. Minus infinity forbids a label or a pair.
"""

from __future__ import annotations

import numpy as np

from concordant.kernels.vector import exp_shifted, kernel, largest, total


@kernel
def next_row(digits, size, k, strides, at, place):
    """Count the labels in `digits` up by one; returns the place that moves along."""
    axis = size - 1
    while axis >= 0:
        stride = strides[at + axis]
        digits[axis] += 1
        place += stride
        if digits[axis] < k:
            break
        place -= k * stride
        digits[axis] = 0
        axis -= 1
    return place


@kernel
def gather(table, rows, k, size, values, place, strides, at, digits):
    """Add to every entry of `table` the one of `values` that its labels point to."""
    step = strides[at + size]
    digits[:size] = 0
    for row in range(rows):
        for j in range(k):
            table[row * k + j] += values[place + j * step]
        place = next_row(digits, size, k, strides, at, place)


@kernel
def scatter(table, rows, k, size, values, place, strides, at, digits):
    """The transpose of `gather`."""
    step = strides[at + size]
    digits[:size] = 0
    for row in range(rows):
        for j in range(k):
            values[place + j * step] += table[row * k + j]
        place = next_row(digits, size, k, strides, at, place)


@kernel
def collect(
    i, step, use, at, schedule, starts, nodes, tables, table_of_edge, messages, table, digits
):
    """The table of one step, rows of k; returns how many rows."""
    variable, size, use_count, _, source, strides = schedule
    k, s = nodes.shape[1], size[step]
    rows = k**s
    node = starts[i, 0] + variable[step]
    for row in range(rows):
        for j in range(k):
            table[row * k + j] = nodes[node, j]
    for u in range(use, use + use_count[step]):
        if source[u] >= 0:
            place = table_of_edge[starts[i, 1] + source[u]] * k * k
            gather(table, rows, k, s, tables, place, strides, at, digits)
        else:
            gather(table, rows, k, s, messages, -1 - source[u], strides, at, digits)
        at += s + 1
    return rows


@kernel
def descend(i, schedule, starts, k, choice, places, labels):
    """Labels of an example, last eliminated first, by the `choice` in each row."""
    variable, size, use_count, message_at, source, strides = schedule
    use, at = starts[i + 1, 2], starts[i + 1, 3]
    for step in range(starts[i + 1, 0] - 1, starts[i, 0] - 1, -1):
        s, here = size[step], message_at[step]
        row = places[here] if s > 0 else 0
        label = choice[here + row]
        labels[starts[i, 0] + variable[step]] = label
        use -= use_count[step]
        at -= use_count[step] * (s + 1)
        for u in range(use_count[step]):
            if source[use + u] < 0:  # an earlier node: its row, now that all labels are known
                first, rest, place = at + u * (s + 1), row, label * strides[at + u * (s + 1) + s]
                for axis in range(s - 1, -1, -1):
                    place += (rest % k) * strides[first + axis]
                    rest //= k
                places[-1 - source[use + u]] = place


@kernel
def best(
    examples, schedule, starts, nodes, tables, table_of_edge,
    table, messages, choice, places, digits, labels, values,
):  # fmt: skip
    """Best labels of these examples and their scores; of equals, the first in each table."""
    _, size, use_count, message_at, _, _ = schedule
    k = nodes.shape[1]
    for i in examples:
        use, at, value = starts[i, 2], starts[i, 3], 0.0
        for step in range(starts[i, 0], starts[i + 1, 0]):
            rows = collect(
                i, step, use, at, schedule, starts, nodes, tables, table_of_edge,
                messages, table, digits,
            )  # fmt: skip
            here = message_at[step]
            for row in range(rows):
                label = 0
                for j in range(1, k):
                    label = j if table[row * k + j] > table[row * k + label] else label
                messages[here + row] = table[row * k + label]
                choice[here + row] = label
            value += messages[here] if size[step] == 0 else 0.0
            use += use_count[step]
            at += use_count[step] * (size[step] + 1)
        values[i] = value
        descend(i, schedule, starts, k, choice, places, labels)


@kernel
def distribute(row):
    """Turn logarithms of weights into a distribution; returns the log of their sum."""
    top = largest(row)
    if top == -np.inf:
        row[:] = 0.0
        return top
    exp_shifted(row, top, row)
    mass = total(row)
    for j in range(row.shape[0]):
        row[j] = row[j] / mass if row[j] > 1e-300 else 0.0
    return top + np.log(mass)


@kernel
def upward(
    i, schedule, starts, nodes, tables, table_of_edge, conditionals, messages, digits
):  # fmt: skip
    """Distributions of each step's label in each row; returns the log-partition."""
    _, size, use_count, message_at, _, _ = schedule
    k = nodes.shape[1]
    use, at, partition = starts[i, 2], starts[i, 3], 0.0
    for step in range(starts[i, 0], starts[i + 1, 0]):
        here = message_at[step]
        table = conditionals[here * k :]
        rows = collect(
            i, step, use, at, schedule, starts, nodes, tables, table_of_edge,
            messages, table, digits,
        )  # fmt: skip
        for row in range(rows):
            messages[here + row] = distribute(table[row * k : (row + 1) * k])
        partition += messages[here] if size[step] == 0 else 0.0
        use += use_count[step]
        at += use_count[step] * (size[step] + 1)
    return partition


@kernel
def marginals(
    examples, schedule, starts, nodes, tables, table_of_edge,
    conditionals, messages, digits, partition, mu, pairs,
):  # fmt: skip
    """Log-partitions, node marginals, and edge marginals added to the flat `pairs`."""
    variable, size, use_count, message_at, source, strides = schedule
    k = nodes.shape[1]
    for i in examples:
        partition[i] = upward(
            i, schedule, starts, nodes, tables, table_of_edge, conditionals, messages, digits
        )
        messages[: starts[i + 1, 4] - starts[i, 4]] = 0.0  # from here on: masses of separators
        use, at = starts[i + 1, 2], starts[i + 1, 3]
        for step in range(starts[i + 1, 0] - 1, starts[i, 0] - 1, -1):
            s, here = size[step], message_at[step]
            rows, table = k**s, conditionals[here * k :]
            if s == 0:
                messages[here] = 1.0
            node = starts[i, 0] + variable[step]
            for j in range(k):
                mu[node, j] = 0.0
            for row in range(rows):
                for j in range(k):
                    table[row * k + j] *= messages[here + row]
                    mu[node, j] += table[row * k + j]
            use -= use_count[step]
            at -= use_count[step] * (s + 1)
            for u in range(use_count[step]):
                first = at + u * (s + 1)
                if source[use + u] >= 0:
                    place = table_of_edge[starts[i, 1] + source[use + u]] * k * k
                    scatter(table, rows, k, s, pairs, place, strides, first, digits)
                else:
                    place = -1 - source[use + u]
                    scatter(table, rows, k, s, messages, place, strides, first, digits)


@kernel
def sample(
    examples, schedule, starts, nodes, tables, table_of_edge,
    conditionals, messages, choice, places, digits, uniform, labels,
):  # fmt: skip
    """One labelling an example from its distribution; `uniform` (N,) is the chance."""
    _, size, _, message_at, _, _ = schedule
    k = nodes.shape[1]
    for i in examples:
        upward(i, schedule, starts, nodes, tables, table_of_edge, conditionals, messages, digits)
        for step in range(starts[i, 0], starts[i + 1, 0]):
            for row in range(message_at[step], message_at[step] + k ** size[step]):
                rest, chosen = uniform[step], 0
                for j in range(k):
                    if conditionals[row * k + j] > 0.0:
                        chosen = j
                        rest -= conditionals[row * k + j]
                        if rest < 0.0:
                            break
                choice[row] = chosen
        descend(i, schedule, starts, k, choice, places, labels)


@kernel
def peel(offsets, neighbours_at, neighbours, degree, order, parent):
    """Leaves first: the nodes that can be eliminated with at most one neighbour left.

    `order` (N,) lists them at the beginning of each example's span; `parent` (N,) is that
    neighbour or -1, and -2 for the nodes in and between cycles, which stay. Uses up `degree`.
    """
    parent[:] = -2
    for i in range(offsets.shape[0] - 1):
        end = offsets[i]
        for node in range(offsets[i], offsets[i + 1]):
            if degree[node] <= 1:
                parent[node] = -1
                order[end] = node
                end += 1
        done = offsets[i]
        while done < end:
            node = order[done]
            degree[node] = -1  # gone
            done += 1
            for place in range(neighbours_at[node], neighbours_at[node + 1]):
                other = neighbours[place]
                if degree[other] < 0:
                    continue
                parent[node] = other
                degree[other] -= 1
                if degree[other] == 1 and parent[other] == -2:
                    parent[other] = -1
                    order[end] = other
                    end += 1
                break


@kernel
def connect(
    offsets, position, separators_at, separators, edges, edge_offsets, k,
    use_at, message_at, source, strides, filled,
):  # fmt: skip
    """Fill `source` and `strides` of the uses; see the module's docstring.

    All nodes are positions in the order of elimination, counted through the batch: `separators`
    of each step, rising, from ``separators_at``; `edges` (E, 2) as positions. `use_at` (N + 1)
    is where each step's uses begin, and `filled` (N,) counts them, from zeros.
    """
    stride_at = np.zeros(use_at.shape[0], np.int64)
    for step in range(position.shape[0]):
        size = separators_at[step + 1] - separators_at[step]
        stride_at[step + 1] = stride_at[step] + (use_at[step + 1] - use_at[step]) * (size + 1)
    for i in range(offsets.shape[0] - 1):
        for e in range(edge_offsets[i], edge_offsets[i + 1]):
            step, other = min(edges[e, 0], edges[e, 1]), max(edges[e, 0], edges[e, 1])
            begin, size = separators_at[step], separators_at[step + 1] - separators_at[step]
            first = stride_at[step] + filled[step] * (size + 1)
            source[use_at[step] + filled[step]] = e - edge_offsets[i]
            filled[step] += 1
            is_first = edges[e, 0] == step
            strides[first + size] = k if is_first else 1
            for axis in range(size):
                if separators[begin + axis] == other:
                    strides[first + axis] = 1 if is_first else k
        for child in range(offsets[i], offsets[i + 1]):
            low, high = separators_at[child], separators_at[child + 1]
            if low == high:
                continue
            step = separators[low]
            begin, size = separators_at[step], separators_at[step + 1] - separators_at[step]
            first = stride_at[step] + filled[step] * (size + 1)
            source[use_at[step] + filled[step]] = -1 - message_at[child]
            filled[step] += 1
            stride, axis = 1, size - 1
            for place in range(high - 1, low, -1):
                while separators[begin + axis] != separators[place]:
                    axis -= 1
                strides[first + axis] = stride
                stride *= k
            strides[first + size] = stride
