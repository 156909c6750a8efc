"""Fresh processes to measure in: what a run costs the first time, and how large it grows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import maxmargin

#: The folder that holds the package which is measured.
SOURCE = Path(maxmargin.__file__).resolve().parents[1]


def ask(
    code: str, *sources: Path | str, before: Sequence[str] = (), **variables: str
) -> dict[str, Any]:
    """Run Python code in a fresh process on one thread, and return the JSON it prints last.

    Parameters
    ----------
    code : str
    *sources : Path or str
        The folders to import from, `SOURCE` if there are none: PYTHONPATH stands before what is
        installed.
    before : sequence of str
        A command that is given the command of the process, such as ``["taskset", "-c", "1"]``.
    **variables : str
        Variables of the environment.
    """
    # The cache of compiled code lies beside the source; nothing may send it elsewhere. Python keeps
    # its byte code, as it does by default.
    unset = ("NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE")
    environment = {k: v for k, v in os.environ.items() if k not in unset} | variables
    environment["PYTHONPATH"] = os.pathsep.join(map(str, sources or [SOURCE]))
    command = [*before, sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"A measured process failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
