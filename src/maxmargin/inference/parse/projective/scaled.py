"""Sums over projective trees of first order, each relative to its own best part.

An item of Eisner's chart weighs exp(best / temperature) * sum, where best is its value in the chart
and the sum is that over its derivations, relative to the best of them. So a sum lies between 1 and
the number of derivations, whatever the scores and the temperature are, and no logarithm is needed:
a split adds exp((score - best) / temperature) times two sums, by an exponential that vectorises.
Differences of scores are taken before they are divided, so trees that tie tie exactly, however cold
it is. Marginals are products of conditionals p(split | item), from whole trees down.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.inference._exp import fast_exp
from maxmargin.inference._inline import inlined_as_written

#: Sums beyond this, as a tree of more than 150 words may have, are left to logarithms. The product
#: of two is a float64 even when it is multiplied by the least of exponentials.
LARGEST_SUM = 1e130


@kernel
def scaled_marginals(scores, many, temperature, best, room, result):
    """Do as `tree_marginals` after `fill_chart`; return the sum relative to the best tree.

    ``best`` is the score of the best tree, above -inf. Returns 0 where a sum is too large; what it
    wrote has no meaning then.
    """
    n = scores.shape[0] - 1
    halves, mirror = room.chart.values[0], room.chart.mirror
    half_sums, arc_sums, mirror_sums = room.sums[0], room.sums[1], room.mirror
    half_mass, arc_mass, mirror_mass = room.half_slopes, room.arc_slopes, room.mirror_slopes
    rate = 1.0 / temperature
    largest = _sums(many, n, rate, room.chart.values, mirror, half_sums, arc_sums, mirror_sums)
    total = half_sums[0, n] if many else 0.0
    if not many:
        for r in range(1, n + 1):
            weight = _weight(halves[r, 1] + halves[r, n], scores[0, r], best, rate)
            total += weight * (half_sums[r, 1] * half_sums[r, n])
    if not max(largest, total) <= LARGEST_SUM:
        return 0.0
    for a in range(n + 1):
        for b in range(n + 1):
            half_mass[a, b] = arc_mass[a, b] = mirror_mass[a, b] = result[a, b] = 0.0
    if many:
        half_mass[0, n] = 1.0
    else:
        for r in range(1, n + 1):
            weight = _weight(halves[r, 1] + halves[r, n], scores[0, r], best, rate)
            share = weight * (half_sums[r, 1] * half_sums[r, n]) / total
            half_mass[r, 1] += share
            half_mass[r, n] += share
            result[0, r] = share
    _masses(
        many, n, rate, room.chart.values, mirror, half_sums, arc_sums, mirror_sums, half_mass,
        arc_mass, mirror_mass, result,
    )  # fmt: skip
    return total


@inlined_as_written
def _weight(left, right, best, rate):
    """Return what a split weighs beside the best one.

    The scores are added as `fill_chart` adds them, which fastmath must not change.
    """
    return fast_exp(((left + right) - best) * rate)


@kernel(fastmath=True)
def _sums(many, n, rate, values, mirror, half_sums, arc_sums, mirror_sums):
    """Fill the sums of all items, as `fill_chart` does with maxima; return the largest."""
    halves, arcs, between = values[0], values[1], values[2]
    lowest, largest = 0 if many else 1, 1.0
    for t in range(lowest, n + 1):
        half_sums[t, t] = 1.0
        mirror_sums[t, t] = 1.0
        for s in range(t - 1, lowest - 1, -1):
            best, total = between[s, t], 0.0
            if best > -np.inf:
                for r in range(s, t):
                    weight = _weight(halves[s, r], halves[t, r + 1], best, rate)
                    total += weight * (half_sums[s, r] * half_sums[t, r + 1])
            arc_sums[s, t] = total if arcs[s, t] > -np.inf else 0.0
            arc_sums[t, s] = total if arcs[t, s] > -np.inf else 0.0
            largest = max(largest, total)
            best, total = halves[t, s], 0.0
            if best > -np.inf:
                for r in range(s, t):
                    weight = _weight(mirror[s, r], arcs[t, r], best, rate)
                    total += weight * (mirror_sums[s, r] * arc_sums[t, r])
            half_sums[t, s] = total
            mirror_sums[s, t] = total
            largest = max(largest, total)
            best, total = halves[s, t], 0.0
            if best > -np.inf:
                for r in range(s + 1, t + 1):
                    weight = _weight(arcs[s, r], mirror[t, r], best, rate)
                    total += weight * (arc_sums[s, r] * mirror_sums[t, r])
            half_sums[s, t] = total
            mirror_sums[t, s] = total
            largest = max(largest, total)
    return largest


@kernel(fastmath=True)
def _masses(
    many, n, rate, values, mirror, half_sums, arc_sums, mirror_sums, half_mass, arc_mass,
    mirror_mass, result,
):  # fmt: skip
    """Hand the probability of every item on to the items that it is made of."""
    halves, arcs, between = values[0], values[1], values[2]
    lowest = 0 if many else 1
    for t in range(n, lowest - 1, -1):
        for s in range(lowest, t):
            own = half_mass[s, t] + mirror_mass[t, s]
            if own > 0.0:
                best, own = halves[s, t], own / half_sums[s, t]
                for r in range(s + 1, t + 1):
                    weight = _weight(arcs[s, r], mirror[t, r], best, rate)
                    share = own * (weight * (arc_sums[s, r] * mirror_sums[t, r]))
                    arc_mass[s, r] += share
                    mirror_mass[t, r] += share
            own = half_mass[t, s] + mirror_mass[s, t]
            if own > 0.0:
                best, own = halves[t, s], own / half_sums[t, s]
                for r in range(s, t):
                    weight = _weight(mirror[s, r], arcs[t, r], best, rate)
                    share = own * (weight * (mirror_sums[s, r] * arc_sums[t, r]))
                    mirror_mass[s, r] += share
                    arc_mass[t, r] += share
            result[s, t] = arc_mass[s, t]
            own = arc_mass[s, t]
            if s > 0:
                result[t, s] = arc_mass[t, s]
                own += arc_mass[t, s]
            if own > 0.0:
                best, own = between[s, t], own / max(arc_sums[s, t], arc_sums[t, s])
                for r in range(s, t):
                    weight = _weight(halves[s, r], halves[t, r + 1], best, rate)
                    share = own * (weight * (half_sums[s, r] * half_sums[t, r + 1]))
                    half_mass[s, r] += share
                    half_mass[t, r + 1] += share
