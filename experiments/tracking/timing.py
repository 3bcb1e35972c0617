"""Training time against the number of nodes, 50 examples (Fathony's thesis, Table XIII)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import concordant as cc
from experiments import common
from experiments.common import Content, Experiment, Options
from experiments.report import Report, Table
from experiments.tracking import data
from experiments.tracking.work import ROUTES, spread

NAME = "thesis_table13"
EXAMPLES = 50
STRENGTHS = (0.1, 0.01)
#: Nodes: seconds of the adversarial matching and of the SSVM, as published.
SECONDS = {
    "TUD-Campus": (1.96, 0.22),
    "TUD-Stadtmitte": (2.46, 0.25),
    "ETH-Sunnyday": (2.75, 0.15),
    "ETH-Pedcross2": (8.18, 0.26),
    "ETH-Bahnhof": (9.79, 0.31),
}


def measure(name: str, strength: float, frames: int | None, rounds: int) -> dict[str, Any]:
    """Least CPU seconds of training to a relative gap of 1e-4, in turns."""
    given = data.load(name, frames)
    rows = spread(len(given.pairs), EXAMPLES)
    chosen = data.Sequence([given.pairs[i] for i in rows], [given.answers[i] for i in rows])
    chosen = data.doubled(chosen, given.most)
    out: dict[str, Any] = {"name": name, "nodes": 2 * given.most, "strength": strength}
    out["examples"] = len(rows)
    for route in ROUTES:
        out[route] = np.inf
    for _ in range(rounds):
        for route in ROUTES:
            model = cc.Matcher(surrogate=route, C=1.0 / (strength * len(rows)), n_jobs=1)
            start = time.process_time()
            common.quiet_fit(model, *chosen)
            out[route] = min(out[route], time.process_time() - start)
            out[f"{route} gap"] = common.relative_gap(model)
    return out


def compute(options: Options) -> Content:
    names = list(SECONDS)[: 1 if options.quick else None]
    frames, rounds = (16, 1) if options.quick else (None, 3)
    measure(names[0], 1.0, 16, 1)  # compiles
    rows = [measure(name, each, frames, rounds) for name in names for each in STRENGTHS]
    return {"rows": rows}


def report(content: Content, options: Options) -> Report:
    header = ["sequence", "nodes", "Adv. published", "SSVM published", "λ", "Adv.", "SSVM", "ratio"]
    rows = []
    for each in content["rows"]:
        ratio = each["adversarial"] / each["hinge"]
        published = [f"{seconds:.2f}" for seconds in SECONDS[each["name"]]]
        cells = [f"{each['strength']:g}", f"{each['adversarial']:.2f}", f"{each['hinge']:.2f}"]
        rows.append([each["name"], str(each["nodes"]), *published, *cells, f"{ratio:.1f}"])
    ratios = [each["adversarial"] / each["hinge"] for each in content["rows"]]
    old = [adversarial / hinge for adversarial, hinge in SECONDS.values()]
    gaps = [each[f"{route} gap"] for each in content["rows"] for route in ROUTES]
    return Report(
        title="Training time of matchings (Table XIII)",
        command=options.command,
        published=(
            "Fathony (2019): seconds until convergence with 50 examples, adversarial in MATLAB, "
            "SSVM in C++; machine not named."
        ),
        method=(
            "`Matcher` on 50 pairs of frames, evenly spaced, nodes doubled; CPU seconds of one "
            "thread to a certified relative gap of 1e-4 (largest reached "
            f"{max(gaps):.0e}), least of three runs in turns."
        ),
        tables=[Table("Training time, s.", header, rows)],
        findings=[
            f"The adversarial route takes {min(ratios):.1f} to {max(ratios):.1f} times as long as "
            f"our own SSVM to the same gap (published: {min(old):.0f} to {max(old):.0f} times)."
        ],
        figures=[],
    )


EXPERIMENT = Experiment(NAME, "training time of matchings against nodes", compute, report)
