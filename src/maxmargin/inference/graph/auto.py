"""The method of choice, by looking at graph and potentials.

    forest of pairs; factor graph without a cycle        two passes of messages             exact
    nodes that another settles by a hard table           taken out; what is left as below
    two labels, pairs, all attractive                    one minimum cut                    exact
    small junction tree; rules over many nodes count      bucket elimination                 exact
    two labels, pairs                                    roof duality; what it leaves open as below
    everything else                                      SRMP, and where its bound is not tight:
       junction tree of at most `most_cells` cells       bucket elimination                 exact
       otherwise                                         branch and bound on SRMP; at its node limit
                                                         an integer programme

Each stage knows the labelling and the bound of those before it. A time limit is one for all of
them: the answer is then the best labelling met, with the least bound.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.acyclic import find_acyclic
from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.binary import as_binary, solve_binary
from maxmargin.inference.graph.contract import Contracted, contract
from maxmargin.inference.graph.dense import table_sizes
from maxmargin.inference.graph.exact import acyclic, by_fitting_tree, forest, known_forest
from maxmargin.inference.graph.factors import custom
from maxmargin.inference.graph.local import local_room, polish
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.passing import by_branch, by_srmp, is_proved, n_cells
from maxmargin.inference.graph.relaxed import by_loopy
from maxmargin.inference.graph.restrict import restrict
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.shape import DENSE
from maxmargin.inference.programs.methods import ilp

__all__ = ["auto"]

#: The cells of a junction tree that is tried before anything else: so many, or as many as so many
#: iterations of SRMP would read.
SMALL, AS_MANY = 5_000_000, 50
#: Branch and bound is for graphs of which an iteration reads at most MOST_WORK cells over the limit
#: on its nodes, and the integer programme for those with at most so many columns.
MOST_WORK, MOST_COLUMNS = 2_000_000_000, 1_000_000


class Clock:
    """What is left of a time limit."""

    def __init__(self, limit: float | None) -> None:
        self.end = None if limit is None else time.monotonic() + limit

    @property
    def left(self) -> float | None:
        """The seconds that are left, at least 0; None for no limit."""
        return None if self.end is None else max(0.0, self.end - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self.end is not None and time.monotonic() >= self.end


def auto(graph: FactorGraph, options: Options) -> GraphAnswer:
    """Solve a graph by the method that fits it; see this module."""
    clock = Clock(options.time_limit)
    options = options._replace(callback=_best_heard(options.callback))
    if known_forest(graph.shape) is not None:
        return forest(graph, options)
    if find_acyclic(graph.shape) is not None:
        return acyclic(graph, options)
    fewer = contract(graph)
    if fewer is not None:
        return _whole(graph, fewer, auto(fewer.graph, options._replace(time_limit=clock.left)))
    binary = as_binary(graph)
    if binary is not None and binary.is_attractive:
        return solve_binary(graph, binary, "cut", options)[0]
    direct = _by_small_tree(graph, options)
    if direct is not None:
        return direct
    if binary is None:
        return _search(graph, options, clock)
    found, decided = solve_binary(graph, binary, "roof", options)
    if found.is_exact or found.labels is None:
        return found
    return _finish_binary(graph, options, clock, found, found.labels, decided)


def _best_heard(callback: Any) -> Any:
    """Return a callback that is told the best of all stages so far; None for None."""
    if callback is None:
        return None
    best = [np.inf, -np.inf]

    def hear(iteration: int, bound: float, score: float) -> None:
        best[:] = min(best[0], bound), max(best[1], score)
        callback(iteration, *best)

    return hear


def _whole(graph: FactorGraph, fewer: Contracted, found: GraphAnswer) -> GraphAnswer:
    """Return the answer for all nodes, of the one for those that were left."""
    if found.labels is None:
        return found
    labels = fewer.labels_of(found.labels)
    score = float(labelling_score(graph.shape, graph.unary, graph.tables, labels))
    return found._replace(labels=labels, score=score, bound=max(score, found.bound))


def _by_small_tree(graph: FactorGraph, options: Options) -> GraphAnswer | None:
    """Solve by a junction tree, if it takes less time than SRMP would, or not much of it."""
    limit = max(SMALL, AS_MANY * n_cells(graph))
    return by_fitting_tree(graph, min(limit, options.most_cells))


def _finish_binary(
    graph: FactorGraph,
    options: Options,
    clock: Clock,
    found: GraphAnswer,
    labels: npt.NDArray[np.int32],
    decided: npt.NDArray[np.bool_],
) -> GraphAnswer:
    """Solve the nodes that roof duality left open; the others keep their labels."""
    rest, nodes = restrict(graph, decided, labels)
    # Scores of the rest differ from those of the graph by a constant.
    score = float(labelling_score(rest.shape, rest.unary, rest.tables, labels[nodes]))
    shift = found.score - score
    direct = _by_small_tree(rest, options)
    if direct is not None:
        better = direct
    else:
        known = GraphAnswer(labels[nodes], score, found.bound - shift, False, "roof", 0)
        hear = options.callback
        if hear is not None:
            hear(0, found.bound, found.score)
            options = options._replace(callback=lambda i, b, s: hear(i, b + shift, s + shift))
        better = _search(rest, options, clock, known)
    whole = labels.copy()
    if better.labels is not None:
        whole[nodes] = better.labels
    score = float(labelling_score(graph.shape, graph.unary, graph.tables, whole))
    bound = score if better.is_exact else max(score, min(found.bound, better.bound + shift))
    method = f"roof+{better.method}"
    return GraphAnswer(whole, score, bound, better.is_exact, method, better.n_iterations)


def _search(
    graph: FactorGraph, options: Options, clock: Clock, known: GraphAnswer | None = None
) -> GraphAnswer:
    """Solve by SRMP, and what is needed behind it. `known` was found before."""
    found = _better(known, by_srmp(graph, options._replace(time_limit=clock.left)), options)
    if found.is_exact or clock.is_over:
        return _polished(graph, found, options)
    direct = by_fitting_tree(graph, options.most_cells)
    if direct is not None:
        return direct
    # Of the quick methods this one has the best labellings where the relaxation is weak.
    other = by_loopy(graph, options._replace(time_limit=clock.left, max_iter=None))
    found = _polished(graph, _better(found, other, options), options)
    if n_cells(graph) <= MOST_WORK // options.most_nodes:
        # Half of the time, as the integer programme is to have some.
        left = None if clock.left is None else 0.5 * clock.left
        searched = by_branch(graph, options._replace(time_limit=left), goes_on=True)
        found = _better(found, searched, options)
    if found.is_exact or clock.is_over or not _is_programme(graph):
        return found
    last = ilp(graph, options._replace(time_limit=clock.left), found.labels, found.bound)
    return _better(found, last, options)


def _polished(graph: FactorGraph, found: GraphAnswer, options: Options) -> GraphAnswer:
    """Return the answer after local search from its labelling, if that is not known to be best."""
    if found.is_exact or found.labels is None:
        return found
    labels = found.labels.copy()
    score = float(polish(graph.shape, graph.unary, graph.tables, local_room(graph.shape), labels))
    return _better(found, found._replace(labels=labels, score=score), options)


def _better(known: GraphAnswer | None, found: GraphAnswer, options: Options) -> GraphAnswer:
    """Return the better labelling of two answers, with the lower bound."""
    if known is None or found.is_exact:
        return found
    first = found if found.score > known.score else known
    bound = max(first.score, min(known.bound, found.bound))
    is_exact = is_proved(bound, first.score, options.tol)
    # The method that is named is the one that ended the search, with its number of iterations.
    return GraphAnswer(first.labels, first.score, bound, is_exact, found.method, found.n_iterations)


def _is_programme(graph: FactorGraph) -> bool:
    """Return whether there is an integer programme of the graph, and it is not too large."""
    kinds = graph.shape.kinds
    if (kinds == custom.KIND).any():
        return False  # users' own kinds have no description by rows
    n_columns = len(graph.unary) + table_sizes(graph.shape)[kinds == DENSE].sum()
    return bool(n_columns <= MOST_COLUMNS)
