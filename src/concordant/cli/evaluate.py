"""``concordant evaluate``: what a model loses on labelled rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from concordant.cli import options, terminal

if TYPE_CHECKING:
    from concordant.plots.base import Answers


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False), metavar="MODEL")
@options.data_argument
@options.file_options
@click.option("--target", metavar="COLUMN", help="The true labels; as in training without.")
@click.option("--loss", metavar="LOSS", help="Another loss than the model's own.")
@options.json_option
@options.debug_option
def evaluate(
    model: str, data: str, target: str | None, loss: str | None, as_json: bool,
    kind: str | None, encoding: str, empty: tuple[str, ...],
) -> None:  # fmt: skip
    """Mean loss of a model on labelled rows, and where it comes from.

    \b
    Examples:
      concordant evaluate wine.model held-out.csv
      concordant evaluate wine.model held-out.csv --loss zero_one --json
    """
    from concordant.cli.serving import Served
    from concordant.io import tables

    with terminal.plain_warnings():
        served = Served(model)
        if served.is_sequence:
            y, answers = _positions(served, data, kind)
        else:
            reading = {"encoding": encoding, "empty": (*tables.EMPTY, *empty)}
            y, answers = _answers(served, data, target, kind, reading)
        found = _priced(served, y, answers, loss)
    result = _result(found, loss or served.about.get("loss") or repr(served.last.loss))
    if as_json:
        terminal.say_json(result)
    else:
        _show(result)


def _answers(
    served: Any, data: str, target: str | None, kind: str | None, reading: dict[str, Any]
) -> tuple[Any, Any]:
    import numpy as np

    from concordant.io import tables

    target = target or served.about.get("target")
    truths, answers = [], []
    for frame, x in served.pieces(data, kind, **reading):
        if target is None:
            raise click.UsageError("--target COLUMN says where the true labels are")
        with options.bad_option("--target"):
            tables.check_column(frame, target)
        truths.append(tables.labels_of(frame, target, max_labels=10**9))
        answers.append(served.model.predict(x))
    return np.concatenate(truths), np.concatenate(answers)


def _positions(served: Any, data: str, kind: str | None) -> tuple[Any, Any]:
    """True labels and answers of every position of every sequence."""
    import numpy as np

    _, x, y = served.sequences(data, kind)
    answers = np.concatenate([np.asarray(a) for a in served.model.predict(x)])
    return np.array([label for labels in y for label in labels]), answers


def _priced(served: Any, y: Any, answers: Any, loss: str | None) -> Answers:
    import numpy as np

    from concordant.io.losses import parse_loss
    from concordant.plots.base import Answers, all_labels

    classes = served.last.classes_
    if classes.dtype.kind in "iuf" and y.dtype.kind in "USO":
        raise click.ClickException(
            f"the model's labels are numbers ({', '.join(map(str, classes.tolist()[:5]))}), those "
            f"of the data are texts ({', '.join(map(str, np.unique(y).tolist()[:5]))})"
        )
    if classes.dtype.kind in "USO":
        y = y.astype(str)
    labels = all_labels(classes, y)
    if loss is None:
        priced = served.last.loss
    else:
        with options.bad_option("--loss"):
            priced = parse_loss(loss, labels)
    return Answers.of(y, answers, priced, labels)


def _result(found: Answers, loss: str) -> dict[str, Any]:
    import numpy as np

    constant = found.costs[:, found.truth].mean(axis=1)
    per_label = []
    for code, label in enumerate(found.labels.tolist()):
        rows = found.truth == code
        if rows.any():
            common = np.bincount(found.action[rows]).argmax()
            per_label.append(
                {
                    "label": label,
                    "rows": int(rows.sum()),
                    "mean_loss": float(found.cost[rows].mean()),
                    "share_of_loss": float(found.cost[rows].sum() / (found.cost.sum() or 1.0)),
                    "commonest_answer": found.actions.tolist()[common],
                }
            )
    n = len(found.cost)
    return {
        "rows": n,
        "loss": loss,
        "mean_loss": float(found.cost.mean()),
        "standard_error": float(found.cost.std(ddof=1) / n**0.5) if n > 1 else None,
        "accuracy": _accuracy(found),
        "best_constant": {
            "action": found.actions.tolist()[int(constant.argmin())],
            "mean_loss": float(constant.min()),
        },
        "labels": per_label,
    }


def _accuracy(found: Answers) -> float | None:
    """Share of answers that are the true label; None where no action is a label."""
    code = {label: i for i, label in enumerate(found.labels.tolist())}
    meant = [code.get(action, -1) for action in found.actions.tolist()]
    if max(meant) < 0:
        return None
    return sum(meant[a] == t for a, t in zip(found.action, found.truth)) / len(found.truth)


def _show(result: dict[str, Any]) -> None:
    from rich import box
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    error = result["standard_error"]
    spread = "" if error is None else f" ± {1.96 * error:.4g}"
    accuracy = result["accuracy"]
    right = "" if accuracy is None else f"; accuracy {100 * accuracy:.1f} %"
    terminal.say(
        f"Mean loss ({result['loss']}) on {result['rows']:,} rows: "
        f"{result['mean_loss']:.4g}{spread}{right}",
        style="bold",
    )
    constant = result["best_constant"]
    terminal.say(
        f"Always answering {constant['action']!r}, the best constant here, would lose "
        f"{constant['mean_loss']:.4g}."
    )
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("truth")
    for name in ("rows", "mean loss", "of the loss", "commonest answer"):
        table.add_column(name, justify="right")
    for row in result["labels"]:
        table.add_row(
            Text(str(row["label"])),
            f"{row['rows']:,}",
            f"{row['mean_loss']:.4g}",
            f"{100 * row['share_of_loss']:.1f} %",
            Text(str(row["commonest_answer"])),
        )
    terminal.console().print(Padding(table, (1, 0, 0, 0)))
