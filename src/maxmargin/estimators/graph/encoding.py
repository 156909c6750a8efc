"""From a request about graphs to what is trained on, or predicted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.costs import Cost, EdgeCost, PartCost, WeightedPartCost, WholeCost
from maxmargin.estimators.chain.encoding import weighted_cost
from maxmargin.estimators.graph.template import Template
from maxmargin.features.kernels import as_kernel
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.constraints import find_breach, node_barrier
from maxmargin.inputs.graph_edges import check_forests
from maxmargin.inputs.graph_rows import GraphKinds, ReadGraphs, known_part, read_graphs
from maxmargin.inputs.kernels import FittedKernel
from maxmargin.inputs.labels import Labels
from maxmargin.inputs.request import Request
from maxmargin.inputs.sequence_labels import SequenceLabels, read_fixed, read_labels
from maxmargin.structures import StackedGraphs, stacked_graphs
from maxmargin.structures.graph.data import Graphs
from maxmargin.structures.graph.shapes import links_of
from maxmargin.training.task import Task

#: Whether both directions of an edge are one edge: by the kind of its table, see `read_graphs`.
SYMMETRY = {"full": 0, "symmetric": 1, "antisymmetric": -1, "potts": 1}


class GraphOptions(NamedTuple):
    """The parameters of an estimator that say how graphs are read."""

    pairs: str
    hyper_pairs: str
    shared: bool
    bias: bool
    edge_bias: bool
    classes: Any
    cost: Cost
    class_weight: Mapping[Any, float] | str | None
    forests: bool  # whether cycles are refused
    kernel: Any = None  # by which nodes are compared, None for weights of their features
    cache_size: float = 0.0


class GraphTables(NamedTuple):
    """Graphs and their cost, before it is decided how they are inferred."""

    graphs: Graphs
    cost: Any
    weight: np.ndarray


@dataclass(frozen=True)
class GraphReader:
    """All that a fit learns of graphs and labels besides weights; it reads later requests.

    Attributes
    ----------
    labels : Labels
    kinds : GraphKinds, numbers of features and types of nodes, edges and hyperedges
    template : Template or None, the one graph that all examples have, where nothing is shared
    kernel : FittedKernel or None, by which nodes are compared
    """

    labels: Labels
    kinds: GraphKinds
    template: Template | None
    kernel: FittedKernel | None = None

    @classmethod
    def learn(cls, request: Request, options: GraphOptions) -> tuple[Self, GraphTables]:
        """Return the reader that a first request makes, and what to learn from."""
        read, kinds = _read(request, options)
        at = read.stack.node_at
        found = read_labels(request.y, request.fixed, at, None, options.classes, "nodes")
        template = None if options.shared else Template.of(read.stack)
        return cls(found.labels, kinds, template)._tables(request, options, read, found, True)

    def task(self, request: Request, options: GraphOptions) -> GraphTables:
        """Return what to learn from a later request."""
        read, _ = _read(request, options, self.kinds)
        at = read.stack.node_at
        found = read_labels(request.y, request.fixed, at, self.labels, part="nodes")
        return self._tables(request, options, read, found, False)[1]

    def inputs(self, request: Request, options: GraphOptions) -> Graphs:
        """Return graphs to predict on; their true labels are all 0."""
        read, _ = _read(request, options, self.kinds)
        at = read.stack.node_at
        fixed = read_fixed(request.fixed, at, self.labels, "nodes")
        barrier = node_barrier(at, self.labels, request.allowed, fixed)
        return self.graphs(self._compared(read.stack), np.zeros(int(at[-1])), options, barrier)

    def _compared(self, stack: StackedGraphs) -> StackedGraphs:
        """Return graphs whose nodes have products with training nodes, if there is a kernel."""
        if self.kernel is None:
            return stack
        return replace(stack, nodes=self.kernel.features(_compared_rows(stack), lambda rows: rows))

    def _tables(
        self,
        request: Request,
        options: GraphOptions,
        read: ReadGraphs,
        found: SequenceLabels,
        learns: bool,
    ) -> tuple[Self, GraphTables]:
        """Return the known parts of graphs, and their costs; and the reader, with its kernel."""
        at = read.stack.node_at
        barrier = node_barrier(at, self.labels, request.allowed, found.fixed)
        breach = find_breach(found.codes, at, self.labels.classes, None, barrier)
        if breach is not None:
            raise ValueError(
                f"y[{breach.sequence}][{breach.position}] is a label that `allowed` forbids there."
            )
        weight = check_weights(request.sample_weight, len(at) - 1)
        known = found.codes >= 0
        n_known = np.add.reduceat(known, at[:-1], dtype=np.int64)
        if not (weight * n_known).any():
            raise ValueError("y has no known label in a graph of positive weight.")
        stack = self.typed(read.stack)
        stack = without_empty(known_part(stack, known))
        reader = self
        if learns and options.kernel is not None:
            kernel = kernel_of_nodes(options.kernel, stack, known)
            stack = replace(stack, nodes=kernel.train(options.cache_size))
            reader = replace(self, kernel=kernel)
        else:
            stack = self._compared(stack)
        walls = None if barrier is None else barrier[known]
        codes = found.codes[known]
        graphs = self.graphs(stack, codes, options, walls, is_typed=True)
        node_weights = None if read.node_weights is None else read.node_weights[known]
        used = weight[n_known > 0]
        cost = graph_cost(options, self.labels, graphs, used, node_weights)
        return reader, GraphTables(graphs, cost, used)

    def typed(self, stack: StackedGraphs) -> StackedGraphs:
        """Return graphs whose nodes and edges have types of their own, if nothing is shared."""
        return stack if self.template is None else self.template.typed(stack)

    def graphs(
        self,
        stack: StackedGraphs,
        codes: np.ndarray,
        options: GraphOptions,
        barrier: np.ndarray | None,
        is_typed: bool = False,
    ) -> Graphs:
        """Return stacked graphs as compiled code reads them."""
        n_node_types, n_edge_types, orders = self.n_types()
        return stacked_graphs(
            stack if is_typed else self.typed(stack),
            codes,
            len(self.labels),
            pairs=options.pairs,
            n_node_types=n_node_types,
            n_edge_types=n_edge_types,
            hyper_orders=orders,
            hyper_pairs=options.hyper_pairs,
            bias=options.bias,
            # Edges without features have a constant, whatever is asked for.
            edge_bias=options.edge_bias or self.kinds.n_edge_columns == 0,
            barrier=barrier,
        )

    def empty(self, options: GraphOptions) -> Graphs:
        """Return no graph at all, of these kinds: it says where the weights lie."""
        kinds, none = self.kinds, np.zeros(1, dtype=np.int64)
        stack = StackedGraphs(
            np.zeros((0, kinds.n_columns if self.kernel is None else len(self.kernel))),
            none,
            np.zeros((0, 2), dtype=np.int64),
            none,
            np.zeros((0, kinds.n_edge_columns)),
            hyper_at=none,
            hyper_features=np.zeros((0, kinds.n_hyper_columns)),
        )
        return self.graphs(stack, np.zeros(0), options, None)

    def n_types(self) -> tuple[int, int, tuple[int, ...]]:
        """Return how many types of nodes and edges there are, and the orders of hyperedges."""
        if self.template is not None:
            return self.template.n_types()
        kinds = self.kinds
        return (
            1 if kinds.node_types is None else len(kinds.node_types),
            1 if kinds.edge_types is None else len(kinds.edge_types),
            kinds.hyper_orders,
        )


def _compared_rows(stack: StackedGraphs) -> Any:
    """Return nodes as a kernel takes them: a matrix, or a list of strings."""
    nodes = stack.nodes
    return nodes[:, 0].tolist() if nodes.dtype == object else nodes


def kernel_of_nodes(kernel: Any, stack: StackedGraphs, known: np.ndarray) -> FittedKernel:
    """Return a kernel with the nodes to learn from.

    known : of all nodes that were given, which of them `stack` has: products are with all of them
    """
    rows = _compared_rows(stack)
    if as_kernel(kernel).takes != "gram":
        return FittedKernel.learn(kernel, rows, lambda rows: rows)
    if rows.shape[1] != len(known):
        raise ValueError(
            "kernel='precomputed': the nodes of all graphs, one below the other, must be the "
            f"square matrix of their products; got shape {(len(known), rows.shape[1])}."
        )
    chosen = rows if sp.issparse(rows) else np.ascontiguousarray(rows[:, known])
    learnt = FittedKernel.learn(kernel, chosen, lambda rows: rows)
    return replace(learnt, support=np.flatnonzero(known), n_train=len(known))


def _read(
    request: Request, options: GraphOptions, known: GraphKinds | None = None
) -> tuple[ReadGraphs, GraphKinds]:
    """Return the graphs of a request; refuse cycles where they are refused."""
    takes = None if options.kernel is None else as_kernel(options.kernel).takes
    read, kinds = read_graphs(
        request.X,
        known,
        symmetric=SYMMETRY[options.pairs],
        hyper_symmetric=options.hyper_pairs == "potts",
        strings=takes == "strings",
    )
    if options.forests:
        check_forests(read.stack)
    return read, kinds


def without_empty(stack: StackedGraphs) -> StackedGraphs:
    """Return the graphs that have nodes."""
    keep = np.diff(stack.node_at) > 0
    if keep.all():
        return stack

    def ends(at: np.ndarray) -> np.ndarray:
        return np.concatenate([at[:1], at[1:][keep]])

    hyper_at = None if stack.hyper_at is None else ends(stack.hyper_at)
    return replace(
        stack, node_at=ends(stack.node_at), edge_at=ends(stack.edge_at), hyper_at=hyper_at
    )


def graph_cost(
    options: GraphOptions,
    labels: Labels,
    graphs: Graphs,
    weight: np.ndarray,
    node_weights: np.ndarray | None,
) -> Any:
    """Return the tables of the cost, with the weights of classes and of nodes.

    weight : of every graph
    """
    node_at = np.asarray(graphs.shapes.node_at)
    sizes = np.diff(node_at)
    parts = sizes if node_weights is None else np.add.reduceat(node_weights, node_at[:-1])
    links = links_of(graphs.shapes)
    tables = options.cost.tabulate("vertices", labels.classes, parts, links)
    if isinstance(tables, EdgeCost):
        check_plain(options.cost, options.class_weight, node_weights)
        return tables
    own = np.repeat(weight, sizes) * (1.0 if node_weights is None else node_weights)
    tables = weighted_cost(tables, options.class_weight, labels, graphs.labels, own)
    if node_weights is None:
        return tables
    if isinstance(tables, WholeCost):
        raise ValueError(
            "node_weights weigh the cost of single nodes, which a cost of whole graphs such as "
            "cost='zero_one' does not have; leave one of them out."
        )
    if not isinstance(tables, PartCost):
        raise ValueError(f"node_weights do not go with {type(options.cost).__name__}.")
    return WeightedPartCost(tables.matrix, tables.scale, node_weights)


def check_plain(cost: Cost, class_weight: Any, node_weights: Any) -> None:
    """Refuse weights of classes and of nodes, where edges are priced."""
    for name, given in (("class_weight", class_weight), ("node_weights", node_weights)):
        if given is not None:
            raise ValueError(
                f"{name} weighs the cost of single nodes, but {type(cost).__name__} prices edges; "
                "leave one of them out (EdgeLoss(weights=) weighs edges)."
            )


def graph_task(tables: GraphTables, data: Any) -> Task:
    """Return the task of graphs that are inferred in one way or another."""
    return Task(data, tables.cost, len(tables.weight), tables.weight)
