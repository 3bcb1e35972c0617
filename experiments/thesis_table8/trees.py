"""Propositions of PropBank as trees: reading, pruning (Xue and Palmer 2004), labelling."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: The labels of the experiment: three numbered arguments and their references, the verb, all other
#: roles as one, and "outside".
ROLES = {
    "ARG0": "A0",
    "ARG1": "A1",
    "ARG2": "A2",
    "R-ARG0": "R-A0",
    "R-ARG1": "R-A1",
    "R-ARG2": "R-A2",
}
LABELS = ("A0", "A1", "A2", "O", "R", "R-A0", "R-A1", "R-A2", "V")


@dataclass(eq=False)
class Node:
    """A constituent: its category, the tokens it spans [start, stop), and its place in the tree."""

    category: str
    start: int
    stop: int = 0
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)


@dataclass(eq=False)
class Proposition:
    """A verb in a sentence: words, their tags, the verb's place and lemma, the nodes that are left
    of the tree with a label each, and how many roles found no constituent of their span."""

    words: list[str]
    tags: list[str]
    root: Node
    verb: int
    lemma: str
    nodes: list[Node]
    labels: list[str]
    lost: int


def read_tree(tags: list[str], bits: list[str]) -> tuple[Node, list[Node]]:
    """The tree that these brackets describe, and its leaves, one a token."""
    root = here = Node("", 0)
    leaves = []
    for t, (tag, bit) in enumerate(zip(tags, bits)):
        before, _, after = bit.partition("*")
        for category in re.findall(r"\(([^(*\s]*)", before):
            child = Node(category.split("-")[0] or category, t, parent=here)
            here.children.append(child)
            here = child
        leaf = Node(tag, t, t + 1, here)
        here.children.append(leaf)
        leaves.append(leaf)
        for _ in range(after.count(")")):
            here.stop = t + 1
            assert here.parent is not None
            here = here.parent
    root.stop = len(tags)
    top = root.children[0] if len(root.children) == 1 else root
    top.parent = None
    return top, leaves


def read_spans(column: list[str]) -> list[tuple[int, int, str]]:
    """Roles of one predicate: (start, stop, name) of every bracket."""
    spans: list[tuple[int, int, str]] = []
    open_: list[tuple[int, str]] = []
    for t, bit in enumerate(column):
        open_ += [(t, name) for name in re.findall(r"\(([^(*)]+)", bit)]
        for _ in range(bit.count(")")):
            start, name = open_.pop()
            spans.append((start, t + 1, name))
    return spans


def prune(leaf: Node) -> list[Node]:
    """What may hold a role of the verb at `leaf`: the path to the root, the siblings of its nodes,
    and the children of prepositional siblings; parents come before children."""
    path, node = [leaf], leaf
    while node.parent is not None:
        node = node.parent
        path.append(node)
    kept: list[Node] = []
    for node in reversed(path):
        kept.append(node)
        for child in node.children if node is not leaf else []:
            if child in path:
                continue
            kept.append(child)
            if child.category == "PP":
                kept += child.children
    return kept


def label(nodes: list[Node], spans: list[tuple[int, int, str]]) -> tuple[list[str], int]:
    """A label for every node, and the number of roles left over.

    A role goes to the highest node of exactly its span; what is below it is outside, but the verb.
    """
    roles = {(start, stop): ROLES.get(name, "R") for start, stop, name in spans if name != "V"}
    seen: set[tuple[int, int]] = set()
    labels = []
    for node in nodes:  # parents first
        span = (node.start, node.stop)
        labels.append("O" if span in seen else roles.get(span, "O"))
        seen.add(span)
    return labels, len(set(roles) - seen)


def _sentences(path: Path) -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# id"):
                continue
            if line.strip():
                rows.append(line.rstrip("\n").split("\t"))
            elif rows:
                yield rows
                rows = []
    if rows:
        yield rows


def propositions(path: Path, limit: int | None = None) -> Iterator[Proposition]:
    """Every verb with a role besides its own, at most `limit` of them."""
    found = 0
    for rows in _sentences(path):
        words, tags, bits, lemmas = ([row[c] for row in rows] for c in range(4))
        root, leaves = read_tree(tags, bits)
        verbs = [t for t, row in enumerate(rows) if row[4] != "-"]
        for column, _ in enumerate(rows[0][5:], 5):
            spans = read_spans([row[column] for row in rows])
            places = [start for start, _, name in spans if name == "V"]
            if len(places) != 1 or places[0] not in verbs or len(spans) < 2:
                continue
            verb = places[0]
            if not tags[verb].startswith("VB"):
                continue
            nodes = prune(leaves[verb])
            labels, lost = label(nodes, spans)
            labels = ["V" if node is leaves[verb] else mark for node, mark in zip(nodes, labels)]
            yield Proposition(words, tags, root, verb, lemmas[verb], nodes, labels, lost)
            found += 1
            if found == limit:
                return
