"""Labels of the tokens of sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as AnySequence
from typing import Any

import numpy as np

from concordant.corpus.data import Features, Layout
from concordant.corpus.objective import CorpusObjective, Model
from concordant.estimators.pairwise import ROUNDS, PairwiseLabeler
from concordant.estimators.parameters import NodeParameters, check_penalty
from concordant.estimators.rows import Batch
from concordant.estimators.sequences import Sequence
from concordant.estimators.training import Start, run_solver
from concordant.penalty import Penalty
from concordant.scorers import PairwiseScorer
from concordant.solvers import SEQUENCE_SOLVERS, Result
from concordant.structures import Chain, LabelCosts
from concordant.surrogates import Adversarial, Hinge, Hybrid

#: Tokens beyond which block steps on the dual replace descent on smoothed games and hinges.
LARGE = 5000


class _Sequences:
    """The examples as `Sequence` objects, each made when it is asked for."""

    def __init__(self, X: AnySequence[Any]):
        self.X = X

    def __iter__(self) -> Iterator[Sequence]:
        return (item if isinstance(item, Sequence) else Sequence(item) for item in self.X)


class SequenceLabeler(PairwiseLabeler):
    """Label the tokens of sequences.

    A labelling's score is linear: features of tokens times ``coef_``, plus for neighbouring labels
    an entry of ``transitions_``. Training minimises ``½|W|² + C · sum of surrogates`` of the loss
    summed over tokens.

    Parameters
    ----------
    loss : str or loss, default="zero_one"
        Any loss on labels, summed over tokens.
    surrogate : str or surrogate, default="adversarial"
        "adversarial", "log" (a conditional random field), "hinge" (a structural SVM) or "hybrid".
    C : float, default=1.0
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        Lasso and elastic net are mixed by `l1_ratio`.
    features : {"seen", "all"}, default="seen"
        Named features get weights for the labels that they occur with in training, and those of
        edges for such pairs of labels; or for all. Numeric features always have weights for all.
    normalize : bool, default=False
        Divide the loss of a sequence by its length.
    forbidden : list of pairs of labels, default=None
        Labels that must not follow one another, as (first, second).
    fit_intercept : bool or "auto", default="auto"
        An unpenalised score of each label. "auto" fits it with numeric features only.
    solver : str, default="auto"
        "lbfgs", "fista" (for a lasso), "exponentiated_gradient" and "block_frank_wolfe" (hinge
        and adversarial); for comparison "perceptron", "passive_aggressive", "sgd", "pegasos",
        "adagrad", "adam" and, for the adversarial route, the published "dual_decomposition" (slow:
        to compare with on few examples). With features of edges: as in `GraphLabeler`.
    early_stopping : bool, default=False
        Hold out a share of the examples, drawn by `random_state`, and stop when the mean loss of
        predictions for them no longer falls. The model with the least such loss is kept, and
        ``history_["validation_loss"]`` has it for every pass. (Weights then do not equal copies.)
    validation_fraction : float, default=0.1
    n_iter_no_change : int, default=10
        Passes without a smaller loss after which to stop.
    max_iter, tol, random_state, n_jobs, warm_start, verbose
        As in `Classifier`; `tol` is the relative gap at which to stop.

    Attributes
    ----------
    classes_, actions_ : ndarray
        Labels, sorted, and what `predict` may answer.
    coef_ : ndarray or sparse matrix of shape (k, d)
    transitions_ : ndarray of shape (k, k)
        Scores of a label (row) before another (column).
    intercept_ : ndarray of shape (k,)
    edge_coef_ : ndarray of shape (d_e, k, k), or sparse matrix of shape (d_e, k * k)
        Only with features of edges (see `Sequence`): numeric ones are in place of
        ``transitions_``, named ones beside them.
    vocabulary_, edge_vocabulary_ : dict
        Column of each named feature of tokens, and of edges.
    objective_, gap_ : float
        The objective reached, and its certified distance from the optimum at most.
    n_iter_, history_

    Examples
    --------
    >>> import concordant as cc
    >>> X = [[["the"], ["old"], ["man"]], [["the"], ["boat"]], [["man"], ["the"], ["boat"]]]
    >>> y = [["D", "N", "V"], ["D", "N"], ["V", "D", "N"]]
    >>> model = cc.SequenceLabeler(surrogate="log", C=10).fit(X, y)
    >>> model.predict([[["man"], ["the"], ["man"]]])[0].tolist()
    ['V', 'D', 'N']
    >>> model.gap_ <= 1e-3 * model.objective_
    True
    """

    _noun = "sequence"

    # Input.

    def _items(self, X: AnySequence[Any]) -> Iterable[Sequence]:
        return _Sequences(X)

    def _edges(self, items: Iterable[Sequence], lengths: np.ndarray) -> tuple[None, np.ndarray]:
        return None, lengths - 1

    def _structure(self, batch: Batch, node_weight: np.ndarray | None = None) -> Chain:
        per_edge = batch.edge_x is not None
        return Chain(batch.lengths, len(self.classes_), per_edge, node_weight)

    # Training.

    def _train(
        self, scorer: PairwiseScorer, codes: np.ndarray, weight: np.ndarray,
        parameters: NodeParameters, start: Start | None,
    ) -> Result:  # fmt: skip
        """In passes fused over the corpus, where they serve; else as all labellers of nodes."""
        penalty = check_penalty(self)
        if scorer.edge_x is not None or self._as_graphs(scorer, parameters, penalty):
            return super()._train(scorer, codes, weight, parameters, start)
        structure = scorer.structure
        features, k = Features(scorer.x, structure.lengths), structure.n_classes
        pattern = scorer.node.pattern
        if pattern is None:
            layout = Layout.all_pairs(features.n_features, k, self._with_intercept)
        else:
            layout = Layout(pattern.begin, pattern.columns, k, self._with_intercept)
        objective = CorpusObjective(
            features, layout, codes, self._model(parameters), weight, structure.node_weight,
            penalty, structure.forbidden, executor=structure.executor,
        )  # fmt: skip
        if (codes < 0).any():
            return self._complete(objective, parameters, start)
        return self._solve(objective, parameters, start)

    def _as_graphs(
        self, scorer: PairwiseScorer, parameters: NodeParameters, penalty: Penalty
    ) -> bool:
        """Whether the way of all labellers of nodes is asked for, or better: where games are few,
        or have intercepts, they are smoothed."""
        if not isinstance(parameters.surrogate, Adversarial) or self.solver != "auto":
            return self.solver == "dual_decomposition"
        if penalty.l1:
            return True
        return self._with_intercept or scorer.structure.n_nodes < LARGE

    def _model(self, parameters: NodeParameters) -> Model:
        costs, surrogate = self._rule.costs, parameters.surrogate
        if type(parameters.training_loss) is not type(parameters.loss):
            costs = LabelCosts(parameters.training_loss.resolve(self.classes_)[0])
        if isinstance(surrogate, Adversarial):
            return Model(costs.costs, 0.0, adversarial=True)
        alpha = 0.0 if isinstance(surrogate, Hinge) else 1.0
        if isinstance(surrogate, Hybrid):
            alpha = surrogate.alpha
        return Model(costs.between_labels, alpha)

    def _solve(
        self, objective: CorpusObjective, parameters: NodeParameters, start: Start | None
    ) -> Result:
        weights = None
        if start is not None and start.weights.shape == objective.start().shape:
            weights = start.weights
        solver = self._solver(objective, weights)()
        return run_solver(self, solver, objective, weights, parameters.seed, parameters.validation)

    def _solver(self, objective: CorpusObjective, start: np.ndarray | None) -> type:
        """The solver asked for, or the fastest for the problem."""
        name, model = self.solver, objective.model
        if name == "auto":
            large = objective.features.n_tokens >= LARGE and not objective.has_intercept
            if not objective.ridge:
                name = "fista"
            elif model.adversarial or (large and start is None and (objective.codes >= 0).all()):
                name = "exponentiated_gradient"
            else:
                name = "lbfgs"
        if not isinstance(name, str) or name not in SEQUENCE_SOLVERS:
            names = ", ".join(SEQUENCE_SOLVERS)
            raise ValueError(f"unknown solver {name!r}; names are auto, {names}")
        blocks = name == "block_frank_wolfe"
        if blocks and (model.alpha > 0.0 or not objective.ridge):
            raise ValueError(
                "solver='block_frank_wolfe' is for the hinge and adversarial routes with "
                "penalty='l2'"
            )
        gibbs = name == "exponentiated_gradient"
        if gibbs and not objective.ridge:
            raise ValueError("solver='exponentiated_gradient' needs penalty='l2'")
        if name in ("lbfgs", "fista") and model.adversarial:
            raise ValueError(f"solver={name!r} does not train the adversarial route here")
        if name == "lbfgs" and not objective.ridge:
            raise ValueError("solver='lbfgs' needs penalty='l2'; use solver='fista' with a lasso")
        if not objective.ridge and name not in ("fista", "sgd", "adagrad", "adam"):
            raise ValueError(f"solver={name!r} needs penalty='l2'; use 'fista' with a lasso")
        return SEQUENCE_SOLVERS[name]

    def _complete(
        self, objective: CorpusObjective, parameters: NodeParameters, start: Start | None
    ) -> Result:
        """Train where labels are unknown, in turn with their completion (see `_train` of the base):
        expected features of the labelings that agree, or the best one of them."""
        last, known = np.inf, objective.codes
        weights = objective.start()
        if start is not None and start.weights.shape == weights.shape:
            weights = start.weights
        for _ in range(ROUNDS):
            objective = self._completed(objective, known, weights)
            result = self._solve(objective, parameters, Start(weights, None, ()))
            value = objective.likelihood(result.weights) if objective.smooth else result.objective
            if value > (1.0 - self.tol) * last:
                break
            last, weights = value, result.weights
        return result

    def _completed(
        self, objective: CorpusObjective, known: np.ndarray, weights: np.ndarray
    ) -> CorpusObjective:
        if objective.smooth:
            return objective.with_answers(
                known, objective.with_answers(known).expected_parts(weights)
            )
        return objective.with_answers(objective.best_completion(weights, known))
