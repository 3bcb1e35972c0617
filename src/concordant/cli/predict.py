"""``concordant predict``: rows in, the same rows with answers out, as a stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from concordant.cli import options, terminal


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False), metavar="MODEL")
@options.data_argument
@options.file_options
@click.option(
    "--output", default="-", metavar="FILE", help="A CSV file; standard output without."
)  # fmt: skip
@click.option("--only", is_flag=True, help="Leave out the columns of DATA.")
@options.force_option
@options.debug_option
def predict(
    model: str, data: str, output: str, only: bool, force: bool, kind: str | None, encoding: str,
    empty: tuple[str, ...],
) -> None:  # fmt: skip
    """Add action, scores, probabilities and abstentions to each row of DATA, in its order.

    A model of sequences adds its label as one more column, or as the first of CRFsuite's.

    Text files are read, answered and written piece by piece, so they may be larger than memory.

    \b
    Examples:
      concordant predict wine.model new.csv --output graded.csv
      cat new.csv | concordant predict wine.model - --only
    """
    from concordant.cli.serving import Served
    from concordant.io import tables

    path = None if output == "-" else terminal.claim(output, force, "--output")
    with terminal.plain_warnings():
        served = Served(model)
        if served.is_sequence:
            _write(served.labelled(data, kind), path)
            return
        reading = {"encoding": encoding, "empty": (*tables.EMPTY, *empty)}
        pieces = _rows(served, data, kind, only, reading)
        _write(pieces, path)


def _write(pieces: Iterator[bytes], path: Path | None) -> None:
    from concordant.io.atomic import write_atomically

    if path is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    write_atomically(path, pieces)
    click.echo(f"Answers written to {path}")


def _rows(
    served: Any, data: str, kind: str | None, only: bool, reading: dict[str, Any]
) -> Iterator[bytes]:
    """CSV text of each piece; the header line once."""
    import pandas as pd

    first = True
    for frame, x in served.pieces(data, kind, **reading):
        if len(frame) == 0:
            raise click.ClickException(f"{data} has a header line but no rows")
        answers = pd.DataFrame(served.answers(x), index=frame.index)
        clash = [name for name in answers.columns if name in frame.columns]
        kept = frame.drop(columns=clash)
        out = answers if only else pd.concat([kept, answers], axis=1)
        yield out.to_csv(index=False, header=first, lineterminator="\n").encode("utf-8")
        first = False
