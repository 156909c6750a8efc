"""Rules over the labels of several nodes, as users give them at prediction: by labels' own names.

A rule is a factor of `maxmargin.inference.graph.factors`. Its nodes are counted from 0 in each
graph, and the labels that it names are those of the user.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from maxmargin.inference.graph.factors import FACTORS, Factor
from maxmargin.inference.graph.factors.switches import SwitchFactor
from maxmargin.inputs.labels import Labels

#: Rules of one graph, by its number, with labels as the graph knows them.
Rules = Callable[[int], list[Factor]]


def read_rules(constraints: Any, X: Any, labels: Labels) -> Rules | None:
    """Return the rules of every graph, with labels encoded; None if there are none.

    Parameters
    ----------
    constraints : None, Factor, iterable of factors, list of these, or callable
        One factor, or a list of nothing but factors, holds for all graphs. A list with one entry
        per graph, each None, a factor or a list of them, says it for each. A callable is given X[i]
        and returns such an entry.
    X : list of graphs
    labels : Labels

    Examples
    --------
    >>> from maxmargin.inference.graph.factors import ExactlyOne
    >>> rules = read_rules(ExactlyOne((0, 2), on="b"), [None], Labels(["a", "b"]))
    >>> rules(0)[0].on_labels
    (1, 1)
    """
    if constraints is None:
        return None
    if callable(constraints):
        return lambda i: _encoded(constraints(X[i]), f"constraints(X[{i}])", labels)
    if isinstance(constraints, Factor):
        shared = _encoded(constraints, "constraints", labels)
        return lambda i: shared
    if isinstance(constraints, (str, bytes, dict)) or not isinstance(constraints, Iterable):
        raise _no_rules("constraints", constraints)
    given = list(constraints)
    if all(isinstance(each, Factor) for each in given):
        shared = _encoded(given, "constraints", labels)
        return lambda i: shared
    if len(given) != len(X):
        raise ValueError(
            f"constraints has {len(given)} entries, but X has {len(X)} graphs; expected nothing "
            "but factors, which are for all graphs, or one entry per graph."
        )
    each = [_encoded(entry, f"constraints[{i}]", labels) for i, entry in enumerate(given)]
    return each.__getitem__


def _encoded(entry: Any, where: str, labels: Labels) -> list[Factor]:
    """Return the factors of one entry, with labels as numbers."""
    if entry is None:
        return []
    if isinstance(entry, Factor):
        return [_with_codes(entry, where, labels)]
    if isinstance(entry, (str, bytes, dict)) or not isinstance(entry, Iterable):
        raise _no_rules(where, entry)
    factors = []
    for k, factor in enumerate(entry):
        if not isinstance(factor, Factor):
            raise _no_rules(f"{where}[{k}]", factor)
        factors.append(_with_codes(factor, f"{where}[{k}]", labels))
    return factors


def _with_codes(factor: Factor, where: str, labels: Labels) -> Factor:
    """Return the factor with the numbers of the labels that it names."""
    if not isinstance(factor, SwitchFactor):
        return factor  # its scores are in the order of the classes
    codes = []
    for label in factor.on_labels:
        try:
            is_known = label in labels.index
        except TypeError:
            is_known = False
        if not is_known:
            raise ValueError(
                f"{where}: {type(factor).__name__} is on at {label!r}, which is no class; on= "
                f"names one of {labels.some()}."
            )
        codes.append(labels.index[label])
    found = copy.copy(factor)
    found.on_labels = tuple(codes)
    return found


def _no_rules(where: str, given: Any) -> TypeError:
    names = ", ".join(kind.__name__ for kind in FACTORS.values())
    return TypeError(f"{where} is {given!r}; expected factors of the kinds {names}.")
