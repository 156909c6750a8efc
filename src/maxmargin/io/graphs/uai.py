"""UAI files: Markov and Bayes networks as tables of probabilities, or of their logarithms.

The file has the word MARKOV or BAYES, the number of variables, their numbers of labels, the number
of tables, the variables of each table (how many, and which), and then the tables: how many entries,
and the entries, the label of the last variable running fastest. Blanks and line ends are alike.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.files import Source, shown, source_name
from maxmargin.io.graphs.parts import MOST_CELLS, Parts
from maxmargin.io.graphs.tables import dense_tables
from maxmargin.io.graphs.words import Words
from maxmargin.io.replace import atomic_write

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["read_uai", "write_uai"]


def read_uai(
    source: Source, *, log: bool | None = None, most_cells: int = MOST_CELLS
) -> FactorGraph:
    r"""The model of a UAI file, plain or gzipped.

    The score of a labelling is the sum of the logarithms of its entries; entries of 0 forbid.

    Parameters
    ----------
    source : path or file open for reading
    log : bool or None, default None
        Whether the tables hold natural logarithms. None: if the name of the file ends in ``.LG``,
        perhaps with ``.gz``.
    most_cells : int, default 30_000_000
        The most scores that the model may have.

    Returns
    -------
    FactorGraph

    Raises
    ------
    ValueError
        Naming file and line, for what cannot be read: a file that is cut short, a table whose
        length is not that of its variables, a negative entry.

    Examples
    --------
    >>> import io
    >>> text = "MARKOV\n2\n2 2\n2\n1 0\n2 0 1\n\n2\n .25 .75\n4\n 1 0 .5 1\n"
    >>> graph = read_uai(io.StringIO(text))
    >>> graph.score([0, 0]), graph.score([0, 1])
    (-1.3862943611198906, -inf)
    >>> read_uai(io.StringIO(text[:-6]))
    Traceback (most recent call last):
        ...
    ValueError: <stream>, line 11: the file ends here; expected 4 entries of table 1, got 2.
    """
    words = Words(source)
    is_log = _names_log(source_name(source)) if log is None else log
    kind = words.word("MARKOV or BAYES")
    if kind.upper() not in ("MARKOV", "BAYES"):
        words.fail(f"expected MARKOV or BAYES, got {shown(kind)}.")
    parts = Parts(words.name, most_cells)
    n = words.whole("the number of variables")
    sizes = words.wholes(n, "numbers of labels", 1, 2**31 - 1)
    parts.set_labels(sizes.tolist(), f"{words.name}, line {words.line}")
    scopes = []
    for number in range(words.whole("the number of tables")):
        order = words.whole(f"the number of variables of table {number}")
        nodes = words.wholes(order, f"variables of table {number}", 0, n - 1).tolist()
        scopes.append(parts.check_scope(nodes, f"{words.name}, line {words.line}"))
    for number, scope in enumerate(scopes):
        n_cells = parts.n_cells(scope)
        n_said = words.whole(f"the number of entries of table {number}", high=2**62)
        if n_said != n_cells:
            words.fail(
                f"table {number} is said to have {n_said} entries; expected {n_cells}, which its "
                f"variables {scope} of {parts.shape(scope)} labels have."
            )
        parts.take(n_cells, f"{words.name}, line {words.line}")
        parts.add(scope, _scores(words, n_cells, f"entries of table {number}", is_log))
    words.end()
    return parts.graph()


def _names_log(name: str) -> bool:
    return name.lower().removesuffix(".gz").endswith(".lg")


def _scores(words: Words, n: int, what: str, is_log: bool) -> NDArray[np.float64]:
    if is_log:
        return words.numbers(n, what, minus_inf=True)
    values = words.numbers(n, what, low=0.0)
    with np.errstate(divide="ignore"):
        return np.log(values)


def write_uai(path: str | os.PathLike[str], graph: FactorGraph, *, log: bool | None = None) -> None:
    """Write a model as a MARKOV network; the file is replaced in one step.

    Parameters
    ----------
    path : path
        A name that ends in ``.gz`` is packed.
    graph : FactorGraph
        Of tables. Rules, such as "exactly one of these nodes", become tables, if these are small.
    log : bool or None, default None
        Write logarithms, which keep every digit of the scores, in place of probabilities. None: if
        the name ends in ``.LG``.

    Raises
    ------
    ValueError
        If a score is so large or so small that its exponential is no positive number.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.inference import FactorGraph
    >>> graph = FactorGraph([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], [[1.0, 0.0], [0.0, 1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.LG")
    ...     write_uai(path, graph)
    ...     read_uai(path).score([1, 1]) == graph.score([1, 1])
    True
    """
    is_log = _names_log(os.fspath(path)) if log is None else log
    tables = dense_tables(graph, "a UAI file")
    sizes = graph.shape.n_labels.tolist()
    starts = graph.shape.unary_at.tolist()
    lines = ["MARKOV", str(len(sizes)), " ".join(map(str, sizes)), str(len(sizes) + len(tables))]
    lines += [f"1 {v}" for v in range(len(sizes))]
    lines += [f"{len(nodes)} {' '.join(map(str, nodes))}" for nodes, _ in tables]
    flat = [((v,), graph.unary[starts[v] : starts[v + 1]]) for v in range(len(sizes))]
    lines += [_written(nodes, scores, is_log) for nodes, scores in [*flat, *tables]]
    with atomic_write(path) as file:
        file.write(("\n".join(lines) + "\n").encode())


def _written(nodes: tuple[int, ...], scores: NDArray[np.float64], is_log: bool) -> str:
    """Return the lines of one table."""
    values = scores.reshape(-1)
    if not is_log:
        with np.errstate(over="ignore", under="ignore"):
            exps = np.exp(values)
        bad = ((exps == 0.0) & (values > -np.inf)) | np.isinf(exps)
        if bad.any():
            raise ValueError(
                f"the score {values[bad][0]:g} of the nodes {nodes} has no exponential that a file "
                "can hold; log=True writes the scores as they are."
            )
        values = exps
    return f"\n{len(values)}\n {' '.join(map(repr, values.tolist()))}"
