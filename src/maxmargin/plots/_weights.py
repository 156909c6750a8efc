"""Weights over pixels, shown as the images they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure, SubFigure

from maxmargin.plots import _style


def weights(
    estimator_or_coef: Any,
    shape: tuple[int, int],
    labels: Sequence[Any] | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw each label's weights as an image; all share one colour scale with zero in its middle.

    Parameters
    ----------
    estimator_or_coef : fitted estimator with `coef_`, or array (n_labels, n_features)
        The weights; features are pixels in row-major order.
    shape : (rows, columns)
        Size of the images; rows * columns = n_features.
    labels : sequence or None
        Names of the labels; None takes the estimator's `classes_`, or numbers.
    figure : matplotlib Figure, SubFigure or None
        An empty one to draw in; None makes a new one whose size suits the images.

    Returns
    -------
    Figure or SubFigure
        The last of its axes is the colour bar's.

    Examples
    --------
    >>> import numpy as np
    >>> figure = weights(np.eye(4), shape=(2, 2), labels="abcd")
    >>> [ax.get_title() for ax in figure.axes[:4]]
    ['a', 'b', 'c', 'd']
    """
    coef, names = checked_images(estimator_or_coef, shape, labels)
    height, width = coef.shape[1:]
    grid = _grid(len(coef), height / width)
    if figure is None:
        scale = (1.0 if len(coef) > 6 else 1.8) / max(height, width)  # inches a pixel
        size = grid[1] * (width * scale + 0.15) + 1.1, grid[0] * (height * scale + 0.36) + 0.5
        figure = _style.new_figure(max(size[0], 3.5), max(size[1], 2.2))
    draw_images(figure, coef, names, grid)
    return figure


def checked_images(
    value: Any, shape: tuple[int, int], labels: Sequence[Any] | None
) -> tuple[np.ndarray, list[str]]:
    """Return the weights as (n_labels, rows, columns), and the labels' names."""
    coef = _style.numeric_array(value, "estimator_or_coef", "coef_")
    height, width = _checked_shape(shape, coef.shape[1])
    if not np.isfinite(coef).all():
        label, feature = np.argwhere(~np.isfinite(coef))[0]
        raise ValueError(f"The weight of feature {feature} for label {label} is not finite.")
    return coef.reshape(-1, height, width), _style.label_names(labels, value, len(coef))


def draw_images(
    figure: Figure | SubFigure, images: np.ndarray, names: list[str], grid: tuple[int, int]
) -> None:
    """Fill `figure` with small multiples in so many rows and columns, and one colour bar."""
    axes: Any = figure.subplots(*grid, squeeze=False)
    for ax in axes.flat[len(images) :]:
        ax.remove()
    shown = list(axes.flat[: len(images)])
    limit = _style.symmetric_limit(images)
    for ax, weight, name in zip(shown, images, names, strict=True):
        image = ax.imshow(
            weight, cmap=_style.DIVERGING, vmin=-limit, vmax=limit, interpolation="nearest"
        )
        ax.set_title(name, fontsize=_style.LABEL, color=_style.INK, pad=3)
        ax.set(xticks=[], yticks=[])
        for spine in ax.spines.values():
            spine.set(color=_style.GRID, linewidth=0.8)
    # Slim in inches whatever the figure's shape: `aspect` is length over width.
    _style.colour_bar(image, shown, figure, "weight", aspect=12 * grid[0] if grid[0] < 3 else 30)
    figure.suptitle(
        "Feature weights, one image per label", x=0.01, ha="left", fontsize=_style.TITLE,
        color=_style.INK,
    )  # fmt: skip


def _checked_shape(shape: tuple[int, int], n_features: int) -> tuple[int, int]:
    try:
        height, width = (int(side) for side in shape)
    except (TypeError, ValueError):
        raise ValueError(f"shape must be (rows, columns), got {shape!r}.") from None
    if height < 1 or width < 1 or height * width != n_features:
        raise ValueError(
            f"shape must have rows * columns = {n_features}, the number of features, got {shape!r}."
        )
    return height, width


def _grid(n_images: int, tallness: float) -> tuple[int, int]:
    """Rows and columns of a grid about 2.4 times as wide as high, with few empty places."""

    def badness(n_columns: int) -> float:
        n_rows = math.ceil(n_images / n_columns)
        empty = n_rows * n_columns - n_images
        return abs(math.log(n_columns / (n_rows * tallness) / 2.4)) + 1.5 * empty / n_images

    n_columns = min(range(1, n_images + 1), key=badness)
    return math.ceil(n_images / n_columns), n_columns
