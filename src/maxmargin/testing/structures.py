"""The contract of a structure, checked against the list of all its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    add_difference,
    add_differences,
    capabilities,
    difference_potentials,
    has,
    kernel_use,
    make_ready,
    margin_error,
    maximize,
    n_weights,
    norm_of,
    output_cost,
    output_size,
    output_sizes,
    potentials,
    times_metric,
    truth_sizes,
    truths,
    workspace,
)
from maxmargin.core.outputs import is_same_output
from maxmargin.core.problem import Problem
from maxmargin.search.direct import Direct
from maxmargin.solvers import BlockFrankWolfe
from maxmargin.structures import OwnCost, UserData
from maxmargin.structures.user.boxes import same
from maxmargin.structures.user.scored import ScoredData, checked_rows, is_scored, rows_of
from maxmargin.structures.user.structure import predict_one
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing._require import require
from maxmargin.testing.listed import check_listed
from maxmargin.testing.oracles import check_oracles
from maxmargin.testing.outputs import OutputSource, all_outputs
from maxmargin.testing.parts import check_parts

DIRECT = Direct(1.0, 1.0)

# Tolerance relative to what is summed: far above rounding, far below a mistake.
TOLERANCE = 1e-9
SCALES = ((1.0, 0.0), (1.0, 1.0), (0.3, 2.0), (0.0, 1.0), (0.0, 0.0))


class _Case(NamedTuple):
    """One example with all its outputs."""

    data: Any
    cost: Any
    i: int
    outputs: np.ndarray  # (n_outputs, n_cells)
    differences: np.ndarray  # (n_outputs, n_weights): R^-1 Psi_i(y), R the norm of the data
    costs: np.ndarray  # (n_outputs,)
    norm: Any
    theta: Any
    room: Any

    def name(self, k: int) -> str:
        """Return how errors call output k."""
        cells = self.outputs[k]
        y = cells[0].value if cells.dtype == object else cells.tolist()
        return f"output {y!r} of example {self.i}"

    def errors(self) -> np.ndarray:
        """Return the margin errors of all outputs under theta."""
        h = [margin_error(self.data, self.i, self.theta, y, 0) for y in self.outputs]
        return np.array(h, dtype=np.float64)

    def expected(self, w: np.ndarray) -> np.ndarray:
        """Return the margin errors at w, by `add_difference`."""
        return -(self.differences @ times_metric(self.norm, w))

    def is_same(self, left: np.ndarray, right: np.ndarray) -> bool:
        """Tell whether two outputs are equal."""
        return bool(is_same_output(self.data, self.i, left, 0, right, 0))

    def rounding(self, w: np.ndarray) -> float:
        """Return how far rounding can move a margin error at w."""
        size = float(np.abs(times_metric(self.norm, w)).sum())
        return TOLERANCE * size * (1.0 + np.abs(self.differences).max(initial=0))


def check_structure(
    structure: Any,
    X: Sequence[Any] | None = None,
    Y: Sequence[Any] | None = None,
    *,
    cost: Any = None,
    outputs: OutputSource | None = None,
    max_examples: int = 5,
    compile: bool = True,
    seed: int = 0,
) -> None:
    """Check a structure against its contract, on examples whose outputs can all be listed.

    The best output is the best of the list, for several scales of score and cost; margin errors are
    linear in w, and zero at the truth; they, `add_difference` and `difference_potentials` tell of
    the same joint features; where outputs have parts, score and joint features are linear in them,
    and what overrides a default made of parts does the same; the cost is >= 0, and 0 at the truth;
    nothing is changed that should not be; where there are functions on lists of outputs they agree
    with those on single ones; the oracles that a structure in plain Python has besides are right
    (`check_oracles`); compiled code gives the numbers that Python gives.

    Parameters
    ----------
    structure : object or NamedTuple
        A structure in plain Python (see `maxmargin.structures.Structure`), with `X` and `Y`; or
        data for whose type the functions of `maxmargin.core.contract` are implemented, with `cost`.
    X, Y : a few small examples, for a structure in plain Python
    cost : PartCost, WholeCost or a NamedTuple of your own
        For data: the second argument of `maximize` and `output_cost`.
    outputs : callable or sequence, or None
        ``outputs(i)`` or ``outputs[i]`` lists all outputs of example i. None asks the structure for
        its method ``outputs(x)``, which only this check needs, and knows those of classes and
        chains.
    max_examples : int
        Only the first so many examples are looked at.
    compile : bool
        False leaves out the comparison of compiled code with Python.
    seed : int
        Of the weights that are drawn.

    Raises
    ------
    AssertionError
        That says what does not hold, and for which output of which example.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.testing.tiny import Agreement
    >>> check_structure(Agreement(n_classes=3, n_columns=2), np.eye(2), [0, 2])

    >>> class Timid(Agreement):
    ...     def maximize(self, x, w, y_true, score_scale, cost_scale):
    ...         return 0
    >>> check_structure(Timid(n_classes=3, n_columns=2), np.eye(2), [0, 2])
    Traceback (most recent call last):
    AssertionError: maximize gave output 0 of example 0, worth 0 at score_scale=1, ...
    """
    data, cost = _as_data(structure, X, Y, cost)
    sizes = _check_sizes(data)
    rng = np.random.default_rng(seed)
    use = kernel_use(data)
    if use is not None:
        make_ready(use.features, np.arange(len(use.features.diagonal)))
    for i in range(min(len(sizes), max_examples)):
        case = _list_case(data, cost, i, outputs)
        weights = _weights(int(n_weights(data)), rng)
        for w in weights:
            _check_errors(case, w)
            for scales in SCALES:
                _check_maximize(case, w, *scales)
        _check_gram(case)
        if "parts" in capabilities(data, cost):
            check_parts(case, weights, TOLERANCE)
        if "listed" in capabilities(data, cost):
            check_listed(case, weights, TOLERANCE)
        if isinstance(data, UserData):
            _check_prediction(case, rng)
    if isinstance(data, UserData) and not isinstance(data, ScoredData):
        check_oracles(data, cost, outputs, seed, max_examples)
    if compile and isinstance(data, tuple) and isinstance(cost, tuple):
        _check_compiled(data, cost, len(sizes), rng)


def _as_data(structure: Any, X: Any, Y: Any, cost: Any) -> tuple[Any, Any]:
    if isinstance(structure, tuple) or has(n_weights, type(structure)):
        own = isinstance(structure, UserData)
        if cost is None and not own:
            raise TypeError("cost must be given with data: what maximize and output_cost take.")
        return structure, OwnCost() if own else cost
    if X is None or Y is None:
        raise TypeError("X and Y must be given with a structure in plain Python.")
    if is_scored(structure):
        rows, row_at = rows_of(structure, X)
        return ScoredData(structure, X, Y, checked_rows(rows), row_at), OwnCost()
    return UserData(structure, X, Y), OwnCost()


def _weights(size: int, rng: np.random.Generator) -> list[np.ndarray]:
    draws = [rng.normal(size=size) for _ in range(3)]
    # Weights 0: all scores are equal. Large weights: costs hardly count. Small ones: only costs do.
    return [np.zeros(size), *draws, 1e6 * draws[0], 1e-6 * draws[1]]


def _check_sizes(data: Any) -> np.ndarray:
    sizes, cells = np.asarray(output_sizes(data)), truths(data)
    n_cells = np.asarray(truth_sizes(data)).sum()
    require(
        len(cells) == n_cells,
        f"truths has {len(cells)} cells but truth_sizes adds up to {n_cells}.",
    )
    for i, size in enumerate(sizes):
        require(
            output_size(data, i) == size,
            f"output_size of example {i} is {output_size(data, i)} but output_sizes says {size}.",
        )
    return sizes


def _list_case(data: Any, cost: Any, i: int, source: OutputSource | None) -> _Case:
    outputs = all_outputs(data, i, source)
    sizes = np.asarray(output_sizes(data))
    require(
        outputs.shape[1] == sizes[i],
        f"The listed outputs of example {i} have {outputs.shape[1]} cells, not {sizes[i]}.",
    )
    first = int(np.asarray(truth_sizes(data))[:i].sum())
    differences = np.zeros((len(outputs), int(n_weights(data))))
    costs = np.zeros(len(outputs))
    for k, y in enumerate(outputs):
        add_difference(data, i, y, 0, 1.0, differences[k])
        costs[k] = output_cost(data, cost, i, y, 0)
    case = _Case(data, cost, i, outputs, differences, costs, norm_of(data), *workspace(data))
    right = np.flatnonzero([is_same_output(data, i, y, 0, truths(data), first) for y in outputs])
    require(len(right) > 0, f"The true output of example {i} is not among those listed.")
    require(
        not differences[right].any(),
        f"add_difference adds something for the true output of example {i}.",
    )
    require(
        not costs[right].any(), f"The cost of the true output of example {i} is {costs[right][0]}."
    )
    for k in range(len(outputs)):
        require(
            np.isfinite(costs[k]) and costs[k] >= 0.0,
            f"The cost of {case.name(k)} must be finite and >= 0, got {costs[k]}.",
        )
    _check_scaled_difference(case)
    _check_sums_of_differences(case)
    return case


def _check_scaled_difference(case: _Case) -> None:
    slack = TOLERANCE * (1.0 + np.abs(case.differences).max(initial=0.0))
    for k, y in enumerate(case.outputs):
        w = np.ones(case.differences.shape[1])
        add_difference(case.data, case.i, y, 0, -2.5, w)
        expected = 1.0 - 2.5 * case.differences[k]
        require(
            np.allclose(w, expected, rtol=0.0, atol=slack),
            f"add_difference with scale -2.5 must add -2.5 times what it adds with scale 1; it "
            f"does not for {case.name(k)}.",
        )


def _check_sums_of_differences(case: _Case) -> None:
    """Check `add_differences` of three neighbours in the list, the first of them given twice."""
    slack = TOLERANCE * (1.0 + np.abs(case.differences).max(initial=0.0))
    size = case.outputs.shape[1]
    scales = np.array([1.0, -0.75, -0.25, 0.5])
    for k in range(len(case.outputs)):
        chosen = np.arange(k, k + 4) % len(case.outputs)
        chosen[3] = k
        cells, places = case.outputs[chosen].reshape(-1), np.arange(4) * size
        for n_outputs in range(5):
            w = np.ones(case.differences.shape[1])
            add_differences(case.data, case.i, cells, places, scales, n_outputs, w)
            expected = 1.0 + scales[:n_outputs] @ case.differences[chosen[:n_outputs]]
            require(
                np.allclose(w, expected, rtol=0.0, atol=slack),
                f"add_differences of {n_outputs} outputs, from {case.name(k)} on, must add what "
                "add_difference adds for each of them.",
            )


def _check_errors(case: _Case, w: np.ndarray) -> None:
    given = w.copy()
    for scale in (1.0, 2.5):
        potentials(case.data, case.i, w, scale, case.theta)
        h = case.errors()
        expected = scale * case.expected(w)
        k = int(np.argmax(np.abs(h - expected)))
        require(
            abs(h[k] - expected[k]) <= scale * case.rounding(w),
            f"margin_error of {case.name(k)} is {h[k]:.10g}, but by add_difference it is "
            f"{expected[k]:.10g} (potentials at {scale:g} w).",
        )
    require((w == given).all(), f"potentials or margin_error changed w at example {case.i}.")


def _check_gram(case: _Case) -> None:
    spare = np.zeros(case.differences.shape[1])
    # Compare some outputs with all: all pairs would be slow, and would find no more mistakes.
    step = max(1, len(case.outputs) // 10)
    for k in range(0, len(case.outputs), step):
        difference_potentials(case.data, case.i, case.outputs[k], 0, spare, case.theta)
        products = -case.errors()
        expected = -case.expected(case.differences[k])
        other = int(np.argmax(np.abs(products - expected)))
        require(
            abs(products[other] - expected[other]) <= case.rounding(case.differences[k]),
            f"Under difference_potentials of {case.name(k)}, margin_error of {case.name(other)} is "
            f"{-products[other]:.10g}, but by add_difference it is {-expected[other]:.10g}.",
        )


def _check_maximize(case: _Case, w: np.ndarray, score_scale: float, cost_scale: float) -> None:
    size = case.outputs.shape[1]
    potentials(case.data, case.i, w, 1.0, case.theta)
    # Ask twice, the second time at another place of a larger array: other cells must not change.
    cells = np.full(2 * size + 2, -7, dtype=case.outputs.dtype)
    for at in (0, size + 1):
        maximize(
            case.data, case.cost, case.i, case.theta, case.room, score_scale, cost_scale, cells, at
        )
    require(
        cells[size] == -7 and cells[-1] == -7,
        f"maximize wrote beyond the {size} cells of an output of example {case.i}.",
    )
    found, again = cells[:size], cells[size + 1 : -1]
    places = [k for k, y in enumerate(case.outputs) if case.is_same(y, found)]
    settings = f"score_scale={score_scale:g}, cost_scale={cost_scale:g}"
    require(
        len(places) > 0,
        f"maximize gave {found.tolist()!r} for example {case.i}, which is no listed output.",
    )
    require(
        case.is_same(found, again),
        f"maximize gave {found.tolist()!r} and then {again.tolist()!r} for example {case.i} at the "
        f"same {settings}.",
    )
    values = score_scale * case.expected(w) + cost_scale * case.costs
    best = int(np.argmax(values))
    # Where scores do not count, an oracle may let them break ties by a tiny weight.
    slack = (score_scale + 1.0) * case.rounding(w) + TOLERANCE * cost_scale * case.costs.max()
    require(
        values[places[0]] >= values[best] - slack,
        f"maximize gave {case.name(places[0])}, worth {values[places[0]]:.10g} at {settings}, but "
        f"{case.name(best)} is worth {values[best]:.10g}.",
    )


def _check_prediction(case: _Case, rng: np.random.Generator) -> None:
    """Check prediction in plain Python: there is no true output, and earlier answers stay."""
    structure, x = case.data.structure, case.data.X[case.i]
    w, other = rng.normal(size=(2, case.data.n_weights))
    potentials(case.data, case.i, w, 1.0, case.theta)
    y = predict_one(structure, x, case.theta.w, case.i)
    kept = deepcopy(y)
    scores = case.expected(w)
    places = [k for k, row in enumerate(case.outputs) if same(row[0].value, y)]
    require(
        len(places) > 0 and scores[places[0]] >= scores.max() - case.rounding(w),
        f"maximize without a true output gave {y!r} for example {case.i}, which is not the best; "
        f"that is {case.name(int(np.argmax(scores)))}.",
    )
    potentials(case.data, case.i, other, 1.0, case.theta)
    predict_one(structure, x, case.theta.w, case.i)
    require(
        same(y, kept),
        f"maximize changed the output that it had returned before for example {case.i}: return a "
        "new object each time.",
    )


def _check_compiled(data: Any, cost: Any, n_examples: int, rng: np.random.Generator) -> None:
    from numba.core.errors import NumbaError

    solver = BlockFrankWolfe()
    point = rng.normal(size=int(n_weights(data)))
    found = []
    for compile in (False, True):
        psi = MarginRescaling().compiled()
        problem = Problem(data, cost, psi, n_examples, lam=0.1, compile=compile, search=DIRECT)
        try:
            state = solver.start(problem)
            order = np.random.default_rng(0)
            for _ in range(2):
                solver.advance(problem, state, order)
            found.append((problem.losses(point)[0], state.w))
        except NumbaError as error:
            raise AssertionError(
                f"{type(data).__name__} with {type(cost).__name__} does not compile: {error}"
            ) from error
    for what, plain, fast in zip(("loss", "weight"), *found, strict=True):
        k = int(np.argmax(np.abs(plain - fast))) if len(plain) else 0
        require(
            np.allclose(plain, fast, rtol=1e-9, atol=1e-9),
            f"{what} {k} is {plain[k] if len(plain) else 0} in Python but "
            f"{fast[k] if len(fast) else 0} compiled.",
        )
