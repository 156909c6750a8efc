"""What all benchmarks share: a clock, lines with their goals, and the report.

A topic is a module with ``lines()``, a generator of `Line`. Times are CPU seconds of the whole
process, which a busy machine disturbs less than wall-clock time; where several threads work on
purpose the line says so.
"""

from __future__ import annotations

import json
import math
import operator
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning

import maxmargin

_RELATIONS = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
}
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "python-crfsuite", "lightgbm")


@dataclass
class Check:
    """One thing that was promised: a name, what was measured, and what it was to be."""

    name: str
    value: float
    relation: str
    bound: float

    @property
    def is_met(self) -> bool:
        return bool(_RELATIONS[self.relation](self.value, self.bound))

    def __str__(self) -> str:
        text = f"{self.name} {number(self.value)} {self.relation} {number(self.bound)}"
        return text if self.is_met else f"{text} (missed)"


@dataclass
class Line:
    """One line of the table.

    ``ours`` and ``peer`` are in ``unit``, None where there is nothing of the kind. ``checks`` are
    the goals, none for a line that only informs. ``facts`` go to the JSON file.
    """

    what: str
    ours: float | None
    peer: float | None = None
    unit: str = "s"
    checks: list[Check] = field(default_factory=list)
    note: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    topic: str = ""

    @property
    def ratio(self) -> float:
        return math.nan if self.peer is None or self.ours is None else self.ours / self.peer

    @property
    def is_met(self) -> bool | None:
        return all(check.is_met for check in self.checks) if self.checks else None


def number(value: float) -> str:
    """Spell a number with about three digits that mean something.

    >>> number(0.19651), number(12.345), number(1234.5), number(0.00098)
    ('0.1965', '12.3', '1234', '0.00098')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return (
        f"{value:.2f}"
        if abs(value) >= 1
        else f"{value:.4f}"
        if abs(value) > 0.01
        else f"{value:.2g}"
    )


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds that `work` took, and what it returned.

    A run that stops early on purpose is no news: what it reached is in the line.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        value = work()
        return time.process_time() - start, value


def median_seconds(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Return the median CPU seconds of some runs, and what the last one returned."""
    runs = [cpu_seconds(work) for _ in range(repeats)]
    return statistics.median(seconds for seconds, _ in runs), runs[-1][1]


def best_of(candidates: dict[str, Callable[[], Any]], repeats: int = 3) -> tuple[str, float, Any]:
    """Return name, median CPU seconds and value of the fastest candidate."""
    timed = {name: median_seconds(work, repeats) for name, work in candidates.items()}
    name = min(timed, key=lambda name: timed[name][0])
    return name, *timed[name]


def machine() -> dict[str, Any]:
    """Describe what the numbers were measured on."""
    facts: dict[str, Any] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory GiB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "load at start": round(os.getloadavg()[0], 2),
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()) + " UTC",
        "python": platform.python_version(),
        "maxmargin": maxmargin.__version__,
    }
    for name in _PACKAGES:
        try:
            facts[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            facts[name] = "not installed"
    return facts


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


HEADER = ("what", "ours", "peer", "ratio", "goal", "met")


def cells(line: Line) -> tuple[str, ...]:
    """Return the line as the columns of `HEADER`."""
    ours, peer = (
        "" if value is None else f"{number(value)} {line.unit}".strip()
        for value in (line.ours, line.peer)
    )
    met = {True: "yes", False: "NO", None: ""}[line.is_met]
    ratio = "" if math.isnan(line.ratio) else number(line.ratio)
    return line.what, ours, peer, ratio, "; ".join(map(str, line.checks)), met


def show(lines: Iterable[Line], console: Console) -> None:
    """Print the table."""
    table = Table(title="maxmargin beside its peers", show_lines=True)
    for name in HEADER:
        right = name in ("ours", "peer", "ratio")
        table.add_column(name, justify="right" if right else "left", no_wrap=right)
    for line in lines:
        style = "red" if line.is_met is False else None
        table.add_row(*cells(line), style=style)
    console.print(table)


def write(
    lines: Sequence[Line], facts: dict[str, Any], seconds: float, folder: Path, name: str
) -> None:
    """Write the table as Markdown, and with everything else as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {**asdict(line), "ratio": line.ratio, "is_met": line.is_met, "checks": [
            {**asdict(check), "is_met": check.is_met} for check in line.checks
        ]}
        for line in lines
    ]  # fmt: skip
    report = {"machine": facts, "wall seconds": round(seconds), "lines": rows}
    text = json.dumps(_plain(report), indent=1, allow_nan=False)
    (folder / f"{name}.json").write_text(text + "\n")
    (folder / f"{name}.md").write_text(_markdown(name, lines, facts, seconds))


def _markdown(name: str, lines: Sequence[Line], facts: dict[str, Any], seconds: float) -> str:
    out = [f"# Benchmark: {name}", ""]
    out += [", ".join(f"{key} {value}" for key, value in facts.items()) + "."]
    out += [
        f"It took {seconds:.0f} s. Seconds are CPU seconds on one thread unless said.",
        "",
    ]
    out += ["| " + " | ".join(HEADER) + " |", "|---|---:|---:|---:|---|---|"]
    out += ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells(l)) + " |" for l in lines]
    notes = [f"- **{line.what}**: {line.note}" for line in lines if line.note]
    return "\n".join([*out, "", "## Notes", "", *notes, ""])


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: NaN and infinities become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
