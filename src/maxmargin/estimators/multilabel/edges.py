"""Which pairs of labels have a weight, and which inference the edges, and the cost, allow."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np

from maxmargin.core.contract import has, maximize
from maxmargin.costs import ExampleF1
from maxmargin.inference.labels.graph import label_graph
from maxmargin.inference.labels.listed import MAX_LISTED
from maxmargin.inference.labels.tree import find_cycle
from maxmargin.inputs.checks import unknown
from maxmargin.inputs.label_sets import LabelMatrix
from maxmargin.inputs.labels import Labels
from maxmargin.structures import learnt_tree
from maxmargin.structures.labels.build import PROGRAMS
from maxmargin.structures.labels.data import INFERENCES

#: Values of the parameter `pairwise` that are words.
PAIRWISE = ("none", "full", "tree")


def label_edges(pairwise: Any, matrix: LabelMatrix) -> np.ndarray:
    """Return the edges that the parameter `pairwise` stands for, as places in classes_.

    Examples
    --------
    >>> from maxmargin.inputs.label_sets import label_matrix
    >>> sets = label_matrix([["a"], ["b", "c"]], 2)
    >>> label_edges("full", sets).tolist(), label_edges([("c", "a")], sets).tolist()
    ([[0, 1], [0, 2], [1, 2]], [[2, 0]])
    >>> label_edges([("a", "x")], sets)
    Traceback (most recent call last):
    ValueError: pairwise[0] names the label 'x', which is none of the classes: 'a', 'b', 'c'.
    """
    check_pairwise(pairwise)
    if isinstance(pairwise, str):
        if pairwise == "none":
            return _places([])
        if pairwise == "tree":
            return _places(learnt_tree(matrix.cells))
        return _places(list(combinations(range(len(matrix.labels)), 2)))
    edges = _places(label_groups("pairwise", pairwise, matrix.labels, size=2))
    check_edges(edges, matrix.labels)
    return edges


def check_pairwise(pairwise: Any) -> None:
    """Refuse a parameter `pairwise` that is wrong for any labels."""
    if isinstance(pairwise, str):
        if pairwise not in PAIRWISE:
            raise ValueError(
                f"pairwise={pairwise!r} is not known. There are: {', '.join(map(repr, PAIRWISE))}, "
                "or a list of pairs of labels."
            )
    elif isinstance(pairwise, bytes) or not isinstance(pairwise, Iterable):
        raise TypeError(
            f"pairwise must be a list, each item a pair of labels; got {pairwise!r}. Or one of: "
            f"{', '.join(map(repr, PAIRWISE))}."
        )


def label_groups(name: str, groups: Any, labels: Labels, size: int | None = None) -> list[Any]:
    """Return groups of labels, as places in classes_; an error calls them name[i].

    ``size`` is the number of labels that a group must have: 2 for pairs, None for 2 or more.
    """
    wanted = "a group of two labels or more" if size is None else "a pair of labels"
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise TypeError(f"{name} must be a list, each item {wanted}; got {groups!r}.")
    found = []
    for i, group in enumerate(groups):
        if isinstance(group, (str, bytes)) or not isinstance(group, Iterable):
            raise TypeError(f"{name}[{i}] must be {wanted}, got {group!r}.")
        members = group.tolist() if isinstance(group, np.ndarray) else list(group)
        if len(members) < 2 or len(members) != (size or len(members)):
            raise ValueError(f"{name}[{i}] must be {wanted}, got {members!r}.")
        places = tuple(_place(f"{name}[{i}]", label, labels) for label in members)
        if len(set(places)) < len(places):
            raise ValueError(f"{name}[{i}] names a label twice: {members!r}.")
        found.append(places)
    return found


def _place(name: str, label: Any, labels: Labels) -> int:
    try:
        place = labels.index.get(label, -1)
    except TypeError:
        place = -1
    if place < 0:
        raise ValueError(
            f"{name} names the label {label!r}, which is none of the classes: {labels.some()}."
        )
    return place


def _places(pairs: Any) -> np.ndarray:
    return np.asarray(pairs, dtype=np.int32).reshape(-1, 2)


def check_edges(edges: np.ndarray, labels: Labels) -> None:
    """Refuse an edge that comes twice, in either direction, or is of one label; name its labels."""
    names = labels.classes.tolist()
    seen: dict[tuple[int, int], int] = {}
    for i, (a, b) in enumerate(edges.tolist()):
        if a == b:
            raise ValueError(f"pairwise[{i}] joins {names[a]!r} with itself.")
        key = (min(a, b), max(a, b))
        if key in seen:
            raise ValueError(
                f"pairwise[{i}] joins {names[a]!r} and {names[b]!r}, as pairwise[{seen[key]}] does."
            )
        seen[key] = i


def closing_edge(edges: np.ndarray, n_labels: int) -> int:
    """Return the first edge that closes a cycle; -1 for a forest."""
    return find_cycle(label_graph(n_labels, edges))


def best_inference(edges: np.ndarray, n_labels: int) -> str:
    """Return the name of the inference for predictions: the fastest that is exact, if any is.

    Examples
    --------
    >>> full = np.array(list(combinations(range(17), 2)))
    >>> best_inference(full[:0], 3), best_inference(full[:2], 3), best_inference(full, 17)
    ('independent', 'tree', 'pairwise')
    """
    if len(edges) == 0:
        return "independent"
    if closing_edge(edges, n_labels) < 0:
        return "tree"
    return "listed" if n_labels <= MAX_LISTED else "pairwise"


def check_inference(inference: Any) -> None:
    """Refuse an unknown name of the parameter `inference`."""
    if inference == "auto" and isinstance(inference, str):
        return
    if not isinstance(inference, str) or inference not in {**INFERENCES, **PROGRAMS}:
        raise unknown("inference", inference, {"auto": None, **INFERENCES, **PROGRAMS})


def choose_inference(inference: Any, edges: np.ndarray, labels: Labels, cost: Any) -> str:
    """Return the name of the inference in training; refuse one that edges or cost do not fit.

    Parameters
    ----------
    inference : "auto", or a name that `maxmargin.structures.labels_data` knows
    edges : array of shape (E, 2), as places in classes_
    labels : Labels
    cost : the task loss

    Examples
    --------
    >>> from maxmargin.costs import Hamming
    >>> labels = Labels(range(3))
    >>> pairs = np.array([[0, 1], [1, 2], [0, 2]])
    >>> [choose_inference("auto", pairs[:n], labels, Hamming()) for n in range(4)]
    ['independent', 'tree', 'tree', 'listed']
    >>> choose_inference("tree", pairs, labels, Hamming())
    Traceback (most recent call last):
    ValueError: inference='tree' needs edges that form a forest, but the pair of 0 and 2 ...
    """
    check_inference(inference)
    m = len(labels)
    is_f1 = isinstance(cost, ExampleF1)
    if inference == "auto":
        name = best_inference(edges, m)
        if name == "tree" and is_f1 and m <= MAX_LISTED:
            name = "listed"
        elif name == "pairwise":
            name = "relaxed"
    else:
        name = inference
    if name == "independent" and len(edges):
        raise ValueError(
            f"inference='independent' knows no pairs of labels, but pairwise gives {len(edges)}."
        )
    if name == "tree" and closing_edge(edges, m) >= 0:
        a, b = labels.classes[edges[closing_edge(edges, m)]].tolist()
        raise ValueError(
            f"inference='tree' needs edges that form a forest, but the pair of {a!r} and {b!r} "
            "closes a cycle."
        )
    if name == "listed" and m > MAX_LISTED:
        raise ValueError(
            f"inference='listed' lists all sets of at most {MAX_LISTED} labels; there are {m}."
        )
    if is_f1 and name not in ("independent", "listed"):
        raise ValueError(
            f"cost='f1' with edges is exact only where all label sets can be listed (at most "
            f"{MAX_LISTED} labels, inference='listed'); here there are {m} labels and inference is "
            f"{name!r}. The surrogate MicroF1 (surrogate='micro_f1', cost='hamming') stands for it."
        )
    return name


def check_cost_fits(inference: str, cost: Any, tables: Any) -> None:
    """Refuse a cost that an inference has no oracle for; name the inferences that have one.

    Examples
    --------
    >>> from maxmargin.costs import WholeCost, ZeroOne
    >>> check_cost_fits("relaxed", ZeroOne(), WholeCost(np.ones(1)))
    Traceback (most recent call last):
    ValueError: inference='relaxed' has no oracle for the cost ZeroOne(). Inferences that have: ...
    """
    known: dict[str, type] = {**INFERENCES, **PROGRAMS}
    fitting = [name for name, kind in known.items() if has(maximize, kind, type(tables))]
    if inference not in fitting:
        raise ValueError(
            f"inference={inference!r} has no oracle for the cost {cost!r}. Inferences that have: "
            f"{', '.join(fitting)}. Costs that are sums over labels, as hamming is, fit all."
        )
