"""Structures against the list of all their outputs: ours, a user's in Python, a user's compiled."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.core import contract as generic
from maxmargin.core.contract import difference_potentials, has, maximize, potentials, workspace
from maxmargin.core.dispatch import families
from maxmargin.core.problem import Problem
from maxmargin.costs import CostMatrix, Hamming, ZeroOne
from maxmargin.search.direct import Direct
from maxmargin.solvers import BlockFrankWolfe
from maxmargin.structures import (
    STRUCTURES,
    MulticlassData,
    OwnCost,
    UserData,
    chain_data,
    chain_layout,
    multiclass_data,
)
from maxmargin.structures.user.boxes import Box, same
from maxmargin.structures.user.compiled import check_cost_fits, check_data
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing import all_outputs, check_solver, check_structure, optimum
from maxmargin.testing import structures as structure_checks
from maxmargin.testing.tiny import (
    N_LABELS,
    TINY,
    Agreement,
    tiny_data,
    tiny_tables,
)
from tests.grades import Distance, Grades, GradesData
from tests.helpers import registered_cases

DIRECT = Direct(1.0, 1.0)

MARGIN = MarginRescaling().compiled()


# -- ours ----------------------------------------------------------------------------------------


def test_every_registered_structure_has_a_tiny_instance():
    assert set(TINY) == set(STRUCTURES)
    for name, kind in STRUCTURES.items():
        assert type(tiny_data(name).data) is kind


@pytest.mark.parametrize(("structure", "features", "cost"), list(registered_cases()))
def test_registered_structures_meet_the_contract(structure, features, cost):
    """As Python: tests/contracts/test_compiled.py holds compiled code against it."""
    tiny = tiny_data(structure, features)
    check_structure(tiny.data, cost=tiny_tables(tiny, cost), compile=False)


@pytest.mark.parametrize("off", ["bias", "transitions", "start", "end"])
def test_chains_with_a_block_switched_off(off, rng):
    offsets = np.array([0, 1, 3, 6])
    layout = chain_layout(2, 2, **{off: False})
    data = chain_data(rng.normal(size=(6, 2)), offsets, rng.integers(2, size=6), layout)
    check_structure(
        data, cost=Hamming().tabulate("positions", np.arange(2), np.diff(offsets)), compile=False
    )


def test_chains_cut_out_of_longer_ones(rng):
    offsets, borders = np.array([0, 2, 4, 5]), np.array([[1, 0], [0, 1], [0, 0]])
    data = chain_data(
        rng.normal(size=(5, 2)), offsets, rng.integers(3, size=5), chain_layout(2, 3), borders
    )
    for cost in (Hamming(), ZeroOne()):
        check_structure(
            data, cost=cost.tabulate("positions", np.arange(3), np.diff(offsets)), compile=False
        )


@pytest.mark.parametrize("cost", [Hamming(), ZeroOne()], ids=repr)
def test_chains_with_forbidden_outputs(cost, rng):
    offsets, labels = np.array([0, 3, 5]), np.array([0, 1, 2, 1, 1])
    edges = np.zeros((5, 3))
    edges[0, 2] = edges[2, 0] = edges[3, 2] = edges[4, 0] = -np.inf
    nodes = np.zeros((5, 3))
    nodes[1, 0] = nodes[4, 2] = -np.inf
    data = chain_data(
        rng.normal(size=(5, 2)), offsets, labels, chain_layout(2, 3), None, edges, nodes
    )
    assert 1 < len(all_outputs(data, 0)) < 27
    check_structure(
        data, cost=cost.tabulate("positions", np.arange(3), np.diff(offsets)), compile=False
    )


@settings(max_examples=25)
@given(
    n_labels=st.integers(1, 3),
    n_columns=st.integers(0, 2),
    lengths=st.lists(st.integers(1, 3), min_size=1, max_size=2),
    # Not larger: features of two positions may cancel, and what is left is then rounding.
    magnitude=st.sampled_from([0.0, 1e-150, 1e-6, 1.0, 1e6]),
    blocks=st.tuples(*[st.booleans()] * 4),
    cost=st.sampled_from([Hamming(), Hamming("mean"), ZeroOne()]),
    sparse=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_corner_cases_of_chains(
    n_labels, n_columns, lengths, magnitude, blocks, cost, sparse, seed
):
    """One label, one sample, length 1, no features, all scores equal, huge and tiny features."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    X = magnitude * rng.integers(-2, 3, size=(offsets[-1], n_columns)).astype(float)
    data = chain_data(
        sp.csr_matrix(X) if sparse else X,
        offsets,
        rng.integers(n_labels, size=offsets[-1]),
        chain_layout(n_columns, n_labels, *blocks),
    )
    tables = cost.tabulate("positions", np.arange(n_labels), np.diff(offsets))
    check_structure(data, cost=tables, compile=False, seed=seed)


