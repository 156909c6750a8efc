"""DIMACS files of maximum flow problems, as the minimum cut that they are the dual of.

Lines begin with ``c`` (a comment), ``p max NODES ARCS``, ``n NODE s`` and ``n NODE t`` (the source
and the sink), and ``a FROM TO CAPACITY``. Nodes count from 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.files import Source, shown, source_name
from maxmargin.io.graphs.parts import MOST_CELLS, Parts
from maxmargin.io.graphs.words import Words

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["FlowNetwork", "read_dimacs", "read_flow_network"]


class FlowNetwork(NamedTuple):
    """A network with a source and a sink; nodes count from 0.

    Attributes
    ----------
    n_nodes, source, sink : int
    arcs : int64 array of shape (n_arcs, 2)
        From, to; also repeated, and from a node to itself.
    capacities : float64 array of shape (n_arcs,)
    """

    n_nodes: int
    source: int
    sink: int
    arcs: NDArray[np.int64]
    capacities: NDArray[np.float64]


def read_flow_network(source: Source, *, most_cells: int = MOST_CELLS) -> FlowNetwork:
    r"""The network of a DIMACS file of a maximum flow problem, plain or gzipped.

    Parameters
    ----------
    source : path or file open for reading
    most_cells : int, default 30_000_000
        The most scores that its cut may have as a model: two per node, four per arc.

    Examples
    --------
    >>> import io
    >>> read_flow_network(io.StringIO("p max 2 1\nn 1 s\nn 2 t\na 1 2 5\n"))
    FlowNetwork(n_nodes=2, source=0, sink=1, arcs=array([[0, 1]]), capacities=array([5.]))
    """
    words = Words(source, comment="c")
    size: tuple[int, int] | None = None
    ends: dict[str, int] = {}
    arcs: list[int] = []
    capacities: list[float] = []
    while words.has_more():
        kind = words.word("a line")
        if kind == "p":
            if size is not None:
                words.fail("a second line with the sizes (p).")
            size = _sizes(words, most_cells)
        elif kind not in ("n", "a"):
            words.fail(f"expected a line that begins with c, p, n or a, got {shown(kind)}.")
        elif size is None:
            words.fail("expected the sizes first, p max NODES ARCS.")
        elif kind == "n":
            _end(words, size[0], ends)
        else:
            arcs += [words.whole(f"the {w} of an arc", 1, size[0]) - 1 for w in ("start", "end")]
            capacities.append(float(words.numbers(1, "the capacity of an arc", low=0.0)[0]))
    if size is None:
        words.fail("the file ends here; expected the sizes, p max NODES ARCS.")
    if len(capacities) != size[1]:
        words.fail(f"the file ends here; expected {size[1]} arcs, got {len(capacities)}.")
    for letter, what in (("s", "source"), ("t", "sink")):
        if letter not in ends:
            words.fail(f"the file ends here, and no line says the {what}, n NODE {letter}.")
    if ends["s"] == ends["t"]:
        words.fail(f"node {ends['s'] + 1} is source and sink.")
    pairs = np.array(arcs, dtype=np.int64).reshape(-1, 2)
    return FlowNetwork(size[0], ends["s"], ends["t"], pairs, np.array(capacities))


def _sizes(words: Words, most_cells: int) -> tuple[int, int]:
    kind = words.word("max")
    if kind != "max":
        words.fail(f"expected a maximum flow problem, p max, got {shown(kind)}.")
    n = words.whole("the number of nodes", 2)
    m = words.whole("the number of arcs", high=2**62)
    Parts(words.name, most_cells).take(2 * n + 4 * m, f"{words.name}, line {words.line}")
    return n, m


def _end(words: Words, n: int, ends: dict[str, int]) -> None:
    node = words.whole("a node", 1, n) - 1
    letter = words.word("s or t")
    if letter not in ("s", "t"):
        words.fail(f"expected s or t, got {shown(letter)}.")
    if letter in ends:
        words.fail(f"a second node is called {letter}; expected one source and one sink.")
    ends[letter] = node


def read_dimacs(source: Source, *, most_cells: int = MOST_CELLS) -> FactorGraph:
    r"""The minimum cut of a DIMACS file of a maximum flow problem, as a model.

    Label 0 is the side of the source, label 1 that of the sink. The score of a labelling is minus
    the capacity of the arcs from label 0 to label 1; that of the best one is the maximum flow.

    Parameters
    ----------
    source : path or file open for reading
    most_cells : int, default 30_000_000
        The most scores that the model may have.

    Returns
    -------
    FactorGraph
        One node per node of the network; the source and the sink have one label each, and arcs at
        them are scores of the nodes at their other ends.

    Examples
    --------
    >>> import io
    >>> text = "p max 3 3\nn 1 s\nn 3 t\na 1 2 5\na 2 3 2\na 2 1 9\n"
    >>> graph = read_dimacs(io.StringIO(text))
    >>> graph.score([0, 0, 1]), graph.score([0, 1, 1])
    (-2.0, -5.0)
    """
    from maxmargin.inference.graph.model import check_sums

    network = read_flow_network(source, most_cells=most_cells)
    try:
        check_sums(len(network.arcs), network.capacities)
        return _cut_graph(network)
    except ValueError as error:
        raise ValueError(f"{source_name(source)}: {error}") from None


def _cut_graph(network: FlowNetwork) -> FactorGraph:
    """Return the graph whose best labelling is a minimum cut."""
    from maxmargin.inference import FactorGraph

    s, t = network.source, network.sink
    a, b = network.arcs[:, 0], network.arcs[:, 1]
    unary = np.zeros((network.n_nodes, 2))
    # Arcs into the source, out of the sink and from a node to itself are never cut.
    from_s, to_t = (a == s) & (b != s), (b == t) & (a != t)
    np.subtract.at(unary[:, 1], b[from_s & ~to_t], network.capacities[from_s & ~to_t])
    np.subtract.at(unary[:, 0], a[to_t & ~from_s], network.capacities[to_t & ~from_s])
    unary[s] = [0.0 - network.capacities[from_s & to_t].sum(), -np.inf]
    unary[t] = [-np.inf, 0.0]
    is_inner = (a != b) & (a != s) & (b != s) & (a != t) & (b != t)
    tables: Any = np.zeros((int(np.count_nonzero(is_inner)), 2, 2))
    tables[:, 0, 1] = 0.0 - network.capacities[is_inner]
    return FactorGraph(unary, network.arcs[is_inner], tables if len(tables) else None)
