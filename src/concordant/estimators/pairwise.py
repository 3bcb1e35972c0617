"""What labelling the nodes of sequences and of graphs has in common, from input to fit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from concordant.corpus.data import Features, Layout
from concordant.estimators.answers import classes_of, codes_of, flat_labels, node_weights
from concordant.estimators.node_decisions import NodeDecisions, NodeRule, mean_cost, no_majority
from concordant.estimators.parameters import NodeParameters, check_node_parameters, check_penalty
from concordant.estimators.rows import Batch, is_named, read_edges, read_nodes
from concordant.estimators.structured import StructuredEstimator, check_examples
from concordant.estimators.training import Start, all_or_nothing, one_blas_thread, solve
from concordant.executor import Executor, chunks
from concordant.metrics import check_weights
from concordant.objective import Objective
from concordant.scorers import PairwiseScorer, Pattern
from concordant.solvers import Result, Validation
from concordant.structures import LabelCosts, NodeCosts, Pairwise, PartTarget
from concordant.surrogates import (
    Adversarial,
    DecomposedRoute,
    Hinge,
    Hybrid,
    Log,
    NodeRoute,
    SmoothedRoute,
)

#: Solvers that need the bonus of any dual point.
DUAL_SOLVERS = ("dual", "working_set", "block_frank_wolfe")
#: Rounds of completing unknown labels and training on the completion.
ROUNDS = 20


class PairwiseLabeler(NodeDecisions, StructuredEstimator):
    """Labels of nodes, scored by nodes and edges, trained for a loss by a route.

    A subclass gives `_items`, `_edges` and `_structure`.
    """

    _node_weights: Any
    intercept_: np.ndarray
    transitions_: np.ndarray
    edge_coef_: Any
    vocabulary_: dict[str, int]
    edge_vocabulary_: dict[str, int]

    def __init__(
        self,
        loss: Any = "zero_one",
        surrogate: Any = "adversarial",
        *,
        C: float = 1.0,
        penalty: str = "l2",
        l1_ratio: float = 0.5,
        features: str = "seen",
        normalize: bool = False,
        forbidden: Any = None,
        fit_intercept: bool | str = "auto",
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.loss = loss
        self.surrogate = surrogate
        self.C = C
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.features = features
        self.normalize = normalize
        self.forbidden = forbidden
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    @property
    def coef_(self) -> Any:
        """Weights of node features: an array for numeric ones, a sparse matrix for names."""
        check_is_fitted(self)
        node = self._node_weights
        return node.T if sp.issparse(node) else np.ascontiguousarray(node.T)

    # Input.

    @abstractmethod
    def _items(self, X: Sequence[Any]) -> Iterable[Any]:
        """The examples as objects with `nodes` and `edge_features`, as often as asked for."""

    @abstractmethod
    def _edges(
        self, items: Iterable[Any], lengths: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """Checked edges (E, 2), or None if each node is linked to the next; how many each has."""

    def _read(self, X: Sequence[Any], fitting: bool) -> Batch:
        items, noun = self._items(X), self._noun
        features: list[Any] = []

        def nodes() -> Iterator[Any]:  # one at a time: examples may be made when asked for
            for item in items:
                features.append(item.edge_features)
                yield item.nodes

        if fitting and is_named(item.nodes for item in items):
            self.vocabulary_ = {}
        names = getattr(self, "vocabulary_", None)
        x, lengths = read_nodes(nodes(), names, fitting, noun)
        if fitting and is_named(features):
            self.edge_vocabulary_ = {}
        edges, counts = self._edges(items, lengths)
        edge_names = getattr(self, "edge_vocabulary_", None)
        edge_x = read_edges(features, counts, edge_names, fitting, noun)
        if fitting:
            self.n_features_in_ = x.shape[1]
            self._n_edge_features = None if edge_x is None else edge_x.shape[1]
        else:
            edge_x = self._check_widths(x, edge_x, counts)
        return Batch(x, lengths, edge_x, counts, edges)

    def _check_widths(self, x: Any, edge_x: Any, counts: np.ndarray) -> Any:
        """The edge features, if these and those of nodes are as many as in training."""
        own = type(self).__name__
        if x.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {x.shape[1]} node features, but {own} was fitted with {self.n_features_in_}"
            )
        want = self._n_edge_features
        if not counts.any():
            return None if want is None else np.zeros((0, want))
        have = None if edge_x is None else edge_x.shape[1]
        if have != want:
            raise ValueError(
                f"X has {have or 'no'} edge features, but {own} was fitted with {want or 'no'}"
            )
        return edge_x

    # Training.

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, loss_weight: Any = None
    ) -> PairwiseLabeler:
        """Train on labelled examples.

        After an error the estimator is as it was before the call.

        Parameters
        ----------
        X : list of examples
        y : list
            One list or array of labels an example, one label a node; None where unknown. The log
            route then maximises the likelihood of the known ones; the others train on the best
            completion, found in turn with the weights.
        sample_weight : array-like of shape (n,), default=None
            Weight k equals k copies.
        loss_weight : list of array-like, default=None
            What a mistake costs at each node, inside the loss. The log route has no loss inside:
            there an example's mean weight multiplies the example.
        """
        X, y = check_examples(X, y)
        with all_or_nothing(self):
            parameters = check_node_parameters(self)
            start = getattr(self, "_start", None) if self.warm_start else None
            self._forget()
            weight = check_weights(sample_weight, len(X), "sample_weight")
            if not weight.any():
                raise ValueError("sample_weight is zero for every example")
            batch = self._read(X, fitting=True)
            values = flat_labels(y, batch.lengths, self._noun)
            at_nodes = node_weights(loss_weight, batch.lengths, self._noun)
            owner = np.repeat(np.arange(len(X)), batch.lengths)
            used = weight > 0.0
            self.classes_ = classes_of([v for v, i in zip(values, owner) if used[i]])
            known = [v if used[i] else None for v, i in zip(values, owner)]
            codes = codes_of(known, self.classes_, batch.lengths)
            matrix, self.actions_ = parameters.loss.resolve(self.classes_)
            same = self.actions_.tolist() == self.classes_.tolist()
            costs = LabelCosts(matrix, same)
            self._rule = NodeRule(parameters.surrogate, parameters.loss, costs, {})
            mean = np.bincount(owner, at_nodes) / batch.lengths
            if parameters.surrogate.weighs == "example":
                weight, at_nodes = weight * mean, np.ones_like(at_nodes)
            if self.normalize:
                at_nodes = at_nodes / batch.lengths[owner]
            structure = self._structure(batch, at_nodes)
            self._check_allowed(structure, codes)
            held = self._held_out(codes, owner, used, parameters.seed)
            used[held] = False
            scorer = self._scorer(batch, structure, np.where(used[owner], codes, -1))
            with Executor(self.n_jobs) as executor, one_blas_thread():
                structure.executor = executor
                if len(held):
                    scored = scorer.take(held), codes[np.isin(owner, held)], weight[held]
                    parameters = parameters._replace(validation=self._validation(*scored))
                if not used.all():
                    scorer = scorer.take(np.flatnonzero(used))
                    scorer.structure.executor = executor
                    codes, weight = codes[used[owner]], weight[used]
                result = self._train(scorer, codes, self.C * weight, parameters, start)
                self._store(scorer, result)
                if isinstance(parameters.surrogate, Hybrid):
                    share = self._share_without_majority(scorer, result.weights, weight)
                    self._rule = self._rule._replace(summary={"no_majority": share})
        return self

    @property
    def _with_intercept(self) -> bool:
        if self.fit_intercept == "auto":
            return not hasattr(self, "vocabulary_")
        return bool(self.fit_intercept)

    def _scorer(self, batch: Batch, structure: Pairwise, codes: np.ndarray) -> PairwiseScorer:
        """Scores as a linear map of weights. Named features get weights for what they occur with
        where codes are known (>= 0), or for everything."""
        k, node, edge = structure.n_classes, None, None
        if hasattr(self, "vocabulary_"):
            node = self._pattern(batch.x, batch.lengths, codes, k)
        if hasattr(self, "edge_vocabulary_"):
            left, right = codes[structure.edges].T
            pairs = np.where((left < 0) | (right < 0), -1, left * k + right)
            edge = self._pattern(batch.edge_x, batch.edge_counts, pairs, k * k)
        # Pairs that no named feature was seen with have a score all the same.
        shared = batch.edge_x is None or hasattr(self, "edge_vocabulary_")
        free = self._with_intercept
        return PairwiseScorer(batch.x, structure, batch.edge_x, free, node, edge, shared)

    def _pattern(
        self, x: Any, lengths: np.ndarray, codes: np.ndarray, number: int
    ) -> Pattern | None:
        if self.features == "all":
            return None
        layout = Layout.seen_pairs(Features(x, lengths), codes, number, False)
        return Pattern(layout.begin, layout.labels)

    def _held_out(
        self, codes: np.ndarray, owner: np.ndarray, used: np.ndarray, seed: int
    ) -> np.ndarray:
        """Examples, drawn at random, that only say when to stop; none without early stopping."""
        if not self.early_stopping:
            return np.zeros(0, np.int64)
        labelled = np.flatnonzero(np.bincount(owner, codes >= 0, len(used)) * used)
        number = int(np.ceil(self.validation_fraction * len(labelled)))
        if number >= len(labelled):
            raise ValueError(
                f"early_stopping needs examples to train on: validation_fraction="
                f"{self.validation_fraction} holds out all {len(labelled)} that have labels"
            )
        return np.sort(np.random.default_rng(seed).permutation(labelled)[:number])

    def _validation(
        self, scorer: PairwiseScorer, codes: np.ndarray, weight: np.ndarray
    ) -> Validation:
        """What training watches: the mean loss of predictions for the examples held out."""
        structure, known = scorer.structure, codes >= 0
        at_nodes = (structure.node_weight * weight[structure.node_owner])[known]
        if not at_nodes.any():
            raise ValueError("the examples held out for validation have no weight")
        loss, costs = self._rule.loss, self._rule.costs.costs
        truth, owner = codes[known], structure.node_owner[known]

        def mean_loss(weights: np.ndarray) -> float:
            actions = self._actions(structure, scorer.scores(weights))[known]
            return mean_cost(loss, costs[actions, truth], owner, at_nodes)

        return Validation(mean_loss, self.n_iter_no_change)

    def _train(
        self, scorer: PairwiseScorer, codes: np.ndarray, weight: np.ndarray,
        parameters: NodeParameters, start: Start | None,
    ) -> Result:  # fmt: skip
        """Minimise; where labels are unknown, in turn with their completion.

        Completing is the other half of a descent on the (non-convex) objective of the known labels:
        expected parts for the log route, the best labelling for the others (the concave-convex
        procedure). The first completion draws unknown labels by their frequencies.
        """
        structure = scorer.structure
        unknown = codes < 0
        if not unknown.any():
            target: Any = np.empty(structure.n_examples, object)
            target[:] = structure.codes_of(codes)
            return self._minimise(scorer, target, weight, parameters, start)
        share = np.eye(structure.n_classes)[codes]
        share[unknown] = np.bincount(codes[~unknown], minlength=structure.n_classes)
        target = PartTarget(structure, structure.independent(share / share.sum(1, keepdims=True)))
        last = np.inf
        for _ in range(ROUNDS):
            result = self._minimise(scorer, target, weight, parameters, start)
            if result.objective > (1.0 - self.tol) * last:
                break
            last, start = result.objective, Start(result.weights, None, ())
            scores = scorer.scores(result.weights)
            rows = np.flatnonzero(~unknown)
            structure.keep_only(scores, rows, codes[rows])
            if isinstance(parameters.surrogate, Log):
                target = PartTarget(structure, structure.marginals(scores)[1])
            else:
                target = PartTarget(structure, structure.argmax(scores))
        return result

    def _minimise(
        self, scorer: PairwiseScorer, target: Any, weight: np.ndarray,
        parameters: NodeParameters, start: Start | None,
    ) -> Result:  # fmt: skip
        """Solve the convex problem of completely labelled examples."""
        costs = self._rule.costs
        if type(parameters.training_loss) is not type(parameters.loss):
            costs = LabelCosts(parameters.training_loss.resolve(self.classes_)[0])
        adversarial = isinstance(parameters.surrogate, Adversarial)
        matrix = costs.costs if adversarial else costs.between_labels
        structure = scorer.structure
        own, penalty = self.solver, check_penalty(self)
        if own == "auto":
            own = "fista" if penalty.l1 else "lbfgs"
        plain = isinstance(parameters.surrogate, Adversarial | Hinge)
        if own == "dual_decomposition" and not adversarial:
            raise ValueError(f"solver={own!r} is for the adversarial route")
        if own in DUAL_SOLVERS and not plain:
            raise ValueError(f"solver={own!r} is for the hinge and adversarial routes here")
        # Smoothed by entropy marginals are all that it takes; the entropy of a point that comes
        # from elsewhere would not be known.
        kind: type[NodeRoute] = (
            SmoothedRoute if own in ("lbfgs", "fista") or not plain else NodeRoute
        )
        if own == "dual_decomposition":  # as published: subgradient steps, games taken apart
            kind, own = DecomposedRoute, "adagrad"
        route = kind(parameters.surrogate, structure, NodeCosts(structure, matrix))
        executor = structure.executor
        objective = Objective(scorer, route, target, weight, penalty=penalty, executor=executor)
        return solve(self, objective, start, parameters.seed, own, parameters.validation)

    def _check_allowed(self, structure: Pairwise, codes: np.ndarray) -> None:
        """Resolve `forbidden`, and refuse training labels that break it."""
        mask = self._forbidden_mask()
        structure.forbidden = mask
        if mask is None:
            return
        left, right = codes[structure.edges].T
        broken = (left >= 0) & (right >= 0) & mask[left, right]
        if broken.any():
            e = int(broken.argmax())
            i = int(structure.node_owner[structure.edges[e, 0]])
            pair = self.classes_[[left[e], right[e]]].tolist()
            raise ValueError(f"y[{i}] has the forbidden pair {pair[0]!r}, {pair[1]!r} on an edge")

    def _forget(self) -> None:
        """Drop what an earlier fit left."""
        private = ("_rule", "_start", "_node_weights", "_n_edge_features")
        for name in list(vars(self)):
            if name in private or (name.endswith("_") and name[0] != "_"):
                delattr(self, name)

    # Weights.

    def _store(self, scorer: PairwiseScorer, result: Result) -> None:
        self._store_weights(scorer, result.weights)
        self.objective_, self.gap_ = result.objective, result.gap
        self.n_iter_, self.history_ = result.n_iter, result.history
        if self.warm_start:
            self._start = Start(result.weights, None, ())

    def _share_without_majority(
        self, scorer: PairwiseScorer, weights: np.ndarray, weight: np.ndarray
    ) -> float:
        """Share of the examples without a majority labelling, a few at a time."""
        open_ = [
            no_majority(one.structure, one.scores(weights))
            for one in map(scorer.take, chunks(scorer.n_examples, 512))
        ]
        return float(np.average(np.concatenate(open_), weights=weight))

    def _store_weights(self, scorer: PairwiseScorer, weights: np.ndarray) -> None:
        """Keep the weights under their public names."""
        given, k = scorer.split(weights), len(self.classes_)
        node, d = scorer.node.pattern, self.n_features_in_
        self._node_weights = _matrix(given.node, node, d, k)
        self.intercept_ = given.intercept.copy() if len(given.intercept) else np.zeros(k)
        if scorer.shared:
            self.transitions_ = given.table[0].copy()
        if scorer.edge is not None:
            self.edge_coef_ = _matrix(
                given.edge, scorer.edge.pattern, scorer.edge.x.shape[1], k * k
            )

    def _fitted_scorer(self, batch: Batch, structure: Pairwise) -> tuple[PairwiseScorer, Any]:
        """A scorer of these examples, and the fitted weights in its order."""
        none = np.zeros(0)
        edge = none if self._n_edge_features is None else self.edge_coef_
        table = getattr(self, "transitions_", none)
        scorer = PairwiseScorer(
            batch.x, structure, batch.edge_x, True, _pattern_of(self._node_weights),
            _pattern_of(edge), bool(table.size),
        )  # fmt: skip
        parts = (self._node_weights, table, edge)
        values = [w.data if sp.issparse(w) else w.ravel() for w in parts]
        return scorer, np.concatenate([*values, self.intercept_])


def _matrix(weights: np.ndarray, pattern: Pattern | None, rows: int, columns: int) -> Any:
    """A copy of the weights; with a pattern as a sparse matrix."""
    if pattern is None:
        return weights.copy()
    return sp.csr_matrix((weights.copy(), pattern.columns, pattern.begin), (rows, columns))


def _pattern_of(weights: Any) -> Pattern | None:
    if not sp.issparse(weights):
        return None
    return Pattern(weights.indptr.astype(np.int64), weights.indices.astype(np.int32))
