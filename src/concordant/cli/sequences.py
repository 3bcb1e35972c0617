"""Files of label sequences on the command line: CoNLL columns and CRFsuite's text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concordant.cli import options

if TYPE_CHECKING:
    from concordant.losses import LabelLoss

KINDS = ("conll", "crfsuite")
#: The attribute of a CRFsuite token that shows it to a reader, if it has one.
WORD_NAMES = ("w[0]=", "w0=", "w=", "word=", "word:", "U00:", "w[0]:")


@dataclass(frozen=True)
class SequenceData:
    """Sequences as they stand in the file, their features and labels."""

    rows: list[Any]
    X: list[Any]
    y: list[list[str]]
    words: list[list[str]]
    loss: LabelLoss
    loss_name: str
    encoder: Any

    @property
    def tokens(self) -> int:
        """Positions in all."""
        return sum(map(len, self.y))

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that occur, sorted."""
        return tuple(sorted({label for labels in self.y for label in labels}))


def kind_of(data: str, given: str | None, task: str | None) -> str | None:
    """The format, if the file is one of sequences; None for tables."""
    if given is not None:
        if task == "sequence" and given not in KINDS:
            return "conll"
        return given if given in KINDS else None
    suffixes = [s.lower() for s in Path(data).suffixes if s.lower() != ".gz"]
    last = suffixes[-1] if suffixes else ""
    if last in (".conll", ".conllu", ".bio", ".iob"):
        return "conll"
    if last == ".crfsuite":
        return "crfsuite"
    if task == "sequence":
        return "crfsuite" if _has_attributes(data) else "conll"
    return None


def _has_attributes(data: str) -> bool:
    """CRFsuite separates attributes, most of them named, by tabs."""
    from concordant.io.conll import open_text

    with open_text(data) as file:
        first = next((line for line in file if line.strip()), "")
    cells = first.rstrip("\n").split("\t")[1:]
    return len(cells) > 1 and sum("=" in cell or ":" in cell for cell in cells) > len(cells) / 2


def read_tokens(data: str, kind: str) -> tuple[list[Any], list[list[str]], list[list[str]]]:
    """What features are made of, labels, and words to show; a label is the last column."""
    from concordant.io.conll import read_conll
    from concordant.io.crfsuite import read_crfsuite
    from concordant.io.errors import DataFileError

    X: list[Any]
    try:
        if kind == "crfsuite":
            X, y = read_crfsuite(data)
            words = [[_word(token) for token in sequence] for sequence in X]
        else:
            comment = "#" if data.removesuffix(".gz").endswith(".conllu") else None
            sentences = read_conll(data, comment=comment)
            if sentences and len(sentences[0][0]) < 2:
                raise DataFileError(
                    f"{data!r} has one column; the last is the label, so two at least"
                )
            X = [[row[:-1] for row in s] for s in sentences]
            y = [[row[-1] for row in s] for s in sentences]
            words = [[row[0] for row in s] for s in sentences]
    except UnicodeDecodeError as error:
        raise DataFileError(f"{data!r} is not UTF-8: convert it first ({error.reason})") from error
    if not X:
        raise DataFileError(f"{data!r} is empty: it has no sequences")
    return X, y, words


def _word(token: dict[str, float]) -> str:
    for start in WORD_NAMES:
        for name in token:
            if name.startswith(start):
                return name[len(start) :]
    return next(iter(token), "·")


def read_sequences(data: str, kind: str, template: str | None, loss: str) -> SequenceData:
    """The data as the options describe them."""
    import numpy as np

    from concordant.io.losses import parse_loss
    from concordant.io.tokens import ColumnFeatures

    rows, y, words = read_tokens(data, kind)
    encoder = None
    X = rows
    if kind == "conll":
        text = None if template is None else Path(template).read_text(encoding="utf-8")
        encoder = ColumnFeatures(text).fit(rows)
        X = encoder.transform(rows)
    labels = sorted({label for labels in y for label in labels})
    with options.bad_option("--loss"):
        found = parse_loss(loss, labels)
        found.resolve(np.array(labels))
    return SequenceData(rows, X, y, words, found, loss, encoder)


def describe(read: SequenceData) -> str:
    """What was read, in a sentence."""
    shown = ", ".join(read.labels[:12]) + (", …" if len(read.labels) > 12 else "")
    return (
        f"{len(read.y):,} sequences with {read.tokens:,} positions and {len(read.labels)} labels: "
        f"{shown}"
    )
