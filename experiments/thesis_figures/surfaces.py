"""Surrogates of three labels as surfaces: Figures 4, 7, 8 and 10."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import concordant as cc
from concordant.losses import Abstain
from experiments import common
from experiments.thesis_figures.formulas import facet_numbers


def _plane(y: int, half: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A grid of potential differences and the scores of three labels with f_y = 0."""
    side = np.linspace(-half, half, n)
    a, b = np.meshgrid(side, side)
    others = [j for j in range(3) if j != y]
    scores = np.zeros((n * n, 3))
    scores[:, others[0]], scores[:, others[1]] = a.ravel(), b.ravel()
    return side, scores


def draw_surface(axis: Any, route: str, loss: Any, y: int, title: str, n: int) -> None:
    """Contours of the value, and the edges of the facets in white."""
    side, scores = _plane(y, 5.0 if loss == "squared" else 3.0, n)  # so that every facet shows
    labels = np.full(len(scores), y)
    values, gradient = cc.surrogates.evaluate(route, scores, labels, loss=loss)
    drawn = axis.contourf(side, side, values.reshape(n, n), levels=16, cmap="viridis")
    number = facet_numbers(gradient)
    for facet in range(number.max() + 1):
        inside = (number == facet).reshape(n, n).astype(float)
        axis.contour(side, side, inside, levels=[0.5], colors="white", linewidths=0.7)
    names = [f"ψ{'₁₂₃'[j]}" for j in range(3) if j != y]
    axis.set(title=title, xlabel=names[0], ylabel=names[1], aspect="equal")
    axis.figure.colorbar(drawn, ax=axis, shrink=0.8)


def draw_surfaces(folder: Path, n: int) -> list[Path]:
    zero_one = [("adversarial", "zero_one", 0, "Figure 4a: AL0-1")]
    zero_one += [("weston_watkins", "zero_one", 0, "Figure 4b: Weston–Watkins")]
    zero_one += [("crammer_singer", "zero_one", 0, "Figure 4c: Crammer–Singer")]
    ordinal = [
        ("adversarial", loss, y, f"Figure {number}{'abc'[y]}: {loss}, y = {y + 1}")
        for number, loss in ((7, "absolute"), (8, "squared"))
        for y in range(3)
    ]
    abstain = [
        ("adversarial", Abstain(cost), 0, f"Figure 10{letter}: abstention at {name}")
        for cost, name, letter in ((1 / 3, "1/3", "a"), (1 / 2, "1/2", "b"))
    ]
    pictures = {"zero_one": zero_one, "ordinal": ordinal, "abstain": abstain}
    return [
        _sheet(folder / f"thesis_figures_{name}.png", each, n) for name, each in pictures.items()
    ]


def _sheet(path: Path, panels: list[tuple[str, Any, int, str]], n: int) -> Path:
    plt = common.pyplot()
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    size = (3.7 * columns, 3.2 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for axis, panel in zip(axes.ravel(), panels, strict=True):
        draw_surface(axis, *panel, n)
    return common.save_figure(figure, path)
