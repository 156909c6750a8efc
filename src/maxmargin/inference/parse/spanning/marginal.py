"""Marginals of trees of any shape, by state reduction (Grassmann, Taksar and Heyman, 1985).

Let a chain go from word m to head h with rate exp(score[h, m] - c_m), c_m a constant of m. By the
matrix-tree theorem the weight of all trees with root r is the stationary mass of r times the
product of the pivots of an elimination that subtracts nothing; so no digits are lost, as they are
where a determinant is taken. State 0 is the root itself if it may have several children, else a
word that is the root of some allowed tree: then no pivot is 0. The marginals are the derivatives of
the logarithm of the sum, in reverse mode.

All of that is done in exp space, and once more with logarithms where numbers overflowed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference._inline import inlined
from maxmargin.inference.parse.spanning.best import (
    Contraction,
    best_spanning,
    contraction_room,
)


class Reduction(NamedTuple):
    """Workspace of `spanning_marginals`, for sentences of up to n words."""

    room: Contraction
    heads: npt.NDArray[np.int32]  # (n,)
    word: npt.NDArray[np.int32]  # (n + 1,): the word of a state, 0 for the root
    rate: npt.NDArray[np.float64]  # (n + 1, n + 1): from state i to state j
    slope: npt.NDArray[np.float64]  # (n + 1, n + 1)
    pivot: npt.NDArray[np.float64]  # (n + 1,)
    mass: npt.NDArray[np.float64]  # (n + 1,): of a state as the root
    mass_slope: npt.NDArray[np.float64]  # (n + 1,)
    base: npt.NDArray[np.float64]  # (n + 1,): c of the word of a state


def reduction_room(n_words: int) -> Reduction:
    """Return workspace for sentences of up to ``n_words`` words."""
    size = n_words + 1
    return Reduction(
        contraction_room(n_words),
        np.zeros(n_words, dtype=np.int32),
        np.zeros(size, dtype=np.int32),
        np.zeros((size, size)),
        np.zeros((size, size)),
        *(np.zeros(size) for _ in range(4)),
    )


@kernel
def spanning_marginals(scores, many, temperature, room, arcs):
    """Fill the marginals of arcs; return log sum over trees of exp(score / temperature).

    Parameters
    ----------
    scores, many : as for `best_spanning`
    temperature : float, positive and finite, at least 1e-13 times the largest difference of scores
    room : Reduction, overwritten
    arcs : float64 array of shape (>= n + 1, >= n + 1); [h, m] receives p(h -> m)

    If every tree scores -inf, so does the answer, and the marginals are zeros.
    """
    n = scores.shape[0] - 1
    for h in range(n + 1):
        for m in range(n + 1):
            arcs[h, m] = 0.0
    best = best_spanning(scores, many, room.room, room.heads)
    if best == -np.inf:
        return best
    n_states = _order_states(many, n, room)
    total = _exp_marginals(scores, many, temperature, best, n, n_states, room, arcs)
    if total > -np.inf:
        return total
    for h in range(n + 1):
        for m in range(n + 1):
            arcs[h, m] = 0.0
    return _log_marginals(scores, many, temperature, n, n_states, room, arcs)


@kernel
def _order_states(many, n, room):
    """Number the states: the root, or the word that hangs on it in the best tree, is state 0."""
    count = 0
    if many:
        room.word[0] = 0
        count = 1
    else:
        for m in range(1, n + 1):
            if room.heads[m - 1] == 0:
                room.word[0] = m
                count = 1
    for m in range(1, n + 1):
        if m != room.word[0]:
            room.word[count] = m
            count += 1
    return count


@kernel
def _rates(scores, many, temperature, best, n_states, room):
    """Fill rates, each row with the sum 1, and the masses' factors; return their logarithms' sum.

    Returns +inf where the best tree weighs so little beside the product of all rows that numbers
    could underflow which matter. As rows have the sum 1, pivots are at most 1, and nothing that
    belongs to a tree becomes smaller than the weight of the tree.
    """
    rate, word, base = room.rate, room.word, room.base
    log_total = 0.0
    for i in range(1 if many else 0, n_states):
        m = word[i]
        top = -np.inf
        for j in range(n_states):
            if j != i:
                top = max(top, scores[word[j], m])
        if top == -np.inf:
            top = scores[0, m]  # only the root can be its head
        total = 0.0
        for j in range(n_states):
            rate[i, j] = math.exp((scores[word[j], m] - top) / temperature) if j != i else 0.0
            total += rate[i, j]
        base[i] = top / temperature
        if total > 0.0:
            base[i] += math.log(total)
            for j in range(n_states):
                rate[i, j] /= total
        log_total += base[i]
    if not many:
        top = -np.inf
        for i in range(n_states):
            top = max(top, scores[0, word[i]] / temperature - base[i])
        for i in range(n_states):
            excess = scores[0, word[i]] / temperature - base[i]
            room.mass_slope[i] = math.exp(excess - top)
        log_total += top
    return log_total if log_total - best / temperature < 300.0 else np.inf


@kernel(fastmath=True)
def _exp_marginals(scores, many, temperature, best, n, n_states, room, arcs):
    """Return the log of the sum; -inf if the numbers cannot be trusted."""
    rate, slope, pivot, mass = room.rate, room.slope, room.pivot, room.mass
    mass_slope, word, base = room.mass_slope, room.word, room.base
    first = 1 if many else 0  # the first state that is a word
    log_total = _rates(scores, many, temperature, best, n_states, room)
    if log_total == np.inf:
        return -np.inf
    for k in range(n_states - 1, 0, -1):
        total = 0.0
        for j in range(k):
            total += rate[k, j]
        if not total > 1e-290:
            return -np.inf
        pivot[k] = total
        log_total += math.log(total)
        for i in range(first, k):
            share = rate[i, k] / total
            for j in range(k):
                rate[i, j] += share * rate[k, j]
            rate[i, i] = 0.0
    for i in range(n_states):
        for j in range(n_states):
            slope[i, j] = 0.0
    if not many:
        mass[0] = 1.0
        for k in range(1, n_states):
            total = 0.0
            for i in range(k):
                total += mass[i] * rate[i, k]
            mass[k] = total / pivot[k]
        total = 0.0
        for k in range(n_states):
            total += mass[k] * mass_slope[k]
        if not 1e-290 < total < 1e290:
            return -np.inf
        log_total += math.log(total)
        for k in range(n_states):
            mass_slope[k] /= total
            arcs[0, word[k]] = mass[k] * mass_slope[k]
        for k in range(n_states - 1, 0, -1):
            share = mass_slope[k] / pivot[k]
            for i in range(k):
                mass_slope[i] += share * rate[i, k]
                slope[i, k] += share * mass[i]
    # pivot_slope = 1 - mass_slope * mass - ..., the derivative by log pivot[k].
    for k in range(1, n_states):
        own = 1.0 - (mass_slope[k] * mass[k] if not many else 0.0)
        for j in range(k):
            slope[k, j] = 0.0
        for i in range(first, k):
            share = rate[i, k] / pivot[k]
            for j in range(k):
                if i != j:
                    slope[k, j] += slope[i, j] * share
            total = 0.0
            for j in range(k):
                if i != j:
                    total += slope[i, j] * rate[k, j]
            slope[i, k] += total / pivot[k]
            own -= total * share
        for j in range(k):
            slope[k, j] += own / pivot[k]
    for i in range(first, n_states):
        m = word[i]
        for j in range(n_states):
            if j != i:
                weight = math.exp(scores[word[j], m] / temperature - base[i])
                arcs[word[j], m] = slope[i, j] * weight
    for m in range(1, n + 1):
        total = 0.0
        for h in range(n + 1):
            total += arcs[h, m]
        if not abs(total - 1.0) < 1e-9:
            return -np.inf
    return log_total


@inlined
def _log_add(a, b):
    """Return log(exp(a) + exp(b))."""
    top, low = max(a, b), min(a, b)
    return top if low == -np.inf else top + math.log1p(math.exp(low - top))


@kernel
def _log_marginals(scores, many, temperature, n, n_states, room, arcs):
    """Do as `_exp_marginals` with the logarithms of rates, pivots, masses and slopes."""
    rate, slope, pivot, mass = room.rate, room.slope, room.pivot, room.mass
    mass_slope, word = room.mass_slope, room.word
    first = 1 if many else 0
    for i in range(n_states):
        for j in range(n_states):
            rate[i, j] = -np.inf
            slope[i, j] = -np.inf
            if i >= first and j != i:
                rate[i, j] = scores[word[j], word[i]] / temperature
        mass_slope[i] = -np.inf
    log_total = 0.0
    for k in range(n_states - 1, 0, -1):
        total = -np.inf
        for j in range(k):
            total = _log_add(total, rate[k, j])
        pivot[k] = total
        log_total += total
        for i in range(first, k):
            for j in range(k):
                if i != j:
                    rate[i, j] = _log_add(rate[i, j], (rate[i, k] - total) + rate[k, j])
    if not many:
        mass[0] = 0.0
        for k in range(1, n_states):
            total = -np.inf
            for i in range(k):
                total = _log_add(total, mass[i] + rate[i, k])
            mass[k] = total - pivot[k]
        total = -np.inf
        for k in range(n_states):
            total = _log_add(total, mass[k] + scores[0, word[k]] / temperature)
        log_total += total
        for k in range(n_states):
            mass_slope[k] = scores[0, word[k]] / temperature - total
            arcs[0, word[k]] = math.exp(mass[k] + mass_slope[k])
        for k in range(n_states - 1, 0, -1):
            share = mass_slope[k] - pivot[k]
            for i in range(k):
                mass_slope[i] = _log_add(mass_slope[i], share + rate[i, k])
                slope[i, k] = _log_add(slope[i, k], share + mass[i])
    for k in range(1, n_states):
        own = 1.0 - (math.exp(mass_slope[k] + mass[k]) if not many else 0.0)
        for i in range(first, k):
            share = rate[i, k] - pivot[k]
            total = -np.inf
            for j in range(k):
                if i != j:
                    slope[k, j] = _log_add(slope[k, j], slope[i, j] + share)
                    total = _log_add(total, slope[i, j] + rate[k, j])
            slope[i, k] = _log_add(slope[i, k], total - pivot[k])
            own -= math.exp(total + share)
        for j in range(k):
            if rate[k, j] > -np.inf:
                # What the arc k -> j is used, as a probability; its logarithm gives the slope.
                used = math.exp(slope[k, j] + rate[k, j]) + own * math.exp(rate[k, j] - pivot[k])
                slope[k, j] = math.log(used) - rate[k, j] if used > 0.0 else -np.inf
    for i in range(first, n_states):
        m = word[i]
        for j in range(n_states):
            if j != i and slope[i, j] > -np.inf:
                arcs[word[j], m] = math.exp(slope[i, j] + scores[word[j], m] / temperature)
    return log_total
