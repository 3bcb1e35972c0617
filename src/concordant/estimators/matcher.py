"""`Matcher`: one-to-one assignments learned for the loss on pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from concordant.estimators.pairs import (
    Pairs,
    check_answers,
    check_pairs,
    check_shapes,
    stays_alone,
)
from concordant.estimators.parameters import check_number, draw_seed
from concordant.estimators.structured import StructuredEstimator, check_examples, object_array
from concordant.estimators.training import Start, all_or_nothing, one_blas_thread, solve
from concordant.executor import Executor, chunks
from concordant.losses.assignments import Matching, find_matching
from concordant.metrics import check_weights
from concordant.objective import Bounds, Objective
from concordant.scorers import PairScorer
from concordant.solvers import Result
from concordant.structures import Assignments, PairPrices
from concordant.surrogates import (
    Adversarial,
    Hinge,
    Hybrid,
    Log,
    Route,
    SmoothGame,
    Surrogate,
    find_surrogate,
)
from concordant.surrogates.smoothed import SmoothedRoute

ROUTES = (Adversarial, Hinge, Log, Hybrid)

CONSISTENT = {
    "adversarial": (
        "Consistent for the Hamming loss: with scores rich enough for each pair, the best "
        "assignment is the one of least expected loss in the limit (Fathony 2019, Theorem 4.2)."
    ),
    "hinge": (
        "Not consistent: with three assignments of probability 0.4, 0.3 and 0.3 the hinge can "
        "tie them all (Fathony 2019, section 4.2)."
    ),
    "log": (
        "Consistent: the marginals of the pairs are right in the limit, and so is the assignment "
        "of least expected loss under them, which predict gives. With Bethe's approximation only "
        "as far as that goes."
    ),
    "hybrid": "Consistent at alpha = 1, where it is the log route; not known below.",
}


def _has_marginals(matcher: Any) -> bool:
    if getattr(matcher, "_route", None) is not None:
        return not isinstance(matcher._route, Hinge)
    return matcher.surrogate != "hinge" and not isinstance(matcher.surrogate, Hinge)


class Matcher(StructuredEstimator):
    """Learn what makes a pair match, so that whole assignments come out right.

    The score of a pair is linear in its features; `predict` gives the one-to-one assignment with
    the largest sum. Minimises ``½|W|² + C * sum_i surrogate_i`` and certifies how far the result
    can be from the minimum. If the training answers leave rows alone that could have had a
    partner, staying alone is allowed and its scores are learned too.

    Parameters
    ----------
    loss : "hamming" or Matching, default="hamming"
        What assignments are scored on, added up over the rows of an example.
    surrogate : str or surrogate, default="adversarial"
        ``"adversarial"``, ``"hinge"`` (structural SVM), ``"log"`` or ``"hybrid"``.
    C : float, default=1.0
        Weight of the data against the penalty.
    mu : float, default=None
        For the adversarial route: strength of a fixed smoothing of the game, as published
        (0.01 there). None lets it go to zero. The certificate is for the game without it.
    unmatched : bool or "auto", default="auto"
        Whether rows and columns may stay alone although there are partners; "auto" asks the
        training answers.
    sums : {"auto", "exact", "bethe"}, default="auto"
        For the log route: how to sum over the assignments of an example. Exact sums take time
        exponential in its smaller side (20 at most); "auto" takes them up to 12, and Bethe's
        approximation, which makes a route of its own, beyond.
    solver : str, default="auto"
        ``"lbfgs"``, ``"dual"``, ``"block_frank_wolfe"`` (for the hinge), or for
        comparison ``"sgd"``, ``"adagrad"``, ``"adam"``, ``"pegasos"``.
    max_iter : int, default=1000
        Most passes over the data.
    tol : float, default=1e-4
        Certified duality gap, relative to the objective, at which to stop.
    random_state : int, RandomState or None, default=None
        Order of the dual's and the stochastic steps.
    n_jobs : int, default=None
        Threads; None for all cores. The result does not depend on it.
    warm_start : bool, default=False
        Start from the last weights.
    verbose : int, default=0
        1 shows a live line of progress on standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights of the pair features.
    unmatched_ : ndarray of shape (2,) or None
        Scores of a row, and of a column, that stays alone; None where that is not allowed.
    objective_, gap_ : float
        Objective reached, and certified: ``objective_ - gap_ <= minimum <= objective_``.
    n_iter_ : int
        Passes over the data.
    game_value_ : float
        Adversarial route: mean expected loss of the best prediction against the adversary.
    approximate_ : bool
        Some sums over assignments were Bethe's approximation.
    history_ : dict of lists
        ``"objective"``, ``"gap"`` and ``"seconds"`` after each pass.
    n_features_in_ : int

    Examples
    --------
    Two frames with two objects each, known by how far apart they are:

    >>> import numpy as np
    >>> import concordant as cc
    >>> here, there = np.array([1.0, 5.0]), np.array([5.5, 0.5])
    >>> distance = np.abs(here[:, None] - there)[:, :, None]  # (rows, columns, features)
    >>> model = cc.Matcher().fit([distance], [[1, 0]])
    >>> model.predict([distance])[0]
    array([1, 0])
    >>> bool(model.coef_[0] < 0)
    True
    """

    coef_: np.ndarray

    def __init__(
        self,
        loss: Any = "hamming",
        surrogate: Any = "adversarial",
        *,
        C: float = 1.0,
        mu: float | None = None,
        unmatched: bool | str = "auto",
        sums: str = "auto",
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.loss = loss
        self.surrogate = surrogate
        self.C = C
        self.mu = mu
        self.unmatched = unmatched
        self.sums = sums
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        loss_weight: Sequence[Any] | None = None,
    ) -> Matcher:
        """Train on examples with known assignments.

        After an error the estimator is as it was before the call.

        Parameters
        ----------
        X : list of (n, m, d) arrays
            Features of the pairs of each example. A pair with a feature of minus infinity is
            forbidden.
        y : list of (n,) int arrays
            The column of each row; -1 for a row that stays alone.
        sample_weight : array-like of shape (n_examples,), default=None
            Weight k equals k copies.
        loss_weight : list of (n,) or (n, m) arrays, default=None
            What a mistake in a row costs, or a false pair, times the price in `loss`.
        """
        with all_or_nothing(self):
            surrogate, loss, seed = self._check_parameters()
            examples, known = check_examples(X, y)
            arrays = check_shapes(examples)
            pairs = check_pairs(arrays)
            assert known is not None
            answers = check_answers(known, arrays, pairs.forbidden)
            weight = check_weights(sample_weight, len(arrays), "sample_weight")
            if not weight.any():
                raise ValueError("sample_weight is zero for every example")
            kept = np.flatnonzero(weight > 0)
            partial = self._partial(pairs, answers)
            factors = _check_factors(loss_weight, pairs)
            pairs, answers = pairs.take(kept), [answers[i] for i in kept]
            factors = None if factors is None else [factors[i] for i in kept]
            start = (
                Start(self._weights(), None, ()) if self._can_warm_start(pairs, partial) else None
            )
            with Executor(self.n_jobs) as executor, one_blas_thread():
                structure = self._structure(pairs, partial, executor)
                prices = PairPrices.of(structure, loss, factors)
                scorer = PairScorer(pairs.features, structure)
                scorer.executor = executor
                objective = self._objective(scorer, surrogate, prices, answers, weight[kept])
                result = solve(self, objective, start, seed)
                self._store(objective, result, surrogate, prices)
            self._route, self.n_features_in_ = surrogate, pairs.features.shape[1]
        return self

    def _check_parameters(self) -> tuple[Surrogate, Matching, int]:
        check_number("C", self.C, lambda v: 0 < v < np.inf, "finite and > 0")
        check_number("tol", self.tol, lambda v: 0 <= v < np.inf, "finite and >= 0")
        check_number("max_iter", self.max_iter, lambda v: v >= 1, ">= 1", integer=True)
        if self.mu is not None:
            check_number("mu", self.mu, lambda v: 0 < v < np.inf, "finite and > 0, or None")
        if self.n_jobs is not None:
            check_number(
                "n_jobs", self.n_jobs, bool, "other than 0 (None: all cores)", integer=True
            )
        if not isinstance(self.unmatched, bool) and self.unmatched != "auto":
            raise ValueError(f"unmatched must be True, False or 'auto', got {self.unmatched!r}")
        surrogate, _ = find_surrogate(self.surrogate, None)
        if not isinstance(surrogate, ROUTES):
            names = ", ".join(repr(route.name) for route in ROUTES)
            raise ValueError(
                f"the {surrogate.name!r} route is not there for assignments; use {names}"
            )
        if self.mu is not None and not isinstance(surrogate, Adversarial):
            raise ValueError(f"mu smooths the adversarial game; {surrogate.name!r} has none")
        loss = clone(find_matching(self.loss))
        loss.prices()
        seed = draw_seed(self.random_state)
        return clone(surrogate), loss, seed

    def _partial(self, pairs: Pairs, answers: list[np.ndarray]) -> bool:
        """Whether things may stay alone, or an error if they do and may not."""
        alone = stays_alone(pairs, answers)
        if self.unmatched == "auto":
            return alone is not None
        if alone is not None and not self.unmatched:
            raise ValueError(
                f"unmatched=False, but in y row {alone[1]} of example {alone[0]} stays alone "
                "although there is a column for it"
            )
        return bool(self.unmatched)

    def _structure(self, pairs: Pairs, partial: bool, executor: Executor) -> Assignments:
        # Errors of the games' answers count in the certificate: let them be a small part of it.
        accuracy = min(max(1e-3 * self.tol, 1e-10), 1e-7)
        return Assignments(
            pairs.rows, pairs.columns, partial, pairs.forbidden, self.sums, True, executor, accuracy
        )

    def _objective(
        self,
        scorer: PairScorer,
        surrogate: Surrogate,
        prices: PairPrices,
        answers: list[np.ndarray],
        weight: np.ndarray,
    ) -> Objective:
        structure = scorer.structure
        norms = scorer.square_norms()
        if not np.isfinite(norms).all():
            bad = int((~np.isfinite(norms)).argmax())
            raise ValueError(f"the values of example {bad} are too large: their squares overflow")
        if self.mu is not None:
            surrogate = SmoothGame(self.mu)
        # The hybrid's two halves come apart where smoothing is by entropy.
        kind = SmoothedRoute if isinstance(surrogate, Hybrid) else Route
        route = kind(surrogate, structure, prices)
        target = structure.table(answers)
        return Objective(scorer, route, target, self.C * weight, executor=scorer.executor)

    def _can_warm_start(self, pairs: Pairs, partial: bool) -> bool:
        return (
            self.warm_start
            and hasattr(self, "coef_")
            and len(self.coef_) == pairs.features.shape[1]
            and partial == (self.unmatched_ is not None)
        )

    def _weights(self) -> np.ndarray:
        alone = np.empty(0) if self.unmatched_ is None else self.unmatched_
        return np.r_[self.coef_, alone]

    def _store(
        self, objective: Objective, result: Result, surrogate: Surrogate, prices: PairPrices
    ) -> None:
        scorer: Any = objective.scorer
        d, partial = scorer.d, scorer.structure.partial
        self.coef_ = result.weights[:d].copy()
        self.unmatched_ = result.weights[d:].copy() if partial else None
        self.n_iter_, self.history_ = result.n_iter, result.history
        self.approximate_ = isinstance(surrogate, Log | Hybrid) and not scorer.structure.exact.all()
        bounds = Bounds(result.objective, result.objective - result.gap)
        if self.mu is not None:  # certify the game without smoothing
            scores = scorer.scores(result.weights)
            mu = objective.dual_point(scores)
            objective.route = Route(surrogate, scorer.structure, prices)
            bounds = objective.bounds(result.weights, mu)
        self.objective_, self.gap_ = bounds.primal, max(bounds.gap, 0.0)
        if isinstance(surrogate, Adversarial):
            scores = scorer.scores(result.weights)
            mu = objective.dual_point(scores) if result.mu is None else result.mu
            value = objective.route.bonus(mu, objective.target)
            self.game_value_ = float(np.average(value, weights=objective.weight))

    # ---- prediction ----

    def _read(self, X: Sequence[Any], executor: Executor) -> tuple[Assignments, np.ndarray]:
        """The batch of these examples, and its scores."""
        check_is_fitted(self, "coef_")
        arrays = check_shapes(check_examples(X)[0], self.n_features_in_)
        rows, columns = (np.array([x.shape[k] for x in arrays]) for k in (0, 1))
        scores = self._products(arrays, np.r_[0, np.cumsum(rows * columns)], executor)
        forbidden = None
        # A feature that is not finite leaves no finite score: features need no look of their own.
        if not np.isfinite(scores).all():
            pairs = check_pairs(arrays)
            forbidden = pairs.forbidden
            with np.errstate(over="ignore", invalid="ignore"):
                scores = pairs.features @ self.coef_
            if not np.isfinite(scores).all():
                stops = np.cumsum(pairs.rows * pairs.columns)
                bad = int(np.searchsorted(stops, (~np.isfinite(scores)).argmax(), side="right"))
                raise ValueError(f"the scores of example {bad} overflow")
        structure = Assignments(
            rows, columns, self.unmatched_ is not None, forbidden, self.sums, executor=executor
        )
        if not structure.slack:
            return structure, scores
        out = np.zeros(structure.starts[-1])
        out[structure.places.pairs] = scores
        if self.unmatched_ is not None:
            out[structure.places.rows], out[structure.places.columns] = self.unmatched_
        return structure, out

    def _products(
        self, arrays: list[np.ndarray], starts: np.ndarray, executor: Executor
    ) -> np.ndarray:
        """Features times weights of all pairs, example after example."""
        scores = np.empty(starts[-1])

        def run(some: slice) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                for e in range(some.start, some.stop):
                    x = arrays[e].reshape(-1, arrays[e].shape[2])
                    np.dot(x, self.coef_, out=scores[starts[e] : starts[e + 1]])

        executor.map(run, chunks(len(arrays), 16))
        return scores

    def predict(self, X: Sequence[Any]) -> np.ndarray:
        """The best assignment of each example: a 1-D object array of (n,) columns, -1 for alone.

        Adversarial and hinge routes take the largest sum of scores, the others the least
        expected loss under their marginals.
        """
        with Executor(self.n_jobs) as executor:
            structure, scores = self._read(X, executor)
            if isinstance(self._route, Log | Hybrid):
                _, mu = structure.marginals(scores)
                scores = -PairPrices.of(structure, find_matching(self.loss)).of_actions(mu)
            return object_array(structure.decode(scores))

    def decision_function(self, X: Sequence[Any]) -> np.ndarray:
        """Scores of the pairs of each example, (n, m); forbidden ones minus infinity.

        Where things may stay alone, a pair counts by what it adds to `unmatched_`.
        """
        with Executor(self.n_jobs) as executor:
            structure, scores = self._read(X, executor)
        closed = np.where(structure.allowed, scores, -np.inf)
        return object_array(grid.copy() for grid in structure.pairs(closed))

    @available_if(_has_marginals)
    def predict_marginals(self, X: Sequence[Any]) -> np.ndarray:
        """How much of each pair, (n, m), is in a mixed answer: doubly stochastic confidence.

        The adversarial route gives the predictor's equilibrium strategy, the others the
        probability of the pair. Sums below one leave that much for staying alone.
        """
        with Executor(self.n_jobs) as executor:
            structure, scores = self._read(X, executor)
            if isinstance(self._route, Adversarial):
                prices = PairPrices.of(structure, find_matching(self.loss))
                weight = np.ones(structure.n_examples)
                mu = structure.play(prices, scores, weight, self.mu or 0.0, own=self.mu or 0.0)[3]
            else:
                _, mu = structure.marginals(scores)
            return object_array(grid.copy() for grid in structure.pairs(mu))

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Any = None) -> float:
        """``1 - loss per row / largest price``, averaged over the examples with rows.

        Under the Hamming loss it is the share of the rows that are right.
        """
        check_is_fitted(self, "coef_")
        examples, known = check_examples(X, y)
        assert known is not None
        answers = check_answers(known, check_shapes(examples, self.n_features_in_))
        loss = find_matching(self.loss)
        weight = check_weights(sample_weight, len(answers), "sample_weight")
        rows = np.array([len(each) for each in answers])
        weight = np.where(rows > 0, weight, 0.0)
        if not weight.any():
            raise ValueError("no example has a row that could be scored")
        share = loss(list(self.predict(X)), answers) / np.maximum(rows, 1)
        return float(1.0 - np.average(share, weights=weight) / max(loss.prices()))

    def consistency(self) -> str:
        """One sentence: does unlimited data lead to the best assignments?"""
        check_is_fitted(self, "coef_")
        return CONSISTENT[self._route.name]


def _check_factors(factors: Any, pairs: Pairs) -> list[np.ndarray] | None:
    """Weights of rows or pairs, or an error that names the example."""
    if factors is None:
        return None
    if len(factors) != len(pairs.rows):
        raise ValueError(f"loss_weight has {len(factors)} examples, X has {len(pairs.rows)}")
    out = []
    for e, (each, n, m) in enumerate(zip(factors, pairs.rows, pairs.columns)):
        each = np.asarray(each, dtype=float)
        if each.shape not in ((n,), (n, m)):
            raise ValueError(
                f"loss_weight of example {e} must have shape ({n},) or ({n}, {m}), got {each.shape}"
            )
        if not (np.isfinite(each) & (each >= 0)).all():
            raise ValueError(f"loss_weight of example {e} must be finite and >= 0")
        out.append(each)
    return out
