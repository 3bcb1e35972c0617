"""``concordant compare``: which route, on these data, under this loss."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from concordant.cli import options, sequences, terminal

if TYPE_CHECKING:
    from concordant.report import Comparison

#: Few enough fits that starting other processes would take longer. Otherwise: what
#: `concordant.report.compare` does by itself.
QUICK: dict[str, Any] = {"C": (0.03,), "cv": 3, "repeats": 1, "n_jobs": 1}


@click.command()
@options.data_argument
@options.table_options
@click.option("--report", default="concordant-report.html", show_default=True, metavar="FILE.html")
@click.option("--routes", metavar="NAMES", help="Comma-separated; all that apply without.")
@click.option("--kernel", metavar="NAME", help="Kernel scores (rbf, poly, …) instead of linear.")
@click.option("--C", "C", metavar="NUMBERS", help="Grid for C, comma-separated.")
@click.option("--cv", type=click.IntRange(2), help="Folds; 5 without, 3 for sequences.")
@click.option("--repeats", type=click.IntRange(1), help="Of them; 2 without, 1 for sequences.")
@click.option(
    "--test", type=click.Choice(["t", "wilcoxon"]), default="t", show_default=True,
    help="Corrected resampled t-test, or Wilcoxon's signed-rank test.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="3 splits, one C: seconds, but tells little apart.")
@options.seed_option
@options.jobs_option
@options.json_option
@options.force_option
@options.debug_option
def compare(
    report: str, routes: str | None, kernel: str | None, C: str | None, cv: int | None,
    repeats: int | None, test: str, quick: bool, seed: int, jobs: int | None, as_json: bool,
    force: bool, data: str, **table: Any,
) -> None:  # fmt: skip
    """Cross-validate every route and honest baselines under your loss.

    \b
    Examples:
      concordant compare wines.csv --target quality --loss absolute
      concordant compare triage.csv --target ill --loss prices.csv --quick
      concordant compare big.svm --loss abstain:0.2 --routes log,adversarial
      concordant compare chunks.conll --task sequence
    """
    given = {"cv": cv, "repeats": repeats, "n_jobs": jobs}
    arguments: dict[str, Any] = {name: n for name, n in given.items() if n is not None}
    if C is not None:
        arguments["C"] = _numbers(C)
    if quick:
        arguments = QUICK | ({"C": arguments["C"]} if C is not None else {})
    path = terminal.claim(report, force, "--report")
    kind = sequences.kind_of(data, table["kind"], table["task"])
    if kind is not None:
        with terminal.plain_warnings():
            found = _sequences(path, data, kind, table, routes, test, seed, as_json, arguments)
        publish(found, path, as_json)
        return
    with terminal.plain_warnings():
        read = options.read_data(data, **table)
        chosen = _routes(routes, kernel)
        question = f"{Path(data).name}: predict {read.schema.target}, scored by {read.loss_name}"
        if not as_json:
            terminal.say(f"{question}:\nwhich way of training loses least?\n", style="bold")
            show_schema(read)
        found = measure(
            path,
            _command(),
            X=read.features,
            y=read.y,
            loss=read.loss,
            loss_name=read.loss_name,
            missing="refuse" if read.encoder is None else "impute",
            test=test,
            question=question,
            source=data,
            random_state=seed,
            routes=chosen,
            **arguments,
        )
    publish(found, path, as_json)


def _command() -> str:
    return f"concordant {shlex.join(sys.argv[1:])}"


def _sequences(
    path: Path, data: str, kind: str, table: dict[str, Any], routes: str | None, test: str,
    seed: int, as_json: bool, arguments: dict[str, Any],
) -> Comparison:  # fmt: skip
    from concordant.report.sequences import compare_sequences

    read = sequences.read_sequences(data, kind, table["template"], table["loss"])
    question = f"{Path(data).name}: label sequences, scored by {read.loss_name} per position"
    if not as_json:
        terminal.say(f"{question}:\nwhich way of training loses least?\n", style="bold")
        terminal.say(f"{sequences.describe(read)}\n")
    return measure(
        path,
        _command(),
        compare_sequences,
        X=read.X,
        y=read.y,
        loss=read.loss,
        loss_name=read.loss_name,
        words=read.words,
        test=test,
        question=question,
        source=data,
        random_state=seed,
        routes=None if routes is None else [name.strip() for name in routes.split(",")],
        **arguments,
    )


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(piece) for piece in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} are no numbers", param_hint="--C") from None


def _routes(routes: str | None, kernel: str | None) -> list[Any] | None:
    from concordant.estimators import Classifier
    from concordant.surrogates.names import SURROGATES

    if routes is None and kernel is None:
        return None
    found = [route_of(name) for name in (routes.split(",") if routes else SURROGATES)]
    if kernel is None:
        return found
    made = [Classifier(surrogate=f) if isinstance(f, str) else f for f in found]
    return [model.set_params(kernel=kernel) for model in made]


def route_of(text: str) -> Any:
    """A route by its name; ``ordinal/NAME`` is that route on one direction with thresholds."""
    from concordant.estimators import OrdinalClassifier
    from concordant.surrogates.names import ALIASES, ROUTES

    ordinal, slash, name = text.strip().rpartition("/")
    if name not in [*ROUTES, *ALIASES] or (slash and ordinal != "ordinal"):
        raise click.BadParameter(
            f"unknown route {text.strip()!r}; routes are {', '.join([*ROUTES, *ALIASES])}, and "
            "ordinal/ before one of them",
            param_hint="--routes",
        )
    return OrdinalClassifier(surrogate=name) if slash else name


def show_schema(read: options.Data) -> None:
    """What each column was taken for."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for name in ("column", "taken for", ""):
        table.add_column(name, overflow="fold")
    rows = read.schema.describe()
    shown = rows if len(rows) <= 30 else [*rows[:28], ("…", f"{len(rows) - 29} more", ""), rows[-1]]
    for row in shown:
        style = "dim" if row[1] == "ignored" else "bold" if row is rows[-1] else ""
        table.add_row(*(Text(cell) for cell in row), style=style)
    terminal.console().print(table)
    terminal.say()


def measure(path: Path, command: str, engine: Any = None, **arguments: Any) -> Comparison:
    """Compare with a progress line, and write the page."""
    from concordant import report

    with terminal.live() as progress:
        comparison = (engine or report.compare)(**arguments, progress=progress)
    report.write(comparison, path, command)
    return comparison


def publish(comparison: Comparison, path: Path, as_json: bool) -> None:
    """Table and recommendation on standard output."""
    if as_json:
        terminal.say_json({**comparison.to_dict(), "report": str(path)})
        return
    from rich.padding import Padding

    from concordant.report import wording
    from concordant.report.table import legend, notes, table

    terminal.say(f"Data: {wording.data_text(comparison)}")
    how = f"{wording.protocol_text(comparison)} {wording.time_text(comparison)}"
    terminal.say(f"Measured: {how}")
    terminal.console().print(Padding(table(comparison), (1, 0)))
    for line in (legend(comparison), *notes(comparison)):
        terminal.say(line, style="dim")
    terminal.say()
    terminal.say(comparison.recommendation(), style="bold")
    click.echo(f"\nReport written to {path}")
