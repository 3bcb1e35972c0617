"""`compare`: every route and honest baselines on the same folds, under your loss.

The protocol. Stratified folds, repeated; within the training part of each split features are
standardised and C is chosen by an inner cross-validation, both from that part alone. Every
candidate sees the same splits. One more fit on all the data, one after another, gives seconds,
certificates over time and the consistency sentence.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from concordant.executor import count_workers
from concordant.report.candidates import Candidate, candidates
from concordant.report.problem import Problem
from concordant.report.results import Comparison, Failure, Outcome, most_frequent
from concordant.report.statistics import (
    corrected_error,
    corrected_interval,
    corrected_t_test,
    holm,
    signed_rank_test,
)
from concordant.report.training import (
    Final,
    Piece,
    Protocol,
    Split,
    cross_validate,
    fit_all,
    try_out,
)

#: ``(differences over splits, test rows per training row) -> p-value``
Test = Callable[[np.ndarray, float], float]
TESTS: dict[str, Test] = {"t": corrected_t_test, "wilcoxon": signed_rank_test}

#: ``(fits done, fits in all, what is being done)``
Progress = Callable[[int, int, str], None]


def compare(
    X: Any,
    y: Any,
    loss: Any = "zero_one",
    *,
    routes: Iterable[Any] | None = None,
    C: Sequence[float] = (0.01, 0.1, 1.0),
    cv: int = 5,
    repeats: int = 2,
    inner_cv: int = 3,
    tol: float = 1e-3,
    random_state: Any = 0,
    n_jobs: int | None = None,
    missing: str = "refuse",
    test: str = "t",
    loss_name: str | None = None,
    question: str | None = None,
    source: str = "",
    data_code: str = "",
    progress: Progress | None = None,
) -> Comparison:
    """Cross-validate every route and plain baselines under one loss.

    A candidate that cannot be trained is kept in ``failures`` with its reason.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
    loss : str or loss, default="zero_one"
    routes : iterable of str, surrogate or estimator, default=None
        By default every route that applies, with linear scores: where labels have ranks also
        those of one direction with thresholds. A `Classifier` or `OrdinalClassifier` brings its
        kernel and other arguments along; its own C multiplies the grid. The baselines are always
        there: the best constant action, scikit-learn's boosted trees and logistic regression with
        the Bayes action of the loss, and logistic regression with its most probable label.
    C : sequence of float
        Grid, the same for every candidate; with one value nothing is tuned.
    cv, repeats, inner_cv : int, default=5, 2, 3
        Folds, repetitions of them with new folds, and folds inside for C.
    tol : float, default=1e-3
        Certified relative gap of the final fits; fits that only choose C stop at ten times it.
    random_state : int, RandomState or None, default=0
    n_jobs : int, default=None
        Processes; None for all cores. The result does not depend on it, but for the seconds.
    missing : {"refuse", "impute"}, default="refuse"
        Whether NaN in dense `X` is an error, or becomes the mean of the column over the training
        rows of each split.
    test : {"t", "wilcoxon"}, default="t"
        The corrected resampled t-test, or Wilcoxon's signed-rank test over the splits, which
        takes them for independent.
    loss_name : str, default=None
        What to call the loss in the report.
    question, source, data_code : str
        For the report: what is asked, where the data come from, and a line of Python that loads
        them as ``X, y``.
    progress : callable, default=None
        Called as ``progress(done, total, what)``.

    Examples
    --------
    >>> import concordant as cc
    >>> from concordant.report import compare
    >>> X, y = cc.datasets.load_redwine(return_X_y=True)
    >>> comparison = compare(
    ...     X[:300], y[:300], "absolute", routes=["log"], C=[0.1], cv=3, repeats=1, n_jobs=1
    ... )
    >>> comparison["log"].mean < comparison["constant"].mean
    True
    """
    problem = Problem.of(X, y, loss, missing)
    protocol = make_protocol(problem, C, cv, repeats, inner_cv, tol, random_state, n_jobs)
    routes = routes if routes is None else list(routes)
    return run(
        problem,
        candidates(routes, loss, problem),
        protocol,
        loss,
        test=test,
        progress=progress,
        chosen=routes is not None,
        question=question,
        source=source,
        data_code=data_code,
        loss_name=loss_name,
    )


def run(
    problem: Problem,
    found: list[Candidate],
    protocol: Protocol,
    loss: Any,
    *,
    test: str = "t",
    progress: Progress | None = None,
    chosen: bool = False,
    question: str | None = None,
    **said: Any,
) -> Comparison:
    """Measure the candidates on the problem; `said` goes into the report."""
    started = time.perf_counter()
    if test not in TESTS:
        raise ValueError(f"test must be {' or '.join(map(repr, TESTS))}, got {test!r}")
    outcomes, failures = _measure(problem, found, protocol, progress or _silent)
    if not outcomes:
        reasons = "; ".join(f"{f.title}: {f.reason}" for f in failures)
        raise ValueError(f"no candidate could be measured: {reasons}")
    return Comparison(
        outcomes=_against_best(outcomes, protocol, TESTS[test]),
        failures=tuple(failures),
        problem=problem,
        loss=loss,
        question=question or "Which route gives the smallest mean loss on this data?",
        protocol=replace(protocol, seconds=time.perf_counter() - started),
        versions=_versions(),
        test=test,
        routes_code=", ".join(c.code for c in found if c.is_route) if chosen else "",
        **said,
    )


def _silent(done: int, total: int, what: str) -> None:
    """Progress that nobody watches."""


def make_protocol(
    problem: Problem, C: Sequence[float], cv: int, repeats: int, inner_cv: int, tol: float,
    random_state: Any, n_jobs: int | None,
) -> Protocol:  # fmt: skip
    """The protocol of these numbers; an error where they make none."""
    grid = tuple(sorted(float(value) for value in C))
    if not grid or not all(np.isfinite(value) and value > 0 for value in grid):
        raise ValueError(f"C must hold finite values > 0, got {C!r}")
    if cv < 2 or repeats < 1 or inner_cv < 2:
        raise ValueError("a comparison needs cv >= 2, repeats >= 1 and inner_cv >= 2")
    if not isinstance(random_state, (int, np.integer)):
        random_state = check_random_state(random_state).randint(2**31 - 1)
    return Protocol(
        cv=cv,
        repeats=repeats,
        inner_cv=min(inner_cv, int(problem.counts.max())),
        C=grid,
        tol=tol,
        tune_tol=10 * tol,
        seed=int(random_state),
        ratio=1.0 / (cv - 1),
        jobs=count_workers(n_jobs),
    )


def _versions() -> dict[str, str]:
    from concordant import __version__

    names = ("scikit-learn", "numpy", "scipy", "numba")
    versions = {"concordant": __version__, "python": platform.python_version()}
    return versions | {name: version(name) for name in names}


def _measure(
    problem: Problem, found: list[Candidate], protocol: Protocol, tell: Progress
) -> tuple[list[Outcome], list[Failure]]:
    """Numbers of the candidates that have some, and the reasons of the others."""
    splits = problem.folds(protocol.cv, protocol.repeats, protocol.seed)
    total = len(found) * (len(splits) + 1)
    reasons = {}
    for candidate in found:
        tell(0, total, f"{candidate.title}: first steps")
        reasons[candidate.name] = try_out(problem, candidate, protocol)
    running = [c for c in found if reasons[c.name] is None]
    pieces = cross_validate(
        problem, running, splits, protocol, lambda done: tell(done, total, "cross-validation")
    )
    outcomes = []
    for i, candidate in enumerate(running):
        tell(total - len(running) + i, total, f"{candidate.title} on all the data")
        failed = [piece.failure for piece in pieces[i] if piece.failure is not None]
        if failed:
            where = f"{len(failed)} of {len(splits)} splits"
            reasons[candidate.name] = f"failed in {where}: {failed[0]}"
            continue
        C = most_frequent([piece.C for piece in pieces[i] if piece.C is not None])
        final = fit_all(problem, candidate, C or 1.0, protocol)
        reasons[candidate.name] = final.failure
        if final.failure is None:
            outcomes.append(_outcome(problem, candidate, pieces[i], final, splits, protocol))
    failures = [
        Failure(c.name, c.title, c.is_route, reason)
        for c in found
        if (reason := reasons[c.name]) is not None
    ]
    return outcomes, failures


def _outcome(
    problem: Problem,
    candidate: Candidate,
    pieces: list[Piece],
    final: Final,
    splits: list[Split],
    protocol: Protocol,
) -> Outcome:
    actions = np.zeros((protocol.repeats, len(problem.y)), dtype=np.int64)
    losses, accuracies = np.empty(len(splits)), np.empty(len(splits))
    tested = [problem.slots(test) for _, test in splits]
    doubt = _gathered([piece.doubt for piece in pieces], tested, actions.shape)
    proba = _gathered([piece.proba for piece in pieces], tested, actions.shape)
    for i, (piece, test) in enumerate(zip(pieces, tested)):
        actions[i // protocol.cv, test] = piece.answers
        losses[i] = problem.costs[piece.answers, problem.y[test]].mean()
        accuracies[i] = (problem.action_codes[piece.answers] == problem.y[test]).mean()
    C = tuple(piece.C for piece in pieces if piece.C is not None)
    grid = [c * candidate.scale for c in protocol.C]
    gaps = [piece.gap for piece in pieces if piece.gap is not None]
    return Outcome(
        name=candidate.name,
        title=candidate.title,
        is_route=candidate.is_route,
        losses=losses,
        accuracies=accuracies,
        C=C,
        actions=actions,
        doubt=doubt,
        proba=proba,
        gap=max(gaps) if gaps else None,
        unconverged=sum(not piece.converged for piece in pieces),
        seconds=final.seconds,
        history=final.history,
        consistency=final.consistency,
        mean=float(losses.mean()),
        error=corrected_error(losses, protocol.ratio),
        interval=corrected_interval(losses, protocol.ratio),
        kernel=candidate.kernel,
        code=candidate.code,
        C_at_end=len(grid) > 1 and most_frequent(C) in (grid[0], grid[-1]),
    )


def _gathered(
    pieces: list[np.ndarray | None], tested: list[np.ndarray], shape: tuple[int, ...]
) -> np.ndarray | None:
    """What was found on test rows, in their places, one layer a repetition."""
    if any(piece is None for piece in pieces):
        return None
    first = np.asarray(pieces[0])
    out = np.zeros((*shape, *first.shape[1:]), dtype=first.dtype)
    each = len(tested) // shape[0]
    for i, (piece, slots) in enumerate(zip(pieces, tested)):
        out[i // each, slots] = piece
    return out


def _against_best(outcomes: list[Outcome], protocol: Protocol, test: Test) -> tuple[Outcome, ...]:
    """Ordered by mean loss, each tested against the first."""
    best, *others = sorted(outcomes, key=lambda o: o.mean)
    p_values = [test(o.losses - best.losses, protocol.ratio) for o in others]
    tested = [
        replace(o, difference=o.mean - best.mean, p_value=p, p_adjusted=adjusted)
        for o, p, adjusted in zip(others, p_values, holm(p_values))
    ]
    return (best, *tested)
