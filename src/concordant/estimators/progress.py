"""The live line of ``verbose=1``."""

from __future__ import annotations

import sys
from collections.abc import Callable


def reporter(verbose: int) -> Callable[[int, float, float, float], None] | None:
    """A function that shows pass, objective, gap and seconds on stderr; None when silent."""
    if not verbose:
        return None
    live = sys.stderr.isatty()
    shown_at = -1.0

    def report(n_iter: int, objective: float, gap: float, seconds: float) -> None:
        nonlocal shown_at
        if seconds - shown_at < (0.1 if live else 1.0) and n_iter > 1:
            return
        shown_at = seconds
        line = f"pass {n_iter:5d}  objective {objective:.6g}  gap {gap:.2e}  {seconds:.1f} s"
        sys.stderr.write(f"\r\x1b[K{line}" if live else f"{line}\n")
        sys.stderr.flush()

    return report


def close(verbose: int) -> None:
    """End the live line."""
    if verbose and sys.stderr.isatty():
        sys.stderr.write("\n")
