"""Name -> class, one table. Strings are looked up here and nowhere else.

The tests, the command line and the documentation read the same tables.
"""

from __future__ import annotations

from typing import Any

from concordant.losses import Absolute, LabelLoss, Squared, ZeroOne
from concordant.solvers import AdaGrad, Adam, DualAscent, Fista, Lbfgs, Pegasos, Sgd
from concordant.surrogates import (
    Adversarial,
    Hinge,
    Hybrid,
    LeeLinWahba,
    Log,
    OneVsRest,
    Quadratic,
    Surrogate,
    WestonWatkins,
)

LOSSES: dict[str, type[LabelLoss]] = {
    "zero_one": ZeroOne,
    "absolute": Absolute,
    "squared": Squared,
}

SURROGATES: dict[str, type[Surrogate]] = {
    cls.name: cls
    for cls in (
        Adversarial,
        Log,
        Hinge,
        Hybrid,
        Quadratic,
        WestonWatkins,
        LeeLinWahba,
        OneVsRest,
    )
}

#: Names of a route together with the loss that makes it what the name says.
ALIASES: dict[str, tuple[type[Surrogate], type[LabelLoss]]] = {"crammer_singer": (Hinge, ZeroOne)}


#: Stiffness (see `Objective`) above which the dual's block steps get slow. Measured: 100,000
#: rows of norm 10 at C = 1 take 100 passes, rows of norm 1 a handful.
STIFF = 2.0

SOLVERS: dict[str, type] = {
    "dual": DualAscent,
    "lbfgs": Lbfgs,
    "fista": Fista,
    "sgd": Sgd,
    "adagrad": AdaGrad,
    "adam": Adam,
    "pegasos": Pegasos,
}


def find_solver(solver: str, objective: Any, mu: Any = None) -> Any:
    """The solver of this name for this objective; "auto" chooses by what the objective is.

    A lasso needs proximal steps. Smooth routes go to L-BFGS, and so do the others where C times
    the features' size is large against the loss, which slows the dual's block steps; elsewhere
    these are the faster. `mu` is a dual point to start from, for those that can.
    """
    penalty = objective.penalty
    if solver == "auto":
        if penalty.l2 == 0.0:
            solver = "fista"
        else:
            quick = objective.smooth or objective.stiffness > STIFF
            solver = "lbfgs" if quick and objective.ridge else "dual"
    if solver not in SOLVERS:
        raise ValueError(f"unknown solver {solver!r}; names are auto, {', '.join(SOLVERS)}")
    if solver == "dual" and penalty.l2 == 0.0:
        raise ValueError("solver='dual' needs some ridge; use solver='fista' for a pure lasso")
    if solver == "lbfgs" and not objective.ridge:
        raise ValueError("solver='lbfgs' needs penalty='l2'; use solver='fista' with a lasso")
    if solver == "fista" and not objective.scorer.euclidean:
        raise ValueError("solver='fista' needs explicit features; use 'dual' or 'lbfgs'")
    return SOLVERS[solver](mu=mu) if solver in ("dual", "lbfgs") else SOLVERS[solver]()


def find_loss(loss: Any) -> LabelLoss:
    """The loss of this name, or the object itself."""
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(
                f"unknown loss {loss!r}; names are {', '.join(sorted(LOSSES))}, "
                "and Abstain(cost=...) and CostMatrix(matrix) are objects of concordant.losses"
            )
        return LOSSES[loss]()
    if not isinstance(loss, LabelLoss):
        raise TypeError(f"loss must be a name or a concordant loss, got {type(loss).__name__}")
    return loss


def find_surrogate(surrogate: Any, loss: Any) -> tuple[Surrogate, Any]:
    """The route of this name, or the object itself, and the loss it trains for."""
    if isinstance(surrogate, str):
        if surrogate in ALIASES:
            route, own_loss = ALIASES[surrogate]
            return route(), own_loss()
        if surrogate not in SURROGATES:
            names = ", ".join(sorted([*SURROGATES, *ALIASES]))
            raise ValueError(f"unknown surrogate {surrogate!r}; names are {names}")
        return SURROGATES[surrogate](), loss
    if not isinstance(surrogate, Surrogate):
        raise TypeError(
            f"surrogate must be a name or one of concordant.surrogates, "
            f"got {type(surrogate).__name__}"
        )
    return surrogate, loss
