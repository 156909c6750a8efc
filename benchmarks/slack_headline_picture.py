"""Draw docs/images/slack_headline.png: objective and test accuracy against seconds, by genes.

python benchmarks/slack_headline_picture.py
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullFormatter

from maxmargin.plots import _style

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "slack_headline.json"
PICTURE = ROOT / "docs" / "images" / "slack_headline.png"

#: A colour per solver and a stroke per search.
SOLVERS = {
    "n-slack": _style.COLOURS[0],
    "one-slack": _style.COLOURS[4],
    "SGD": _style.COLOURS[2],
    "block steps": _style.COLOURS[1],
}
SEARCHES: dict[str, Any] = {
    "sarawagi": (0, (1, 1.5)),
    "bisecting": (0, (4, 1.5)),
    "angular": "-",
    "hull": (0, (6, 1.5, 1, 1.5)),
}


def draw() -> None:
    """Write the picture of the results."""
    runs: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    for line in json.loads(RESULTS.read_text())["lines"]:
        genes, run = line["what"].split(": ", 1)
        runs[int(genes.split()[1])][run.partition(", to 5%")[0]] = line["facts"]
    figure = _style.new_figure(max(3.9 * len(runs), 9.0), 7.2)
    panels = figure.subplots(2, len(runs), sharex="col", sharey="row", squeeze=False)
    for column, (n, courses) in enumerate(runs.items()):
        above, below = panels[:, column]
        for name, course in courses.items():
            solver, search = name.split(", ")
            looks = {
                "color": SOLVERS[solver], "linestyle": SEARCHES[search], "linewidth": 1.5,
                "label": name,
            }  # fmt: skip
            seconds = np.array(course["seconds"])
            above.plot(seconds, np.array(course["objective"]) / course["dual"] - 1.0, **looks)
            below.plot(seconds, course["accuracy"], **looks)
        _style.dress(above, f"{n} genes", "", "Objective above the dual" if column == 0 else "")
        _style.dress(below, "", "CPU seconds", "Test labels right" if column == 0 else "")
        above.set_xscale("log")
        above.set_yscale("log")
        above.set_ylim(1e-4, 3.0)
        for ax in (above, below):
            ax.grid(axis="y", color=_style.GRID, linewidth=0.7)
            ax.set_axisbelow(True)
            ax.xaxis.set_minor_formatter(NullFormatter())
    late = [
        each["accuracy"][len(each["accuracy"]) // 3 :] for c in runs.values() for each in c.values()
    ]
    panels[1, 0].set_ylim(min(map(min, late)) - 0.005, max(map(max, late)) + 0.005)
    handles, texts = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, texts, loc="outside lower center", ncols=4, fontsize=_style.LABEL, frameon=False,
        labelcolor=_style.INK,
    )  # fmt: skip
    figure.savefig(PICTURE, format="png")


if __name__ == "__main__":
    draw()
