"""Ordered labels: one direction against several (Figure 5), and the thresholds (Figure 6)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import concordant as cc
from experiments import common
from experiments.thesis_figures.formulas import adversarial

COLOURS = ("C0", "C1", "C2", "C3")
THRESHOLDS = np.array([-1.4, -0.8, -0.3, 0.6])


def threshold_scores(projection: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """f_j = j <w, x> + sum of thresholds from j on, j counted from 1 (the representation 2.33)."""
    tail = np.concatenate([np.cumsum(thresholds[::-1])[::-1], [0.0]])
    return np.outer(projection, np.arange(1, len(tail) + 1)) + tail


def thresholded_loss(projection: np.ndarray, y: int, thresholds: np.ndarray) -> np.ndarray:
    """Equation 2.34 as printed (y counted from 1)."""
    lower = threshold_scores(projection - 1, thresholds).max(axis=1)
    upper = threshold_scores(projection + 1, thresholds).max(axis=1)
    truth = threshold_scores(projection, thresholds)[:, y - 1]
    return (lower + upper) / 2 - truth


def picture_of_thresholds() -> dict[str, Any]:
    """Figure 6: which labels carry the surrogate at <w, x> = 0, and the check of 2.34."""
    projection = np.linspace(-3, 3, 301)
    scores = threshold_scores(projection, THRESHOLDS)
    worst = 0.0
    for y in range(scores.shape[1]):
        values, _ = adversarial(scores, y, "absolute")
        other = thresholded_loss(projection, y + 1, THRESHOLDS)
        worst = max(worst, float(np.abs(values - other).max()))
    _, q, _ = cc.surrogates.equilibrium(threshold_scores(np.zeros(1), THRESHOLDS), loss="absolute")
    prediction = int(threshold_scores(np.zeros(1), THRESHOLDS).argmax()) + 1
    carried = {str(j + 1): float(q[0, j]) for j in np.flatnonzero(q[0] > 1e-9)}
    return {"prediction": prediction, "adversary": carried, "largest_difference": worst}


def square_data() -> tuple[np.ndarray, np.ndarray]:
    """Four ordered labels around the corners of a square: no direction has them in order."""
    rng = np.random.default_rng(common.SEED)
    centres = np.array([[-1.0, 1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    y = np.repeat([1, 2, 3, 4], 25)
    return centres[y - 1] + 0.28 * rng.normal(size=(len(y), 2)), y


def best_direction(x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """The least mean absolute error of any direction with any thresholds.

    The directions are a fine grid; a direction's best thresholds are found exactly.
    """
    best: dict[str, Any] = {"error": np.inf}
    for angle in np.linspace(0, 2 * np.pi, 720, endpoint=False):
        w = np.array([np.cos(angle), np.sin(angle)])
        order = np.argsort(x @ w)
        error, cuts = best_cuts(y[order])
        if error < best["error"]:
            along = np.sort(x @ w)
            best = {"error": error, "w": w, "cuts": [_between(along, cut) for cut in cuts]}
    return best


def best_cuts(y: np.ndarray) -> tuple[float, list[int]]:
    """Mean absolute error and places of the best division of a sequence into 1, 2, ..., k."""
    labels = np.arange(1, y.max() + 1)
    # total[i, j]: cost of the first i points if all of them are given label j + 1.
    cost = np.abs(y[:, None] - labels)
    total = np.vstack([np.zeros(len(labels)), np.cumsum(cost, axis=0)])
    best, choices = total[:, 0], []
    for j in range(1, len(labels)):
        start = best - total[:, j]  # label j + 1 begins after i points
        choices.append(start)
        best = np.minimum.accumulate(start) + total[:, j]
    cuts = [len(y)]
    for start in reversed(choices):
        cuts.append(int(start[: cuts[-1] + 1].argmin()))
    return float(best[-1]) / len(y), cuts[:0:-1]


def _between(values: np.ndarray, cut: int) -> float:
    padded = np.concatenate([[values[0] - 1], values, [values[-1] + 1]])
    return float(padded[cut : cut + 2].mean())


def weights_per_label(x: np.ndarray, y: np.ndarray) -> cc.Classifier:
    """A weight vector for every label, trained for the same loss."""
    return cc.Classifier(loss="absolute", C=10.0, random_state=0, n_jobs=1).fit(x, y)


def errors_of() -> dict[str, float]:
    """Mean absolute errors of the two on the data of Figure 5."""
    x, y = square_data()
    own = float(np.mean(np.abs(weights_per_label(x, y).predict(x) - y)))
    return {"one_direction": best_direction(x, y)["error"], "weights_per_label": own}


def draw_thresholds(errors: dict[str, float], folder: Path) -> Path:
    plt = common.pyplot()
    figure, axes = plt.subplots(1, 4, figsize=(14, 3.2), layout="constrained")
    x, y = square_data()
    line = best_direction(x, y)

    def by_thresholds(points: np.ndarray) -> np.ndarray:
        return 1 + np.searchsorted(line["cuts"], points @ line["w"])

    title = f"Figure 5: one direction (error {errors['one_direction']:.2f})"
    _regions(axes[0], x, y, by_thresholds, title)
    title = f"one weight vector a label (error {errors['weights_per_label']:.2f})"
    _regions(axes[1], x, y, weights_per_label(x, y).predict, title)
    _draw_figure_6(axes[2])
    _draw_along(axes[3])
    return common.save_figure(figure, folder / "thesis_figures_thresholds.svg")


def _regions(axis: Any, x: np.ndarray, y: np.ndarray, predict: Callable, title: str) -> None:
    side = np.linspace(-2, 2, 201)
    points = np.column_stack([grid.ravel() for grid in np.meshgrid(side, side)])
    region = predict(points).reshape(201, 201)
    axis.contourf(side, side, region, levels=np.arange(0.5, 5), colors=COLOURS, alpha=0.25)
    for label, colour in enumerate(COLOURS, 1):
        axis.scatter(*x[y == label].T, s=9, color=colour)
        corner = 1.8 * np.sign(x[y == label].mean(axis=0))
        axis.text(*corner, str(label), ha="center", va="center", color=colour, weight="bold")
    axis.set(title=title, aspect="equal", xlim=(-2, 2), ylim=(-2, 2))


def _draw_figure_6(axis: Any) -> None:
    edges = [-2.2, *THRESHOLDS, 1.8]
    for j in range(5):
        axis.axvspan(edges[j], edges[j + 1], ymax=0.45, color=f"C{j}", alpha=0.25, lw=0)
        axis.text((edges[j] + edges[j + 1]) / 2, 0.08, str(j + 1), ha="center")
    for i, cut in enumerate(THRESHOLDS):
        axis.plot([cut, cut], [0, 0.45], "k", lw=0.8)
        axis.text(cut, 0.48, f"η{'₁₂₃₄'[i]}", ha="center")
    marks = ((-1.0, "⟨w,x⟩ − 1", 0.66), (0.0, "⟨w,x⟩", 0.82), (1.0, "⟨w,x⟩ + 1", 0.66))
    for at, text, height in marks:
        axis.annotate(text, (at, 0.2), (at, height), ha="center", arrowprops={"arrowstyle": "->"})
    axis.set(xlim=(-2.2, 1.8), ylim=(0, 1), yticks=[], title="Figure 6: label 4, paid as 2 and 5")


def _draw_along(axis: Any) -> None:
    projection = np.linspace(-3, 3, 301)
    scores = threshold_scores(projection, THRESHOLDS)
    for y in range(5):
        axis.plot(projection, adversarial(scores, y, "absolute")[0], label=f"y = {y + 1}")
    axis.set(title="the surrogate along ⟨w, x⟩", xlabel="⟨w, x⟩")
    axis.legend(loc="upper center", ncols=2)
