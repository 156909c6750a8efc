"""WCSP files: weighted constraints, as tables of costs with a default and tuples that differ.

The first line has a name, the number of variables, the largest domain, the number of functions and
an upper bound k; the second the sizes of the domains. A function has the number of its variables,
the variables, a default cost and a number of tuples; each tuple has its labels and its cost. Costs
of k or more forbid.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.files import Source, shown
from maxmargin.io.graphs.arithmetic import ARITHMETIC, arithmetic_costs
from maxmargin.io.graphs.costs import add_costs
from maxmargin.io.graphs.parts import MOST_CELLS, Parts
from maxmargin.io.graphs.words import Words

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["read_wcsp"]

_Function = tuple[tuple[int, ...], NDArray[np.float64]]


def read_wcsp(source: Source, *, most_cells: int = MOST_CELLS) -> FactorGraph:
    r"""The model of a WCSP file, plain or gzipped.

    The score of a labelling is minus its cost. A cost that no labelling below the upper bound can
    contain is -inf; where all costs are 0 or more these are the costs of the upper bound and more.
    That the sum of allowed costs stays below the bound is not part of the model.

    Parameters
    ----------
    source : path or file open for reading
    most_cells : int, default 30_000_000
        The most scores that the model may have.

    Returns
    -------
    FactorGraph

    Raises
    ------
    ValueError
        Naming file and line, for what cannot be read, and for global cost functions, which are no
        tables.

    Examples
    --------
    >>> import io
    >>> text = "two 2 2 2 10\n2 2\n1 0 0 1\n1 3\n2 0 1 0 2\n0 0 10\n1 1 2\n"
    >>> graph = read_wcsp(io.StringIO(text))
    >>> graph.score([1, 1]), graph.score([0, 0])
    (-5.0, -inf)
    """
    words = Words(source)
    parts = Parts(words.name, most_cells)
    words.word("the name of the problem")
    n = words.whole("the number of variables")
    words.whole("the largest domain")
    n_functions = words.whole("the number of cost functions")
    bound = words.number("the upper bound")
    sizes = words.wholes(n, "sizes of domains", 1, 2**31 - 1)
    parts.set_labels(sizes.tolist(), f"{words.name}, line {words.line}")
    shared: list[_Function] = []
    functions = [_function(words, parts, shared) for _ in range(n_functions)]
    words.end()
    add_costs(parts, functions, bound)
    return parts.graph()


def _function(words: Words, parts: Parts, shared: list[_Function]) -> _Function:
    """Read one cost function; those of a negative order are for later ones to share."""
    order = words.whole("the number of variables of a cost function", low=-64)
    n = len(parts.n_labels)
    nodes = words.wholes(abs(order), "variables of a cost function", 0, n - 1).tolist()
    scope = parts.check_scope(nodes, f"{words.name}, line {words.line}")
    n_cells = parts.n_cells(scope)
    parts.take(n_cells, f"{words.name}, line {words.line}")
    default = words.number("a default cost")
    what = f"the number of tuples of the cost function of {scope}"
    text = words.word(what)
    if default == -1 and not text.lstrip("-+").isdigit():
        return scope, _by_rule(words, parts, scope, text)
    words.back()
    n_tuples = words.whole(what, low=-len(shared), high=2**62)
    if n_tuples < 0:
        costs = _borrowed(words, parts, scope, shared[-n_tuples - 1])
    else:
        costs = np.full(n_cells, default)
        _fill(words, parts, scope, n_tuples, costs)
    found = scope, costs.reshape(parts.shape(scope))
    if order < 0:
        shared.append(found)
    return found


def _fill(
    words: Words, parts: Parts, scope: tuple[int, ...], n_tuples: int, costs: NDArray[np.float64]
) -> None:
    """Read tuples, and put their costs in place."""
    width = len(scope) + 1
    first = words.line
    rows = words.numbers(n_tuples * width, f"numbers of {n_tuples} tuples of {scope}")
    rows = rows.reshape(n_tuples, width)
    labels, shape = rows[:, :-1], parts.shape(scope)
    bad = (labels != np.floor(labels)) | (labels < 0) | (labels >= np.array(shape))
    if bad.any():
        t, j = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{words.name}, lines {first} to {words.line}: tuple {t} of the cost function of "
            f"{scope} has the label {labels[t, j]:g} of variable {scope[j]}; expected 0 to "
            f"{shape[j] - 1}."
        )
    cells = np.zeros(n_tuples, dtype=np.int64)
    for j, size in enumerate(shape):
        cells = cells * size + labels[:, j].astype(np.int64)
    costs[cells] = rows[:, -1]  # of a tuple that comes twice the last cost holds


def _borrowed(
    words: Words, parts: Parts, scope: tuple[int, ...], known: _Function
) -> NDArray[np.float64]:
    """Return the costs of a shared function, if they fit."""
    if known[1].shape != parts.shape(scope):
        words.fail(
            f"the cost function of {scope} has the domains {parts.shape(scope)}, and the one that "
            f"it shares, of {known[0]}, has {known[1].shape}."
        )
    return known[1]


def _by_rule(words: Words, parts: Parts, scope: tuple[int, ...], rule: str) -> NDArray[np.float64]:
    """Read the parameters of a rule; return its costs."""
    if rule not in ARITHMETIC or len(scope) != 2:
        words.fail(
            f"the cost function of {scope} is {shown(rule)}; expected a table, or one of "
            f"{', '.join(ARITHMETIC)} over two variables."
        )
    given = words.numbers(ARITHMETIC[rule][0], f"parameters of {rule}").tolist()
    costs = arithmetic_costs(rule, parts.shape(scope), given)
    return np.where(np.isnan(costs), math.inf, costs)
