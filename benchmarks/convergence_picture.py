"""Draw docs/images/yeast_convergence.png from what convergence.py has measured.

python benchmarks/convergence_picture.py
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from maxmargin.plots import _style

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "convergence.json"
PICTURE = ROOT / "docs" / "images" / "yeast_convergence.png"
FLAT = "one-slack cutting plane"

#: Runs, by what is written at their ends, with a colour and a marker each.
SEARCHES = {
    "auto": ("auto (profile)", _style.COLOURS[0], "o"),
    "hull": ("hull", _style.COLOURS[1], "s"),
    "angular": ("angular", _style.COLOURS[2], "^"),
    "bisecting": ("bisecting", _style.COLOURS[3], "D"),
}
SOLVERS = {
    "BCFW": ("block steps", _style.COLOURS[1], "s"),  # the line called hull in the other panels
    "n-slack cutting plane": ("n-slack", _style.INK, "o"),
    "SGD": ("SGD", _style.COLOURS[5], "^"),
    "one-slack, inward steps": ("one-slack,\ninward steps", _style.COLOURS[4], "D"),
    FLAT: ("one-slack", _style.MUTED, "v"),
}
Looks = dict[str, tuple[str, str, str]]


class End(NamedTuple):
    """Where a line ends, and what is written there."""

    text: str
    x: float
    y: float
    colour: str


def draw(runs: Sequence[dict[str, Any]]) -> None:
    """Write the picture of these runs."""
    figure = _style.new_figure(11.5, 4.5)
    by_seconds, by_queries, by_solver = figure.subplots(1, 3, sharey=True)
    blocks = [run for run in runs if run["solver"] == "BCFW"]
    hull = [run for run in runs if run["search"] == "hull"]
    panels: list[tuple[Axes, str, str, list[dict[str, Any]], str, Looks]] = [
        (by_seconds, "Four searches (block steps)", "CPU seconds", blocks, "search", SEARCHES),
        (by_queries, "The same, by queries", "Calls of the oracle", blocks, "search", SEARCHES),
        (by_solver, "Five solvers (hull search)", "CPU seconds", hull, "solver", SOLVERS),
    ]
    for ax, title, label, shown, key, looks in panels:
        _dress(ax, title, label)
        quantity = "queries" if ax is by_queries else "seconds"
        runs_of = {run[key]: run for run in shown}
        ends = [
            _plot(ax, runs_of[name], quantity, *look)
            for name, look in looks.items()
            if name in runs_of
        ]
        _label(ax, ends)
        if FLAT in runs_of and _is_flat(runs_of[FLAT]):
            _explain(ax, runs_of[FLAT])
    by_seconds.set_ylabel("Objective above the best lower bound", fontsize=_style.LABEL)
    figure.savefig(drawn := io.BytesIO(), dpi=110)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    # Lines and text: few colours are enough, and make a small file.
    Image.open(drawn).convert("RGB").quantize(64).save(PICTURE, optimize=True)


def _dress(ax: Axes, title: str, label: str) -> None:
    _style.dress(ax, title, label, "")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%")
    ax.grid(color=_style.GRID, linewidth=0.7)
    ax.set_axisbelow(True)


def _plot(ax: Axes, run: dict[str, Any], quantity: str, text: str, colour: str, mark: str) -> End:
    x, y = np.array(run[quantity]), np.array(run["objective"]) / run["dual"] - 1.0
    ax.plot(x, y, color=colour, marker=mark, markersize=4.0, markevery=2, linewidth=1.5)
    return End(text, x[-1], y[-1], colour)


def _label(ax: Axes, ends: list[End]) -> None:
    """Write the name of each line beside its end, none over another."""
    ax.set_xlim(right=max(end.x for end in ends) * 12.0)
    at, below = 1.35 * max(end.x for end in ends), -np.inf
    for end in sorted(ends, key=lambda end: end.y):
        below = max(np.log10(end.y), below + 0.13)
        ax.annotate(
            end.text, (end.x, end.y), xytext=(at, 10.0**below), textcoords="data",
            fontsize=_style.TICK, color=end.colour, va="center",
            arrowprops={"arrowstyle": "-", "color": end.colour, "linewidth": 0.6, "shrinkB": 2},
        )  # fmt: skip


def _is_flat(run: dict[str, Any]) -> bool:
    return run["objective"][-1] == run["objective"][0]


def _explain(ax: Axes, flat: dict[str, Any]) -> None:
    """Show why a line is flat: its run raises the lower bound, and finds no better w meanwhile."""
    colour = SOLVERS[FLAT][1]
    seconds, deficit = np.array(flat["seconds"]), 1.0 - np.array(flat["duals"]) / flat["dual"]
    ax.plot(seconds, deficit, color=colour, linewidth=1.2, linestyle=":")
    ax.annotate(
        "one-slack finds no better w\nthan that of its first pass;\nwhat it raises is its lower\n"
        f"bound (dotted: how far this\nis off, {deficit[0]:.0%} to {deficit[-1]:.0%})",
        (0.03, 0.03), xycoords="axes fraction", fontsize=_style.TICK - 0.5, color=colour,
        va="bottom",
    )  # fmt: skip


def main() -> None:
    lines = json.loads(RESULTS.read_text())["lines"]
    draw([line["facts"] for line in lines])


if __name__ == "__main__":
    main()
