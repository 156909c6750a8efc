"""The traps of compiling with a cache, each walked into.

Most tests run a small script in new processes against a tiny package of the same shape as ours:
the real ``compile.py``, a generic function, a leaf kernel in a room that nobody has told it of, a
pass, two structures, and a user's package.
"""

from __future__ import annotations

import ast
import functools
import json
import math
import os
import pickle
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import types
from numba.extending import register_jitable

from maxmargin.core import cache as _cache
from maxmargin.core import compile as _compile
from maxmargin.core import trust as _trust
from maxmargin.core.cache import add_source
from maxmargin.core.compile import compiled, kernel, load_compiler, when_compiling

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

TINY = {
    "maxmargin/__init__.py": "",
    "maxmargin/core/__init__.py": "",
    "maxmargin/core/contract.py": """
from numba.extending import overload
TABLE = {}
def value(data, i):
    return TABLE[type(data)](data, i)
@overload(value)
def _value(data, i):
    return TABLE.get(getattr(data, "instance_class", None))
""",
    "maxmargin/attic/leaf.py": """
from maxmargin.core.compile import kernel
@kernel
def leaf(x, i):
    return x[i] + 0.0
""",
    "maxmargin/structures/own.py": """
from typing import Any, NamedTuple
from maxmargin.core.contract import TABLE
from maxmargin.attic.leaf import leaf
class Own(NamedTuple):
    x: Any
    n: int
class Uniform(NamedTuple):  # all fields of one type: numba calls this a NamedUniTuple
    x: Any
    y: Any
def own_value(data, i):
    return leaf(data.x, i) + data.n
def uniform_value(data, i):
    return data.x[i] - data.y[i]
TABLE[Own] = own_value
TABLE[Uniform] = uniform_value
""",
    "maxmargin/solvers/walk.py": """
from numba.extending import register_jitable
from maxmargin.core.contract import value
@register_jitable
def walk(data, order):
    total = 0.0
    for i in order:
        total += value(data, i)
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
from maxmargin.core.contract import TABLE
from user.types import Theirs
def theirs_value(data, i):
    return 10 * data.x[i] + data.plus - 2 * data.minus
TABLE[Theirs] = theirs_value
""",
}

# Calls the pass on one structure and reports what came and what the cache did.
SCRIPT = """
import json, sys
import numpy as np
from maxmargin.core.compile import compiled
from maxmargin.solvers.walk import walk
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


class Tiny:
    """The tiny package in a folder of its own."""

    def __init__(self, root):
        self.root = root
        for name, text in TINY.items():
            self.write(name, text)
        for module in (_cache, _compile, _trust):
            shutil.copy(module.__file__, root / "maxmargin" / "core" / Path(module.__file__).name)
        (root / "script.py").write_text(SCRIPT)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edit(self, name, old, new):
        assert old in TINY[name]
        self.write(name, TINY[name].replace(old, new))

    def run(self, kind="own", order=(0, 1), before="", flags=(), **env):
        # No byte code: Python trusts dates and sizes, and these tests edit faster than dates tick.
        clean = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
        clean |= {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"} | env
        command = [sys.executable, "-W", "error", *flags, str(self.root / "script.py")]
        command += [kind, json.dumps(list(order)), before]
        done = subprocess.run(command, env=clean, cwd=self.root, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.stderr = done.stderr
        return json.loads(done.stdout)

    def entries(self):
        return sorted(self.root.glob("**/walk.walk-*.nbc"))


@pytest.fixture
def tiny(tmp_path):
    return Tiny(tmp_path)


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A tiny package whose pass was compiled and saved by a first process, to be copied."""
    tiny = Tiny(tmp_path_factory.mktemp("warm"))
    for kind, expected in (("own", 201.0), ("theirs", 12.0), ("uniform", -2.0)):
        first = tiny.run(kind)
        assert first["result"] == first["python"] == expected
        assert (first["hits"], first["misses"]) == (0, 1)
    assert len(tiny.entries()) == 3
    return tiny.root


