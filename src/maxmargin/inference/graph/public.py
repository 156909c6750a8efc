"""Factor graphs: every method for the best labelling by name, and the k best."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.inference._checks import check_count
from maxmargin.inference.graph.answer import GraphAnswer, KBest, Options
from maxmargin.inference.graph.auto import auto
from maxmargin.inference.graph.binary import cut, roof
from maxmargin.inference.graph.counted import fitting_tree
from maxmargin.inference.graph.dense import dense_graph
from maxmargin.inference.graph.exact import acyclic, forest, junction, known_forest
from maxmargin.inference.graph.forest import (
    best_k_forest,
    kbest_room,
)
from maxmargin.inference.graph.junction import best_k_junction, kbest_cells, kbest_junction_room
from maxmargin.inference.graph.marginals import (
    GraphMarginals,
    LabelScores,
    check_graph,
    graph_marginals,
    graph_max_marginals,
)
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.partition import best_by_partition
from maxmargin.inference.graph.passing import by_branch, by_srmp
from maxmargin.inference.graph.primal import expansion, local
from maxmargin.inference.graph.profile import graph_profile
from maxmargin.inference.graph.relaxed import by_loopy, by_smoothed
from maxmargin.inference.graph.rounded import qp
from maxmargin.inference.graph.splitting import by_admm
from maxmargin.inference.programs.methods import ilp, lp

__all__ = [
    "METHODS",
    "GraphMarginals",
    "LabelScores",
    "graph_marginals",
    "graph_max_marginals",
    "graph_profile",
    "k_best_graph",
    "solve_graph",
]

#: Methods of `solve_graph` by name: method(graph, options) -> answer.
METHODS: dict[str, Callable[[FactorGraph, Options], GraphAnswer]] = {
    "auto": auto,
    "forest": forest,
    "acyclic": acyclic,
    "junction": junction,
    "cut": cut,
    "roof": roof,
    "srmp": by_srmp,
    "branch": by_branch,
    "smoothed": by_smoothed,
    "admm": by_admm,
    "loopy": by_loopy,
    "local": local,
    "expansion": expansion,
    "qp": qp,
    "lp": lp,
    "ilp": ilp,
}


def solve_graph(
    graph: FactorGraph,
    method: str = "auto",
    *,
    time_limit: float | None = None,
    max_iter: int | None = None,
    tol: float = 1e-9,
    most_cells: int = 30_000_000,
    most_nodes: int = 1000,
    seed: int = 0,
    callback: Callable[[int, float, float], Any] | None = None,
) -> GraphAnswer:
    """Return a labelling of high score, and a bound that no labelling exceeds.

    Parameters
    ----------
    graph : FactorGraph
    method : str, default="auto"
        A name out of `METHODS`. "auto" looks at graph and potentials: forests, graphs without a
        cycle, attractive pairs of two labels and small junction trees are solved directly; the
        others by SRMP, and where its bound is not tight by larger junction trees, branch and bound,
        and at last an integer programme.
    time_limit : float or None
        Seconds; None for no limit. The answer is then the best that was met, with its bound. It is
        looked at between iterations, so that large steps may overrun it.
    max_iter : int or None
        Iterations of message passing; None for the limit of the method.
    tol : float
        An answer counts as exact if bound - score <= tol * (1 + |score|).
    most_cells : int
        The most table cells of a junction tree; a larger one is refused by "junction", and not
        used by "auto".
    most_nodes : int
        The most nodes of branch and bound; "auto" goes on to five times as many where it has
        nearly ended.
    seed : int
        For methods that draw random numbers.
    callback : callable or None
        Called as callback(iteration, bound, score) as iterative methods go on.

    Returns
    -------
    GraphAnswer
        Its fields are labels, score, bound, is_exact, method and n_iterations. If the constraints
        allow no labelling, labels is None, and bound is -inf where that is proved.

    Examples
    --------
    A triangle whose nodes should differ, and prefer label 0:

    >>> import numpy as np
    >>> from maxmargin.inference import FactorGraph, solve_graph
    >>> unary = [[1.0, 0.0, 0.5]] * 3
    >>> graph = FactorGraph(unary, [(0, 1), (1, 2), (2, 0)], -2.0 * np.eye(3))
    >>> answer = solve_graph(graph)
    >>> answer.labels, answer.score, answer.is_exact, answer.method
    (array([2, 1, 0], dtype=int32), 1.5, True, 'junction')
    """
    check_graph(graph)
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; expected one of {', '.join(map(repr, METHODS))}.")
    options = _check_options(
        Options(time_limit, max_iter, tol, most_cells, most_nodes, seed, callback)
    )
    return METHODS[method](graph, options)


def k_best_graph(
    graph: FactorGraph,
    k: int,
    *,
    time_limit: float | None = None,
    most_cells: int = 30_000_000,
) -> KBest:
    """Return the k best labellings, best first; fewer if fewer are allowed.

    Forests and graphs with a small junction tree take one pass. Other graphs are solved anew, up to
    n times per labelling, by ``solve_graph``: then `is_exact` says of each answer whether it is
    proved that no labelling that comes later scores higher. A time limit ends the list; its `bound`
    is one on all labellings that are not listed, -inf if there are no others.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph, k_best_graph
    >>> graph = FactorGraph([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], [[1.0, 0.0], [0.0, 1.0]])
    >>> [(answer.labels.tolist(), answer.score) for answer in k_best_graph(graph, 3)]
    [([1, 1], 2.0), ([0, 0], 1.5), ([1, 0], 1.5)]
    """
    check_graph(graph)
    k = check_count("k", k)
    options = _check_options(Options(time_limit=time_limit, most_cells=most_cells))
    shape = graph.shape
    # There are no more labellings than this.
    n_all = float(np.prod(shape.n_labels.astype(np.float64)))
    k, is_all = (k, False) if k < n_all else (int(n_all), True)
    labels, scores = np.empty((k, graph.n_nodes), dtype=np.int32), np.empty(k)
    order = known_forest(shape)
    if order is not None and float(k) * float(shape.message_at[-1]) <= most_cells:
        count = best_k_forest(
            shape, graph.unary, graph.tables, order, k, kbest_room(shape, k), labels, scores
        )
        return _listed(labels, scores, count, "forest", is_all)
    fitting, tree = fitting_tree(graph, most_cells)
    if tree is not None and kbest_cells(tree, k) <= most_cells:
        dense = dense_graph(fitting)
        room = kbest_junction_room(dense.shape, tree, k)
        labels = np.empty((k, dense.n_nodes), dtype=np.int32)
        count = best_k_junction(
            dense.shape, dense.unary, dense.tables, tree, k, room, labels, scores
        )
        return _listed(labels[:, : graph.n_nodes], scores, count, "junction", is_all)
    found = _k_best_by_calls(graph, k, options)
    return KBest(found, -np.inf) if is_all and len(found) == k else found


def _listed(labels: Any, scores: Any, count: int, method: str, is_all: bool) -> KBest:
    """Return the first `count` labellings as exact answers."""
    found = [
        GraphAnswer(labels[r].copy(), float(scores[r]), float(scores[r]), True, method, 0)
        for r in range(count)
    ]
    # A list that is shorter than was asked for holds all that is allowed.
    is_whole = is_all or count < len(scores)
    return KBest(found, -np.inf if is_whole else found[-1].score)


def _k_best_by_calls(graph: FactorGraph, k: int, options: Options) -> KBest:
    """Return the k best by solving the graph with labels forbidden."""
    end = None if options.time_limit is None else time.monotonic() + options.time_limit

    def solve(part: FactorGraph) -> GraphAnswer:
        left = None if end is None else max(0.0, end - time.monotonic())
        return auto(part, options._replace(time_limit=left))

    parts = best_by_partition(graph, solve)
    found: list[GraphAnswer] = []
    while len(found) < k and (not found or end is None or time.monotonic() < end):
        try:
            found.append(next(parts))
        except StopIteration as over:
            return KBest(found, over.value)
    return KBest(found, found[-1].bound)


def _check_options(options: Options) -> Options:
    """Return the options; refuse numbers that mean nothing."""
    for name in ("time_limit", "tol"):
        value = getattr(options, name)
        if value is None and name == "time_limit":
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise TypeError(f"{name} must be a number, got {value!r}.")
        if not 0.0 <= value < np.inf:
            raise ValueError(f"{name} must be finite and at least 0, got {value}.")
    if options.max_iter is not None:
        options = options._replace(max_iter=check_count("max_iter", options.max_iter))
    if options.callback is not None and not callable(options.callback):
        raise TypeError(f"callback must be callable or None, got {options.callback!r}.")
    return options._replace(
        most_cells=check_count("most_cells", options.most_cells),
        most_nodes=check_count("most_nodes", options.most_nodes),
    )