@settings(max_examples=40)
@given(
    n_labels=st.integers(1, 4),
    n_columns=st.integers(0, 2),
    n=st.integers(1, 3),
    magnitude=st.sampled_from([0.0, 1e-150, 1e-6, 1.0, 1e6, 1e100]),
    bias=st.booleans(),
    cost=st.sampled_from([Hamming(), ZeroOne()]),
    seed=st.integers(0, 1000),
)
def test_corner_cases_of_classes(n_labels, n_columns, n, magnitude, bias, cost, seed):
    rng = np.random.default_rng(seed)
    X = magnitude * rng.integers(-2, 3, size=(n, n_columns)).astype(float)
    data = multiclass_data(X, rng.integers(n_labels, size=n), n_labels, bias)
    tables = cost.tabulate("positions", np.arange(n_labels), np.ones(n))
    check_structure(data, cost=tables, compile=False, seed=seed)


@pytest.mark.parametrize("structure", ["multiclass", "chain"])
def test_ties_go_to_the_lowest_label(structure):
    data, sizes = tiny_data(structure)
    for cost in (Hamming(), ZeroOne()):
        tables = cost.tabulate("positions", np.arange(N_LABELS), sizes)
        theta, room = workspace(data)
        y = np.zeros(sizes.max(), dtype=np.int32)
        for i, size in enumerate(sizes):
            potentials(data, i, np.zeros(int(generic.n_weights(data))), 1.0, theta)
            maximize(data, tables, i, theta, room, 1.0, 0.0, y, 0)
            assert y[:size].tolist() == [0] * size


# -- what the check finds ------------------------------------------------------------------------


def _broken(function, wrong):
    """Replace an implementation for classes by one that differs in one thing."""
    served = (MulticlassData, *families(MulticlassData))
    kinds = next(k for k in function.implementations if k[0] in served)
    right = function.implementations[kinds]
    return kinds, lambda *arguments: wrong(right, *arguments)


def _twice(right, data, i, theta, outputs, at):
    return 2.0 * right(data, i, theta, outputs, at)


def _forgets_scale(right, data, i, w, scale, theta):
    right(data, i, w, 1.0, theta)


def _changes_w(right, data, i, w, scale, theta):
    right(data, i, w, scale, theta)
    w += 1.0


def _forgets_bias(right, data, i, outputs, at, scale, w):
    bias = w[-data.n_labels :].copy()
    right(data, i, outputs, at, scale, w)
    w[-data.n_labels :] = bias


def _ignores_scale(right, data, i, outputs, at, scale, w):
    right(data, i, outputs, at, 1.0, w)


def _wrong_gram(right, data, i, outputs, at, spare, theta):
    right(data, i, outputs, at, spare, theta)
    theta.scores[0, outputs[at]] *= 2.0


