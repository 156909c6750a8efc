"""Where torch is not installed, what needs it says which extra to install."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("statement", ["import maxmargin.deep"])
def test_the_extra_is_named(statement):
    code = f"import sys; sys.modules['torch'] = None\n{statement}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ModuleNotFoundError: maxmargin.deep needs torch" in done.stderr
    assert "pip install 'maxmargin[torch]'" in done.stderr