@pytest.fixture
def warmed(warm, tmp_path):
    """A copy of the warm package, which also shows that an installation moves with its cache."""
    shutil.copytree(warm, tmp_path / "copy")
    tiny = Tiny.__new__(Tiny)
    tiny.root = tmp_path / "copy"
    return tiny


def assert_loaded(answer, result):
    assert (answer["result"], answer["hits"], answer["misses"]) == (result, 1, 0)


def assert_compiled(answer, result):
    assert (answer["result"], answer["hits"], answer["misses"]) == (result, 0, 1)


# --- Served from the cache, and never stale


@pytest.mark.parametrize(
    ("kind", "result"),
    [("own", 201.0), pytest.param("uniform", -2.0, id="all fields of one type"), ("theirs", 12.0)],
)
def test_a_second_process_compiles_nothing(warmed, kind, result):
    assert_loaded(warmed.run(kind), result)


@pytest.mark.parametrize(
    ("file", "old", "new", "kind", "result"),
    [
        ("maxmargin/structures/own.py", "+ data.n", "- data.n", "own", -199.0),
        ("maxmargin/attic/leaf.py", "+ 0.0", "+ 0.5", "own", 202.0),
        ("user/parts.py", "10 *", "20 *", "theirs", 22.0),
        # Same type of every field, hence the same numba type by name and layout.
        (
            "user/types.py",
            "plus: float\n    minus: float",
            "minus: float\n    plus: float",
            "theirs",
            0.0,
        ),
    ],
    ids=["overload", "kernel it calls, in a new room", "user's overload", "user's class"],
)
def test_changed_source_is_compiled_anew(warmed, file, old, new, kind, result):
    warmed.edit(file, old, new)
    answer = warmed.run(kind)
    assert answer["python"] == result
    assert_compiled(answer, result)


def test_a_change_overwrites_its_entry_and_leaves_the_others(warmed):
    before = warmed.entries()
    warmed.edit("user/parts.py", "10 *", "20 *")
    assert_compiled(warmed.run("theirs"), 22.0)
    assert warmed.entries() == before
    assert_loaded(warmed.run("own"), 201.0)


def test_another_processor_has_entries_of_its_own(warmed):
    before = warmed.entries()
    other = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert_compiled(warmed.run("own", **other), 201.0)
    assert len(warmed.entries()) == len(before) + 1 and set(before) < set(warmed.entries())
    assert_loaded(warmed.run("own", **other), 201.0)
    assert_loaded(warmed.run("own"), 201.0)


def test_cache_works_after_a_users_package_is_gone(warmed):
    shutil.rmtree(warmed.root / "user")
    assert_loaded(warmed.run("own"), 201.0)


def test_an_implementation_in_another_package_counts(warmed):
    # `elsewhere` overrides the value of a type of `user`, and is no part of it.
    warmed.write(
        "elsewhere.py",
        "from maxmargin.core.cache import add_source\nfrom maxmargin.core.contract import TABLE\n"
        "from user.types import Theirs\ndef other(data, i):\n    return 7.0\n"
        "TABLE[Theirs] = other\nadd_source(Theirs, other)\n",
    )
    assert_compiled(warmed.run("theirs", before="import elsewhere"), 14.0)
    text = (warmed.root / "elsewhere.py").read_text()
    warmed.write("elsewhere.py", text.replace("7.0", "8.0"))
    assert_compiled(warmed.run("theirs", before="import elsewhere"), 16.0)


def test_source_edited_while_running_is_not_saved(tiny):
    # The process runs the old text; a hash of the new one would pass its code off as current.
    edit = (
        "from maxmargin.structures import own; text = open(own.__file__).read();"
        "open(own.__file__, 'w').write(text.replace('+ data.n', '- data.n'))"
    )
    assert_compiled(tiny.run("own", before=edit), 201.0)
    assert tiny.entries() == []
    assert_compiled(tiny.run("own"), -199.0)


