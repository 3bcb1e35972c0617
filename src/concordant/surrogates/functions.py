"""Every route as a plain function of scores, independent of any model."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.losses import find_loss
from concordant.structures import Label, LabelCosts, Structure
from concordant.surrogates.adversarial import Adversarial
from concordant.surrogates.base import Surrogate
from concordant.surrogates.names import find_surrogate


def _check_scores(scores: Any) -> np.ndarray:
    scores = np.ascontiguousarray(scores, dtype=float)
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise ValueError(f"scores must have shape (n, k) with k > 0, got {scores.shape}")
    if not np.isfinite(scores).all():
        row, column = np.argwhere(~np.isfinite(scores))[0]
        raise ValueError(f"scores[{row}, {column}] = {scores[row, column]} is not finite")
    return scores


def _check_codes(y: Any, n: int, k: int) -> np.ndarray:
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y must have shape ({n},), one code a row of scores, got {y.shape}")
    if y.dtype.kind not in "iu":
        raise ValueError(f"y must hold integer codes 0..{k - 1}, got dtype {y.dtype}")
    bad = (y < 0) | (y >= k)
    if bad.any():
        raise ValueError(f"y[{bad.argmax()}] = {y[bad.argmax()]} is not a code in 0..{k - 1}")
    return y.astype(np.int64)


def _check_weight(weight: Any, n: int) -> np.ndarray | None:
    if weight is None:
        return None
    weight = np.asarray(weight, dtype=float)
    if weight.shape != (n,):
        raise ValueError(f"loss_weight must have shape ({n},), got {weight.shape}")
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        raise ValueError(f"loss_weight[{bad.argmax()}] = {weight[bad.argmax()]} is not >= 0")
    return weight


def _costs(loss: Any, k: int) -> LabelCosts:
    """Costs with a row an action, the labels first where they are actions."""
    loss = find_loss(loss)
    loss.matrix(k)  # says what is wrong with k, in the loss's own words
    classes = np.arange(k)
    if loss.label_names() is not None:
        classes = classes.astype(object)
        classes[:] = loss.label_names()
    costs, actions = loss.resolve(classes)
    return LabelCosts(costs, actions.tolist() == classes.tolist())


def evaluate(
    surrogate: Surrogate | str,
    scores: Any,
    y: Any,
    *,
    loss: Any = "zero_one",
    structure: Structure | None = None,
    loss_weight: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Surrogate values and their gradients in the scores.

    Parameters
    ----------
    surrogate : str or Surrogate
        The route, for example ``"adversarial"`` or ``Hybrid(alpha=0.3)``.
    scores : array-like of shape (n, k), or the score container of `structure`
        Routes that ask questions of their own have one column a question.
    y : array-like of shape (n,)
        Integer codes, or targets as `structure` takes them.
    loss : str or loss
        What predictions are scored on.
    structure : Structure, default=None
        A batch of chains, graphs or matchings; labels by default.
    loss_weight : array-like of shape (n,), default=None
        Multiplies the loss inside the game, not the objective. Routes without a loss inside
        (``"log"``, ``"one_vs_rest"``) multiply the example instead.

    Returns
    -------
    values : ndarray of shape (n,)
    gradient : ndarray of the shape of `scores`

    Examples
    --------
    >>> import concordant as cc
    >>> values, gradient = cc.surrogates.evaluate(
    ...     "adversarial", [[0.2, 0.1, -1.0]], [1], loss="absolute"
    ... )
    >>> values
    array([0.55])
    >>> gradient
    array([[ 0.5, -0.5,  0. ]])
    """
    surrogate, loss = find_surrogate(surrogate, loss)
    if structure is None:
        scores = _check_scores(scores)
        n, k = len(scores), surrogate.labels_of(scores.shape[1])
        y = _check_codes(y, n, k)
        structure, loss = Label(n, k), _costs(loss, k)
    else:
        scores = np.ascontiguousarray(scores, dtype=float)
    weight = _check_weight(loss_weight, structure.n_examples)
    route = surrogate.bind(structure, loss)
    if surrogate.weighs == "inside" or weight is None:
        return _finite(*route.values(scores, y, weight))
    values, gradient = route.values(scores, y)
    return _finite(weight * values, structure.scale(weight, gradient))


def _finite(values: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    bad = ~np.isfinite(values)
    if bad.any():
        raise ValueError(f"the surrogate of example {int(bad.argmax())} overflows at its scores")
    return values, gradient


def equilibrium(scores: Any, *, loss: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Optimal strategies of both players of the adversarial game, and its value.

    Parameters
    ----------
    scores : array-like of shape (n, k)
    loss : str or loss

    Returns
    -------
    p : ndarray of shape (n, n_actions)
        The predictor's mixture over actions.
    q : ndarray of shape (n, k)
        The adversary's distribution over labels.
    value : ndarray of shape (n,)
        ``max_q min_p p'Lq + f'q``.

    Examples
    --------
    >>> import concordant as cc
    >>> p, q, value = cc.surrogates.equilibrium([[1.0, 0.5, 0.0]], loss="zero_one")
    >>> p.round(2), q.round(2), value.round(2)
    (array([[0.75, 0.25, 0.  ]]), array([[0.5, 0.5, 0. ]]), array([1.25]))
    """
    scores = _check_scores(scores)
    costs = LabelCosts(find_loss(loss).matrix(scores.shape[1]))
    return Adversarial().play(costs, scores)  # type: ignore[return-value]
