"""The contract of parts, for structures whose outputs have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import (
    add_difference,
    add_part_difference,
    add_parts,
    difference_potentials,
    margin_error,
    n_weights,
    parts,
    potentials,
    product,
    workspace,
)
from maxmargin.testing._require import require


def check_parts(case: Any, weights: list[np.ndarray], tolerance: float) -> None:
    """Check `parts` and `add_parts` against `margin_error` and `add_difference`, for all outputs.

    ``case`` has all outputs of an example with their Psi_i, see `maxmargin.testing.structures`.
    Overrides are compared with the defaults, which are the bodies of the declarations.
    """
    data, i = case.data, case.i
    _check_type(case)
    for k, y in enumerate(case.outputs):
        mu = workspace(data)[0]
        add_part_difference(data, i, y, 0, mu)
        added = np.zeros(case.differences.shape[1])
        add_parts(data, i, mu, 1.0, added)
        slack = tolerance * (1.0 + np.abs(case.differences).max(initial=0.0))
        _compare(case, k, "add_parts", "add_difference", added, case.differences[k], slack)
        scaled = np.ones_like(added)
        add_parts(data, i, mu, -2.5, scaled)
        _compare(case, k, "add_parts with scale -2.5", "scale 1", scaled, 1.0 - 2.5 * added, slack)
        default = np.zeros_like(added)
        add_difference.__wrapped__(data, i, y, 0, 1.0, default)  # type: ignore[attr-defined]
        _compare(case, k, "the default add_difference", "its own", default, added, slack)
    for w in weights:
        potentials(data, i, w, 1.0, case.theta)
        _check_scores(case, case.rounding(w))
    _check_potentials(case)


def _check_type(case: Any) -> None:
    theta, other = case.theta, workspace(case.data)[0]
    is_plain = isinstance(theta, tuple) and all(
        isinstance(array, np.ndarray) and array.dtype.kind == "f" for array in theta
    )
    require(
        is_plain and type(theta) is type(other),
        f"theta must be a NamedTuple of float arrays and nothing else, got {theta!r}.",
    )


def _check_scores(case: Any, rounding: float) -> None:
    """The score is linear in the parts: of outputs, and of the mean of two."""
    data, i, theta = case.data, case.i, case.theta
    h = case.errors()
    for k, y in enumerate(case.outputs):
        default = margin_error.__wrapped__(data, i, theta, y, 0)  # type: ignore[attr-defined]
        _compare(case, k, "margin_error", "the product of theta and parts", h[k], default, rounding)
        if k > 0:
            mean = workspace(data)[0]
            parts(data, i, y, 0, 0.25, mean)
            parts(data, i, case.outputs[0], 0, 0.75, mean)
            single = workspace(data)[0]
            parts(data, i, case.outputs[0], 0, 1.0, single)
            found = product(theta, mean) - product(theta, single)
            expected = 0.25 * (h[k] - h[0])
            _compare(case, k, "the score of a mean", "margin_error", found, expected, rounding)


def _check_potentials(case: Any) -> None:
    """`difference_potentials` and its default score all outputs alike, and leave spare at 0."""
    data, i = case.data, case.i
    spare = np.zeros(int(n_weights(data)))
    step = max(1, len(case.outputs) // 5)
    for k in range(0, len(case.outputs), step):
        found = []
        for function in (difference_potentials, difference_potentials.__wrapped__):  # type: ignore[attr-defined]
            function(data, i, case.outputs[k], 0, spare, case.theta)
            found.append(case.errors())
            require(not spare.any(), f"difference_potentials left something in spare at {i}.")
        rounding = case.rounding(case.differences[k])
        own, default = found
        _compare(case, k, "difference_potentials", "its default", own, default, rounding)


def _compare(
    case: Any, k: int, what: str, other: str, found: Any, expected: Any, slack: float
) -> None:
    require(
        np.allclose(found, expected, rtol=0.0, atol=slack),
        f"{what} and {other} do not agree for {case.name(k)}: {np.asarray(found).tolist()} against "
        f"{np.asarray(expected).tolist()}.",
    )
