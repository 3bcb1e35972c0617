"""`compare_sequences`: the same comparison for labels of the positions of sequences.

Splits are made of whole sequences; what is scored, counted and drawn is every position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, RepeatedKFold
from sklearn.pipeline import Pipeline, make_pipeline

from concordant import estimators
from concordant.estimators.structured import check_examples, object_array
from concordant.losses import CostMatrix, find_loss
from concordant.report.candidates import BayesAction, Candidate, ConstantAction
from concordant.report.comparison import Progress, make_protocol, run
from concordant.report.problem import MOST_PROBABILITIES, Problem, Split
from concordant.report.results import Comparison, Outcome

ROUTES = ("log", "hybrid", "hinge", "adversarial")
WORST = 5


class Token(NamedTuple):
    """One position of a sequence as the page shows it."""

    word: str
    truth: Any
    answer: Any
    cost: float


@dataclass(frozen=True)
class SequenceProblem(Problem):
    """Sequences, the codes of all their positions one after another, and prices.

    `words` are what a reader recognises the positions by; empty if nothing is known.
    """

    offsets: np.ndarray = None  # type: ignore[assignment]
    words: tuple[Sequence[str], ...] = ()
    function = "compare_sequences"

    @classmethod
    def of_sequences(
        cls, X: Any, y: Any, loss: Any, words: Sequence[Sequence[str]] | None = None
    ) -> SequenceProblem:
        """Checked sequences, and the loss resolved on all labels."""
        X, y = check_examples(X, y)
        assert y is not None
        lengths = []
        for i, (x, labels) in enumerate(zip(X, y)):
            nodes = _nodes(x)
            n = nodes.shape[0] if hasattr(nodes, "shape") else len(nodes)
            if n != len(labels) or n == 0:
                raise ValueError(f"sequence {i} has {n} positions and {len(labels)} labels")
            lengths.append(n)
        flat = [label for labels in y for label in labels]
        if any(label is None for label in flat):
            raise ValueError("a comparison needs every label: a sequence has None among them")
        classes, codes = np.unique(np.array(flat), return_inverse=True)
        if len(classes) < 2 or len(X) < 2:
            raise ValueError("a comparison needs at least two sequences and two different labels")
        costs, actions = find_loss(loss).resolve(classes)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        known = tuple(words or ())
        return cls(object_array(X), codes, classes, actions, costs, (), offsets, known)

    @property
    def size(self) -> int:
        return len(self.x)

    @property
    def size_text(self) -> str:
        return f"{self.size:,} sequences with {len(self.y):,} positions"

    @property
    def measured_text(self) -> str:
        return "folds of whole sequences, features as given"

    @property
    def is_sparse(self) -> bool:
        return True  # nothing is known of single features

    def folds(self, cv: int, repeats: int, seed: int) -> list[Split]:
        folds = RepeatedKFold(n_splits=cv, n_repeats=repeats, random_state=seed)
        return list(folds.split(np.zeros(self.size)))

    def inner_folds(self, rows: np.ndarray, cv: int, seed: int) -> list[Split]:
        folds = KFold(min(cv, len(rows)), shuffle=True, random_state=seed)
        return list(folds.split(np.zeros(len(rows))))

    def slots(self, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([np.arange(*self.offsets[i : i + 2]) for i in rows])

    def prepare(self, rows: np.ndarray) -> None:
        return None

    def fit(self, estimator: Any, prepared: Any, rows: np.ndarray) -> Pipeline:
        codes = [self.y[slice(*self.offsets[i : i + 2])] for i in rows]
        return make_pipeline(estimator.fit(list(self.x[rows]), codes))

    def answers(self, model: Any, rows: np.ndarray) -> np.ndarray:
        return self.rows_of(np.concatenate(list(model[-1].predict(list(self.x[rows])))))

    def certainty(
        self, model: Any, answers: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        last = model[-1]
        if len(self.y) * len(self.classes) > MOST_PROBABILITIES:
            return None, None
        if not hasattr(last, "predict_marginals"):
            return None, None
        found = np.concatenate(list(last.predict_marginals(list(self.x[rows]))))
        proba = self._all_labels(found, last.classes_)
        return self._expected(answers, proba), proba

    def worst(self, outcome: Outcome) -> list[list[Token]]:
        """The sequences that lost most, answered as in the first repetition."""
        if not self.words:
            return []
        actions = outcome.actions[0]
        cost = self.costs[actions, self.y]
        total = np.add.reduceat(cost, self.offsets[:-1])
        found = np.argsort(-total, kind="stable")[:WORST]
        return [self._tokens(int(i), actions, cost) for i in found if total[i] > 0]

    def _tokens(self, i: int, actions: np.ndarray, cost: np.ndarray) -> list[Token]:
        span = slice(*self.offsets[i : i + 2])
        truth = self.classes[self.y[span]].tolist()
        answer = self.actions[actions[span]].tolist()
        return [Token(*row) for row in zip(self.words[i], truth, answer, cost[span].tolist())]


def _nodes(sequence: Any) -> Any:
    """Features of the tokens, without those of steps."""
    return sequence.nodes if isinstance(sequence, estimators.Sequence) else sequence


class PerToken(BaseEstimator):
    """A model of single positions, blind to their neighbours: what sequences have to beat."""

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> PerToken:
        self.vocabulary_: dict[str, int] = {}
        x, _ = self._matrix(X, grow=True)
        self.estimator.fit(x, np.concatenate([np.asarray(labels) for labels in y]))
        self.classes_ = self.estimator.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        x, lengths = self._matrix(X)
        return object_array(np.split(self.estimator.predict(x), np.cumsum(lengths)[:-1]))

    def predict_marginals(self, X: Any) -> np.ndarray:
        x, lengths = self._matrix(X)
        return object_array(np.split(self.estimator.predict_proba(x), np.cumsum(lengths)[:-1]))

    def _matrix(self, X: Any, grow: bool = False) -> tuple[Any, list[int]]:
        X = [_nodes(x) for x in X]
        if hasattr(X[0], "shape"):
            lengths = [x.shape[0] for x in X]
            return (sp.vstack(X, format="csr") if sp.issparse(X[0]) else np.vstack(X)), lengths
        from concordant.features import encode_tokens

        x, found = encode_tokens(X, self.vocabulary_, grow=grow)
        return x.astype(float), found.tolist()


def _constant(C: float, loss: CostMatrix, tol: float, seed: int) -> Any:
    return PerConstant(ConstantAction(loss))


class PerConstant(PerToken):
    """The best constant action; it has no probabilities."""

    predict_marginals = property()


def _logistic(C: float, loss: CostMatrix, tol: float, seed: int) -> PerToken:
    from sklearn.linear_model import LogisticRegression

    return PerToken(BayesAction(LogisticRegression(C=C, max_iter=200), loss))


BASELINES = (
    Candidate("logistic_bayes", "logistic per position (Bayes)", _logistic),
    Candidate("constant", "best constant", _constant, has_C=False),
)


def _route(base: Any, C: float, loss: CostMatrix, tol: float, seed: int) -> Any:
    given = {"loss": loss, "C": C, "tol": tol, "random_state": seed}
    return clone(base).set_params(**given, n_jobs=1, verbose=0)


def _candidate(route: Any) -> Candidate:
    from concordant.estimators import SequenceLabeler

    base = route if isinstance(route, SequenceLabeler) else SequenceLabeler(surrogate=route)
    surrogate = base.surrogate
    name = surrogate if isinstance(surrogate, str) else repr(surrogate)
    return Candidate(
        name,
        name.replace("_", "-") if isinstance(surrogate, str) else name,
        partial(_route, base),
        is_route=True,
        scale=float(base.C),
        code=" ".join(f"cc.{base!r}".split()),
    )


def compare_sequences(
    X: Any,
    y: Any,
    loss: Any = "zero_one",
    *,
    routes: Iterable[Any] | None = None,
    C: Sequence[float] = (0.1, 1.0),
    cv: int = 3,
    repeats: int = 1,
    inner_cv: int = 2,
    tol: float = 1e-2,
    random_state: Any = 0,
    n_jobs: int | None = None,
    test: str = "t",
    words: Sequence[Sequence[str]] | None = None,
    progress: Progress | None = None,
    **said: Any,
) -> Comparison:
    """Cross-validate routes to label sequences, and plain baselines, under one loss.

    Parameters
    ----------
    X : list of sequences
        As `SequenceLabeler` takes them.
    y : list of label sequences
    loss : str or loss, default="zero_one"
        Of one position.
    routes : iterable of str, surrogate or SequenceLabeler, default=None
        By default ``"log"``, ``"hybrid"``, ``"hinge"`` and ``"adversarial"``. The baselines are
        logistic regression of single positions with the Bayes action, and the best constant.
    words : list of sequences of str, default=None
        What to show of each position in the report's worst sequences.
    C, cv, repeats, inner_cv, tol, random_state, n_jobs, test, progress
        As for `compare`, with defaults for larger data.
    **said
        ``question``, ``source``, ``data_code``, ``loss_name`` for the report.
    """
    problem = SequenceProblem.of_sequences(X, y, loss, words)
    protocol = make_protocol(problem, C, cv, repeats, inner_cv, tol, random_state, n_jobs)
    found = [_candidate(route) for route in (ROUTES if routes is None else routes)]
    return run(
        problem,
        [*found, *BASELINES],
        protocol,
        loss,
        test=test,
        progress=progress,
        chosen=routes is not None,
        **said,
    )
