"""Training problems as solvers see them, with their duals and certificates."""

from concordant.objective.base import Objective
from concordant.objective.folded import FoldedObjective
from concordant.objective.sums import Bounds, DualState, Loss, Vector

__all__ = ["Bounds", "DualState", "FoldedObjective", "Loss", "Objective", "Vector"]
