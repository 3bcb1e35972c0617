"""The comparison as one HTML file: no network, no script, light and dark, phone and desk."""

from __future__ import annotations

import platform
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concordant.io.atomic import write_atomically
from concordant.report import figures, snippets, wording

if TYPE_CHECKING:
    from concordant.report.results import Comparison


def render(comparison: Comparison, command: str = "") -> str:
    """The page as text.

    Parameters
    ----------
    comparison : Comparison
    command : str, default=""
        The command that made it, shown so that a reader can repeat it.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = files("concordant.report").joinpath("templates", "report.html.jinja")
    template = environment.from_string(source.read_text(encoding="utf-8"))
    return template.render(
        c=comparison,
        words=wording,
        command=command,
        bars=_bars(comparison),
        features=comparison.problem.summary(),
        pictures=_pictures(comparison),
        repeat=snippets.repeat_code(comparison),
        train=snippets.train_code(comparison),
        machine=f"{platform.system()} {platform.machine()}",
        rare=_rare(comparison),
        worst=comparison.problem.worst(comparison.best),
    )


def write(comparison: Comparison, path: str | Path, command: str = "") -> Path:
    """Write the page to `path`, folders included, and return the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(path, [render(comparison, command).encode("utf-8")])


def _pictures(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Each picture in its two shapes, with its description. The SVG is ours, not the user's."""
    from markupsafe import Markup

    drawn: dict[str, tuple[Any, Any]] = {
        "loss": (figures.loss_figure, figures.loss_alt),
        "cost": (figures.cost_figure, figures.cost_alt),
    }
    if figures.hesitant(comparison):
        drawn["coverage"] = (figures.coverage_figure, figures.coverage_alt)
    if figures.probabilistic(comparison):
        drawn["calibration"] = (figures.calibration_figure, figures.calibration_alt)
    if any(o.history is not None for o in comparison.outcomes):
        drawn["convergence"] = (figures.convergence_figure, figures.convergence_alt)
    return {
        name: {
            "wide": Markup(draw(comparison, narrow=False)),
            "narrow": Markup(draw(comparison, narrow=True)),
            "alt": alt(comparison),
        }
        for name, (draw, alt) in drawn.items()
    }


def _bars(comparison: Comparison) -> list[tuple[Any, int, float]]:
    """Label, examples, percent of the most frequent label's."""
    p = comparison.problem
    most = p.counts.max()
    pairs = zip(p.classes.tolist(), p.counts.tolist())
    return [(label, count, 100.0 * count / most) for label, count in pairs]


def _rare(comparison: Comparison) -> list[Any]:
    """Labels with fewer examples than there are folds: some splits lack them."""
    p = comparison.problem
    return p.classes[p.counts < comparison.protocol.cv].tolist()
