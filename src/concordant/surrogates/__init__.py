"""What training minimises: every route as a function of scores."""

from concordant.surrogates.adversarial import Adversarial
from concordant.surrogates.base import LabelRoute, Route, Solution, Surrogate
from concordant.surrogates.decomposed import DecomposedRoute
from concordant.surrogates.functions import equilibrium, evaluate
from concordant.surrogates.hinge import Hinge
from concordant.surrogates.hybrid import Hybrid
from concordant.surrogates.latent import (
    LATENT,
    Dissimilarity,
    IterativeLatentSVM,
    LatentLog,
    LatentRoute,
    LatentSVM,
    find_latent_route,
)
from concordant.surrogates.log import Log
from concordant.surrogates.margins import LeeLinWahba, OneVsRest, WestonWatkins
from concordant.surrogates.names import (
    ALIASES,
    ORDERED,
    REDUCTIONS,
    REJECTING,
    ROUTES,
    SURROGATES,
    find_surrogate,
)
from concordant.surrogates.quadratic import Quadratic
from concordant.surrogates.questions import (
    BinaryEncoded,
    CostOneVsAll,
    CostOneVsOne,
    OneSidedRegression,
)
from concordant.surrogates.rejecting import RejectingCrammerSinger, RejectingOneVsRest
from concordant.surrogates.smooth_game import SmoothGame
from concordant.surrogates.smoothed import NodeRoute, SmoothedRoute
from concordant.surrogates.thresholds import AllThreshold, ImmediateThreshold, Reduction

__all__ = [
    "ALIASES",
    "LATENT",
    "ORDERED",
    "REDUCTIONS",
    "REJECTING",
    "ROUTES",
    "SURROGATES",
    "Adversarial",
    "AllThreshold",
    "BinaryEncoded",
    "CostOneVsAll",
    "CostOneVsOne",
    "DecomposedRoute",
    "Dissimilarity",
    "Hinge",
    "Hybrid",
    "ImmediateThreshold",
    "IterativeLatentSVM",
    "LabelRoute",
    "LatentLog",
    "LatentRoute",
    "LatentSVM",
    "LeeLinWahba",
    "Log",
    "NodeRoute",
    "OneSidedRegression",
    "OneVsRest",
    "Quadratic",
    "Reduction",
    "RejectingCrammerSinger",
    "RejectingOneVsRest",
    "Route",
    "SmoothGame",
    "SmoothedRoute",
    "Solution",
    "Surrogate",
    "WestonWatkins",
    "equilibrium",
    "evaluate",
    "find_latent_route",
    "find_surrogate",
]
