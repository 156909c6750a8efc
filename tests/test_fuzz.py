"""The fuzzing harness: what it must find, it finds; what it may meet, it counts."""

from __future__ import annotations

import os
import random
import signal
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from fuzz import container, kit, mutate, run  # noqa: E402

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="inputs run in forked processes")


@pytest.fixture
def fuzz(tmp_path, monkeypatch):
    """Fuzz a target that does something once an input has more than 12 bytes."""

    def fuzz_it(then, inputs=200):
        def run_input(data):
            if data[:1] == b"!":
                raise ValueError("refused")
            if len(data) > 12:
                then(data)

        target = types.SimpleNamespace(seeds=lambda: [b"a 1:2\n"], run=run_input)
        monkeypatch.setitem(sys.modules, "fuzz.targets.tried", target)
        options = run.parse(["--inputs", str(inputs), "--findings", str(tmp_path / "found")])
        options.inputs = inputs
        counts = run.fuzz_target("tried", options, 1e9)
        found = sorted((tmp_path / "found").glob("*.txt")) if counts["findings"] else []
        return counts, [path.read_text() for path in found]

    return fuzz_it


def test_what_is_accepted_and_refused_is_counted_and_repeats(fuzz):
    def refuse(data):
        raise ValueError("too long")

    counts, found = fuzz(refuse)
    assert counts["inputs"] == 200 and counts["findings"] == 0 and not found
    assert counts["accepted"] > 0 and counts["refused"] > 0
    assert counts["accepted"] + counts["refused"] == 200
    again, _ = fuzz(refuse)
    assert {**again, "seconds": 0} == {**counts, "seconds": 0}


def test_other_errors_are_findings(fuzz):
    def fail(data):
        raise KeyError("w")

    counts, found = fuzz(fail)
    assert counts["inputs"] == 200 and counts["findings"] > 0
    assert len(found) == 1 and "KeyError: 'w'" in found[0]  # one file for one place


def test_a_crash_is_a_finding_and_the_rest_goes_on(fuzz):
    counts, found = fuzz(lambda data: os.kill(os.getpid(), signal.SIGSEGV), inputs=60)
    assert counts["crashes"] > 0 and counts["findings"] == counts["crashes"]
    assert all(f"exit code {-signal.SIGSEGV}" in text for text in found)


def test_memory_beyond_the_limit_is_a_finding(fuzz):
    counts, found = fuzz(lambda data: bytearray(1 << 34), inputs=30)
    assert counts["findings"] > 0
    assert any("MemoryError" in text for text in found)


def test_a_hang_is_a_finding(fuzz, monkeypatch):
    monkeypatch.setattr(run, "HANG", 0.5)
    monkeypatch.setattr(run, "MOST_CRASHES", 1)
    counts, found = fuzz(lambda data: signal.pause(), inputs=60)
    assert counts["findings"] == 1 and "no answer" in found[0]


def test_errors_of_libraries_and_errors_without_a_name_are_no_refusals():
    assert kit.is_refusal(ValueError("x"))
    assert not kit.is_refusal(UnicodeDecodeError("utf-8", b"", 0, 1, "x"))
    assert not kit.is_refusal(KeyError("x"))
    with pytest.raises(kit.Unnamed), kit.reading(b"", ".mm") as path:
        raise ValueError("something is wrong")
    assert not os.path.exists(path)


def test_containers_are_taken_apart_and_put_together(tmp_path):
    import numpy as np

    from maxmargin.persistence import read, write

    path = tmp_path / "a.mm"
    write(path, "model", {"a": [1, 2.5]}, {"w": np.arange(3.0), "e": np.zeros((2, 2), np.int32)})
    data = path.read_bytes()
    head, tensors = container.split(data)
    assert head["meta"] == {"a": [1, 2.5]} and set(tensors) == {"w", "e"}
    path.write_bytes(container.join(head, tensors))
    assert read(path).arrays["w"].tolist() == [0.0, 1.0, 2.0]
    rng = random.Random(0)
    changed = {container.mutate(data, rng) for _ in range(300)}
    assert len(changed) > 200
    assert len({mutate.mutate_bytes(b"1 2:3\n", rng) for _ in range(300)}) > 200
