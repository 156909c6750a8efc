"""Marginals and max-marginals of factor graphs: exact where that fits, else approximate, and said.

Exact are two passes over a forest or a junction tree. Factor graphs without a cycle have a small
one, as rules over many nodes are counted (counted.py); max-marginals take their messages as they
are. "loopy" is sum-product belief propagation: often close, but it need not converge, and nothing
is guaranteed. "smoothed" has the marginals of a convex relaxation, which always converge, and are
too even. In place of max-marginals "bound" has numbers that these never exceed, by SRMP.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import entr

from maxmargin.inference._checks import check_count, check_temperature
from maxmargin.inference.graph.acyclic import acyclic_max_marginals, acyclic_room, find_acyclic
from maxmargin.inference.graph.beliefs import loopy_beliefs, soft_bound
from maxmargin.inference.graph.bound import label_bounds
from maxmargin.inference.graph.counted import counted_graph, fitting_tree
from maxmargin.inference.graph.dense import dense_graph, own_tables, table_sizes
from maxmargin.inference.graph.exact import known_forest
from maxmargin.inference.graph.forest import (
    forest_marginals,
    forest_max_marginals,
    forest_room,
    marginal_room,
)
from maxmargin.inference.graph.junction import (
    JunctionTree,
    junction_marginals,
    junction_max_marginals,
    junction_room,
)
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.shape import Shape, nodes_of
from maxmargin.inference.graph.smoothed import smoothed, smoothed_room
from maxmargin.inference.graph.srmp import srmp, srmp_room

__all__ = ["GraphMarginals", "LabelScores", "graph_marginals", "graph_max_marginals"]

#: Names of methods: of marginals, and of max-marginals.
METHODS, MAX_METHODS = ("exact", "auto", "loopy", "smoothed"), ("exact", "auto", "bound")
#: Iterations of loopy belief propagation, passes of smoothed ascent, iterations of SRMP.
N_LOOPY, N_PASSES, N_SRMP = 1000, 2000, 500
#: Loopy belief propagation has converged when messages change by less than this share of the
#: temperature.
DAMPING, STILL = 0.3, 1e-7
#: What there is for graphs whose junction tree is too large: for marginals, for max-marginals.
WAY_OUT = (
    "Methods that fit a graph of any size, and approximate: 'loopy' and 'smoothed'; 'auto' is "
    "exact where it can be. most_cells of graph_marginals raises the limit."
)
MAX_WAY_OUT = (
    "The method 'bound' fits a graph of any size, and gives numbers that the max-marginals never "
    "exceed; 'auto' is exact where it can be. most_cells of graph_max_marginals raises the limit."
)
#: The most entries of a rule that is written out as a table, for methods that approximate.
MOST_CELLS = 100_000


class GraphMarginals(NamedTuple):
    """Probabilities under p(x) ~ exp(score(x) / temperature).

    Attributes
    ----------
    node : list of 1-D float64 arrays
        p(x_v = k), one array per node.
    factor : list of float64 arrays
        p(x_f), one array per factor of the graph, with one axis per member. Rules over many nodes
        that were counted rather than tabulated are left out.
    members : list of tuples of int
        The nodes of each factor.
    log_partition : float
        log sum_x exp(score(x) / temperature); -inf if the constraints allow no labelling. By
        "loopy" the estimate of Bethe, by "smoothed" an upper bound.
    method : str
        "forest", "junction", "loopy" or "smoothed".
    is_exact : bool
    is_converged : bool
        False if an iterative method ended at its limit of iterations.
    """

    node: list[npt.NDArray[np.float64]]
    factor: list[npt.NDArray[np.float64]]
    members: list[tuple[int, ...]]
    log_partition: float
    method: str = "forest"
    is_exact: bool = True
    is_converged: bool = True


class LabelScores(list[npt.NDArray[np.float64]]):
    """One array per node: the best score with each label, or a bound of it.

    Attributes
    ----------
    method : str
        "forest", "acyclic", "junction" or "bound".
    is_exact : bool
    """

    def __init__(self, rows: list[npt.NDArray[np.float64]], method: str, is_exact: bool) -> None:
        super().__init__(rows)
        self.method, self.is_exact = method, is_exact


def graph_marginals(
    graph: FactorGraph,
    temperature: float = 1.0,
    *,
    method: str = "exact",
    most_cells: int = 30_000_000,
    max_iter: int | None = None,
) -> GraphMarginals:
    """Return the marginals and the log-partition of p(x) ~ exp(score(x) / temperature).

    Parameters
    ----------
    graph : FactorGraph
    temperature : float > 0
    method : {"exact", "auto", "loopy", "smoothed"}, default="exact"
        "exact": two passes over a forest, or over a junction tree, in which rules over many nodes
        are counted; it is refused if it has more than `most_cells` table cells. "loopy": belief
        propagation, which is exact without cycles only, and need not converge. "smoothed": the
        marginals of a convex relaxation, which are more even than the true ones. "auto": "exact"
        where the junction tree fits, else "loopy".
    most_cells : int
    max_iter : int or None
        Most iterations of the last two; None for their own limits.

    Returns
    -------
    GraphMarginals
        It says how it was got. Factors are those of the graph after merging.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph, graph_marginals
    >>> graph = FactorGraph([[0.0, 0.0]] * 2, [(0, 1)], [[1.0, 0.0], [0.0, 1.0]])
    >>> found = graph_marginals(graph)
    >>> found.node[0], found.factor[0].round(3), round(found.log_partition, 3), found.method
    (array([0.5, 0.5]), array([[0.366, 0.134],
           [0.134, 0.366]]), 2.006, 'forest')
    >>> graph_marginals(graph, method="loopy").factor[0].round(3)
    array([[0.366, 0.134],
           [0.134, 0.366]])
    """
    check_graph(graph)
    temperature = check_temperature(temperature)
    _check_method(method, METHODS)
    limit = None if max_iter is None else check_count("max_iter", max_iter)
    if method in ("exact", "auto"):
        if known_forest(graph.shape) is not None:
            return _exact(graph, graph, None, temperature)
        fitting, tree = fitting_tree(graph, most_cells, WAY_OUT if method == "exact" else None)
        if tree is not None:
            return _exact(graph, fitting, tree, temperature)
    dense = own_tables(dense_graph(counted_graph(graph), MOST_CELLS))
    if method == "smoothed":
        return _smoothed(graph, dense, temperature, limit or N_PASSES)
    return _loopy(graph, dense, temperature, limit or N_LOOPY)


def _exact(
    graph: FactorGraph, fitting: FactorGraph, tree: JunctionTree | None, temperature: float
) -> GraphMarginals:
    """Return the marginals by a junction tree, or by two passes where there is none."""
    dense = own_tables(dense_graph(fitting))
    shape, unary, tables = dense.shape, dense.unary, dense.tables
    node, factor = np.zeros(len(unary)), np.zeros(len(tables))
    if tree is None:
        order = known_forest(fitting.shape)
        log_partition = forest_marginals(
            shape, unary, tables, order, temperature, marginal_room(shape), node, factor
        )
    else:
        room = junction_room(shape, tree, 3)
        log_partition = junction_marginals(
            shape, unary, tables, tree, temperature, room, node, factor
        )
    found = _marginals(graph, dense, node, factor, log_partition)
    return found._replace(method="forest" if tree is None else "junction")


def _loopy(
    graph: FactorGraph, dense: FactorGraph, temperature: float, n_iterations: int
) -> GraphMarginals:
    """Return the marginals of belief propagation, and the estimate of Bethe."""
    shape, unary, tables = dense.shape, dense.unary, dense.tables
    node, factor = np.zeros(len(unary)), np.zeros(len(tables))
    room, messages = smoothed_room(shape), np.zeros(int(shape.message_at[-1]))
    change, _ = loopy_beliefs(
        shape, unary, tables, messages, temperature, n_iterations, DAMPING, STILL, room, node,
        factor,
    )  # fmt: skip
    log_partition = -np.inf if np.isnan(change) else _bethe(dense, node, factor, temperature)
    found = _marginals(graph, dense, node, factor, log_partition)
    is_converged = bool(np.isnan(change) or change <= STILL)
    return found._replace(method="loopy", is_exact=False, is_converged=is_converged)


def _bethe(
    dense: FactorGraph,
    node: npt.NDArray[np.float64],
    factor: npt.NDArray[np.float64],
    temperature: float,
) -> float:
    """Return the expected score / temperature, plus the entropies of factors and of nodes."""
    shape = dense.shape
    score = 0.0
    for mu, potential in ((node, dense.unary), (factor, dense.tables)):
        used = mu > 0.0
        score += float(mu[used] @ potential[used])
    # The entropy of a node counts once, less once for each of its factors.
    times = np.repeat(1.0 - np.diff(shape.slot_at), shape.n_labels)
    return score / temperature + float(entr(factor).sum() + times @ entr(node))


def _smoothed(
    graph: FactorGraph, dense: FactorGraph, temperature: float, n_passes: int
) -> GraphMarginals:
    """Return the marginals of smoothed ascent at the temperature, and its bound of log Z."""
    shape, unary, tables = dense.shape, dense.unary, dense.tables
    node, factor = np.zeros(len(unary)), np.zeros(len(tables))
    room, messages = smoothed_room(shape), np.zeros(int(shape.message_at[-1]))
    share = temperature / _spread(dense)
    bound, _, n_done = smoothed(
        shape, unary, tables, messages, share, 1, n_passes, room, node, factor
    )
    log_partition = -np.inf
    if bound > -np.inf:
        log_partition = soft_bound(
            shape, unary, tables, messages, temperature, room.cell_at, room.srmp.out
        )
    found = _marginals(graph, dense, node, factor, log_partition)
    is_converged = bool(n_done < n_passes or bound == -np.inf)
    return found._replace(method="smoothed", is_exact=False, is_converged=is_converged)


def _spread(dense: FactorGraph) -> float:
    """Return how far potentials spread, which `smoothed` counts temperatures by."""
    total = 0.0
    starts = (dense.shape.unary_at[:-1], dense.shape.table_at)
    for values, at in zip((dense.unary, dense.tables), starts, strict=True):
        if len(at):
            low = np.minimum.reduceat(np.where(np.isneginf(values), np.inf, values), at)
            total += float(np.maximum(0.0, np.maximum.reduceat(values, at) - low).mean())
    return total if total > 0.0 else 1.0


def _marginals(
    graph: FactorGraph,
    dense: FactorGraph,
    node: npt.NDArray[np.float64],
    factor: npt.NDArray[np.float64],
    log_partition: float,
) -> GraphMarginals:
    """Return marginals in lists; counters, and the tables that count, are left out."""
    shape, n_nodes = dense.shape, graph.n_nodes
    ends = shape.table_at + table_sizes(shape).astype(np.int64)
    members = [tuple(nodes_of(shape, f)) for f in range(dense.n_factors)]
    kept = [f for f, nodes in enumerate(members) if max(nodes, default=0) < n_nodes]
    if log_partition == -np.inf:
        node[:], factor[:] = 0.0, 0.0
    return GraphMarginals(
        _rows(shape, node, n_nodes),
        [
            factor[shape.table_at[f] : ends[f]].reshape(shape.n_labels[list(members[f])])
            for f in kept
        ],
        [members[f] for f in kept],
        float(log_partition),
    )


def _rows(
    shape: Shape, values: npt.NDArray[np.float64], n_nodes: int
) -> list[npt.NDArray[np.float64]]:
    """Return the numbers of each of the first nodes."""
    return np.split(values, shape.unary_at[1:-1])[:n_nodes] if n_nodes else []


def graph_max_marginals(
    graph: FactorGraph,
    *,
    method: str = "exact",
    most_cells: int = 30_000_000,
    max_iter: int | None = None,
) -> LabelScores:
    """Return the best score of a labelling with each label of each node, one array per node.

    Parameters
    ----------
    graph : FactorGraph
    method : {"exact", "auto", "bound"}, default="exact"
        "exact": two passes over a forest, a factor graph without a cycle, or a junction tree, which
        is refused if it has more than `most_cells` table cells. "bound": SRMP, after which numbers
        are known that no labelling with this label exceeds. "auto": "exact" where that fits, else
        "bound".
    most_cells : int
    max_iter : int or None
        Iterations of SRMP; None for 500.

    Returns
    -------
    LabelScores
        A list, whose attributes `method` and `is_exact` say how it was got. -inf: every labelling
        with this label is forbidden.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph, graph_max_marginals
    >>> graph = FactorGraph([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], [[1.0, 0.0], [0.0, 1.0]])
    >>> graph_max_marginals(graph)
    [array([1.5, 2. ]), array([1.5, 2. ])]
    >>> graph_max_marginals(graph, method="bound").is_exact
    False
    """
    check_graph(graph)
    _check_method(method, MAX_METHODS)
    limit = N_SRMP if max_iter is None else check_count("max_iter", max_iter)
    if method != "bound":
        found = _exact_max_marginals(graph, most_cells, method == "exact")
        if found is not None:
            return found
    shape, result = graph.shape, np.empty(len(graph.unary))
    messages, room = np.zeros(int(shape.message_at[-1])), srmp_room(shape)
    labels = np.zeros(graph.n_nodes, dtype=np.int32)
    srmp(shape, graph.unary, graph.tables, messages, limit, 0.0, room, labels)
    label_bounds(shape, graph.unary, graph.tables, messages, room.out, result)
    return LabelScores(_rows(shape, result, graph.n_nodes), "bound", False)


def _exact_max_marginals(graph: FactorGraph, most_cells: int, must: bool) -> LabelScores | None:
    """Return the exact max-marginals; None, or a refusal if they are a must, where too large."""
    shape, unary, tables = graph.shape, graph.unary, graph.tables
    result = np.empty(len(unary))
    order, loose = known_forest(shape), find_acyclic(shape)
    if order is not None:
        forest_max_marginals(shape, unary, tables, order, forest_room(shape), result)
        return LabelScores(_rows(shape, result, graph.n_nodes), "forest", True)
    if loose is not None:
        acyclic_max_marginals(shape, unary, tables, loose, acyclic_room(shape), result)
        return LabelScores(_rows(shape, result, graph.n_nodes), "acyclic", True)
    fitting, tree = fitting_tree(graph, most_cells, MAX_WAY_OUT if must else None)
    if tree is None:
        return None
    dense = dense_graph(fitting)
    result = np.empty(len(dense.unary))
    room = junction_room(dense.shape, tree, 2)
    junction_max_marginals(dense.shape, dense.unary, dense.tables, tree, room, result)
    return LabelScores(_rows(dense.shape, result, graph.n_nodes), "junction", True)


def check_graph(graph: object) -> None:
    """Refuse what is no FactorGraph."""
    if not isinstance(graph, FactorGraph):
        raise TypeError(f"graph must be a FactorGraph, got {type(graph).__name__}.")


def _check_method(method: str, known: tuple[str, ...]) -> None:
    if method not in known:
        raise ValueError(f"method is {method!r}; expected one of {', '.join(map(repr, known))}.")
