"""The contract of outputs that can be listed, for structures that say they have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import (
    ListedGram,
    add_few,
    add_listed,
    few_scores,
    inner,
    list_values,
    listed_gram,
    listed_norms,
    n_listed,
    n_weights,
    potentials,
    times_metric,
    truths,
    workspace,
)
from maxmargin.solvers.listed.sdca_gram import product_of
from maxmargin.testing._require import require


def check_listed(case: Any, weights: list[np.ndarray], tolerance: float) -> None:
    """Check the functions on lists of outputs against those on single ones.

    ``case`` has all outputs of an example with their Psi_i, see `maxmargin.testing.structures`.
    """
    data, cost, i, outputs = case.data, case.cost, case.i, case.outputs
    differences, costs, norm = case.differences, case.costs, case.norm
    n = int(n_listed(data))
    require(
        outputs.shape == (n, 1) and (outputs[:, 0] == np.arange(n)).all(),
        f"n_listed is {n}, so the outputs of example {i} must be the cells 0 to {n - 1}, but they "
        f"are {outputs.tolist()}.",
    )
    phi = np.array([_features(data, i, mass) for mass in np.eye(n)])
    truth = int(truths(data)[i])
    slack = tolerance * (1.0 + np.abs(phi).max(initial=0.0)) ** 2
    _compare("add_listed", "add_difference", i, phi[truth] - phi, differences, slack)
    gram = listed_gram(data)
    norms = float(listed_norms(data)[i]) * (np.eye(n) if gram is None else _table(gram))
    products = np.array([inner(norm, phi, each) for each in phi])
    _compare("The inner products of add_listed's", "listed_norms", i, products, norms, slack)
    mass = np.linspace(-1.0, 2.0, n)
    added = _features(data, i, mass, -2.5)
    _compare("add_listed with scale -2.5", "its parts", i, added, -2.5 * mass @ phi, n * slack)

    # Some of the outputs, in another order, in row i of a table as solvers have it.
    some = np.arange(n, dtype=np.int32)[::-2]
    table = np.zeros((i + 1, n), dtype=np.int32)
    table[i, : len(some)] = some
    added = np.zeros(phi.shape[1])
    add_few(data, i, table, len(some), mass, -2.5, added)
    expected = -2.5 * mass[: len(some)] @ phi[some]
    _compare("add_few", "add_listed", i, added, expected, n * slack)
    theta, _ = workspace(data)
    scores, found = np.zeros(n), np.zeros((2, n))
    for w in weights:
        Rw = times_metric(norm, w)
        rounding = slack * (1.0 + np.abs(Rw).sum())
        few_scores(data, i, table, len(some), w, scores)
        _compare("few_scores", "add_listed", i, scores[: len(some)], phi[some] @ Rw, rounding)
        potentials(data, i, w, 1.0, theta)
        list_values(data, cost, i, theta, found[0], found[1])
        values = costs - differences @ Rw
        _compare("values of list_values", "margin_error", i, found[0], values, rounding)
        _compare("costs of list_values", "output_cost", i, found[1], costs, tolerance)
        require(
            found[0, truth] == 0.0,
            f"list_values must give the true output of example {i} the value 0, not "
            f"{found[0, truth]}.",
        )


def _table(gram: ListedGram) -> np.ndarray:
    """Return the matrix of inner products, whichever way it is given."""
    n = len(gram.table) or len(gram.at) - 1
    return np.array([[product_of(gram, k, other) for other in range(n)] for k in range(n)])


def _features(data: Any, i: int, mass: np.ndarray, scale: float = 1.0) -> np.ndarray:
    w = np.zeros(int(n_weights(data)))
    add_listed(data, i, mass, scale, w)
    return w


def _compare(
    what: str, other: str, i: int, found: np.ndarray, expected: np.ndarray, slack: float
) -> None:
    require(
        np.allclose(found, expected, rtol=0.0, atol=slack),
        f"{what} and {other} do not agree at example {i}: {found.tolist()} against "
        f"{expected.tolist()}.",
    )
