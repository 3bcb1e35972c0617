"""Features of constituents for semantic roles, after Cohn and Blunsom (2005)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

import concordant as cc
from experiments.thesis_table8.trees import Node, Proposition

#: Which child heads a constituent, by category: where to look from, and what for.
HEADS: dict[str, tuple[str, tuple[str, ...]]] = {
    "NP": ("right", ("NN", "NNS", "NNP", "NNPS", "NX", "NP", "PRP", "CD", "JJ")),
    "VP": ("left", ("VBD", "VBN", "MD", "VBZ", "VB", "VBG", "VBP", "TO", "VP", "ADJP", "NP")),
    "PP": ("left", ("IN", "TO", "VBG", "RP", "PP")),
    "S": ("left", ("VP", "S", "SBAR", "ADJP", "UCP", "NP")),
    "SBAR": ("left", ("WHNP", "WHPP", "WHADVP", "IN", "DT", "S", "SQ", "SINV", "SBAR")),
    "SQ": ("left", ("VBZ", "VBD", "VBP", "VB", "MD", "VP", "SQ")),
    "SBARQ": ("left", ("SQ", "S", "SINV", "SBARQ")),
    "ADVP": ("right", ("RB", "RBR", "RBS", "ADVP", "IN")),
    "ADJP": ("right", ("JJ", "VBN", "VBG", "ADJP", "JJR", "NN")),
}

#: Categories of constituents that edges tell apart; all others are one more.
EDGE_CATEGORIES = ("NP", "VP", "PP", "S", "SBAR", "ADVP", "V", "punctuation")


def head(node: Node) -> int:
    """The token that heads a constituent."""
    while node.children:
        side, wanted = HEADS.get(node.category, ("left", ()))
        children = node.children if side == "left" else node.children[::-1]
        ranked = [wanted.index(c.category) for c in children if c.category in wanted]
        best = wanted[min(ranked)] if ranked else children[0 if side == "right" else -1].category
        node = next(c for c in children if c.category == best)
    return node.start


def path(node: Node, leaf: Node) -> str:
    """Categories from a constituent up to the common ancestor and down to the verb."""
    above = [leaf]
    while above[-1].parent is not None:
        above.append(above[-1].parent)
    up, here = [], node
    while here not in above:
        up.append(here.category)
        assert here.parent is not None
        here = here.parent
    down = [n.category for n in above[: above.index(here)]]
    return "^".join([*up, here.category]) + "!" + "!".join(reversed(down))


def _voice(p: Proposition) -> str:
    if p.tags[p.verb] != "VBN":
        return "active"
    near = [p.words[t].lower() for t in range(max(0, p.verb - 5), p.verb)]
    forms = {"be", "is", "are", "was", "were", "been", "being", "am", "'s", "'re", "get", "got"}
    return "passive" if forms & set(near) else "active"


def _frame(p: Proposition, leaf: Node, node: Node) -> str:
    """Noun phrases around the verb, in order, with this constituent marked."""
    marks = []
    for other in sorted({id(n): n for n in p.nodes}.values(), key=lambda n: n.start):
        if other is leaf:
            marks.append("v")
        elif other is node:
            marks.append(other.category.upper())
        elif other.category == "NP":
            marks.append("np")
    return "_".join(marks)


def of_node(p: Proposition, leaf: Node, node: Node) -> list[str]:
    """Names of the features of one constituent."""
    words, tags = p.words, p.tags
    top, last = head(node), node.stop - 1
    side = "verb" if node is leaf else "before" if node.stop <= p.verb else "after"
    side = "over" if node.start <= p.verb < node.stop and node is not leaf else side
    way, voice = path(node, leaf), _voice(p)
    distance = min(abs(node.start - p.verb), 10)
    parent = node.parent
    siblings = parent.children if parent else [node]
    at = siblings.index(node)
    left, right = (siblings[at - 1] if at else None), (siblings[at + 1 : at + 2] or [None])[0]
    verb_rule = "-".join(c.category for c in leaf.parent.children) if leaf.parent else ""
    basic = {
        "head": words[top].lower(),
        "head_tag": tags[top],
        "category": node.category,
        "path": way,
        "side": side,
        "distance": str(distance),
        "lemma": p.lemma,
        "verb": words[p.verb].lower(),
        "voice": voice,
        "rule": verb_rule,
        "frame": _frame(p, leaf, node),
        "first": words[node.start].lower(),
        "first_tag": tags[node.start],
        "last": words[last].lower(),
        "last_tag": tags[last],
        "parent": parent.category if parent else "none",
        "parent_head": words[head(parent)].lower() if parent else "none",
        "left": left.category if left else "none",
        "left_head": words[head(left)].lower() if left else "none",
        "right": right.category if right else "none",
        "right_head": words[head(right)].lower() if right else "none",
    }
    inner = next((c for c in node.children if c.category == "NP"), None)
    if node.category == "PP" and inner is not None:
        basic["inner_head"] = words[head(inner)].lower()
    pairs = (
        ("lemma", "path"),
        ("lemma", "head"),
        ("lemma", "category"),
        ("side", "voice"),
        ("path", "voice"),
        ("lemma", "side"),
        ("lemma", "frame"),
        ("category", "side"),
        ("head", "category"),
        ("lemma", "first"),
    )
    names = [f"{key}={value}" for key, value in basic.items()]
    names += [f"{a}+{b}={basic[a]}|{basic[b]}" for a, b in pairs]
    return [*names, f"side+voice+category={side}|{voice}|{node.category}"]


def _kind(node: Node, leaf: Node) -> int:
    if node is leaf:
        return EDGE_CATEGORIES.index("V")
    if not node.category[:1].isalpha():
        return EDGE_CATEGORIES.index("punctuation")
    known = node.category in EDGE_CATEGORIES
    return EDGE_CATEGORIES.index(node.category) if known else len(EDGE_CATEGORIES)


def _edges(p: Proposition, leaf: Node) -> tuple[np.ndarray, np.ndarray]:
    """Parent to child, with a constant and the child's category."""
    number = {id(node): i for i, node in enumerate(p.nodes)}
    pairs, kinds = [], []
    for i, node in enumerate(p.nodes):
        if node.parent is not None and id(node.parent) in number:
            pairs.append((number[id(node.parent)], i))
            kinds.append(_kind(node, leaf))
    features = np.ones((len(pairs), len(EDGE_CATEGORIES) + 2))
    features[:, 1:] = np.eye(len(EDGE_CATEGORIES) + 1)[kinds]
    return np.array(pairs, np.int64).reshape(-1, 2), features


class Featurizer:
    """Names of features to columns, as seen at least `least` times in training."""

    def __init__(self, training: Sequence[Proposition], least: int = 2):
        counts = Counter(name for p in training for names in self._names(p) for name in set(names))
        kept = sorted(name for name, count in counts.items() if count >= least)
        self.columns = {name: column for column, name in enumerate(kept)}

    @staticmethod
    def _names(p: Proposition) -> list[list[str]]:
        leaf = next(n for n in p.nodes if not n.children and n.start == p.verb)
        return [of_node(p, leaf, node) for node in p.nodes]

    def __call__(self, p: Proposition) -> cc.Graph:
        leaf = next(n for n in p.nodes if not n.children and n.start == p.verb)
        columns, ends = [], [0]
        for names in self._names(p):
            columns += sorted({self.columns[name] for name in names if name in self.columns})
            ends.append(len(columns))
        shape = (len(p.nodes), len(self.columns))
        x = sp.csr_array((np.ones(len(columns)), columns, ends), shape=shape)
        edges, features = _edges(p, leaf)
        return cc.Graph(x, edges, features)
