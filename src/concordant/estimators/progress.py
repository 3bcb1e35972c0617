"""The live line of ``verbose=1``."""

from __future__ import annotations

import sys

import numpy as np


class Progress:
    """Shows pass, objective, gap and seconds on stderr; nothing unless `verbose`.

    On a terminal one line is rewritten ten times a second, elsewhere a line is written once a
    second. `close` shows the last pass.
    """

    def __init__(self, verbose: int):
        self.verbose = verbose
        self.live = bool(verbose) and sys.stderr.isatty()
        self._line = ""
        self._shown, self._shown_at = "", -1.0

    def __call__(self, n_iter: int, objective: float, gap: float, seconds: float) -> None:
        if not self.verbose:
            return
        known = [f"pass {n_iter:5d}"]
        known += [f"objective {objective:.6g}"] * (objective < np.inf)
        known += [f"gap {gap:.2e}"] * (gap < np.inf)
        self._line = "  ".join([*known, f"{seconds:.1f} s"])
        if seconds - self._shown_at >= (0.1 if self.live else 1.0):
            self._shown_at = seconds
            self._show()

    def close(self) -> None:
        """Show the last pass and end the line."""
        if self._line != self._shown:
            self._show()
        if self.live and self._shown:
            sys.stderr.write("\n")

    def _show(self) -> None:
        self._shown = self._line
        sys.stderr.write(f"\r\x1b[K{self._line}" if self.live else f"{self._line}\n")
        sys.stderr.flush()
