"""The look that all pictures share, and the checks of what is to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine

# Okabe and Ito's palette, told apart by colour-blind readers; black and yellow left out, because
# black is for text and yellow is too pale for a line.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "p")
DIVERGING = "RdBu_r"  # red above zero, blue below: also distinct to colour-blind readers
INK, MUTED, GRID = "#222222", "#666666", "#DDDDDD"
TITLE, LABEL, TICK = 11.0, 9.5, 8.5  # font sizes in points


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of so many inches that belongs to no window and no pyplot state."""
    margin_x, margin_y = 0.08 / width, 0.08 / height  # 0.08 inches around everything
    layout = ConstrainedLayoutEngine(
        rect=(margin_x, margin_y, 1 - 2 * margin_x, 1 - 2 * margin_y), w_pad=0.04, h_pad=0.08
    )
    return Figure(figsize=(width, height), dpi=150, layout=layout, facecolor="white")


def figure_of(ax: Axes) -> Figure | SubFigure:
    """Return the figure, or part of one, that an Axes stands in."""
    figure = ax.figure
    if figure is None:
        raise ValueError("ax belongs to no figure; it was removed from it.")
    return figure


def dress(ax: Axes, title: str, xlabel: str, ylabel: str) -> None:
    """Give an Axes its title and labels, and take away the lines that carry nothing."""
    ax.set_title(title, loc="left", fontsize=TITLE, color=INK, pad=8)
    ax.set_xlabel(xlabel, fontsize=LABEL, color=INK)
    ax.set_ylabel(ylabel, fontsize=LABEL, color=INK)
    ax.tick_params(labelsize=TICK, colors=MUTED, labelcolor=INK)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)


def numeric_array(value: Any, name: str, attribute: str) -> np.ndarray:
    """Return `value.attribute` of an estimator, or `value` itself, as a 2-d float64 array.

    NaN stays: what it means is for each picture to say.
    """
    data = getattr(value, attribute, value)
    try:
        array = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must be a 2-d array or a fitted estimator with {attribute}, "
            f"got {type(value).__name__}."
        ) from None
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name} must be 2-d and not empty, got shape {array.shape}.")
    return array


def label_names(labels: Sequence[Any] | None, value: Any, n_labels: int) -> list[str]:
    """Return `n_labels` short texts: `labels`, else the estimator's classes_, else 0, 1, ..."""
    if labels is None:
        labels = getattr(value, "classes_", None)
    names = [str(label) for label in (range(n_labels) if labels is None else labels)]
    if len(names) != n_labels:
        raise ValueError(f"labels must name the {n_labels} labels shown, got {len(names)} of them.")
    return [name if len(name) <= 16 else name[:15] + "…" for name in names]


def symmetric_limit(values: np.ndarray) -> float:
    """Return the largest finite magnitude, for a colour scale with zero in its middle."""
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max(initial=0.0))
    return largest if largest > 0 else 1.0


def colour_bar(image: Any, axes: Any, figure: Figure | SubFigure, label: str, **where: Any) -> None:
    """Put a slim colour bar beside `axes`."""
    bar = figure.colorbar(image, ax=axes, **{"pad": 0.02, "aspect": 25, **where})
    bar.set_label(label, fontsize=LABEL, color=INK)
    bar.ax.tick_params(labelsize=TICK, colors=MUTED, labelcolor=INK)
    bar.outline.set_visible(False)  # type: ignore[operator]


#: Colours of queries: the palette without its orange, whose tint is near the yellow of what is
#: not ruled out, and more that numbers can be read on.
QUERY_COLOURS = tuple(colour for colour in COLOURS if colour != "#E69F00") + (
    "#7F3C8D", "#8C564B", "#4C6A92", "#6B7A1E", "#A03B4F", "#3A7D7C",
)  # fmt: skip


def query_colour(place: int) -> str:
    """Return the colour of a search's query, by its place in the search."""
    return QUERY_COLOURS[place % len(QUERY_COLOURS)]
