"""Name -> route, one table. Tests, command line and documentation read it too."""

from __future__ import annotations

from typing import Any

from concordant.losses import LabelLoss, ZeroOne
from concordant.surrogates.adversarial import Adversarial
from concordant.surrogates.base import Surrogate
from concordant.surrogates.hinge import Hinge
from concordant.surrogates.hybrid import Hybrid
from concordant.surrogates.log import Log
from concordant.surrogates.margins import LeeLinWahba, OneVsRest, WestonWatkins
from concordant.surrogates.quadratic import Quadratic
from concordant.surrogates.questions import (
    BinaryEncoded,
    CostOneVsAll,
    CostOneVsOne,
    OneSidedRegression,
)
from concordant.surrogates.rejecting import RejectingCrammerSinger, RejectingOneVsRest
from concordant.surrogates.thresholds import AllThreshold, ImmediateThreshold, Reduction

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

#: Routes that read the order of the labels, whatever the loss.
ORDERED: dict[str, type[Surrogate]] = {
    cls.name: cls for cls in (AllThreshold, ImmediateThreshold, Reduction)
}

#: Reductions of cost-sensitive classification to binary or regression questions.
REDUCTIONS: dict[str, type[Surrogate]] = {
    cls.name: cls for cls in (OneSidedRegression, CostOneVsOne, CostOneVsAll)
}

#: Baselines that abstain below a threshold; they are made for `Abstain`.
REJECTING: dict[str, type[Surrogate]] = {
    cls.name: cls for cls in (RejectingOneVsRest, RejectingCrammerSinger, BinaryEncoded)
}

#: Every route, by name.
ROUTES = {**SURROGATES, **ORDERED, **REDUCTIONS, **REJECTING}

#: Names of a route together with the loss that makes it what the name says.
ALIASES: dict[str, tuple[type[Surrogate], type[LabelLoss]]] = {"crammer_singer": (Hinge, ZeroOne)}


def find_surrogate(surrogate: Any, loss: Any) -> tuple[Surrogate, Any]:
    """The route of this name, or the object itself, and the loss it trains for."""
    if isinstance(surrogate, str):
        if surrogate in ALIASES:
            route, own_loss = ALIASES[surrogate]
            return route(), own_loss()
        if surrogate not in ROUTES:
            names = ", ".join(sorted([*ROUTES, *ALIASES]))
            raise ValueError(f"unknown surrogate {surrogate!r}; names are {names}")
        return ROUTES[surrogate](), loss
    if not isinstance(surrogate, Surrogate):
        raise TypeError(
            f"surrogate must be a name or one of concordant.surrogates, "
            f"got {type(surrogate).__name__}"
        )
    return surrogate, loss
