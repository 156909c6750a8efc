"""How the duality gap of training runs closes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from maxmargin.plots import _style

if TYPE_CHECKING:
    from maxmargin.solvers.result import Result

XAxis = Literal["passes", "oracle_calls", "seconds"]
_X_AXES = {
    "passes": ("pass_", "Passes over the data"),
    "oracle_calls": ("oracle_calls", "Oracle calls"),
    "seconds": ("seconds", "Time (s)"),
}


def convergence(
    results: Result | Sequence[Result] | Mapping[str, Result],
    x: XAxis = "passes",
    labels: Sequence[str] | None = None,
    relative: bool = True,
    tol: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the duality gap of one or several runs, on a logarithmic scale.

    Records whose gap was not computed (NaN) are left out and the line runs on between its
    neighbours. A gap of zero or below (rounding, at the optimum) has no logarithm: it is a hollow
    triangle on the lower edge. A run that never computed a gap has only an entry in the legend. The
    legend tells which runs ended otherwise than by convergence.

    Parameters
    ----------
    results : Result, fitted estimator, sequence of these, or dict of label to one
        What to draw; of an estimator, its ``result_``.
    x : {"passes", "oracle_calls", "seconds"}
        What the gap is drawn against.
    labels : sequence of str or None
        One name per run; None takes the dict's keys, or the solvers' names.
    relative : bool
        Draw gap / abs(primal), which `tol` is about, instead of the gap itself.
    tol : float or None
        Draw a line at this tolerance.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> history = [SimpleNamespace(pass_=i, primal=1.0, gap=0.5**i, seconds=0.1 * i,
    ...                            oracle_calls=100 * i) for i in range(8)]
    >>> run = SimpleNamespace(history=history, solver="bcfw", status="converged")
    >>> ax = convergence(run, x="seconds")
    >>> ax.get_xlabel(), ax.get_yscale()
    ('Time (s)', 'log')
    """
    runs, names = _named_runs(results, labels)
    _check(x, tol)
    if ax is None:
        ax = _style.new_figure(6.0, 4.0).add_subplot()
    _draw(ax, runs, names, x, relative, tol)
    title = "Convergence" if len(runs) > 1 else f"Convergence of {names[0]}"
    ax.set_title(title, loc="left", fontsize=_style.TITLE, color=_style.INK, pad=8)
    if len(runs) > 1:
        ax.legend(fontsize=_style.TICK, frameon=False, labelcolor=_style.INK)
    return ax


def convergence_panels(
    results: Result | Sequence[Result] | Mapping[str, Result],
    labels: Sequence[str] | None = None,
    relative: bool = True,
    tol: float | None = None,
) -> Figure:
    """Draw the gap against passes, oracle calls and seconds, side by side.

    Parameters are those of `convergence`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> history = [SimpleNamespace(pass_=i, primal=1.0, gap=0.5**i, seconds=0.1 * i,
    ...                            oracle_calls=100 * i) for i in range(8)]
    >>> run = SimpleNamespace(history=history, solver="bcfw", status="converged")
    >>> len(convergence_panels({"a": run, "b": run}).axes)
    3
    """
    runs, names = _named_runs(results, labels)
    _check("passes", tol)
    figure = _style.new_figure(11.0, 3.9)
    panels = figure.subplots(1, 3, sharey=True)
    for ax, x in zip(panels, _X_AXES, strict=True):
        _draw(ax, runs, names, x, relative, tol)
        if ax is not panels[0]:  # they share the axis, so the first panel speaks for all
            ax.set_ylabel("")
            for note in ax.texts:
                note.set_visible(False)
    if len(runs) == 1:
        figure.suptitle(f"Convergence of {names[0]}", fontsize=_style.TITLE, color=_style.INK)
    else:
        handles, texts = panels[0].get_legend_handles_labels()
        columns = min(len(runs), 4)
        figure.legend(
            handles, texts, loc="outside upper center", ncols=columns,
            fontsize=_style.LABEL, frameon=False, labelcolor=_style.INK,
        )  # fmt: skip
    return figure


def _named_runs(results: Any, labels: Sequence[str] | None) -> tuple[list[Any], list[str]]:
    """Return the results as a list, and one name for each."""
    if isinstance(results, Mapping):
        labels = list(results) if labels is None else labels
        results = list(results.values())
    elif hasattr(results, "history") or hasattr(results, "result_"):
        results = [results]
    elif not isinstance(results, Iterable):
        raise TypeError(f"results must be one or several Result, got {type(results).__name__}.")
    runs = [getattr(run, "result_", run) for run in results]
    if not runs:
        raise ValueError("results is empty; there is nothing to draw.")
    for i, run in enumerate(runs):
        if not hasattr(run, "history"):
            raise TypeError(f"results[{i}] must be a Result, got {type(run).__name__}.")
    if labels is None:
        labels = _numbered([str(run.solver) for run in runs])
    if len(labels) != len(runs):
        raise ValueError(f"labels must name the {len(runs)} results, got {len(labels)} of them.")
    return runs, [f"{name}{_ending(run)}" for name, run in zip(labels, runs, strict=True)]


