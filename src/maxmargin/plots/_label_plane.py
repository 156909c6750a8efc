"""How a search finds the most violating output: all outputs as points, queries as lines."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maxmargin.inputs.checks import check_number
from maxmargin.look.scene import make_scene
from maxmargin.plots import _style
from maxmargin.plots._label_drawing import draw_plane, explain, signs


def label_plane(
    estimator: Any,
    x: Any,
    y: Any,
    *,
    search: Any = None,
    ax: Axes | None = None,
    max_outputs: int = 200_000,
    n_queries: int | None = None,
    slack: float = 0.0,
    legend: bool = True,
) -> Axes:
    """Draw the outputs of one example, and how a search looks for the one of largest psi.

    Every output is a point: its cost g to the right, its margin error h upwards (1 + h for slack
    rescaling), at the weights of the estimator. The search wants the point on the highest contour
    of psi. It asks for the largest h + tilt * g, which is a line pushed outwards until it touches
    the last output, the one that the query finds. Each query has a number and a colour: its line,
    the output it found, and, shaded, what it ruled out that no query before it had: no output is
    beyond the line. The heavy contour is that of the best output found; what is worse lies below
    it. What is left between contour and lines, in yellow, is where a better output could be. If one
    is there, it has a star.

    Queries for the largest h + tilt * g find corners of the hull only, so a search that asks no
    others may miss the star. Those of the angular search look within an angle (dashed) and split
    it.

    Parameters
    ----------
    estimator : fitted estimator
    x, y : one input and its true output, as one element of what `fit` takes
    search : name, `Search` or None
        None: the estimator's own. It starts afresh, from no output of an earlier pass.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    max_outputs : int
        If there are more outputs than this, a sample is drawn: the best of the queries along the
        hull and outputs near them. The title says so.
    n_queries : int or None
        Stop after so many queries; None draws them all.
    slack : float
        The loss that is known already, for the search "sarawagi".
    legend : bool
        Whether to explain signs and to list the queries.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MulticlassSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVM(C=0.1, surrogate="slack", solver="bcfw").fit(X, y)
    >>> ax = label_plane(model, X[70], y[70], search="hull")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('cost g', '1 + margin error, 1 + h')
    """
    scene = make_scene(estimator, x, y, search, max_outputs, slack)
    if n_queries is not None:
        check_number("n_queries", n_queries, 0, closed=True, integer=True)
        scene = scene.after(int(n_queries))
    if ax is None:
        ax = _style.new_figure(9.2, 5.0).add_subplot()
    draw_plane(ax, scene)
    ax.set_title(scene.title(), loc="left", fontsize=_style.TITLE, color=_style.INK, pad=8)
    if legend:
        explain(ax, scene)
    return ax


def label_plane_steps(
    estimator: Any,
    x: Any,
    y: Any,
    *,
    search: Any = None,
    max_outputs: int = 200_000,
    max_panels: int = 6,
    slack: float = 0.0,
) -> Figure:
    """Draw a search query by query, a panel each: `label_plane` after 1, 2, 3, ... queries.

    Parameters are those of `label_plane`; after ``max_panels`` queries the last panel shows the
    end.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MulticlassSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVM(C=0.1, surrogate="slack", solver="bcfw").fit(X, y)
    >>> figure = label_plane_steps(model, X[70], y[70], search="hull")
    >>> 1 <= len(figure.axes) <= 6
    True
    """
    check_number("max_panels", max_panels, 1, closed=True, integer=True)
    scene = make_scene(estimator, x, y, search, max_outputs, slack)
    total = scene.n_all
    counts = list(range(1, total + 1)) or [0]
    if len(counts) > max_panels:
        counts = [*counts[: max_panels - 1], total]
    n_columns = min(len(counts), 3)
    n_rows = -(-len(counts) // n_columns)
    figure = _style.new_figure(3.7 * n_columns, 3.1 * n_rows + 1.1)
    panels = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False).ravel()
    for ax, count in zip(panels, counts, strict=False):
        step = scene.after(count)
        draw_plane(ax, step)
        ax.set_title(step.step_title(), loc="left", fontsize=_style.LABEL, color=_style.INK)
    for place, ax in enumerate(panels):
        if place >= len(counts):
            ax.remove()
        else:
            ax.label_outer()
    figure.suptitle(scene.title(), fontsize=_style.TITLE, color=_style.INK, x=0.01, ha="left")
    figure.legend(
        handles=signs("best so far, and its contour", "best output, not found yet"),
        loc="outside lower center", ncols=min(n_columns, 3), fontsize=_style.TICK, frameon=False,
        labelcolor=_style.INK,
    )  # fmt: skip
    return figure
