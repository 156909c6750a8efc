"""Points of the local polytope: exact projection, value, and where the marginals of factors are.

The local polytope L holds marginals mu_v of nodes and mu_f of factors, all distributions, such that
mu_f summed over all its nodes but v is mu_v. Marginals of factors that nearly fit become a point of
L exactly, up to rounding, whatever the marginals of nodes:

1. for each axis v of mu_f, slices are scaled by min(1, mu_v / their sum), so that no sum exceeds
   mu_v;
2. d_v = mu_v less the sums that are left is >= 0 and has the same sum s for all v;
   prod_v d_v / s^(order - 1) is added (Altschuler et al. do this for two axes).

Step 2 may put mass on forbidden entries. The value of such a point is -inf.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable, kernel
from maxmargin.inference.graph.shape import Shape

__all__ = ["cell_starts", "point_value", "project"]

#: Less mass than this is rounding, and is not spread.
LEAST = 1e-15


def cell_starts(shape: Shape) -> npt.NDArray[np.int64]:
    """Return where the marginals of each factor begin, and their total number at the end.

    Tables may be shared among factors, marginals are not.
    """
    sizes = shape.n_labels[shape.members].astype(np.int64)
    cells = np.multiply.reduceat(sizes, shape.member_at[:-1]) if len(sizes) else sizes
    return np.concatenate([[0], np.cumsum(cells)]).astype(np.int64)


@kernel
def project(shape, cell_at, nodes, factors, spare):
    """Change the marginals of factors so that they fit those of nodes.

    Parameters
    ----------
    cell_at : int64 array of `cell_starts`
    nodes : float64 array, flat as unary potentials
        A distribution per node; read only.
    factors : float64 array, flat as `cell_at` says
        Finite and >= 0.
    spare : float64 array, as long as messages
    """
    for f in range(shape.kinds.shape[0]):
        for s in range(shape.member_at[f], shape.member_at[f + 1]):
            _sum_axis(shape, cell_at, factors, f, s, spare)
            _scale_axis(shape, cell_at, nodes, factors, f, s, spare)
        mass = 1.0
        for s in range(shape.member_at[f], shape.member_at[f + 1]):
            _sum_axis(shape, cell_at, factors, f, s, spare)
            mass = min(mass, _lack(shape, nodes, s, spare))
        if mass > LEAST:
            _spread(shape, cell_at, factors, f, mass, spare)


@jitable
def _sum_axis(shape, cell_at, factors, f, slot, spare):
    """Fill spare at the messages of a slot with the sums of slices of its axis."""
    at = shape.message_at[slot]
    size = shape.message_at[slot + 1] - at
    stride = _stride(shape, f, slot)
    for x in range(size):
        spare[at + x] = 0.0
    for cell in range(cell_at[f + 1] - cell_at[f]):
        spare[at + cell // stride % size] += factors[cell_at[f] + cell]


@jitable
def _stride(shape, f, slot):
    """Return how many cells lie between neighbours along the axis of a slot."""
    stride = 1
    for s in range(slot + 1, shape.member_at[f + 1]):
        stride *= shape.message_at[s + 1] - shape.message_at[s]
    return stride


@jitable
def _scale_axis(shape, cell_at, nodes, factors, f, slot, spare):
    """Scale the slices of an axis down to the marginals of its node."""
    at = shape.message_at[slot]
    size = shape.message_at[slot + 1] - at
    first = shape.unary_at[shape.members[slot]]
    stride = _stride(shape, f, slot)
    for x in range(size):
        total = spare[at + x]
        spare[at + x] = nodes[first + x] / total if total > nodes[first + x] else 1.0
    for cell in range(cell_at[f + 1] - cell_at[f]):
        factors[cell_at[f] + cell] *= spare[at + cell // stride % size]


@jitable
def _lack(shape, nodes, slot, spare):
    """Replace the sums of an axis by what they lack, as a distribution; return how much that is."""
    at = shape.message_at[slot]
    first = shape.unary_at[shape.members[slot]]
    total = 0.0
    for x in range(shape.message_at[slot + 1] - at):
        spare[at + x] = max(0.0, nodes[first + x] - spare[at + x])
        total += spare[at + x]
    if total > 0.0:
        for x in range(shape.message_at[slot + 1] - at):
            spare[at + x] /= total
    return total


@jitable
def _spread(shape, cell_at, factors, f, mass, spare):
    """Add the product of what all axes lack."""
    for cell in range(cell_at[f + 1] - cell_at[f]):
        rest, share = cell, mass
        for s in range(shape.member_at[f + 1] - 1, shape.member_at[f] - 1, -1):
            size = shape.message_at[s + 1] - shape.message_at[s]
            share *= spare[shape.message_at[s] + rest % size]
            rest //= size
        factors[cell_at[f] + cell] += share


@kernel
def point_value(shape, unary, tables, cell_at, nodes, factors):
    """Return the score of marginals of nodes and factors, all tables; -inf if one is forbidden."""
    total = 0.0
    for i in range(nodes.shape[0]):
        if nodes[i] > 0.0:
            total += nodes[i] * unary[i]
    for f in range(shape.kinds.shape[0]):
        table = shape.table_at[f]
        for cell in range(cell_at[f + 1] - cell_at[f]):
            mass = factors[cell_at[f] + cell]
            if mass > 0.0:
                total += mass * tables[table + cell]
    return total
