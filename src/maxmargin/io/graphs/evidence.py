"""Evidence files of UAI: the labels of some variables that are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from maxmargin.io.files import Source
from maxmargin.io.graphs.words import Words

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["read_evidence", "with_evidence"]


def read_evidence(source: Source) -> dict[int, int]:
    r"""The known labels of a UAI evidence file, by variable.

    A file has the number of known variables, then a variable and its label for each of them. The
    number of samples may stand before all that, as older files have it; it must then be 1, or 0
    where nothing is known.

    Parameters
    ----------
    source : path or file open for reading

    Examples
    --------
    >>> import io
    >>> read_evidence(io.StringIO("2 0 1 5 0"))
    {0: 1, 5: 0}
    >>> read_evidence(io.StringIO("1\n2 0 1 5 0"))
    {0: 1, 5: 0}
    """
    words = Words(source)
    numbers: list[int] = []
    lines: list[int] = []
    numbers.append(words.whole("the number of known variables"))
    lines.append(words.line)
    while words.has_more():
        numbers.append(words.whole("a variable or a label"))
        lines.append(words.line)
    start = 1
    # One number is left over, or two: then the first one counts samples.
    if len(numbers) % 2 == 0:
        if numbers[0] != 1:
            words.fail(f"it has {numbers[0]} samples of evidence; expected one.", lines[0])
        start = 2
    n_known = numbers[start - 1]
    if len(numbers) != start + 2 * n_known:
        words.fail(
            f"it is said to have {n_known} known variables, {2 * n_known} numbers, and has "
            f"{len(numbers) - start} numbers.",
            lines[-1],
        )
    found: dict[int, int] = {}
    for at in range(start, len(numbers), 2):
        if found.setdefault(numbers[at], numbers[at + 1]) != numbers[at + 1]:
            words.fail(
                f"variable {numbers[at]} has the label {numbers[at + 1]}, and "
                f"{found[numbers[at]]} before.",
                lines[at],
            )
    return found


def with_evidence(
    graph: FactorGraph, evidence: Mapping[int, int], name: str = "evidence"
) -> FactorGraph:
    """A graph whose known nodes may have no other label; scores are as before.

    Parameters
    ----------
    graph : FactorGraph
    evidence : mapping of int to int
        The labels of the known nodes.
    name : str, default "evidence"
        How errors call it.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> graph = with_evidence(FactorGraph([[0.0, 1.0], [0.5, 0.0]]), {0: 0})
    >>> graph.score([0, 0]), graph.score([1, 0])
    (0.5, -inf)
    """
    from maxmargin.inference import FactorGraph

    unary = graph.unary.copy()
    shape = graph.shape
    for v, label in evidence.items():
        if not 0 <= v < graph.n_nodes:
            raise ValueError(
                f"{name}: names the node {v}; expected nodes from 0 to {graph.n_nodes - 1}."
            )
        if not 0 <= label < shape.n_labels[v]:
            raise ValueError(
                f"{name}: node {v} has the label {label}; expected 0 to {shape.n_labels[v] - 1}."
            )
        row = unary[shape.unary_at[v] : shape.unary_at[v + 1]]
        kept = row[label]
        row[:] = -np.inf
        row[label] = kept
    return FactorGraph.of_arrays(shape, unary, graph.tables)
