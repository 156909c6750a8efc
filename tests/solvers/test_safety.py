"""Interrupts in the midst of plain Python, limits of memory, and data that must not be compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin.core.contract import add_difference
from maxmargin.core.problem import Problem
from maxmargin.costs import Hamming
from maxmargin.search.direct import Direct
from maxmargin.solvers import BlockFrankWolfe, NSlack, run
from maxmargin.solvers.blocks.arena import ALPHA, in_use
from maxmargin.solvers.blocks.bcfw import MOST_VISITS, _at_most
from maxmargin.solvers.blocks.dual import primal_weights
from maxmargin.structures import chain_data, chain_layout, multiclass_data
from maxmargin.structures.user.data import UserData
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing import optimum, tiny_problem
from tests.helpers import tiny_multiclass

DIRECT = Direct(1.0, 1.0)


@pytest.mark.parametrize("solver", [BlockFrankWolfe(), NSlack()], ids=str)
@pytest.mark.parametrize("call", [2, 7, 12, 25, 31])
def test_an_interrupt_between_two_lines_leaves_a_true_certificate(solver, call, monkeypatch):
    problem = tiny_problem("user")
    original = add_difference.implementations[(UserData,)]
    n_calls = 0

    def torn(*arguments):
        nonlocal n_calls
        n_calls += 1
        if n_calls == call:
            raise KeyboardInterrupt
        original(*arguments)

    monkeypatch.setitem(add_difference.implementations, (UserData,), torn)
    result, state = run(problem, solver, rng=np.random.default_rng(0), tol=1e-9, max_iter=50)
    monkeypatch.undo()
    assert result.status == "interrupted"
    np.testing.assert_allclose(state.w, primal_weights(problem, state.blocks), atol=1e-12)
    alpha = np.where(in_use(state.blocks), state.blocks.planes[:, ALPHA], 0.0)
    sums = np.add.reduceat(alpha, state.blocks.start[:-1])
    np.testing.assert_allclose(sums, 1.0, atol=1e-12)
    again, _ = run(problem, solver, rng=np.random.default_rng(0), tol=1e-6, state=state)
    assert again.status == "converged"
    best = optimum(problem)
    for bounds in (result, again):
        assert bounds.dual <= best.upper + 1e-9 and best.lower <= bounds.primal + 1e-9


def test_gap_sampling_visits_no_example_too_often(rng):
    order = rng.choice(5, size=200, p=[0.9, 0.04, 0.03, 0.02, 0.01])
    kept = _at_most(MOST_VISITS, order)
    counts = np.bincount(order, minlength=5)
    np.testing.assert_array_equal(np.bincount(kept, minlength=5), np.minimum(counts, MOST_VISITS))
    # What is left stands in the order in which it stood.
    np.testing.assert_array_equal(_at_most(len(order), order), order)


def test_weights_that_scored_best_but_did_not_converge_say_patience():
    problem = tiny_multiclass().problem(0.01)
    scores = iter([1.0] + [0.0] * 1000)
    result, _ = run(
        problem,
        BlockFrankWolfe(cache=0),
        rng=np.random.default_rng(0),
        tol=1e-3,
        validate=lambda w: next(scores),
        patience=1000,
    )
    assert result.relative_gap > 1e-3 and result.status == "patience"


X = np.ones((4, 2))


@pytest.mark.parametrize("labels", [[0, 1, 5000, 0], [0, -1, 1, 0], [0, 1]])
def test_labels_out_of_range_are_refused(labels):
    with pytest.raises(ValueError, match=r"[Ll]abels"):
        multiclass_data(X, labels, 2)
    with pytest.raises(ValueError, match=r"[Ll]abels"):
        chain_data(X, [0, 2, 4], labels, chain_layout(2, 2))


@pytest.mark.parametrize("offsets", [[0, 2, 5], [1, 2, 4], [0, 3, 2, 4], [0, 2, 2, 4], [0]])
def test_offsets_that_do_not_cut_the_rows_are_refused(offsets):
    with pytest.raises(ValueError, match="offsets must rise from 0 to 4"):
        chain_data(X, offsets, [0, 1, 0, 1], chain_layout(2, 2))


@pytest.mark.parametrize(
    "part",
    [{"borders": np.ones((3, 2))}, {"edge_barrier": np.zeros((2, 2))}, {"node_barrier": X[:3]}],
    ids=lambda part: next(iter(part)),
)
def test_parts_of_the_wrong_shape_are_refused(part):
    with pytest.raises(ValueError, match=f"{next(iter(part))} must have the shape"):
        chain_data(X, [0, 2, 4], [0, 1, 0, 1], chain_layout(2, 2), **part)
    with pytest.raises(ValueError, match="X has 2 columns but the layout 3"):
        chain_data(X, [0, 2, 4], [0, 1, 0, 1], chain_layout(3, 2))


@pytest.mark.parametrize("weight", [np.ones(3), -np.ones(4), np.full(4, np.nan)])
def test_problems_refuse_weights_that_do_not_fit(weight):
    data = multiclass_data(X, [0, 1, 0, 1], 2)
    cost = Hamming().tabulate("positions", np.arange(2), np.ones(4))
    with pytest.raises(ValueError, match="sample_weight must be 4 finite numbers >= 0"):
        Problem(
            data,
            cost,
            MarginRescaling().compiled(),
            4,
            0.1,
            sample_weight=weight,
            search=DIRECT,
        )
    with pytest.raises(ValueError, match="The data have 4 examples"):
        Problem(data, cost, MarginRescaling().compiled(), 5, 0.1, search=DIRECT)


# As Python, where every index is checked, in passes and in all kernels that they call.
FITS = """
import warnings
import numpy as np
from maxmargin.solvers import SOLVERS, run
from maxmargin.testing import tiny_problem
warnings.simplefilter("ignore")
for structure in ("multiclass", "chain", "multilabel"):
    for features in ("dense", "csr"):
        for name, solver in SOLVERS.items():
            if not solver.has_dense_weights:
                continue
            if "listed" in solver.needs and structure != "multiclass":
                continue
            problem = tiny_problem(structure, features=features)
            result, _ = run(problem, solver(), rng=np.random.default_rng(0), max_iter=15)
            print(structure, features, name, np.isfinite(result.w).all())
"""


def test_passes_stay_within_their_arrays():
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": str(Path(maxmargin.__path__[0]).parent),
    }
    command = [sys.executable, "-c", FITS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) > 30 and all(line.endswith("True") for line in lines)
