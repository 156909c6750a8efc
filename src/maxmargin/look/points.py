"""The outputs of one example as points (h, g): all of them, or a sample where they are too many."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import compiled, jitable
from maxmargin.core.contract import (
    capabilities,
    k_best,
    k_best_room,
    margin_error,
    maximize,
    output_cost,
    output_size,
    output_sizes,
    potentials,
    psi,
    shift,
    truths,
    workspace,
)
from maxmargin.core.problem import Problem
from maxmargin.structures import ChainData, MulticlassData, UserData
from maxmargin.structures.labels.data import PairwiseLabels, RelaxedLabels
from maxmargin.structures.user.boxes import Box

#: Outputs of a sample.
SAMPLE = 6000
#: Queries for the hull of outputs that are not listed.
MOST_CORNERS = 200
#: Fewer outputs than this are measured in Python: compiling would take longer.
FEW = 600


class Points(NamedTuple):
    """Outputs of one example.

    Attributes
    ----------
    h, g, psi : arrays of shape (n,)
        One entry per output that the constraints allow.
    hull : array of shape (k, 2)
        (h, g) of the corners of the upper right hull of all outputs, by rising g.
    truth : (h, g)
        Of the true output.
    n_outputs : int
        How many outputs there are (of a sample, those that constraints forbid included).
    is_complete : bool
        Whether all of them are here.
    """

    h: np.ndarray
    g: np.ndarray
    psi: np.ndarray
    hull: np.ndarray
    truth: tuple[float, float]
    n_outputs: int
    is_complete: bool


def label_points(problem: Problem, i: int, w: np.ndarray, max_outputs: int) -> Points:
    """Return the outputs of example i at w; a sample of them if there are more than max_outputs."""
    view = problem.view
    bench = _Bench(_proper(view.data), view.cost, i, w)
    rows, n_outputs = _listed(bench.data, i, max_outputs)
    is_complete = rows is not None
    if rows is None:
        corners = _climb_hull(bench)
        rows = _sample(bench, _alphabet(bench.data, i), corners, min(max_outputs, SAMPLE))
    h, g = bench.measure(rows)
    allowed = np.isfinite(h)
    h, g = h[allowed], g[allowed]
    (truth_h,), (truth_g,) = bench.measure(bench.truth[None])
    return Points(
        h,
        g,
        psi_of(view.surrogate, h, g),
        upper_right(h, g),
        (float(truth_h), float(truth_g)),
        len(h) if is_complete else n_outputs,
        is_complete,
    )


def psi_of(surrogate: Any, h: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return psi at many points."""
    values = np.zeros(h.shape)
    run = compiled(fill_psi) if isinstance(surrogate, tuple) else fill_psi
    run(surrogate, np.ravel(h).astype(float), np.ravel(g).astype(float), values.reshape(-1))
    return values


@jitable
def fill_psi(surrogate: Any, h: Any, g: Any, values: Any) -> None:
    """values[k] = psi(h[k], g[k])."""
    for k in range(h.shape[0]):
        values[k] = psi(surrogate, h[k], g[k])[0]


