"""The Hansards test pairs of the 2003 shared task as matchings of English and French words."""

from __future__ import annotations

import gzip
from collections import Counter
from difflib import SequenceMatcher
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from experiments.common import DataMissing, data_folder

NAMES = [
    "together", "together²", "together before", "together after", "same", "similar",
    "same start", "off diagonal", "off diagonal²", "short and long", "both marks", "one mark",
    "both rare", "any",
]  # fmt: skip


class Pair(NamedTuple):
    """A sentence and its translation: features (n, m, d), links, and a one-to-one choice of
    the sure ones."""

    features: np.ndarray
    sure: np.ndarray
    possible: np.ndarray
    answer: np.ndarray


@cache
def load(most: int | None = None) -> list[Pair]:
    """All sentence pairs; the counts behind `together` are of the words of all of them, which
    needs no links."""
    folder = data_folder() / "structured" / "word_alignment"
    if not folder.is_dir():
        raise DataMissing(f"the word alignments are not here: there is no {folder}")
    with gzip.open(folder / "enfr.src-tgt.gz", "rt") as lines:
        texts = [[side.lower().split() for side in line.split("|||")] for line in lines]
    with gzip.open(folder / "enfr.gold.gz", "rt") as lines:
        links = [line.split() for line in lines]
    together = associations(texts)
    out = []
    for (english, french), here in list(zip(texts, links))[:most]:
        sure, possible = (np.zeros((len(english), len(french)), bool) for _ in range(2))
        for link in here:
            i, j = (int(v) - 1 for v in link.replace("p", "-").split("-"))
            possible[i, j] = True
            sure[i, j] |= "p" not in link
        features = describe(english, french, together)
        out.append(Pair(features, sure, possible, choose(sure)))
    return out


class Associations(NamedTuple):
    """How often words and pairs of words are in a sentence pair."""

    english: Counter
    french: Counter
    both: Counter

    def dice(self, e: str, f: str) -> float:
        """Twice the joint count over the sum of the counts."""
        return 2.0 * self.both[e, f] / (self.english[e] + self.french[f])


def associations(texts: list[list[list[str]]]) -> Associations:
    english, french, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for one, other in texts:
        english.update(set(one))
        french.update(set(other))
        both.update((e, f) for e in set(one) for f in set(other))
    return Associations(english, french, both)


def describe(english: list[str], french: list[str], together: Associations) -> np.ndarray:
    """Features of every pair of words, after Taskar et al. (2005)."""
    n, m = len(english), len(french)
    dice = np.array([[together.dice(e, f) for f in french] for e in english])
    before, after = np.zeros((n, m)), np.zeros((n, m))
    before[1:, 1:], after[:-1, :-1] = dice[:-1, :-1], dice[1:, 1:]
    off = np.abs(np.arange(1, n + 1)[:, None] / (n + 1) - np.arange(1, m + 1) / (m + 1))
    own = np.array([[_spelling(e, f) for f in french] for e in english], dtype=float)
    rare = np.array([together.english[e] <= 2 for e in english])[:, None] & np.array(
        [together.french[f] <= 2 for f in french]
    )
    columns = [dice, dice**2, before, after, *np.moveaxis(own[:, :, :3], 2, 0), off, off**2]
    columns += [*np.moveaxis(own[:, :, 3:], 2, 0), rare, np.ones((n, m))]
    return np.stack(columns, axis=2).astype(float)


def _spelling(e: str, f: str) -> tuple[float, ...]:
    marks = not e.isalpha(), not f.isalpha()
    return (
        e == f,
        SequenceMatcher(None, e, f, autojunk=False).ratio(),
        len(e) > 3 and e[:4] == f[:4],
        abs(len(e) - len(f)) > 5,
        all(marks),
        marks[0] != marks[1],
    )


def choose(sure: np.ndarray) -> np.ndarray:
    """As many sure links as can be one-to-one, the nearest to the diagonal of those; -1 else."""
    n, m = sure.shape
    off = np.abs(np.arange(n)[:, None] / n - np.arange(m) / m)
    rows, columns = linear_sum_assignment(np.where(sure, off - 10.0, 0.0))
    answer = np.full(n, -1)
    kept = sure[rows, columns]
    answer[rows[kept]] = columns[kept]
    return answer


def error_rate(pairs: list[Pair], answers: list[np.ndarray]) -> float:
    """Alignment error rate: 1 - (|A and sure| + |A and possible|) / (|A| + |sure|)."""
    hits = made = sure = 0
    for pair, answer in zip(pairs, answers):
        rows = np.flatnonzero(answer >= 0)
        columns = answer[rows]
        hits += pair.sure[rows, columns].sum() + pair.possible[rows, columns].sum()
        made += len(rows)
        sure += pair.sure.sum()
    return float(1.0 - hits / (made + sure))
