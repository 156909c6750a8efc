"""What a chain model learnt about which label follows which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from maxmargin.plots import _style

_MOST_VALUES = 12  # labels up to which every cell has its number
_MOST_TICKS = 50  # labels up to which every one has its name
_FORBIDDEN: dict[str, Any] = {
    "facecolor": "#EEEEEE",
    "edgecolor": "#AAAAAA",
    "hatch": "////",
    "linewidth": 0.0,
}


def transitions(
    estimator_or_matrix: Any, labels: Sequence[Any] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a heat map of transition weights: row a, column b is the weight of b after a.

    White is zero, red favours a transition, blue is against it. Forbidden transitions (-inf, or
    NaN) are hatched. Up to 12 labels, the cells show their numbers.

    Parameters
    ----------
    estimator_or_matrix : fitted estimator with `transitions_`, or array (n_labels, n_labels)
        The weights.
    labels : sequence or None
        Names of the labels; None takes the estimator's `classes_`, or numbers.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure whose size suits the number of labels.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = transitions([[1.0, -0.5], [float("-inf"), 0.2]], labels=["O", "I"])
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['O', 'I']
    """
    matrix = _style.numeric_array(estimator_or_matrix, "estimator_or_matrix", "transitions_")
    n_labels = len(matrix)
    if matrix.shape != (n_labels, n_labels):
        raise ValueError(f"Transitions must be a square matrix, got shape {matrix.shape}.")
    if np.isposinf(matrix).any():
        a, b = np.argwhere(np.isposinf(matrix))[0]
        raise ValueError(f"The weight from label {a} to label {b} is +inf; forbidden is -inf.")
    names = _style.label_names(labels, estimator_or_matrix, n_labels)
    if ax is None:
        side = float(np.clip(2.2 + 0.3 * n_labels, 4.0, 11.0))
        ax = _style.new_figure(side + 0.9, side).add_subplot()
    limit = _style.symmetric_limit(matrix)
    image = ax.imshow(
        np.ma.masked_invalid(matrix), cmap=_style.DIVERGING, vmin=-limit, vmax=limit,
        interpolation="nearest",
    )  # fmt: skip
    _style.dress(ax, "Transition weights", "to label", "from label")
    _name_cells(ax, names)
    _hatch(ax, ~np.isfinite(matrix))
    if n_labels <= _MOST_VALUES:
        _write_values(ax, matrix, limit)
    _style.colour_bar(image, ax, _style.figure_of(ax), "weight")
    return ax


def _name_cells(ax: Axes, names: list[str]) -> None:
    n_labels = len(names)
    shown = np.arange(0, n_labels, -(-n_labels // _MOST_TICKS))
    size = _style.TICK if n_labels <= 30 else 6.5
    texts = [names[i] for i in shown]
    upright = max(map(len, texts)) <= (3 if n_labels <= 20 else 2)
    ax.set_xticks(shown, texts, rotation=0 if upright else 90, fontsize=size)
    ax.set_yticks(shown, texts, fontsize=size)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if n_labels <= 30:
        # White lines between cells; beyond that they would eat the colours.
        ax.set_xticks(np.arange(0.5, n_labels - 1), minor=True)
        ax.set_yticks(np.arange(0.5, n_labels - 1), minor=True)
        ax.grid(which="minor", color="white", linewidth=0.8)
        ax.tick_params(which="minor", length=0)


def _hatch(ax: Axes, forbidden: np.ndarray) -> None:
    """Hatch cells, all with one patch: a tag set has thousands of forbidden pairs."""
    if not forbidden.any():
        return
    square = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    cells = [Path(square + (b, a), codes) for a, b in np.argwhere(forbidden)]
    ax.add_patch(PathPatch(Path.make_compound_path(*cells), **_FORBIDDEN))
    # Between title and cells: beside the title there may be too little room.
    ax.set_title(ax.get_title(loc="left"), loc="left", fontsize=_style.TITLE, pad=24)
    ax.legend(
        handles=[Patch(label="forbidden", **_FORBIDDEN)],
        loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, borderaxespad=0.3,
        borderpad=0.0, fontsize=_style.TICK, labelcolor=_style.INK,
    )  # fmt: skip


def _write_values(ax: Axes, matrix: np.ndarray, limit: float) -> None:
    digits = 2 if limit < 1 else 1 if limit < 100 else 0
    for (a, b), value in np.ndenumerate(matrix):
        if np.isfinite(value):
            # Rounded first, and + 0.0, so that a small negative weight is not "−0.0".
            text = f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")
            colour = "white" if abs(value) > 0.55 * limit else _style.INK
            ax.text(b, a, text, ha="center", va="center", fontsize=7, color=colour)
