"""Hierarchies: what was learnt at each node, confusion along the tree, and one example's path."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D

from maxmargin.plots import _style
from maxmargin.plots._hierarchy_layout import Layout, lay_out, short_name

__all__ = ["hierarchy_confusion", "hierarchy_example", "hierarchy_weights"]

_LINE = 0.17  # inches per line of a tree
_LETTER = 0.08  # inches per letter of a name
_MOST_CLASSES = 100  # rows of a confusion matrix


def _lengths(coef: Any) -> np.ndarray:
    """Return the length of each row, dense or sparse."""
    if hasattr(coef, "toarray"):
        return np.sqrt(np.asarray(coef.multiply(coef).sum(axis=1)).ravel())
    return np.asarray(np.linalg.norm(coef, axis=1))


def hierarchy_weights(estimator: Any, ax: Axes | None = None, *, most: int = 120) -> Axes:
    """Draw the hierarchy with the length of each node's weights.

    The area and the colour of a node show the norm of its weights; nodes without weights, because
    they are in every training label or in none, are small and grey. Of hierarchies with more than
    `most` nodes the upper levels are shown, with the number of nodes below those where it ends.

    Parameters
    ----------
    estimator : fitted HierarchySVM, FlatSVM or LocalSVM
    ax : matplotlib Axes or None
        None makes a figure that has room for all names.
    most : int

    Returns
    -------
    Axes

    Examples
    --------
    >>> from maxmargin import HierarchySVM, plots
    >>> model = HierarchySVM().fit([[0.0], [1.0], [2.0]], ["a/b", "a/c", "d"])
    >>> ax = plots.hierarchy_weights(model)
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b', 'c', 'd']
    """
    hierarchy = _hierarchy_of(estimator)
    if estimator.model != "nodes":
        raise ValueError(f"model={estimator.model!r} has weights of edges, not of nodes.")
    if not hasattr(estimator, "coef_"):
        raise TypeError(
            f"{type(estimator).__name__} keeps no weights of nodes to draw: HierarchySVM, FlatSVM "
            "and LocalSVM do."
        )
    space = estimator._reader.space
    norms = np.full(len(hierarchy), np.nan)
    plain = ~space.is_stop
    norms[space.node[plain]] = _lengths(estimator.coef_[plain])
    layout = lay_out(hierarchy, most=most)
    texts = _texts(layout, hierarchy)
    ax = _tree_axes(ax, layout, texts)
    shown = norms[layout.nodes]
    largest = float(np.nanmax(norms, initial=0.0)) or 1.0
    scale = Normalize(0.0, largest)
    colours = [
        _style.GRID if np.isnan(value) else colormaps["viridis_r"](0.1 + 0.9 * scale(value))
        for value in shown
    ]
    sizes = 8.0 + 90.0 * np.nan_to_num(shown) / largest
    _draw_tree(ax, layout, texts, colours, sizes)
    n_shown = len(layout.nodes)
    part = "" if n_shown == len(hierarchy) else f", the upper {n_shown} of {len(hierarchy)} nodes"
    ax.set_title(f"Norm of the weights of each node{part}", loc="left", fontsize=_style.TITLE)
    image = _mappable(scale, "viridis_r")
    _style.colour_bar(image, ax, _style.figure_of(ax), "norm", fraction=0.04)
    return ax


def hierarchy_confusion(
    y_true: Any, y_pred: Any, hierarchy: Any, ax: Axes | None = None, *, most: int = _MOST_CLASSES
) -> Axes:
    """Draw which label was taken for which, in the order of the tree.

    Labels below the same node stand together, so that mistakes within a subtree lie in blocks along
    the diagonal; lines part the subtrees of the top. Each row shows shares of the samples that have
    the true label. Where there are more than `most` labels, the nodes of the lowest level with no
    more than that take their place.

    Parameters
    ----------
    y_true, y_pred : labels of any form that `HierarchySVM` takes, one path per sample
    hierarchy : Hierarchy
    ax : matplotlib Axes or None
    most : int

    Returns
    -------
    Axes

    Examples
    --------
    >>> from maxmargin import Hierarchy, plots
    >>> tree = Hierarchy.from_paths(["a/b", "a/c", "d"])
    >>> ax = plots.hierarchy_confusion(["a/b", "a/c", "d"], ["a/c", "a/c", "d"], tree)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['a/b', 'a/c', 'd']
    """
    from maxmargin.inputs.hierarchy.labels import read_nodes

    n = len(y_true) if not hasattr(y_true, "shape") else y_true.shape[0]
    first = read_nodes(y_true, n, hierarchy, extend=True)
    second = read_nodes(y_pred, n, first.hierarchy, extend=True)
    hierarchy = second.hierarchy
    truth, guess = hierarchy.closures(y_true, y_pred)
    level = _level_of(hierarchy, truth, guess, most)
    codes = [_at_level(hierarchy, each, level, name)
             for each, name in ((truth, "y_true"), (guess, "y_pred"))]  # fmt: skip
    order = _tree_order(hierarchy)
    used = np.array([v for v in order if v in set(np.concatenate(codes).tolist())])
    place = {int(v): k for k, v in enumerate(used)}
    table = np.zeros((len(used), len(used)))
    np.add.at(table, ([place[int(v)] for v in codes[0]], [place[int(v)] for v in codes[1]]), 1.0)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    if ax is None:
        longest = max(len(_cut(hierarchy.nodes.tolist()[v])) for v in used)
        side = min(max(3.2, 0.16 * len(used) + 1.2 + _LETTER * longest), 15.0)
        ax = _style.new_figure(side + 0.9, side).subplots()
    image = ax.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0, interpolation="nearest")
    names = [_cut(hierarchy.nodes.tolist()[v]) for v in used]
    size = _style.TICK if len(used) <= 40 else 5.5
    ax.set_xticks(range(len(used)), names, rotation=90, fontsize=size)
    ax.set_yticks(range(len(used)), names, fontsize=size)
    tops = [_top(hierarchy, int(v)) for v in used]
    for k in range(1, len(used)):
        if tops[k] != tops[k - 1]:
            for line in (ax.axhline, ax.axvline):
                line(k - 0.5, color=_style.COLOURS[1], linewidth=0.8)
    right = float(np.trace(table) / max(table.sum(), 1.0))
    what = "labels" if level is None else f"nodes of level {level}"
    ax.set_title(f"{len(used)} {what}, {right:.1%} right", loc="left", fontsize=_style.TITLE)
    ax.set_xlabel("predicted", fontsize=_style.LABEL)
    ax.set_ylabel("true", fontsize=_style.LABEL)
    _style.colour_bar(image, ax, _style.figure_of(ax), "share of the true label", fraction=0.04)
    return ax


def hierarchy_example(
    estimator: Any, x: Any, y: Any = None, ax: Axes | None = None, *, most: int = 120
) -> Axes:
    """Draw the path of one example, true and predicted, with the scores of nodes beside it.

    Shown are the nodes of both outputs and their siblings. A number says how much better the best
    output with the node is than the best without it; positive for nodes that are predicted. (Of
    sets in a DAG, which have no such numbers, there are none.) Of a baseline it is the score of the
    node itself.

    Parameters
    ----------
    estimator : fitted HierarchySVM, FlatSVM, LocalSVM or LocalRidge
    x : one row of features
    y : its label, in any form; None: not known
    ax : matplotlib Axes or None
    most : int
        The most nodes that are shown.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from maxmargin import HierarchySVM, plots
    >>> model = HierarchySVM().fit([[0.0], [1.0], [2.0]], ["a/b", "a/c", "d"])
    >>> ax = plots.hierarchy_example(model, [0.0], "a/c")
    >>> len(ax.texts)
    4
    """
    hierarchy = _hierarchy_of(estimator)
    row = x if hasattr(x, "shape") and len(x.shape) == 2 else np.asarray(x).reshape(1, -1)
    guess = hierarchy.closures(estimator.predict(row))[0].toarray()[0] > 0
    truth = np.zeros_like(guess)
    if y is not None:
        closed = hierarchy.closures([y])[0]
        if closed.shape[1] != len(hierarchy):
            raise ValueError(f"y is {y!r}, which is no node of the hierarchy of the model.")
        truth = closed.toarray()[0] > 0
    scores = _margins(estimator, row)
    layout = lay_out(hierarchy, _neighbourhood(hierarchy, truth | guess), most)
    texts = _texts(layout, hierarchy, None if scores is None else scores[layout.nodes])
    ax = _tree_axes(ax, layout, texts)
    kinds = {
        (True, True): ("true and predicted", _style.COLOURS[2]),
        (True, False): ("true alone", _style.COLOURS[1]),
        (False, True): ("predicted alone", _style.COLOURS[0]),
        (False, False): ("neither", _style.GRID),
    }
    if y is None:
        kinds[False, True] = ("predicted", _style.COLOURS[0])
    keys = [(bool(truth[v]), bool(guess[v])) for v in layout.nodes]
    colours = [kinds[key][1] for key in keys]
    sizes = np.array([40.0 if any(key) else 14.0 for key in keys])
    _draw_tree(ax, layout, texts, colours, sizes, [any(key) for key in keys])
    handles = [
        Line2D([], [], marker="o", linestyle="", color=kinds[key][1], label=kinds[key][0])
        for key in kinds
        if key in keys
    ]
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.0, -0.01), ncols=len(handles),
              frameon=False, fontsize=_style.TICK)  # fmt: skip
    verdict = "predicted" if y is None else ("right" if (truth == guess).all() else "wrong")
    n_wrong = int((truth != guess).sum())
    more = "" if y is None or n_wrong == 0 else f": {n_wrong} nodes differ"
    ax.set_title(f"One example, {verdict}{more}", loc="left", fontsize=_style.TITLE)
    return ax


# Drawing -----------------------------------------------------------------------------------------


def _tree_axes(ax: Axes | None, layout: Layout, texts: list[str]) -> Axes:
    if ax is None:
        height = max(2.0, _LINE * layout.n_lines + 0.9)
        # Names stand behind their nodes, and edges turn half a level behind them.
        longest = max((len(t) for t, end in zip(texts, layout.is_end, strict=True) if not end),
                      default=0)  # fmt: skip
        level = min(max(1.3, 2.0 * (_LETTER * longest + 0.2)), 4.0)
        width = max(4.5, level * (layout.x.max(initial=0.0) + 1.0) + 1.4)
        ax = _style.new_figure(width, height).subplots()
    ax.set_axis_off()
    # Room for the names at the right end, and half a line above and below.
    ax.set_xlim(-0.15, layout.x.max(initial=0.0) + 1.0)
    ax.set_ylim(layout.n_lines - 0.4, -0.6)
    return ax


def _draw_tree(
    ax: Axes,
    layout: Layout,
    texts: list[str],
    colours: list[Any],
    sizes: np.ndarray,
    is_bold: list[bool] | None = None,
) -> None:
    """Draw edges, nodes and the texts behind them, which hide the edges that they cover."""
    lines = []
    for k, up in enumerate(layout.parent):
        if up >= 0:
            middle = layout.x[up] + 0.5
            lines.append([(layout.x[up], layout.y[up]), (middle, layout.y[up]),
                          (middle, layout.y[k]), (layout.x[k], layout.y[k])])  # fmt: skip
    ax.add_collection(LineCollection(lines, colors=_style.GRID, linewidths=0.9, zorder=1))
    ax.scatter(layout.x, layout.y, s=sizes, c=colours, zorder=2, linewidths=0.4, edgecolors="white")
    for k, text in enumerate(texts):
        ax.annotate(
            text,
            (layout.x[k], layout.y[k]),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color=_style.INK,
            weight="bold" if is_bold and is_bold[k] else "normal",
            zorder=3,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )


def _texts(layout: Layout, hierarchy: Any, values: np.ndarray | None = None) -> list[str]:
    """Return what stands at each node: its name, a number, and how many nodes are hidden below."""
    names, found = hierarchy.nodes.tolist(), []
    for k, v in enumerate(layout.nodes):
        text = short_name(names[v], hierarchy.separator)
        if values is not None and np.isfinite(values[k]):
            text += f"  {values[k]:+.2f}"
        found.append(text + (f"  (+{layout.hidden[k]})" if layout.hidden[k] else ""))
    return found


def _mappable(scale: Normalize, name: str) -> Any:
    from matplotlib.cm import ScalarMappable

    return ScalarMappable(norm=scale, cmap=name)


# Looking -----------------------------------------------------------------------------------------


def _hierarchy_of(estimator: Any) -> Any:
    if not hasattr(estimator, "hierarchy_"):
        raise TypeError(f"estimator must be a fitted HierarchySVM, got {type(estimator).__name__}.")
    return estimator.hierarchy_


def _margins(estimator: Any, row: Any) -> np.ndarray | None:
    is_dag = not estimator.hierarchy_.is_forest
    if estimator.model != "nodes":
        return None
    if is_dag and estimator.space_ in ("paths", "closed"):
        return None
    return np.asarray(estimator.node_scores(row)[0])


def _neighbourhood(hierarchy: Any, inside: np.ndarray) -> np.ndarray:
    """Return a closed set of nodes: those inside, and the children of these and of the top."""
    found = inside.copy()
    shape = hierarchy.shape
    found |= np.diff(shape.parent_at) == 0
    for v in np.flatnonzero(inside):
        found[shape.children[shape.child_at[v] : shape.child_at[v + 1]]] = True
    return hierarchy.closure(found[None].astype(int)).toarray()[0] > 0


def _tree_order(hierarchy: Any) -> list[int]:
    """Return all nodes depth first, each once."""
    shape, seen = hierarchy.shape, np.zeros(len(hierarchy), dtype=bool)
    stack, order = list(np.flatnonzero(np.diff(shape.parent_at) == 0)[::-1]), []
    while stack:
        v = int(stack.pop())
        if seen[v]:
            continue
        seen[v] = True
        order.append(v)
        stack.extend(shape.children[shape.child_at[v] : shape.child_at[v + 1]][::-1])
    return order


def _top(hierarchy: Any, v: int) -> int:
    """Return the root above a node; below a single root the child of the root."""
    above = np.sort(hierarchy.ancestry[v].indices)
    is_single = len(hierarchy.roots) == 1
    return int(above[1] if is_single and len(above) > 1 else above[0])


def _level_of(hierarchy: Any, truth: Any, guess: Any, most: int) -> int | None:
    """Return the lowest level on which no more than `most` nodes occur; None: all labels do."""
    ends = [hierarchy.most_specific(each) for each in (truth, guess)]
    n_labels = len(np.unique(np.concatenate([each.indices for each in ends])))
    if n_labels <= most:
        return None
    occurs = np.asarray((truth + guess).sum(axis=0)).ravel() > 0
    for level in range(hierarchy.depth, 0, -1):
        cut = np.minimum(hierarchy.levels, level)
        if np.count_nonzero(occurs & (hierarchy.levels == level)) <= most and cut.any():
            return level
    return 1


def _at_level(hierarchy: Any, closed: Any, level: int | None, name: str) -> np.ndarray:
    """Return the label of each sample, or its node on a level."""
    ends = hierarchy.most_specific(closed)
    if not (np.diff(ends.indptr) == 1).all():
        i = int(np.flatnonzero(np.diff(ends.indptr) != 1)[0])
        raise ValueError(f"{name}[{i}] has several paths or none; one per sample is drawn.")
    if level is None:
        return np.asarray(ends.indices)
    found = []
    for i in range(closed.shape[0]):
        nodes = closed.indices[closed.indptr[i] : closed.indptr[i + 1]]
        upper = nodes[hierarchy.levels[nodes] <= level]
        found.append(upper[np.argmax(hierarchy.levels[upper])])
    return np.array(found)


def _cut(name: Any, most: int = 22) -> str:
    text = str(name)
    return text if len(text) <= most else "…" + text[-(most - 1) :]
