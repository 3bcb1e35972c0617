"""What a fitted label classifier answers: actions, probabilities, strategies, advice."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from concordant.losses import LabelLoss, find_loss
from concordant.structures import LabelCosts
from concordant.surrogates import Adversarial, Surrogate, find_surrogate


class Rule(NamedTuple):
    """How scores become decisions: the route that was trained and the loss that counts."""

    surrogate: Surrogate
    loss: LabelLoss
    costs: LabelCosts
    summary: dict[str, float]


def _route_and_loss(model: Any) -> tuple[Surrogate, LabelLoss] | None:
    """Those of the last fit, else those it would have; None if they are not valid."""
    if hasattr(model, "_rule"):
        return model._rule.surrogate, model._rule.loss
    try:
        return find_surrogate(model.surrogate, model.loss)[0], find_loss(model.loss)
    except (TypeError, ValueError):
        return None


def _has_probabilities(model: Any) -> bool:
    found = _route_and_loss(model)
    return found is not None and found[0].has_probabilities(found[1])


def _is_adversarial(model: Any) -> bool:
    found = _route_and_loss(model)
    return found is not None and isinstance(found[0], Adversarial)


class LabelDecisions:
    """Prediction from scores. A subclass has `_scores(X)`, ``classes_``, ``actions_``, `_rule`."""

    classes_: np.ndarray
    actions_: np.ndarray
    _rule: Rule

    @abstractmethod
    def _scores(self, X: Any) -> np.ndarray:
        """Scores of the labels, ``(n, k)``."""

    def decision_function(self, X: Any) -> np.ndarray:
        """What `predict` maximises over actions, ``(n, n_actions)``; ``(n,)`` for two.

        Scores, minus expected costs, or the predictor's equilibrium strategy, as the route has
        it. For two actions the second's entry minus the first's.
        """
        check_is_fitted(self)
        decision = self._rule.surrogate.decision(self._rule.costs, self._scores(X))
        return decision[:, 1] - decision[:, 0] if decision.shape[1] == 2 else decision

    def predict(self, X: Any) -> np.ndarray:
        """The chosen action of each example: a label, or another action of the loss."""
        decision = self.decision_function(X)
        best = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.actions_[best]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Label probabilities, ``(n, k)``, for routes that have them."""
        check_is_fitted(self)
        scores = self._scores(X)
        return self._rule.surrogate.probabilities(self._rule.costs, scores)  # type: ignore[return-value]

    @available_if(_is_adversarial)
    def strategy(self, X: Any) -> np.ndarray:
        """The predictor's equilibrium mixture over actions, ``(n, n_actions)``."""
        check_is_fitted(self)
        return Adversarial().play(self._rule.costs, self._scores(X))[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """``1 - mean loss / largest cost``: accuracy under 0-1 loss.

        Labels that training did not see count where the loss can price them: always under the
        named losses, under a cost matrix if its columns are named.
        """
        from concordant.metrics import action_costs, check_labels, known_labels, weighted_mean

        predicted, y = self.predict(X), column_or_1d(y, warn=True)
        check_consistent_length(predicted, y)
        check_labels(y, "y")
        labels = known_labels(self.classes_, y, self._rule.loss)
        largest = float(self._rule.loss.resolve(labels)[0].max())
        each = action_costs(y, predicted, self._rule.loss, labels)
        mean = weighted_mean(each, sample_weight)
        return 1.0 - mean / largest if largest > 0.0 else 1.0

    def consistency(self, X: Any = None) -> str:
        """Whether enough data would give the best decision under this loss, and when.

        Parameters
        ----------
        X : array-like of shape (n, d), default=None
            Where to look for label distributions without a majority (hybrid route only); by
            default the training sample.

        Examples
        --------
        >>> import concordant as cc
        >>> model = cc.Classifier(loss="zero_one", surrogate="weston_watkins")
        >>> model.fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).consistency()
        'Not consistent, not even for 0-1 loss with three or more labels (Liu 2007).'
        """
        check_is_fitted(self)
        surrogate, _, costs, summary = self._rule
        if X is not None:
            scores = self._scores(X)
            summary = surrogate.summarise(costs, scores, np.ones(len(scores)))
        return surrogate.consistency(costs, summary)
