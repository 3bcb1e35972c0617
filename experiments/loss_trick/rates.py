"""Excess risk against the number of examples (Ciliberto et al., NIPS 2016, Theorems 4 and 5).

A synthetic problem whose best predictions are known: at each input three outputs have
probabilities that change with the input. Two losses come from an output kernel k whose ``k(y, y)``
differs between the outputs: the one it induces, ``k(y, y) - 2 k(y, y') + k(y', y')``, and the plain
``constant - k(y, y')``. Kernel dependency estimation decodes alike for both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import concordant as cc
from experiments import common
from experiments.common import Content, Experiment, Options
from experiments.report import Report, Table

NAME = "loss_trick_rates"
SIZES, REPEATS, POINTS = (25, 50, 100, 200, 400, 800), 20, 500
QUICK_SIZES, QUICK_REPEATS = (20, 40), 2
#: How lambda falls: the theorems' n^(-1/4), for consistency, and n^(-1/2), for a rate.
RULES = {"n^(-1/4)": 0.25, "n^(-1/2)": 0.5}
GAMMA = 4.0
#: The kernel between outputs is the inner product, so k(y, y) is not constant.
OUTPUTS = np.array([[-1.0, 0.5], [0.2, 0.2], [1.5, 0.0]])


class Product(cc.losses.OutputLoss):
    """``3 - <y, y'>``."""

    def check(self, outputs: Any, name: str = "y") -> np.ndarray:
        return np.asarray(outputs, dtype=float)

    def pairs(self, actions: np.ndarray, truths: np.ndarray) -> np.ndarray:
        return 3.0 - (actions * truths).sum(axis=1)


LOSSES = {"induced": cc.losses.KernelInduced("linear"), "product": Product()}


def probabilities(x: np.ndarray) -> np.ndarray:
    """Of each output at each input."""
    bumps = 0.1 + np.exp(-GAMMA * (x[:, None] - np.array([-0.7, 0.0, 0.7])) ** 2)
    return bumps / bumps.sum(axis=1, keepdims=True)


def excess(answers: np.ndarray, x: np.ndarray, loss: str) -> float:
    """Expected loss of answers above that of the best ones, exactly."""
    risks = probabilities(x) @ LOSSES[loss].table(OUTPUTS, OUTPUTS).T
    chosen = np.argmin(((answers[:, None] - OUTPUTS) ** 2).sum(axis=2), axis=1)
    return float(np.mean(risks[np.arange(len(x)), chosen] - risks.min(axis=1)))


def grid() -> np.ndarray:
    return np.linspace(-1.0, 1.0, POINTS)


def measure(n: int, rng: np.random.Generator) -> dict[str, float]:
    """Excess risk of each method under each loss and rule for lambda, for one sample."""
    x = rng.uniform(-1.0, 1.0, n)
    drawn = (probabilities(x).cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1)
    sample = x[:, None], OUTPUTS[np.minimum(drawn, len(OUTPUTS) - 1)]
    out = {}
    for rule, power in RULES.items():
        given = {"C": n ** (power - 1.0), "gamma": GAMMA, "candidates": OUTPUTS, "n_jobs": 1}
        kde = cc.KernelDependencyEstimator(LOSSES["induced"], **given).fit(*sample)
        answers = kde.predict(grid()[:, None])
        for name, loss in LOSSES.items():
            trick = cc.LossTrickPredictor(loss, **given).fit(*sample).predict(grid()[:, None])
            out[f"loss trick, {name}, {rule}"] = excess(trick, grid(), name)
            out[f"KDE, {name}, {rule}"] = excess(answers, grid(), name)
    return out


def limits() -> dict[str, float]:
    """Excess risk of kernel dependency estimation that knows the true conditional means."""
    own = (OUTPUTS**2).sum(axis=1)
    values = own - 2.0 * (probabilities(grid()) @ OUTPUTS) @ OUTPUTS.T
    answers = OUTPUTS[values.argmin(axis=1)]
    return {name: excess(answers, grid(), name) for name in LOSSES}


def compute(options: Options) -> Content:
    sizes, repeats = (QUICK_SIZES, QUICK_REPEATS) if options.quick else (SIZES, REPEATS)
    runs = [
        {"n": n, "excess": measure(n, np.random.default_rng([common.SEED, n, repeat]))}
        for n in sizes
        for repeat in range(repeats)
    ]
    return {"sizes": list(sizes), "repeats": repeats, "runs": runs, "limits": limits()}


def curve(content: Content, name: str) -> list[float]:
    """Mean excess risk at each size."""
    return [
        float(np.mean([run["excess"][name] for run in content["runs"] if run["n"] == n]))
        for n in content["sizes"]
    ]


def slope(sizes: list[int], values: list[float]) -> float:
    """Of the logarithms, over sizes where there is something left."""
    kept = [(np.log(n), np.log(v)) for n, v in zip(sizes, values) if v > 1e-6]
    return float(np.polyfit(*zip(*kept), 1)[0]) if len(kept) > 1 else float("nan")


def report(content: Content, options: Options) -> Report:
    sizes = content["sizes"]
    names = list(content["runs"][0]["excess"])
    rows = []
    for name in names:
        values = curve(content, name)
        rows.append([name, *(f"{v:.4f}" for v in values), f"{slope(sizes, values):.2f}"])
    limit = content["limits"]
    return Report(
        "Excess risk (Ciliberto et al., Theorems 4 and 5)",
        options.command,
        "Theorem 4: consistent at lambda = n^(-1/4). Theorem 5: excess risk of order n^(-1/4) at "
        "least, at lambda = n^(-1/2), if the conditional mean is in the kernel's space. Section 5: "
        "kernel dependency estimation is not consistent where k(y, y) is not constant.",
        f"Three outputs, inputs uniform on [-1, 1], Gaussian kernel, {content['repeats']} samples "
        "of each size; risks are computed from the true probabilities.",
        [Table("Mean excess risk; the last column is the slope of its logarithm.",
               ["method, loss, lambda", *(f"n = {n}" for n in sizes), "slope"], rows)],
        [
            "Kernel dependency estimation that knows the true conditional means has excess risk "
            f"{limit['induced']:.4f} under the loss its kernel induces and {limit['product']:.4f} "
            "under constant − k. So it is not consistent for the second and, against the sentence "
            "in section 5, consistent for the first: the mean of that loss given x is k(y, y) − 2 "
            "<psi(y), g*(x)> + constant, which is what it minimises. On finite samples it differs "
            "from the loss trick, whose weights do not sum to one."
        ],
        [figure(content, options)],
    )  # fmt: skip


def figure(content: Content, options: Options) -> Path:
    plt = common.pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(7.0, 3.0), sharey=True)
    for axis, loss in zip(axes, LOSSES):
        for method, colour in (("loss trick", "C0"), ("KDE", "C1")):
            for rule, style in zip(RULES, ("-", "--")):
                values = np.maximum(curve(content, f"{method}, {loss}, {rule}"), 1e-6)
                axis.plot(content["sizes"], values, style, color=colour, label=f"{method}, {rule}")
        axis.set(xscale="log", yscale="log", xlabel="examples", title=f"{loss} loss")
    axes[0].set_ylabel("excess risk")
    axes[0].legend()
    return common.save_figure(figure, options.output / f"{NAME}.svg")


EXPERIMENT = Experiment(NAME, "excess risk of the loss trick and of KDE", compute, report)
