"""The proximal question of any route on any structure, from its plain question.

    maximise  F(mu) = <scores, mu> + bonus(mu) - strength/2 |mu - centre|**2

The plain question at the tilted scores ``g = scores - strength (mu - centre)`` gives an *atom*
v, a new point with its bonus, and a gap: F cannot exceed F(mu) by more than
``max [<g, .> + bonus] - <g, mu> - bonus(mu)``. Fully corrective Frank-Wolfe keeps the atoms in
use and mixes them anew in each step. The bonus being concave, the same mixture of the atoms'
bonuses bounds the bonus of the mixture from below; that is all that is used of it, so entropy
costs no more than a linear bonus, and where (mu, bonus) range over a polytope (hinge,
adversarial) the steps end at the exact solution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.oracles.mixture import best_mixture

if TYPE_CHECKING:
    from concordant.surrogates import Route

TOLERANCE = 1e-6
STEPS = 100


def proximal_step(
    route: Route,
    scores: np.ndarray,
    target: Any,
    w: np.ndarray,
    strength: float | np.ndarray,
    centre: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Near-maximiser of F in each example, never worse than `centre`.

    Parameters
    ----------
    route : Route
        Asked with strength 0 only, except for the bonus of `centre`.
    scores, target, w
        As in `Route.solve`.
    strength : float or ndarray of shape (n,)
    centre : ndarray or None
        A point of the route's own polytope, such as an earlier `mu`, where the search starts.
        None is the centre 0, with the plain maximiser as start.

    Returns
    -------
    upper : ndarray of shape (n,)
        Bound of the plain question at `scores`.
    mu : ndarray
        Part array.
    bonus : ndarray of shape (n,)
        A lower bound of ``bonus(mu)``, as tight as the gap.
    """
    n = route.structure.n_examples
    strength = np.broadcast_to(strength, (n,))
    upper, bonus, mu = np.empty(n), np.empty(n), np.empty_like(scores)
    for i in range(n):
        rows = slice(i, i + 1)
        one, where = route.take(rows)
        near = None if centre is None else centre[where]
        upper[i], mu[where], bonus[i] = _one_example(
            one, scores[where], target[rows], w[rows], float(strength[i]), near
        )
    return upper, mu, bonus


def _one_example(
    route: Route,
    scores: np.ndarray,
    target: Any,
    w: np.ndarray,
    strength: float,
    centre: np.ndarray | None,
) -> tuple[float, np.ndarray, float]:
    first = route.solve(scores, target, w)
    upper = float(first.upper[0])
    if centre is None or strength == 0.0:
        mu, bonus, pull = first.mu, float(first.bonus[0]), strength * first.mu
    else:
        mu, bonus, pull = centre, float(route.bonus(centre, target, w)[0]), 0.0 * centre
    if strength == 0.0:
        return upper, mu, bonus
    atoms, bonuses = mu[None], np.array([bonus])
    enough = -np.inf
    for _ in range(STEPS):
        tilted = scores - pull
        value, atom, its_bonus = route.solve(tilted, target, w)
        gap = float(value[0]) - float(np.vdot(tilted, mu)) - bonus
        if gap <= max(enough, 1e-14 * abs(upper)):
            break
        enough = max(enough, TOLERANCE * gap)
        atoms = np.concatenate([atoms, atom[None]])
        bonuses = np.append(bonuses, its_bonus)
        share = _remix((atoms - mu).reshape(len(atoms), -1), tilted, bonuses - bonus, strength)
        if share is None:
            break
        used = share > 0.0
        atoms, bonuses, share = atoms[used], bonuses[used], share[used]
        mu, bonus = np.tensordot(share, atoms, 1), float(share @ bonuses)
        pull = strength * (mu if centre is None else mu - centre)
    return upper, mu, bonus


def _remix(
    moves: np.ndarray, tilted: np.ndarray, bonuses: np.ndarray, strength: float
) -> np.ndarray | None:
    """Shares of the atoms that gain most over the present mixture; None if none gain.

    All is relative to that mixture: near the solution the moves are small, and differences of
    large numbers would leave nothing of what there is still to gain.
    """
    gain = moves @ tilted.ravel() + bonuses
    gram = strength * moves @ moves.T
    share = best_mixture(gain, gram)
    if share is None or gain @ share - 0.5 * share @ gram @ share <= 0.0:
        return None
    return share
