"""The cutting plane's planes b_t + a_t.w: how they are kept, and how one is found.

The vector a_t is as long as w. Short vectors are kept as the rows of a matrix. Long ones are mostly
zero, since only violated examples contribute to them, and are kept as indices and values.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_difference, find, potentials
from maxmargin.core.precision import EPSILON
from maxmargin.core.problem import Primal, Problem
from maxmargin.solvers.found import find_outputs

#: Longer planes are kept sparse.
LARGEST_DENSE = 1 << 17
#: A plane is summed in N_GROUPS groups of examples, or in fewer if their sums would take more than
#: MAX_CELLS cells. There is not one group per thread: that number must not change a result.
N_GROUPS, MAX_CELLS = 16, 1 << 22


class DensePlanes:
    """Planes as the first rows of a matrix."""

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows
        self.count = len(rows)

    def append(self, plane: np.ndarray) -> None:
        """Add a plane."""
        if self.count == len(self._rows):
            larger = np.empty((self.count + self.count // 2 + 8, len(plane)))
            larger[: self.count] = self._rows
            self._rows = larger
        self._rows[self.count] = plane
        self.count += 1

    def products(self, covector: np.ndarray) -> np.ndarray:
        """Return a_t . v of all planes; v is R w where <a_t, w> is asked for."""
        return self._rows[: self.count] @ covector

    def combine(self, alpha: np.ndarray) -> np.ndarray:
        """Return sum_t alpha_t a_t."""
        support = np.flatnonzero(alpha)
        return alpha[support] @ self._rows[support]

    def keep(self, kept: np.ndarray) -> None:
        """Forget the planes that are not kept."""
        self._rows = self._rows[: self.count][kept]
        self.count = len(self._rows)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the planes as arrays."""
        return {"planes": self._rows[: self.count]}


