"""Costs: the registry against the contract, each against its definition, bad parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.core.contract import TrueParts
from maxmargin.costs import (
    COSTS,
    PRICED,
    ClassWeighted,
    CostMatrix,
    Hamming,
    Ordinal,
    PartCost,
    WholeCost,
    ZeroOne,
    fitting_costs,
)
from maxmargin.testing import check_cost, tiny_cost
from maxmargin.training.settings import resolve_cost

LABELS = ["a", "b", "c"]
MATRIX = [[0, 1, 4], [2, 0, 0.5], [3, 9, 0]]


def wrong(y, truth):
    return sum(a != b for a, b in zip(y, truth, strict=True))


DEFINITIONS = {
    "hamming": (Hamming(), wrong),
    "hamming mean": (Hamming("mean"), lambda y, t: wrong(y, t) / len(t)),
    "zero_one": (ZeroOne(), lambda y, t: float(y != t)),
    "class_weighted": (
        ClassWeighted({"a": 2.5, "c": 0.0}),
        lambda y, t: sum(
            {"a": 2.5, "b": 1.0, "c": 0.0}[b] * (a != b) for a, b in zip(y, t, strict=True)
        ),
    ),
    "matrix": (
        CostMatrix(MATRIX),
        lambda y, t: sum(
            MATRIX[LABELS.index(b)][LABELS.index(a)] for a, b in zip(y, t, strict=True)
        ),
    ),
    "matrix mean": (
        CostMatrix(MATRIX, "mean"),
        lambda y, t: (
            sum(MATRIX[LABELS.index(b)][LABELS.index(a)] for a, b in zip(y, t, strict=True))
            / len(t)
        ),
    ),
    "ordinal": (
        Ordinal(["b", "c", "a"], power=2),
        lambda y, t: sum(("bca".index(a) - "bca".index(b)) ** 2 for a, b in zip(y, t, strict=True)),
    ),
    "ordinal mean": (
        Ordinal(average="mean"),
        lambda y, t: sum(abs(ord(a) - ord(b)) for a, b in zip(y, t, strict=True)) / len(t),
    ),
}


@pytest.mark.parametrize("name", COSTS)
def test_registered_costs_meet_the_contract(name):
    check_cost(tiny_cost(name))


@pytest.mark.parametrize(("cost", "definition"), DEFINITIONS.values(), ids=DEFINITIONS)
def test_costs_are_what_they_say(cost, definition):
    check_cost(cost, LABELS, expected=definition)


@pytest.mark.parametrize(
    "cost", [Hamming(), Hamming("mean"), ZeroOne(), CostMatrix([[0]]), Ordinal()]
)
def test_one_label_only(cost):
    check_cost(cost, ["only"])


@settings(max_examples=30)
@given(
    matrix=st.integers(1, 4).flatmap(
        lambda k: st.lists(
            st.lists(st.floats(0, 1e6), min_size=k, max_size=k), min_size=k, max_size=k
        )
    ),
    average=st.sampled_from(["sum", "mean"]),
)
def test_any_matrix(matrix, average):
    table = np.array(matrix)
    np.fill_diagonal(table, 0.0)
    cost = CostMatrix(table, average)
    check_cost(cost, range(len(table)))
    assert cost == CostMatrix(table.copy(), average)
    assert hash(cost) == hash(CostMatrix(table.copy(), average))


def test_a_matrix_is_a_value_of_its_own():
    table = np.array(MATRIX, dtype=float)
    cost = CostMatrix(table)
    table[0, 1] = 77.0
    assert cost.matrix[0, 1] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        cost.matrix[0, 1] = 5.0
    assert cost != CostMatrix(MATRIX, "mean") and cost != Hamming()


def test_costs_of_sequences_whose_labels_are_partly_unknown():
    parts = TrueParts("positions", np.array([2, 3]), np.array([2, 0, -1, 1, -1]))
    found = np.array([2, 2, 0, 0, 1])
    for cost, costs, largest in (
        (CostMatrix(MATRIX), [4.0, 2.0], [13.0, 2.0]),
        (Hamming("mean"), [0.5, 1.0], [1.0, 1.0]),
        (ZeroOne(), [1.0, 1.0], [1.0, 1.0]),
    ):
        for numbers, expected in zip(
            cost.costs_of(parts, LABELS, found), (costs, largest), strict=True
        ):
            assert numbers.tolist() == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hamming("median"), "average must be 'sum' or 'mean', got 'median'"),
        (lambda: ClassWeighted({}, "max"), "average must be"),
        (lambda: ClassWeighted({"a": -1.0}), r"weights\['a'\] must be finite and >= 0, got -1.0"),
        (lambda: ClassWeighted({"a": np.nan}), r"weights\['a'\] must be finite"),
        (lambda: CostMatrix([[0, 1]]), r"square, got shape \(1, 2\)"),
        (lambda: CostMatrix([[0, -1], [1, 0]]), "finite and >= 0"),
        (lambda: CostMatrix([[0, np.inf], [1, 0]]), "finite and >= 0"),
        (lambda: CostMatrix([[1, 1], [1, 0]]), "the diagonal must be 0"),
        (lambda: CostMatrix([[0, 1], [1, 0]], "max"), "average must be"),
        (lambda: Ordinal(average="max"), "average must be"),
        (lambda: Ordinal(power=0.0), "power must be a number > 0, got 0.0"),
        (lambda: Ordinal(["a", "a"]), "order must name each label once"),
        (lambda: Ordinal(["a", "b"]).tabulate("positions", LABELS, [1]), "not name the class 'c'"),
        (lambda: Ordinal([*LABELS, "d"]).tabulate("positions", LABELS, [1]), "'d', which is no"),
        (
            lambda: CostMatrix(MATRIX).tabulate("positions", np.array(["a"]), [1]),
            "3 x 3 but there are 1 classes",
        ),
        (
            lambda: ClassWeighted({"z": 1.0}).tabulate("positions", np.array(LABELS), [1]),
            "weights names 'z', which is no class",
        ),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


class Broken(Hamming):
    """A Hamming cost with one thing wrong."""

    def __init__(self, how="none"):
        super().__init__()
        object.__setattr__(self, "how", how)

    def parameters(self):
        return {"how": "none" if self.how == "parameters" else self.how}

    def __eq__(self, other):
        return isinstance(other, Broken) and self.how == other.how

    __hash__ = Hamming.__hash__

    def positions(self, names, sizes):
        matrix, scale = super().positions(names, sizes)
        return {
            "diagonal": lambda: PartCost(matrix + 1.0, scale),
            "negative": lambda: PartCost(-matrix, scale),
            "nan": lambda: PartCost(matrix * np.nan, scale),
            "shape": lambda: PartCost(matrix[:1], scale),
            "type": lambda: matrix,
            "others": lambda: PartCost(matrix, scale * len(sizes)),
            "integers": lambda: WholeCost(np.ones(len(sizes), dtype=int)),
        }.get(self.how, lambda: PartCost(matrix, scale))()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("diagonal", "the diagonal of matrix must be 0"),
        ("negative", "every entry of matrix must be finite and >= 0"),
        ("nan", "every entry of matrix must be finite"),
        ("shape", r"matrix must be a float64 array of shape \(3, 3\)"),
        ("type", "must return a PartCost or a WholeCost, got ndarray"),
        ("others", "must not depend on other examples"),
        ("integers", "price must be a float64 array"),
        ("parameters", r"\(\*\*parameters\(\)\) must equal the original"),
    ],
)
def test_the_check_finds_what_is_wrong(how, message):
    check_cost(Broken())
    with pytest.raises(AssertionError, match=message):
        check_cost(Broken(how))


def test_the_check_shows_where_a_cost_is_not_what_was_expected():
    with pytest.raises(AssertionError, match=r"\['c'\] where \['a'\] is right|costs 1, expected 2"):
        check_cost(Hamming(), LABELS, expected=lambda y, t: 2.0 * wrong(y, t))


@pytest.mark.parametrize("kind", PRICED)
@pytest.mark.parametrize("name", COSTS)
def test_costs_are_refused_by_name_with_what_fits(name, kind):
    fitting = fitting_costs(kind)
    if name in fitting:
        return
    with pytest.raises(ValueError, match=f"{COSTS[name].__name__} is no cost of") as error:
        tiny_cost(name).tabulate(kind, LABELS, [[1, 1]])
    assert str(error.value).endswith(f"Costs that fit: {', '.join(fitting)}.")
    with pytest.raises(ValueError, match="Costs that fit"):
        resolve_cost(name, kind)


def test_an_unknown_kind_of_parts_is_named():
    kinds = "positions, vertices, switches, places, paths, arcs, nodes"
    with pytest.raises(ValueError, match=f"kind must be one of {kinds}; got"):
        Hamming().tabulate("arrows", LABELS, [1])
