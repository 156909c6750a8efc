"""Draw docs/images/race_all.png from what race.py has measured: certified gaps against seconds.

docs/images/race.png is drawn anew, with the optimum as it is known by now.

python benchmarks/race_picture.py
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullFormatter

from maxmargin.plots import _style, race_panels
from maxmargin.training.race import Course, Optimum, Point

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "race.json"
OPTIMA = RESULTS.with_name("race_optima.json")
PICTURE = ROOT / "docs" / "images" / "race_all.png"
ONE = ROOT / "docs" / "images" / "race.png"
#: The problem of the other picture, and its title.
DRAWN, TITLE = "words_small", "Handwritten words, small split, lam = 1/n"
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
        ax.xaxis.set_minor_formatter(NullFormatter())  # they would overlap
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


def draw_one() -> None:
    """Write the picture of one problem: primal and dual beside the optimum."""
    lines = json.loads(RESULTS.read_text())["lines"]
    facts = next(line["facts"] for line in lines if line["what"].startswith(f"{DRAWN}:"))
    courses = [
        Course(**{**course, "points": [point_of(point) for point in course["points"]]})
        for course in facts["courses"]
    ]
    best = Optimum(**json.loads(OPTIMA.read_text())[DRAWN])
    shown = [course for course in courses if len(course.points) > 3]
    race_panels(shown, best, TITLE).savefig(ONE, format="png")


def point_of(stored: dict[str, Any]) -> Point:
    """Return a point as it was before it was written: JSON has null where there is no number."""
    return Point(**{key: math.nan if value is None else value for key, value in stored.items()})


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
    draw_one()
