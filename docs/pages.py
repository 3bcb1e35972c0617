"""Pages written from the library itself, before Sphinx reads them."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

import concordant as cc
from concordant.structures import LabelCosts

ROOT = Path(__file__).parents[1]

LABEL_LOSSES = {
    "zero_one": cc.losses.ZeroOne(),
    "absolute": cc.losses.Absolute(),
    "squared": cc.losses.Squared(),
    "Abstain(cost=0.3)": cc.losses.Abstain(cost=0.3),
    "CostMatrix, only right answers free": cc.losses.CostMatrix([[0, 3, 1], [2, 0, 4], [1, 2, 0]]),
    "CostMatrix, other square": cc.losses.CostMatrix([[0, 3, 1], [2, 2, 4], [1, 2, 0]]),
    "CostMatrix, actions of its own": cc.losses.CostMatrix(
        [[0, 3, 9], [2, 0, 4], [9, 2, 0], [1, 1, 1]]
    ),
}  # fmt: skip

#: Modules whose docstring holds the mathematics they implement, by chapter.
CHAPTERS = {
    "Routes": (
        "surrogates.base", "surrogates.adversarial", "surrogates.log", "surrogates.hinge",
        "surrogates.hybrid", "surrogates.quadratic", "surrogates.margins",
        "surrogates.thresholds", "surrogates.questions", "surrogates.rejecting",
    ),
    "The adversarial game": (
        "oracles.games", "oracles.games.zero_one", "oracles.games.weighted",
        "oracles.games.abstention", "oracles.games.convex", "oracles.games.matrix",
    ),
    "Proximal questions and mixtures": (
        "oracles.blocks", "oracles.entropy", "oracles.margins", "oracles.simplex",
        "oracles.double_oracle", "oracles.frank_wolfe", "oracles.mixture",
    ),
    "Objective and certificate": ("objective.base", "objective.folded", "penalty"),
    "Solvers": (
        "solvers.base", "solvers.dual", "solvers.lbfgs", "solvers.newton", "solvers.ordered",
        "solvers.proximal", "solvers.working_set", "solvers.splitting",
        "solvers.block_frank_wolfe", "solvers.exponentiated_gradient", "solvers.online",
        "solvers.stochastic",
    ),
    "Measuring": ("report.comparison", "report.statistics"),
}  # fmt: skip


def write(folder: Path) -> None:
    """Write every generated page below ``folder/generated``."""
    out = folder / "generated"
    out.mkdir(exist_ok=True)
    pages = {
        "consistency": consistency(),
        "modules": modules(),
        "recipes": repository_page("CONTRIBUTING.md"),
        "design": repository_page("docs/design.md"),
        "changelog": repository_page("CHANGELOG.md"),
        "benchmarks": benchmarks(),
        "reproduction": reproduction(),
    }
    for name, text in pages.items():
        path = out / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def repository_page(name: str) -> str:
    """A page of the repository; links to its files become their names."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]+\)", r"`\1`", text)


def consistency() -> str:
    """The sentence of every label route under every kind of loss."""
    lines = [
        "# Which route is right in the limit?",
        "",
        "A route is *consistent* for a loss if unlimited data and rich enough scores lead to the "
        "action that costs least. This page is written by the library: each sentence is what "
        "`model.consistency()` says of a model with three labels, with its source. Theorems are "
        "checked in the tests by minimising conditional risk on grids of label distributions. "
        "Consistency does not order the routes on data of your size; "
        "[compare](../howto/compare.md) does.",
        "",
    ]
    for title, loss in LABEL_LOSSES.items():
        lines += [f"## {title}", "", "| route | |", "|---|---|"]
        matrix, actions = loss.resolve(np.arange(3))
        costs = LabelCosts(matrix, actions.tolist() == [0, 1, 2])
        for name, route in routes_for(loss).items():
            try:
                said = route().consistency(costs, {"no_majority": 0.0})
            except (TypeError, ValueError) as error:
                said = f"Not defined: {error}."
            lines.append(f"| `{name}` | {_cell(said)} |")
        lines.append("")
    return "\n".join([*lines, *structured()])


