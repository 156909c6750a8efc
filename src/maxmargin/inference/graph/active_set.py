"""A factor's share of ADMM: its best distribution, with a penalty on the squares of its marginals.

    max over distributions p on the cells of a table of   sum_c score_c p_c - 1/2 |z(p)|^2

z(p) are the marginals of p for all nodes of the factor, one after the other. Few cells have mass at
the optimum: at most sum_v K_v - order + 1, because their columns (the marginals of one cell alone)
can be taken to be independent. So p is kept as a list of cells, the support, and an active-set
method solves for p on the support, lets the first cell that would become negative go, and takes in
the cell whose derivative is largest, until none exceeds the derivative on the support (Martins et
al. 2015). It starts from the support of the last call, which is mostly the answer: one small linear
system and one scan of the table.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable, kernel

__all__ = ["best_distribution", "write_marginals"]

#: Steps after which the distribution is taken as it is; only rounding can need so many.
_MOST_STEPS = 200
#: What counts as zero: pivots of the linear system, and gains of a cell relative to scores.
_ZERO = 1e-10


@kernel
def best_distribution(sizes, order, scores, n_cells, support, mass, n_support, room, marginals):
    """Solve for the distribution; return the size of its support.

    Parameters
    ----------
    sizes : int64 array of length >= order
        The axes of the table.
    scores : float64 array of length >= n_cells
        -inf for cells that are forbidden; the first n_support cells of the support are not.
    support, mass : int64 and float64 arrays
        The cells that have mass, and how much. Overwritten by the answer.
    n_support : int
        At least 1.
    room : (float64 array of shape (m + 1, m + 1), float64 array of length m + 1)
        m is at least the length of the support. Scratch.
    marginals : float64 array of length >= sum of sizes
        Filled with z.
    """
    matrix, right = room
    for _ in range(_MOST_STEPS):
        for i in range(n_support):
            matrix[i, i] = order
            for j in range(i):
                matrix[i, j] = matrix[j, i] = _shared(sizes, order, support[i], support[j])
            matrix[i, n_support] = 1.0
            matrix[n_support, i] = 1.0
            right[i] = scores[support[i]]
        matrix[n_support, n_support] = 0.0
        right[n_support] = 1.0
        if not _solve(matrix, right, n_support + 1):
            break
        level = right[n_support]
        n_before = n_support
        n_support = _step(support, mass, n_support, right)
        if n_support < n_before:
            continue
        write_marginals(sizes, order, support, mass, n_support, marginals)
        best = _steepest(sizes, order, scores, n_cells, level, marginals)
        if best < 0:
            return n_support
        n_support = _take_in(sizes, order, best, support, mass, n_support, matrix, right)
    write_marginals(sizes, order, support, mass, n_support, marginals)
    return n_support


@jitable
def _shared(sizes, order, a, b):
    """Return at how many axes two cells have the same label: the product of their columns."""
    if order == 2:
        # Pairs are nearly all there is.
        n_columns = sizes[1]
        row, other = a // n_columns, b // n_columns
        if row == other:
            return 2.0 if a == b else 1.0
        return 1.0 if a - row * n_columns == b - other * n_columns else 0.0
    count = 0.0
    for axis in range(order - 1, -1, -1):
        size = sizes[axis]
        if a % size == b % size:
            count += 1.0
        a //= size
        b //= size
    return count


@jitable
def _solve(matrix, right, n):
    """Solve a linear system in place, by elimination; return whether it is regular."""
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if abs(matrix[pivot, k]) < _ZERO:
            return False
        if pivot != k:
            for j in range(k, n):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
            right[k], right[pivot] = right[pivot], right[k]
        for i in range(k + 1, n):
            factor = matrix[i, k] / matrix[k, k]
            if factor != 0.0:
                for j in range(k, n):
                    matrix[i, j] -= factor * matrix[k, j]
                right[i] -= factor * right[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            right[k] -= matrix[k, j] * right[j]
        right[k] /= matrix[k, k]
    return True


@jitable
def _step(support, mass, n_support, target):
    """Move the masses towards their targets, until one is 0 and goes; return how many are left."""
    length, blocking = 1.0, -1
    for i in range(n_support):
        if target[i] < 0.0:
            here = mass[i] / (mass[i] - target[i])
            if here < length:
                length, blocking = here, i
    for i in range(n_support):
        mass[i] += length * (target[i] - mass[i])
    if blocking < 0:
        return n_support
    n_support -= 1
    for i in range(blocking, n_support):
        support[i] = support[i + 1]
        mass[i] = mass[i + 1]
    return n_support


@jitable
def write_marginals(sizes, order, support, mass, n_support, marginals):
    """Fill marginals with those of a distribution, one axis after the other."""
    end = 0
    for axis in range(order):
        end += sizes[axis]
    for k in range(end):
        marginals[k] = 0.0
    for i in range(n_support):
        rest, at = support[i], end
        for axis in range(order - 1, -1, -1):
            at -= sizes[axis]
            marginals[at + rest % sizes[axis]] += mass[i]
            rest //= sizes[axis]


@jitable
def _steepest(sizes, order, scores, n_cells, level, marginals):
    """Return the cell whose derivative exceeds `level` most, or -1."""
    best, top = -1, level + _ZERO * (1.0 + abs(level))
    if order == 2:
        n_columns = sizes[1]
        for x in range(sizes[0]):
            for y in range(n_columns):
                value = scores[x * n_columns + y] - marginals[x] - marginals[sizes[0] + y]
                if value > top:
                    best, top = x * n_columns + y, value
        return best
    end = 0
    for axis in range(order):
        end += sizes[axis]
    for cell in range(n_cells):
        value, rest, at = scores[cell], cell, end
        for axis in range(order - 1, -1, -1):
            at -= sizes[axis]
            value -= marginals[at + rest % sizes[axis]]
            rest //= sizes[axis]
        if value > top:
            best, top = cell, value
    return best


@jitable
def _take_in(sizes, order, cell, support, mass, n_support, matrix, right):
    """Add a cell to the support; return its size.

    If the column of the cell is a combination of those of the support, its mass grows at the cost
    of theirs, which leaves z as it is, until one of them is 0: the cell takes its place.
    """
    for i in range(n_support):
        matrix[i, i] = order
        for j in range(i):
            matrix[i, j] = matrix[j, i] = _shared(sizes, order, support[i], support[j])
        right[i] = _shared(sizes, order, support[i], cell)
    rest = float(order)
    if _solve(matrix, right, n_support):
        for i in range(n_support):
            rest -= right[i] * _shared(sizes, order, support[i], cell)
    if rest > 1e-7:
        support[n_support], mass[n_support] = cell, 0.0
        return n_support + 1
    length, blocking = np.inf, 0
    for i in range(n_support):
        if right[i] > 1e-7 and mass[i] / right[i] < length:
            length, blocking = mass[i] / right[i], i
    for i in range(n_support):
        mass[i] = max(0.0, mass[i] - length * right[i])
    support[blocking], mass[blocking] = cell, length
    return n_support