class SparsePlanes:
    """Planes as lists of indices and values."""

    def __init__(self, n_weights: int, rows: list[tuple[np.ndarray, np.ndarray]]) -> None:
        self._n_weights = n_weights
        self._rows = rows

    @property
    def count(self) -> int:
        """The number of planes."""
        return len(self._rows)

    def append(self, plane: np.ndarray) -> None:
        """Add a plane."""
        indices = np.flatnonzero(plane)
        self._rows.append((indices, plane[indices]))

    def products(self, covector: np.ndarray) -> np.ndarray:
        """Return a_t . v of all planes; v is R w where <a_t, w> is asked for."""
        return np.array([values @ covector[indices] for indices, values in self._rows])

    def combine(self, alpha: np.ndarray) -> np.ndarray:
        """Return sum_t alpha_t a_t."""
        total = np.zeros(self._n_weights)
        for t in np.flatnonzero(alpha):
            indices, values = self._rows[t]
            total[indices] += alpha[t] * values
        return total

    def keep(self, kept: np.ndarray) -> None:
        """Forget the planes that are not kept."""
        self._rows = [self._rows[t] for t in np.flatnonzero(kept)]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the planes as arrays."""
        lengths = [len(values) for _, values in self._rows]
        return {
            "planes.ends": np.cumsum(lengths),
            "planes.indices": np.concatenate([indices for indices, _ in self._rows]),
            "planes.values": np.concatenate([values for _, values in self._rows]),
        }


def zero_plane(n_weights: int) -> DensePlanes | SparsePlanes:
    """Return the plane 0 + 0.w: no loss is negative."""
    if n_weights <= LARGEST_DENSE:
        return DensePlanes(np.zeros((1, n_weights)))
    return SparsePlanes(n_weights, [(np.zeros(0, dtype=np.int64), np.zeros(0))])


def planes_from_arrays(n_weights: int, arrays: dict[str, np.ndarray]) -> DensePlanes | SparsePlanes:
    """Make the planes that `arrays` was called on."""
    if "planes" in arrays:
        return DensePlanes(arrays["planes"].copy())
    ends = arrays["planes.ends"][:-1]
    indices, values = (np.split(arrays[f"planes.{name}"], ends) for name in ("indices", "values"))
    return SparsePlanes(
        n_weights, [(i.copy(), v.copy()) for i, v in zip(indices, values, strict=True)]
    )


class Plane(NamedTuple):
    """A plane b + a.w below the risk, and how far rounding can have moved b."""

    offset: float
    slope: np.ndarray
    rounding: float


def risk_plane(problem: Problem, w: np.ndarray) -> tuple[Primal, Plane]:
    """Return R(w) = 1/n sum_i s_i max psi, and the plane below R that touches it at w.

    Two rounds over the examples, on n_jobs threads: the oracles, then the sum of what they found.
    """
    n = problem.n_examples
    losses, bounds, slopes, offsets = np.zeros((4, n))
    look, add = problem.bind(find_planes), problem.bind(add_planes)
    found = find_outputs(
        problem,
        lambda first, last, desk, outputs, places: look(
            problem.view, first, last, w, desk, losses, bounds, slopes, offsets, outputs, places
        ),
    )
    n_groups = count_groups(problem)
    cuts = [n * group // n_groups for group in range(n_groups + 1)]
    totals = np.zeros((n_groups, problem.n_weights))

    def add_group(first: int, last: int, desk: Any) -> None:
        # The group that begins at `first` has a row of `totals` of its own.
        total = totals[cuts.index(first)]
        for start, end in problem.strides(first, last):
            add(problem.view, start, end, slopes, *found, -1.0 / n, total)

    problem.over_chunks(add_group, list(pairwise(cuts)))
    weight = problem.view.weight
    offset = float(weight @ offsets) / n
    # An offset is psi - slope * h, and both terms can be far larger than their difference.
    parts = float(weight @ (losses + np.abs(offsets))) / n
    rounding = EPSILON * (4.0 * parts + n * float(weight @ np.abs(offsets)) / n)
    return problem.mean_loss(losses, bounds), Plane(offset, totals.sum(axis=0), rounding)


def count_groups(problem: Problem) -> int:
    """Return how many groups of examples a plane is summed in."""
    cells = max(1, problem.n_weights)
    return max(1, min(N_GROUPS, MAX_CELLS // cells, -(-problem.n_examples // 64)))


def longest_sum(problem: Problem) -> float:
    """Return how many numbers are added, at most, to one cell of a plane."""
    n_groups = count_groups(problem)
    return 2.0 * problem.precision.n_cells / n_groups + n_groups


@jitable
def find_planes(
    problem: Any,
    first: int,
    last: int,
    w: Any,
    desk: Any,
    losses: Any,
    bounds: Any,
    slopes: Any,
    offsets: Any,
    outputs: Any,
    places: Any,
) -> None:
    """Find the most violating outputs of examples first..last-1 at w, with losses and planes.

    The output of example i goes to outputs[places[i]:]; its plane is offset + slope * h_i(y).
    """
    desk.slack[0] = 0.0
    for i in range(first, last):
        potentials(problem.data, i, w, 1.0, desk.theta)
        value, slope, h, bound = find(problem.search, problem, i, desk, outputs, places[i])
        # y_i itself has psi = 0, whatever a heuristic oracle may have missed.
        losses[i] = value if value > 0.0 else 0.0
        bounds[i] = bound if bound > losses[i] else losses[i]
        slopes[i] = slope if value > 0.0 else 0.0
        offsets[i] = value - slope * h if value > 0.0 else 0.0


@jitable
def add_planes(
    problem: Any,
    first: int,
    last: int,
    slopes: Any,
    outputs: Any,
    places: Any,
    scale: float,
    total: Any,
) -> None:
    """total += scale * sum_i s_i slope_i Psi_i(y) over the examples first..last-1."""
    for i in range(first, last):
        if slopes[i] > 0.0:
            factor = scale * problem.weight[i] * slopes[i]
            add_difference(problem.data, i, outputs, places[i], factor, total)
