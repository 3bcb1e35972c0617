"""The adversarial surrogates as pictures (Fathony's thesis, Figures 2 to 10)."""

from __future__ import annotations

from typing import Any

from experiments.common import Content, Experiment, Options
from experiments.report import Report, Table
from experiments.thesis_figures.curves import draw_curves
from experiments.thesis_figures.formulas import SURFACES, check
from experiments.thesis_figures.surfaces import draw_surfaces
from experiments.thesis_figures.thresholds import draw_thresholds, errors_of, picture_of_thresholds

NAME = "thesis_figures"


def table(checks: list[dict[str, Any]]) -> Table:
    header = ["surrogate", "figure", "labels", "facets", "published", "in its formula"]
    header += ["largest difference from its formula"]
    rows = []
    for row in checks:
        published = "not given" if row["published_facets"] is None else str(row["published_facets"])
        line = [row["surrogate"], row["figure"], str(row["labels"]), str(row["facets"]), published]
        rows.append([*line, str(row["formula_facets"]), f"{row['largest_difference']:.0e}"])
    return Table("Facets (distinct gradients at random scores) and values.", header, rows)


def findings(checks: list[dict[str, Any]], picture: dict, errors: dict) -> list[str]:
    wrong = [row for row in checks if row["published_facets"] not in (None, row["facets"])]
    wrong += [row for row in checks if row["formula_facets"] != row["facets"] and row not in wrong]
    listed = ", ".join(f"{row['surrogate']} (Figure {row['figure']})" for row in wrong)
    given = sum(row["published_facets"] is not None for row in checks)
    worst = max(row["largest_difference"] for row in checks)
    labels = " and ".join(f"{j} ({q:g})" for j, q in picture["adversary"].items())
    return [
        f"Facet counts differ for {listed}."
        if wrong
        else f"All {given} facet counts that the thesis gives are met, and the others are those of "
        "its formulas.",
        f"Our values differ from the published formulas by at most {worst:.0e}.",
        f"Figure 6: the point predicted as label {picture['prediction']} (published 4) is paid as "
        f"labels {labels}, published 2 and 5 averaged; our surrogate differs from equation 2.34 by "
        f"at most {picture['largest_difference']:.0e}.",
        f"Figure 5, on data of our own: no direction with three thresholds has a mean absolute "
        f"error below {errors['one_direction']:.2f}; a weight vector for every label reaches "
        f"{errors['weights_per_label']:.2f}.",
    ]


def compute(options: Options) -> Content:
    return {
        "checks": [check(surface, 2_000 if options.quick else 100_000) for surface in SURFACES],
        "figure_5": errors_of(),
        "figure_6": picture_of_thresholds(),
    }


def report(content: Content, options: Options) -> Report:
    checks, errors = content["checks"], content["figure_5"]
    surfaces = draw_surfaces(options.output, 61 if options.quick else 301)
    return Report(
        title="The adversarial surrogates as pictures",
        command=options.command,
        published=(
            "Fathony (2019), Figures 2 to 10: surrogates of the 0-1 loss (2), AL0-1 on two labels "
            "(3), on three labels beside Weston–Watkins and Crammer–Singer (4), why several weight "
            "vectors (5), thresholds (6), absolute (7), squared (8), abstention on two labels (9) "
            "and three (10). The text gives facet counts for Figures 3, 4a, 7, 9 and 10."
        ),
        method=(
            "Values and gradients from `surrogates.evaluate` over potential differences; in the "
            "contour plots the edges of the facets are white. The text at hand does not say which "
            "surrogates Figure 2 shows nor where the points of Figures 5 and 6 lie: those are ours."
        ),
        tables=[table(checks)],
        findings=findings(checks, content["figure_6"], errors),
        figures=[draw_curves(options.output), *surfaces, draw_thresholds(errors, options.output)],
    )


EXPERIMENT = Experiment(NAME, "surrogates of the thesis as curves and surfaces", compute, report)
