"""What training minimises: every route as a function of scores."""

from concordant.surrogates.adversarial import Adversarial
from concordant.surrogates.base import LabelRoute, Route, Solution, Surrogate
from concordant.surrogates.functions import equilibrium, evaluate
from concordant.surrogates.hinge import Hinge
from concordant.surrogates.hybrid import Hybrid
from concordant.surrogates.log import Log
from concordant.surrogates.margins import LeeLinWahba, OneVsRest, WestonWatkins
from concordant.surrogates.names import ALIASES, SURROGATES, find_surrogate
from concordant.surrogates.quadratic import Quadratic
from concordant.surrogates.smoothed import SmoothedRoute

__all__ = [
    "ALIASES",
    "SURROGATES",
    "Adversarial",
    "Hinge",
    "Hybrid",
    "LabelRoute",
    "LeeLinWahba",
    "Log",
    "OneVsRest",
    "Quadratic",
    "Route",
    "SmoothedRoute",
    "Solution",
    "Surrogate",
    "WestonWatkins",
    "equilibrium",
    "evaluate",
    "find_surrogate",
]