def test_a_damaged_entry_is_replaced(warmed):
    for path in warmed.entries():
        path.write_bytes(path.read_bytes()[:1000])
    answer = warmed.run("own", flags=["-W", "always"])
    assert_compiled(answer, 201.0)
    assert warmed.stderr.count("RuntimeWarning: The cache of compiled code could not be read") == 1
    assert_loaded(warmed.run("own"), 201.0)


# --- Bounds


def test_boundscheck_checks_despite_a_warm_cache(warmed):
    assert warmed.run("own", [5], NUMBA_BOUNDSCHECK="1")["result"] == "IndexError"
    assert_loaded(warmed.run("own", [5]), 105.0)  # unchecked: memory behind the array


def test_boundscheck_does_not_poison_a_cold_cache(tiny):
    assert tiny.run("own", [5], NUMBA_BOUNDSCHECK="1")["result"] == "IndexError"
    assert_compiled(tiny.run("own", [5]), 105.0)
    checked = tiny.run("own", [5], NUMBA_BOUNDSCHECK="1")
    assert (checked["result"], checked["hits"]) == ("IndexError", 1)


# --- Only what nobody else can have written

PLANT = """
import pickle, sys
class Planted:
    def __reduce__(self):
        return open, (sys.argv[2], "w")
for path in sys.argv[3:]:
    stamp = open(path, "rb").readline()
    open(path, "wb").write(stamp + pickle.dumps(Planted()))
"""


def plant(tiny):
    """Put code into all entries of the cache; return the file that it makes where it runs."""
    mark = tiny.root / "it ran"
    command = [sys.executable, "-c", PLANT, "-", mark, *tiny.root.glob("**/*.nbc")]
    subprocess.run(command, check=True)
    return mark


@pytest.mark.parametrize("opened", ["file", "folder"])
def test_an_entry_that_others_can_write_never_runs(warmed, opened):
    mark = plant(warmed)
    for entry in warmed.root.glob("**/*.nbc"):
        (entry if opened == "file" else entry.parent).chmod(0o777)
    home = str(warmed.root / "home")
    answer = warmed.run("own", flags=("-W", "ignore"), XDG_CACHE_HOME=home, LOCALAPPDATA=home)
    assert_compiled(answer, 201.0)
    assert not mark.exists()
    assert (answer["path"].startswith(home)) == (opened == "folder")


def test_what_was_planted_would_run_if_it_were_ours(warmed):
    """The test above can fail."""
    mark = plant(warmed)
    warmed.run("own", flags=("-W", "ignore"))
    assert mark.exists()


def test_without_a_safe_folder_nothing_is_cached(tiny):
    for folder in ("solvers", "inference"):
        tiny.write(f"maxmargin/{folder}/__pycache__/x", "")
        (tiny.root / f"maxmargin/{folder}/__pycache__").chmod(0o777)
    before = "import os; assert not os.path.exists('~')"
    code = "import os.path; os.path.expanduser = lambda path: path"
    tiny.write("sitecustomize.py", code)  # no HOME, and a user whom the system does not know
    answer = tiny.run("own", before=before, flags=("-W", "ignore"), XDG_CACHE_HOME="")
    assert_compiled(answer, 201.0)
    assert answer["path"] is None
    assert tiny.entries() == []
    assert not (tiny.root / "~").exists()


# --- No cache, no compiler


def test_nowhere_to_write_compiles_uncached(tiny):
    # A file where a folder should be stops even root, whom permissions do not.
    for folder in ("solvers", "inference"):
        tiny.write(f"maxmargin/{folder}/__pycache__", "")
    tiny.write("home", "")
    home = str(tiny.root / "home")
    answer = tiny.run("own", HOME=home, XDG_CACHE_HOME=home, LOCALAPPDATA=home)
    assert_compiled(answer, 201.0)
    assert answer["path"] is None
    assert tiny.entries() == []


