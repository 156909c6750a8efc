"""The contract of a cost, checked on small cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from maxmargin.core.contract import TrueParts, largest_costs, output_cost, switches, true_parts
from maxmargin.costs import PRICED, Cost, F1Cost, PartCost, SetEdgeCost, SwitchCost, WholeCost
from maxmargin.costs.ranking.base import RankingBase
from maxmargin.inference.hierarchy.shape import hierarchy_shape
from maxmargin.structures import (
    StackedGraphs,
    chain_data,
    chain_layout,
    forest_data,
    labels_data,
    multiclass_data,
    node_sets_data,
    paths_data,
    stacked_graphs,
)
from maxmargin.structures.hierarchy.sets import write_difference
from maxmargin.testing._require import require, require_parameters
from maxmargin.testing.enumerate import labellings, node_sets

LENGTHS = np.array([1, 2, 3, 2])

#: The shapes of tables of n examples and k names.
SHAPES: dict[type, Callable[[int, int], dict[str, tuple[int, ...]]]] = {
    PartCost: lambda n, k: {"matrix": (k, k), "scale": (n,)},
    WholeCost: lambda n, k: {"price": (n,)},
    SwitchCost: lambda n, k: {"price": (k, 2), "scale": (n,)},
    F1Cost: lambda n, k: {"price": (n,)},
    SetEdgeCost: lambda n, k: {"scale": (n,), "root": (k,)},
}


def check_cost(
    cost: Cost,
    classes: Sequence[Any] = (0, 1, 2),
    *,
    expected: Callable[[list[Any], list[Any]], float] | None = None,
    seed: int = 0,
) -> None:
    """Check a cost against the contract of `maxmargin.costs.Cost`, for every kind that it prices.

    Its tables are finite, >= 0 and zero at the truth; the tables of an example do not depend on the
    other examples; structures can read them; parameters make an equal cost. Other kinds of parts
    are refused by name.

    Parameters
    ----------
    cost : Cost
    classes : labels that it fits, at most 5
    expected : callable (labels, true labels) -> float, or None
        What the cost of a sequence should be, written down independently.
    seed : of the true labels that are drawn

    Raises
    ------
    AssertionError
        That says what does not hold, and where.

    Examples
    --------
    >>> from maxmargin.costs import Hamming
    >>> check_cost(Hamming(), expected=lambda y, truth: sum(a != b for a, b in zip(y, truth)))
    """
    name = type(cost).__name__
    known = np.asarray(classes)
    require_parameters(cost)
    rng = np.random.default_rng(seed)
    checks = {
        "positions": _check_positions,
        "vertices": _check_vertices,
        "switches": _check_switches,
        "places": _check_places,
        "paths": _check_paths,
        "nodes": _check_nodes,
    }
    require(any(map(cost.prices, PRICED)), f"{name} prices nothing: it has no method of any kind.")
    for kind, check in checks.items():
        if cost.prices(kind):
            check(name, cost, known, expected, rng)
        else:
            _check_refused(name, cost, kind, known)


def _check_refused(name: str, cost: Cost, kind: str, names: np.ndarray) -> None:
    try:
        cost.tabulate(kind, names, np.ones((1, 2), dtype=np.int64))
    except ValueError as error:
        said = str(error)
        require(
            name in said and "Costs that fit" in said,
            f"{name}.tabulate must name itself and what fits where it refuses {kind}; got: {said}",
        )
    else:
        raise AssertionError(f"{name}.prices({kind!r}) is False, but tabulate gives tables.")


# -- sequences -----------------------------------------------------------------------------------


def _check_positions(
    name: str, cost: Any, known: np.ndarray, expected: Any, rng: np.random.Generator
) -> None:
    tables = cost.tabulate("positions", known, LENGTHS)
    _check_tables(name, tables, len(known), len(LENGTHS), (PartCost, WholeCost))
    _check_examples_apart(name, cost, "positions", known, LENGTHS)
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    truth = rng.integers(len(known), size=offsets[-1]).astype(np.int32)
    chain = chain_data(
        np.zeros((len(truth), 1)), offsets, truth, chain_layout(1, len(known), end=False)
    )
    bounds = largest_costs(tables, LENGTHS, truth)
    for i, length in enumerate(LENGTHS):
        own = truth[offsets[i] : offsets[i + 1]]
        # A class is a sequence of one label.
        single = multiclass_data(np.zeros((i + 1, 1)), np.full(i + 1, own[0]), len(known))
        largest = 0.0
        for y in labellings(int(length), len(known)):
            price = output_cost(chain, tables, i, y, 0)
            _check_price(f"{name} of {y.tolist()} where {own.tolist()} is right", price, y, own)
            largest = max(largest, price)
            if length == 1:
                alone = output_cost(single, tables, i, y, 0)
                require(
                    alone == price,
                    f"{name}: label {y[0]} for {own[0]} costs {price:g} in a sequence of one but "
                    f"{alone:g} as a class.",
                )
            if expected is not None:
                wanted = float(expected(known[y].tolist(), known[own].tolist()))
                require(
                    abs(price - wanted) <= 1e-12 * (1.0 + abs(wanted)),
                    f"{name}: {known[y].tolist()} where {known[own].tolist()} is right costs "
                    f"{price:g}, expected {wanted:g}.",
                )
            _check_found(name, cost, TrueParts("positions", LENGTHS, truth), known, i, y, price)
        _check_largest(name, own, bounds[i], largest if len(known) > 1 else bounds[i])


# -- graphs --------------------------------------------------------------------------------------


def _graphs(sizes: Sequence[int], edges: Sequence[Any], truth: np.ndarray, n_labels: int) -> Any:
    at = np.concatenate([[0], np.cumsum(sizes)])
    edge_at = np.concatenate([[0], np.cumsum([len(own) for own in edges])])
    pairs = np.array([pair for own in edges for pair in own], dtype=np.int64).reshape(-1, 2)
    stack = StackedGraphs(np.zeros((len(truth), 1)), at, pairs, edge_at)
    return forest_data(stacked_graphs(stack, truth, n_labels))


def _check_vertices(
    name: str, cost: Any, known: np.ndarray, expected: Any, rng: np.random.Generator
) -> None:
    sizes, edges = [1, 3, 2, 3], [[], [(0, 1), (1, 2)], [(1, 0)], [(2, 0)]]
    at = np.concatenate([[0], np.cumsum(sizes)])
    truth = rng.integers(len(known), size=at[-1]).astype(np.int32)
    data = _graphs(sizes, edges, truth, len(known))
    parts = true_parts(data)
    tables = cost.tabulate_parts(parts, known)
    bounds = largest_costs(tables, parts.lengths, parts.states)
    for i, size in enumerate(sizes):
        own = truth[at[i] : at[i + 1]]
        alone = _graphs([size], [edges[i]], own, len(known))
        own_tables = cost.tabulate_parts(true_parts(alone), known)
        for y in labellings(size, len(known)):
            what = f"{name} of {y.tolist()} at the edges {edges[i]} where {own.tolist()} is right"
            price = output_cost(data, tables, i, y, 0)
            _check_price(what, price, y, own)
            require(
                price <= bounds[i] * (1.0 + 1e-12),
                f"{what} is {price:g}, above the {bounds[i]:g} of largest_costs.",
            )
            require(
                output_cost(alone, own_tables, 0, y, 0) == price,
                f"{what} is another among other examples; a cost must not depend on them.",
            )
            _check_found(name, cost, parts, known, i, y, price)


# -- label sets ----------------------------------------------------------------------------------


def _check_switches(
    name: str, cost: Any, known: np.ndarray, expected: Any, rng: np.random.Generator
) -> None:
    m = len(known)
    truth = rng.integers(2, size=(4, m)).astype(np.int32)
    truth[np.arange(4), np.arange(4) % m] = 1  # some costs take no empty set
    if m > 1:
        truth[3, (3 + 1) % m] = -1
    parts = switches(truth)
    tables = cost.tabulate("switches", known, parts.sizes)
    _check_tables(name, tables, m, 4, (SwitchCost, F1Cost, WholeCost))
    _check_examples_apart(name, cost, "switches", known, parts.sizes)
    sets = labels_data(np.zeros((4, 1)), truth)
    bounds = largest_costs(tables, parts.lengths, parts.states)
    for i, own in enumerate(truth):
        largest = 0.0
        for labelling in labellings(m, 2):
            y = np.where(own >= 0, labelling, -1).astype(np.int32)
            price = output_cost(sets, tables, i, y, 0)
            _check_price(f"{name} of {y.tolist()} where {own.tolist()} is right", price, y, own)
            largest = max(largest, price)
            _check_found(name, cost, parts, known, i, labelling, price)
        _check_largest(name, own, bounds[i], largest)


# -- rankings ------------------------------------------------------------------------------------


def _check_places(
    name: str, cost: Any, known: np.ndarray, expected: Any, rng: np.random.Generator
) -> None:
    require(
        isinstance(cost, RankingBase),
        f"{name} prices places, so it must be a subclass of RankingBase.",
    )
    for n in (2, 4, 6):
        relevant = rng.permutation(np.arange(n) % 2)
        best = np.argsort(-relevant, kind="stable")
        price = cost.value(relevant, best)
        require(price == 0.0, f"{name}: the best ranking of {relevant} must cost 0, got {price!r}.")
        price = cost.value(relevant, best[::-1])
        require(
            np.isfinite(price) and price >= 0.0,
            f"{name}: a ranking must cost a number >= 0, got {price!r}.",
        )


# -- hierarchies ---------------------------------------------------------------------------------


def _check_paths(
    name: str, cost: Any, known: np.ndarray, expected: Any, rng: np.random.Generator
) -> None:
    """Label k stands for node k + 1, below the root or the label before it."""
    k = len(known)
    shape = hierarchy_shape(k + 1, 1 + np.arange(k), rng.integers(1 + np.arange(k)))
    truth = np.arange(4) % k
    data = paths_data(np.zeros((4, 1)), truth, shape, 1 + np.arange(k), alpha=rng.random(k + 1))
    parts = true_parts(data)
    tables = cost.tabulate("paths", known, parts.sizes, parts.hierarchy)
    _check_tables(name, tables, k, 4, (PartCost, WholeCost))
    bounds = largest_costs(tables, parts.lengths, parts.states)
    for i in range(4):
        prices = []
        for y in labellings(1, k):
            prices.append(output_cost(data, tables, i, y, 0))
            what = f"{name} of label {y[0]} where {truth[i]} is right"
            _check_price(what, prices[-1], y, truth[i : i + 1])
            _check_found(name, cost, parts, known, i, y, prices[-1])
        _check_largest(name, truth[i : i + 1], bounds[i], max(prices) if k > 1 else bounds[i])


def _check_nodes(
    name: str, cost: Any, known: np.ndarray, expected: Any, rng: np.random.Generator
) -> None:
    """Every node but the first is below one before it."""
    m = len(known)
    shape = hierarchy_shape(m, np.arange(1, m), rng.integers(np.arange(1, m)))
    sets = node_sets(shape, "closed")
    truth = rng.choice(sets[sets.any(axis=1)], size=4)
    data = node_sets_data(np.zeros((4, 1)), truth, shape, alpha=rng.random(m))
    parts = true_parts(data)
    tables = cost.tabulate("nodes", known, parts.sizes, parts.hierarchy)
    _check_tables(name, tables, m, 4, (SwitchCost, SetEdgeCost, WholeCost))
    cells = np.zeros(m + 1, dtype=np.int32)
    bounds = largest_costs(tables, parts.lengths, parts.states)
    for i, own in enumerate(truth):
        for y in sets:
            write_difference(data, i, y, cells, 0)
            price = output_cost(data, tables, i, cells, 0)
            _check_price(f"{name} of {y.tolist()} where {own.tolist()} is right", price, y, own)
            _check_found(name, cost, parts, known, i, y, price)
            require(
                price <= bounds[i] * (1.0 + 1e-12),
                f"{name}: largest_costs says {bounds[i]:g} where {own.tolist()} is right, but "
                f"{y.tolist()} costs {price:g}.",
            )


# -- all kinds -----------------------------------------------------------------------------------


def _check_price(what: str, price: float, y: np.ndarray, truth: np.ndarray) -> None:
    require(np.isfinite(price) and price >= 0.0, f"{what} must be finite and >= 0, got {price!r}.")
    if (y == truth).all():
        require(price == 0.0, f"{what} must be 0, got {price!r}: it is the right output.")


def _check_largest(name: str, truth: np.ndarray, bound: float, largest: float) -> None:
    require(
        abs(bound - largest) <= 1e-12 * (1.0 + largest),
        f"{name}: largest_costs says {bound:g} where {truth.tolist()} is right, but the largest "
        f"over all outputs is {largest:g}.",
    )


def _check_found(
    name: str, cost: Cost, parts: TrueParts, names: np.ndarray, i: int, y: np.ndarray, price: float
) -> None:
    """Compare the cost of all examples at once with that of one, where the others are right."""
    found = np.array(parts.states)
    end = int(np.cumsum(parts.lengths)[i])
    found[end - int(parts.lengths[i]) : end] = y
    costs, _ = cost.costs_of(parts, names, found)
    wanted = np.where(np.arange(len(costs)) == i, price, 0.0)
    require(
        np.allclose(costs, wanted, rtol=1e-12, atol=1e-12),
        f"{name}.costs_of says {costs.tolist()} where example {i} is {y.tolist()} and the others "
        f"are right, but it costs {price:g}.",
    )


def _check_tables(
    name: str, tables: Any, n_names: int, n_examples: int, kinds: tuple[type, ...]
) -> None:
    if not isinstance(tables, kinds):
        names = [kind.__name__ for kind in kinds]
        raise AssertionError(
            f"{name}.tabulate must return a {' or a '.join(names)}, got {type(tables).__name__}."
        )
    for field, shape in SHAPES[type(tables)](n_examples, n_names).items():
        array = getattr(tables, field)
        require(
            isinstance(array, np.ndarray) and array.shape == shape and array.dtype == np.float64,
            f"{name}.tabulate: {field} must be a float64 array of shape {shape}, got {array!r}.",
        )
        require(
            np.isfinite(array).all() and (array >= 0.0).all(),
            f"{name}.tabulate: every entry of {field} must be finite and >= 0, got "
            f"{array.tolist()}.",
        )
    if isinstance(tables, PartCost):
        require(
            not np.diag(tables.matrix).any(),
            f"{name}.tabulate: the diagonal of matrix must be 0, got {np.diag(tables.matrix)}.",
        )


def _check_examples_apart(
    name: str, cost: Cost, kind: str, names: np.ndarray, sizes: np.ndarray
) -> None:
    tables = cost.tabulate(kind, names, sizes)
    for i in range(len(sizes)):
        alone = cost.tabulate(kind, names, sizes[i : i + 1])
        here, there = (t.scale if hasattr(t, "scale") else t.price for t in (alone, tables))
        require(
            here[0] == there[i],
            f"{name}.tabulate: example {i} has {there[i]:g} among others but {here[0]:g} alone; a "
            "cost must not depend on other examples.",
        )
