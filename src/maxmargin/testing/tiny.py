"""Problems so small that all their outputs can be listed, one for every registered structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.core.contract import has, kernel_use, maximize, true_parts
from maxmargin.core.problem import Problem
from maxmargin.costs import (
    COSTS,
    Cost,
    tabulate,
)
from maxmargin.features import GramRows, RepeatedRows
from maxmargin.features.kernels import Linear
from maxmargin.inference.hierarchy.shape import hierarchy_shape
from maxmargin.structures import (
    OwnCost,
    StackedGraphs,
    UserData,
    chain_data,
    chain_layout,
    edge_field_data,
    forest_data,
    general_data,
    labels_data,
    multiclass_data,
    node_sets_data,
    parse_data,
    paths_data,
    ranking_data,
    relaxed_data,
    stacked_graphs,
)
from maxmargin.surrogates import SURROGATES
from maxmargin.testing.enumerate import node_sets, trees
from maxmargin.training.settings import resolve_search
from maxmargin.training.task import Task

N_LABELS = 3
LENGTHS = (1, 3, 2, 3)


class TinyData(NamedTuple):
    """Examples of one structure, and how many positions each has."""

    data: Any
    sizes: np.ndarray


class Agreement:
    """A structure in plain Python, for tests: the class whose prototype agrees most with x.

    Examples
    --------
    >>> import numpy as np
    >>> agreement = Agreement(n_classes=3, n_columns=2)
    >>> w = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    >>> agreement.maximize(np.array([0.0, 2.0]), w, None, 1.0, 0.0)
    1
    """

    def __init__(self, n_classes: int, n_columns: int) -> None:
        self.n_classes = n_classes
        self.n_features = n_classes * n_columns

    def joint_feature(self, x: np.ndarray, y: int) -> tuple[np.ndarray, np.ndarray]:
        """Put x where the prototype of class y is."""
        return np.arange(len(x)) + y * len(x), x

    def outputs(self, x: np.ndarray) -> list[int]:
        """List all classes (for the checks; no solver asks for it)."""
        return list(range(self.n_classes))

    def cost(self, y: int, y_true: int) -> float:
        """Count how far the classes are apart."""
        return float(abs(y - y_true))

    def maximize(
        self, x: np.ndarray, w: np.ndarray, y_true: Any, score_scale: float, cost_scale: float
    ) -> int:
        """Look at all classes."""
        values = score_scale * (w.reshape(self.n_classes, -1) @ x)
        if y_true is not None:
            values = values + cost_scale * np.abs(np.arange(self.n_classes) - y_true)
        return int(np.argmax(values))


#: How a small matrix is held, by name; one for each type of `maxmargin.features.FEATURES` at least.
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": np.asarray,
    "csr": sp.csr_matrix,
    "float32": np.float32,
    "repeated": lambda X: RepeatedRows(X[::-1], np.arange(len(X))[::-1]),
    "gram": lambda X: GramRows(np.asarray(X), Linear(), 1e6),
}


def _features(n_rows: int, kind: str, rng: np.random.Generator) -> Any:
    X = rng.normal(size=(n_rows, 2)).round(2)
    X[rng.random(X.shape) < 0.2] = 0.0
    return FORMS[kind](X)


def _tiny_multiclass(kind: str, rng: np.random.Generator) -> TinyData:
    labels = rng.permutation(np.arange(6) % N_LABELS)
    data = multiclass_data(_features(6, kind, rng), labels, N_LABELS)
    return TinyData(data, np.ones(6, dtype=np.int64))


def _tiny_chain(kind: str, rng: np.random.Generator) -> TinyData:
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    labels = rng.integers(N_LABELS, size=offsets[-1])
    X = _features(int(offsets[-1]), kind, rng)
    layout = chain_layout(X.shape[1], N_LABELS)
    return TinyData(chain_data(X, offsets, labels, layout), np.array(LENGTHS))


def _tiny_graphs(make: Callable[[Any], Any], edges: Any) -> Callable[..., TinyData]:
    """Return a maker of graphs: a single node, three nodes, two of which may be joined, and so on.

    Edges have features, and are given in both directions. A kernel knows those of nodes alone.
    """

    def of(kind: str, rng: np.random.Generator) -> TinyData:
        node_at = np.concatenate([[0], np.cumsum(LENGTHS)])
        edge_at = np.concatenate([[0], np.cumsum([len(own) for own in edges])])
        stack = StackedGraphs(
            _features(int(node_at[-1]), kind, rng),
            node_at,
            np.array([pair for own in edges for pair in own]),
            edge_at,
            _features(int(edge_at[-1]), "dense" if kind == "gram" else kind, rng),
        )
        labels = rng.integers(N_LABELS, size=node_at[-1])
        return TinyData(make(stacked_graphs(stack, labels, N_LABELS)), np.array(LENGTHS))

    return of


def _tiny_paths(kind: str, rng: np.random.Generator) -> TinyData:
    """Return labels at two children of one root, and at another root."""
    shape = hierarchy_shape(4, child=[2, 3], parent=[0, 0])
    labels = rng.permutation(np.arange(6) % N_LABELS)
    return TinyData(paths_data(_features(6, kind, rng), labels, shape, [3, 1, 2]), np.ones(6, int))


def _tiny_sets(
    space: str, child: Any, parent: Any, relaxed: bool = True
) -> Callable[..., TinyData]:
    """Return a maker of sets of nodes, none of them empty."""
    shape = hierarchy_shape(1 + max(child), child, parent)

    def make(kind: str, rng: np.random.Generator) -> TinyData:
        listed = node_sets(shape, space)
        sets = rng.choice(listed[listed.any(axis=1)], size=4)
        X = _features(4, kind, rng)
        data = node_sets_data(X, sets, shape, space=space, relaxed=relaxed)
        return TinyData(data, np.full(4, sets.shape[1]))

    return make


def _tiny_field(kind: str, rng: np.random.Generator) -> TinyData:
    """Return sets of the nodes of a path, and of a root beside it."""
    shape = hierarchy_shape(4, child=[1, 2], parent=[0, 1])
    sets = rng.choice(node_sets(shape, "closed"), size=4)
    data = edge_field_data(shape, _features(4, kind, rng), sets, paths=True)
    return TinyData(data, np.full(4, 5))


def _tiny_labels(inference: str, edges: Any = ()) -> Callable[..., TinyData]:
    """Return a maker of label sets: no set empty, as F1 asks, and one label not known."""

    def make(kind: str, rng: np.random.Generator) -> TinyData:
        Y = rng.integers(2, size=(4, N_LABELS))
        Y[np.arange(4), np.arange(4) % N_LABELS] = 1
        Y[3, 1] = -1
        data = labels_data(_features(4, kind, rng), Y, edges, inference=inference)
        return TinyData(data, (Y >= 0).sum(axis=1))

    return make


def _tiny_ranking(kind: str, rng: np.random.Generator) -> TinyData:
    """Return two queries with one grade of relevance, and one with two: two examples, same rows."""
    X = _features(12, kind, rng)
    sizes = np.array([4, 3, 5, 5])
    return TinyData(ranking_data(X, [0, 4, 7, 7], sizes, [2, 1, 1, 3]), sizes)


def _tiny_parses(kind: str, rng: np.random.Generator) -> TinyData:
    """Return projective trees over one, two and three words with two relations; one not counted."""
    sizes = np.array([1, 3, 2])
    X = _features(int(((sizes + 1) ** 2).sum()), kind, rng)
    heads = np.concatenate([rng.choice(trees(int(n))) for n in sizes])
    relations, counts = rng.integers(2, size=6), np.array([1, 1, 1, 0, 1, 1])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    data = parse_data(X, offsets, heads, relations, n_relations=2, counts=counts)
    return TinyData(data, np.array([1, 2, 2]))


def _tiny_user(kind: str, rng: np.random.Generator) -> TinyData:
    X = _features(6, "dense", rng)
    data = UserData(Agreement(N_LABELS, 2), X, rng.permutation(np.arange(6) % N_LABELS).tolist())
    return TinyData(data, np.ones(6, dtype=np.int64))


#: How a tiny instance of each registered structure is made.
TINY: dict[str, Callable[[str, np.random.Generator], TinyData]] = {
    "multiclass": _tiny_multiclass,
    "chain": _tiny_chain,
    "graph_forest": _tiny_graphs(forest_data, [[], [(0, 1), (2, 1)], [(1, 0)], [(2, 0)]]),
    "graph": _tiny_graphs(general_data, [[], [(0, 1), (2, 1), (0, 2)], [(1, 0)], [(2, 0)]]),
    # Without cycles the relaxation is exact.
    "graph_relaxed": _tiny_graphs(relaxed_data, [[], [(0, 1), (2, 1)], [(1, 0)], [(2, 0)]]),
    "graph_paths": _tiny_field,
    "hierarchy": _tiny_paths,
    "hierarchy_tree": _tiny_sets("paths", child=[1, 2], parent=[0, 0]),
    "hierarchy_cut": _tiny_sets("closed", child=[2, 2], parent=[0, 1]),
    # The edge from node 2 to node 0 adds nothing to a tree, where the relaxation is exact.
    "hierarchy_program": _tiny_sets("paths", [1, 2, 2, 3], [0, 0, 1, 0], relaxed=False),
    "hierarchy_relaxed_program": _tiny_sets("paths", [1, 2, 2, 3], [0, 0, 1, 0]),
    "multilabel": _tiny_labels("independent"),
    "multilabel_tree": _tiny_labels("tree", [(0, 1), (1, 2)]),
    "multilabel_listed": _tiny_labels("listed", [(0, 1), (0, 2), (1, 2)]),
    # On a forest the relaxation is exact, so the best of all label sets is also its optimum.
    "multilabel_pairwise": _tiny_labels("pairwise", [(0, 1), (1, 2)]),
    "multilabel_relaxed": _tiny_labels("relaxed", [(0, 1), (1, 2)]),
    "multilabel_program": _tiny_labels("program", [(0, 1), (0, 2), (1, 2)]),
    "multilabel_relaxed_program": _tiny_labels("relaxed_program", [(0, 1), (1, 2)]),
    "ranking": _tiny_ranking,
    "parse": _tiny_parses,
    "user": _tiny_user,
}


def knows_kernels(structure: str) -> bool:
    """Tell whether a kernel may know the features of a registered structure."""
    return structure != "user" and kernel_use(tiny_data(structure, "gram").data) is not None


def tiny_data(structure: str, features: str = "dense", seed: int = 0) -> TinyData:
    """Return a few examples of a registered structure; features as `FORMS` has them."""
    return TINY[structure](features, np.random.default_rng(seed))


def tiny_cost(name: str, classes: Any = tuple(range(N_LABELS))) -> Cost:
    """Return a registered cost with parameters that fit these classes, where it has any.

    Examples
    --------
    >>> tiny_cost("class_weighted", ["a", "b"])
    ClassWeighted(weights={'a': 2.5}, average='sum')
    """
    return COSTS[name].example(classes)


def fitting_costs(structure: str) -> list[str]:
    """Return the names of the costs that a registered structure takes: that it has an oracle for.

    Examples
    --------
    >>> fitting_costs("multilabel_tree")
    ['hamming', 'zero_one', 'class_weighted']
    """
    if structure == "user":  # which has its own
        return ["own"]
    tiny = tiny_data(structure)
    fitting = []
    for name in COSTS:
        try:
            tables = tiny_tables(tiny, name)
        except ValueError:  # it has no prices for these parts
            continue
        if has(maximize, type(tiny.data), type(tables)):
            fitting.append(name)
    return fitting


def tiny_tables(tiny: TinyData, cost: str) -> Any:
    """Return a registered cost as these examples take it."""
    if isinstance(tiny.data, UserData):
        return OwnCost()
    parts = true_parts(tiny.data)
    n_names = {"nodes": int(parts.lengths[0]), "arcs": 2}.get(parts.kind, N_LABELS)
    return tabulate(tiny_cost(cost), tiny.data, np.arange(n_names))


def tiny_problem(
    structure: str = "chain",
    cost: str | None = None,
    surrogate: str = "margin",
    *,
    search: str = "auto",
    lam: float = 0.1,
    features: str = "dense",
    seed: int = 0,
    n_jobs: int = 1,
    compile: bool = True,
    mode: str | None = None,
) -> Problem:
    """Return a problem with a few examples of a registered structure.

    `cost` is a name in `maxmargin.costs.COSTS`; None is the first that fits. A
    structure in plain Python has a cost of its own: `cost` is then not looked at. `search` is a
    name in `maxmargin.search.SEARCHES`, or "auto". `compile` and `mode` are those of
    `Problem`.

    Examples
    --------
    >>> problem = tiny_problem("multiclass", "zero_one")
    >>> problem.n_examples, problem.n_weights
    (6, 9)
    """
    tiny = tiny_data(structure, features, seed)
    cost = fitting_costs(structure)[0] if cost is None else cost
    weight = 0.5 + np.random.default_rng(seed).random(len(tiny.sizes))
    task = Task(tiny.data, tiny_tables(tiny, cost), len(tiny.sizes), weight)
    # The last of the labels of a sequence stands outside of the sets that Micro-F1 looks at.
    options = {"outside": N_LABELS - 1} if surrogate == "micro_f1" else {}
    return task.problem(
        SURROGATES[surrogate](**options),
        lam,
        n_jobs,
        resolve_search(search),
        compile=compile,
        mode=mode,
    )
