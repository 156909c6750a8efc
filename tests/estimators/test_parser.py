"""ParserSVM: cases of parser_cases.py as Python, and one of them compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import maxmargin
from tests.estimators.parser_cases import ARCS, X, parser


def test_cases_as_python():
    # Compiled, every combination of templates and costs would take its seconds.
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": str(Path(maxmargin.__path__[0]).parent),
    }
    cases = str(Path(__file__).with_name("parser_cases.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cases]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_compiled():
    model = parser().fit(X, ARCS)
    assert model.predict(X) == ARCS
    assert model.score(X, ARCS) == 1.0
