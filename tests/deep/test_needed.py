"""Where torch is not installed, what needs it says which extra to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT_TORCH = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Missing())
"""


@pytest.mark.parametrize(
    "statement", ["import maxmargin.deep", "from maxmargin.rounding import learnt; learnt._torch()"]
)
def test_the_extra_is_named(statement):
    code = WITHOUT_TORCH + statement
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "needs torch, which is not installed" in done.stderr
    assert "pip install 'maxmargin[torch]'" in done.stderr