def test_disabled_jit_gives_plain_functions(tiny):
    before = (
        "from maxmargin.attic.leaf import leaf; from types import FunctionType;"
        "assert type(leaf) is FunctionType; assert compiled(walk) is walk"
    )
    assert tiny.run("own", before=before, NUMBA_DISABLE_JIT="1")["result"] == 201.0
    assert tiny.entries() == []


def test_functions_entered_at_a_prompt_are_not_cached():
    scope = {"kernel": kernel}
    exec("@kernel\ndef twice(x):\n    return 2 * x", scope)
    assert scope["twice"](4) == 8
    assert scope["twice"].stats.cache_path is None


@pytest.fixture
def unwarned(monkeypatch):
    monkeypatch.setattr(_cache, "_WARNED", type(_cache._WARNED)())


def plus_one(x):
    return x + 1


def test_a_changed_private_api_warns_once_and_compiles(monkeypatch, unwarned):
    def fail(self, function):
        raise TypeError("takes other arguments")

    monkeypatch.setattr(_cache.FunctionCache, "__init__", fail)
    with pytest.warns(RuntimeWarning, match="could not be opened.*takes other arguments"):
        assert kernel(plus_one)(1) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel(plus_one)(1) == 2


@pytest.mark.parametrize(
    ("error", "warns"), [(OSError(28, "No space left on device"), False), (KeyError("_x"), True)]
)
def test_failing_to_save_does_not_fail_the_call(monkeypatch, unwarned, error, warns):
    def fail(self, data):
        raise error

    monkeypatch.setattr(_cache, "_STARTED", math.inf)
    monkeypatch.setattr(_cache._StampedCache, "load_overload", lambda self, sig, context: None)
    function = kernel(plus_one)
    monkeypatch.setattr(type(function._cache._impl), "reduce", fail)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert function(1) == 2
    assert [w.category for w in caught] == [RuntimeWarning] * warns


def test_flush_removes_the_entries_of_this_function_only(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_cache, "_STARTED", math.inf)  # even if somebody edits as this runs
    function, other = kernel(plus_one), kernel(sum_of)
    function(1), function(1.0), other(1, 2)
    assert len(list(tmp_path.rglob("*plus_one*.nbc"))) == 2
    function._cache.flush()
    assert list(tmp_path.rglob("*plus_one*.nbc")) == []
    assert len(list(tmp_path.rglob("*sum_of*.nbc"))) == 1


# --- What is compiled, and how


def sum_of(a, b):
    return a + b


def test_options():
    plain, fast = kernel(plus_one), kernel(fastmath=True)(plus_one)
    assert plain.targetoptions["nogil"] is plain.targetoptions["nopython"] is True
    assert plain.targetoptions["error_model"] == "numpy"
    assert "fastmath" not in plain.targetoptions
    assert fast.targetoptions["fastmath"] == {"reassoc", "contract", "nsz", "arcp"}
    assert plain._cache._options != fast._cache._options
    assert plain.signatures == []  # nothing is compiled before it is called


@kernel(fastmath=True)
def count_special(values):
    n = 0
    for value in values:
        n += np.isnan(value) or value == np.inf
    return n


@kernel
def ratio(a, b):
    return a / b


def test_nan_infinity_and_division_by_zero_are_kept():
    assert count_special(np.array([1.0, np.nan, np.inf])) == 2
    assert ratio(1.0, 0.0) == np.inf


@register_jitable
def half(pair):
    return pair.a / 2


class Pair(NamedTuple):
    a: float
    b: float


def test_compiled_is_one_twin_and_leaves_the_function():
    assert compiled(half) is compiled(half)
    assert compiled(half)(Pair(3.0, 1.0)) == half(Pair(3.0, 1.0)) == 1.5
    assert type(half) is type(plus_one)
    assert compiled(ratio) is ratio


def ratio_of_pair(pair):
    return ratio(pair.a, pair.b)


