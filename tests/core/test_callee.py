"""Functions that only compiled code calls."""

from __future__ import annotations

import numba
import pytest

from maxmargin.core.compile import compiled, jitable, kernel
from maxmargin.core.erase import Pass

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="nothing is compiled, so nothing is called"
)


@kernel
def double(x):
    return 2.0 * x


@jitable
def refuse(n):
    if n < 0:
        raise ValueError("n is negative", n)
    return double(n) + 1.0


def twice_refuse(n):
    return refuse(n) + refuse(n + 1)


@pytest.mark.parametrize("caller", [compiled, Pass, numba.njit])
def test_results_and_exceptions_are_those_of_python(caller):
    run = caller(twice_refuse)
    assert run(3) == twice_refuse(3) == 16.0
    for _ in range(2):
        with pytest.raises(ValueError, match="n is negative") as caught:
            run(-5)
        assert caught.value.args == ("n is negative", -5)


def test_python_calls_what_compiled_code_calls_too():
    assert compiled(twice_refuse)(1) == 8.0
    assert double(2.0) == 4.0 and double(3) == 6.0


def test_a_callee_has_no_address_of_its_own():
    compiled(twice_refuse)(1)
    code = next(iter(double._callee.overloads.values()))
    with pytest.raises(RuntimeError, match="double is compiled for callers alone"):
        code.library.get_pointer_to_function(code.fndesc.llvm_func_name)
    asked = code.fndesc.llvm_cpython_wrapper_name
    assert code.library.get_pointer_to_function(asked) == 0
