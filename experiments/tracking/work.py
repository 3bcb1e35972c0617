"""One training set, one form of the problem, one route: tune, train, test. Resumable by file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import concordant as cc
from experiments import common
from experiments.tracking import data

#: The grid of the authors' script.
STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
ROUTES = {"adversarial": "Adv. marginal", "hinge": "SSVM"}
FORMS = ("doubled", "partial")
FOLDS = 5


class Effort(NamedTuple):
    """How much of the data is used: pairs of frames to tune on, and to train on at most."""

    tuned_on: int = 60
    trained_on: int = 1000
    frames: int | None = None  # of a sequence; None for all


class Unit(NamedTuple):
    """A model to train, and the sequences to test it on."""

    train: str
    form: str
    route: str
    tests: tuple[str, ...]

    def path(self, folder: Path) -> Path:
        return folder / f"{self.train}-{self.form}-{self.route}.json"


def sequence(name: str, form: str, effort: Effort) -> data.Sequence:
    plain = data.load(name, effort.frames)
    return data.doubled(plain) if form == "doubled" else plain


def spread(n: int, most: int) -> np.ndarray:
    """At most so many of n places, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def fit(route: str, strength: float, pairs: list[Any], answers: list[Any]) -> cc.Matcher:
    """The penalty of the thesis is `strength` per mean example, ours C per sum of them."""
    model = cc.Matcher(
        surrogate=route, C=1.0 / (strength * len(pairs)), tol=1e-3, max_iter=300, n_jobs=1,
        random_state=0,
    )  # fmt: skip
    return common.quiet_fit(model, pairs, answers)


def scores_of(plain: data.Sequence, half: int, predicted: Any, rows: np.ndarray) -> dict[str, Any]:
    """Shares that are right, for each pair of frames.

    objects: of the boxes in both frames, those whose partner is right, or that are rightly said
    to leave or to enter. nodes: of the 2 * half rows of the doubled form, where all ways to
    order the nodes for nothing are equally good: ties broken at random (expected), and in our
    favour.
    """
    out: dict[str, list[float]] = {"objects": [], "random": [], "favour": []}
    for e, guess in zip(rows, predicted):
        n, m = plain.pairs[e].shape[:2]
        truth, size = plain.answers[e], 2 * half
        here = np.where(guess[:n] < m, guess[:n], -1)
        back, forth = np.full(m, -1), np.full(m, -1)
        back[truth[truth >= 0]] = np.flatnonzero(truth >= 0)
        forth[here[here >= 0]] = np.flatnonzero(here >= 0)
        right, came = here == truth, back == forth
        out["objects"].append(float((right.sum() + came.sum()) / max(n + m, 1)))
        met = (right & (truth >= 0)).sum()
        gone = (right & (truth < 0)).sum()
        entering = (came & (back < 0)).sum()
        idle = [size - n - (each < 0).sum() for each in (back, forth)]  # in truth, as predicted
        chance = idle[0] * idle[1] / max((size - n) * (size - m), 1)
        by_chance = met + gone / max(size - m, 1) + entering / max(size - n, 1) + chance
        out["random"].append(float(by_chance / size))
        out["favour"].append(float((met + gone + entering + min(idle)) / size))
    return out


def accuracy(model: cc.Matcher, form: str, plain: data.Sequence, given: data.Sequence, rows: Any):
    """Per pair of frames; see `scores_of`."""
    predicted = model.predict([given.pairs[i] for i in rows])
    return scores_of(plain, plain.most, predicted, rows)


def tune(
    unit: Unit, plain: data.Sequence, given: data.Sequence, effort: Effort
) -> dict[str, float]:
    """Mean accuracy of each strength by cross-validation, on the measure that can be trusted."""
    chosen = spread(len(given.pairs), effort.tuned_on)
    folds = np.array_split(np.random.default_rng(common.SEED).permutation(chosen), FOLDS)
    out = {}
    for strength in STRENGTHS:
        found = []
        for held in folds:
            rest = np.setdiff1d(chosen, held)
            pairs, answers = [given.pairs[i] for i in rest], [given.answers[i] for i in rest]
            model = fit(unit.route, strength, pairs, answers)
            found += accuracy(model, unit.form, plain, given, held)["objects"]
        out[f"{strength:g}"] = float(np.mean(found))
    return out


def run_unit(unit: Unit, effort: Effort, folder: Path, origin: dict[str, Any]) -> dict[str, Any]:
    """The result of a unit: from its file if it is there for the same effort."""
    stored = common.read_json(unit.path(folder))
    if stored and stored["effort"] == effort._asdict():
        return stored
    plain, given = data.load(unit.train, effort.frames), sequence(unit.train, unit.form, effort)
    tuned = tune(unit, plain, given, effort)
    strength = float(max(tuned, key=lambda key: tuned[key]))  # the first, as the authors' script
    rows = spread(len(given.pairs), effort.trained_on)
    start = time.process_time()
    model = fit(
        unit.route, strength, [given.pairs[i] for i in rows], [given.answers[i] for i in rows]
    )
    seconds = time.process_time() - start
    del given
    tests = {}
    for name in unit.tests:
        test, there = data.load(name, effort.frames), sequence(name, unit.form, effort)
        found = accuracy(model, unit.form, test, there, np.arange(len(test.pairs)))
        tests[name] = {key: np.round(value, 6).tolist() for key, value in found.items()}
    result = {
        "provenance": origin, "effort": effort._asdict(), **unit._asdict(), "tuned": tuned,
        "strength": strength, "examples": len(rows), "cpu_seconds": round(seconds, 2),
        "relative_gap": common.relative_gap(model), "passes": model.n_iter_, "accuracy": tests,
    }  # fmt: skip
    common.write_json(unit.path(folder), result)
    return result
