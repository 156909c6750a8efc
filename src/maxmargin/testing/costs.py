"""The contract of a cost, checked on small cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from maxmargin.core.contract import output_cost
from maxmargin.costs import Cost, PartCost, WholeCost, largest_cost
from maxmargin.structures import chain_data, chain_layout, multiclass_data
from maxmargin.testing._require import require, require_parameters
from maxmargin.testing.enumerate import labellings

LENGTHS = np.array([1, 2, 3, 2])


def check_cost(
    cost: Cost,
    classes: Sequence[Any] = (0, 1, 2),
    *,
    expected: Callable[[list[Any], list[Any]], float] | None = None,
    seed: int = 0,
) -> None:
    """Check a cost against the contract of `maxmargin.costs.Cost`.

    Its tables are finite, >= 0, zero at the truth, one for every example whatever the other
    examples; classes and chains read them as they are; parameters make an equal cost.

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
    tables = cost.tables(known, LENGTHS)
    _check_tables(name, tables, len(known), len(LENGTHS))
    _check_examples_apart(name, cost, known, tables)
    require_parameters(cost)
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    truth = rng.integers(len(known), size=offsets[-1]).astype(np.int32)
    chain = chain_data(
        np.zeros((len(truth), 1)), offsets, truth, chain_layout(1, len(known), end=False)
    )
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
        bound = largest_cost(tables, own, i)
        require(
            len(known) == 1 or abs(bound - largest) <= 1e-12 * (1.0 + largest),
            f"{name}: largest_cost says {bound:g} where {own.tolist()} is right, but the largest "
            f"over all labellings is {largest:g}.",
        )


def _check_price(what: str, price: float, y: np.ndarray, truth: np.ndarray) -> None:
    require(np.isfinite(price) and price >= 0.0, f"{what} must be finite and >= 0, got {price!r}.")
    if (y == truth).all():
        require(price == 0.0, f"{what} must be 0, got {price!r}: it is the right output.")


def _check_tables(name: str, tables: Any, n_labels: int, n_examples: int) -> None:
    if isinstance(tables, PartCost):
        shapes = {"matrix": (n_labels, n_labels), "scale": (n_examples,)}
    elif isinstance(tables, WholeCost):
        shapes = {"price": (n_examples,)}
    else:
        raise AssertionError(
            f"{name}.tables must return a PartCost or a WholeCost, got {type(tables).__name__}."
        )
    for field, shape in shapes.items():
        array = getattr(tables, field)
        require(
            isinstance(array, np.ndarray) and array.shape == shape and array.dtype == np.float64,
            f"{name}.tables: {field} must be a float64 array of shape {shape}, got {array!r}.",
        )
        require(
            np.isfinite(array).all() and (array >= 0.0).all(),
            f"{name}.tables: every entry of {field} must be finite and >= 0, got {array.tolist()}.",
        )
    if isinstance(tables, PartCost):
        require(
            not np.diag(tables.matrix).any(),
            f"{name}.tables: the diagonal of matrix must be 0, got {np.diag(tables.matrix)}.",
        )


def _check_examples_apart(name: str, cost: Cost, classes: np.ndarray, tables: Any) -> None:
    for i in range(len(LENGTHS)):
        alone = cost.tables(classes, LENGTHS[i : i + 1])
        here, there = (t.scale if isinstance(t, PartCost) else t.price for t in (alone, tables))
        require(
            here[0] == there[i],
            f"{name}.tables: example {i} has {there[i]:g} among others but {here[0]:g} alone; a "
            "cost must not depend on other examples.",
        )
