"""From a sample and settled parameters to a certified solution."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from concordant.estimators.data import Sample
from concordant.estimators.parameters import Parameters
from concordant.estimators.progress import Progress
from concordant.executor import Executor
from concordant.objective import FoldedObjective, Objective
from concordant.scorers import Scorer, ThresholdScorer
from concordant.solvers import (
    BrokenCertificate,
    Ordered,
    Result,
    Validation,
    find_solver,
    minimise,
)
from concordant.structures import LabelCosts
from concordant.surrogates import LabelRoute


class Start(NamedTuple):
    """An earlier solution, and what its dual point was a dual point of."""

    weights: np.ndarray
    mu: np.ndarray | None
    problem: tuple[Any, ...]


def build_objective(
    parameters: Parameters,
    costs: LabelCosts,
    scorer: Scorer,
    sample: Sample,
    C: float,
    executor: Executor,
) -> Objective:
    """The training problem of these examples."""
    scorer.executor = executor
    norms = scorer.square_norms()
    if not np.isfinite(norms).all():
        row = int(sample.origin[int((~np.isfinite(norms)).argmax())])
        raise ValueError(f"the values of row {row} are too large: their squares overflow")
    surrogate = parameters.surrogate
    route = surrogate.label_route(len(sample.y), costs, executor)
    with np.errstate(over="ignore"):
        weight, loss_weight = C * sample.weight, sample.loss_weight
    if surrogate.weighs == "example":
        weight, loss_weight = weight * loss_weight, np.ones_like(weight)
    penalty = parameters.penalty
    kind = FoldedObjective if isinstance(scorer, ThresholdScorer) else Objective
    objective = kind(scorer, route, sample.y, weight, loss_weight, penalty, executor)
    if not np.isfinite(objective.size):
        raise _overflow(objective)
    return objective


def solve(
    given: Any, objective: Objective, start: Start | None, seed: int, solver: str | None = None,
    validation: Validation | None = None,
) -> Result:  # fmt: skip
    """Minimise with the solver (default: `given`'s own) and the stopping rule asked for."""
    weights, mu = None, None
    if start is not None and start.weights.shape == objective.start().shape:
        weights = start.weights
        # A dual point is one of certain answers under a certain route and loss only.
        if start.mu is not None and _same(start.problem, problem_of(objective)):
            mu = start.mu.copy()
    found = find_solver(solver or given.solver, objective, mu)
    if objective.in_order_only:
        found = Ordered(found)
    return run_solver(given, found, objective, weights, seed, validation)


def run_solver(
    given: Any, solver: Any, objective: Any, weights: np.ndarray | None, seed: int,
    validation: Validation | None = None,
) -> Result:  # fmt: skip
    """Minimise by the stopping rule asked for; warn if it is not met."""
    progress = Progress(given.verbose)
    try:
        result = minimise(
            solver,
            objective,
            weights,
            tol=given.tol,
            max_iter=given.max_iter,
            random_state=seed,
            report=progress,
            validation=validation,
        )
    except BrokenCertificate as error:
        raise _no_certificate(given, error) from error
    finally:
        progress.close()
    if not (np.isfinite(result.objective) and np.isfinite(result.weights).all()):
        raise _overflow(objective)
    warn_of(result)
    return result


def _no_certificate(given: Any, error: BrokenCertificate) -> ValueError:
    if getattr(given, "kernel", None) is not None:
        return ValueError(f"the kernel is not positive semidefinite: {error}")
    return ValueError(f"training loses its precision ({error}); scale the features or the weights")


def _overflow(objective: Objective) -> ValueError:
    weight = objective.weight
    return ValueError(
        f"training overflows: C times the sample weights is {weight.min():.3g} to "
        f"{weight.max():.3g}, the largest cost {objective.scale:.3g}; bring them, or the "
        "features, nearer to 1"
    )


def problem_of(objective: Objective) -> tuple[Any, ...]:
    """What must be equal for a dual point of one objective to be one of another."""
    route = objective.route
    assert isinstance(route, LabelRoute)
    return (repr(route.surrogate), route.loss.costs, objective.target, objective.loss_weight)


def _same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return a[0] == b[0] and all(np.array_equal(x, y) for x, y in zip(a[1:], b[1:]))


def level_of_caller() -> int:
    """The stacklevel, for a warning given by who asks, of the first call from outside."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and __name__.split(".")[0] == _package(frame):
        frame, level = frame.f_back, level + 1
    return level


def _package(frame: Any) -> str:
    return str(frame.f_globals.get("__name__", "")).split(".")[0]


def warn_of(result: Result) -> None:
    """Warn if training stopped before its tolerance was met."""
    if result.reason in ("tol", "validation"):
        return
    if result.reason == "interrupted":
        message = (
            f"interrupted after pass {result.n_iter}; the best model so far is kept, with a "
            f"certified gap of {result.gap:.3g}"
        )
    else:
        message = (
            f"stopped ({result.reason}) after {result.n_iter} passes with a certified gap of "
            f"{result.gap:.3g} at objective {result.objective:.6g}; raise max_iter or tol, "
            "scale the features, or lower C"
        )
    warnings.warn(message, ConvergenceWarning, stacklevel=level_of_caller())


def one_blas_thread() -> Any:
    """Threads come from our executor only: BLAS threads would change bits with their number."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """An error inside leaves the estimator as it was before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
