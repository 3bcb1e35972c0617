"""Name -> solver, one table, and which one a problem gets if none is named."""

from __future__ import annotations

from typing import Any

from concordant.solvers.block_frank_wolfe import BlockFrankWolfe
from concordant.solvers.dual import DualAscent
from concordant.solvers.exponentiated_gradient import ExponentiatedGradient
from concordant.solvers.lbfgs import Lbfgs
from concordant.solvers.newton import Newton
from concordant.solvers.online import AveragedPerceptron, PassiveAggressive
from concordant.solvers.proximal import Fista
from concordant.solvers.splitting import Splitting
from concordant.solvers.stochastic import AdaGrad, Adam, Pegasos, Sgd
from concordant.solvers.working_set import WorkingSet

#: Stiffness (see `Objective`) above which the dual's block steps get slow. Measured: 100,000
#: rows of norm 10 at C = 1 take 100 passes, rows of norm 1 a handful.
STIFF = 2.0
#: The same for thresholds on a kernel that are free, whose working sets help up to there. (Others
#: go on by splitting: see `Splitting`.)
STIFF_KERNEL = 20.0

SOLVERS: dict[str, type] = {
    "dual": DualAscent,
    "lbfgs": Lbfgs,
    "newton": Newton,
    "working_set": WorkingSet,
    "splitting": Splitting,
    "fista": Fista,
    "block_frank_wolfe": BlockFrankWolfe,
    "sgd": Sgd,
    "adagrad": AdaGrad,
    "adam": Adam,
    "pegasos": Pegasos,
}

#: Those of corpora of sequences.
SEQUENCE_SOLVERS: dict[str, type] = {
    "lbfgs": Lbfgs,
    "fista": Fista,
    "exponentiated_gradient": ExponentiatedGradient,
    "block_frank_wolfe": BlockFrankWolfe,
    "perceptron": AveragedPerceptron,
    "passive_aggressive": PassiveAggressive,
    "sgd": Sgd,
    "adagrad": AdaGrad,
    "adam": Adam,
    "pegasos": Pegasos,
}

#: Those that can start from a dual point.
FROM_DUAL = ("dual", "lbfgs", "newton", "working_set", "splitting")


def find_solver(solver: str, objective: Any, mu: Any = None) -> Any:
    """The solver of this name for this objective; "auto" chooses by what the objective is.

    A lasso needs proximal steps; smooth routes go to L-BFGS, or to Newton where there is a Hessian.
    The others take the dual's block steps: on a kernel on the examples that matter, else on all,
    unless C times the features' size is large against the loss, which slows block steps, or these
    are not compiled. `mu` is a dual point to start from, for those that can.
    """
    penalty = objective.penalty
    if solver == "auto":
        solver = _fastest(objective)
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(f"unknown solver {solver!r}; names are auto, {', '.join(SOLVERS)}")
    if solver in ("dual", "working_set") and penalty.l2 == 0.0:
        raise ValueError(f"solver={solver!r} needs some ridge; use solver='fista' for a pure lasso")
    if solver == "newton" and not objective.newton:
        raise ValueError(
            "solver='newton' is for linear scores with thresholds (OrdinalClassifier), few weights "
            "and penalty='l2'; use 'lbfgs'"
        )
    if solver == "lbfgs" and not objective.ridge:
        raise ValueError("solver='lbfgs' needs penalty='l2'; use solver='fista' with a lasso")
    if solver == "splitting" and not objective.regresses:
        raise ValueError(
            "solver='splitting' needs a kernel and penalty='l2'; use 'dual' or 'lbfgs'"
        )
    if solver == "fista" and not objective.scorer.euclidean:
        raise ValueError("solver='fista' needs explicit features; use 'dual' or 'lbfgs'")
    return SOLVERS[solver](mu=mu) if solver in FROM_DUAL else SOLVERS[solver]()


def _fastest(objective: Any) -> str:
    if objective.penalty.l2 == 0.0:
        return "fista"
    if objective.smooth and not objective.newton:
        return "lbfgs" if objective.ridge else "dual"
    if objective.smooth:
        return "newton"
    if not objective.scorer.euclidean:
        stiff = objective.has_intercept and objective.stiffness > STIFF_KERNEL
        stiff = stiff and not objective.regresses
        return "lbfgs" if stiff and objective.ridge else "working_set"
    if (objective.stiffness <= STIFF and objective.compiled) or not objective.ridge:
        return "dual"
    return "newton" if objective.newton else "lbfgs"
