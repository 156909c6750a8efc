"""Calls of entries from Python: what they return, and what they raise."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from maxmargin.core.erase.entries import pass_entry
from maxmargin.core.erase.invoke import can_return, invoker
from maxmargin.core.erase.words import flatten, words_at

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="nothing is compiled, so nothing is called"
)


def call(function, *arguments):
    words = []
    flatten(arguments, words)
    packed = np.array(words, dtype=np.int64)
    return invoker(*pass_entry(function).find(numba.typeof(arguments)))(words_at(packed))


def many(x, n):
    return x > 0.0, n, 2.0 * x


def three(x):
    return x, x + 1.0, x + 2.0


def is_small(x):
    return x < 1.0


def nothing(values):
    values[0] = 7.0


def refuse(n):
    if n < 0:
        raise ValueError("n is negative", n)
    if n == 0:
        raise IndexError("n is 0")
    return n


def test_results():
    assert call(many, 1.5, 3) == (True, 3, 3.0)
    assert call(three, 1.0) == (1.0, 2.0, 3.0)
    assert call(is_small, 0.5) is True and call(is_small, 1.5) is False
    values = np.zeros(2)
    assert call(nothing, values) is None and values[0] == 7.0


def test_exceptions_come_out_as_themselves():
    for _ in range(2):  # what is unpickled is remembered
        with pytest.raises(IndexError, match="n is 0"):
            call(refuse, 0)
        with pytest.raises(ValueError, match="n is negative") as caught:
            call(refuse, -3)  # its argument is known as it is raised only
        assert caught.value.args == ("n is negative", -3)
    assert call(refuse, 4) == 4


def test_what_cannot_be_returned_is_refused():
    assert not can_return("array(float64, 1d, C)") and not can_return("Tuple(int64, unicode_type)")
    with pytest.raises(TypeError, match="not unicode_type"):
        invoker(1, "unicode_type")
