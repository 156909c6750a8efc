"""One page about one trained chain model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from maxmargin.plots import _style
from maxmargin.plots._convergence import convergence
from maxmargin.plots._transitions import transitions
from maxmargin.plots._weights import checked_images, draw_images

_PAGE, _TOP = 9.8, 4.7  # inches: the images' share of the width, the upper half's height


def demo_figure(
    estimator: Any,
    shape: tuple[int, int],
    results: Sequence[Any] | Mapping[str, Any] | None = None,
    labels: Sequence[Any] | None = None,
    tol: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draw convergence, transition heat map and weight images on one page.

    Parameters
    ----------
    estimator : object with `coef_`, `transitions_` and, unless `results` is given, `result_`
        A fitted chain model over images.
    shape : (rows, columns)
        Size of the images; rows * columns = n_features.
    results : as in `convergence`, or None
        Runs to compare; None shows the estimator's own.
    labels : sequence or None
        Names of the labels; None takes the estimator's `classes_`, or numbers.
    tol : float or None
        Draw a line at this relative gap.
    title : str or None
        A line at the head of the page.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> record = SimpleNamespace(pass_=1, primal=1.0, gap=0.1, oracle_calls=5, seconds=0.1)
    >>> run = SimpleNamespace(history=[record], solver="bcfw", status="converged")
    >>> model = SimpleNamespace(coef_=np.eye(4), transitions_=np.eye(4), result_=run)
    >>> figure = demo_figure(model, shape=(2, 2))
    >>> figure.savefig("demo.png")  # doctest: +SKIP
    """
    images, names = checked_images(estimator, shape, labels)
    # Few full rows of images that are as wide as the page allows, but not below 0.7 inches.
    n_rows = math.ceil(len(images) / min(len(images), int(_PAGE / 0.7)))
    n_columns = math.ceil(len(images) / n_rows)
    image_width = min(_PAGE / n_columns, 1.4)
    bottom_height = 0.5 + n_rows * (0.28 + image_width * images.shape[1] / images.shape[2])
    figure = _style.new_figure(_PAGE + 1.2, _TOP + bottom_height)
    if title:
        figure.suptitle(title, fontsize=14, fontweight="bold", color=_style.INK)
    parts: Any = figure.subfigures(2, 1, height_ratios=[_TOP, bottom_height])
    top, bottom = parts
    left, right = top.subplots(1, 2, width_ratios=[1.1, 1.0])
    convergence(estimator if results is None else results, tol=tol, ax=left)
    transitions(estimator, labels=labels, ax=right)
    draw_images(bottom, images, names, (n_rows, n_columns))
    return figure
