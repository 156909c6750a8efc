"""Labellings of one graph side by side, and how the bound and the score of a solver close in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from maxmargin.plots import _style

_VOID = "#E4E4E4"  # nodes whose label is not known
_MOST_NAMES = 24  # labels up to which there is a legend


def labelled_graph(
    labellings: Mapping[str, Any],
    *,
    shape: tuple[int, int] | None = None,
    positions: npt.ArrayLike | None = None,
    edges: npt.ArrayLike = (),
    labels: Sequence[Any] | None = None,
    truth: str | None = None,
) -> Figure:
    """Draw labellings of one graph side by side, such as the truth and a prediction.

    Grids are drawn as images, other graphs as nodes at their positions with edges between.

    Parameters
    ----------
    labellings : dict of title to int array-like of shape (n,)
        One label per node; -1 where it is not known, which is grey. One panel each, in this order.
    shape : (int, int) or None
        Height and width of a grid whose nodes are numbered row by row.
    positions : array-like of shape (n, 2), or None
        Across and up, for graphs that are no grids. Either this or `shape` is needed.
    edges : array-like of int of shape (E, 2), default=()
        Drawn with `positions`.
    labels : sequence or None
        Names of the labels 0, 1, ...; None for numbers.
    truth : str or None
        The title of the labelling that the others are compared with: their titles then say how many
        nodes differ, those whose truth is not known left out, and these nodes are marked by a dot.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import plots
    >>> y = np.repeat([0, 0, 1, 1], 3)
    >>> seen = y.copy()
    >>> seen[[1, 7]] = 2
    >>> figure = plots.labelled_graph({"Truth": y, "Seen": seen}, shape=(4, 3), truth="Truth")
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['Truth', 'Seen: 2 of 12 wrong']
    """
    panels = _check_labellings(labellings, truth)
    n_nodes = len(next(iter(panels.values())))
    places = _check_places(shape, positions, n_nodes)
    ends = _check_edges(edges, n_nodes)
    n_labels = max(1, 1 + max(int(values.max(initial=-1)) for values in panels.values()))
    if labels is not None:
        n_labels = max(n_labels, len(labels))
    names = _style.label_names(labels, None, n_labels)
    colours = _label_colours(n_labels)
    width, height = _panel_size(shape, places)
    used = sorted({int(k) for values in panels.values() for k in np.unique(values)})
    has_legend = len(used) <= _MOST_NAMES
    n_columns = max(1, int(len(panels) * width / 1.1))
    n_rows = -(-len(used) // n_columns) if has_legend else 0
    figure = _style.new_figure(0.3 + len(panels) * width, height + 0.45 + 0.22 * n_rows)
    for ax, (title, values) in zip(
        np.atleast_1d(figure.subplots(1, len(panels))), panels.items(), strict=True
    ):
        wrong = np.zeros(n_nodes, dtype=bool)
        if truth is not None and title != truth:
            known = panels[truth] >= 0
            wrong = known & (values != panels[truth])
            title = f"{title}: {wrong.sum()} of {known.sum()} wrong"
        if shape is not None:
            _draw_grid(ax, values.reshape(shape), wrong.reshape(shape), colours)
        else:
            _draw_nodes(ax, values, wrong, places, ends, colours)
        ax.set_title(title, loc="left", fontsize=_style.LABEL, color=_style.INK, pad=5)
    if has_legend:
        figure.legend(
            handles=[
                Patch(color=_VOID if k < 0 else colours[k], label="unknown" if k < 0 else names[k])
                for k in used
            ],
            loc="outside lower center", ncols=min(n_columns, len(used)), frameon=False,
            fontsize=_style.TICK, labelcolor=_style.INK, handlelength=1.0, columnspacing=1.2,
        )  # fmt: skip
    return figure


def graph_bounds(
    progress: Mapping[str, Any] | Sequence[Sequence[float]],
    *,
    optimum: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw bound and score of solvers against their iterations: the optimum lies between.

    Parameters
    ----------
    progress : sequence of (iteration, bound, score), or dict of name to such a sequence
        What the callback of `solve_graph` is told. Infinite numbers are left out.
    optimum : float or None
        Draw a line at this score.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from maxmargin import plots
    >>> from maxmargin.datasets import make_grid
    >>> from maxmargin.inference import solve_graph
    >>> told = []
    >>> answer = solve_graph(make_grid((8, 8)), "srmp", callback=lambda *row: told.append(row))
    >>> ax = plots.graph_bounds(told)
    >>> ax.get_xlabel(), len(ax.get_lines())
    ('Iterations, or nodes of a search', 2)
    """
    runs = _check_progress(progress)
    if optimum is not None and not np.isfinite(optimum):
        raise ValueError(f"optimum must be finite, got {optimum!r}.")
    if ax is None:
        ax = _style.new_figure(6.0, 3.8).add_subplot()
    _style.dress(
        ax, "The optimum lies between bound and score", "Iterations, or nodes of a search", "Score"
    )
    ax.grid(axis="y", color=_style.GRID, linewidth=0.7)
    ax.set_axisbelow(True)
    for i, (name, rows) in enumerate(runs.items()):
        _draw_run(ax, name, rows, i)
    if optimum is not None:
        ax.axhline(
            optimum, color=_style.MUTED, linewidth=1.0, linestyle=(0, (5, 3)), zorder=1,
            label="optimum",
        )  # fmt: skip
    ax.set_xlim(left=0)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=[1, 2, 5, 10]))
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=_style.TICK, frameon=False, labelcolor=_style.INK)
    return ax


