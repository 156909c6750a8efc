"""QPBO files: a quadratic function of switches, by its coefficients.

The first line has the numbers of variables and of coefficients, then comes one line per
coefficient: two variables from 1, and W_ij. The function is sum_ij W_ij x_i x_j with W symmetric,
of which the file has one half: a coefficient of two different variables counts twice. A negative
number of variables says that they are 1 and -1 (labels 0 and 1) rather than 0 and 1, a negative
number of coefficients that the function is to be as large as possible, not as small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.files import Source
from maxmargin.io.graphs.parts import MOST_CELLS, Parts
from maxmargin.io.graphs.words import Words

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["read_qpbo"]


def read_qpbo(
    source: Source, *, multiplier: float = 2.0, most_cells: int = MOST_CELLS
) -> FactorGraph:
    r"""The model of a QPBO file, plain or gzipped; also of the bqp problems of the OR library.

    Parameters
    ----------
    source : path or file open for reading
    multiplier : float, default 2.0
        By what the coefficients of two different variables are multiplied.
    most_cells : int, default 30_000_000
        The most scores that the model may have.

    Returns
    -------
    FactorGraph
        The score of a labelling is minus the value of the function where it is to be minimised.

    Examples
    --------
    >>> import io
    >>> graph = read_qpbo(io.StringIO("2 2\n1 1 -3\n1 2 1.5\n"))
    >>> graph.score([1, 0]), graph.score([1, 1])
    (3.0, 0.0)
    """
    words = Words(source)
    n_said = words.whole("the number of variables", low=1 - 2**31)
    m_said = words.whole("the number of coefficients", low=-(2**62), high=2**62)
    n, values = abs(n_said), np.array([1.0, -1.0] if n_said < 0 else [0.0, 1.0])
    sign = 1.0 if m_said < 0 else -1.0
    parts = Parts(words.name, most_cells)
    parts.take(2 * n, f"{words.name}, line {words.line}")
    rows = words.numbers(3 * abs(m_said), "numbers of coefficients").reshape(-1, 3)
    ends = rows[:, :2]
    bad = ((ends != np.floor(ends)) | (ends < 1) | (ends > n)).any(axis=1)
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"{words.name}: coefficient {k} is of the variables {ends[k, 0]:g} and "
            f"{ends[k, 1]:g}; expected whole numbers from 1 to {n}."
        )
    words.end()
    nodes = ends.astype(np.int64) - 1
    return _graph(words.name, n, nodes, sign * rows[:, 2], values, multiplier)


def _graph(
    name: str,
    n: int,
    nodes: NDArray[np.int64],
    weights: NDArray[np.float64],
    values: NDArray[np.float64],
    multiplier: float,
) -> FactorGraph:
    """Return the graph of sum W x_i x_j, `values` being those of the two labels."""
    from maxmargin.inference import FactorGraph

    is_single = nodes[:, 0] == nodes[:, 1]
    with np.errstate(over="ignore", invalid="ignore"):
        single = np.bincount(nodes[is_single, 0], weights[is_single], minlength=n)[:n]
        unary = single[:, None] * values**2
        pairs = multiplier * weights[~is_single]
        tables: Any = pairs[:, None, None] * np.outer(values, values)
    if not (np.isfinite(unary).all() and np.isfinite(tables).all()):
        raise ValueError(f"{name}: its coefficients add up to more than any number.")
    try:
        return FactorGraph(unary, nodes[~is_single], tables if len(tables) else None)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None
