"""What a fitted labeller of nodes answers: actions, marginals, strategies, best labellings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from concordant.estimators.answers import codes_of, flat_labels
from concordant.estimators.parameters import check_number
from concordant.estimators.structured import check_examples, object_array
from concordant.losses import LabelLoss, SequenceZeroOne, find_node_loss
from concordant.metrics import check_weights
from concordant.scorers import PairwiseScorer
from concordant.structures import LabelCosts, NodeCosts, Pairwise
from concordant.surrogates import Adversarial, Hybrid, Log, Surrogate, find_surrogate

#: Solvers that do not minimise the surrogate, and what that means.
BLIND = {
    "perceptron": (
        "Not consistent: the perceptron knows neither surrogate nor loss, and on data that no "
        "weights label without mistakes it converges to nothing in particular."
    ),
    "passive_aggressive": (
        "Not consistent: passive-aggressive updates follow one example at a time and minimise no "
        "surrogate of the whole sample."
    ),
}

#: Gap of the games solved for prediction, in largest costs a node.
GAME_TOLERANCE = 1e-3


class NodeRule(NamedTuple):
    """How scores become decisions: the route that was trained and the loss that counts."""

    surrogate: Surrogate
    loss: LabelLoss
    costs: LabelCosts
    summary: dict[str, float]


class Asked(NamedTuple):
    """Examples to predict for: their structure, scores, and codes of known labels (-1 if not)."""

    structure: Pairwise
    scores: np.ndarray
    fixed: np.ndarray


def _route_and_loss(model: Any) -> tuple[Surrogate, LabelLoss] | None:
    """Those of the last fit, else those it would have; None if they are not valid."""
    if hasattr(model, "_rule"):
        return model._rule.surrogate, model._rule.loss
    try:
        return find_surrogate(model.surrogate, model.loss)[0], find_node_loss(model.loss)
    except (TypeError, ValueError):
        return None


def _is_a(*kinds: type[Surrogate]) -> Callable[[Any], bool]:
    def check(model: Any) -> bool:
        found = _route_and_loss(model)
        return found is not None and isinstance(found[0], kinds)

    return check


_is_probabilistic = _is_a(Log, Hybrid)
_is_adversarial = _is_a(Adversarial)


def _has_marginals(model: Any) -> bool:
    found = _route_and_loss(model)
    return found is not None and found[0].has_probabilities(found[1])


def mean_cost(loss: LabelLoss, each: np.ndarray, owner: np.ndarray, weight: np.ndarray) -> float:
    """Weighted mean of the costs at nodes, or of whole examples where the loss is theirs."""
    if isinstance(loss, SequenceZeroOne):
        _, first, place = np.unique(owner, return_index=True, return_inverse=True)
        each, weight = np.bincount(place, each) > 0.0, weight[first]
    return float(np.average(each, weights=weight))


def no_majority(structure: Pairwise, scores: np.ndarray) -> np.ndarray:
    """Whether no labelling of an example has a probability of 1/2 or more."""
    return np.exp(structure.decode(scores)[1] - structure.marginals(scores)[0]) < 0.5


class NodeDecisions:
    """Prediction from scores of nodes and edges."""

    _noun = "example"
    classes_: np.ndarray
    actions_: np.ndarray
    _rule: NodeRule
    forbidden: Any
    solver: Any

    @abstractmethod
    def _read(self, X: Any, fitting: bool) -> Any:
        """Checked examples as one batch: x (N, d), lengths (n,), edge_x (E, d_e) or None, and what
        `_structure` needs."""

    @abstractmethod
    def _structure(self, batch: Any, node_weight: np.ndarray | None = None) -> Pairwise:
        """The structure of a batch that `_read` returned."""

    @abstractmethod
    def _fitted_scorer(self, batch: Any, structure: Pairwise) -> tuple[PairwiseScorer, np.ndarray]:
        """A scorer of a batch, and the fitted weights in its order."""

    def _ask(self, X: Any, fixed: Any = None, name: str = "fixed") -> Asked:
        """Structure and scores of these examples; `name` is what errors call the known labels."""
        check_is_fitted(self)
        X, _ = check_examples(X)
        batch = self._read(X, fitting=False)
        structure = self._structure(batch)
        structure.forbidden = self._forbidden_mask()
        scorer, weights = self._fitted_scorer(batch, structure)
        scores = scorer.scores(weights)
        codes = np.full(structure.n_nodes, -1)
        if fixed is not None:
            if len(fixed) != len(X):
                raise ValueError(f"X has {len(X)} examples, {name} has {len(fixed)}")
            fixed = [[None] * n if f is None else f for f, n in zip(fixed, batch.lengths)]
            values = flat_labels(fixed, batch.lengths, self._noun, name)
            codes = codes_of(values, self.classes_, batch.lengths, name)
            known = np.flatnonzero(codes >= 0)
            structure.keep_only(scores, known, codes[known])
        return Asked(structure, scores, codes)

    def _forbidden_mask(self) -> np.ndarray | None:
        """Pairs of neighbouring labels that must not occur, ``(k, k)``."""
        if self.forbidden is None:
            return None
        table = {label: code for code, label in enumerate(self.classes_.tolist())}
        mask = np.zeros((len(table), len(table)), bool)
        for pair in self.forbidden:
            if isinstance(pair, (str, bytes)) or len(pair) != 2:
                raise ValueError(f"forbidden must list pairs of labels, got {pair!r}")
            if pair[0] in table and pair[1] in table:  # others cannot occur anyway
                mask[table[pair[0]], table[pair[1]]] = True
        return mask

    def predict(self, X: Any, fixed: Any = None) -> np.ndarray:
        """An array of actions for each example, one a node; a 1-D object array of them.

        The log and hybrid routes take the action of least expected cost at every node (under
        ``loss="sequence_zero_one"`` the most probable labelling), the others the labelling with the
        largest score; where actions are not labels, the adversarial route takes the largest entry
        of its equilibrium.

        Parameters
        ----------
        X : list of examples
        fixed : list, default=None
            Labels that are known: for each example None, or a list with None where unknown.
        """
        asked = self._ask(X, fixed)
        best = self._actions(asked.structure, asked.scores)
        known = asked.fixed >= 0
        best[known] = self._rule.costs.own_action[asked.fixed[known]]
        return object_array(asked.structure.codes_of(self.actions_[best]))

    def _actions(self, structure: Pairwise, scores: np.ndarray) -> np.ndarray:
        """The action at every node, ``(N,)``, as a number."""
        costs = self._rule.costs
        if isinstance(self._rule.loss, SequenceZeroOne):
            return self._decoded(structure, scores)
        if _is_probabilistic(self):
            q = structure.nodes(self._marginals(structure, scores))
            return (q @ costs.costs.T).argmin(axis=1)
        if costs.actions_are_labels or not _is_adversarial(self):
            return costs.own_action[self._decoded(structure, scores)]
        return self._game(structure, scores).argmax(axis=1)

    def _decoded(self, structure: Pairwise, scores: np.ndarray) -> np.ndarray:
        labels, values = structure.decode(scores)
        self._check_possible(values)
        return labels

    def _marginals(self, structure: Pairwise, scores: np.ndarray) -> np.ndarray:
        partition, mu = structure.marginals(scores)
        self._check_possible(partition)
        return mu

    def _check_possible(self, values: np.ndarray) -> None:
        if (values == -np.inf).any():
            i = int((values == -np.inf).argmax())
            raise ValueError(
                f"no labelling of {self._noun} {i} is possible: its known labels and the forbidden "
                "pairs contradict each other"
            )

    def _game(self, structure: Pairwise, scores: np.ndarray) -> np.ndarray:
        """The predictor's equilibrium at every node, ``(N, n_actions)``."""
        from concordant.oracles.node_game import play

        barred = np.isneginf(scores)
        if barred.any():  # the game takes products with scores: forbid by a price
            finite = scores[~barred]
            scores = np.where(barred, finite.min() - 1e4 * (1.0 + np.ptp(finite)), scores)
        loss = NodeCosts(structure, self._rule.costs.costs)
        tolerance = GAME_TOLERANCE * loss.scale * structure.lengths
        return play(structure, loss, scores, np.ones(structure.n_examples), tolerance).p

    @available_if(_has_marginals)
    def predict_marginals(self, X: Any, fixed: Any = None) -> np.ndarray:
        """Probabilities of every node's labels: an object array of (n_nodes, k) arrays.

        Of the fitted distribution for the log and hybrid routes; of the predictor's equilibrium for
        the adversarial route under 0-1 loss.
        """
        structure, scores, _ = self._ask(X, fixed)
        if _is_adversarial(self):
            return object_array(structure.codes_of(self._game(structure, scores)))
        return object_array(structure.codes_of(structure.nodes(self._marginals(structure, scores))))

    @available_if(_is_probabilistic)
    def predict_confidence(self, X: Any, fixed: Any = None) -> np.ndarray:
        """How sure the model is of each answer that `predict` gives: an object array of (n_nodes,)
        arrays.

        ``1 - expected cost / largest cost`` under the fitted probabilities; under 0-1 loss the
        probability that the answer is right.
        """
        structure, scores, known = self._ask(X, fixed)
        costs = self._rule.costs
        best = self._actions(structure, scores)
        best[known >= 0] = costs.own_action[known[known >= 0]]
        q = structure.nodes(self._marginals(structure, scores))
        expected = (q * costs.costs[best]).sum(axis=1)
        return object_array(structure.codes_of(1.0 - expected / costs.scale))

    @available_if(_is_adversarial)
    def strategy(self, X: Any, fixed: Any = None) -> np.ndarray:
        """The predictor's equilibrium at every node: an object array of (n_nodes, n_actions)."""
        structure, scores, _ = self._ask(X, fixed)
        return object_array(structure.codes_of(self._game(structure, scores)))

    @available_if(_is_probabilistic)
    def predict_proba(self, X: Any, y: Any = None) -> np.ndarray:
        """Probability of a labelling of each example: of `y`, or of the most probable one.

        Where `y` has None, any label will do: of all labellings that agree with it. A label that
        training had not seen has probability 0.
        """
        structure, scores, _ = self._ask(X)
        partition = structure.marginals(scores)[0]
        self._check_possible(partition)
        if y is None:
            return np.exp(structure.decode(scores)[1] - partition)
        _, y = check_examples(X, y)
        values, offsets = flat_labels(y, structure.lengths, self._noun), structure.offsets
        known = {None, *self.classes_.tolist()}
        unseen = np.logical_or.reduceat([v not in known for v in values], offsets[:-1])
        values = [None if u else v for v, u in zip(values, np.repeat(unseen, structure.lengths))]
        seen = [values[start:stop] for start, stop in pairwise(offsets)]
        agreeing = structure.marginals(self._ask(X, seen, "y").scores)[0]
        return np.where(unseen, 0.0, np.exp(agreeing - partition))

    def predict_best(self, X: Any, number: int = 5, fixed: Any = None) -> list[list[Any]]:
        """The labellings with the largest scores: for each example a list, best first, of pairs
        (labels, score); fewer than `number` where there are no more."""
        check_number("number", number, lambda v: v >= 1, ">= 1", integer=True)
        asked = self._ask(X, fixed)
        ranked = asked.structure.k_best(asked.scores, number)
        return [[(self.classes_[y], float(v)) for y, v in zip(*one)] for one in ranked]

    @available_if(_is_probabilistic)
    def sample(self, X: Any, random_state: Any = None, fixed: Any = None) -> np.ndarray:
        """A labelling of each example, drawn from the fitted distribution."""
        asked = self._ask(X, fixed)
        rng = np.random.default_rng(random_state)
        labels = asked.structure.sample(asked.scores, rng)
        return object_array(asked.structure.codes_of(self.classes_[labels]))

    def consistency(self, X: Any = None) -> str:
        """Whether enough data would give the best decisions under this loss, and when.

        Parameters
        ----------
        X : list of examples, default=None
            Where to look for examples without a majority labelling (hybrid route only); by default
            the training examples.

        Examples
        --------
        >>> import concordant as cc
        >>> model = cc.SequenceLabeler(surrogate="log").fit([[["a"], ["b"]]], [["x", "y"]])
        >>> model.consistency().split(":")[0]
        'Consistent for every loss summed over nodes, this one included'
        """
        check_is_fitted(self)
        surrogate, _, costs, summary = self._rule
        unseen = BLIND.get(self.solver)
        if unseen is not None:
            return unseen
        if isinstance(self._rule.loss, SequenceZeroOne):
            return (
                "Consistent for 0-1 loss on whole labellings: the prediction is the most probable "
                "one under the fitted probabilities, which are right in the limit if the scores "
                "are rich enough and inference is exact."
            )
        if X is not None and surrogate.name == "hybrid":
            structure, scores, _ = self._ask(X)
            summary = {"no_majority": float(np.mean(no_majority(structure, scores)))}
        return surrogate.node_consistency(costs, summary)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """``1 - mean loss / largest cost`` over the nodes with a known label: accuracy under 0-1
        loss. Under ``"sequence_zero_one"`` the share of examples without a mistake at those."""
        from concordant.metrics import action_costs, known_labels

        X, y = check_examples(X, y)
        predicted = self.predict(X)
        lengths = np.array([len(p) for p in predicted])
        weight = np.repeat(check_weights(sample_weight, len(X), "sample_weight"), lengths)
        values = flat_labels(y, lengths, self._noun)
        known = np.array([v is not None for v in values])
        truth = np.array([v for v in values if v is not None])
        if not (weight[known] > 0.0).any():
            raise ValueError("no node has both a known label and a positive weight")
        labels = known_labels(self.classes_, truth, self._rule.loss)
        largest = float(self._rule.loss.resolve(labels)[0].max())
        each = action_costs(truth, np.concatenate(predicted)[known], self._rule.loss, labels)
        owner = np.repeat(np.arange(len(X)), lengths)
        mean = mean_cost(self._rule.loss, each, owner[known], weight[known])
        return 1.0 - mean / largest if largest > 0.0 else 1.0
