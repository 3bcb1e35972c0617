"""What labelling the nodes of sequences and of graphs has in common, from input to fit."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from concordant.estimators.answers import classes_of, codes_of, flat_labels, node_weights
from concordant.estimators.node_decisions import NodeDecisions, NodeRule
from concordant.estimators.parameters import NodeParameters, check_node_parameters
from concordant.estimators.structured import StructuredEstimator, check_examples
from concordant.estimators.training import Start, all_or_nothing, one_blas_thread, solve
from concordant.executor import Executor
from concordant.metrics import check_weights
from concordant.objective import Objective
from concordant.scorers import PairwiseScorer
from concordant.solvers import Result
from concordant.structures import LabelCosts, NodeCosts, Pairwise, PartTarget
from concordant.surrogates import Adversarial, Log, Route, SmoothedRoute

#: Rounds of completing unknown labels and training on the completion.
ROUNDS = 20


class PairwiseLabeler(NodeDecisions, StructuredEstimator):
    """Labels of nodes, scored by nodes and edges, trained for a loss by a route.

    A subclass gives `_read` and `_store_weights`.
    """

    def __init__(
        self,
        loss: Any = "zero_one",
        surrogate: Any = "adversarial",
        *,
        C: float = 1.0,
        normalize: bool = False,
        forbidden: Any = None,
        fit_intercept: Any = True,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.loss = loss
        self.surrogate = surrogate
        self.C = C
        self.normalize = normalize
        self.forbidden = forbidden
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    @abstractmethod
    def _store_weights(self, scorer: PairwiseScorer, weights: np.ndarray) -> None:
        """Keep the weights under their public names."""

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
            self._rule = NodeRule(parameters.surrogate, parameters.loss, LabelCosts(matrix, same))
            mean = np.bincount(owner, at_nodes) / batch.lengths
            if parameters.surrogate.weighs == "example":
                weight, at_nodes = weight * mean, np.ones_like(at_nodes)
            if self.normalize:
                at_nodes = at_nodes / batch.lengths[owner]
            structure = self._structure(batch, at_nodes)
            self._check_allowed(structure, codes)
            scorer = PairwiseScorer(batch.x, structure, batch.edge_x, self.fit_intercept)
            with Executor(self.n_jobs) as executor, one_blas_thread():
                structure.executor = executor
                if not used.all():
                    scorer = scorer.take(np.flatnonzero(used))
                    codes, weight = codes[used[owner]], weight[used]
                result = self._train(scorer, codes, self.C * weight, parameters, start)
            self._store(scorer, result)
        return self

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
        structure, own = scorer.structure, self.solver
        if own in ("auto", "lbfgs"):  # smoothed by entropy: marginals are all that it takes
            loss, own = NodeCosts(structure, matrix), "lbfgs"
            route: Route = SmoothedRoute(parameters.surrogate, structure, loss)
        else:
            route = parameters.surrogate.bind(structure, matrix)
        objective = Objective(scorer, route, target, weight, executor=structure.executor)
        return solve(self, objective, start, parameters.seed, own)

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
        for name in list(vars(self)):
            if name in ("_rule", "_start") or (name.endswith("_") and name[0] != "_"):
                delattr(self, name)

    def _store(self, scorer: PairwiseScorer, result: Result) -> None:
        self._store_weights(scorer, result.weights)
        self.objective_, self.gap_ = result.objective, result.gap
        self.n_iter_, self.history_ = result.n_iter, result.history
        if self.warm_start:
            self._start = Start(result.weights, None, ())
