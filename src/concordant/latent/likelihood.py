"""The marginal likelihood: a hidden conditional random field.

    minimise 1/2 |w|^2 + sum_i C_i [log sum over (y, h) of exp(w_y·x_h)
                                    - log sum over h of exp(w_{y_i}·x_h)]

With w the slope of an example is the features expected under both sums' distributions,
subtracted. Where a choice is known the second sum has one term. The problem is smooth and not
convex; L-BFGS descends on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from concordant.latent.alternating import Fit, Settings, Trace
from concordant.latent.conditional import Examples


def likelihood(examples: Examples, weights: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Objective, gradient, and the distribution of each bag's choice at its label."""
    structure = examples.structure
    scores = examples.features.scores(weights)
    total, parts = structure.marginals(scores)
    own = np.full(structure.shape, -np.inf)
    rows, cells = np.arange(len(own)), examples.rows_of_label
    possible = examples.fill_known(np.ones(len(own))) > 0.0
    own[rows[possible], cells[possible]] = scores[rows[possible], cells[possible]]
    inside, p = structure.marginals(own)
    ridge = 0.5 * np.vdot(weights, weights)
    slope = structure.scale(examples.weight, parts - p)
    gradient = weights + examples.features.combine(slope)
    return float(ridge + examples.weight @ (total - inside)), gradient, examples.own(p)


def maximise_likelihood(examples: Examples, start: np.ndarray, settings: Settings) -> Fit:
    """Descend from these weights until three steps gain no more than tol times C, summed."""
    unit = settings.tol * float(examples.weight.sum())
    trace, weights, reason = Trace(settings.report, gap=np.nan), start, "max_iter"
    values = trace.history["objective"]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, _ = likelihood(examples, flat.reshape(start.shape))
        return value, gradient.ravel()

    def note(intermediate_result: Any) -> None:
        nonlocal weights, reason
        weights = intermediate_result.x.reshape(start.shape).copy()
        trace.n_iter += 1
        trace.note("weights", float(intermediate_result.fun))
        if len(values) > 3 and values[-4] - values[-1] <= unit:
            reason = "tol"
            raise StopIteration

    try:
        options = {"maxiter": settings.max_iter * 10, "ftol": 1e-15, "gtol": 1e-10}
        options["maxfun"] = 20 * options["maxiter"]
        end = minimize(
            objective, start.ravel(), jac=True, method="L-BFGS-B", options=options, callback=note
        )
        weights = end.x.reshape(start.shape)
        reason = "tol" if end.success else reason
    except KeyboardInterrupt:
        if not values:
            raise
        reason = "interrupted"
    value, _, p = likelihood(examples, weights)
    return Fit(weights, None, p, value, trace.gap, trace.n_iter, reason, trace.history)
