"""From bags and a route to fits: one table of which descent a route is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from concordant.executor import Executor
from concordant.latent.alternating import Agreement, Completion, Fit, Settings
from concordant.latent.bags import Bag, bind_costs, pack
from concordant.latent.conditional import Examples
from concordant.latent.likelihood import maximise_likelihood
from concordant.latent.margin import Features
from concordant.losses import PairLoss
from concordant.structures import Pairs
from concordant.surrogates.latent import Dissimilarity, LatentLog, LatentRoute, LatentSVM

STARTS = ("mean", "likelihood")


def build_examples(
    bags: Sequence[Bag],
    codes: np.ndarray,
    classes: np.ndarray,
    loss: PairLoss,
    known: np.ndarray,
    weight: np.ndarray,
    loss_weight: np.ndarray,
    executor: Executor,
) -> Examples:
    """Packed features, bound costs and what else training needs of these bags."""
    offsets, x = pack(bags)
    conditional = x
    if any(bag.conditional is not None for bag in bags):
        conditional = pack(bags, conditional=True)[1]
    structure = Pairs(offsets, len(classes))
    costs = bind_costs(loss, bags, structure, classes, loss_weight)
    both = Features(x, executor), Features(conditional, executor)
    return Examples(*both, structure, costs, codes, known, weight)


def descend(
    route: LatentRoute,
    examples: Examples,
    settings: Settings,
    n_init: int,
    init: str,
    seeds: Sequence[int],
    previous: np.ndarray | None = None,
) -> list[Fit]:
    """The route from every start, each with a random stream of its own. `previous`, a
    distribution over choices, takes the place of the first start."""
    fits = []
    for number in range(n_init):
        rng = np.random.default_rng(seeds[number])
        if isinstance(route, LatentLog):
            weights = _zeros(examples)
            if number > 0:
                weights += rng.normal(size=weights.shape) / np.sqrt(weights.shape[1])
            fits.append(maximise_likelihood(examples, weights, settings))
            continue
        if number > 0:
            start = examples.one_hot(rng.integers(0, examples.structure.sizes))
        elif previous is not None:
            start = previous
        else:
            start = _first_start(examples, init, settings)
        fits.append(_descent(route, examples, settings, rng).run(start))
    return fits


def _zeros(examples: Examples) -> np.ndarray:
    return np.zeros((examples.structure.n_classes, examples.features.x.shape[1]))


def _first_start(examples: Examples, init: str, settings: Settings) -> np.ndarray:
    if init == "mean":
        return examples.uniform()
    fit = maximise_likelihood(examples, _zeros(examples), settings)
    return examples.completed(examples.features.scores(fit.weights))


def _descent(
    route: LatentRoute, examples: Examples, settings: Settings, rng: np.random.Generator
) -> Any:
    if isinstance(route, Dissimilarity):
        return Agreement(examples, route, settings, rng)
    rounds = 1 if isinstance(route, LatentSVM) else None
    return Completion(examples, rounds, settings, rng)
