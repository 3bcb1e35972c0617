"""Uncertainty of cross-validated losses.

Training sets of different splits overlap, so the losses of J splits are not independent and
their plain standard error is too small. Nadeau and Bengio (2003) replace 1/J in it by
``1/J + n_test/n_train``; Bouckaert and Frank (2004) use the same for repeated folds.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr, stdtrit

LEVEL = 0.05  # of significance


def corrected_error(values: np.ndarray, ratio: float) -> float:
    """Standard error of the mean over splits, ``ratio = n_test / n_train``."""
    values = np.asarray(values, dtype=float)
    return float(np.sqrt((1.0 / len(values) + ratio) * values.var(ddof=1)))


def corrected_interval(
    values: np.ndarray, ratio: float, level: float = 0.95
) -> tuple[float, float]:
    """Interval for a mean that cannot be negative, from Student's t with J - 1 degrees."""
    values = np.asarray(values, dtype=float)
    half = float(stdtrit(len(values) - 1, 0.5 + level / 2)) * corrected_error(values, ratio)
    mean = float(values.mean())
    return max(mean - half, 0.0), mean + half


def corrected_t_test(differences: np.ndarray, ratio: float) -> float:
    """Two-sided p-value of the corrected resampled t-test that the mean difference is zero.

    Examples
    --------
    >>> import numpy as np
    >>> round(corrected_t_test(np.array([0.1, 0.3, 0.2, 0.2]), ratio=1 / 3), 4)
    0.0491
    """
    differences = np.asarray(differences, dtype=float)
    mean, error = float(differences.mean()), corrected_error(differences, ratio)
    if error <= 1e-12 * abs(mean):  # the same difference in every split
        return 1.0 if mean == 0.0 else 0.0
    return float(2.0 * stdtr(len(differences) - 1, -abs(mean / error)))


def signed_rank_test(differences: np.ndarray, ratio: float = 0.0) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test; `ratio` is not used.

    Examples
    --------
    >>> import numpy as np
    >>> signed_rank_test(np.array([0.1, 0.3, 0.2, 0.4, 0.5]))
    0.0625
    """
    from scipy.stats import wilcoxon

    differences = np.asarray(differences, dtype=float)
    return float(wilcoxon(differences).pvalue) if differences.any() else 1.0


def holm(p_values: list[float]) -> list[float]:
    """p-values adjusted for their number (Holm 1979); significant below the level as they are.

    Examples
    --------
    >>> holm([0.04, 0.01, 0.3])
    [0.08, 0.03, 0.3]
    """
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        running = max(running, (len(p_values) - rank) * p_values[i])
        adjusted[i] = min(running, 1.0)
    return adjusted