def _draw_run(ax: Axes, name: str, rows: npt.NDArray[np.float64], place: int) -> None:
    colour = _style.COLOURS[place % len(_style.COLOURS)]
    before = f"{name}: " if name else ""
    both = np.isfinite(rows[:, 1]) & np.isfinite(rows[:, 2])
    ax.fill_between(
        rows[both, 0], rows[both, 2], rows[both, 1], color=colour, alpha=0.10, linewidth=0
    )
    for column, text, look in ((1, "bound", "-"), (2, "score", (0, (4, 1.5)))):
        known = np.isfinite(rows[:, column])
        if known.any():
            # With few points each is seen; many would hide the line.
            marker = "o" if known.sum() <= 30 else ""
            ax.plot(
                rows[known, 0], rows[known, column], color=colour, linestyle=look, linewidth=1.6,
                marker=marker, markersize=3.0, label=before + text,
            )  # fmt: skip


def _draw_grid(
    ax: Axes, values: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], colours: list[str]
) -> None:
    ax.imshow(
        values + 1, cmap=ListedColormap([_VOID, *colours]), vmin=-0.5, vmax=len(colours) + 0.5,
        interpolation="nearest",
    )  # fmt: skip
    rows, columns = np.nonzero(wrong)
    # A dot is half as wide as a cell, whose side is about so many points.
    cell = 210.0 / max(values.shape)
    ax.scatter(
        columns, rows, s=min(8.0, 0.5 * cell) ** 2, c="white", edgecolors=_style.INK,
        linewidths=min(0.8, 0.1 * cell),
    )  # fmt: skip
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_color(_style.GRID)


def _draw_nodes(
    ax: Axes,
    values: npt.NDArray[Any],
    wrong: npt.NDArray[np.bool_],
    places: npt.NDArray[np.float64],
    ends: npt.NDArray[np.int64],
    colours: list[str],
) -> None:
    ax.add_collection(
        LineCollection(list(places[ends]), colors="#B0B0B0", linewidths=0.7, zorder=1)
    )
    size = float(np.clip(9000.0 / max(1, len(values)), 12.0, 220.0))
    shades = [_VOID if k < 0 else colours[k] for k in values.tolist()]
    ax.scatter(
        places[:, 0], places[:, 1], s=size, c=shades, edgecolors="white", linewidths=0.6, zorder=2
    )
    ax.scatter(
        places[wrong, 0], places[wrong, 1], s=0.22 * size, c="white", edgecolors=_style.INK,
        linewidths=0.6, zorder=3,
    )  # fmt: skip
    ax.set_aspect("equal")
    ax.margins(0.06)
    ax.set_axis_off()


def _label_colours(n_labels: int) -> list[str]:
    """Return one colour per label: the palette of all pictures, as long as it has enough."""
    if n_labels <= len(_style.COLOURS):
        return list(_style.COLOURS[:n_labels])
    if n_labels <= 20:
        # The strong shades of pairs first, then the pale ones.
        order = [*range(0, 20, 2), *range(1, 20, 2)][:n_labels]
        return [to_hex(colormaps["tab20"](k)) for k in order]
    return [to_hex(colormaps["nipy_spectral"](x)) for x in np.linspace(0.05, 0.95, n_labels)]


