"""Draw docs/images/slack_headline.png: objective and test accuracy against seconds, by genes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.plots import _style

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "slack_headline.png"

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


def draw(runs: dict[int, dict[str, dict[str, list[float]]]]) -> None:
    """Write the picture of these runs: by number of genes, and by solver and search."""
    figure = _style.new_figure(3.9 * len(runs), 7.2)
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
            above.plot(seconds, np.array(course["excess"]), **looks)
            below.plot(seconds, course["accuracy"], **looks)
        _style.dress(above, f"{n} genes", "", "Objective above the dual" if column == 0 else "")
        _style.dress(below, "", "CPU seconds", "Test labels right" if column == 0 else "")
        above.set_xscale("log")
        above.set_yscale("log")
        above.set_ylim(1e-4, 3.0)
        lows = [min(c["accuracy"][len(c["accuracy"]) // 3 :]) for c in courses.values()]
        below.set_ylim(max(0.6, min(lows) - 0.01), None)
        for ax in (above, below):
            ax.grid(axis="y", color=_style.GRID, linewidth=0.7)
            ax.set_axisbelow(True)
    handles, texts = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, texts, loc="outside lower center", ncols=4, fontsize=_style.LABEL, frameon=False,
        labelcolor=_style.INK,
    )  # fmt: skip
    figure.savefig(PICTURE, format="png")
