"""A race of solvers: how far above and below the optimum each is, by passes, calls and seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from maxmargin.plots import _style

if TYPE_CHECKING:
    from maxmargin.training.race import Course, Optimum

_X_AXES = {
    "pass_": "Passes over the data",
    "oracle_calls": "Oracle calls",
    "seconds": "CPU time (s)",
}
_LEAST = 1e-7  # what is closer to the optimum is drawn as this far


def race_panels(courses: Sequence[Course], optimum: Optimum, title: str = "") -> Figure:
    """Draw a race: primal and dual, relative to the optimum, on logarithmic scales.

    Parameters
    ----------
    courses : sequence of `maxmargin.training.race.Course`
        Those without points are left out.
    optimum : `maxmargin.training.race.Optimum`
    title : str

    Examples
    --------
    >>> from maxmargin.training.race import Course, Optimum, Point
    >>> points = [Point(i, 10 * i, 0.1 * i, 1.0 + 0.5**i, 1.0 - 0.5**i) for i in range(1, 9)]
    >>> figure = race_panels([Course("bcfw", points, "converged")], Optimum(1.0, 1.0))
    >>> len(figure.axes)
    6
    """
    figure = _style.new_figure(11.0, 6.8)
    panels = figure.subplots(2, 3, sharex="col", sharey="row")
    shown = [course for course in courses if course.points]
    for row, (name, sign) in enumerate((("primal", 1.0), ("dual", -1.0))):
        best = optimum.dual if name == "primal" else optimum.primal
        for ax, (x, label) in zip(panels[row], _X_AXES.items(), strict=True):
            _draw(ax, shown, x, name, sign, best)
            told = f"{name.capitalize()} suboptimality, relative"
            _style.dress(ax, "", label if row else "", told if x == "pass_" else "")
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(LogLocator(numticks=12))
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.grid(axis="y", color=_style.GRID, linewidth=0.7)
            ax.set_axisbelow(True)
            if x == "oracle_calls":
                ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    handles, texts = panels[0, 0].get_legend_handles_labels()
    if title:
        figure.suptitle(title, fontsize=_style.TITLE, color=_style.INK)
    figure.legend(
        handles, texts, loc="outside lower center", ncols=4, fontsize=_style.LABEL, frameon=False,
        labelcolor=_style.INK,
    )  # fmt: skip
    return figure


def _draw(ax: Axes, courses: Sequence[Course], x: str, name: str, sign: float, best: float) -> None:
    for i, course in enumerate(courses):
        at = np.array([getattr(point, x) for point in course.points], dtype=float)
        value = np.array([getattr(point, name) for point in course.points])
        away = sign * (value - best) / abs(best)
        known = np.isfinite(away) & (at > 0)
        colour = _style.COLOURS[i % len(_style.COLOURS)]
        ax.plot(
            at[known], np.maximum(away[known], _LEAST), color=colour, linewidth=1.6,
            linestyle="-" if i < len(_style.COLOURS) else (0, (4, 1.5)),
            marker=_style.MARKERS[i % len(_style.MARKERS)], markersize=6,
            markevery=[-1] if known.any() else None, markeredgecolor="white", label=course.label,
        )  # fmt: skip
