"""Reproduce the published tables and figures: all of them, or those named.

Without names every experiment is run and ``docs/reproduction.md`` is written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments import (
    chunking,
    hybrid_graphs,
    hybrid_mixtures,
    hybrid_one_point,
    thesis_abstention,
    thesis_figures,
    thesis_ordinal,
    thesis_table2,
    thesis_table7,
    thesis_table8,
    tracking,
    word_alignment,
)
from experiments.common import RESULTS, ROOT, DataMissing, Experiment, Options
from experiments.latent import blood, clutter, mammals
from experiments.loss_trick import digits, ranking, rates, robust
from experiments.report import Report
from experiments.tracking import timing

EXPERIMENTS = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        hybrid_one_point,
        hybrid_mixtures,
        chunking,
        hybrid_graphs,
        thesis_figures,
        thesis_table2,
        thesis_ordinal,
        thesis_abstention,
        thesis_table7,
        thesis_table8,
        ranking,
        digits,
        robust,
        rates,
        mammals,
        clutter,
        blood,
        tracking,
        timing,
        word_alignment,
    )
}
PROGRAM = "python -m experiments"
INTRODUCTION = """# Reproduction of the published experiments

This page is written by `python -m experiments` (`make reproduce`); do not edit it. Each section
is one experiment: its command, what was published, what was done here, our values beside the
published ones, and figures. The numbers behind a section, with the versions and the state of
the source that made them, are in `experiments/results/`.
"""


def parser() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {each.name:18} {each.purpose}" for each in EXPERIMENTS.values())
    out = argparse.ArgumentParser(
        prog=PROGRAM,
        description=__doc__,
        epilog=f"experiments:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    out.add_argument("names", nargs="*", metavar="NAME", help="experiments (default: all)")
    out.add_argument("--quick", action="store_true", help="reduced forms, under 15 seconds each")
    out.add_argument("--stored", action="store_true", help="report earlier results, run nothing")
    out.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    out.add_argument("--output", type=Path, help="folder for results")
    for each in EXPERIMENTS.values():
        if each.arguments:
            each.arguments(out.add_argument_group(f"only for {each.name}"))
    return out


def options_of(arguments: argparse.Namespace, experiment: Experiment) -> Options:
    """One experiment's options; quick results have a folder of their own."""
    output = arguments.output or (RESULTS / "quick" if arguments.quick else RESULTS)
    command = f"{PROGRAM} {experiment.name}" + (" --quick" if arguments.quick else "")
    shared = {"names", "quick", "stored", "jobs", "output"}
    own = {key: value for key, value in vars(arguments).items() if key not in shared}
    return Options(arguments.quick, arguments.jobs, output.resolve(), command, own)


def document(reports: list[Report], missing: list[Experiment], path: Path) -> None:
    """Write the page that joins the reports, and names what has no result yet."""
    sections = [report.text(path.parent) for report in reports]
    if missing:
        listing = [f"- `{PROGRAM} {each.name}`: {each.purpose}" for each in missing]
        sections.append("## Not run yet\n\n" + "\n".join(listing) + "\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([INTRODUCTION, *sections]), encoding="utf-8")
    print(f"wrote {path}")


def main(arguments: list[str] | None = None) -> int:
    command_line = parser()
    chosen = command_line.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in EXPERIMENTS]
    if unknown:
        command_line.error(f"no experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}")
    reports: list[Report] = []
    missing: list[Experiment] = []
    for name in chosen.names or EXPERIMENTS:
        experiment = EXPERIMENTS[name]
        try:
            reports.append(experiment.run(options_of(chosen, experiment), chosen.stored))
        except DataMissing as error:
            print(f"{PROGRAM} {name}: {error}", file=sys.stderr)
            if chosen.names or not chosen.stored:
                return 1
            missing.append(experiment)
            continue
        print(reports[-1].text(), flush=True)
    if not chosen.names:
        whole = not chosen.quick and chosen.output is None
        folder = ROOT / "docs" if whole else options_of(chosen, experiment).output
        document(reports, missing, folder / "reproduction.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
