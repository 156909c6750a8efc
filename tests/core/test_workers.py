"""Pieces of work on threads, and problems that travel with theirs."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

from maxmargin.core.workers import Workers, cut
from maxmargin.structures import STRUCTURES
from maxmargin.testing import tiny_problem
from maxmargin.testing.tiny import Agreement


@pytest.mark.parametrize(("n", "step"), [(0, 3), (1, 3), (3, 3), (7, 3), (5, 1)])
def test_chunks_hold_every_example_once(n, step):
    pieces = cut(n, step)
    assert [i for piece in pieces for i in range(*piece)] == list(range(n))
    assert all(last - first <= step for first, last in pieces)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("n_pieces", [0, 1, 40])
def test_results_are_in_order_and_no_worker_is_asked_twice_at_once(n_jobs, n_pieces):
    with Workers(n_jobs) as workers:
        busy = [threading.Lock() for _ in range(workers.n_workers(n_pieces))]

        def work(piece, worker):
            assert busy[worker].acquire(blocking=False)
            try:
                return piece**2
            finally:
                busy[worker].release()

        for _ in range(3):
            assert workers.share(n_pieces, work) == [k**2 for k in range(n_pieces)]


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_the_first_piece_to_fail_says_why(n_jobs):
    done = []
    gate = threading.Event()

    def work(piece, worker):
        if piece == 3:
            gate.wait(0.05)  # the later one fails first, where there are threads
            raise ValueError("3")
        if piece == 4:
            gate.set()
            raise ValueError("4")
        done.append(piece)

    workers = Workers(n_jobs)
    with pytest.raises(ValueError, match="3"):
        workers.share(10_000, work)
    assert len(done) < 10_000
    assert workers.share(3, lambda piece, worker: piece) == [0, 1, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_interrupt_ends_the_batch(error, n_jobs):
    calls = []

    def pause():
        calls.append(threading.get_ident())
        if len(calls) == 2:
            raise error

    gate = threading.Event()

    def work(piece, worker):
        if worker > 0:  # so that the caller has a second piece to take
            gate.wait(10.0)

    def end():
        try:
            pause()
        except BaseException:
            gate.set()
            raise

    with Workers(n_jobs) as workers, pytest.raises(error):
        workers.share(100, work, end)
    assert set(calls) == {threading.get_ident()}


# -- problems --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "travel", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy], ids=["pickle", "deepcopy"]
)
def test_a_problem_travels_after_a_threaded_batch(travel, monkeypatch):
    monkeypatch.setattr("maxmargin.core.workers.CHUNK", 1)
    problem = tiny_problem("chain", n_jobs=2)
    w = np.random.default_rng(0).normal(size=problem.n_weights)
    losses, bounds = problem.losses(w)
    problem.watch = lambda: None
    calls = problem.n_oracle_calls
    there = travel(problem)
    assert there.watch is None and there.n_oracle_calls == calls == problem.n_oracle_calls
    assert there.n_jobs == 2 and there.is_compiled
    for other in (there, there.with_lam(1.0), problem.with_lam(1.0), travel(there.with_lam(1.0))):
        found = other.losses(w)
        assert (found[0] == losses).all() and (found[1] == bounds).all()
    assert there.primal(w) == problem.primal(w)
    assert there.n_oracle_calls > calls


@pytest.mark.parametrize("structure", STRUCTURES)
def test_problems_of_every_structure_travel(structure):
    problem = tiny_problem(structure, compile=False)
    w = np.random.default_rng(0).normal(size=problem.n_weights)
    losses, bounds = problem.losses(w)
    there = pickle.loads(pickle.dumps(problem))
    if structure == "user":
        assert isinstance(there.view.data.structure, Agreement)
    found = there.losses(w)
    assert np.allclose(found[0], losses, rtol=1e-12) and np.allclose(found[1], bounds, rtol=1e-12)
