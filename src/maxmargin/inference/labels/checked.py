"""Problems of label sets, checked: potentials, edges, constraints, bans, a time limit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import check_labels, check_potential, check_shape
from maxmargin.inference.labels.constraints import LabelConstraints
from maxmargin.inference.labels.flips import label_score
from maxmargin.inference.labels.graph import LabelGraph, label_graph
from maxmargin.inference.labels.tree import find_cycle


class LabelProblem(NamedTuple):
    """Potentials of label sets and constraints on them, all checked."""

    unary: npt.NDArray[np.float64]
    graph: LabelGraph
    pair: npt.NDArray[np.float64]
    constraints: LabelConstraints

    @property
    def n_labels(self) -> int:
        """The number of labels, m."""
        return len(self.unary)

    @property
    def is_forest(self) -> bool:
        """Whether the edges have no cycle."""
        return find_cycle(self.graph) < 0

    def score(self, y: npt.NDArray[np.int32]) -> float:
        """Return the score of a label set."""
        return float(label_score(self.unary, self.graph, self.pair, y))


def check_problem(
    unary: Any, edges: Any, pair: Any, constraints: LabelConstraints | None = None
) -> LabelProblem:
    """Return the problem, or say which argument is wrong and how."""
    checked = check_potential("unary", unary, 1)
    m = len(checked)
    if m == 0:
        raise ValueError("unary has shape (0,); expected at least one label.")
    graph = label_graph(m, edges)
    n_edges = len(graph.edges)
    weights = check_potential("pair", pair, 1)
    check_shape("pair", weights, (n_edges,), f"as there are {n_edges} edge(s)")
    if np.isneginf(weights).any():
        e = int(np.argmax(np.isneginf(weights)))
        raise ValueError(
            f"pair[{e}] is -inf; expected finite numbers. Two labels that exclude each other are a "
            "group in `exclusive`."
        )
    largest = max(float(np.abs(w[w > -np.inf]).max(initial=0.0)) for w in (checked, weights))
    # Every partial sum has at most as many terms as there are weights.
    if largest > np.finfo(np.float64).max / (2 * (m + n_edges)):
        raise ValueError(f"weights as large as {largest:g} overflow with {m} labels.")
    constraints = LabelConstraints() if constraints is None else constraints
    constraints.check(m)
    return LabelProblem(checked, graph, weights, constraints)


def check_banned(problem: LabelProblem, banned: Iterable[Any]) -> list[npt.NDArray[np.int32]]:
    """Return the banned label vectors, each once."""
    found = {}
    for i, label_set in enumerate(banned):
        y = check_labels(f"banned[{i}]", label_set, problem.n_labels, 2)
        found[y.tobytes()] = y
    return list(found.values())


def check_time_limit(value: Any) -> float:
    """Return a time limit in seconds; None means infinity."""
    if value is None:
        return np.inf
    try:
        limit = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"time_limit must be a number or None, got {value!r}.") from None
    if not limit > 0.0:
        raise ValueError(f"time_limit must be positive, got {limit}.")
    return limit
