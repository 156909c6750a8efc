"""What is said while code is compiled, and what is kept of how long it took."""

from __future__ import annotations

import io
import json
import sys
import time
from typing import NamedTuple

import numba
import numpy as np
import pytest

from maxmargin import MulticlassSVM
from maxmargin.cli.progress import LiveTable
from maxmargin.core import cache
from maxmargin.core import news as _compiling
from maxmargin.core.compile import compiled, jitable, kernel
from maxmargin.core.news import Compilation, compiling_shown, compiling_watched


class Points(NamedTuple):
    x: np.ndarray
    scale: float


@jitable
def inner(points):
    return points.x.sum() * points.scale


def outer(points):
    return inner(points) + 1.0


POINTS = Points(np.ones(3), 2.0)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def outside(monkeypatch, tmp_path):
    """A function with a cache of its own, compiled anew each time that this is called."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    compiled.cache_clear()
    yield lambda: kernel(outer)
    compiled.cache_clear()


def test_one_function_is_news_once_with_what_it_calls(outside, tmp_path):
    told = []
    with compiling_watched(told.append, lambda: told.append("end")) as watch:
        assert outside()(POINTS) == 7.0
    assert told == [watch.seconds[0][0], "end"] and watch.compiled == 1
    news, seconds = watch.seconds[0]
    assert news.function == f"{__name__}.outer" and news.what == "inference (outer) for Points"
    assert seconds > 0 and news.usual == 1.0  # nothing is known yet

    # What comes from the cache is no news.
    with compiling_watched(told.append) as watch:
        assert outside()(POINTS) == 7.0
    assert watch.compiled == 0 and len(told) == 2


def test_all_that_is_waited_for_the_compiler_is_counted_by_the_clock(outside, monkeypatch):
    """Also where others use the processor, and for reading and writing the cache."""
    save = cache._StampedCache.save_overload

    def slowly(self, sig, data):
        time.sleep(0.2)
        save(self, sig, data)

    monkeypatch.setattr(cache._StampedCache, "save_overload", slowly)
    began = time.perf_counter()
    with compiling_watched() as watch:
        outside()(POINTS)
    spent = time.perf_counter() - began
    assert watch.seconds[0][1] + 0.2 <= watch.waited <= spent
    with compiling_watched() as watch:
        outside()(POINTS)  # from the cache
    assert watch.compiled == 0 and watch.waited > 0.0
    with compiling_watched() as watch:
        compiled(outer)
        time.sleep(0.01)
    assert watch.waited == 0.0  # nothing was called


def test_seconds_and_budget_of_a_run_leave_waiting_out(monkeypatch):
    monkeypatch.setenv("MAXMARGIN_MODE", "python")
    lock, X = numba.core.compiler_lock.global_compiler_lock, np.eye(6)[:, :3]
    clock = [0.0]  # it stands still but for the compiler, so that no machine is too slow
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    def compile_something(event):
        with lock:
            clock[0] += 0.3

    model = MulticlassSVM(time_budget=0.3, max_iter=3, tol=0.0, solver="sgd", random_state=0)
    model.fit(X, np.arange(6) % 3, callbacks=[compile_something])
    assert model.result_.n_iter == 3
    assert clock[0] == pytest.approx(0.9)
    assert model.result_.seconds == pytest.approx(0.0, abs=1e-9)


def test_seconds_are_kept_beside_the_code_for_the_next_time(outside, tmp_path):
    with compiling_watched() as watch:
        outside()(POINTS)
    (file,) = tmp_path.rglob(_compiling.FILE)
    assert list(file.parent.glob("*.nbc")) and not list(file.parent.glob("*.tmp"))
    known = json.loads(file.read_text())
    assert list(known.values()) == [round(watch.seconds[0][1], 2)]
    file.write_text(json.dumps(dict.fromkeys(known, 42.0)))
    for entry in file.parent.glob("*.nbc"):
        entry.unlink()
    with compiling_watched() as watch:
        outside()(POINTS)
    news, _ = watch.seconds[0]
    assert news.usual == 42.0 and "usually about 42 s" in str(news)


@pytest.mark.parametrize(
    "text", ["", "[1]", '{"a": "b", "c": 1e999, "d": -1, "e": true}', "[" * 50_000, "\ufffd\x00"]
)
def test_a_damaged_file_of_seconds_is_as_good_as_none(tmp_path, text):
    (tmp_path / _compiling.FILE).write_text(text, encoding="utf-8")
    assert _compiling._read_seconds(tmp_path) == {}
    _compiling._write_seconds(tmp_path, {"f": 1.5})
    assert _compiling._read_seconds(tmp_path) == {"f": 1.5}


def test_a_folder_that_cannot_be_written_keeps_nothing(outside, tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError("read-only")

    monkeypatch.setattr(_compiling.tempfile, "mkstemp", refuse)
    with compiling_watched() as watch:
        outside()(POINTS)
    assert watch.compiled == 1 and not list(tmp_path.rglob(_compiling.FILE))


def test_a_line_elsewhere_and_a_spinner_on_a_terminal(outside, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with compiling_shown():
        outside()(POINTS)
    assert stream.getvalue() == (
        "Compiling inference (outer) for Points: usually about a second, the first time only.\n"
    )
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with compiling_shown(False):
        kernel(outer)(Points(np.ones(3, dtype=np.float32), 2.0))
    assert stream.getvalue() == ""
    with compiling_shown():
        kernel(outer)(Points(np.ones(3, dtype=np.int64), 2.0))
    assert "Compiling inference (outer)" in stream.getvalue()


def test_a_failure_ends_the_spinner():
    told = []
    with (
        pytest.raises(numba.core.errors.TypingError),
        compiling_watched(told.append, lambda: told.append("end")),
    ):
        kernel(outer)("text")
    assert told[1:] == ["end"]


def test_the_live_table_turns_a_spinner_while_compiling():
    table = LiveTable()
    assert table.render() == "Preparing."
    table.begin_compiling(Compilation("f", "prediction (f)", 3.0))
    assert "Compiling prediction (f): usually about 3 s" in str(table.render().text)
    uncached = Compilation("f", "prediction (f)", 3.0, is_kept=False)
    assert str(uncached).endswith("in every process, as nothing is cached.")
    table.end_compiling()
    assert table.render() == "Preparing."


def test_fit_says_so_when_it_is_verbose(monkeypatch, capsys):
    """Without compiling: that the watch is on is enough."""
    shown = []

    def stand_in(is_shown=True):
        shown.append(is_shown)
        return compiling_watched()

    monkeypatch.setattr("maxmargin.training.fit.compiling_shown", stand_in)
    for verbose in (0, 1):
        MulticlassSVM(verbose=verbose).fit([[0.0], [1.0]], [0, 1])
    assert shown == [False, True]
