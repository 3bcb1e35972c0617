"""Localisation on photographs with true boxes: blood cells (BCCD), HOG and colour features."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from functools import cache, partial
from typing import Any

import numpy as np

import concordant as cc
from experiments import common
from experiments.common import Content, DataMissing, Experiment, Options
from experiments.latent.work import (
    BETA,
    KNOWN,
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
    values,
)  # fmt: skip
from experiments.report import Report

NAME = "latent_blood"
CLASSES = ("Platelets", "RBC", "WBC")
CROP = (320, 240)
SHRINK = 2  # photographs are halved before features are computed
SIDES = (24, 48, 96)  # of windows, in halved pixels
CELLS = 6  # a window has CELLS × CELLS cells of HOG
TRAIN_A_CLASS = 80
FOLDS = 5
GRID = (0.03, 0.1, 0.3, 1.0)
LOSS = "overlap"


@cache
def photographs() -> dict[str, Any]:
    """Every photograph's boxes, by name, and the archive of the images."""
    folder = common.data_folder() / "structured" / "bccd"
    if not (folder / "images.zip").is_file():
        raise DataMissing(f"the blood cells are not here: there is no {folder / 'images.zip'}")
    boxes: dict[str, list[tuple[str, np.ndarray]]] = {}
    with gzip.open(folder / "boxes.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            box = np.array([float(row[key]) for key in ("xmin", "ymin", "xmax", "ymax")])
            if box[2] > box[0] and box[3] > box[1]:  # two boxes of the source have no area
                boxes.setdefault(row["image"], []).append((row["class"], box))
    return {"boxes": boxes, "archive": folder / "images.zip"}


def crops_of(name: str) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Quarters of a photograph: class, corner, and the true boxes of that class inside.

    A quarter is called after its white cell, else its platelet, else the red cells. Quarters
    that cut a white cell or a platelet are left out.
    """
    out = []
    for left in (0, CROP[0]):
        for top in (0, CROP[1]):
            inside, cut = _inside(photographs()["boxes"][name], left, top)
            kind = next((k for k in ("WBC", "Platelets", "RBC") if inside[k]), None)
            if kind is not None and not cut:
                out.append((kind, np.array([left, top]), np.array(inside[kind])))
    return out


def _inside(
    boxes: list[tuple[str, np.ndarray]], left: int, top: int
) -> tuple[dict[str, list[np.ndarray]], bool]:
    inside: dict[str, list[np.ndarray]] = {kind: [] for kind in CLASSES}
    cut = False
    for kind, box in boxes:
        low = np.maximum(box[:2], [left, top])
        high = np.minimum(box[2:], [left + CROP[0], top + CROP[1]])
        share = np.maximum(high - low, 0.0).prod() / (box[2:] - box[:2]).prod()
        if share > 0.8:
            inside[kind].append(np.concatenate([low, high]) - [left, top, left, top])
        elif share > 0.1 and kind != "RBC":
            cut = True
    return inside, cut


def bag_of(pixels: np.ndarray) -> cc.Bag:
    """Square windows of three sizes, half a window apart: HOG of the green channel at unit norm,
    and how purple each cell is (nuclei are stained; red cells differ in outline only)."""
    from skimage.feature import hog

    features, boxes = [], []
    for side in SIDES:
        cell = side // CELLS
        grid = hog(pixels[:, :, 1], 9, (cell, cell), (1, 1), feature_vector=False)[:, :, 0, 0]
        high, wide = grid.shape[:2]
        purple = (pixels[:, :, 2] - pixels[:, :, 1])[: high * cell, : wide * cell]
        purple = purple.reshape(high, cell, wide, cell).mean(axis=(1, 3))
        for row in range(0, grid.shape[0] - CELLS + 1, CELLS // 2):
            for column in range(0, grid.shape[1] - CELLS + 1, CELLS // 2):
                cells = np.s_[row : row + CELLS, column : column + CELLS]
                edges = grid[cells].ravel() / max(float(np.linalg.norm(grid[cells])), 1e-12)
                features.append(np.concatenate([edges, purple[cells].ravel()]))
                corner = np.array([column, row]) * cell
                boxes.append(np.concatenate([corner, corner + side]) * SHRINK)
    return cc.Bag(np.array(features), np.array(boxes, dtype=float))


@cache
def load(few: bool) -> dict[str, Any]:
    """Bags of quarters, their classes, true boxes and photographs."""
    from skimage.io import imread

    names = sorted(photographs()["boxes"])[: 60 if few else None]
    out: dict[str, list[Any]] = {"bags": [], "label": [], "truth": [], "photograph": []}
    taken = dict.fromkeys(CLASSES, 0)
    with zipfile.ZipFile(photographs()["archive"]) as archive:
        for number, name in enumerate(names):
            image = imread(io.BytesIO(archive.read(f"{name}.jpg"))) / 255.0
            for kind, (left, top), truth in crops_of(name):
                # Red cells are everywhere: no more of them than of the others.
                if kind == "RBC" and taken["RBC"] > max(taken["WBC"], taken["Platelets"]):
                    continue
                taken[kind] += 1
                crop = image[top : top + CROP[1], left : left + CROP[0]]
                crop = crop.reshape(CROP[1] // SHRINK, SHRINK, CROP[0] // SHRINK, SHRINK, 3)
                out["bags"].append(bag_of(crop.mean(axis=(1, 3))))
                out["label"].append(kind)
                out["truth"].append(truth)
                out["photograph"].append(number)
    return {**out, "label": np.array(out["label"]), "photograph": np.array(out["photograph"])}


def prepare(fold: int, few: bool) -> Any:
    """A function that trains and tests on one fold of the photographs."""
    data = load(few)
    order = np.random.default_rng(common.SEED).permutation(data["photograph"].max() + 1)
    is_test = np.isin(data["photograph"], order[fold::FOLDS])
    rng = np.random.default_rng([common.SEED, fold])
    most = TRAIN_A_CLASS // (4 if few else 1)
    train = np.concatenate(
        [
            rng.permutation(np.flatnonzero(~is_test & (data["label"] == kind)))[:most]
            for kind in CLASSES
        ]
    )
    test = np.flatnonzero(is_test)

    nearest = [_nearest(data["bags"][i], data["truth"][i]) for i in train]

    def run(fit: Fit) -> dict[str, Any]:
        model = common.quiet_fit(
            model_of(fit, fit.C),
            [data["bags"][i] for i in train],
            data["label"][train],
            latent=nearest if fit.known else None,
        )
        return {**judge(model, data, test), **outcome(model), "test": len(test)}

    return run


def _nearest(bag: cc.Bag, truth: np.ndarray) -> int:
    """The window that overlaps a true box most."""
    return int(cc.losses.iou(bag.boxes, truth).max(axis=1).argmax())


def judge(model: cc.LatentClassifier, data: dict[str, Any], test: np.ndarray) -> dict[str, float]:
    """Label error; overlap loss against the nearest true box of the class; 1 - IoU of the best
    choice that the true label's score would take."""
    bags = [data["bags"][i] for i in test]
    wrong, missed = [], []
    for i, (label, choice) in zip(test, model.predict_latent(bags)):
        overlap = cc.losses.iou(data["bags"][i].boxes[[choice]], data["truth"][i]).max()
        wrong.append(label != data["label"][i])
        missed.append(1.0 - overlap)
    loss = np.where(wrong, 1.0, missed)
    return {
        "label": float(np.mean(wrong)),
        "pair": float(loss.mean()),
        "missed": float(np.mean(missed)),
    }


def fits_of(quick: bool) -> list[Fit]:
    grid = GRID[:1] if quick else GRID
    fits = [Fit(method, LOSS, C) for C in grid for method in METHODS]
    return fits + [Fit("latent SVM", LOSS, C, known=True) for C in grid]


def compute(options: Options) -> Content:
    folds = 1 if options.quick else FOLDS
    fits = fits_of(options.quick)
    units = run_units(NAME, options, folds, fits, partial(prepare, few=options.quick))
    return {"fits": [list(fit) for fit in fits], "units": units}


def report(content: Content, options: Options) -> Report:
    fits = [Fit(*fit) for fit in content["fits"]]
    units = content["units"]
    rows, extra, curves = {}, {}, {}
    for method, own in groups(fits, LOSS).items():
        chosen = best(units, own, "pair")
        rows[method] = values(units, chosen, "pair")
        more = [f"{100 * values(units, chosen, what).mean():.1f}" for what in ("label", "missed")]
        extra[method] = [f"{chosen.C:g}", *more]
        curves[method] = [f.C for f in own], np.array([values(units, f, "pair") for f in own])
    found = {name: row for name, row in rows.items() if name != KNOWN}
    least = min(found, key=lambda name: found[name].mean())
    return Report(
        title="Latent choices: blood cells",
        command=options.command,
        published="Nothing: a substitute for the published photographs, whose boxes are missing.",
        method=(
            "BCCD, 364 photographs of blood. Quarters of 320×240 pixels that hold a white cell, a "
            "platelet or only red cells, without cut ones; windows of 48, 96 and 192 pixels with "
            f"{CELLS}×{CELLS} HOG cells each. {FOLDS} folds of photographs, at most "
            f"{TRAIN_A_CLASS} quarters a class to train on. The loss is measured against the true "
            "box of the class that fits best, which need not be a window. "
            f"J = β = {BETA:g}, ε = {TOL:g}. `{KNOWN}` is told the window nearest to a true box."
        ),
        tables=[
            comparison(
                f"Overlap loss of the (label, box) answer at each method's best C, {len(units)} "
                "folds.",
                rows,
                extra,
                ["best C", "label error, %", "1 − IoU, %"],
            )
        ],
        findings=[
            f"Without boxes in training, the least loss was that of {least}.",
            f"`{KNOWN}` shows what these features can do. The others tell the classes as well or "
            "better and still miss the cells: on these photographs a label can be told from "
            "windows that overlap the cell little, so the labels alone do not say where it is.",
        ],
        figures=[
            draw_over_C(options.output / f"{NAME}.svg", {"overlap loss": curves}, "test loss, %")
        ],
    )


EXPERIMENT = Experiment(NAME, "blood cells: labels and places", compute, report)
