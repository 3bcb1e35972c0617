"""``concordant train``: one route on all the data, into a model file."""

from __future__ import annotations

import datetime
import time
from typing import Any

import click

from concordant.cli import options, sequences, terminal

GRID = (0.01, 0.1, 1.0, 10.0)
FOLDS = 3


@click.command()
@options.data_argument
@options.table_options
@click.option("--model", "output", required=True, metavar="FILE", help="Where to write the model.")
@click.option(
    "--route",
    default="adversarial",
    show_default=True,
    help="How to train; ordinal/NAME: on one direction with thresholds.",
)
@click.option("--kernel", metavar="NAME", help="Kernel scores (rbf, poly, …) instead of linear.")
@click.option(
    "--C", "C", default="auto", show_default=True,
    help=f"Weight of the data; auto: the best of {', '.join(f'{c:g}' for c in GRID)} under the "
    f"loss by {FOLDS}-fold cross-validation.",
)  # fmt: skip
@click.option("--tol", type=float, default=1e-4, show_default=True, help="Certified relative gap.")
@options.seed_option
@options.jobs_option
@options.json_option
@options.force_option
@options.debug_option
def train(
    data: str, output: str, route: str, kernel: str | None, C: str, tol: float, seed: int,
    jobs: int | None, as_json: bool, force: bool, **table: Any,
) -> None:  # fmt: skip
    """Train one route and write a model file.

    \b
    Examples:
      concordant train wines.csv --target quality --loss absolute --model wine.model
      concordant train mail.csv --target spam --loss abstain:0.1 --route log --model spam.model
    """
    path = terminal.claim(output, force, "--model")
    kind = sequences.kind_of(data, table["kind"], table["task"])
    if kind is not None:
        with terminal.plain_warnings():
            result = _train_sequences(data, kind, path, table, route, C, tol, seed, jobs)
        _tell(result, as_json)
        return
    with terminal.plain_warnings():
        read = options.read_data(data, **table)
        estimator = _estimator(read, route, kernel, tol, seed, jobs)
        started = time.perf_counter()
        estimator.set_params(C=_C(C, read, estimator, seed, jobs))
        model = _pipeline(read, estimator)
        model.fit(read.x, read.y)
        seconds = time.perf_counter() - started
        if read.encoder is not None:
            model.steps.insert(0, ("table", read.encoder))
        about = _about(data, read, route, seconds)
        from concordant.io import save

        save(model, path, about=about)
    result = {
        "model": str(path),
        "route": route,
        "loss": read.loss_name,
        "rows": len(read.y),
        "C": float(estimator.C),
        "objective": float(estimator.objective_),
        "gap": float(estimator.gap_),
        "seconds": seconds,
        "training_loss": _training_loss(estimator, model, read),
    }
    _tell(result, as_json)


def _tell(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        terminal.say_json(result)
        return
    relative = result["gap"] / max(abs(result["objective"]), 1e-300)
    terminal.say(
        f"Trained {result['route']} for {result['loss']} on {result['rows']:,} rows in "
        f"{result['seconds']:.1f} s, C = {result['C']:g}: certified to a relative gap of "
        f"{relative:.1e}, mean loss on these rows {result['training_loss']:.4g} (on new rows "
        "expect more: see concordant compare)."
    )
    terminal.say(f"Model written to {result['model']}")


def _train_sequences(
    data: str, kind: str, path: Any, table: dict[str, Any], route: str, C: str, tol: float,
    seed: int, jobs: int | None,
) -> dict[str, Any]:  # fmt: skip
    import numpy as np
    from sklearn.pipeline import Pipeline

    from concordant.estimators import SequenceLabeler
    from concordant.io import save
    from concordant.metrics import mean_loss

    read = sequences.read_sequences(data, kind, table["template"], table["loss"])
    weight = 1.0 if C == "auto" else _given(C)
    model = SequenceLabeler(
        read.loss, route, C=weight, tol=max(tol, 1e-3), random_state=seed, n_jobs=jobs
    )
    started = time.perf_counter()
    model.fit(read.X, read.y)
    seconds = time.perf_counter() - started
    steps = [] if read.encoder is None else [("columns", read.encoder)]
    flat = np.array([label for labels in read.y for label in labels])
    labels, counts = np.unique(flat, return_counts=True)
    about = {
        "data": data,
        "task": "sequence",
        "format": kind,
        "rows": len(read.y),
        "positions": read.tokens,
        "loss": read.loss_name,
        "labels": dict(zip(labels.tolist(), counts.tolist())),
        "trained": _now(),
        "seconds": round(seconds, 3),
    }
    save(Pipeline([*steps, ("model", model)]), path, about=about)
    answers = np.concatenate([np.asarray(a) for a in model.predict(read.X)])
    return {
        "model": str(path),
        "route": route,
        "loss": read.loss_name,
        "rows": len(read.y),
        "positions": read.tokens,
        "C": weight,
        "objective": float(model.objective_),
        "gap": float(model.gap_),
        "seconds": seconds,
        "training_loss": mean_loss(flat, answers, read.loss, labels=model.classes_),
    }


def _estimator(
    read: options.Data, route: str, kernel: str | None, tol: float, seed: int, jobs: int | None
) -> Any:
    from concordant.cli.compare import route_of
    from concordant.estimators import Classifier

    found = route_of(route)
    model = Classifier(surrogate=found) if isinstance(found, str) else found
    model.set_params(loss=read.loss, kernel=kernel, tol=tol, random_state=seed, n_jobs=jobs)
    if read.schema.ordered and "categories" in model.get_params():
        model.set_params(categories=list(read.schema.labels))
    return model


def _C(text: str, read: options.Data, estimator: Any, seed: int, jobs: int | None) -> float:
    if text != "auto":
        return _given(text)
    import numpy as np

    from concordant.report.candidates import candidates
    from concordant.report.comparison import make_protocol
    from concordant.report.problem import Problem
    from concordant.report.training import tune

    missing = "refuse" if read.encoder is None else "impute"
    problem = Problem.of(read.x, read.y, read.loss, missing)
    protocol = make_protocol(problem, GRID, 2, 1, FOLDS, 1e-3, seed, jobs)
    (candidate, *_) = candidates([estimator], read.loss)
    return tune(problem, candidate, np.arange(len(read.y)), protocol)


def _given(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise click.BadParameter(f"{text!r} is neither 'auto' nor > 0", param_hint="--C")
    return value


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _pipeline(read: options.Data, estimator: Any) -> Any:
    import scipy.sparse as sp
    from sklearn.pipeline import Pipeline

    from concordant.io.encoding import Standardise

    scaler = Standardise(with_mean=not sp.issparse(read.x))
    return Pipeline([("scale", scaler), ("model", estimator)])


def _training_loss(estimator: Any, model: Any, read: options.Data) -> float:
    from concordant.metrics import mean_loss

    steps = model[1:] if read.encoder is not None else model
    return mean_loss(read.y, steps.predict(read.x), read.loss, labels=estimator.classes_)


def _about(data: str, read: options.Data, route: str, seconds: float) -> dict[str, Any]:
    import numpy as np

    labels, counts = np.unique(read.y, return_counts=True)
    return {
        "data": data,
        "rows": len(read.y),
        "features": int(read.x.shape[1]),
        "target": read.schema.target,
        "loss": read.loss_name,
        "route": route,
        "labels": dict(zip(map(str, labels.tolist()), counts.tolist())),
        "columns": [list(row) for row in read.schema.describe()],
        "trained": _now(),
        "seconds": round(seconds, 3),
    }
