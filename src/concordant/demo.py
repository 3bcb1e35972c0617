"""The main job on bundled data: ``python -m concordant.demo`` (or ``make demo``).

Which route loses least when red wine is graded and mistakes cost the distance between grades?
Results go to standard output, progress to standard error when that is a terminal.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concordant.report import Comparison
    from concordant.report.comparison import Progress

QUESTION = "Red wine, graded 3 to 8, scored by absolute distance between grades"
SOURCE = (
    "Wine Quality, red (P. Cortez, A. Cerdeira, F. Almeida, T. Matos and J. Reis, 2009; UCI "
    "Machine Learning Repository, doi:10.24432/C56S3T), licence CC BY 4.0."
)

DATA_CODE = "X, y = cc.datasets.load_redwine(return_X_y=True, as_frame=True)"

#: Few enough fits that starting other processes would take longer. Otherwise: what `compare`
#: does by itself.
QUICK: dict[str, Any] = {"C": (0.03,), "cv": 3, "repeats": 1, "n_jobs": 1}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m concordant.demo",
        description="Compare every route on bundled data under its loss and write a report.",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default="concordant-report.html",
        metavar="PATH",
        help="the report; an older one is replaced (default: %(default)s)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="3 splits and one C: done in seconds, but too few splits to tell routes apart",
    )
    parser.add_argument("--seed", type=_seed, default=0, help="of folds and fits (default: 0)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison, print it, write the report."""
    options = parse(arguments)
    if hasattr(sys.stdout, "reconfigure"):  # a narrow encoding loses a dash, not the run
        sys.stdout.reconfigure(errors="replace")
    try:
        run(options)
    except KeyboardInterrupt:
        print("interrupted: no report was written", file=sys.stderr)
        return 130
    return 0


def run(options: argparse.Namespace) -> None:
    """Compare, write the report, print."""
    from concordant.datasets import load_redwine
    from concordant.report import compare, write

    with _writing(options.output):  # before the work, not after it
        _check_writable(options.output)
    X, y = load_redwine(return_X_y=True, as_frame=True)
    if not options.json:
        _say(f"{QUESTION}:\nwhich way of training loses least?\n", style="bold")
    with live() as progress:
        comparison = compare(
            X,
            y,
            "absolute",
            question=QUESTION,
            source=SOURCE,
            data_code=DATA_CODE,
            random_state=options.seed,
            progress=progress,
            **(QUICK if options.quick else {}),
        )
    with _writing(options.output):
        path = write(comparison, options.output, _command(options))
    if options.json:
        print(json.dumps({**comparison.to_dict(), "report": str(path)}, indent=2, allow_nan=False))
        return
    show(comparison)
    print(f"\nReport written to {path}")


def show(comparison: Comparison) -> None:
    """Table and recommendation on standard output."""
    from rich.padding import Padding

    from concordant.report import wording
    from concordant.report.table import LEGEND, notes, table

    _say(f"Data: {wording.data_text(comparison)}")
    _say(f"Measured: {wording.protocol_text(comparison)} {wording.time_text(comparison)}")
    _console().print(Padding(table(comparison), (1, 0)))
    for line in (LEGEND, *notes(comparison)):
        _say(line, style="dim")
    _say("")
    _say(comparison.recommendation(), style="bold")


def _seed(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid integer value: {text!r}") from None
    if not 0 <= value < 2**32:  # what numpy takes
        raise argparse.ArgumentTypeError(f"must lie between 0 and 2**32 - 1, got {value}")
    return value


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """End with a message and status 1, not a traceback, where `path` cannot be written."""
    try:
        yield
    except OSError as error:
        raise SystemExit(f"error: cannot write {path}: {error.strerror}") from error


def _check_writable(path: Path) -> None:
    """Raise OSError if `path` cannot be written; leave no file that was not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    existed = path.exists()
    path.open("ab").close()
    if not existed:
        path.unlink()


def _command(options: argparse.Namespace) -> str:
    parts = ["python", "-m", "concordant.demo", "--seed", str(options.seed)]
    return shlex.join(parts + ["--quick"] * options.quick)


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _say(text: str, style: str | None = None) -> None:
    _console().print(text, style=style, markup=False)


@contextmanager
def live() -> Iterator[Progress | None]:
    """A progress line on standard error while a terminal watches it, else nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rp
    from rich.console import Console

    columns = (
        rp.BarColumn(),
        rp.MofNCompleteColumn(),
        rp.TimeElapsedColumn(),
        rp.TextColumn("{task.description}"),
    )
    with rp.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def progress(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=what)

        yield progress


if __name__ == "__main__":
    sys.exit(main())
