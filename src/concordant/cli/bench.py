"""``concordant bench``: how fast training is on this machine, beside what is installed."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Any

import click

from concordant.cli import options, terminal


@click.command()
@click.option("--rows", type=click.IntRange(50), default=5000, show_default=True)
@click.option("--features", type=click.IntRange(1), default=20, show_default=True)
@click.option("--labels", type=click.IntRange(2), default=5, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Best of.")
@options.seed_option
@options.json_option
@options.debug_option
def bench(rows: int, features: int, labels: int, rounds: int, seed: int, as_json: bool) -> None:
    """Seconds to train each route on synthetic data, beside scikit-learn and, if installed, mord.

    Everything runs in turns in this process, after one fit that is not counted; the best of the
    rounds is shown. Routes stop at a certified relative gap of 1e-3, the others where they stop
    by themselves, so that ratios say what a user waits for and not which code is better.

    \b
    Example:
      concordant bench --rows 20000 --labels 10
    """
    from concordant.datasets import make_ordered

    x, y = make_ordered(rows, features, labels, random_state=seed)
    with terminal.plain_warnings(), terminal.live() as progress:
        found = _measure(_contestants(seed), x, y, rounds, progress)
    result = {
        "rows": rows,
        "features": features,
        "labels": labels,
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "seconds": found,
    }
    if as_json:
        terminal.say_json(result)
    else:
        _show(result)


def _contestants(seed: int) -> dict[str, Callable[[], Any]]:
    from importlib.util import find_spec

    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    from concordant.estimators import Classifier

    def route(surrogate: str, loss: str) -> Callable[[], Any]:
        return lambda: Classifier(loss, surrogate, tol=1e-3, random_state=seed)

    found: dict[str, Callable[[], Any]] = {
        "log": route("log", "absolute"),
        "adversarial, absolute": route("adversarial", "absolute"),
        "adversarial, 0-1": route("adversarial", "zero_one"),
        "hinge, 0-1": route("hinge", "zero_one"),
        "quadratic": route("quadratic", "absolute"),
        "scikit-learn LogisticRegression": lambda: LogisticRegression(max_iter=1000),
        "scikit-learn LinearSVC": lambda: LinearSVC(random_state=seed),
        "scikit-learn boosted trees": lambda: HistGradientBoostingClassifier(random_state=seed),
    }
    if find_spec("mord"):
        from mord import LogisticAT

        found["mord LogisticAT"] = lambda: LogisticAT(alpha=1.0)
    return found


def _measure(
    contestants: dict[str, Callable[[], Any]], x: Any, y: Any, rounds: int, progress: Any
) -> dict[str, float]:
    best = dict.fromkeys(contestants, float("inf"))
    done, total = 0, (rounds + 1) * len(contestants)
    for turn in range(rounds + 1):
        for name, make in contestants.items():
            if progress is not None:
                progress(done, total, name)
            model, started = make(), time.perf_counter()
            model.fit(x, y)
            if turn:  # the first compiles and warms caches
                best[name] = min(best[name], time.perf_counter() - started)
            done += 1
    return best


def _show(result: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    terminal.say(
        f"{result['rows']:,} rows, {result['features']} features, {result['labels']} ordered "
        f"labels; {result['machine']}\n"
    )
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("training")
    table.add_column("seconds", justify="right")
    table.add_column("× LogisticRegression", justify="right")
    reference = result["seconds"]["scikit-learn LogisticRegression"]
    for name, seconds in sorted(result["seconds"].items(), key=lambda item: item[1]):
        table.add_row(name, f"{seconds:.3f}", f"{seconds / reference:.2f}")
    terminal.console().print(table)
