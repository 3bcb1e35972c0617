"""What a comparison found: an outcome or a failure for each candidate, and all of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from concordant.report import wording
from concordant.report.problem import Problem
from concordant.report.statistics import LEVEL
from concordant.report.table import plain
from concordant.report.training import Protocol


def most_frequent(values: Sequence[float]) -> float | None:
    """The most frequent value, the smaller of equals; None of none."""
    counts = Counter(values)
    return min(counts, key=lambda v: (-counts[v], v)) if counts else None


@dataclass(frozen=True)
class Outcome:
    """What was measured of one candidate.

    Attributes
    ----------
    losses, accuracies : ndarray of shape (n_splits,)
        Mean loss, and share of answers that are the true label, on the test rows of each split.
    mean, error, interval : float, float, (float, float)
        Mean of `losses`, corrected standard error, 95 % interval.
    difference, p_value, p_adjusted : float
        Mean loss above that of the best candidate; p-value of the corrected resampled t-test
        against it, as it is and after Holm's adjustment for the number of candidates.
    C : tuple of float
        Chosen in each split; empty for candidates without it.
    C_at_end : bool
        Whether the most frequent C is the smallest or largest that was tried.
    actions : ndarray of shape (n_repeats, n)
        Action, as a row of the cost matrix, answered to each example when it was a test row.
    doubt : ndarray of shape (n_repeats, n) or None
        Expected cost of each answer under the candidate's probabilities; without any, minus the
        lead of its best score.
    proba : ndarray of shape (n_repeats, n, k) or None
        Label probabilities of candidates that have them.
    gap : float or None
        Largest certified duality gap over the splits, relative to the objective.
    unconverged : int
        Splits in which training stopped early.
    seconds, history, consistency
        Of one fit on all the data with the most frequent C.
    """

    name: str
    title: str
    is_route: bool
    losses: np.ndarray
    accuracies: np.ndarray
    C: tuple[float, ...]
    actions: np.ndarray
    gap: float | None
    unconverged: int
    seconds: float
    history: dict[str, list[float]] | None
    consistency: str | None
    mean: float
    error: float
    interval: tuple[float, float]
    doubt: np.ndarray | None = None
    proba: np.ndarray | None = None
    kernel: str | None = None
    code: str = ""
    C_at_end: bool = False
    difference: float = 0.0
    p_value: float = 1.0
    p_adjusted: float = 1.0

    @property
    def typical_C(self) -> float | None:
        """The C chosen most often; the smaller of equals."""
        return most_frequent(self.C)

    @property
    def accuracy(self) -> float:
        """Mean of the splits' accuracies."""
        return float(self.accuracies.mean())

    def to_dict(self) -> dict[str, Any]:
        """Everything but the answers as plain values that ``json.dumps`` accepts."""
        history = None
        if self.history is not None:  # JSON has no infinity
            history = {
                key: [float(v) if np.isfinite(v) else None for v in values]
                for key, values in self.history.items()
            }
        return {
            "name": self.name,
            "title": self.title,
            "kind": "route" if self.is_route else "baseline",
            "kernel": self.kernel,
            "mean_loss": self.mean,
            "standard_error": self.error,
            "interval": list(self.interval),
            "losses": self.losses.tolist(),
            "accuracy": self.accuracy,
            "difference": self.difference,
            "p_value": self.p_value,
            "p_adjusted": self.p_adjusted,
            "C": list(self.C),
            "C_at_end": self.C_at_end,
            "fit_seconds": self.seconds,
            "relative_gap": self.gap,
            "unconverged_splits": self.unconverged,
            "consistency": self.consistency,
            "history": history,
        }


@dataclass(frozen=True)
class Failure:
    """A candidate without numbers, and why."""

    name: str
    title: str
    is_route: bool
    reason: str


@dataclass(frozen=True)
class Comparison:
    """Candidates ordered by mean loss, and everything needed to judge the order.

    Printing it gives the table and the recommendation; `concordant.report.write` makes a page.
    """

    outcomes: tuple[Outcome, ...]
    failures: tuple[Failure, ...]
    problem: Problem
    loss: Any
    question: str
    protocol: Protocol
    versions: dict[str, str]
    test: str = "t"
    loss_name: str | None = None
    source: str = ""
    data_code: str = ""
    routes_code: str = ""

    @property
    def best(self) -> Outcome:
        """The candidate with the smallest mean loss."""
        return self.outcomes[0]

    @property
    def best_route(self) -> Outcome | None:
        """The route with the smallest mean loss; None if none could be trained."""
        return next((o for o in self.outcomes if o.is_route), None)

    @property
    def ties(self) -> tuple[Outcome, ...]:
        """Candidates that do not differ significantly from the best."""
        return tuple(o for o in self.outcomes if self.place(o) == "tied")

    def place(self, outcome: Outcome) -> str:
        """``"best"``, ``"tied"`` with it, or significantly ``"worse"``."""
        if outcome is self.best:
            return "best"
        return "tied" if outcome.p_adjusted > LEVEL else "worse"

    def __getitem__(self, name: str) -> Outcome:
        for outcome in self.outcomes:
            if outcome.name == name:
                return outcome
        raise KeyError(name)

    def recommendation(self) -> str:
        """One sentence that says no more than was measured."""
        return wording.recommend(self)

    def cost_map(self, name: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Where a candidate's loss comes from (default: the best one's).

        Returns
        -------
        counts, share : ndarray of shape (n_actions, k)
            Test examples with each action and truth, a repetition; and what they add to the
            mean loss, counts times cost over the number of examples.
        """
        outcome = self.best if name is None else self[name]
        p = self.problem
        counts = np.zeros(p.costs.shape)
        for actions in outcome.actions:
            np.add.at(counts, (actions, p.y), 1.0 / len(outcome.actions))
        return counts, counts * p.costs / len(p.y)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that ``json.dumps`` accepts."""
        problem, protocol = self.problem, self.protocol
        counts, share = self.cost_map()
        return {
            "question": self.question,
            "loss": wording.loss_of(self),
            "test": wording.TEST_NAMES[self.test],
            "source": self.source,
            "recommendation": self.recommendation(),
            "best": self.best.name,
            "ties": [o.name for o in self.ties],
            "data": {
                "n": len(problem.y),
                "features": list(problem.feature_names),
                "labels": problem.classes.tolist(),
                "counts": problem.counts.tolist(),
                "actions": problem.actions.tolist(),
                "costs": problem.costs.tolist(),
            },
            "routes": [o.to_dict() for o in self.outcomes],
            "failures": [vars(failure) for failure in self.failures],
            "cost_map": {"counts": counts.tolist(), "loss": share.tolist()},
            "protocol": vars(protocol) | {"C": list(protocol.C), "splits": protocol.splits},
            "versions": self.versions,
        }

    def __str__(self) -> str:
        return plain(self)
