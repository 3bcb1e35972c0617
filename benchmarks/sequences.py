"""Training and tagging sequences against python-crfsuite; kernels against C."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import concordant as cc
from benchmarks.common import Benchmark, in_turns, machine, times
from experiments.chunking import Sentences, load
from experiments.common import ROOT, DataMissing, quiet_fit
from experiments.report import Table

#: C = 1 / (2 c2) makes half of CRFsuite's objective ours, at its own default c2 = 1.
C = 0.5
#: What each training is asked for: route, the relative gap to stop at, passes at most.
TRAININGS = {
    "log": ("log", 3e-5, 100),
    "hybrid": ("hybrid", 1e-2, 100),
    "adversarial": ("adversarial", 1e-2, 400),
}
COPIES = (1, 10, 100)


# ---- workers: each runs alone in a process, so that its peak memory is its own ----


def sentences(share: float = 1.0, copies: int = 1) -> tuple[Sentences, Sentences]:
    train, test = load("conll2000")
    return train.take(list(range(int(len(train) * share))) * copies), test


def train_crfsuite(share: float) -> dict[str, Any]:
    import pycrfsuite

    data, test = sentences(share)
    start = time.perf_counter()
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"c2": 1.0, "feature.possible_transitions": True})
    for x, y in zip(data, data.y):
        trainer.append(x, y)
    with tempfile.NamedTemporaryFile(suffix=".crfsuite") as file:
        trainer.train(file.name)
        seconds = time.perf_counter() - start
        tagger = pycrfsuite.Tagger()
        tagger.open(file.name)
        made = list(test)
        begin = time.perf_counter()
        answers = [tagger.tag(x) for x in made]
        tagging = time.perf_counter() - begin
    last = trainer.logparser.last_iteration
    return {
        "seconds": seconds,
        "objective": float(last["loss"]),
        "tokens_per_second": sum(map(len, test.y)) / tagging,
        **cc.metrics.phrase_scores(test.y, answers)._asdict(),
    }


def train_ours(name: str, share: float, goal: float | None) -> dict[str, Any]:
    """Train, and say when the objective first came down to `goal`."""
    data, test = sentences(share)
    route, tol, passes = TRAININGS[name]
    tiny = data.take(range(min(8, len(data))))
    first = cc.SequenceLabeler(surrogate=route, C=C, max_iter=2, solver="exponentiated_gradient")
    quiet_fit(first, tiny, tiny.y).predict(tiny)  # compile, or load from numba's cache
    model = cc.SequenceLabeler(
        surrogate=route, C=C, tol=tol, max_iter=passes, solver="exponentiated_gradient"
    )
    start = time.perf_counter()
    quiet_fit(model, data, data.y)
    seconds = time.perf_counter() - start
    made = list(test)
    begin = time.perf_counter()
    answers = model.predict(made)
    tagging = time.perf_counter() - begin
    reading = seconds - model.history_["seconds"][-1]
    reached = [
        reading + at
        for at, value in zip(model.history_["seconds"], model.history_["objective"])
        if goal is not None and 2.0 * value <= goal
    ]
    percent = [
        at
        for at, value, gap in zip(*(model.history_[x] for x in ("seconds", "objective", "gap")))
        if gap <= 1e-2 * value
    ]
    return {
        "seconds": seconds,
        "reading": reading,
        "objective": 2.0 * model.objective_,
        "gap": model.gap_ / model.objective_,
        "passes": model.n_iter_,
        "to_goal": reached[0] if reached else None,
        "to_percent": next(iter(percent), None),
        "tokens_per_second": sum(map(len, test.y)) / tagging,
        **cc.metrics.phrase_scores(test.y, answers)._asdict(),
    }


def train_copies(copies: int, share: float) -> dict[str, Any]:
    """Twenty passes on a corpus that is repeated."""
    data, _ = sentences(share, copies)
    tiny = data.take(range(min(8, len(data))))
    model = cc.SequenceLabeler(surrogate="log", C=C / copies, tol=0.0, max_iter=20)
    model.set_params(solver="exponentiated_gradient")  # also for few tokens
    quiet_fit(model, tiny, tiny.y)
    start = time.perf_counter()
    quiet_fit(model, data, data.y)
    seconds = time.perf_counter() - start
    passes = model.history_["seconds"][-1]
    return {"tokens": sum(map(len, data.y)), "seconds": seconds, "passes": passes}


def peak_megabytes() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def alone(worker: str, *arguments: Any) -> dict[str, Any]:
    """The worker's numbers and its peak memory, from a process of its own."""
    code = (
        "import json, sys; sys.modules['pandas'] = None; "  # scikit-learn would import it
        "from benchmarks import sequences as s; "
        f"out = s.{worker}(*{arguments!r}); out['megabytes'] = s.peak_megabytes(); "
        "print('RESULT' + json.dumps(out))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT"))
    return json.loads(line.removeprefix("RESULT"))


