"""Label sets by their relaxation: an optimal vertex of it, or a good label set with its bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import check_potential, check_shape
from maxmargin.inference.answer import Answer, Exactness, exact
from maxmargin.inference.labels.flips import best_labels_bounded, bounded_room
from maxmargin.inference.labels.graph import LabelGraph, label_graph
from maxmargin.inference.labels.roof_duality import roof_dual, roof_room

__all__ = ["RelaxedAnswer", "bounded", "relax"]


class RelaxedAnswer(NamedTuple):
    """An optimal vertex of the local-polytope relaxation, as `relax` returns it.

    Attributes
    ----------
    node : float64 array of shape (m,)
        0, 1/2 or 1 for each label. Labels at 0 or 1 are so in some best label set.
    edge : float64 array of shape (E,)
        0, 1/2 or 1: how much both ends of the edge are present.
    bound : float
        The value of the relaxation, which no label set exceeds.
    exactness : Exactness
        EXACT if every label is 0 or 1: it is then a best label set.
    """

    node: npt.NDArray[np.float64]
    edge: npt.NDArray[np.float64]
    bound: float
    exactness: Exactness


def relax(unary: npt.ArrayLike, edges: npt.ArrayLike, pair: npt.ArrayLike) -> RelaxedAnswer:
    """Return an optimal vertex of the local-polytope relaxation.

    Maximises ``sum_j unary[j] x_j + sum_e pair[e] mu_e`` over 0 <= x <= 1 and
    ``max(0, x_a + x_b - 1) <= mu_e <= min(x_a, x_b)``. If no pair is negative, or if the edges
    form a forest, x comes out integral.

    Parameters
    ----------
    unary : array-like of shape (m,)
        Finite, or -inf for a label that must be absent.
    edges : array-like of int of shape (E, 2)
        Pairs of different labels, each pair once.
    pair : array-like of shape (E,)
        Finite, of any sign.

    Examples
    --------
    Three labels that would each like to be there, but not together with another one:

    >>> from maxmargin.inference.labels.relaxed import relax
    >>> triangle = [(0, 1), (1, 2), (0, 2)]
    >>> relaxed = relax([1.0, 1.0, 1.0], triangle, [-4.0, -4.0, -4.0])
    >>> relaxed.node, relaxed.bound, relaxed.exactness.value
    (array([0.5, 0.5, 0.5]), 1.5, 'relaxed')

    Weights that attract each other leave no doubt:

    >>> relax([-1.0, -1.0, 0.5], triangle, [1.0, 1.0, 1.0]).node
    array([1., 1., 1.])
    """
    weights, graph, pairs = _check_weights(unary, edges, pair)
    node2 = np.empty(len(weights), dtype=np.int32)
    edge2 = np.empty(len(pairs), dtype=np.int32)
    value = roof_dual(weights, graph, pairs, roof_room(graph), node2, edge2)
    exactness = Exactness.RELAXED if (node2 == 1).any() else Exactness.EXACT
    return RelaxedAnswer(node2 / 2.0, edge2 / 2.0, float(value), exactness)


def bounded(unary: npt.ArrayLike, edges: npt.ArrayLike, pair: npt.ArrayLike) -> Answer:
    """Return a good label set, and a bound that no label set exceeds.

    Labels that the relaxation decides are those of some best label set; labels that it leaves at
    1/2 are set by local search.

    Parameters are those of `relax`.

    Returns
    -------
    Answer
        Its `output` is an int32 array of m zeros and ones. Its exactness is EXACT if the relaxation
        was integral, otherwise RELAXED, with its value as `bound`.

    Examples
    --------
    >>> from maxmargin.inference.labels.relaxed import bounded
    >>> triangle = [(0, 1), (1, 2), (0, 2)]
    >>> answer = bounded([1.0, 2.0, 1.0], triangle, [-4.0, -4.0, -4.0])
    >>> answer.output, answer.score, answer.bound
    (array([0, 1, 0], dtype=int32), 2.0, 2.0)
    >>> bounded([-1.0, 2.0], [(0, 1)], [3.0]).exactness.value
    'exact'
    """
    weights, graph, pairs = _check_weights(unary, edges, pair)
    y = np.empty(len(weights), dtype=np.int32)
    room = bounded_room(graph)
    score, bound = best_labels_bounded(weights, graph, pairs, room, y)
    if (room.node2 == 1).any():
        return Answer(y, float(score), float(bound), Exactness.RELAXED)
    return exact(y, score)


def _check_weights(
    unary: npt.ArrayLike, edges: npt.ArrayLike, pair: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], LabelGraph, npt.NDArray[np.float64]]:
    weights = check_potential("unary", unary, 1)
    if len(weights) == 0:
        raise ValueError("unary is empty; expected the score of at least one label.")
    graph = label_graph(len(weights), edges)
    pairs = check_potential("pair", pair, 1)
    check_shape("pair", pairs, (len(graph.edges),), "one number per edge")
    if (pairs == -np.inf).any():
        e = int(np.argmax(pairs == -np.inf))
        raise ValueError(f"pair[{e}] is -inf; expected a finite number, if need be a very low one.")
    # The kernels compute sums in which every weight occurs a few times.
    sizes = np.abs(np.concatenate([weights[weights > -np.inf], pairs]))
    if sizes.max(initial=0.0) > 1e300 / max(1, len(sizes)):
        raise ValueError(f"unary and pair go up to {sizes.max()}, so that sums would overflow.")
    return weights, graph, pairs
