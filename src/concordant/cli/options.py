"""Options that several commands have, and the data they describe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import numpy as np

    from concordant.io.encoding import TableEncoder
    from concordant.io.tables import Schema
    from concordant.losses import LabelLoss

Decorator = Callable[[Any], Any]


def _debug(ctx: click.Context, _: Any, value: bool) -> None:
    ctx.find_root().meta["debug"] = value


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_debug,
    is_eager=True,
    help="On an error, show the traceback.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Results as JSON.")
force_option = click.option("--force", is_flag=True, help="Replace files that exist.")
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True,
    help="Of folds and fits.",
)  # fmt: skip
jobs_option = click.option(
    "--jobs", type=int, default=None, metavar="N", help="Processes or threads; all cores without."
)
data_argument = click.argument(
    "data", type=click.Path(exists=True, dir_okay=False, allow_dash=True), metavar="DATA"
)
FORMATS = ("csv", "tsv", "parquet", "svmlight", "conll", "crfsuite")


def file_options(command: Any) -> Any:
    """How to read a file."""
    return _all(
        click.option(
            "--format", "kind", type=click.Choice(FORMATS),
            help="Of DATA; without it the file's name tells.",
        ),
        click.option(
            "--encoding", default="utf-8", show_default=True, help="Of text files."
        ),
        click.option(
            "--missing-value", "empty", multiple=True, metavar="TEXT",
            help="One more text that means an empty cell; repeatable.",
        ),
    )(command)  # fmt: skip


def table_options(command: Any) -> Any:
    """How to take a table."""
    return _all(
        click.option("--target", metavar="COLUMN", help="The column to predict."),
        click.option(
            "--task", type=click.Choice(["table", "sequence"]),
            help="Rows of a table, or sequences of labels (CoNLL columns, the last the label, or "
            "CRFsuite text); without it DATA's name or format tells.",
        ),
        click.option(
            "--template", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
            help="CRF++ template for the features of CoNLL columns.",
        ),
        click.option(
            "--loss", default="zero_one", show_default=True, metavar="LOSS",
            help="A name (zero_one, absolute, squared), abstain:PRICE, or a CSV file of costs: "
            "a row an action, a column a true label.",
        ),
        click.option(
            "--order", metavar="LABELS",
            help="All labels from the lowest to the highest, comma-separated; without it, sorted.",
        ),
        click.option(
            "--missing", type=click.Choice(["impute", "refuse"]), default="impute",
            show_default=True, help="What to do with empty cells of features.",
        ),
        click.option(
            "--category", "categories", multiple=True, metavar="COLUMN",
            help="A column of categories even if it looks like numbers; repeatable.",
        ),
        click.option(
            "--ignore", "ignored", multiple=True, metavar="COLUMN",
            help="A column to leave out; repeatable.",
        ),
        click.option(
            "--max-labels", default=100, show_default=True, help="Most different labels allowed."
        ),
    )(file_options(command))  # fmt: skip


def _all(*options: Decorator) -> Decorator:
    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@dataclass(frozen=True)
class Data:
    """A labelled table, read and understood."""

    x: Any
    y: np.ndarray
    loss: LabelLoss
    loss_name: str
    encoder: TableEncoder | None
    schema: Schema
    missing: str

    @property
    def features(self) -> Any:
        """Features with their names, for the report."""
        if self.encoder is None:
            return self.x
        import pandas as pd

        return pd.DataFrame(self.x, columns=self.encoder.get_feature_names_out())


def read_data(
    data: str, *, target: str | None, loss: str, order: str | None, missing: str,
    kind: str | None, encoding: str, empty: tuple[str, ...], categories: tuple[str, ...],
    ignored: tuple[str, ...], max_labels: int, task: str | None = None, template: str | None = None,
) -> Data:  # fmt: skip
    """The data as the options describe them; a wrong option is a usage error."""
    from concordant.io import tables
    from concordant.io.encoding import TableEncoder

    kind = tables.format_of(data, kind)
    if kind == "svmlight":
        x, y = tables.read_svmlight(data)
        schema = tables.Schema((), "label", _labels(y), len(y))
        ranks = None if order is None else _order(order, _labels(y))
        return Data(x, y, _loss(loss, _labels(y), ranks), loss, None, schema, "refuse")
    if target is None:
        raise click.UsageError("--target COLUMN says which column to predict")
    frame = tables.read_frame(
        data, kind, encoding=encoding, empty=(*tables.EMPTY, *empty), categories=categories
    )
    with bad_option("--target"):
        tables.check_column(frame, target)
    for option, names in (("--category", categories), ("--ignore", ignored)):
        with bad_option(option):
            for name in names:
                tables.check_column(frame, name)
    y = tables.labels_of(frame, target, max_labels)
    columns = tables.infer_columns(frame.drop(columns=target), categories, ignored)
    encoder = TableEncoder(columns, missing).fit(frame)
    x = encoder.transform(frame)
    if x.shape[1] == 0:
        raise tables.DataFileError("no column is left to predict from")
    ranks = tables.given_order(frame, target) if order is None else _order(order, _labels(y))
    ordered = loss in ("absolute", "squared")
    labels = tuple(ranks) if ranks and ordered else _labels(y)
    schema = tables.Schema(columns, target, labels, len(y), ordered)
    return Data(x, y, _loss(loss, _labels(y), ranks), loss, encoder, schema, missing)


def _labels(y: np.ndarray) -> tuple[Any, ...]:
    import numpy as np

    return tuple(np.unique(y).tolist())


def _loss(text: str, labels: tuple[Any, ...], ranks: list[Any] | None) -> LabelLoss:
    import numpy as np

    from concordant.io.losses import parse_loss

    with bad_option("--loss"):
        loss = parse_loss(text, labels, ranks)
        loss.resolve(np.array(labels))
    return loss


def _order(order: str, labels: tuple[Any, ...]) -> list[Any]:
    names: list[Any] = [name.strip() for name in order.split(",")]
    if all(isinstance(label, int) for label in labels):
        with bad_option("--order"):
            names = [int(name) for name in names]
    unknown = [label for label in labels if label not in names]
    if unknown or len(set(names)) != len(names):
        what = f"it lacks {unknown[0]!r}" if unknown else "it names a label twice"
        raise click.BadParameter(f"{what}; the labels are {labels}", param_hint="--order")
    return names


class bad_option:
    """Errors inside are the fault of this option."""

    def __init__(self, option: str):
        self.option = option

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, ValueError):
            raise click.BadParameter(str(error), param_hint=self.option) from error