def upper_right(h: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return the corners (h, g) of the upper right hull of points, by rising g.

    Examples
    --------
    >>> upper_right(np.array([0.0, 1.0, -0.2, -1.0, -2.0]), np.array([0.0, 1.0, 1.5, 2.0, 1.0]))
    array([[ 1.,  1.],
           [-1.,  2.]])
    """
    corners: list[tuple[float, float]] = []
    order = np.lexsort((h, g))
    for x, y in zip(h[order].tolist(), g[order].tolist(), strict=True):
        while corners and corners[-1][0] <= x:
            corners.pop()
        while len(corners) > 1:
            (ah, ag), (bh, bg) = corners[-2:]
            if (bh - ah) * (y - ag) > (x - ah) * (bg - ag):
                break
            corners.pop()
        corners.append((x, y))
    return np.array(corners)


# -- which outputs there are ---------------------------------------------------------------------


def _proper(data: Any) -> Any:
    """Return data whose outputs are outputs proper, where those of training are fractional."""
    is_other = hasattr(data, "graph") and not isinstance(data, tuple)  # by integer programmes
    if isinstance(data, RelaxedLabels) or is_other:
        return PairwiseLabels(*(getattr(data, name) for name in PairwiseLabels._fields))
    return data


def _alphabet(data: Any, i: int) -> list[np.ndarray] | None:
    """Return the labels that each cell of an output may have; None if outputs are no such words."""
    if isinstance(data, MulticlassData):
        return [np.arange(data.n_labels)]
    if isinstance(data, ChainData):
        first, last = int(data.offsets[i]), int(data.offsets[i + 1])
        every = np.arange(data.layout.n_labels)
        if len(data.node_barrier) == 0:
            return [every] * (last - first)
        return [every[row == 0.0] for row in data.node_barrier[first:last]]
    if hasattr(data, "graph"):
        known = data.labels[i] >= 0
        return [np.arange(2) if is_known else np.array([-1]) for is_known in known]
    return None


def _listed(data: Any, i: int, max_outputs: int) -> tuple[np.ndarray | None, int]:
    """Return all outputs, one per row, and their number; None where they are more than allowed."""
    lister = getattr(data.structure, "outputs", None) if isinstance(data, UserData) else None
    if callable(lister):
        outputs = list(lister(data.X[i]))
        if len(outputs) > max_outputs:
            raise ValueError(
                f"The example has {len(outputs)} outputs, more than max_outputs={max_outputs}."
            )
        rows = np.empty((len(outputs), 1), dtype=object)
        rows[:, 0] = [Box(y) for y in outputs]
        return rows, len(outputs)
    alphabet = _alphabet(data, i)
    if alphabet is None:
        structure = getattr(data, "structure", data)
        raise ValueError(
            f"The outputs of {type(structure).__name__} cannot be listed. label_plane draws "
            "classes, sequences, label sets, and structures that have a method outputs(x)."
        )
    n_outputs = math.prod(map(len, alphabet))
    if n_outputs > max_outputs:
        return None, n_outputs
    number = np.arange(n_outputs)
    rows = np.empty((n_outputs, len(alphabet)), dtype=np.int32)
    for cell, labels in enumerate(alphabet):
        rows[:, cell] = labels[number % len(labels)]
        number //= len(labels)
    return rows, n_outputs


# -- measuring, and asking -----------------------------------------------------------------------


@jitable
def measure(data: Any, cost: Any, i: int, theta: Any, outputs: Any, h: Any, g: Any) -> None:
    """h[k], g[k] = margin error (with `shift`) and cost of output k."""
    size = output_size(data, i)
    for k in range(h.shape[0]):
        at = k * size
        h[k] = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
        g[k] = output_cost(data, cost, i, outputs, at)


class _Bench:
    """One example under the potentials at w."""

    def __init__(self, data: Any, cost: Any, i: int, w: np.ndarray) -> None:
        self.data, self.cost, self.i = data, cost, i
        self.theta, self.room = workspace(data)
        potentials(data, i, w, 1.0, self.theta)
        self.dtype = truths(data).dtype
        self.size = int(output_size(data, i))
        first = int(output_sizes(data)[:i].sum())
        self.truth = truths(data)[first : first + self.size]

    def measure(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return h and g of outputs, one per row."""
        h, g = np.zeros((2, len(rows)))
        is_compiled = isinstance(self.data, tuple) and isinstance(self.cost, tuple)
        run = compiled(measure) if is_compiled and len(rows) > FEW else measure
        run(self.data, self.cost, self.i, self.theta, rows.reshape(-1), h, g)
        return h, g

    def ask(self, score_scale: float, cost_scale: float) -> np.ndarray:
        """Return the output of largest score_scale * h + cost_scale * g, as a row."""
        y = np.zeros(self.size, dtype=self.dtype)
        maximize(self.data, self.cost, self.i, self.theta, self.room, score_scale, cost_scale, y, 0)
        return y

    def best(self, tilt: float, k: int) -> np.ndarray:
        """Return the k outputs of largest h + tilt * g, one per row."""
        y = np.zeros(k * self.size, dtype=self.dtype)
        own = k_best_room(self.data, self.cost, k)
        found = k_best(self.data, self.cost, self.i, self.theta, self.room, 1.0, tilt, k, own, y, 0)
        return y.reshape(k, self.size)[:found]


def _climb_hull(bench: _Bench) -> list[tuple[np.ndarray, float]]:
    """Return outputs at the corners of the upper right hull, each with a tilt that finds it."""
    ends = [bench.ask(1.0, 0.0), bench.ask(0.0, 1.0)]
    h, g = bench.measure(np.array(ends))
    corners = [(ends[0], 0.0)]
    edges = [(h[0], g[0], h[1], g[1])]
    while edges and len(corners) < MOST_CORNERS:
        ah, ag, bh, bg = edges.pop()
        if not (bg > ag and ah > bh):
            continue
        tilt = (ah - bh) / (bg - ag)
        y = bench.ask(1.0, tilt)
        (ch,), (cg,) = bench.measure(y[None])
        corners.append((y, tilt))
        size = abs(ah) + tilt * abs(ag)
        if ch + tilt * cg > ah + tilt * ag + 1e-9 * size:
            edges += [(ah, ag, ch, cg), (ch, cg, bh, bg)]
    return [*corners, (ends[1], corners[-1][1])]


def _sample(
    bench: _Bench, alphabet: list[np.ndarray] | None, corners: list[Any], n_outputs: int
) -> np.ndarray:
    """Return the outputs at the corners, the k best at each one's tilt, and neighbours of these."""
    rows = [bench.truth[None], *(y[None] for y, _ in corners)]
    if "k_best" in capabilities(bench.data, bench.cost):
        tilts = np.unique([tilt for _, tilt in corners])
        k = max(2, n_outputs // (3 * len(tilts)))
        rows += [bench.best(tilt, k) for tilt in tilts]
    kept = np.unique(np.concatenate(rows), axis=0)
    if alphabet is not None:
        rng = np.random.default_rng(0)
        # Of one wrong label more than of two, of two more than of three.
        moved = kept[rng.integers(len(kept), size=n_outputs)]
        changes = rng.geometric(0.4, size=n_outputs)
        for turn in range(int(changes.max(initial=0))):
            cells = rng.integers(bench.size, size=n_outputs)
            for k in np.flatnonzero(changes > turn).tolist():
                moved[k, cells[k]] = rng.choice(alphabet[cells[k]])
        kept = np.unique(np.concatenate([kept, moved]), axis=0)
    return kept
