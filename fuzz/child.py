"""The process that runs inputs. It says what it runs in shared memory before it runs it.

So that, whatever becomes of this process, the parent has the input and all counts.
"""

from __future__ import annotations

import hashlib
import mmap
import random
import re
import resource
import struct
import sys
import time
import traceback
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

from fuzz.kit import is_refusal
from fuzz.mutate import mutate_bytes

LARGEST = 1 << 20  # bytes of an input
#: Bytes of address space beyond what the process has when it is warm.
ROOM = 512 << 20
#: Bytes that one input may take, and so many times its own length besides.
FLOOR, FACTOR = 16 << 20, 64
TRACED_EVERY = 32  # tracing makes Python several times slower
LARGEST_CORPUS = 400

FIELDS = ("phase", "inputs", "accepted", "refused", "findings", "traced", "length")
_HEAD = struct.Struct(f"<{len(FIELDS)}Q")


class Slot:
    """Counts and the input in hand, in memory that parent and child share."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _HEAD.size + LARGEST)
        self.counts = dict.fromkeys(FIELDS, 0)

    def tell(self, data: bytes | None = None) -> None:
        if data is not None:
            self._memory[_HEAD.size : _HEAD.size + len(data)] = data
            self.counts["length"] = len(data)
        self._memory[: _HEAD.size] = _HEAD.pack(*self.counts.values())

    def look(self) -> dict[str, int]:
        return dict(zip(FIELDS, _HEAD.unpack(self._memory[: _HEAD.size]), strict=True))

    def data(self) -> bytes:
        return self._memory[_HEAD.size : _HEAD.size + self.look()["length"]]


class Runner:
    """Runs the inputs of one target, counts what comes of them, writes down what should not."""

    def __init__(self, target: Any, name: str, slot: Slot, folder: Path) -> None:
        self.target, self.name, self.slot, self.folder = target, name, slot, folder
        self.tokens = tuple(getattr(target, "TOKENS", ()))
        self.floor, self.factor = getattr(target, "MEMORY", (FLOOR, FACTOR))
        self.known: set[str] = set()

    def run(self, data: bytes) -> str:
        """Run one input; return what it did, with all that goes by the input left out."""
        counts = self.slot.counts
        counts["inputs"] += 1
        self.slot.tell(data)
        traced = counts["inputs"] % TRACED_EVERY == 0
        if traced:
            counts["traced"] += 1
            tracemalloc.start()
        try:
            self.target.run(data)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            if is_refusal(error):
                counts["refused"] += 1
                outcome = _shape(str(error))
            else:
                outcome = self._found(data, error)
        else:
            counts["accepted"] += 1
            outcome = "accepted"
        if traced:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            if peak > self.floor + self.factor * len(data):
                text = f"{peak} bytes of memory at once for an input of {len(data)} bytes"
                write_finding(self.folder, self.name, data, text)
                counts["findings"] += 1
        self.slot.tell()
        return outcome

    def _found(self, data: bytes, error: BaseException) -> str:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "maxmargin" in frame.filename] or frames
        place = f"{type(error).__name__} at {ours[-1].filename}:{ours[-1].lineno}"
        self.slot.counts["findings"] += 1
        if place not in self.known:  # one file for all inputs that fail at one place
            self.known.add(place)
            text = "".join(traceback.format_exception(error))
            write_finding(self.folder, self.name, data, text)
        return place

    def mutate(self, data: bytes, rng: random.Random) -> bytes:
        own = getattr(self.target, "mutate", None)
        new = own(data, rng) if own is not None else mutate_bytes(data, rng, self.tokens)
        return new[:LARGEST]


def write_finding(folder: Path, name: str, data: bytes, text: str) -> Path:
    """Write an input that should not do what it did, and what it did."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}.bin"
    path.write_bytes(data)
    path.with_suffix(".txt").write_text(text + "\n", errors="backslashreplace")
    return path


def _shape(message: str) -> str:
    """Return an error message without the names and numbers that come from the input."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.e+-]*", "_", message)[:200]


def warm(runner: Runner) -> list[bytes]:
    """Run the seeds, with no limits but time: imports and tables are made here."""
    warnings.simplefilter("ignore")
    seeds = list(runner.target.seeds())
    outcomes = [runner.run(seed) for seed in seeds]
    if "accepted" not in outcomes:
        raise SystemExit(f"{runner.name}: no seed is accepted: {outcomes}")
    return seeds


def limit_memory() -> None:
    """Let the process grow by `ROOM` at most from here on."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    room = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))


def fuzz(runner: Runner, seed: str, seconds: float, inputs: int) -> None:
    """Run changed inputs until time or number is used up.

    An input that is refused in words not heard before joins those that are changed: messages lead
    further into a reader, as coverage would.
    """
    rng = random.Random(seed)
    seeds = warm(runner)
    corpus, heard = list(seeds), {""}
    limit_memory()
    runner.slot.counts["phase"] = 1
    end = time.monotonic() + seconds
    while runner.slot.counts["inputs"] < inputs and time.monotonic() < end:
        # Half of them from the seeds: what was refused before is refused again for the same reason.
        data = runner.mutate(rng.choice(seeds if rng.random() < 0.5 else corpus), rng)
        outcome = runner.run(data)
        if outcome not in heard and len(corpus) < LARGEST_CORPUS:
            heard.add(outcome)
            corpus.append(data)


def fuzz_by_coverage(runner: Runner, seed: int, seconds: float, inputs: int) -> None:
    """As `fuzz`, with atheris choosing what to change by the code that it reaches."""
    import atheris  # an extra

    corpus = warm(runner)
    limit_memory()
    runner.slot.counts["phase"] = 1
    folder = runner.folder / f"corpus-{runner.name}"
    folder.mkdir(parents=True, exist_ok=True)
    for i, data in enumerate(corpus):
        (folder / f"seed-{i}").write_bytes(data)

    def change(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.3:
            return bytes(atheris.Mutate(data, max_size))
        return runner.mutate(data, rng)[:max_size]

    runs = max(1, inputs - runner.slot.counts["inputs"]) if inputs < sys.maxsize else -1
    options = [f"-runs={runs}", f"-seed={seed}", f"-max_len={LARGEST}", "-rss_limit_mb=0"]
    if seconds < 1e9:
        options.append(f"-max_total_time={max(1, int(seconds))}")
    argv = [runner.name, *options, "-print_final_stats=0", "-verbosity=0", str(folder)]
    atheris.Setup(argv, lambda data: runner.run(data) and None, custom_mutator=change)
    atheris.Fuzz()