class Kept:
    """Parts that are done, in a temporary file: a benchmark that was stopped goes on where it
    was, unless the source has changed since."""

    def __init__(self, source: str):
        self.path = Path(tempfile.gettempdir()) / "concordant-sequences.json"
        self.source = source
        old = json.loads(self.path.read_text()) if self.path.is_file() else {}
        self.done = old.get(source, {})

    def alone(self, worker: str, *arguments: Any) -> dict[str, Any]:
        key = repr((worker, arguments))
        if key not in self.done:
            self.done[key] = alone(worker, *arguments)
            self.path.write_text(json.dumps({self.source: self.done}))
        return self.done[key]


# ---- kernels against C ----

SOURCE = r"""
#include <math.h>
#include <stdlib.h>
void viterbi(const double *s, const double *e, const long *off, long n, long k,
             double *best, long *labels) {
  for (long i = 0; i < n; i++) {
    long a = off[i], T = off[i + 1] - a;
    for (long j = 0; j < k; j++) best[j] = s[a * k + j];
    for (long t = 1; t < T; t++) {
      double *old = best + (t - 1) * k, *new = best + t * k;
      for (long j = 0; j < k; j++) new[j] = old[0] + e[j];
      for (long l = 1; l < k; l++) {
        double lead = old[l];
        for (long j = 0; j < k; j++) {
          double reach = lead + e[l * k + j];
          new[j] = reach > new[j] ? reach : new[j];
        }
      }
      for (long j = 0; j < k; j++) new[j] += s[(a + t) * k + j];
    }
    long y = 0;
    for (long j = 1; j < k; j++) if (best[(T - 1) * k + j] > best[(T - 1) * k + y]) y = j;
    labels[a + T - 1] = y;
    for (long t = T - 1; t > 0; t--) {
      long c = 0; double *old = best + (t - 1) * k;
      for (long l = 1; l < k; l++) if (old[l] + e[l * k + y] > old[c] + e[c * k + y]) c = l;
      y = c; labels[a + t - 1] = y;
    }
  }
}
void marginals(const double *s, const double *x, const double *xt, const long *off, long n, long k,
               double *w, double *mu, double *pairs, double *z) {
  long L = 0;
  for (long i = 0; i < n; i++) if (off[i + 1] - off[i] > L) L = off[i + 1] - off[i];
  double *lift = w, *norm = w + L * k, *beta = norm + L, *r = beta + k;
  for (long i = 0; i < n; i++) {
    long a = off[i], T = off[i + 1] - a; double *m = mu + a * k, part = 0;
    for (long t = 0; t < T; t++) {
      const double *st = s + (a + t) * k; double top = st[0], mass = 0, *h = m + t * k;
      for (long j = 1; j < k; j++) top = st[j] > top ? st[j] : top;
      for (long j = 0; j < k; j++) lift[t * k + j] = exp(st[j] - top);
      if (!t) for (long j = 0; j < k; j++) h[j] = lift[j];
      else {
        double *o = h - k;
        for (long j = 0; j < k; j++) h[j] = o[0] * x[j];
        for (long l = 1; l < k; l++) for (long j = 0; j < k; j++) h[j] += o[l] * x[l * k + j];
        for (long j = 0; j < k; j++) h[j] *= lift[t * k + j];
      }
      for (long j = 0; j < k; j++) mass += h[j];
      for (long j = 0; j < k; j++) h[j] /= mass;
      norm[t] = mass; part += top + log(mass);
    }
    z[i] = part;
    for (long j = 0; j < k; j++) beta[j] = 1;
    for (long t = T - 1; t > 0; t--) {
      double *h = m + t * k, *o = h - k, f = 1 / norm[t];
      for (long j = 0; j < k; j++) { r[j] = beta[j] * lift[t * k + j] * f; h[j] *= beta[j]; }
      for (long l = 0; l < k; l++) for (long j = 0; j < k; j++) pairs[l * k + j] += o[l] * r[j];
      for (long j = 0; j < k; j++) beta[j] = r[0] * xt[j];
      for (long l = 1; l < k; l++) for (long j = 0; j < k; j++) beta[j] += r[l] * xt[l * k + j];
    }
    for (long j = 0; j < k; j++) m[j] *= beta[j];
  }
}
"""


