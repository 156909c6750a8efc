"""CFN files: cost function networks with names, in a relaxed form of JSON.

A file has three parts: ``problem`` (a name, and ``mustbe``: "<" and an upper bound of costs, or ">"
and a lower bound of what is to be maximised), ``variables`` (names, and the number of labels or
their names) and ``functions`` (a scope, perhaps a ``defaultcost``, and ``costs``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.files import Source, shown
from maxmargin.io.graphs.arithmetic import ARITHMETIC, arithmetic_costs
from maxmargin.io.graphs.cfn_words import CLOSE, OPEN, CfnWords
from maxmargin.io.graphs.costs import add_costs
from maxmargin.io.graphs.parts import MOST_CELLS, GraphFile, Parts

__all__ = ["read_cfn"]

_NUMERIC = frozenset("0123456789-+.")  # a word that begins so is a number, not a name


@dataclass
class _Network:
    """What has been read of a file."""

    words: CfnWords
    parts: Parts
    sign: float = 1.0
    bound: float = math.inf
    names: list[str] = field(default_factory=list)
    values: list[list[str] | None] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    scopes: list[tuple[int, ...]] = field(default_factory=list)
    #: The costs of each function, or the name of the function that has them, and the line.
    costs: list[NDArray[np.float64] | tuple[str, int]] = field(default_factory=list)
    by_name: dict[str, int] = field(default_factory=dict)


def read_cfn(source: Source, *, most_cells: int = MOST_CELLS) -> GraphFile:
    r"""The model of a CFN file, plain or gzipped, with the names of its variables and labels.

    Quotes, commas and colons may be missing, both kinds of brackets are alike, and lines that begin
    with ``#`` are comments; the order of the fields is fixed. Dense and sparse tables, tables that
    are shared by name, and arithmetic functions are read; global functions are refused.

    Parameters
    ----------
    source : path or file open for reading
    most_cells : int, default 30_000_000
        The most scores that the model may have.

    Returns
    -------
    GraphFile
        The tuple ``graph, is_cost, names, values``; `is_cost` is False for a maximisation.

    Raises
    ------
    ValueError
        Naming file and line, for what cannot be read.

    Examples
    --------
    >>> import io
    >>> text = '''{"problem": {"name": "two", "mustbe": "<10.0"},
    ... "variables": {"a": ["no", "yes"], "b": 2},
    ... "functions": {"f": {"scope": ["a"], "costs": [0.5, -1]},
    ...   "g": {"scope": ["a", "b"], "defaultcost": 0, "costs": ["no", 0, 11]}}}'''
    >>> graph, is_cost, names, values = read_cfn(io.StringIO(text))
    >>> names, values, is_cost
    (['a', 'b'], [['no', 'yes'], None], True)
    >>> graph.score([1, 0]), graph.score([0, 0])
    (1.0, -inf)
    """
    words = CfnWords(source)
    found = _Network(words, Parts(words.name, most_cells))
    words.opening("the network")
    words.skip_tag("problem", "the problem")
    _problem(found)
    words.skip_tag("variables", "the variables")
    _variables(found)
    words.skip_tag("functions", "the functions")
    words.opening("the functions")
    while not words.is_next(CLOSE, "the end of the functions"):
        _function(found)
    words.closing("the functions")
    words.closing("the network")
    words.end()
    add_costs(found.parts, _tables(found), found.bound)
    return GraphFile(found.parts.graph(), found.sign > 0, found.names, found.values)


def _problem(found: _Network) -> None:
    """Read the direction and the bound."""
    words = found.words
    words.opening("the problem")
    last = ""
    while not words.is_next(CLOSE, "mustbe"):
        last = words.word("mustbe")
    if last[:1] not in ("<", ">"):
        words.fail(f"expected mustbe, < or > and a number, got {shown(last)}.")
    words.closing("the problem")
    bound = words.as_number(last[1:].strip(), "the bound of mustbe")
    found.sign = 1.0 if last[0] == "<" else -1.0
    found.bound = found.sign * bound


def _variables(found: _Network) -> None:
    """Read names and labels of the variables."""
    words, parts = found.words, found.parts
    words.opening("the variables")
    while not words.is_next(CLOSE, "the end of the variables"):
        number = len(found.names)
        name = str(number)
        kind, text = words.peek("a variable")
        if kind == "word" and text[:1] not in _NUMERIC:
            name = words.word("the name of a variable")
            if name in found.places:
                words.fail(f"the variable {shown(name)} comes twice.")
            found.places[name] = number
        found.names.append(name)
        _labels(found, name)
    words.closing("the variables")
    parts.set_labels(found.sizes, f"{words.name}, line {words.line}")


def _labels(found: _Network, name: str) -> None:
    """Read the labels of a variable: their names, or how many there are."""
    words = found.words
    labels: list[str] | None = None
    if words.is_next(OPEN, "labels"):
        words.opening("labels")
        labels = []
        while not words.is_next(CLOSE, f"the end of the labels of {shown(name)}"):
            labels.append(words.word("a label"))
        words.closing("labels")
        if len(set(labels)) < len(labels):
            words.fail(f"a label of the variable {shown(name)} comes twice.")
        size = len(labels)
    else:
        text = words.word("a number of labels")
        if not _is_count(text):
            words.fail(f"expected a number of labels of {shown(name)}, got {shown(text)}.")
        size = int(text)
    if size == 0:
        words.fail(f"the variable {shown(name)} has no label.")
    found.values.append(labels)
    found.sizes.append(size)


def _is_count(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) < 10


def _function(found: _Network) -> None:
    """Read one function: its scope, and its costs as a table, a rule or a name."""
    words, parts = found.words, found.parts
    if words.is_next("word", "a function"):
        found.by_name[words.word("the name of a function")] = len(found.scopes)
    words.opening("a function")
    words.skip_tag("scope", "the scope of a function")
    words.opening("the scope of a function")
    nodes = []
    while not words.is_next(CLOSE, "the end of the scope"):
        nodes.append(_place(found, words.word("a variable")))
    words.closing("the scope")
    scope = parts.check_scope(nodes, f"{words.name}, line {words.line}")
    parts.take(parts.n_cells(scope), f"{words.name}, line {words.line}")
    found.scopes.append(scope)
    if words.skip_tag("type", "costs of a function"):
        found.costs.append(_by_rule(found, scope))
    else:
        found.costs.append(_costs(found, scope))
    words.closing("the function")


def _place(found: _Network, text: str) -> int:
    """Return the number of a variable that is given by name or by number."""
    if text in found.places:
        return found.places[text]
    if _is_count(text):
        return int(text)
    found.words.fail(f"there is no variable {shown(text)}.")


def _costs(found: _Network, scope: tuple[int, ...]) -> NDArray[np.float64] | tuple[str, int]:
    """Read the costs of a function in extension."""
    words, parts = found.words, found.parts
    default = None
    kind, text = words.peek("costs of a function")
    if words.skip_tag("defaultcost", "a default cost") or (kind == "word" and text[:1] in _NUMERIC):
        default = words.number("a default cost")
    words.skip_tag("costs", "costs of a function")
    if words.is_next("word", "costs of a function"):
        return words.word("the name of a function"), words.line
    words.opening("costs of a function")
    n_cells = parts.n_cells(scope)
    if default is not None:
        return _sparse(found, scope, default)
    first = words.line
    values = words.costs(f"costs of the function of {scope}")
    if len(values) != n_cells:
        words.fail(
            f"the function of {scope}, which begins in line {first}, has {len(values)} costs; "
            f"expected {n_cells}, one per combination of its {parts.shape(scope)} labels."
        )
    return np.array(values).reshape(parts.shape(scope))


def _sparse(found: _Network, scope: tuple[int, ...], default: float) -> NDArray[np.float64]:
    """Read tuples of labels, each with its cost."""
    words, shape = found.words, found.parts.shape(scope)
    costs = np.full(shape, default)
    known = [{label: k for k, label in enumerate(found.values[v] or ())} for v in scope]
    while not words.is_next(CLOSE, "the end of the costs"):
        cell = []
        for v, size, labels in zip(scope, shape, known, strict=True):
            text = words.word(f"a label of {shown(found.names[v])}")
            place = int(text) if _is_count(text) else labels.get(text, -1)
            if not 0 <= place < size:
                words.fail(
                    f"the variable {shown(found.names[v])} has {size} labels, and "
                    f"{shown(text)} is none of them."
                )
            cell.append(place)
        costs[tuple(cell)] = words.number("a cost")
    words.closing("the costs")
    return costs


def _by_rule(found: _Network, scope: tuple[int, ...]) -> NDArray[np.float64]:
    """Read an arithmetic function."""
    words = found.words
    rule = words.word("the type of a function")
    if rule not in ARITHMETIC or len(scope) != 2:
        words.fail(
            f"the function of {scope} is of the type {shown(rule)}; expected costs, or one of "
            f"{', '.join(ARITHMETIC)} over two variables."
        )
    for tag in ("params", "parameters"):
        words.skip_tag(tag, "parameters")
    words.opening("parameters")
    given = words.costs(f"parameters of {rule}")
    if len(given) != ARITHMETIC[rule][0] or not all(map(math.isfinite, given)):
        words.fail(f"expected {ARITHMETIC[rule][0]} finite parameters of {rule}, got {given}.")
    # Rules speak of costs, whatever the direction is.
    return found.sign * arithmetic_costs(rule, found.parts.shape(scope), given)


def _tables(found: _Network) -> list[tuple[tuple[int, ...], NDArray[np.float64]]]:
    """Return the tables of costs to be minimised; those that are shared by name are found."""
    words = found.words
    tables: list[NDArray[np.float64]] = [np.zeros(0)] * len(found.costs)
    # The function that is named comes later in the file, so it is known when we come from the end.
    for number in range(len(tables) - 1, -1, -1):
        costs, scope = found.costs[number], found.scopes[number]
        if isinstance(costs, tuple):
            name, line = costs
            other = found.by_name.get(name, -1)
            if other <= number:
                words.fail(f"no later function is called {shown(name)}.", line)
            table = tables[other]
            if table.shape != found.parts.shape(scope):
                words.fail(
                    f"the function of {scope} has {found.parts.shape(scope)} labels, and "
                    f"{shown(name)}, whose costs it shares, has {table.shape}.",
                    line,
                )
        else:
            table = found.sign * costs
            if (table == -np.inf).any():
                words.fail(f"a cost of the function of {scope} is infinite and asked for.")
        tables[number] = table
    return list(zip(found.scopes, tables, strict=True))
