"""Run the fuzzers: python fuzz/run.py [--target NAME] [--seconds S | --inputs N] [--seed K].

Every target runs in a process of its own, which may crash, hang or use up its memory: that is a
finding, and its input is written to a file that `--replay` runs again.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import multiprocessing
import os
import pkgutil
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
#: The limits of a hang, in seconds: of one input, and of the seeds, when code may be compiled.
HANG, HANG_WARM = 20.0, 600.0
MOST_CRASHES = 10


def target_names() -> list[str]:
    """Return the names of all targets."""
    return sorted(module.name for module in pkgutil.iter_modules([str(ROOT / "fuzz/targets")]))


def load(name: str) -> Any:
    return importlib.import_module(f"fuzz.targets.{name}")


def fuzz_target(name: str, options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Fuzz one target; a process that dies is followed by another until the time is over."""
    from fuzz.child import Slot, write_finding

    context = multiprocessing.get_context("fork")
    totals = dict.fromkeys(("inputs", "accepted", "refused", "findings", "traced"), 0)
    started, crashes = time.monotonic(), 0
    for round_ in range(MOST_CRASHES):
        left = options.inputs - totals["inputs"]
        remaining = seconds - (time.monotonic() - started)
        if round_ and (left <= 0 or remaining <= 0):
            break
        slot = Slot()
        process = context.Process(target=child, args=(name, options, remaining, left, round_, slot))
        process.start()
        hung = _watch(process, slot)
        counts = slot.look()
        for key in totals:
            totals[key] += counts[key]
        if process.exitcode == 0 and not hung:
            break
        if not counts["inputs"]:
            raise SystemExit(f"{name}: the target itself fails; see above.")
        crashes += 1
        what = f"no answer within {HANG:g} s" if hung else f"exit code {process.exitcode}"
        path = write_finding(options.findings, name, slot.data(), what)
        totals["findings"] += 1
        print(f"{name}: {what}: {path}", flush=True)
    totals["seconds"] = round(time.monotonic() - started, 1)
    totals["crashes"] = crashes
    return totals


def child(
    name: str, options: argparse.Namespace, seconds: float, inputs: int, round_: int, slot: Any
) -> None:
    """What the process of a target does."""
    if options.engine == "atheris":
        import atheris  # an extra

        with atheris.instrument_imports(include=["maxmargin"]):
            target = load(name)
            for room in ("estimators", "persistence", "io"):  # targets import them late
                importlib.import_module(f"maxmargin.{room}")
    else:
        target = load(name)
    from fuzz.child import Runner, fuzz, fuzz_by_coverage

    runner = Runner(target, name, slot, options.findings)
    if options.engine == "atheris":
        fuzz_by_coverage(runner, options.seed + round_ + 1, seconds, inputs)
    else:
        fuzz(runner, f"{options.seed} {name} {round_}", seconds, inputs)


def _watch(process: Any, slot: Any) -> bool:
    """Wait for a process to end; end it, and return True, when it stands still."""
    last, since = -1, time.monotonic()
    while process.is_alive():
        process.join(0.1)
        counts = slot.look()
        if counts["inputs"] != last:
            last, since = counts["inputs"], time.monotonic()
        if time.monotonic() - since > (HANG if counts["phase"] else HANG_WARM):
            process.kill()
            process.join()
            return True
    return False


def replay(name: str, path: Path) -> int:
    """Run one input in this process, with nothing caught."""
    from fuzz.kit import is_refusal

    try:
        load(name).run(path.read_bytes())
    except Exception as error:
        if not is_refusal(error):
            raise
        print(f"refused: {error}")
        return 0
    print("accepted")
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", help="one of them, and again for another")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--seconds", type=float, help="for all targets together; default 60")
    limit.add_argument("--inputs", type=int, help="for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=("own", "atheris"), default="own")
    parser.add_argument("--compiled", action="store_true", help="run compiled code, not Python")
    parser.add_argument("--findings", type=Path, default=ROOT / "fuzz" / "findings")
    parser.add_argument("--report", type=Path, help="write the counts to this JSON file")
    parser.add_argument("--replay", type=Path, help="run the input in this file; needs --target")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.target or ()) - set(target_names()))
    if unknown:
        parser.error(f"unknown target {unknown[0]}; there are: {', '.join(target_names())}")
    if options.replay and len(options.target or ()) != 1:
        parser.error("--replay needs one --target")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    # Before numba is imported. Python's own indexing is checked, and nothing has to be compiled.
    os.environ.setdefault("NUMBA_DISABLE_JIT", "0" if options.compiled else "1")
    for threads in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{threads}_NUM_THREADS"] = "1"
    if options.replay:
        return replay(options.target[0], options.replay)
    if options.engine == "atheris" and importlib.util.find_spec("atheris") is None:
        print("atheris is not installed (pip install 'maxmargin[fuzz]'): skipped.")
        return 0
    names = options.target or target_names()
    seconds = options.seconds if options.seconds is not None else 60.0
    if options.inputs is None:
        options.inputs = sys.maxsize
    else:
        seconds = 1e12 * len(names)
    if options.engine == "own":
        import maxmargin  # noqa: F401 - once, for all processes that are forked from here
    report = {}
    print(f"{'target':24}{'inputs':>10}{'accepted':>10}{'refused':>10}{'findings':>10}{'s':>8}")
    for name in names:
        report[name] = found = fuzz_target(name, options, seconds / len(names))
        cells = "".join(f"{found[key]:>10}" for key in ("inputs", "accepted", "refused"))
        print(f"{name:24}{cells}{found['findings']:>10}{found['seconds']:>8}", flush=True)
    if options.report:
        options.report.write_text(json.dumps(report, indent=1) + "\n")
    n_findings = sum(found["findings"] for found in report.values())
    if n_findings:
        print(f"{n_findings} findings, the inputs are in {options.findings}", file=sys.stderr)
    return 1 if n_findings else 0


if __name__ == "__main__":
    sys.exit(main())