def compiled(folder: str) -> Any:
    """The same recursions in C, by `cc -O3 -march=native -ffast-math`; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source, library = Path(folder, "chains.c"), Path(folder, "chains.so")
    source.write_text(SOURCE)
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def kernels(quick: bool) -> dict[str, float]:
    from concordant.kernels import chains

    rng = np.random.default_rng(0)
    n, k = (200, 22) if quick else (4000, 22)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(5, 45, n))])
    N, longest = int(offsets[-1]), 45
    nodes, table = 2.0 * rng.normal(size=(N, k)), rng.normal(size=(k, k))
    labels, values, best = np.empty(N, np.int64), np.empty(n), np.empty((longest, k))
    mu, pairs, z = np.empty((N, k)), np.zeros((1, k, k)), np.empty(n)
    first, work = np.zeros(n, np.int64), np.empty((2, longest, k))
    small, norm, go = np.empty((3 * k + 3, k)), np.empty(longest), np.empty((longest, k, k))
    tables = table.reshape(1, k, k)

    def viterbi(rows: slice = slice(0, n), best: Any = best) -> None:
        ends = offsets[rows.start : rows.stop + 1]
        chains.viterbi(nodes, tables, ends, first, 0, best, labels, values[rows])

    def marginals() -> None:
        chains.marginals(nodes, tables, offsets, first, 0, work, small, norm, go, z, mu, pairs)

    with tempfile.TemporaryDirectory() as folder:
        native = compiled(folder)
        functions: dict[str, Callable[[], Any]] = {"viterbi": viterbi, "marginals": marginals}
        if native is not None:
            e = np.exp(table - table.max())
            room = np.empty(longest * (k + 1) + 2 * k)
            turned, other, sums = np.ascontiguousarray(e.T), np.empty((N, k)), np.zeros((k, k))
            given = (nodes, table, e, turned, offsets, best, labels, room, other, sums, z)
            at = [array.ctypes.data_as(ctypes.c_void_p) for array in given]
            s, t, x, xt, off, b, y, w, m, p, part = at
            size = ctypes.c_long(n), ctypes.c_long(k)
            functions["viterbi in C"] = lambda: native.viterbi(s, t, off, *size, b, y)
            functions["marginals in C"] = lambda: native.marginals(
                s, x, xt, off, *size, w, m, p, part
            )
        least = in_turns(functions, 3 if quick else 15)
        if native is not None:
            np.testing.assert_allclose(mu, other, atol=1e-9)
    least["tokens"] = N
    return least | two_threads(viterbi, n, longest, k)


def two_threads(viterbi: Any, n: int, longest: int, k: int) -> dict[str, float]:
    """The same work by one and by two threads of the library's own."""
    from concordant.executor import Executor

    halves = [(slice(i, min(i + n // 8, n)), np.empty((longest, k))) for i in range(0, n, n // 8)]
    out = {}
    for threads in (1, 2):
        with Executor(threads) as executor:
            run = {"x": lambda: executor.map(lambda each: viterbi(*each), halves)}
            out[f"viterbi, threads: {threads}"] = in_turns(run, 10)["x"]
    return out


# ---- the benchmark ----


def measure(quick: bool) -> dict[str, Any]:
    try:
        load("conll2000")
    except DataMissing as error:
        print(f"left out: {error}", file=sys.stderr)
        return {"kernels": kernels(quick), "runs": {}, "copies": []}
    share = 0.01 if quick else 1.0
    kept = Kept(machine()["source"])
    runs = {"python-crfsuite": kept.alone("train_crfsuite", share)}
    goal = runs["python-crfsuite"]["objective"]
    for name in list(TRAININGS)[:1] if quick else TRAININGS:
        asked = goal if TRAININGS[name][0] == "log" else None
        runs[name] = kept.alone("train_ours", name, share, asked)
    few = COPIES[:1] if quick else COPIES
    copies = [kept.alone("train_copies", number, 0.05 * share) for number in few]
    kept.path.unlink(missing_ok=True)
    return {"kernels": kernels(quick), "runs": runs, "copies": copies}


def tables(content: dict[str, Any]) -> list[Table]:
    out = [_kernel_table(content["kernels"])]
    if content["runs"]:
        out += [_training_table(content["runs"]), _growth_table(content["copies"])]
    return out


def _kernel_table(least: dict[str, float]) -> Table:
    rows = []
    for name in ("viterbi", "marginals"):
        own = least[name] / least["tokens"] * 1e9
        theirs = least.get(f"{name} in C")
        rows.append([name, f"{own:.0f}"] + (
            ["–", "–"] if theirs is None
            else [f"{theirs / least['tokens'] * 1e9:.0f}", times(least[name] / theirs)]
        ))  # fmt: skip
    gain = least["viterbi, threads: 1"] / least["viterbi, threads: 2"]
    caption = (
        "Nanoseconds a token, 22 labels, one thread; the same recursions in C (-O3 -march=native "
        f"-ffast-math). Two threads of ours do {gain:.2f} times the work of one."
    )
    return Table(caption, ["kernel", "ours", "C", "against C (goal ≤ 1.3×)"], rows)


def _training_table(runs: dict[str, Any]) -> Table:
    base = runs["python-crfsuite"]
    rows = []
    for name, run in runs.items():
        goal = run.get("to_goal")
        rows.append([
            name, f"{run['seconds']:.1f}", times(base["seconds"] / run["seconds"]),
            "–" if goal is None else f"{goal:.1f} ({times(base['seconds'] / goal)})",
            f"{run['to_percent']:.1f}" if run.get("to_percent") else "–",
            f"{run['objective']:,.0f}", f"{run['gap']:.0e}" if "gap" in run else "none",
            f"{run['megabytes']:.0f}", f"{run['tokens_per_second']:,.0f}",
            f"{100 * run['f1']:.2f}",
        ])  # fmt: skip
    header = ["training", "seconds", "faster", "to CRFsuite's objective",
              "passes to a gap of 1 %", "objective", "gap", "peak MB",
              "tagged tokens/s", "test F1"]  # fmt: skip
    caption = (
        "CoNLL-2000, 211,727 tokens, features of the CRF++ template made while reading, C = 0.5 "
        "(c2 = 1), reading included. Objectives are in CRFsuite's scale; those of different routes "
        "do not compare."
    )
    return Table(caption, header, rows)


def _growth_table(copies: list[dict[str, Any]]) -> Table:
    rows = [
        [f"{run['tokens']:,}", f"{run['seconds']:.1f}", f"{run['passes']:.1f}",
         f"{run['megabytes']:.0f}"] for run in copies
    ]  # fmt: skip
    header = ["tokens", "seconds", "of these twenty passes", "peak MB"]
    return Table("The log route on 5 % of the sentences, repeated.", header, rows)


BENCHMARK = Benchmark(
    "sequences",
    "Label sequences, against python-crfsuite and C",
    "Each training ran alone in a process of its own, all cores allowed (python-crfsuite uses "
    "one), without pandas, which scikit-learn imports where it finds it. The log route is trained "
    "to a certified gap of 3e-5, the others to 1e-2. Tagging starts from lists of strings. "
    "Kernels are compiled or loaded from numba's cache before the clock starts.",
    measure,
    tables,
)