def _panel_size(
    shape: tuple[int, int] | None, places: npt.NDArray[np.float64]
) -> tuple[float, float]:
    """Return width and height of a panel in inches, of about the proportions of the graph."""
    if shape is not None:
        high, wide = float(shape[0]), float(shape[1])
    else:
        wide, high = (np.ptp(places, axis=0) + 1e-9).tolist() if len(places) else (1.0, 1.0)
    ratio = float(np.clip(high / wide, 0.5, 1.6))
    return (3.0, 3.0 * ratio) if ratio <= 1.0 else (3.0 / ratio + 0.4, 3.0)


def _check_labellings(labellings: Any, truth: str | None) -> dict[str, npt.NDArray[np.int64]]:
    if not isinstance(labellings, Mapping):
        raise TypeError(
            f"labellings must be a dict of title to labels, got {type(labellings).__name__}."
        )
    if not labellings:
        raise ValueError("labellings is empty; there is nothing to draw.")
    panels = {}
    for title, values in labellings.items():
        given = np.asarray(values)
        if given.ndim != 1 or len(given) == 0:
            raise ValueError(
                f"labellings[{title!r}] has shape {given.shape}; expected one label per node."
            )
        if given.dtype.kind not in "iu":
            raise TypeError(f"labellings[{title!r}] must hold integers, got dtype {given.dtype}.")
        if given.min() < -1:
            raise ValueError(f"labellings[{title!r}] holds {given.min()}; -1 stands for unknown.")
        panels[str(title)] = given.astype(np.int64)
    lengths = {title: len(values) for title, values in panels.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"labellings must be of one graph, got so many nodes: {lengths}.")
    if truth is not None and truth not in panels:
        raise ValueError(f"truth is {truth!r}; expected one of {', '.join(map(repr, panels))}.")
    return panels


def _check_places(
    shape: tuple[int, int] | None, positions: npt.ArrayLike | None, n_nodes: int
) -> npt.NDArray[np.float64]:
    """Return the positions of the nodes; none for a grid."""
    if (shape is None) == (positions is None):
        raise ValueError("give either shape, for a grid, or positions of the nodes.")
    if shape is not None:
        if len(shape) != 2 or shape[0] * shape[1] != n_nodes:
            raise ValueError(f"shape is {shape}, but the labellings have {n_nodes} nodes.")
        return np.zeros((0, 2))
    places = np.asarray(positions, dtype=np.float64)
    if places.shape != (n_nodes, 2):
        raise ValueError(f"positions has shape {places.shape}; expected ({n_nodes}, 2).")
    if not np.isfinite(places).all():
        v = int(np.argmin(np.isfinite(places).all(axis=1)))
        raise ValueError(f"positions[{v}] is {places[v].tolist()}; expected finite numbers.")
    return places


def _check_edges(edges: npt.ArrayLike, n_nodes: int) -> npt.NDArray[np.int64]:
    ends = np.asarray(edges)
    if ends.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise ValueError(f"edges has shape {ends.shape}; expected (E, 2).")
    if ends.dtype.kind not in "iu":
        raise TypeError(f"edges must hold integers, got dtype {ends.dtype}.")
    if ends.min() < 0 or ends.max() >= n_nodes:
        e = int(np.argmax(((ends < 0) | (ends >= n_nodes)).any(axis=1)))
        raise ValueError(
            f"edges[{e}] is {ends[e].tolist()}; expected nodes from 0 to {n_nodes - 1}."
        )
    return ends.astype(np.int64)


def _check_progress(progress: Any) -> dict[str, npt.NDArray[np.float64]]:
    runs = dict(progress) if isinstance(progress, Mapping) else {"": progress}
    if not runs:
        raise ValueError("progress is empty; there is nothing to draw.")
    checked = {}
    for name, rows in runs.items():
        of_run = f"progress[{name!r}]" if name else "progress"
        try:
            table = np.array([tuple(row) for row in rows], dtype=np.float64)
        except (TypeError, ValueError):
            table = np.zeros(0)
        if table.ndim != 2 or table.shape[1] != 3:
            raise ValueError(
                f"{of_run} must be a sequence of (iteration, bound, score) with at least one of "
                "them, as the callback of solve_graph is told them."
            )
        checked[str(name)] = table
    return checked
