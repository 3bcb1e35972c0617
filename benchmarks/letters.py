"""Hinge training on words of letter images against dlib's structural SVM, to one certified gap.

dlib has no binary wheels with its C++ trainers; `letters_dlib.cpp` is compiled against its source
package (``pip download dlib --no-deps --no-binary :all:``, unpacked) in the folder that the
environment variable DLIB_SOURCE names. Without it only our side is measured.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import concordant as cc
from benchmarks.common import Benchmark, times
from experiments.common import DataMissing, data_folder, quiet_fit
from experiments.report import Table

SOURCE = Path(__file__).parent / "letters_dlib.cpp"
TOL = 1e-2
THREADS = 2


def words(fold: int, limit: int | None) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Binary images (T, 128) and labels of the words of one fold."""
    path = data_folder() / "structured" / "ocr_letters" / "letters.npz"
    if not path.is_file():
        raise DataMissing(
            f"there is no {path}; set CONCORDANT_DATA to the folder above structured/"
        )
    data = np.load(path)
    pixels = np.unpackbits(data["pixels_packed"], axis=1).astype(float)
    ends = np.cumsum(data["word_length"])
    X, y = np.split(pixels, ends[:-1]), np.split(data["labels"].astype(int), ends[:-1])
    chosen = np.flatnonzero(data["fold"] == fold)[:limit]
    return [X[i] for i in chosen], [y[i] for i in chosen]


def compiled(folder: Path) -> Path | None:
    """dlib's side, or None without its source."""
    source = os.environ.get("DLIB_SOURCE")
    if not source:
        return None
    binary = folder / "letters_dlib"
    if not binary.is_file():
        everything = Path(source) / "dlib" / "all" / "source.cpp"
        options = ["-O3", "-std=c++14", "-DDLIB_NO_GUI_SUPPORT", "-DDLIB_DISABLE_ASSERTS"]
        files = [f"-I{source}", str(SOURCE), str(everything), "-lpthread", "-o", str(binary)]
        subprocess.run(["g++", *options, *files], check=True)
    return binary


def write_words(X: list[np.ndarray], y: list[np.ndarray], path: Path) -> None:
    lines = [str(len(X))]
    for images, labels in zip(X, y):
        lines.append(str(len(labels)))
        for image, label in zip(images, labels):
            pixels = np.flatnonzero(image)
            lines.append(" ".join(map(str, [label, len(pixels), *pixels])))
    path.write_text("\n".join(lines) + "\n")


def run_dlib(binary: Path, data: Path, C: float, limit: float) -> dict[str, Any]:
    """Seconds until dlib's own bounds are within the tolerance (or until the limit)."""
    command = [str(binary), str(data), str(C), "1e-9", str(THREADS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        start, objective, gap, planes = 0.0, np.inf, np.inf, 0
        for line in process.stdout:
            if line.startswith("start"):
                start = time.perf_counter()
            elif line.startswith("objective: "):
                objective, planes = float(line.split()[-1]), planes + 1
            elif line.startswith("objective gap:"):
                gap = float(line.split()[-1])
                if gap <= TOL * abs(objective) or time.perf_counter() - start > limit:
                    break
        seconds = time.perf_counter() - start
        process.kill()
    return {"seconds": seconds, "objective": objective, "gap": gap, "passes": planes}


def run_ours(X: list[np.ndarray], y: list[np.ndarray], C: float) -> dict[str, Any]:
    model = cc.SequenceLabeler(
        surrogate="hinge", C=C, fit_intercept=False, tol=TOL,
        n_jobs=THREADS,
    )  # fmt: skip
    start = time.perf_counter()
    quiet_fit(model, X, y)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "objective": model.objective_,
        "gap": model.gap_,
        "passes": model.n_iter_,
    }


def measure(quick: bool) -> dict[str, Any]:
    X, y = words(0, 60 if quick else None)
    test = words(1, 60 if quick else None)
    C = 0.1
    run_ours(X, y, C)  # compilation
    out: dict[str, Any] = {"words": len(X), "letters": sum(map(len, y)), "C": C}
    out["ours"] = run_ours(X, y, C)
    model = cc.SequenceLabeler(surrogate="hinge", C=C, fit_intercept=False, tol=TOL)
    out["accuracy"] = quiet_fit(model, X, y).score(*test)
    folder = Path(tempfile.gettempdir()) / "concordant-letters"
    folder.mkdir(exist_ok=True)
    binary = compiled(folder)
    if binary is not None:
        write_words(X, y, folder / "words.txt")
        limit = 10.0 if quick else 100.0
        data = folder / "words.txt"
        theirs = [run_dlib(binary, data, C * len(X), limit)]
        ours = [out["ours"], run_ours(X, y, C)]
        theirs.append(run_dlib(binary, data, C * len(X), limit))
        out["dlib"] = min(theirs, key=lambda run: run["seconds"])
        out["ours"] = min(ours, key=lambda run: run["seconds"])
    return out


def tables(content: dict[str, Any]) -> list[Table]:
    ours, dlib = content["ours"], content.get("dlib")
    rows = [["concordant", *_cells(ours), ""]]
    if dlib is None:
        rows.append(["dlib", "not here: set DLIB_SOURCE", "", "", "", ""])
    else:
        reached = dlib["gap"] <= TOL * abs(dlib["objective"])
        ratio = times(dlib["seconds"] / ours["seconds"])
        note = f"{ratio} (goal ≥ 5×)" if reached else f"> {ratio}, gap not reached (goal ≥ 5×)"
        rows.append(["dlib", *_cells(dlib), note])
    header = ["trainer", "seconds", "passes or planes", "objective", "relative gap", "ratio"]
    caption = (
        f"{content['words']} words, {content['letters']} letters, C = {content['C']:g}, {THREADS} "
        f"threads each; letter accuracy on the next fold {content['accuracy']:.3f}."
    )
    return [Table(caption, header, rows)]


def _cells(run: dict[str, Any]) -> list[str]:
    return [
        f"{run['seconds']:.2f}", str(run["passes"]), f"{run['objective']:.2f}",
        f"{run['gap'] / abs(run['objective']):.4f}",
    ]  # fmt: skip


BENCHMARK = Benchmark(
    "letters",
    "Structural SVM on letter images",
    "The same objective (dlib averages over words, so its C is ours times their number), no "
    f"intercepts, until the own certified gap is {TOL:g} of the objective; the better of "
    "two runs each.",
    measure,
    tables,
)
