"""Online methods, for comparison: they decode one example at a time and prove little.

Their certificate is that of the maximisers at the weights they end a pass with: valid, but weak.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from concordant.solvers.base import Run


class AveragedPerceptron:
    """The structured perceptron (Collins 2002): after a mistake add the difference of the features
    of truth and answer. It knows neither C nor the loss; the average of all weights is kept."""

    rule: ClassVar[int] = 0

    def __init__(self, passes: int = 10):
        self.passes = passes

    def run(
        self, objective: Any, start: np.ndarray | None, run: Run, rng: np.random.Generator
    ) -> None:
        weights = objective.start() if start is None else start.copy()
        total = np.zeros_like(weights)
        seen, passes = 0, min(self.passes, run.max_iter)
        for _ in range(passes):
            order = rng.permutation(objective.n_examples)
            seen = objective.online_pass(weights, total, seen, order, self.rule)
            average = weights - total / max(seen, 1)
            if run.record(average, objective.primal(average), objective.dual_at(average)[1]):
                return
        run.reason = "passes"


class PassiveAggressive(AveragedPerceptron):
    """Passive-aggressive updates (Crammer et al. 2006, PA-I): the smallest change that separates
    truth and answer by their loss, at most C long in the dual; averaged."""

    rule = 1
