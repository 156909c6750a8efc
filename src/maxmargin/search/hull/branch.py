"""Branch on the parts of outputs, until no output under the hull can be better than the best known.

A branch is the set of outputs that lack some parts and have some others. The hull of a branch
bounds psi in it, at a corner, which is an output, or on an edge between two corners. In the second
case the branch is cut by a part that only one end of the edge has: the outputs without the part and
the outputs with it are two branches, and each hull has lost one end. If a structure can only forbid
parts, there is one branch per part of one end, which forbids that part; together they hold all
outputs except that end. The branch of largest bound is cut next, so that few branches are looked at
that cannot hold the best output.

This runs as plain Python, for structures in plain Python.
"""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    can_require,
    margin_error,
    maximize_within,
    output_cost,
    output_parts,
)
from maxmargin.search.hull.points import (
    ORDER,
    ROUNDING,
    G,
    H,
    aim,
    best_share,
    insert_point,
    is_settled,
    rank,
)


class Branch(NamedTuple):
    """Outputs that lack the parts of ``forbid`` and have those of ``require``, and their bound."""

    forbid: frozenset[Any]
    require: frozenset[Any]
    h: float  # (h, g) is the point of largest psi on the hull of the branch
    g: float
    order: float  # `rank` of (h, g)
    left: int  # number of the output at one end of the edge, or at the corner
    right: int  # number of the output at the other end; -1 where (h, g) is a corner
    tilt: float  # the tilt of the edge


