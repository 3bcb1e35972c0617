"""Routes for weakly labelled data, where the label is known and the choice behind it is not.

They hold parameters only; the room `latent` does the work. In all of them C multiplies the sum
over examples; Kumar et al. divide the sum by n, so their C is n times ours.
"""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone


class LatentRoute(BaseEstimator):
    """A way of training with latent choices."""

    name: ClassVar[str]

    def check(self) -> None:
        """Raise an error that names the first bad parameter."""


class Dissimilarity(LatentRoute):
    """Two distributions that must agree under the loss (Kumar, Packer and Koller, ICML 2012).

    Weights w predict (label, choice); a log-linear distribution P of the choice given the label
    says how sure one can be of the choice. Minimises

        1/2 |w|^2 + J/2 |theta|^2 + C sum_i [xi_i(w, theta) - beta H_i(theta)],

    xi_i a bound on the loss that the prediction is expected to have under P, H_i the loss
    expected between two draws from P.

    Parameters
    ----------
    J : float, default=0.1
        Penalty of theta.
    beta : float, default=0.1
        How much the diversity of P counts, from 0 to below 1.
    theta_solver : {"lbfgs", "sgd"}, default="lbfgs"
        How theta moves: by a deterministic quasi-Newton method, or by stochastic sub-gradient
        steps as published, with the gradient corrected.
    theta_target : {"bound", "prediction"}, default="bound"
        What theta descends on: xi_i, of which the objective consists, or, as published, the
        expected loss H_i(w, theta) of the prediction, which xi_i bounds. Either way a step is
        only kept if it lowers the objective.
    """

    name = "dissimilarity"

    def __init__(
        self,
        J: float = 0.1,
        beta: float = 0.1,
        theta_solver: str = "lbfgs",
        theta_target: str = "bound",
    ):
        self.J = J
        self.beta = beta
        self.theta_solver = theta_solver
        self.theta_target = theta_target

    def check(self) -> None:
        if not (isinstance(self.J, numbers.Real) and 0 < self.J < np.inf):
            raise ValueError(f"Dissimilarity needs a finite J > 0, got {self.J!r}")
        if not (isinstance(self.beta, numbers.Real) and 0 <= self.beta < 1):
            raise ValueError(f"Dissimilarity needs 0 <= beta < 1, got {self.beta!r}")
        if self.theta_solver not in ("lbfgs", "sgd"):
            raise ValueError(f"theta_solver must be 'lbfgs' or 'sgd', got {self.theta_solver!r}")
        if self.theta_target not in ("bound", "prediction"):
            raise ValueError(
                f"theta_target must be 'bound' or 'prediction', got {self.theta_target!r}"
            )


class LatentSVM(LatentRoute):
    """Latent SVM (Yu and Joachims, ICML 2009): the concave-convex procedure.

    Under a loss that looks at the choice, the choice it is measured against is the one completed
    last, as in the comparison of Kumar et al.
    """

    name = "latent_svm"


class IterativeLatentSVM(LatentRoute):
    """Latent SVM against completed choices, which then are completed again, and so on (Kumar,
    Turki, Preston and Koller, ICCV 2011): `Dissimilarity` with all of P on one choice."""

    name = "iterative_latent_svm"


class LatentLog(LatentRoute):
    """The marginal likelihood of the labels, choices summed out: a hidden conditional random
    field. It has one distribution for both tasks and does not see the loss in training."""

    name = "latent_log"


#: Name -> route for weakly labelled data.
LATENT: dict[str, type[LatentRoute]] = {
    cls.name: cls for cls in (Dissimilarity, LatentSVM, IterativeLatentSVM, LatentLog)
}


def find_latent_route(surrogate: Any) -> LatentRoute:
    """The route of this name, or a copy of the object; its parameters are checked."""
    if isinstance(surrogate, str):
        if surrogate not in LATENT:
            raise ValueError(
                f"unknown surrogate {surrogate!r} for latent choices; names are {', '.join(LATENT)}"
            )
        return LATENT[surrogate]()
    if not isinstance(surrogate, LatentRoute):
        raise TypeError(
            "surrogate must be a name or one of Dissimilarity, LatentSVM, IterativeLatentSVM, "
            f"LatentLog, got {type(surrogate).__name__}"
        )
    surrogate.check()
    return clone(surrogate)
