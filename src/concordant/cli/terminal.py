"""Results on standard output, progress and warnings on standard error."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from concordant.report.comparison import Progress


def console() -> Any:
    """A console on standard output; rich leaves colours out where NO_COLOR asks for it."""
    from rich.console import Console

    return Console(highlight=False)


def say(text: str = "", style: str | None = None) -> None:
    """A line of results."""
    console().print(text, style=style, markup=False)


def say_json(content: dict[str, Any]) -> None:
    """Results for machines."""
    click.echo(json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False))


def note(text: str) -> None:
    """A remark on standard error."""
    click.echo(text, err=True)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Warnings as one line each, without the place in our code they come from."""

    def show(message: Any, category: Any, *where: Any, **more: Any) -> None:
        note(f"warning: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.simplefilter("once")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.showwarning = show
        yield


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


def check_writable(path: Path) -> None:
    """Raise OSError if `path` cannot be written; leave no file that was not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    existed = path.exists()
    path.open("ab").close()
    if not existed:
        path.unlink()


def claim(path: str, force: bool, option: str) -> Path:
    """A path that may be written, found out before the work and not after it."""
    found = Path(path)
    if found.exists() and not force and found.is_file():
        raise click.UsageError(f"{path} exists: --force replaces it, or choose another {option}")
    try:
        check_writable(found)
    except OSError as error:
        raise click.UsageError(f"cannot write {path}: {error.strerror}") from error
    return found
