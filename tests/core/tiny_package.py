"""A tiny package of the same shape as ours, in a folder of its own, run in new processes.

It has the real ``compile.py``, ``dispatch.py`` and cache, generic functions, kernels in a room that
nobody has told them of, a pass, structures, and a user's package.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from maxmargin.core import cache, callee, compile, dispatch, files, names, sources, trust

TINY = {
    "maxmargin/__init__.py": "",
    "maxmargin/core/__init__.py": "",
    "maxmargin/core/contract.py": """
from maxmargin.core.compile import overloads
from maxmargin.core.dispatch import generic, generic_with_default
@generic
def value(data, i):
    'Return the value of a position.'
@generic_with_default
def bonus(data):
    return 0.0
def plus(x):
    return x + 0.0
@overloads(plus)
def _plus(x):
    return lambda x: x + 0.0
""",
    "maxmargin/attic/constants.py": """
SCALE = 1.0
LIMIT = 0.0
""",
    "maxmargin/attic/deep.py": """
from maxmargin.attic import constants
from maxmargin.attic.constants import SCALE
from maxmargin.core.compile import jitable
@jitable
def deep(x):
    return x * SCALE + constants.LIMIT
""",
    "maxmargin/attic/inline.py": """
from maxmargin.core.compile import jitable
def inlined(function):
    return jitable(function, forceinline=True)
""",
    "maxmargin/attic/middle.py": """
from maxmargin.attic.deep import deep
from maxmargin.attic.inline import inlined
@inlined
def middle(x, more=0.0):
    return deep(x) + more
@inlined
def other(x):
    return deep(x) + 1.0
""",
    "maxmargin/attic/chosen.py": """
from maxmargin.attic.middle import middle as chosen
""",
    "maxmargin/attic/leaf.py": """
from maxmargin.attic.chosen import chosen
from maxmargin.core.compile import kernel
from maxmargin.core.contract import plus
@kernel
def leaf(x, i):
    return plus(chosen(x[i]))
""",
    "maxmargin/structures/own.py": """
from typing import Any, NamedTuple
from maxmargin.attic.leaf import leaf
from maxmargin.core.contract import value
from maxmargin.core.dispatch import implements
class Own(NamedTuple):
    x: Any
    n: int
class Uniform(NamedTuple):  # all fields of one type: numba calls this a NamedUniTuple
    x: Any
    y: Any
@implements(value, Own)
def own_value(data, i):
    return leaf(data.x, i) + data.n
@implements(value, Uniform)
def uniform_value(data, i):
    return data.x[i] - data.y[i]
""",
    "maxmargin/structures/far.py": """
from typing import Any, NamedTuple
from maxmargin.attic.leaf import leaf
from maxmargin.core.contract import value
from maxmargin.core.dispatch import implements
class Far(NamedTuple):
    x: Any
    far: int
@implements(value, Far)
def far_value(data, i):
    return 0.0
""",
    "maxmargin/solvers/walk.py": """
from maxmargin.core.compile import jitable
from maxmargin.core.contract import bonus, value
@jitable
def walk(data, order):
    total = 0.0
    for i in order:
        total += value(data, i) + bonus(data)
    return total
""",
    "user/__init__.py": "",
    "user/types.py": """
from typing import Any, NamedTuple
class Theirs(NamedTuple):
    plus: float
    minus: float
    x: Any
""",
    "user/parts.py": """
from maxmargin.core.contract import value
from maxmargin.core.dispatch import implements
from user.types import Theirs
@implements(value, Theirs)
def theirs_value(data, i):
    return 10 * data.x[i] + data.plus - 2 * data.minus
""",
}

# Calls the pass on one structure and reports what came and what the cache did.
SCRIPT = """
import json, sys
import numpy as np
from maxmargin.core.compile import compiled
from maxmargin.solvers.walk import walk
import maxmargin.structures.far
kind, order = sys.argv[1], np.array(json.loads(sys.argv[2]))
x = np.arange(8.0)[:4]  # memory behind x is ours: reading too far is wrong but not undefined
if kind == "theirs":
    import user.parts
    from user.types import Theirs
    data = Theirs(3.0, 1.0, x)
