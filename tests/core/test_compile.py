"""What is compiled, and how; what the cache refuses, and that it never fails a call."""

from __future__ import annotations

import functools
import math
import os
import pickle
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import types
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.extending import register_jitable

from maxmargin.core import cache as _cache
from maxmargin.core import compile as _compile
from maxmargin.core import files as _files
from maxmargin.core.compile import compiled, kernel, load_compiler, when_compiling
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


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

    monkeypatch.setattr(_files, "STARTED", math.inf)
    monkeypatch.setattr(_cache._StampedCache, "load_overload", lambda self, sig, context: None)
    function = kernel(plus_one)
    monkeypatch.setattr(type(function._cache._impl), "reduce", fail)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert function(1) == 2
    assert [w.category for w in caught] == [RuntimeWarning] * warns


def test_code_whose_symbols_are_unknown_makes_numba_load_all_it_has():
    """LLVM would end the process if it missed one."""

    class Context:
        n_refreshed = 0

        def refresh(self):
            self.n_refreshed += 1

    rtsys.initialize(cpu_target.target_context)
    context = Context()
    _cache._prepare(context, ["PyErr_Clear", "NRT_Free"])
    assert context.n_refreshed == 0
    _cache._prepare(context, ["PyErr_Clear", "no_such_symbol"])
    assert context.n_refreshed == 1


def test_flush_removes_the_entries_of_this_function_only(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_files, "STARTED", math.inf)  # even if somebody edits as this runs
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


def test_a_users_own_compiled_function_may_call_ours(tmp_path):
    """By the entry point that numba looks for; here as if this alone were installed."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    folder = tmp_path / "entry-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: entry\nVersion: 1.0\n")
    given = points["numba_extensions"]["init"]
    (folder / "entry_points.txt").write_text(f"[numba_extensions]\ninit = {given}\n")
    (tmp_path / "own.py").write_text(
        "from maxmargin.core.compile import jitable\nimport numba\n"
        "@jitable\ndef double(x):\n    return 2 * x\n"
        "@numba.njit\ndef quadruple(x):\n    return double(double(x))\n"
        "assert quadruple(3) == 12\n"
    )
    home = Path(_compile.__file__).parents[2]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(home)])}
    command = [sys.executable, "-W", "error", str(tmp_path / "own.py")]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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
        with pytest.raises(_cache.UntraceableError):
            _cache._describe(refused, set())
