"""Which methods of a row are best, or not significantly worse than the best."""

from __future__ import annotations

import numpy as np

LEVEL = 0.05


def indistinguishable(results: dict[str, np.ndarray], more_is_better: bool = True) -> set[str]:
    """The best method and those not significantly worse (two-sided Wilcoxon signed-rank)."""
    from scipy.stats import wilcoxon

    sign = 1.0 if more_is_better else -1.0
    best = max(results, key=lambda method: sign * results[method].mean())
    bold = {best}
    for method, values in results.items():
        difference = results[best] - values
        if not difference.any() or wilcoxon(difference).pvalue >= LEVEL:
            bold.add(method)
    return bold
