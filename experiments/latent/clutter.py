"""Localisation with true boxes: USPS digits on clutter made of other digits' pieces."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

import concordant as cc
from experiments import common
from experiments.common import Content, DataMissing, Experiment, Options
from experiments.latent.work import (
    BETA,
    METHODS,
    TOL,
    Fit,
    best,
    comparison,
    draw_over_C,
    groups,
    model_of,
    outcome,
    run_units,
    selected,
    values,
)  # fmt: skip
from experiments.report import Report

NAME = "latent_clutter"
REPETITIONS, TRAIN, VALIDATION, TEST = 20, 200, 200, 400
CLASSES, PIECES, PIECE = (0, 1, 2, 3), 5, 6
GRID = (0.3, 1.0, 3.0)
LOSSES = ("overlap", "zero_one")
INITS = ("mean", "likelihood")


@cache
def digits() -> dict[str, Any]:
    """USPS, training and test digits."""
    path = common.data_folder() / "tabular" / "usps.npz"
    if not path.is_file():
        raise DataMissing(f"usps is not here: there is no {path}")
    with np.load(path) as file:
        return {
            part: (file[f"X_{part}"].reshape(-1, 16, 16), file[f"y_{part}"].astype(int))
            for part in ("train", "test")
        }


def clutter(part: str, n: int, seed: int) -> Any:
    images, labels = digits()[part]
    return cc.datasets.make_cluttered_digits(
        n, digits=images, labels=labels, classes=CLASSES, pieces=PIECES, piece_size=PIECE,
        random_state=seed,
    )  # fmt: skip


def judge(model: cc.LatentClassifier, data: Any, loss: str) -> dict[str, float]:
    """Label error, loss of the pair, and how well the choice overlaps the truth."""
    answers = model.predict_latent(data.bags)
    wrong = np.array([label for label, _ in answers]) != data.target
    choice = np.array([choice for _, choice in answers])
    overlap = cc.losses.iou(data.boxes, data.boxes)[choice, data.latent]
    pair = 1.0 - model.score(data.bags, data.target, latent=data.latent)
    return {
        "label": float(wrong.mean()),
        "pair": float(pair),
        "missed": float(1.0 - overlap.mean()),
    }


def prepare(repetition: int, few: bool) -> Any:
    """A function that trains and tests on one repetition's images."""
    share = 4 if few else 1
    train = clutter("train", TRAIN // share, 3 * repetition)
    validation = clutter("train", VALIDATION // share, 3 * repetition + 1)
    test = clutter("test", TEST // share, 3 * repetition + 2)

    def run(fit: Fit) -> dict[str, Any]:
        latent = train.latent if fit.known else None
        model = common.quiet_fit(model_of(fit, fit.C), train.bags, train.target, latent=latent)
        held_out = judge(model, validation, fit.loss)
        return {
            **judge(model, test, fit.loss),
            "validation_label": held_out["label"],
            "found": float(np.mean(model.latent_ == train.latent)),
            **outcome(model),
        }

    return run


def fits_of(quick: bool) -> list[Fit]:
    grid, losses, inits = (GRID[1:], LOSSES[:1], INITS[:1]) if quick else (GRID, LOSSES, INITS)
    out = []
    for loss in losses:
        for C in grid:
            for method in METHODS:
                starts = inits[:1] if method == "marginal likelihood" else inits
                out += [Fit(method, loss, C, init) for init in starts]
            out.append(Fit("latent SVM", loss, C, known=True))
    return out


def compute(options: Options) -> Content:
    repetitions = 2 if options.quick else REPETITIONS
    fits = fits_of(options.quick)
    units = run_units(NAME, options, repetitions, fits, partial(prepare, few=options.quick))
    return {"fits": [list(fit) for fit in fits], "units": units}


def tables(fits: list[Fit], units: list[list[dict[str, Any]]]) -> list[Any]:
    out = []
    for loss in dict.fromkeys(fit.loss for fit in fits):
        rows, at_best, extra = {}, {}, {}
        for name, own in groups(fits, loss).items():
            chosen = best(units, own, "pair")
            rows[name] = selected(units, own, "validation_label", "pair")
            at_best[name] = values(units, chosen, "pair")
            extra[name] = [
                f"{100 * values(units, chosen, what).mean():.1f}"
                for what in ("label", "missed", "found")
            ]
            extra[name] = [f"{chosen.C:g}", *extra[name]]
        header = ["best C", "label error, %", "1 − IoU, %", "found in training, %"]
        out.append(
            comparison(
                f"Loss of the (label, choice) answer on {TEST} new images, {loss} loss, at the C "
                f"that is best on them, as published; {len(units)} repetitions. 1 − IoU is of the "
                "choice, whatever the label; `found` counts true choices among the completed ones.",
                at_best,
                extra,
                header,
            )
        )
        out.append(
            comparison(
                f"The same, {loss} loss, with C chosen in each repetition by the label error on "
                "other images, which needs no boxes.",
                rows,
                {},
                [],
            )
        )
    return out


def report(content: Content, options: Options) -> Report:
    fits = [Fit(*fit) for fit in content["fits"]]
    units = content["units"]
    panels = {}
    for loss in dict.fromkeys(fit.loss for fit in fits):
        panels[f"{loss} loss"] = {
            name: ([f.C for f in own], np.array([values(units, f, "pair") for f in own]))
            for name, own in groups(fits, loss).items()
        }
    return Report(
        title="Latent choices: digits on clutter",
        command=options.command,
        published=(
            "Nothing: Kumar et al. (2012) measure localisation on images whose boxes are not "
            "available. This data set is ours, with boxes by construction."
        ),
        method=(
            f"`make_cluttered_digits` from USPS: classes {', '.join(map(str, CLASSES))}, {PIECES} "
            f"pieces of {PIECE}×{PIECE} pixels on 32×32, 25 windows of 256 pixels; {TRAIN} images "
            f"of training digits to learn from, {TEST} of test digits to be judged on. J = β = "
            f"{BETA:g}, ε = {TOL:g}. Two first starts: the mean of each bag's choices, and what "
            "the marginal likelihood prefers. `choices known` is the same model told the true "
            "choices. The difficulty was set so that this reference does well."
        ),
        tables=tables(fits, units),
        findings=findings(fits, units),
        figures=[draw_over_C(options.output / f"{NAME}.svg", panels, "loss of the pair, %")],
    )


def findings(fits: list[Fit], units: list[list[dict[str, Any]]]) -> list[str]:
    """Where the dissimilarity method localises better than latent SVM, and where not."""
    from scipy.stats import ttest_rel

    out = []
    for loss in dict.fromkeys(fit.loss for fit in fits):
        own = groups(fits, loss)
        for start in [name[len("latent SVM") :] for name in own if name.startswith("latent SVM")]:
            pair = [best(units, own[m + start], "pair") for m in ("dissimilarity", "latent SVM")]
            ours, theirs = (values(units, fit, "missed") for fit in pair)
            p = float(ttest_rel(ours, theirs).pvalue) if len(ours) > 1 else 1.0
            sure = p < 0.05
            verdict = ("better" if ours.mean() < theirs.mean() else "worse") if sure else "neither"
            words = {
                "better": "localises better than latent SVM",
                "worse": "localises worse than latent SVM",
                "neither": "and latent SVM localise alike (no difference at the 5 % level)",
            }[verdict]
            out.append(
                f"{loss} loss{start or ', mean start'}: the dissimilarity method {words}: 1 − IoU "
                f"{100 * ours.mean():.1f} % against {100 * theirs.mean():.1f} % (paired p = "
                f"{p:.3f}, not corrected for several tests)."
            )
    rises = sum(row["rises"] for rows in units for row in rows if row["fit"][0] == "dissimilarity")
    return [*out, f"The dissimilarity objective rose in {rises} of its steps."]


EXPERIMENT = Experiment(NAME, "digits on clutter: labels and places", compute, report)
