"""Pieces of work on threads: the only place where threads are started.

Pieces are cut by the sizes of the data alone, never by the number of threads, and no piece depends
on another. So `n_jobs` never changes a result, nor which error is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs

#: Examples per chunk of a batch oracle: at most CHUNK, and about CHUNK_CELLS cells of outputs. Does
#: not depend on the number of threads.
CHUNK = 256
CHUNK_CELLS = 1 << 14


#: More threads than any machine has.
MOST_JOBS = 65536


def n_threads(n_jobs: Any) -> int:
    """Return the number of threads that n_jobs stands for (None: 1, -1: one per core)."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or not 1 <= abs(int(n_jobs)) <= MOST_JOBS:
        raise ValueError(
            f"n_jobs must be None or an integer other than 0 and within {MOST_JOBS}, "
            f"got {n_jobs!r}."
        )
    return int(n_jobs) if int(n_jobs) > 0 else int(effective_n_jobs(n_jobs))


def small_chunk(sizes: np.ndarray) -> int:
    """Return how many examples make a chunk of a batch oracle, given the sizes of their outputs."""
    mean_size = max(int(sizes.sum()) // max(len(sizes), 1), 1)
    return min(max(CHUNK_CELLS // mean_size, 1), CHUNK)


def cut(n: int, step: int) -> list[tuple[int, int]]:
    """Cut n examples into chunks (first, last) of `step` examples; the last one may be shorter.

    Examples
    --------
    >>> cut(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(first, min(first + step, n)) for first in range(0, n, step)]


class Workers:
    """`n_jobs` threads, of which one is the caller's; the others are started at the first use.

    A pickled copy starts threads of its own. As a context manager it ends its threads on exit.

    Parameters
    ----------
    n_jobs : int >= 1

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     workers.share(4, lambda piece, worker: piece * piece)
    [0, 1, 4, 9]
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = int(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def share(
        self,
        n_pieces: int,
        work: Callable[[int, int], Any],
        pause: Callable[[], None] | None = None,
    ) -> list[Any]:
        """Return the list of work(piece, worker) for all pieces, in order.

        Parameters
        ----------
        n_pieces : int
        work : function of the number of the piece and that of the worker, below `n_workers`
            Two pieces with the same worker are never worked on at once.
        pause : function that the caller's thread, worker 0, calls before each of its pieces, or
            None. What it raises ends the batch.

        Raises
        ------
        Exception
            What the first of the failed pieces raised.
        """
        n_workers = self.n_workers(n_pieces)
        results: list[Any] = [None] * n_pieces
        failed: dict[int, Exception] = {}
        # A free worker takes the next piece in order. So when a piece fails, all pieces before it
        # have been taken, and will be finished: the first failed piece is the same for any n_jobs.
        places = iter(range(n_pieces))

        def serve(worker: int) -> None:
            for place in places:
                try:
                    if worker == 0 and pause is not None:
                        pause()
                    results[place] = work(place, worker)
                except Exception as error:
                    failed[place] = error
                    _empty(places)

        helpers = [self._threads().submit(serve, k) for k in range(1, n_workers)]
        try:
            serve(0)
        finally:
            # After an interrupt no worker takes another piece, and all workers have stopped before
            # the next batch uses the same desks.
            _empty(places)
            wait(helpers)
        for helper in helpers:
            helper.result()
        if failed:
            try:
                raise failed[min(failed)]
            finally:
                failed.clear()  # breaks a cycle: the error refers to this frame, which has failed
        return results

    def n_workers(self, n_pieces: int) -> int:
        """Return how many threads work on n_pieces pieces."""
        return max(min(self.n_jobs, n_pieces), 1)

    def _threads(self) -> ThreadPoolExecutor:
        """Return the threads beside the caller's, kept from batch to batch."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max(self.n_jobs - 1, 1))
        return self._pool

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __getstate__(self) -> dict[str, Any]:
        return {"n_jobs": self.n_jobs, "_pool": None}


def _empty(places: Iterator[int]) -> None:
    for _ in places:
        pass