class Branching:
    """The outputs of one example that a search has found, and the branches still to be cut.

    Parameters
    ----------
    view : View of a problem
    i : int, the example
    desk : Desk with its potentials
    points, n_points : points of the outputs found so far, one column per output; the output of
        column k is cell k of ``outputs``
    outputs : array of objects
    """

    def __init__(
        self, view: Any, i: int, desk: Any, points: np.ndarray, n_points: int, outputs: Any
    ) -> None:
        self.view, self.i, self.desk = view, i, desk
        self.outputs = list(outputs[:n_points])
        self.points = points[:, :n_points].copy()
        self.parts = [output_parts(view.data, i, self.outputs, k) for k in range(n_points)]
        self.sets = [frozenset(parts) for parts in self.parts]
        self.place = {parts: k for k, parts in enumerate(self.sets)}
        self.best = int(np.argmax(self.points[ORDER]))
        self.is_binary = bool(can_require(view.data))

    @property
    def top(self) -> float:
        """The rank of the best output known."""
        return float(self.points[ORDER, self.best])

    def run(self, tilt: float, max_branches: int) -> tuple[bool, float, float]:
        """Cut branches until the best output is known, or there are ``max_branches``.

        Returns whether the best output is known, and a point (h, g) whose psi no output exceeds.
        """
        whole = self.climb(frozenset(), frozenset(), tilt)
        if whole is None:
            raise ValueError(
                "maximize must return an output where nothing is forbidden or required, but for "
                f"sample {self.i} it returned None."
            )
        open_branches = [(-whole.order, 0, whole)]
        known: set[frozenset[Any]] = set()
        n_branches = 1
        while open_branches:
            _, _, branch = open_branches[0]
            if is_settled(self.view.surrogate, self.top, branch.h, branch.g):
                return True, branch.h, branch.g
            if n_branches >= max_branches:
                return False, branch.h, branch.g
            heapq.heappop(open_branches)
            for forbid, require in self.cut(branch):
                if not self.is_binary:
                    if forbid in known:
                        continue
                    known.add(forbid)
                part = self.climb(forbid, require, branch.tilt)
                n_branches += 1
                if part is not None and not is_settled(
                    self.view.surrogate, self.top, part.h, part.g
                ):
                    heapq.heappush(open_branches, (-part.order, n_branches, part))
        return True, float(self.points[H, self.best]), float(self.points[G, self.best])

    def cut(self, branch: Branch) -> list[tuple[frozenset[Any], frozenset[Any]]]:
        """Return the parts to forbid and to require in each branch that a branch is cut into."""
        left, right = branch.left, branch.right
        if self.is_binary:
            # Prefer a part of the end `right`; take one of `left` if `right` has none of its own.
            for a, b in ((right, left), (left, right)):
                for part in self.parts[a]:
                    if part not in self.sets[b]:
                        return [
                            (branch.forbid | {part}, branch.require),
                            (branch.forbid, branch.require | {part}),
                        ]
        end = left if self.points[ORDER, left] >= self.points[ORDER, right] else right
        return [(branch.forbid | {part}, branch.require) for part in self.parts[end]]

    def members(self, forbid: frozenset[Any], require: frozenset[Any]) -> list[int]:
        """Return the numbers of the outputs found so far that are in a branch."""
        return [k for k, own in enumerate(self.sets) if require <= own and forbid.isdisjoint(own)]

    def climb(self, forbid: frozenset[Any], require: frozenset[Any], tilt: float) -> Branch | None:
        """Find the largest psi on the hull of a branch; None where the branch has no output."""
        surrogate = self.view.surrogate
        chain = np.zeros(len(self.outputs) + 64, dtype=np.int64)
        n_chain = 0
        for k in self.members(forbid, require):
            n_chain = _length(insert_point(self.points, chain, n_chain, k), n_chain)
        centre, other = -1, -1
        if n_chain > 0:
            centre, other, tilt = aim(surrogate, self.points, chain, n_chain)
        while True:
            new = self.ask(forbid, require, tilt)
            if new < 0:
                return None
            if n_chain == len(chain) - 1:
                chain = np.concatenate([chain, np.zeros_like(chain)])
            grown = insert_point(self.points, chain, n_chain, new)
            n_chain = _length(grown, n_chain)
            if centre >= 0 and self.is_no_rise(centre, new, tilt, grown):
                break
            centre, other, tilt = aim(surrogate, self.points, chain, n_chain)
        h, g = self.points[H, centre], self.points[G, centre]
        if other >= 0:
            share = best_share(surrogate, self.points, centre, other)
            h += share * (self.points[H, other] - h)
            g += share * (self.points[G, other] - g)
        order = float(rank(surrogate, h, g))
        return Branch(forbid, require, float(h), float(g), order, centre, other, tilt)

    def is_no_rise(self, centre: int, new: int, tilt: float, grown: int) -> bool:
        """Tell whether output ``new``, the best at this tilt, is no higher than ``centre``."""
        values, scale = [], 0.0
        for k in (new, centre):
            h, g = self.points[H, k], self.points[G, k]
            values.append(g if tilt == math.inf else h + tilt * g)
            scale += abs(g) if tilt == math.inf else abs(h) + tilt * abs(g)
        return grown < 0 or values[0] - values[1] <= ROUNDING * scale

    def ask(self, forbid: frozenset[Any], require: frozenset[Any], tilt: float) -> int:
        """Return the number of an output of largest h + tilt * g in a branch; -1 if it is empty."""
        data, cost, i, theta = self.view.data, self.view.cost, self.i, self.desk.theta
        score_scale, cost_scale = (0.0, 1.0) if tilt == math.inf else (1.0, tilt)
        found: list[Any] = [None]
        is_there = maximize_within(
            data, cost, i, theta, self.desk.room, score_scale, cost_scale, forbid, require, found, 0
        )
        self.desk.calls[0] += 1
        if not is_there:
            return -1
        parts = output_parts(data, i, found, 0)
        own = frozenset(parts)
        if own in self.place:
            return self.place[own]
        error = margin_error(data, i, theta, found, 0)
        g = output_cost(data, cost, i, found, 0)
        point = np.array([[error], [g], [error], [rank(self.view.surrogate, error, g)]])
        self.points = np.hstack([self.points, point])
        self.outputs.append(found[0])
        self.parts.append(parts)
        self.sets.append(own)
        self.place[own] = len(self.sets) - 1
        if self.points[ORDER, -1] > self.top:
            self.best = len(self.outputs) - 1
        return len(self.outputs) - 1


def _length(grown: int, n_chain: int) -> int:
    """Return the number of corners after `insert_point` returned ``grown`` (-1: no change)."""
    return n_chain if grown < 0 else grown
