"""One seam for "evaluate a sum over chunks of data": serially or by threads.

Chunks depend on the data only, never on the number of workers, and results come back in chunk
order, so the same seed gives the same bits however many threads there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

P = TypeVar("P")
T = TypeVar("T")

CHUNK = 8192


def chunks(n: int, size: int = CHUNK) -> list[slice]:
    """Consecutive slices of at most `size` that cover ``range(n)``."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def count_workers(n_jobs: int | None) -> int:
    """Threads meant by `n_jobs`: None is every core we may use, -1 too, as in joblib."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if n_jobs is None:
        return cores or 1
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; use None for all cores")
    return n_jobs if n_jobs > 0 else max((cores or 1) + 1 + n_jobs, 1)


class Executor:
    """Maps a function over chunks with up to `n_jobs` threads. A context: it owns its threads."""

    def __init__(self, n_jobs: int | None = None):
        self.n_jobs = count_workers(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def map(self, function: Callable[[P], T], pieces: list[P]) -> list[T]:
        """Results of `function` on every piece, in the order of the pieces."""
        if self.n_jobs == 1 or len(pieces) <= 1:
            return [function(piece) for piece in pieces]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_jobs)
        return list(self._pool.map(function, pieces))


SERIAL = Executor(1)
