"""Fresh processes to measure in: what a run costs the first time, and how large it grows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import maxmargin

#: The folder that holds the package which is measured.
SOURCE = Path(maxmargin.__file__).resolve().parents[1]


def ask(code: str, source: Path = SOURCE) -> dict[str, Any]:
    """Run Python code in a fresh process on one thread, and return the JSON it prints last.

    Parameters
    ----------
    code : str
    source : Path
        The folder to import maxmargin from: PYTHONPATH stands before what is installed.
    """
    # The cache of compiled code lies beside the source; nothing may send it elsewhere.
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment["PYTHONPATH"] = str(source)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"A measured process failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
