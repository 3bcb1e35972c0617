"""Fits of a comparison: one candidate on one split, with C chosen inside its training part."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from concordant.report.candidates import Candidate
from concordant.report.problem import Problem, Split

#: What data can do to a candidate; it becomes a row with the reason. Anything else is a mistake
#: in a program and stops the comparison.
FAILURES = (ValueError, ArithmeticError, RuntimeError, MemoryError)


@dataclass(frozen=True)
class Protocol:
    """How the numbers came about."""

    cv: int
    repeats: int
    inner_cv: int
    C: tuple[float, ...]
    tol: float
    tune_tol: float
    seed: int
    ratio: float  # test rows per training row of a split
    jobs: int
    seconds: float = 0.0

    @property
    def splits(self) -> int:
        """Splits in all."""
        return self.cv * self.repeats


class Piece(NamedTuple):
    """One candidate on one split, or why it has no answers there.

    `doubt` grows where the candidate is less sure; `proba` has a column for every label.
    """

    answers: np.ndarray
    doubt: np.ndarray | None = None
    proba: np.ndarray | None = None
    C: float | None = None
    gap: float | None = None
    converged: bool = True
    failure: str | None = None


class Final(NamedTuple):
    """One fit on all the data."""

    seconds: float
    history: dict[str, list[float]] | None = None
    consistency: str | None = None
    failure: str | None = None


@contextmanager
def alone() -> Iterator[None]:
    """One thread for the libraries underneath, prediction included: the processes are what runs
    in parallel, and threads that wait for each other on a busy machine cost ten times the work.
    No warnings either: early stops are counted, and rare labels named, in the report.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def try_out(problem: Problem, candidate: Candidate, protocol: Protocol) -> str | None:
    """Why the candidate cannot work on this data under this loss, if it cannot.

    Its first steps on the data, which also compile its kernels before anything is timed.
    """
    if candidate.answers_labels and not problem.labels_are_actions:
        return "it answers with labels, which this loss does not price"
    if candidate.dense and problem.is_sparse:
        return "it needs dense features"
    ends = [protocol.C[0], protocol.C[-1]] if candidate.is_route else protocol.C[:1]
    stops = [(C * candidate.scale, 1.0) for C in ends]
    rows = np.arange(problem.size)
    try:
        with alone():
            for model in _path(problem, candidate, rows, stops, seed=0):
                problem.answers(model, rows[:1])
    except FAILURES as error:
        return _reason(error)
    return None


def cross_validate(
    problem: Problem,
    chosen: list[Candidate],
    splits: list[Split],
    protocol: Protocol,
    tell: Callable[[int], None],
) -> list[list[Piece]]:
    """Every candidate on every split, by processes: training holds the interpreter's lock."""
    from joblib import Parallel, delayed

    tasks = [(c, train, test) for train, test in splits for c in chosen]
    results: Iterator[Piece] = Parallel(protocol.jobs, return_as="generator")(
        delayed(_piece)(problem, c, train, test, protocol) for c, train, test in tasks
    )
    flat = []
    for piece in results:
        flat.append(piece)
        tell(len(flat))
    return [flat[i :: len(chosen)] for i in range(len(chosen))]


def fit_all(problem: Problem, candidate: Candidate, C: float, protocol: Protocol) -> Final:
    """One fit from nothing on all the data, timed."""
    rows = np.arange(problem.size)
    try:
        with alone():
            started = time.perf_counter()
            (model,) = _path(problem, candidate, rows, [(C, protocol.tol)], protocol.seed)
            seconds = time.perf_counter() - started
    except FAILURES as error:
        return Final(0.0, failure=f"failed on all the data: {_reason(error)}")
    if not candidate.is_route:
        return Final(seconds)
    said = model[-1].consistency() if hasattr(model[-1], "consistency") else None
    return Final(seconds, model[-1].history_, said)


def _path(
    problem: Problem,
    candidate: Candidate,
    rows: np.ndarray,
    stops: list[tuple[float, float]],
    seed: int,
) -> Iterator[Any]:
    """Models for rising ``(C, tol)``. A route starts from its last solution, which for the
    slowest saves most of the time; each model is good until the next is asked for.
    """
    loss = problem.loss_on(rows)
    prepared = problem.prepare(rows)
    model = None
    for C, tol in stops:
        estimator = candidate.make(C, loss, tol, seed)
        if candidate.is_route and len(stops) > 1:
            if model is None:
                estimator.set_params(warm_start=True)
            else:
                estimator = model[-1].set_params(C=C, tol=tol)
        model = problem.fit(estimator, prepared, rows)
        yield model


def tune(problem: Problem, candidate: Candidate, rows: np.ndarray, protocol: Protocol) -> float:
    """The C with the smallest loss in an inner cross-validation; the smaller of equals."""
    if len(protocol.C) == 1 or not candidate.has_C:
        return protocol.C[0]
    totals = np.zeros(len(protocol.C))
    inner = problem.inner_folds(rows, protocol.inner_cv, protocol.seed)
    stops = [(C * candidate.scale, protocol.tune_tol) for C in protocol.C]
    for train, test in inner:
        for i, model in enumerate(_path(problem, candidate, rows[train], stops, protocol.seed)):
            answers = problem.answers(model, rows[test])
            totals[i] += problem.costs[answers, problem.y[problem.slots(rows[test])]].sum()
    return protocol.C[int(totals.argmin())]


def _piece(
    problem: Problem, candidate: Candidate, train: np.ndarray, test: np.ndarray, protocol: Protocol
) -> Piece:
    try:
        with alone():
            best = tune(problem, candidate, train, protocol)
            C = best * candidate.scale
            before = [c for c in protocol.C if c < best and candidate.is_route]
            stops = [(c * candidate.scale, protocol.tune_tol) for c in before]
            *_, model = _path(problem, candidate, train, [*stops, (C, protocol.tol)], protocol.seed)
            gap, converged = _certificate(model[-1], candidate, protocol.tol)
            answers = problem.answers(model, test)
            doubt, proba = problem.certainty(model, answers, test)
    except FAILURES as error:
        return Piece(np.zeros(0, dtype=np.int64), failure=_reason(error))
    return Piece(answers, doubt, proba, C if candidate.has_C else None, gap, converged)


def _certificate(model: Any, candidate: Candidate, tol: float) -> tuple[float | None, bool]:
    """Relative gap, if the model has one, and whether training reached its end."""
    if candidate.is_route:
        gap = float(model.gap_ / max(abs(model.objective_), 1e-300))
        return gap, gap <= tol * (1 + 1e-9)
    if not candidate.has_C:
        return None, True
    while hasattr(model, "estimator"):
        model = model.estimator
    return None, int(np.max(model.n_iter_)) < model.max_iter


def _reason(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
