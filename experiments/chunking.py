"""Chunking sentences (Shi et al., TPAMI 2015, sections 5.1 and 5.2: Tables 1 and 2, Figure 3).

Work is kept fit by fit, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import concordant as cc
from experiments import common
from experiments.common import Content, Experiment, Options
from experiments.report import Report, Table

NAME = "chunking"
ROUTES = ("hinge", "log", "hybrid")
MEASURES = ("accuracy", "precision", "recall", "f1")
#: Strengths tried on the validation part, and shares of the log loss in the hybrid.
STRENGTHS = (0.3, 1.0, 3.0, 10.0)
ALPHAS = (0.5, 0.9)
TOL, PASSES = 2e-2, 150
#: Published accuracy, precision, recall, F1 in per cent, by share of the training part and route.
PUBLISHED = {
    "conll2000": {
        ("10 %", "hinge"): (91.14, 85.31, 85.52, 85.41),
        ("10 %", "log"): (92.05, 87.04, 87.01, 87.02),
        ("10 %", "hybrid"): (92.07, 87.17, 86.93, 87.05),
        ("100 %", "hinge"): (94.61, 91.23, 91.37, 91.30),
        ("100 %", "log"): (95.10, 92.32, 91.97, 92.15),
        ("100 %", "hybrid"): (95.11, 92.35, 92.00, 92.17),
    },
    "basenp": {
        ("10 %", "hinge"): (88.48, 71.70, 75.96, 73.77),
        ("10 %", "log"): (90.86, 81.09, 78.96, 80.01),
        ("10 %", "hybrid"): (90.90, 81.23, 79.09, 80.15),
        ("100 %", "hinge"): (94.64, 87.58, 88.30, 87.94),
        ("100 %", "log"): (95.21, 90.07, 88.89, 89.48),
        ("100 %", "hybrid"): (95.24, 90.12, 88.98, 89.55),
    },
}
TITLES = {"conll2000": "CoNLL-2000 (Table 1)", "basenp": "BaseNP (Table 2)"}
PLACES = {
    "conll2000": ("conll2000/train.txt.gz", "conll2000/test.txt.gz", "chunking"),
    "basenp": (
        "crfpp_chunking/basenp/train.data.gz",
        "crfpp_chunking/basenp/test.data.gz",
        "basenp",
    ),
}


class Sentences:
    """Sentences as lists of strings by a CRF++ template, made when asked for; and their labels."""

    def __init__(self, rows: list[Any], template: Any):
        self.rows, self.template = rows, template
        self.y = [[token[-1] for token in sentence] for sentence in rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> list[list[str]]:
        return self.template(self.rows[i])

    def __iter__(self) -> Any:
        return map(self.template, self.rows)

    def take(self, chosen: Any) -> Sentences:
        return Sentences([self.rows[i] for i in chosen], self.template)


@cache
def load(name: str) -> tuple[Sentences, Sentences]:
    """The training and the test file of a data set."""
    folder = common.data_folder() / "structured"
    train, test, own = PLACES[name]
    template = folder / "crfpp_chunking" / own / "template.gz"
    for path in (folder / train, folder / test, template):
        if not path.is_file():
            raise common.DataMissing(f"{path} is not here; set CONCORDANT_DATA")
    import gzip

    rules = cc.features.CrfppTemplate(gzip.decompress(template.read_bytes()).decode())
    read = cc.io.read_conll
    return Sentences(read(folder / train), rules), Sentences(read(folder / test), rules)


def parts(name: str, share: str) -> tuple[Sentences, Sentences, Sentences]:
    """The paper's split: of all sentences 20 % to train (a share of them), 40 %, 40 %."""
    train, test = load(name)
    whole = Sentences(train.rows + test.rows, train.template)
    order = np.random.default_rng(common.SEED).permutation(len(whole))
    fifth, rest = np.split(order, [len(order) // 5])
    kept = fifth[: int(np.ceil(len(fifth) * float(share.rstrip(" %")) / 100.0))]
    half = len(rest) // 2
    return whole.take(kept), whole.take(rest[:half]), whole.take(rest[half:])


def fit(route: str, C: float, alpha: float, data: Sentences) -> cc.SequenceLabeler:
    surrogate = cc.surrogates.Hybrid(alpha) if route == "hybrid" else route
    model = cc.SequenceLabeler(surrogate=surrogate, C=C, tol=TOL, random_state=0, max_iter=PASSES)
    return common.quiet_fit(model, data, data.y)


def measure(model: cc.SequenceLabeler, data: Sentences) -> dict[str, float]:
    return cc.metrics.phrase_scores(data.y, model.predict(data))._asdict()


def one_fit(
    route: str, C: float, alpha: float, train: Sentences, others: dict[str, Sentences]
) -> dict[str, Any]:
    start = time.perf_counter()
    model = fit(route, C, alpha, train)
    out: dict[str, Any] = {"C": C, "gap": common.relative_gap(model)}
    if route == "hybrid":
        out["alpha"] = alpha
    out["seconds"] = round(time.perf_counter() - start, 1)
    return out | {name: measure(model, data) for name, data in others.items()}


class Store:
    """Fits that are done, on disk after each."""

    def __init__(self, path: Path):
        self.path, self.done = path, common.read_json(path) or {}

    def get(self, key: str, work: Any) -> Any:
        if key not in self.done:
            self.done[key] = work()
            common.write_json(self.path, self.done)
        return self.done[key]


def settings(route: str) -> list[tuple[float, float]]:
    alphas = ALPHAS if route == "hybrid" else (1.0,)
    return [(C, alpha) for C in STRENGTHS for alpha in alphas]


def selected(store: Store, name: str, share: str, route: str) -> dict[str, Any]:
    """The fit whose phrases are best on the validation part; with its numbers on the test part."""

    def key(C: float, alpha: float) -> str:
        return f"{name}, {share}, {route}, C={C:g}, alpha={alpha:g}"

    def work(C: float, alpha: float) -> dict[str, Any]:
        train, validation, test = parts(name, share)
        others = {"validation": validation, "test": test}
        return one_fit(route, C, alpha, train, others)

    fits = [store.get(key(*each), partial(work, *each)) for each in settings(route)]
    return max(fits, key=lambda each: each["validation"]["f1"])


def standard(store: Store, name: str, route: str) -> dict[str, Any]:
    """The usual training and test files, C = 0.5 (CRFsuite's own default, c2 = 1)."""

    def work() -> dict[str, Any]:
        train, test = load(name)
        return one_fit(route, 0.5, 0.5, train, {"test": test})

    return store.get(f"{name}, standard, {route}", work)


def majorities(store: Store, name: str) -> dict[str, Any]:
    """Figure 3: probabilities of the true and of the best labelling, sorted."""

    def work() -> dict[str, Any]:
        train, test = load(name)
        out = {}
        model = fit("log", 0.5, 1.0, train)
        for part, data in (("training", train), ("test", test)):
            best, true = model.predict_proba(data), np.zeros(len(data))
            # A label that training has not seen (I-LST) has no probability.
            known = [i for i, y in enumerate(data.y) if set(y) <= set(model.classes_)]
            sayable = data.take(np.array(known))
            true[known] = model.predict_proba(sayable, sayable.y)
            marks = np.linspace(0, len(true) - 1, 200).astype(int)
            out[part] = {
                "sentences": len(true),
                "no_majority": float(np.mean(best < 0.5)),
                "true_below_half": float(np.mean(true < 0.5)),
                "true": np.sort(true)[::-1][marks].round(4).tolist(),
                "best": np.sort(best)[::-1][marks].round(4).tolist(),
            }
        return out

    return store.get(f"{name}, figure 3", work)


def compute(options: Options) -> Content:
    only = options.own.get("only") or ("basenp" if options.quick else None)
    names = [only] if only else sorted(PUBLISHED)
    store = Store(options.output / f"{NAME}_fits.json")
    tables: dict[str, Any] = {}
    for name in names:
        shares = ("10 %",) if options.quick else ("10 %", "100 %")
        tables[name] = {
            share: {route: selected(store, name, share, route) for route in ROUTES}
            for share in shares
        }
        if not options.quick:
            tables[name]["standard"] = {route: standard(store, name, route) for route in ROUTES}
    figure = majorities(store, "basenp" if options.quick else "conll2000")
    return {"tables": tables, "figure": figure}


def draw(content: Content, options: Options) -> Path:
    plt = common.pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True)
    for axis, (part, row) in zip(axes, content["figure"].items()):
        share = np.linspace(0, 100, len(row["true"]))
        axis.plot(share, row["best"], label="best labelling")
        axis.plot(share, row["true"], "--", label="true labelling")
        axis.axhline(0.5, color="0.7", lw=0.8)
        axis.set(title=f"{part} sentences", xlabel="per cent of sentences", ylim=(0, 1))
    axes[0].set_ylabel("probability")
    axes[1].legend()
    return common.save_figure(figure, options.output / f"{NAME}.svg")


def tables(content: Content) -> list[Table]:
    out = []
    for name, by_share in content["tables"].items():
        header = ["training", "route", "C, α", "gap"]
        header += [cell for measure in MEASURES for cell in (measure, "published")]
        cells = []
        for share, by_route in by_share.items():
            for route, row in by_route.items():
                chosen = f"{row['C']:g}" + (f", {row['alpha']:g}" if "alpha" in row else "")
                line = [share, route, chosen, f"{row['gap']:.0e}"]
                theirs = PUBLISHED[name].get((share, route), (None,) * 4)
                for measure, value in zip(MEASURES, theirs):
                    line.append(f"{100 * row['test'][measure]:.2f}")
                    line.append("–" if value is None else f"{value:.2f}")
                cells.append(line)
        out.append(Table(f"{TITLES[name]}: per cent on the test part.", header, cells))
    return out


def findings(content: Content) -> list[str]:
    out = []
    for name, by_share in content["tables"].items():
        for share, by_route in by_share.items():
            f1 = {route: 100 * row["test"]["f1"] for route, row in by_route.items()}
            order = ", ".join(f"{route} {f1[route]:.2f}" for route in sorted(f1, key=f1.get))
            out.append(f"{TITLES[name]}, {share}: F1 rises as {order}.")
    out.append(
        "Log and hybrid come out near the published values from the whole training part; the hinge "
        "does not: published it is behind both, here it is level or ahead. The published models "
        "were trained by stochastic gradients, ours to the gaps shown, which may be the reason: "
        "sub-gradient steps on a hinge close in slowly."
    )
    lines = [
        f"{row['no_majority']:.0%} of {row['sentences']} {part} sentences"
        for part, row in content["figure"].items()
    ]
    out.append(
        f"No labelling has half the probability in {' and '.join(lines)} (published: about 1/4 of "
        "the training and 1/3 of the test sentences)."
    )
    return out


def report(content: Content, options: Options) -> Report:
    return Report(
        title="Chunking: hinge, log and hybrid (Shi et al. 2015, Tables 1 and 2, Figure 3)",
        command=content["provenance"]["command"],
        published="The hybrid is marginally better than log, and both than the hinge.",
        method=(
            "Features of the CRF++ template. All sentences are split at random into 20 % to train, "
            "40 % to choose C and α, 40 % to test, as published (which sentences is not known, nor "
            "the grid; ours is C in 0.3, 1, 3, 10 and α in 0.5, 0.9). 'Standard' is the usual "
            "training and test file with C = 0.5, and α = 0.5. Training stops at a certified "
            f"relative gap of {TOL:g}, or after {PASSES} passes (the gap is shown). Log and hybrid "
            "are decoded by minimum expected loss, the hinge by its best labelling."
        ),
        findings=findings(content),
        tables=tables(content),
        figures=[draw(content, options)],
    )


def arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--only", choices=list(PUBLISHED), help="one data set")


EXPERIMENT = Experiment(
    NAME, "hinge, log and hybrid on CoNLL-2000 and BaseNP", compute, report, arguments=arguments
)
