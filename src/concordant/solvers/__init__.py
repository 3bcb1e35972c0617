"""Algorithms that see an objective and nothing else."""

from concordant.solvers.base import Result, Run, minimise
from concordant.solvers.dual import DualAscent
from concordant.solvers.lbfgs import Lbfgs
from concordant.solvers.proximal import Fista
from concordant.solvers.stochastic import AdaGrad, Adam, Pegasos, Sgd

__all__ = [
    "AdaGrad",
    "Adam",
    "DualAscent",
    "Fista",
    "Lbfgs",
    "Pegasos",
    "Result",
    "Run",
    "Sgd",
    "minimise",
]
