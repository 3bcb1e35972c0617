"""The game of adversarial prediction on any structure, from its argmax alone.

Answers are too many to list, but an equilibrium needs few of them (McMahan, Gordon and Blum
2003). Keep a list of pure answers of either player, solve the game between the lists, and let
each player answer the other's mixture with the best answer there is. When neither gains, the
mixtures are an equilibrium of the whole game; before that, the two replies bracket its value.

A proximal term could go into the game between the lists. Its complementarity problem, with
many nearly equal answers, broke down one time in twenty on random problems; Frank-Wolfe over
equilibria (`frank_wolfe`) is three times slower and does not.
"""

from __future__ import annotations

import numpy as np

from concordant.oracles.blocks import compile_play, play_rows
from concordant.oracles.games import matrix
from concordant.structures import PartLoss, Structure

TOLERANCE = 1e-9


def equilibrium(
    structure: Structure, loss: PartLoss, scores: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Maximise ``<scores, mu> + weight min_p loss(p, mu)`` in each example.

    Parameters
    ----------
    structure : Structure
        Predictions and truths are both its answers.
    loss : PartLoss
    scores : ndarray
        Part array.
    weight : ndarray of shape (n,)
        Factor of each example's loss.

    Returns
    -------
    upper : ndarray of shape (n,)
        Value of the adversary's best reply to the predictor: a bound, whatever the gap.
    mu : ndarray
        The adversary's mixture of answers, a part array.
    bonus : ndarray of shape (n,)
        Least expected loss of any prediction against it, times the weight.
    """
    n = structure.n_examples
    upper, bonus, mu = np.empty(n), np.empty(n), np.empty_like(scores)
    for i in range(n):
        one, where = structure.take(slice(i, i + 1))
        upper[i], mu[where], bonus[i] = _one_example(
            one, loss.on(one), scores[where], float(weight[i])
        )
    return upper, mu, bonus


def _one_example(
    one: Structure, loss: PartLoss, scores: np.ndarray, w: float
) -> tuple[float, np.ndarray, float]:
    truths = one.argmax(scores)[None]
    prices = w * loss.of_actions(truths[0])[None]
    actions = one.argmax(-prices[0])[None]
    upper = np.inf
    while True:
        q, p = _between(truths, actions, prices, scores)
        mu, predictor = np.tensordot(q, truths, 1), np.tensordot(p, actions, 1)
        raised = scores + w * loss.of_truths(predictor)
        truth = one.argmax(raised)
        upper = min(upper, float(np.vdot(raised, truth)))
        cost = w * loss.of_actions(mu)
        action = one.argmax(-cost)
        bonus = float(np.vdot(cost, action))
        attained = float(np.vdot(scores, mu)) + bonus
        if upper - attained <= TOLERANCE * max(abs(upper), abs(bonus)):
            break
        new_truth, new_action = _is_new(truth, truths), _is_new(action, actions)
        if not (new_truth or new_action):  # all that is left is rounding
            break
        if new_truth:
            truths = np.concatenate([truths, truth[None]])
            prices = np.concatenate([prices, w * loss.of_actions(truth)[None]])
        if new_action:
            actions = np.concatenate([actions, action[None]])
    return upper, mu, bonus


def _is_new(answer: np.ndarray, listed: np.ndarray) -> bool:
    return not (listed == answer).reshape(len(listed), -1).all(axis=1).any()


def _between(
    truths: np.ndarray, actions: np.ndarray, prices: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Both players' mixtures in the game between the listed answers."""
    m, r = len(truths), len(actions)
    gain = truths.reshape(m, -1) @ scores.ravel()
    costs = np.ascontiguousarray(actions.reshape(r, -1) @ prices.reshape(m, -1).T)
    q, p = np.empty((1, m)), np.empty((1, r))
    play, params = compile_play(matrix.play), matrix.recognise(costs).astype(float)
    work = np.empty(matrix.scratch(r, m))
    play_rows(play, gain[None], params, costs, work, p, q, np.empty(1))
    return q[0], p[0]
