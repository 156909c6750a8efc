"""Models by the names of their files: which reader, and whether the file holds costs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import PurePath

from maxmargin.io.files import Source, source_name
from maxmargin.io.graphs.cfn import read_cfn
from maxmargin.io.graphs.dimacs import read_dimacs
from maxmargin.io.graphs.npz import read_graph_npz
from maxmargin.io.graphs.parts import MOST_CELLS, GraphFile
from maxmargin.io.graphs.quadratic import read_qpbo
from maxmargin.io.graphs.uai import read_uai
from maxmargin.io.graphs.wcsp import read_wcsp

__all__ = ["GRAPH_EXTENSIONS", "GRAPH_FORMATS", "graph_format", "read_graph"]

#: Readers by format.
GRAPH_FORMATS: dict[str, Callable[[Source, int], GraphFile]] = {
    "uai": lambda source, most: GraphFile(read_uai(source, most_cells=most), False),
    "wcsp": lambda source, most: GraphFile(read_wcsp(source, most_cells=most), True),
    "cfn": lambda source, most: read_cfn(source, most_cells=most),
    "qpbo": lambda source, most: GraphFile(read_qpbo(source, most_cells=most), True),
    "dimacs": lambda source, most: GraphFile(read_dimacs(source, most_cells=most), True),
    "npz": lambda source, most: GraphFile(read_graph_npz(source, most_cells=most), False),
}

#: Formats by extension; text formats may have ``.gz`` after it.
GRAPH_EXTENSIONS: dict[str, str] = {
    ".uai": "uai",
    ".lg": "uai",
    ".wcsp": "wcsp",
    ".cfn": "cfn",
    ".qpbo": "qpbo",
    ".bqp": "qpbo",
    ".dimacs": "dimacs",
    ".max": "dimacs",
    ".npz": "npz",
}


def graph_format(path: str | os.PathLike[str]) -> str:
    """The format that the name of a file with a model announces.

    Examples
    --------
    >>> graph_format("model.uai.gz")
    'uai'
    """
    name = PurePath(path)
    suffix = PurePath(name.stem).suffix if name.suffix == ".gz" else name.suffix
    if suffix.lower() not in GRAPH_EXTENSIONS:
        raise ValueError(
            f"{os.fspath(path)}: the extension {suffix!r} names no format of models. There are: "
            f"{', '.join(GRAPH_EXTENSIONS)}. format= (--format on the command line) says it for "
            "any name."
        )
    return GRAPH_EXTENSIONS[suffix.lower()]


def read_graph(
    source: Source, *, format: str | None = None, most_cells: int = MOST_CELLS
) -> GraphFile:
    r"""The model of a file of any format.

    Parameters
    ----------
    source : path or file open for reading
    format : {"uai", "wcsp", "cfn", "qpbo", "dimacs", "npz"} or None, default None
        None: the name of the file says it.
    most_cells : int, default 30_000_000
        The most scores that the model may have.

    Returns
    -------
    GraphFile
        The tuple ``graph, is_cost, names, values``.

    Examples
    --------
    >>> import io
    >>> text = io.StringIO("2 2\n1 1 -3\n1 2 1.5\n")
    >>> found = read_graph(text, format="qpbo")
    >>> found.graph.score([1, 0]), found.is_cost
    (3.0, True)
    """
    chosen = graph_format(source_name(source)) if format is None else format
    if chosen not in GRAPH_FORMATS:
        raise ValueError(f"format={chosen!r} is unknown. There are: {', '.join(GRAPH_FORMATS)}.")
    return GRAPH_FORMATS[chosen](source, most_cells)