def _numbered(names: list[str]) -> list[str]:
    """Tell runs of one solver apart."""
    count, seen = Counter(names), Counter[str]()
    for i, name in enumerate(names):
        seen[name] += 1
        if count[name] > 1:
            names[i] = f"{name} {seen[name]}"
    return names


def _ending(run: Any) -> str:
    if not any(math.isfinite(record.gap) for record in run.history):
        return " (no gap computed)"
    return "" if run.status == "converged" else f" (stopped: {run.status.replace('_', ' ')})"


def _check(x: str, tol: float | None) -> None:
    if x not in _X_AXES:
        raise ValueError(f"x must be one of {', '.join(map(repr, _X_AXES))}, got {x!r}.")
    if tol is not None and not (math.isfinite(tol) and tol > 0):
        raise ValueError(f"tol must be positive to show on a logarithmic scale, got {tol!r}.")


def _points(run: Any, x: str, relative: bool) -> tuple[np.ndarray, np.ndarray]:
    """The records with a gap: abscissas and gaps."""
    field = _X_AXES[x][0]
    rows = [(getattr(r, field), r.gap, abs(r.primal)) for r in run.history]
    at, gap, primal = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    if relative:
        # With a primal of 0 the gap is 0 as well, and the run exact.
        gap = np.divide(gap, primal, out=np.minimum(gap, 0.0), where=primal > 0)
    known = np.isfinite(gap) & np.isfinite(at)
    return at[known], gap[known]


def _draw(
    ax: Axes, runs: list[Any], names: list[str], x: str, relative: bool, tol: float | None
) -> None:
    gap_name = "Relative duality gap" if relative else "Duality gap (primal − dual)"
    _style.dress(ax, "", _X_AXES[x][1], gap_name)
    ax.set_yscale("log")
    ax.grid(axis="y", color=_style.GRID, linewidth=0.7)
    ax.set_axisbelow(True)
    points = [_points(run, x, relative) for run in runs]
    for i, ((at, gap), name) in enumerate(zip(points, names, strict=True)):
        _draw_run(ax, at, gap, name, i)
    if tol is not None:
        _draw_tolerance(ax, tol)
    seen = [g for _, gap in points for g in gap if g > 0]
    if seen:
        ax.set_ylim(*_log_limits([*seen, tol] if tol is not None else seen))
    elif not any(len(at) for at, _ in points):
        ax.tick_params(which="both", left=False, bottom=False, labelleft=False, labelbottom=False)
        ax.grid(visible=False)
        ax.text(
            0.5, 0.5, "no gap was computed", transform=ax.transAxes, ha="center", va="center",
            fontsize=_style.LABEL, color=_style.MUTED,
        )  # fmt: skip
    ax.set_xlim(left=0)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=x != "seconds", steps=[1, 2, 5, 10]))
    if x == "oracle_calls":
        ax.xaxis.set_major_formatter(EngFormatter(sep=""))


def _draw_tolerance(ax: Axes, tol: float) -> None:
    ax.axhline(tol, color=_style.MUTED, linewidth=1.0, linestyle=(0, (5, 3)), zorder=1)
    # On the left, where gaps are still far above it.
    ax.annotate(
        f"tolerance {tol:g}", (0, tol), xycoords=("axes fraction", "data"), xytext=(5, 3),
        textcoords="offset points", fontsize=_style.TICK, color=_style.MUTED,
    )  # fmt: skip


def _log_limits(values: list[float]) -> tuple[float, float]:
    """Limits with some air, and with two powers of ten inside: fewer labels cannot be read."""
    low, high = min(values) / 1.6, max(values) * 1.3
    if math.floor(math.log10(high)) - math.ceil(math.log10(low)) < 1:
        low, high = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))
    return low, high


def _draw_run(ax: Axes, at: np.ndarray, gap: np.ndarray, name: str, i: int) -> None:
    """One run's line; its marker stands at the end, so that lines differ by more than colour."""
    colour = _style.COLOURS[i % len(_style.COLOURS)]
    marker = _style.MARKERS[i % len(_style.MARKERS)]
    # When colours come round again, dashes tell the second lap from the first.
    dashes = "-" if i < len(_style.COLOURS) else (0, (4, 1.5))
    shown = gap > 0
    lines = ax.plot(
        at[shown], gap[shown], color=colour, linewidth=1.8, linestyle=dashes, marker=marker,
        markersize=6, markevery=[-1] if shown.any() else None, label=name,
        markeredgecolor="white", markeredgewidth=0.8, clip_on=False, zorder=3,
    )  # fmt: skip
    if not shown.all():
        lines += ax.plot(
            at[~shown], np.zeros(np.count_nonzero(~shown)), color=colour, linestyle="none",
            marker="v", markersize=6, markerfacecolor="white", clip_on=False, zorder=4,
            transform=ax.get_xaxis_transform(),
        )  # fmt: skip
    for line in lines:
        # An empty unclipped line would be laid out as if it reached to the figure's corner.
        line.set_in_layout(False)
