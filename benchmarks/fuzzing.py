"""Inputs that the fuzzers ran, and what came of them: fuzz/run.py, target by target.

FUZZ_TARGETS="svmlight,npz" runs these alone, and keeps what was measured of the others before;
FUZZ_INPUTS=100000 asks for so many inputs of each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import Check, Line

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "benchmarks" / "results" / "fuzzing.json"
#: Inputs by the first word of a target: a model or a run is made of each of these, which takes
#: milliseconds; a reader takes a tenth of that, and there are 10^6 inputs in all.
INPUTS = {"model": 14_000, "checkpoint": 6_000, "convert": 4_000}
MANY = 150_000


def lines() -> Iterator[Line]:
    known = _known()
    targets = sorted(path.stem for path in (ROOT / "fuzz" / "targets").glob("[a-z]*.py"))
    chosen = [name for name in os.environ.get("FUZZ_TARGETS", "").split(",") if name] or targets
    total = dict.fromkeys(("inputs", "accepted", "refused", "findings"), 0)
    for name in targets:
        counts = run(name) if name in chosen else known.get(name)
        if counts is None:
            continue
        for key in total:
            total[key] += counts[key]
        yield line(name, counts)
    yield line("all targets", total)


def run(name: str) -> dict[str, Any]:
    """Fuzz one target with one seed; return its counts."""
    inputs = int(os.environ.get("FUZZ_INPUTS", INPUTS.get(name.partition("_")[0], MANY)))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, ROOT / "fuzz" / "run.py", "--target", name, "--seed", "1"]
        command += ["--inputs", str(inputs), "--report", report, "--findings", folder]
        subprocess.run(command, stdout=subprocess.DEVNULL)
        return json.loads(report.read_text())[name]


def line(name: str, counts: dict[str, Any]) -> Line:
    return Line(
        f"{name}: inputs",
        counts["inputs"],
        unit="",
        checks=[Check("findings", counts["findings"], "==", 0)],
        note=f"{counts['accepted']} accepted, {counts['refused']} refused, {counts['findings']} "
        "crashes, hangs, other errors, or more memory than their limit.",
        facts={"target": name, **counts},
    )


def _known() -> dict[str, Any]:
    """Return the counts of earlier runs."""
    if not REPORT.exists():
        return {}
    return {row["facts"]["target"]: row["facts"] for row in json.loads(REPORT.read_text())["lines"]}
