"""Shared fixtures; first, what must be set before numpy, numba or pyplot are imported."""

from __future__ import annotations

import gc
import os
from pathlib import Path

# One thread each: results repeat, and parallel test workers do not fight for the cores.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ["MPLBACKEND"] = "Agg"

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

# No deadline, because the first example may compile; derandomised, so that a failure repeats.
settings.register_profile("maxmargin", deadline=None, derandomize=True)
settings.load_profile("maxmargin")

ROOT = Path(__file__).resolve().parents[1]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let workers take files from both ends of a row, see tests/schedule.py."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.schedule import FromBothEnds

    return FromBothEnds(config, log)


def pytest_collection_finish(session):
    """Let the garbage collector pass over what was collected: it lives to the end, and is much."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng():
    """A generator with a fixed seed, fresh for every test."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_dir():
    """The folder of the real data sets; tests that need it are skipped where it is missing."""
    folder = Path(os.environ.get("MAXMARGIN_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}; set MAXMARGIN_DATA to their folder")
    return folder
