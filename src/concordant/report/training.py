"""Fits of a comparison: one candidate on one split, with C chosen inside its training part."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline

from concordant.io.encoding import Standardise
from concordant.plots.coverage import doubt_of
from concordant.report.candidates import Candidate
from concordant.report.problem import Problem

#: What data can do to a candidate; it becomes a row with the reason. Anything else is a mistake
#: in a program and stops the comparison.
FAILURES = (ValueError, ArithmeticError, RuntimeError, MemoryError)

Split = tuple[np.ndarray, np.ndarray]

#: Examples × labels above which probabilities are not kept for the figures.
MOST_PROBABILITIES = 5_000_000


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


def make_splits(problem: Problem, protocol: Protocol) -> list[Split]:
    """Stratified folds, repeated: row numbers of training and test parts."""
    folds = RepeatedStratifiedKFold(
        n_splits=protocol.cv, n_repeats=protocol.repeats, random_state=protocol.seed
    )
    with warnings.catch_warnings():  # a label rarer than the folds: said in the report
        warnings.simplefilter("ignore", UserWarning)
        return list(folds.split(np.zeros(len(problem.y)), problem.y))


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
    rows = np.arange(len(problem.y))
    try:
        with alone():
            for model in _path(problem, candidate, rows, stops, seed=0):
                _answers(problem, model, rows[:1])
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
    rows = np.arange(len(problem.y))
    try:
        with alone():
            started = time.perf_counter()
            (model,) = _path(problem, candidate, rows, [(C, protocol.tol)], protocol.seed)
            seconds = time.perf_counter() - started
    except FAILURES as error:
        return Final(0.0, failure=f"failed on all the data: {_reason(error)}")
    if not candidate.is_route:
        return Final(seconds)
    return Final(seconds, model[-1].history_, model[-1].consistency())


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
    x = Standardise(with_mean=not problem.is_sparse).fit(problem.x[rows])
    model = None
    for C, tol in stops:
        estimator = candidate.make(C, loss, tol, seed)
        if candidate.is_route and len(stops) > 1:
            if model is None:
                estimator.set_params(warm_start=True)
            else:
                estimator = model[-1].set_params(C=C, tol=tol)
        estimator.fit(x.transform(problem.x[rows]), problem.y[rows])
        model = make_pipeline(x, estimator)
        yield model


def _answers(problem: Problem, model: Any, rows: np.ndarray) -> np.ndarray:
    return problem.rows_of(model.predict(problem.x[rows]))


def tune(problem: Problem, candidate: Candidate, rows: np.ndarray, protocol: Protocol) -> float:
    """The C with the smallest loss in an inner cross-validation; the smaller of equals."""
    if len(protocol.C) == 1 or not candidate.has_C:
        return protocol.C[0]
    folds = StratifiedKFold(protocol.inner_cv, shuffle=True, random_state=protocol.seed)
    totals = np.zeros(len(protocol.C))
    inner = list(folds.split(np.zeros(len(rows)), problem.y[rows]))
    stops = [(C * candidate.scale, protocol.tune_tol) for C in protocol.C]
    for train, test in inner:
        for i, model in enumerate(_path(problem, candidate, rows[train], stops, protocol.seed)):
            answers = _answers(problem, model, rows[test])
            totals[i] += problem.costs[answers, problem.y[rows[test]]].sum()
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
            answers = _answers(problem, model, test)
            doubt, proba = _certainty(problem, model, answers, test)
    except FAILURES as error:
        return Piece(np.zeros(0, dtype=np.int64), failure=_reason(error))
    return Piece(answers, doubt, proba, C if candidate.has_C else None, gap, converged)


def _certainty(
    problem: Problem, model: Any, answers: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """How little the model is sure of each answer, and its probabilities of the labels."""
    if problem.x.shape[0] * len(problem.classes) > MOST_PROBABILITIES:
        return None, None
    x, seen = problem.x[rows], np.asarray(model.classes_, dtype=np.int64)
    if hasattr(model, "predict_proba"):
        proba = np.zeros((len(rows), len(problem.classes)), dtype=np.float32)
        proba[:, seen] = model.predict_proba(x)
        return np.einsum("ij,ij->i", problem.costs[answers], proba), proba
    if not hasattr(model, "decision_function"):
        return None, None
    return doubt_of(model, x, problem.costs, answers), None


def _certificate(model: Any, candidate: Candidate, tol: float) -> tuple[float | None, bool]:
    """Relative gap, if the model has one, and whether training reached its end."""
    if candidate.is_route:
        gap = float(model.gap_ / max(abs(model.objective_), 1e-300))
        return gap, gap <= tol * (1 + 1e-9)
    if not candidate.has_C:
        return None, True
    model = getattr(model, "estimator", model)
    return None, int(np.max(model.n_iter_)) < model.max_iter


def _reason(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
