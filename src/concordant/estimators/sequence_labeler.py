"""Labels of the tokens of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from concordant.corpus.data import Features, Layout
from concordant.corpus.objective import CorpusObjective, Model
from concordant.estimators.pairwise import ROUNDS, PairwiseLabeler
from concordant.estimators.parameters import NodeParameters, check_penalty
from concordant.estimators.sequences import Tokens, is_named, read_named, read_numeric
from concordant.estimators.structured import check_examples
from concordant.estimators.training import Start, run_solver
from concordant.scorers import PairwiseScorer
from concordant.solvers import SEQUENCE_SOLVERS, Result
from concordant.structures import Chain, LabelCosts, Pairwise
from concordant.surrogates import Adversarial, Hinge, Hybrid

#: Tokens beyond which block steps on the dual replace descent on smoothed games and hinges.
LARGE = 5000


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
        Lasso and elastic net (mixed by `l1_ratio`) are for the log, hinge and hybrid routes.
    features : {"seen", "all"}, default="seen"
        Named features get weights for the labels that they occur with in training, or for all.
        Numeric features always have weights for all labels.
    normalize : bool, default=False
        Divide the loss of a sequence by its length.
    forbidden : list of pairs of labels, default=None
        Labels that must not follow one another, as (first, second).
    fit_intercept : bool or "auto", default="auto"
        An unpenalised score of each label. "auto" fits it with numeric features only.
    solver : str, default="auto"
        "lbfgs", "fista" (for a lasso), "exponentiated_gradient" and "block_frank_wolfe" (hinge
        and adversarial), both without intercepts; for comparison "perceptron",
        "passive_aggressive", "sgd", "pegasos", "adagrad", "adam".
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
    edge_coef_ : ndarray of shape (d_e, k, k)
        Only with features of edges (see `Sequence`), in place of ``transitions_``.
    vocabulary_ : dict
        Column of each named feature.
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
    _node_weights: Any
    fit_intercept: Any
    intercept_: np.ndarray
    transitions_: np.ndarray
    edge_coef_: np.ndarray
    vocabulary_: dict[str, int]

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
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        super().__init__(
            loss, surrogate, C=C, normalize=normalize, forbidden=forbidden,
            fit_intercept=fit_intercept, solver=solver, max_iter=max_iter, tol=tol,
            random_state=random_state, n_jobs=n_jobs, warm_start=warm_start, verbose=verbose,
        )  # fmt: skip
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.features = features

    @property
    def coef_(self) -> Any:
        """Weights of token features: an array for numeric ones, a sparse matrix for names."""
        check_is_fitted(self)
        node = self._node_weights
        return node.T if sp.issparse(node) else np.ascontiguousarray(node.T)

    # Input.

    def _read(self, X: Any, fitting: bool) -> Tokens:
        if fitting:
            if self.features not in ("seen", "all"):
                raise ValueError(f"features must be 'seen' or 'all', got {self.features!r}")
            if is_named(X):
                self.vocabulary_ = {}
            batch = self._tokens(X, grow=True)
            self.n_features_in_ = batch.x.shape[1]
            self._has_edge_features = batch.edge_x is not None
            return batch
        batch = self._tokens(X, grow=False)
        if batch.x.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {batch.x.shape[1]} features, but SequenceLabeler was fitted with "
                f"{self.n_features_in_}"
            )
        if self._has_edge_features and batch.edge_x is None and batch.lengths.max() == 1:
            return batch._replace(edge_x=np.zeros((0, len(self.edge_coef_))))
        if self._has_edge_features != (batch.edge_x is not None):
            have = "none" if batch.edge_x is None else "some"
            raise ValueError(f"X has {have} of the edge_features that training had or had not")
        return batch

    def _tokens(self, X: Any, grow: bool) -> Tokens:
        if hasattr(self, "vocabulary_"):
            return read_named(X, self.vocabulary_, grow)
        return read_numeric(X)

    def _structure(self, batch: Tokens, node_weight: np.ndarray | None = None) -> Chain:
        per_edge = batch.edge_x is not None
        return Chain(batch.lengths, len(self.classes_), per_edge, node_weight)

    @property
    def _with_intercept(self) -> bool:
        if self.fit_intercept == "auto":
            return not hasattr(self, "vocabulary_")
        return bool(self.fit_intercept)

    # Training.

    def _train(
        self, scorer: PairwiseScorer, codes: np.ndarray, weight: np.ndarray,
        parameters: NodeParameters, start: Start | None,
    ) -> Result:  # fmt: skip
        """In passes fused over the corpus, where they serve; else as all labellers of nodes."""
        penalty = check_penalty(self)
        generic = scorer.edge_x is not None or self._small_game(scorer, parameters)
        if generic:
            if penalty.l1 or self.solver not in ("auto", "lbfgs"):
                raise ValueError(
                    f"penalty={self.penalty!r} with solver={self.solver!r} is not available with "
                    "edge_features or for the adversarial route on few or with intercepts; use "
                    "penalty='l2' and solver='auto'"
                )
            self._layout = None
            scorer = PairwiseScorer(scorer.x, scorer.structure, scorer.edge_x, self._with_intercept)
            return super()._train(scorer, codes, weight, parameters, start)
        structure = scorer.structure
        features, k = Features(scorer.x, structure.lengths), structure.n_classes
        if hasattr(self, "vocabulary_") and self.features == "seen":
            self._layout = Layout.seen_pairs(features, codes, k, self._with_intercept)
        else:
            self._layout = Layout.all_pairs(features.n_features, k, self._with_intercept)
        objective = CorpusObjective(
            features, self._layout, codes, self._model(parameters), weight, structure.node_weight,
            penalty, structure.forbidden, executor=structure.executor,
        )  # fmt: skip
        if (codes < 0).any():
            return self._complete(objective, parameters, start)
        return self._solve(objective, parameters, start)

    def _small_game(self, scorer: PairwiseScorer, parameters: NodeParameters) -> bool:
        """Whether the games are to be smoothed: they are few, or have intercepts."""
        if not isinstance(parameters.surrogate, Adversarial) or self.solver != "auto":
            return False
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
        return run_solver(
            self, self._solver(objective, weights)(), objective, weights, parameters.seed
        )

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
        if blocks and (model.alpha > 0.0 or objective.has_intercept or not objective.ridge):
            raise ValueError(
                "solver='block_frank_wolfe' is for the hinge and adversarial routes with "
                "penalty='l2' and fit_intercept=False"
            )
        gibbs = name == "exponentiated_gradient"
        if gibbs and (objective.has_intercept or not objective.ridge):
            raise ValueError(
                "solver='exponentiated_gradient' needs penalty='l2' and fit_intercept=False"
            )
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
        weights = objective.start() if start is None else start.weights
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

    # Weights.

    def _store_weights(self, scorer: PairwiseScorer, weights: np.ndarray) -> None:
        k, layout = len(self.classes_), self._layout
        if layout is None:
            scorer = PairwiseScorer(scorer.x, scorer.structure, scorer.edge_x, self._with_intercept)
            node, edge, free = scorer.split(weights)
            if self._has_edge_features:
                self.edge_coef_ = edge.copy()
            else:
                self.transitions_ = edge[0].copy()
            self._node_weights = node.copy()
        else:
            node, transitions, free = layout.split(weights)
            self.transitions_ = transitions.copy()
            if len(layout.labels):
                shape = (self.n_features_in_, k)
                self._node_weights = sp.csr_matrix((node, layout.labels, layout.begin), shape)
            else:
                self._node_weights = node.reshape(-1, k).copy()
        self.intercept_ = free.copy() if len(free) else np.zeros(k)
        del self._layout

    def _weights(self) -> np.ndarray:
        edge = self.edge_coef_ if self._has_edge_features else self.transitions_
        node = self._node_weights
        node = node.toarray() if sp.issparse(node) else node
        return np.concatenate([node.ravel(), edge.ravel(), self.intercept_])

    def _scores(self, batch: Tokens, structure: Pairwise) -> np.ndarray:
        if not sp.issparse(self._node_weights):
            return super()._scores(batch, structure)
        from concordant.kernels.tokens import add_scores

        x, node = batch.x, self._node_weights
        out = structure.empty()
        structure.tables(out)[...] = self.transitions_
        nodes = structure.nodes(out)
        nodes[...] = self.intercept_
        features = Features(x, batch.lengths)
        add_scores(
            features.indptr, features.indices, features.values, node.indptr.astype(np.int64),
            node.indices.astype(np.int32), np.require(node.data, requirements="W"), 0,
            features.n_tokens, nodes,
        )  # fmt: skip
        return out

    def predict_proba(self, X: Any, y: Any = None) -> np.ndarray:
        """Probability of a whole labelling of each sequence: of `y`, or of the most probable one.

        Only for the log and hybrid routes.
        """
        from concordant.estimators.answers import codes_of, flat_labels
        from concordant.estimators.node_decisions import _is_probabilistic

        check_is_fitted(self)
        if not _is_probabilistic(self):
            raise AttributeError("only the log and hybrid routes have probabilities")
        asked = self._ask(X)
        structure = asked.structure
        partition = structure.marginals(asked.scores)[0]
        if y is None:
            return np.exp(structure.decode(asked.scores)[1] - partition)
        _, y = check_examples(X, y)
        values = flat_labels(y, structure.lengths, self._noun)
        codes = codes_of(values, self.classes_, structure.lengths)
        parts = structure.parts([codes])
        scores = np.where(parts > 0.0, asked.scores, 0.0)
        return np.exp(structure.dot(scores, parts) - partition)
