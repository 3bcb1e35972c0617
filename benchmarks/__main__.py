"""Run the benchmarks, all or those named, and write ``benchmarks/results``.

Without names every benchmark is run and ``benchmarks/results/README.md`` is written.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import (
    kernels,
    latent,
    letters,
    loss_trick,
    matchings,
    ordinal,
    sequences,
    startup,
    surrogates,
    training,
)
from benchmarks.common import RESULTS
from experiments.common import DataMissing

BENCHMARKS = {
    module.BENCHMARK.name: module.BENCHMARK
    for module in (
        surrogates,
        training,
        kernels,
        ordinal,
        sequences,
        letters,
        matchings,
        loss_trick,
        latent,
        startup,
    )
}
INTRODUCTION = """# Benchmarks

This page is written by `python -m benchmarks` (`make bench`); do not edit it. Every number of ours
stands beside a peer's of the same run; ratios travel between machines better than seconds.
"""


def parser() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {each.name:12} {each.title}" for each in BENCHMARKS.values())
    out = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=f"benchmarks:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    out.add_argument("names", nargs="*", metavar="NAME", help="benchmarks (default: all)")
    out.add_argument("--quick", action="store_true", help="small sizes: only to see that it runs")
    out.add_argument("--stored", action="store_true", help="the page from earlier numbers")
    out.add_argument("--output", type=Path, help="folder for results")
    return out


def main(arguments: list[str] | None = None) -> int:
    command_line = parser()
    options = command_line.parse_args(arguments)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        command_line.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    folder = options.output or (RESULTS / "quick" if options.quick else RESULTS)
    sections = []
    for name in options.names or BENCHMARKS:
        benchmark = BENCHMARKS[name]
        if options.stored:
            file = folder / f"{name}.json"
            if file.is_file():
                sections.append(benchmark.text(json.loads(file.read_text())))
            elif options.names:
                print(f"there is no {file}: run without --stored first", file=sys.stderr)
                return 1
            else:
                missing = f"Not measured yet: `python -m benchmarks {name}`."
                sections.append(f"## {benchmark.title}\n\n{missing}\n")
        else:
            try:
                sections.append(benchmark.run(options.quick, folder))
            except DataMissing as error:
                print(f"python -m benchmarks {name}: {error}", file=sys.stderr)
                return 1
        print(sections[-1], flush=True)
    if not options.names:
        (folder / "README.md").write_text("\n".join([INTRODUCTION, *sections]), encoding="utf-8")
        print(f"wrote {folder / 'README.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
