"""Algorithms that see an objective and nothing else."""

from concordant.solvers.base import BrokenCertificate, Result, Run, Validation, minimise
from concordant.solvers.block_frank_wolfe import BlockFrankWolfe
from concordant.solvers.dual import DualAscent
from concordant.solvers.exponentiated_gradient import ExponentiatedGradient
from concordant.solvers.lbfgs import Lbfgs
from concordant.solvers.names import SEQUENCE_SOLVERS, SOLVERS, find_solver
from concordant.solvers.newton import Newton
from concordant.solvers.online import AveragedPerceptron, PassiveAggressive
from concordant.solvers.ordered import Ordered
from concordant.solvers.proximal import Fista
from concordant.solvers.splitting import Splitting
from concordant.solvers.stochastic import AdaGrad, Adam, Pegasos, Sgd
from concordant.solvers.working_set import WorkingSet

__all__ = [
    "SEQUENCE_SOLVERS",
    "SOLVERS",
    "AdaGrad",
    "Adam",
    "AveragedPerceptron",
    "BlockFrankWolfe",
    "BrokenCertificate",
    "DualAscent",
    "ExponentiatedGradient",
    "Fista",
    "Lbfgs",
    "Newton",
    "Ordered",
    "PassiveAggressive",
    "Pegasos",
    "Result",
    "Run",
    "Sgd",
    "Splitting",
    "Validation",
    "WorkingSet",
    "find_solver",
    "minimise",
]