def test_a_kernel_is_a_function_until_it_is_called():
    assert ratio.__name__ == "ratio" and ratio.__module__ == __name__
    assert ratio.py_func(3.0, 2.0) == 1.5
    assert pickle.loads(pickle.dumps(ratio)) is ratio
    assert compiled(ratio_of_pair)(Pair(3.0, 2.0)) == 1.5
    with pytest.raises(AttributeError, match="no_such"):
        _ = ratio.no_such


def test_what_waits_for_the_compiler_comes_once_and_in_order(monkeypatch):
    told = []
    monkeypatch.setattr(_compile, "_is_loaded", False)
    monkeypatch.setattr(_compile, "_WAITING", [])
    for number in range(3):
        call_off = when_compiling(functools.partial(told.append, number))
    call_off()
    assert told == []
    load_compiler(), load_compiler()
    assert told == [0, 1]
    when_compiling(functools.partial(told.append, 3))()
    assert told == [0, 1, 3]


@pytest.mark.parametrize("wrong", [3, len, Pair])
def test_only_functions_are_compiled(wrong):
    with pytest.raises(TypeError, match="Only a Python function can be compiled"):
        kernel(wrong)


class Outer(NamedTuple):
    pair: Pair
    x: np.ndarray


def test_types_are_spelled_with_every_class_in_them():
    data = (Outer(Pair(1.0, 2.0), np.zeros(2)), 1)
    classes = set()
    text = _cache._describe(numba.typeof(data), classes)
    assert classes == {Outer, Pair}
    assert f"{__name__}:Pair" in text
    assert "array(float64, 1d, C)" in text
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    assert text != _cache._describe(numba.typeof((Outer(data[0][0], frozen), 1)), set())


def test_untraceable_types_are_refused_but_run(tmp_path, monkeypatch):
    class Local(NamedTuple):
        a: float
        b: float

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    function = kernel(half)
    assert function(Local(3.0, 1.0)) == 1.5
    assert list(tmp_path.rglob("*.nbc")) == []
    local = numba.typeof(Local(3.0, 1.0))
    record = numba.typeof(np.zeros(2, dtype=[("a", float)]))
    for refused in (local, types.Tuple([local, types.int64]), record, numba.typeof(ratio)):
        with pytest.raises(_cache._UntraceableError):
            _cache._describe(refused, set())


def test_add_source_adds_the_file_of_the_implementation(monkeypatch):
    monkeypatch.setattr(_cache, "_STARTED", math.inf)
    monkeypatch.setattr(_cache, "_ADDED", {})
    before = _cache._stamp("maxmargin.core.compile", {Pair})
    assert before == _cache._stamp("maxmargin.core.compile", {Pair})
    add_source(Pair, json.dumps)
    assert before != _cache._stamp("maxmargin.core.compile", {Pair})


def test_the_stamp_covers_our_kernels():
    files = {Path(file).relative_to(_cache._PACKAGE) for file in _cache._kernel_files()}
    assert {Path("core/compile.py"), Path("core/dispatch.py")} <= files
    assert any(file.parts[0] == "inference" for file in files)
    # A room that is left out is there: a name that was moved would leave out nothing, or too much.
    assert all((_cache._PACKAGE / name).exists() for name in _cache._ABOVE)


def imported_names(path):
    """Yield all that a file imports, at the top or within functions, as full names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_compiled_code_can_be_written_in_what_the_stamp_leaves_out():
    """What is stamped imports nothing of it, and so cannot call it, compiled or not."""
    above = {name.removesuffix(".py") for name in _cache._ABOVE}
    for file in map(Path, _cache._kernel_files()):
        for name in imported_names(file):
            top, _, rest = name.partition(".")
            room = rest.partition(".")[0]
            is_ours = top == "maxmargin"
            assert not (is_ours and room in above), f"{file.name} imports {name}"
            # `from maxmargin import X` would be one of these, if X is not a room.
            found = _cache._PACKAGE / room
            assert not is_ours or found.is_dir() or found.with_suffix(".py").exists(), name