elif kind == "uniform":
    from maxmargin.structures.own import Uniform
    data = Uniform(x, 3 * x)
else:
    from maxmargin.structures.own import Own
    data = Own(x, 100)
exec(sys.argv[3])
run = compiled(walk)
try:
    result = run(data, order)
except IndexError:
    result = "IndexError"
stats = getattr(run, "stats", None)
json.dump({"result": result, "python": None if result == "IndexError" else walk(data, order),
           "hits": sum(stats.cache_hits.values()) if stats else None,
           "misses": sum(stats.cache_misses.values()) if stats else None,
           "path": stats.cache_path if stats else None}, sys.stdout)
"""


# Finds what the pass is made of, for three structures; compiles nothing.
STAMPS = """
import json, sys
from maxmargin.solvers.walk import walk
import maxmargin.structures.far, user.parts
from maxmargin.structures.own import Own, Uniform
from user.types import Theirs
BEFORE
from maxmargin.core.sources import UntraceableError, sources
found = {}
for name, cls in {"own": Own, "uniform": Uniform, "theirs": Theirs}.items():
    try:
        found[name] = sources(walk, [cls]).stamp()
    except UntraceableError as error:
        found[name] = str(error)
assert "numba" not in sys.modules
json.dump(found, sys.stdout)
"""


class Tiny:
    """The tiny package in a folder of its own."""

    def __init__(self, root):
        self.root = root
        for name, text in TINY.items():
            self.write(name, text)
        for module in (cache, callee, compile, dispatch, files, names, sources, trust):
            shutil.copy(module.__file__, root / "maxmargin" / "core" / Path(module.__file__).name)
        ours = Path(cache.__file__).parent / "ahead"  # kernels look for a library, and find none
        ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.json")
        shutil.copytree(ours, root / "maxmargin" / "core" / "ahead", ignore=ignored)
        (root / "script.py").write_text(SCRIPT)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edit(self, name, old, new):
        assert old in TINY[name]
        self.write(name, TINY[name].replace(old, new))

    def run(self, kind="own", order=(0, 1), before="", flags=(), **env):
        """Call the pass in a new process, after the line `before`; return its report."""
        return self.report(self.start(kind, order, before, flags, **env))

    def start(self, kind="own", order=(0, 1), before="", flags=(), **env):
        # No byte code: Python trusts dates and sizes, and these tests edit faster than dates tick.
        clean = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
        clean |= {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"} | env
        command = [sys.executable, "-W", "error", *flags, str(self.root / "script.py")]
        command += [kind, json.dumps(list(order)), before]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=clean, cwd=self.root, stdout=pipe, stderr=pipe, text=True
        )

    def report(self, process):
        output, self.stderr = process.communicate()
        assert process.returncode == 0, self.stderr
        return json.loads(output)

    def stamps(self, before=""):
        """Return the stamps of the pass for three structures, or why there are none."""
        code = STAMPS.replace("BEFORE", before)
        env = os.environ | {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=env, cwd=self.root, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def entries(self):
        return sorted(self.root.glob("**/walk.walk-*.nbc"))


def elsewhere(module, cls, number, function="value"):
    """Return a module that implements a function for a class, and is no part of its package."""
    arguments = "data, i" if function == "value" else "data"
    return (
        f"from maxmargin.core.contract import {function}\n"
        "from maxmargin.core.dispatch import implements\n"
        f"from {module} import {cls}\n"
        f"@implements({function}, {cls})\ndef other({arguments}):\n    return {number}\n"
    )


def assert_loaded(answer, result):
    assert (answer["result"], answer["hits"], answer["misses"]) == (result, 1, 0)


def assert_compiled(answer, result):
    assert (answer["result"], answer["hits"], answer["misses"]) == (result, 0, 1)
