"""Surrogates of two labels as curves: Figures 2, 3 and 9."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import concordant as cc
from concordant.losses import Abstain
from experiments import common
from experiments.thesis_figures.formulas import adversarial


def _binary(x: np.ndarray) -> np.ndarray:
    """Scores of two labels, the first true, whose difference is x."""
    return np.column_stack([np.zeros_like(x), x])


def draw_curves(folder: Path) -> Path:
    plt = common.pyplot()
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.1), layout="constrained")
    x = np.linspace(-3, 3, 601)
    _draw_figure_2(axes[0], x)
    _draw_figure_3(axes[1], x)
    _draw_figure_9(axes[2], x)
    _draw_weights(axes[3], x)
    for axis in axes[1:]:
        axis.set_xlabel("ψ₂ = f₂ − f₁, label 1 is true")
    for axis in axes:
        axis.legend(loc="upper left" if axis is not axes[0] else "upper right")
    return common.save_figure(figure, folder / "thesis_figures_curves.svg")


def _draw_figure_2(axis: Any, margin: np.ndarray) -> None:
    scores, y = _binary(-margin), np.zeros(len(margin), dtype=int)
    axis.plot(margin, (margin < 0).astype(float), "k", lw=1, label="0-1 loss")
    for route, style in (("hinge", "--"), ("log", ":"), ("adversarial", "-")):
        values, _ = cc.surrogates.evaluate(route, scores, y)
        if route == "log":
            values = values / np.log(2)
        label = {"log": "log (base 2)", "adversarial": "AL0-1"}.get(route, route)
        axis.plot(margin, values, style, label=label)
    axis.set(title="Figure 2: surrogates of the 0-1 loss", xlabel="f₁ − f₂, label 1 is true")


def _draw_figure_3(axis: Any, x: np.ndarray) -> None:
    values, _ = adversarial(_binary(x), 0, "zero_one")
    hinge, _ = cc.surrogates.evaluate("hinge", _binary(x), np.zeros(len(x), dtype=int))
    axis.plot(x, values, label="AL0-1")
    axis.plot(x, hinge, "--", label="hinge")
    axis.plot([-1, 1], [0, 1], "o", ms=4, color="C0")
    axis.set(title="Figure 3: AL0-1, two labels")


def _draw_figure_9(axis: Any, x: np.ndarray) -> None:
    for cost, name, style in ((1 / 3, "1/3", "-"), (1 / 2, "1/2", "--")):
        values, _ = adversarial(_binary(x), 0, Abstain(cost))
        axis.plot(x, values, style, label=f"cost of abstaining {name}")
    axis.set(title="Figure 9: abstention, two labels")


def _draw_weights(axis: Any, x: np.ndarray) -> None:
    for weight, style in ((0.5, ":"), (1.0, "-"), (2.0, "--")):
        values, _ = adversarial(_binary(x), 0, "zero_one", weight)
        axis.plot(x, values, style, label=f"weight {weight:g}")
    axis.set(title="Equation 2.49: weighted AL0-1")
