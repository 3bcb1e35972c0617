"""The main job on bundled data: ``python -m concordant.demo`` (or ``make demo``).

Which route loses least when red wine is graded and mistakes cost the distance between grades?
The same as ``concordant compare`` on a file of these data; an older report is replaced.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from concordant.cli import options, terminal
from concordant.cli.compare import QUICK, measure, publish

QUESTION = "Red wine, graded 3 to 8, scored by absolute distance between grades"
SOURCE = (
    "Wine Quality, red (P. Cortez, A. Cerdeira, F. Almeida, T. Matos and J. Reis, 2009; UCI "
    "Machine Learning Repository, doi:10.24432/C56S3T), licence CC BY 4.0."
)

DATA_CODE = "X, y = cc.datasets.load_redwine(return_X_y=True, as_frame=True)"


@click.command()
@click.option(
    "--output", default="concordant-report.html", show_default=True, metavar="PATH",
    help="The report; an older one is replaced.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="3 splits, one C: seconds, but tells little apart.")
@options.seed_option
@options.json_option
def demo(output: str, quick: bool, seed: int, as_json: bool) -> None:
    """Compare every route on bundled data under its loss and write a report."""
    path = Path(output)
    try:
        terminal.check_writable(path)  # before the work, not after it
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error
    from concordant.datasets import load_redwine

    X, y = load_redwine(return_X_y=True, as_frame=True)
    if not as_json:
        terminal.say(f"{QUESTION}:\nwhich way of training loses least?\n", style="bold")
    command = ["python", "-m", "concordant.demo", "--seed", str(seed)] + ["--quick"] * quick
    found = measure(
        path,
        shlex.join(command),
        X=X,
        y=y,
        loss="absolute",
        question=QUESTION,
        source=SOURCE,
        data_code=DATA_CODE,
        random_state=seed,
        **(QUICK if quick else {}),
    )
    publish(found, path, as_json)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; returns the exit status."""
    if hasattr(sys.stdout, "reconfigure"):  # a narrow encoding loses a dash, not the run
        sys.stdout.reconfigure(errors="replace")
    try:
        demo.main(arguments, prog_name="python -m concordant.demo", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("interrupted: no report was written", err=True)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
