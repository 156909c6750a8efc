"""Rules over many nodes as counters of small tables, so that junction trees stay small.

Exactly one, at most one, at least one and cardinality only ask how many members are on. A node of
its own counts them, from the leaves of a tree over the nodes to its root:

    count of a part = [member is on] + counts of the parts below it,

each step a table over at most three nodes. The count at the root has the score of the rule. Counts
follow from the labels of the members, so the labellings of both graphs are the same, one to one.
Where the other factors form a forest, counters follow it, and a junction tree over both is as wide
as one edge and a few counts, however many members the rule has.

Potts^n is such a rule too: what is passed on is the label that all so far have, or that they
differ. It is taken apart only where the whole factor graph has no cycle, which then stays so.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.acyclic import find_acyclic
from maxmargin.inference.graph.counters import Counters, Rule, count, tree_along
from maxmargin.inference.graph.dense import table_sizes
from maxmargin.inference.graph.factors import (
    at_least_one,
    at_most_one,
    cardinality,
    custom,
    exactly_one,
    potts,
)
from maxmargin.inference.graph.junction import JunctionTree, find_junction_tree, junction_tree
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.shape import Shape, nodes_of

__all__ = [
    "check_own_kinds",
    "counted_graph",
    "fitting_tree",
    "fittings",
    "is_worth_ordering",
    "with_count",
]

Ints = npt.NDArray[np.int64]

#: Kinds of rules that count, and all that can be taken apart.
COUNTING = (exactly_one.KIND, at_most_one.KIND, at_least_one.KIND, cardinality.KIND)
APART = (*COUNTING, potts.KIND)
#: Graphs with more nodes have a junction tree only if they are nearly forests, with at most
#: MOST_EXTRA edges too many.
MOST_NODES, MOST_EXTRA = 20_000, 2_000
#: A rule whose table has at most so many cells is left as it is.
SMALL = 64


def counted_graph(graph: FactorGraph, kinds: tuple[int, ...] = COUNTING) -> FactorGraph:
    """Return the graph with its large rules of these kinds replaced by counters.

    The nodes of the graph come first, then the counters; the factors that stay come first too, in
    their order. The graph itself is returned if there is nothing to replace. Scores are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.counted import counted_graph
    >>> from maxmargin.inference.graph.factors import ExactlyOne
    >>> same, edges = np.eye(2), [(v, v + 1) for v in range(19)]
    >>> graph = FactorGraph(np.zeros((20, 2)), edges, same, factors=[ExactlyOne(range(20))])
    >>> counted_graph(graph)
    FactorGraph(40 nodes, 39 factors)
    """
    shape = graph.shape
    is_large = _is_large(shape, kinds)
    if not is_large.any():
        return graph
    kept, new = np.flatnonzero(~is_large), Counters(shape)
    has_cycle = find_acyclic(shape) is None
    above = tree_along(shape, kept) if has_cycle else []
    for f in np.flatnonzero(is_large).tolist():
        rule = _rule_of(graph, f)
        # In a graph without a cycle, a path along the members of each rule makes none.
        path = list(zip(rule.nodes, [*rule.nodes[1:], -1], strict=True))
        count(rule, above if has_cycle else path, new)
    return new.added_to(graph, kept)


def with_count(
    graph: FactorGraph, fitting: FactorGraph, states: dict[int, Ints], most_cells: float = np.inf
) -> tuple[FactorGraph, int]:
    """Return a graph with a further node, whose label is a sum over the nodes, and that node.

    Parameters
    ----------
    graph : FactorGraph
    fitting : FactorGraph
        The same graph, or what `counted_graph` makes of it: to this one the node is added.
    states : dict of int arrays
        What each label of some nodes of `graph` counts, at least one node.
    most_cells : float
        The most cells of the tables that count; `TooManyCellsError` is raised where they have more.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.inference import FactorGraph, solve_graph
    >>> from maxmargin.inference.graph.counted import with_count
    >>> graph = FactorGraph([[0.0, 1.0, 2.0]] * 2)
    >>> more, node = with_count(graph, graph, {v: np.array([0, 1, 1]) for v in range(2)})
    >>> solve_graph(more).labels[node]
    np.int32(2)
    """
    is_whole = find_acyclic(graph.shape) is not None
    kept = np.flatnonzero(is_whole | ~_is_large(graph.shape, APART))
    most = sum(int(counts.max()) for counts in states.values())
    rule = Rule(list(states), list(states.values()), np.zeros(most + 1), np.add)
    new = Counters(fitting.shape, most_cells)
    node = count(rule, tree_along(graph.shape, kept), new)
    return new.added_to(fitting, np.arange(fitting.n_factors)), node


def _is_large(shape: Shape, kinds: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    return np.isin(shape.kinds, kinds) & (table_sizes(shape) > SMALL)


def fitting_tree(
    graph: FactorGraph, most_cells: float, way_out: str | None = None
) -> tuple[FactorGraph, JunctionTree | None]:
    """Return the graph with counters, or without, and a junction tree of it that is small enough.

    If there is none the tree is None. If there is a way out the tree is a must: it is refused with
    its size, and with the way out.
    """
    tried = []
    for each in fittings(graph):
        tree = find_junction_tree(each.shape, most_cells) if is_worth_ordering(each.shape) else None
        if tree is not None:
            return each, tree
        tried.append(each)
    smallest = max(tried, key=lambda each: each.n_nodes)
    if way_out is None:
        return smallest, None
    check_own_kinds(graph, most_cells)
    return smallest, junction_tree(smallest.shape, most_cells, way_out)


def fittings(graph: FactorGraph) -> Iterator[FactorGraph]:
    """Yield the forms of a graph that may have a small junction tree, the first choice first.

    Potts^n is taken apart at last, because a table has marginals of its own.
    """
    counted = counted_graph(graph)
    yield counted
    if counted is not graph:
        yield graph
    if (graph.shape.kinds == potts.KIND).any() and find_acyclic(graph.shape) is not None:
        yield counted_graph(graph, APART)


def check_own_kinds(graph: FactorGraph, most_cells: float) -> None:
    """Refuse a factor of a type of the user whose table, which is needed, is too large."""
    sizes = np.where(graph.shape.kinds == custom.KIND, table_sizes(graph.shape), 0.0)
    if sizes.max(initial=0.0) > most_cells:
        f = int(np.argmax(sizes))
        raise ValueError(
            f"factor {f} is a CustomFactor of {len(nodes_of(graph.shape, f))} nodes. What is asked "
            f"for needs it as a table of {sizes[f]:.3g} cells; at most {most_cells:.3g} are "
            "allowed. Its message alone serves best labellings and max-marginals, by 'auto', "
            "'acyclic', 'srmp', 'branch' and 'loopy'."
        )


def is_worth_ordering(shape: Shape) -> bool:
    """Return whether a junction tree may be small: large graphs must be nearly forests."""
    n_nodes, n_extra = len(shape.n_labels), len(shape.members) - len(shape.kinds)
    return n_nodes <= MOST_NODES or n_extra - n_nodes <= MOST_EXTRA


def _rule_of(graph: FactorGraph, f: int) -> Rule:
    """Return a rule as scores of states: counts, or the label that all have, or that none is."""
    shape = graph.shape
    slots = range(shape.member_at[f], shape.member_at[f + 1])
    nodes, kind = list(nodes_of(shape, f)), shape.kinds[f]
    labels = [np.arange(size) for size in shape.n_labels[nodes]]
    numbers = graph.tables[shape.table_at[f] :]
    if kind == potts.KIND:
        n_labels = len(labels[0])
        same = np.append(numbers[1 : n_labels + 1], numbers[0])  # the last state: they differ
        return Rule(nodes, labels, same, lambda a, b: np.where(a == b, a, n_labels))
    is_on = [(own == shape.on[s]).astype(np.int64) for s, own in zip(slots, labels, strict=True)]
    if kind == exactly_one.KIND:
        return Rule(nodes, is_on, np.array([-np.inf, 0.0]), np.add)
    if kind == at_most_one.KIND:
        return Rule(nodes, is_on, np.zeros(2), np.add)
    if kind == at_least_one.KIND:
        return Rule(nodes, is_on, np.array([-np.inf, 0.0]), np.maximum)
    values = numbers[: len(nodes) + 1]
    allowed = np.flatnonzero(values > -np.inf)
    most = int(allowed[-1]) if len(allowed) else 0
    return Rule(nodes, is_on, values[: most + 1].copy(), np.add)
