"""Training problems as solvers see them, with their duals and certificates."""

from concordant.objective.base import Bounds, DualState, Loss, Objective, Vector
from concordant.objective.folded import FoldedObjective

__all__ = ["Bounds", "DualState", "FoldedObjective", "Loss", "Objective", "Vector"]
