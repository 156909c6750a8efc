"""Draw docs/images/race_all.png from what race.py has measured: certified gaps against seconds.

python benchmarks/race_picture.py
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.plots import _style

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "race.json"
PICTURE = ROOT / "docs" / "images" / "race_all.png"
COLUMNS = 5

#: Solvers by colour; what is "auto" is drawn in ink and heavier.
COLOURS: dict[str, Any] = {
    "sdca": _style.COLOURS[0],
    "bcfw": _style.COLOURS[1],
    "n_slack": _style.COLOURS[2],
    "one_slack": _style.COLOURS[3],
    "one_slack(inwards=True)": _style.COLOURS[4],
    "bcfw(step='plain', cache=0)": _style.COLOURS[5],
}
#: All the others, which are far behind.
REST = _style.MUTED


def draw() -> None:
    """Write the picture of the results."""
    found = json.loads(RESULTS.read_text())["lines"]
    n_rows = math.ceil(len(found) / COLUMNS)
    figure = _style.new_figure(3.0 * COLUMNS, 2.6 * n_rows + 0.6)
    panels = figure.subplots(n_rows, COLUMNS, sharey=True, squeeze=False)
    handles: dict[str, Any] = {}
    for line, ax in zip(found, panels.flat, strict=False):
        for course in reversed(line["facts"]["courses"]):
            drawn = one(ax, course)
            handles.update(drawn)
        held = "" if line["facts"]["was_chosen_by"] else " (held out)"
        _style.dress(ax, line["what"].partition(":")[0] + held, "CPU seconds", "")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(1e-4, 1.0)
        ax.set_xlim(0.01, None)
        ax.grid(axis="y", color=_style.GRID, linewidth=0.7)
        ax.set_axisbelow(True)
    for ax in list(panels.flat)[len(found) :]:
        ax.set_visible(False)
    for row in panels:
        row[0].set_ylabel("Certified relative gap", fontsize=_style.LABEL, color=_style.INK)
    order = [name for name in ("auto", *COLOURS, "others") if name in handles]
    figure.legend(
        [handles[name] for name in order], order, loc="outside lower center", ncols=4,
        fontsize=_style.LABEL, frameon=False, labelcolor=_style.INK,
    )  # fmt: skip
    figure.savefig(PICTURE, format="png")


def one(ax: Any, course: dict[str, Any]) -> dict[str, Any]:
    """Draw a run; return its line by the name that the legend has."""
    points = course["points"]
    name = "auto" if course["solver"].startswith("auto") else course["solver"]
    at = np.array([point["seconds"] for point in points], dtype=float)
    primal, dual = (np.array([p[key] for p in points], dtype=float) for key in ("primal", "dual"))
    with np.errstate(all="ignore"):
        gap = (primal - dual) / np.abs(primal)
    known = np.isfinite(gap) & (at > 0)
    if not known.any():
        return {}
    is_auto, told = name == "auto", name if name in (*COLOURS, "auto") else "others"
    (line,) = ax.plot(
        np.maximum(at[known], 0.01), np.maximum(gap[known], 1e-6),
        color=_style.INK if is_auto else COLOURS.get(name, REST),
        linewidth=2.4 if is_auto else 1.3,
        linestyle="-" if is_auto or name in COLOURS else (0, (2, 1.5)),
    )  # fmt: skip
    return {told: line}


if __name__ == "__main__":
    draw()
