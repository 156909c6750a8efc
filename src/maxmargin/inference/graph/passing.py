"""Message passing as methods for factor graphs: SRMP, and branch and bound on it."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.branch import branch_and_bound, branch_room
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.srmp import srmp, srmp_room

__all__ = ["by_branch", "by_srmp"]

DEFAULT = Options()
#: Iterations of SRMP if no limit is given, and at each node of a search.
N_ITERATIONS, N_SEARCH = 500, 25
#: How many times the limit of nodes a search that has nearly ended may make.
TIMES_MORE = 5
#: Table cells of one stride, about a tenth of a second: clocks and callbacks come between strides.
STRIDE = 50_000_000


def by_srmp(graph: FactorGraph, options: Options = DEFAULT) -> GraphAnswer:
    """Return the best labelling that SRMP meets, and its bound.

    Parameters
    ----------
    graph : FactorGraph
    options : Options
        max_iter is 500 if None.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.passing import by_srmp
    >>> same = [[0.5, 0.0], [0.0, 0.5]]
    >>> graph = FactorGraph([[0.0, 1.0], [0.3, 0.0], [0.1, 0.0]], [(0, 1), (1, 2), (2, 0)], same)
    >>> answer = by_srmp(graph)
    >>> answer.labels.tolist(), answer.score, answer.is_exact
    ([1, 1, 1], 2.5, True)
    """
    ends = deadline(options)
    most = N_ITERATIONS if options.max_iter is None else options.max_iter
    room = srmp_room(graph.shape)
    messages = np.zeros(int(graph.shape.message_at[-1]))
    labels = np.zeros(graph.n_nodes, dtype=np.int32)
    trial = np.zeros(graph.n_nodes, dtype=np.int32)
    bound, score, n_done, n_forbidden = np.inf, -np.inf, 0, 0
    stride = stride_of(graph, options, most)
    while n_done < most:
        now = min(stride, most - n_done)
        found, value, n = srmp(
            graph.shape, graph.unary, graph.tables, messages, now, options.tol, room, trial
        )
        room.keeps[0] = True
        last, last_forbidden = bound, n_forbidden
        bound, n_done = min(bound, found), n_done + n
        if value > score:
            score = value
            labels[:] = trial
        if options.callback is not None:
            options.callback(n_done, bound, score)
        n_forbidden = int(np.count_nonzero(messages == -np.inf))
        close = options.tol * (1.0 + abs(bound))
        is_still = last - bound <= close and n_forbidden == last_forbidden
        if (
            n < now
            or is_still
            or is_proved(bound, score, options.tol)
            or time.perf_counter() > ends
        ):
            break
    return answer("srmp", labels, score, max(bound, score), options.tol, n_done)


def by_branch(
    graph: FactorGraph, options: Options = DEFAULT, *, goes_on: bool = False
) -> GraphAnswer:
    """Return the best labelling by branch and bound on SRMP; a bracket at the limit of nodes.

    Parameters
    ----------
    graph : FactorGraph
    options : Options
        max_iter is for the root, 500 if None; each other node has 25 iterations.
    goes_on : bool
        At the limit of nodes, go on to `TIMES_MORE` times as many if at most a quarter of the gap
        between the root's bound and the best score is left.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.passing import by_branch
    >>> differ = [[-np.inf, 0.0], [0.0, -np.inf]]
    >>> graph = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2), (2, 0)], differ)
    >>> answer = by_branch(graph)
    >>> answer.labels, answer.bound, answer.is_exact
    (None, -inf, True)
    """
    ends = deadline(options)
    first = N_ITERATIONS if options.max_iter is None else options.max_iter
    most_nodes = options.most_nodes
    room = branch_room(graph.shape, most_nodes * (TIMES_MORE if goes_on else 1))
    messages = np.zeros(int(graph.shape.message_at[-1]))
    labels = np.zeros(graph.n_nodes, dtype=np.int32)
    is_cut = options.callback is not None or ends < np.inf
    stride = most_nodes
    if is_cut:
        stride = max(2, STRIDE // (n_cells(graph) * N_SEARCH))
    n_made = 0
    while True:
        limit = min(n_made + stride, most_nodes) if n_made else 1
        bound, score, now = branch_and_bound(
            graph.shape, graph.unary, graph.tables, messages, limit, first, N_SEARCH, options.tol,
            n_made == 0, -np.inf, room, labels,
        )  # fmt: skip
        is_over = n_made > 0 and now < limit - 1
        if n_made == 0:
            root = bound
        n_made = now
        if options.callback is not None:
            options.callback(n_made, bound, score)
        if is_over or is_proved(bound, score, options.tol) or time.perf_counter() > ends:
            break
        if limit >= most_nodes:
            if not goes_on or bound - score > (root - score) / 4 or score == -np.inf:
                break
            goes_on, most_nodes = False, most_nodes * TIMES_MORE
    return answer("branch", labels, score, bound, options.tol, n_made)


def answer(
    method: str,
    labels: npt.NDArray[np.int32],
    score: float,
    bound: float,
    tol: float,
    n_iterations: int,
) -> GraphAnswer:
    """Return an answer; without labels if none that is feasible was found."""
    found = labels if score > -np.inf else None
    is_exact = is_proved(bound, score, tol)
    return GraphAnswer(found, float(score), float(bound), is_exact, method, int(n_iterations))


def is_proved(bound: float, score: float, tol: float) -> bool:
    """Tell whether a bound proves that nothing scores higher, or that nothing is feasible."""
    if score == -np.inf:  # where both are infinite, their difference says nothing
        return bool(bound == -np.inf)
    return bool(bound - score <= tol * (1.0 + abs(score)))


def n_cells(graph: FactorGraph) -> int:
    """Return about how many cells one iteration reads: of tables and of messages."""
    shape = graph.shape
    sizes = shape.n_labels[shape.members].astype(np.float64)
    if len(sizes) == 0:
        return 1
    cells = np.multiply.reduceat(sizes, shape.member_at[:-1])
    orders = np.diff(shape.member_at)
    # Rules have no tables; two members of a table are what a message of a pair costs.
    cells[shape.kinds != 0] = (10 * orders)[shape.kinds != 0]
    return int(min(1e15, (cells * orders).sum()))


def stride_of(graph: FactorGraph, options: Options, most: int) -> int:
    """Return how many iterations to make between looks at the clock; two if there is a callback."""
    if options.callback is not None:
        return 2
    return most if options.time_limit is None else max(2, STRIDE // n_cells(graph))


def deadline(options: Options) -> float:
    """Return when to end, as `time.perf_counter` tells it."""
    limit = options.time_limit
    return np.inf if limit is None else time.perf_counter() + limit
