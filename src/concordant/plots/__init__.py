"""Pictures of a fitted model or of predictions, in scikit-learn's manner.

Each is a ``Display``: ``from_estimator`` or ``from_predictions`` computes and draws, `plot` draws
again on axes of your own, and the drawn artists are attributes that end in ``_``.
"""

from concordant.plots.calibration import CalibrationDisplay
from concordant.plots.convergence import ConvergenceDisplay
from concordant.plots.costs import CostMapDisplay
from concordant.plots.coverage import CoverageDisplay
from concordant.plots.losses import LossDisplay
from concordant.plots.structures import MatchingDisplay, PlaceDisplay
from concordant.plots.surfaces import SurfaceDisplay

__all__ = [
    "CalibrationDisplay",
    "ConvergenceDisplay",
    "CostMapDisplay",
    "CoverageDisplay",
    "LossDisplay",
    "MatchingDisplay",
    "PlaceDisplay",
    "SurfaceDisplay",
]
