"""Tests of all methods for factor graphs once more, with kernels that run as Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import maxmargin

TESTS = [
    "test_srmp.py",
    "test_branch.py",
    "test_passing.py",
    "test_relaxed.py",
    "test_graph_forest.py",
    "test_graph_junction.py",
    "test_hierarchy_kernels.py",
    "test_parse_kernels.py",
    "test_parse_batch.py",
    "test_contract.py",
    "test_admm.py",
    "test_graph_public.py::test_every_method_brackets_the_best_score",
    "test_graph_public.py::test_k_best_marginals_and_max_marginals",
    "../contracts/test_graph_enumeration.py",
]


def test_kernels_run_as_python():
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": str(Path(maxmargin.__path__[0]).parent),
    }
    tests = [str(Path(__file__).parent / name) for name in TESTS]
    # Limits and callbacks are no part of kernels, and their graphs are large.
    chosen = "not (callbacks or time_limit or many_nodes)"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *tests]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
