"""What happens when a private part of numba moves: it is slower, and says so, or as before."""

from __future__ import annotations

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from maxmargin.core.modes import choose_mode

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

#: Takes a part away, then fits; prints the mode that passes run in.
SCRIPT = """
import sys, warnings
import numba.core.codegen, numba.core.runtime
{gone}
import numpy as np
from maxmargin import MulticlassSVM
from maxmargin.testing import tiny_problem
X = np.array([[0.0], [1.0], [2.0], [3.0]])
model = MulticlassSVM(fit_intercept=True, solver="bcfw", random_state=0).fit(X, [0, 0, 1, 1])
assert model.result_.status == "converged", model.result_
print(tiny_problem("multiclass").mode)
"""
GONE = {
    "callees": ("del numba.core.codegen.JITCodeLibrary", "erased"),
    "runtime": ("sys.modules['numba.core.runtime._nrt_python'] = None\n"
                "del numba.core.runtime._nrt_python", "typed"),
}  # fmt: skip


@pytest.mark.parametrize("part", GONE)
def test_fits_go_on_where_a_part_of_numba_is_gone(part, tmp_path):
    gone, mode = GONE[part]
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "MAXMARGIN_LIBRARY": "0"}
    env.pop("MAXMARGIN_MODE", None)
    command = [sys.executable, "-W", "default", "-c", SCRIPT.format(gone=gone)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [mode]
    assert ("Passes are compiled for each structure" in done.stderr) == (mode == "typed")


def test_an_array_of_foreign_bytes_is_named():
    data = (np.zeros(2), (1, np.zeros(2, dtype=">f8")))
    with pytest.raises(TypeError, match=r"data\.1\.1 cannot be compiled: .*>f8"):
        choose_mode(None, {"data": data}, np.dtype(np.int32))
