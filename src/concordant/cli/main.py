"""The group of commands, and what becomes of errors."""

from __future__ import annotations

import sys
from typing import Any

import click

from concordant import __version__
from concordant.cli.bench import bench
from concordant.cli.compare import compare
from concordant.cli.completion import completion
from concordant.cli.evaluate import evaluate
from concordant.cli.info import info
from concordant.cli.predict import predict
from concordant.cli.train import train

HELP = """Train for the loss you are scored on.

\b
Which way of training loses least on my data, under my loss?
  concordant compare wines.csv --target quality --loss absolute
  concordant compare patients.csv --target diagnosis --loss prices.csv
  concordant compare mail.csv --target spam --loss abstain:0.1

\b
Train it, serve it:
  concordant train wines.csv --target quality --loss absolute --model wine.model
  concordant predict wine.model new.csv --output graded.csv
  concordant evaluate wine.model held-out.csv
  concordant info wine.model

Results go to standard output, progress to standard error. Exit status: 0 done, 1 failed, 2 the
command makes no sense.
"""


class Commands(click.Group):
    """Errors of the data become a line, not a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except BrokenPipeError:  # the reader went away, as `head` does
            sys.stderr.close()
            raise click.exceptions.Exit(1) from None
        except Exception as error:
            if ctx.find_root().meta.get("debug"):
                raise
            raise click.ClickException(_words(error)) from error


#: What the data, a file or the machine can do to a command. Anything else is a mistake in the
#: library.
EXPECTED = (ValueError, TypeError, OSError, MemoryError, ImportError)


def _words(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if isinstance(error, EXPECTED) and text:
        return text
    kind = type(error).__name__
    return f"unexpected {kind}: {text} (--debug shows the traceback)"


@click.group(cls=Commands, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="concordant")
def commands() -> None:
    """The group; each command is a module of its own."""


for command in (compare, train, predict, evaluate, info, bench, completion):
    commands.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; ends the process with its status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a narrow encoding loses a dash, not the run
            stream.reconfigure(errors="replace")
    commands.main(arguments, prog_name="concordant")