def _always_zero(right, data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    outputs[at] = 0


def _no_output(right, data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    outputs[at] = 17


def _writes_beyond(right, data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    right(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)
    outputs[at + 1] = 0


def _wanders(right, data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    right(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)
    if score_scale == cost_scale == 0.0:
        outputs[at] = at > 0


def _negative(right, data, cost, i, outputs, at):
    return -right(data, cost, i, outputs, at)


def _price_of_truth(right, data, cost, i, outputs, at):
    return 1.0 + right(data, cost, i, outputs, at)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("margin_error", _twice, "margin_error of output .* but by add_difference it is"),
        ("potentials", _forgets_scale, r"margin_error of .* \(potentials at 2.5 w\)"),
        ("potentials", _changes_w, "but by add_difference it is|changed w"),
        ("add_difference", _forgets_bias, "margin_error of output"),
        ("add_difference", _ignores_scale, "add_difference with scale -2.5"),
        ("difference_potentials", _wrong_gram, "Under difference_potentials of output"),
        ("maximize", _always_zero, "maximize gave output .*, worth .* but output .* is worth"),
        ("maximize", _no_output, r"maximize gave \[17\] for example 0, which is no listed output"),
        ("maximize", _writes_beyond, "maximize wrote beyond the 1 cells"),
        ("maximize", _wanders, r"maximize gave \[0\] and then|maximize gave \[1\] and then"),
        ("output_cost", _negative, "must be finite and >= 0"),
        ("output_cost", _price_of_truth, "The cost of the true output of example 0 is 1"),
        ("output_size", lambda right, data, i: 2, "output_size of example 0 is 2"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_check_finds_what_is_wrong(name, wrong, message, monkeypatch):
    data, sizes = tiny_data("multiclass")
    cost = Hamming().tabulate("positions", np.arange(N_LABELS), sizes)
    check_structure(data, cost=cost, compile=False)
    function = getattr(generic, name)
    kinds, implementation = _broken(function, wrong)
    monkeypatch.setitem(function.implementations, kinds, implementation)
    with pytest.raises(AssertionError, match=message):
        check_structure(data, cost=cost, compile=False)


def test_the_check_compares_compiled_code_with_python(monkeypatch):
    data, sizes = tiny_data("multiclass")
    cost = Hamming().tabulate("positions", np.arange(N_LABELS), sizes)
    real = structure_checks.Problem

    class Tilted(real):
        def losses(self, w):
            losses, bounds = super().losses(w)
            return losses + (1e-3 if self.is_compiled else 0.0), bounds

    monkeypatch.setattr(structure_checks, "Problem", Tilted)
    with pytest.raises(AssertionError, match=r"in Python but .* compiled"):
        check_structure(data, cost=cost)


def test_the_check_wants_a_cost_and_outputs():
    data = Grades("abc").data([[1.0]], ["b"])
    with pytest.raises(TypeError, match="cost must be given with data"):
        check_structure(data)
    with pytest.raises(ValueError, match="outputs must say what the outputs of GradesData are"):
        check_structure(data, cost=Distance(np.ones(1)))
    with pytest.raises(TypeError, match="X and Y must be given"):
        check_structure(Agreement(2, 2))
    with pytest.raises(AssertionError, match="true output of example 0 is not among those listed"):
        check_structure(data, cost=Distance(np.ones(1)), outputs=[[0, 2]])


# -- a user's, compiled --------------------------------------------------------------------------


@pytest.fixture
def ordinal(rng):
    structure = Grades("abcd")
    X = rng.normal(size=(6, 2))
    return structure.data(X, ["a", "b", "c", "d", "c", "a"])


def test_a_compiled_structure_of_ones_own_meets_the_contract(ordinal):
    assert not has(difference_potentials, GradesData)  # the default one is used
    check_structure(ordinal, cost=Distance(np.ones(6)), outputs=lambda i: range(4))


def test_a_compiled_structure_of_ones_own_trains_to_the_optimum(ordinal):
    problem = Problem(ordinal, Distance(np.ones(6)), MARGIN, 6, lam=0.05, search=DIRECT)
    assert problem.is_compiled
    assert len(problem.desk().spare) == problem.n_weights
    check_solver(BlockFrankWolfe(), problem, outputs=lambda i: range(4))


def test_what_a_compiled_structure_lacks_is_named(ordinal):
    class Half(GradesData):
        pass

    with pytest.raises(TypeError, match="must return a NamedTuple of arrays, got list"):
        check_data([1], 1)
    with pytest.raises(TypeError, match="no implementation of n_weights, output_sizes, truths"):
        check_data(Half(*ordinal), 6)
    with pytest.raises(ValueError, match="made 6 examples of 5 inputs"):
        check_data(ordinal, 5)
    with pytest.raises(TypeError, match=r"for WholeCost. Costs that fit: Distance"):
        check_cost_fits(ordinal, ZeroOne().tabulate("positions", np.arange(4), np.ones(6)))


# -- a user's, in plain Python -------------------------------------------------------------------


class Words:
    """Subsets of 3 words, as sorted lists: an output that is no number."""

    n_words = 3

    def n_features(self):
        return self.n_words

    def joint_feature(self, x, y):
        phi = np.zeros(self.n_words)
        phi[y] = x[y]
        return phi

    def outputs(self, x):
        return [[k for k in range(3) if code >> k & 1] for code in range(8)]

    def cost(self, y, y_true):
        return len(set(y) ^ set(y_true))

    def maximize(self, x, w, y_true, score_scale, cost_scale):
        gain = score_scale * w * x
        if y_true is not None:
            gain = gain + cost_scale * np.where(np.isin(np.arange(3), y_true), -1.0, 1.0)
        return np.flatnonzero(gain > 0).tolist()


def words(rng, n=5):
    X = rng.normal(size=(n, 3))
    return Words(), X, [np.flatnonzero(x > 0).tolist() for x in X]


def test_a_python_structure_meets_the_contract(rng):
    check_structure(*words(rng))
    check_structure(tiny_data("user").data)


def test_a_python_structure_trains_to_the_optimum(rng):
    data = UserData(*words(rng))
    problem = Problem(data, OwnCost(), MARGIN, 5, lam=0.1, search=DIRECT)
    assert not problem.is_compiled
    check_solver(BlockFrankWolfe(), problem)


def test_a_python_structure_agrees_with_the_same_one_compiled(rng):
    X, labels = rng.normal(size=(6, 2)), [0, 1, 2, 0, 1, 2]
    cost = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    compiled = Problem(
        multiclass_data(X, labels, 3, bias=False),
        CostMatrix(cost).tabulate("positions", np.arange(3), np.ones(6)),
        MARGIN, 6, lam=0.1, search=DIRECT)  # fmt: skip
    plain = Problem(
        UserData(Agreement(3, 2), X, labels), OwnCost(), MARGIN, 6, lam=0.1, search=DIRECT
    )
    a, b = optimum(compiled), optimum(plain)
    assert a.upper == pytest.approx(b.upper, rel=1e-9)
    # Prototypes lie one after the other there, features here.
    assert a.w.reshape(2, 3).T.ravel() == pytest.approx(b.w, abs=1e-6)


def test_dense_and_sparse_joint_features_are_one(rng):
    class Dense(Agreement):
        def joint_feature(self, x, y):
            phi = np.zeros((3, len(x)))
            phi[y] = x
            return phi.ravel()

    class Doubled(Agreement):
        """Indices out of order, and twice: values add up."""

        def joint_feature(self, x, y):
            indices, values = super().joint_feature(x, y)
            return np.concatenate([indices, indices[::-1]]), np.concatenate(
                [0.25 * values, 0.75 * values[::-1]]
            )

    X, labels = rng.normal(size=(6, 2)), [0, 1, 2, 0, 1, 2]
    ends = [
        optimum(
            Problem(
                UserData(kind(3, 2), X, labels),
                OwnCost(),
                MARGIN,
                6,
                lam=0.1,
                search=DIRECT,
            )
        ).w
        for kind in (Agreement, Dense, Doubled)
    ]
    assert ends[1] == pytest.approx(ends[0]) and ends[2] == pytest.approx(ends[0])


def test_joint_features_are_asked_for_once_an_output():
    asked = []

    class Counting(Agreement):
        def joint_feature(self, x, y):
            asked.append(y)
            return super().joint_feature(x, y)

    data = UserData(Counting(3, 2), np.eye(2), [0, 1])
    assert asked == [0, 1]
    w, outputs = np.zeros(6), np.array([Box(2)], dtype=object)
    for _ in range(3):
        generic.add_difference(data, 0, outputs, 0, 1.0, w)
    assert asked == [0, 1, 2]


def test_the_cache_of_joint_features_is_bounded(monkeypatch):
    monkeypatch.setattr("maxmargin.structures.user.data.CACHE_BYTES", 2000)
    X = np.random.default_rng(0).normal(size=(20, 4))
    data = UserData(Agreement(2, 4), X, [0, 1] * 10)
    assert data._cached_bytes <= 2000
    check_structure(data)
    assert data._cached_bytes <= 2000
    assert 1 <= len(data._cache) <= 3  # an entry of a few numbers takes far more than these
    assert sum(size for *_, size in data._cache.values()) == data._cached_bytes


class Point:
    def __init__(self, x):
        self.x = x


@dataclass
class Tree:
    parents: np.ndarray
    note: str = field(default="", compare=False)


@pytest.mark.parametrize(
    ("a", "b", "other"),
    [
        (1, np.int64(1), 2),
        ("ab", "ab", "ac"),
        ([1, 2], (1, 2), [1, 2, 3]),
        (np.arange(3), [0, 1, 2], np.arange(4)),
        (np.arange(6).reshape(2, 3), [[0, 1, 2], np.array([3, 4, 5])], np.arange(6)),
        (np.array(5), np.array(5), 5),
        ({"a": np.arange(3)}, {"a": np.arange(3)}, {"a": np.arange(3) + 1}),
        ([np.arange(2), "x"], [np.arange(2), "x"], [np.arange(2), "y"]),
        (np.array([[1], None], dtype=object), np.array([[1], None], dtype=object), [[2], None]),
        (Point(np.arange(2)), Point(np.arange(2)), Point(np.arange(3))),
        (Tree(np.arange(2), "a"), Tree(np.arange(2), "b"), Tree(np.arange(3))),
        (frozenset({1}), frozenset({1}), frozenset({2})),
        (sp.csr_matrix(np.eye(2)), sp.csr_matrix(np.eye(2)), sp.csr_matrix(np.ones((2, 2)))),
        (np.arange(2), np.arange(2), "01"),
        ([1], [1], 1),
    ],
)
def test_outputs_are_compared_by_value(a, b, other):
    assert same(a, b) and same(b, a) and not same(a, other) and not same(other, a)
    assert Box(a) == Box(b) and Box(a) != Box(other)
    assert bool(np.array([Box(a)], dtype=object)[0] != Box(other))


class Faulty(Agreement):
    """A structure of three classes and two features, with one thing wrong."""

    def __init__(self, **wrong):
        super().__init__(3, 2)
        for name, value in wrong.items():
            setattr(self, name, value)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"joint_feature": lambda x, y: None}, TypeError, "joint_feature of sample 0 must be a"),
        ({"joint_feature": lambda x, y: "abc"}, TypeError, "joint_feature of sample 0 must be a"),
        (
            {"joint_feature": lambda x, y: np.zeros(5)},
            ValueError,
            r"joint_feature of sample 0 must have shape \(6,\), as n_features says, got \(5,\)",
        ),
        (
            {"joint_feature": lambda x, y: np.full(6, np.nan)},
            ValueError,
            "joint_feature of sample 0 .* without NaN or infinity",
        ),
        (
            {"joint_feature": lambda x, y: ([6], [1.0])},
            ValueError,
            r"joint_feature of sample 0: index 6 is not in 0..5",
        ),
        ({"joint_feature": lambda x, y: ([-1], [1.0])}, ValueError, "index -1 is not in"),
        ({"joint_feature": lambda x, y: ([0.5], [1.0])}, TypeError, "indices must be integers"),
        ({"joint_feature": lambda x, y: ([1], [1.0, 2.0])}, ValueError, "vectors of one length"),
        ({"joint_feature": lambda x, y: (1, 2, 3)}, ValueError, r"a tuple of 3; expected \(ind"),
        ({"joint_feature": lambda x, y: ([1], [np.inf])}, ValueError, "without NaN"),
        ({"cost": lambda y, t: -1.0}, ValueError, "cost must return a finite number >= 0, .* 0 it"),
        ({"cost": lambda y, t: np.nan}, ValueError, "cost must return a finite number"),
        ({"cost": lambda y, t: "high"}, TypeError, "cost must return a number, but for sample 0"),
        ({"cost": lambda y, t: [0.0]}, TypeError, "cost must return a number"),
        ({"cost": lambda y, t: None}, TypeError, "cost must return a number"),
        ({"cost": lambda y, t: 1.0}, ValueError, r"cost\(y_true, y_true\) must be 0.* sample 0"),
        ({"n_features": 0}, ValueError, "n_features of the structure must be an integer >= 1"),
        ({"n_features": 2.5}, ValueError, "must be an integer >= 1, got 2.5"),
        ({"n_features": lambda: "six"}, ValueError, "must be an integer >= 1, got 'six'"),
        ({"maximize": 3}, TypeError, "but Faulty has no maximize"),
    ],
)
def test_mistakes_in_a_structure_are_named_before_training(wrong, error, message):
    with pytest.raises(error, match=message):
        UserData(Faulty(**wrong), np.eye(2), [0, 2])


def test_an_oracle_that_returns_nothing_is_named():
    data = UserData(Faulty(maximize=lambda *_: None), np.eye(2), [0, 2])
    problem = Problem(data, OwnCost(), MARGIN, 2, lam=0.1, search=DIRECT)
    with pytest.raises(ValueError, match="maximize must return an output, but for sample 0"):
        problem.losses(np.zeros(6))


def test_an_oracle_cannot_change_the_weights():
    def spoil(x, w, y_true, score_scale, cost_scale):
        w[0] = 1.0
        return 0

    data = UserData(Faulty(maximize=spoil), np.eye(2), [0, 2])
    with pytest.raises(ValueError, match="read-only"):
        Problem(data, OwnCost(), MARGIN, 2, lam=0.1, search=DIRECT).losses(np.zeros(6))


def test_the_check_finds_an_oracle_that_reuses_its_answer():
    class Reusing(Words):
        def __init__(self):
            self.answer = []

        def maximize(self, *arguments):
            self.answer[:] = super().maximize(*arguments)
            return self.answer

    with pytest.raises(AssertionError, match=r"and then|return a\s+new object|worth"):
        check_structure(Reusing(), [np.array([1.0, -1.0, 0.5])], [[0]])


def test_y_and_x_must_match():
    with pytest.raises(ValueError, match="X has 2 samples but Y has 1"):
        UserData(Agreement(3, 2), np.eye(2), [0])
    with pytest.raises(ValueError, match=r"Y\[1\] is None"):
        UserData(Agreement(3, 2), np.eye(2), [0, None])


def test_the_same_code_is_registered_once():
    """For all costs of a family it is registered for the family, not for one cost after another."""
    functions = [f for f in vars(generic).values() if getattr(f, "n_dispatch", 0) == 2]
    assert generic.maximize in functions
    for function in functions:
        ours = [
            (kinds[0], implementation)
            for kinds, implementation in function.implementations.items()
            if kinds[0].__module__.startswith("maxmargin.structures")
        ]
        assert len(set(ours)) == len(ours), function.__name__