def structured() -> list[str]:
    """What fitted models of structured answers say of their routes."""
    X, y = cc.datasets.make_pairs(3, 3, random_state=0)
    chains, labels = cc.datasets.make_chains(6, 3, random_state=0)
    models = {
        "One-to-one matchings, `Matcher`, Hamming loss": (
            lambda route: cc.Matcher(surrogate=route, tol=1e-2), X, y,
            ("adversarial", "log", "hinge"),
        ),
        "Sequences, `SequenceLabeler`, 0-1 loss of each position": (
            lambda route: cc.SequenceLabeler(surrogate=route, tol=1e-2), chains, labels,
            ("adversarial", "log", "hybrid", "hinge"),
        ),
    }  # fmt: skip
    lines = []
    for title, (make, x, target, routes) in models.items():
        said = {route: make(route).fit(x, target) for route in routes}
        if not all(hasattr(model, "consistency") for model in said.values()):
            continue
        lines += [f"## {title}", "", "| route | |", "|---|---|"]
        lines += [f"| `{route}` | {_cell(model.consistency())} |" for route, model in said.items()]
        lines.append("")
    return lines


def routes_for(loss: Any) -> dict[str, Any]:
    """Routes that are made for this loss."""
    found = {**cc.surrogates.SURROGATES, **cc.surrogates.ORDERED, **cc.surrogates.REDUCTIONS}
    return found | (cc.surrogates.REJECTING if isinstance(loss, cc.losses.Abstain) else {})


def _cell(text: str) -> str:
    plain = " ".join(text.split()).replace("|", "\\|")
    return plain.replace(" By the fitted probabilities every example has a majority label.", "")


def modules() -> str:
    """The docstrings of the modules that hold mathematics, as they stand in the code."""
    lines = [
        "# Formulas, where they are implemented",
        "",
        "Derivations stand once, in the docstring of the module that implements them. This page "
        "shows those docstrings as they are.",
        "",
    ]
    for chapter, names in CHAPTERS.items():
        lines += [f"## {chapter}", ""]
        for name in names:
            module = importlib.import_module(f"concordant.{name}")
            text = inspect.cleandoc(module.__doc__ or "")
            lines += [f"### `{name}`", "", "```text", text, "```", ""]
    return "\n".join(lines)


def benchmarks() -> str:
    """The tables that ``make bench`` left, newest state of each."""
    import sys

    sys.path.insert(0, str(ROOT))
    lines = [
        "# Speed",
        "",
        "Written by `make bench`, which measures it on your machine. Only ratios within one run "
        "mean anything; each entry says how it was measured.",
        "",
    ]
    results = sorted((ROOT / "benchmarks" / "results").glob("*.md"))
    for path in results:
        lines += [_one_level_down(path.read_text(encoding="utf-8")), ""]
    if not results:
        lines.append("No results are stored in this checkout.")
    return "\n".join(lines)


def reproduction() -> str:
    """The page of published tables and figures, or how to make it."""
    path = ROOT / "docs" / "reproduction.md"
    if path.exists():
        return _with_figures(path.read_text(encoding="utf-8"))
    stored = sorted(p.stem for p in (ROOT / "experiments" / "results").glob("*.json"))
    return "\n".join(
        [
            "# Reproduction of the published experiments",
            "",
            "`make reproduce` runs every experiment and writes this page; this checkout does not "
            f"hold it. Stored results: {json.dumps(stored)}.",
        ]
    )


def _with_figures(text: str) -> str:
    """Figures stay where the experiments put them, seen from ``generated``."""
    return re.sub(r"\]\((?!https?:|#)([^)]+)\)", r"](../\1)", text)


def _one_level_down(text: str) -> str:
    return re.sub(r"^(#+ )", r"#\1", text, flags=re.M)
