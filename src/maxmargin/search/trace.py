"""The trace of a search: its queries in order, what each of them found, and what it ruled out.

The search runs as it is, in plain Python, over examples whose oracles keep a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.contract import find, output_size, potentials
from maxmargin.search.traced import Log, Query, TracedCost, TracedData, cells_of, measure

__all__ = ["Query", "Trace", "trace_search"]


@dataclass(frozen=True)
class Trace:
    """A search from beginning to end.

    Attributes
    ----------
    queries : list of Query
    found : array
        The cells of the output that the search returned.
    h, g, psi : float
        Of that output. A search that finds no positive psi returns the true output, with psi = 0.
    bound : float
        The search's upper bound of psi over all outputs; equal to psi where the search is exact.
    n_calls : int
        Number of calls of oracles, as the search counts them.
    """

    queries: list[Query]
    found: np.ndarray
    h: float
    g: float
    psi: float
    bound: float
    n_calls: int


def trace_search(problem: Any, i: int, w: Any, *, slack: float = 0.0) -> Trace:
    """Run the search of a problem on one example, and keep what it asked.

    Parameters
    ----------
    problem : Problem
        It says which data, cost, surrogate and search. The search starts from the outputs that it
        remembers of earlier passes. Nothing in the problem changes, not even its count of calls.
        (For one example of an estimator, see `maxmargin.look.example`.)
    i : int
        Number of the example.
    w : array of shape (n_weights,)
    slack : float, default=0
        For `SarawagiGupta`: the loss of the example that known planes account for.

    Returns
    -------
    Trace

    Examples
    --------
    Two corners of a hull, and an output below the edge between them that is better than both:

    >>> from maxmargin.search import ConvexHull
    >>> from maxmargin.surrogates import SlackRescaling
    >>> from maxmargin.testing import cloud_problem
    >>> h, g = [[2.0, 0.5, -0.5]], [[1.0, 2.2, 4.0]]  # psi = (1 + h) g is 3, 3.3 and 2
    >>> problem = cloud_problem(h, g, SlackRescaling(), ConvexHull(integral=False))
    >>> trace = trace_search(problem, 0, problem.weights)
    >>> [(query.kind, query.h, query.g) for query in trace.queries][-1]
    ('weighted', 2.0, 1.0)
    >>> trace.psi, round(trace.bound, 2), trace.n_calls == len(trace.queries)
    (3.0, 4.41, True)
    """
    view = problem.view
    if not 0 <= i < problem.n_examples:
        raise ValueError(f"i must be an example, 0 to {problem.n_examples - 1}; got {i!r}.")
    weights = np.asarray(w, dtype=np.float64)
    if weights.shape != (problem.n_weights,):
        raise ValueError(f"w must have shape ({problem.n_weights},), got {weights.shape}.")
    search = _own(view.search)
    plain = type(problem)(
        view.data,
        view.cost,
        view.surrogate,
        problem.n_examples,
        problem.lam,
        search=search,
        compile=False,
    )
    desk = plain.desk()
    desk.slack[0] = slack
    potentials(view.data, i, weights, 1.0, desk.theta)
    log = Log(view.surrogate)
    traced = view._replace(
        data=TracedData(view.data, log), cost=TracedCost(view.cost), search=search
    )
    found = plain.empty_outputs(int(output_size(view.data, i)))
    value, _, _, bound = find(search, traced, i, desk, found, 0)
    h, g = measure(view.data, view.cost, i, desk.theta, found, 0)
    cells = cells_of(view.data, i, found, 0)
    return Trace(log.queries, cells, h, g, float(value), float(bound), int(desk.calls[0]))


def _own(value: Any) -> Any:
    """Return a copy of a tuple of tuples and arrays, in which the arrays are copied too."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_own, value))
    return value
