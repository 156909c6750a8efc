"""The kernel tests once more, in a process whose compiled code checks its bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import maxmargin

KERNEL_TESTS = ["test_kernels.py", "test_labels.py"]


def test_kernels_stay_within_their_arrays(tmp_path):
    # A cache of its own: checked code must not be read from, or left in, the one that users have.
    # Not optimised: that changes no bound, and compiles in two thirds of the time.
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path / "numba"),
        "NUMBA_OPT": "0",
        "PYTHONPATH": str(Path(maxmargin.__path__[0]).parent),
    }
    tests = [str(Path(__file__).with_name(name)) for name in KERNEL_TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-rp", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    # This one runs only with checks on, and shows that they were.
    assert "test_a_short_workspace_is_noticed" in done.stdout
