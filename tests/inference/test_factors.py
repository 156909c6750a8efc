"""Kinds of factors: messages and values against their definition, compiled and uncompiled."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.factors import (
    FACTORS,
    AtLeastOne,
    AtMostOne,
    Cardinality,
    CustomFactor,
    ExactlyOne,
    Implies,
    Potts,
    Table,
    factor_message,
    factor_value,
    switch,
)


class Near(CustomFactor):
    """-weight times the distance between the largest and the least label of its nodes."""

    def __init__(self, nodes, weight):
        self.nodes, self.weight = tuple(nodes), weight

    def numbers(self):
        return np.array([self.weight])

    def value(self, labels):
        return -self.weight * (max(labels) - min(labels))

    @staticmethod
    def message(numbers, at, member, incoming, out):
        n_members = len(at) - 1
        n_cells = 1
        for j in range(n_members):
            n_cells *= at[j + 1] - at[j]
        for x in range(at[member + 1] - at[member]):
            out[x] = -np.inf
        for cell in range(n_cells):
            rest, total, low, high, own = cell, 0.0, 1000, -1, 0
            for j in range(n_members):
                size = at[j + 1] - at[j]
                x = rest % size
                rest //= size
                low, high = min(low, x), max(high, x)
                if j == member:
                    own = x
                else:
                    total += incoming[at[j] + x]
            out[own] = max(out[own], total - numbers[0] * (high - low))


def draw(rng, *shape, forbidden=0.2):
    values = rng.integers(-3, 4, shape).astype(float)
    values[rng.random(shape) < forbidden] = -np.inf
    return values


def make(kind, rng, sizes):
    """Return a factor of a kind over nodes 0, 1, .. of these numbers of labels."""
    k = len(sizes)
    nodes = rng.permutation(k)
    own = np.array(sizes)[nodes]
    on = rng.integers(0, own)
    if kind is Table:
        return Table(nodes, draw(rng, *own))
    if kind is Cardinality:
        return Cardinality(nodes, draw(rng, k + 1), on)
    if kind is Potts:
        same = rng.integers(-3, 4, own[0]).astype(float)
        return Potts(nodes, same, rng.choice([same.min(), same.min() - 1, -np.inf]))
    if kind is CustomFactor:
        return Near(nodes, 0.5)
    return kind(nodes, on)


def draw_sizes(kind, rng):
    order = 2 if kind is Implies else int(rng.integers(1, 6))
    sizes = rng.integers(1, 4, order)
    return np.full(order, 3) if kind is Potts else sizes


def defined_message(graph, factor, slot, incoming):
    """Return max over the others of value + messages, by listing all labellings."""
    at = graph.shape.message_at
    sizes = [graph.shape.n_labels[v] for v in factor.nodes]
    found = np.full(sizes[slot], -np.inf)
    for labels in itertools.product(*(range(size) for size in sizes)):
        total = factor.value(labels)
        for j, x in enumerate(labels):
            if j != slot:
                total += incoming[at[j] + x]
        found[labels[slot]] = max(found[labels[slot]], total)
    return found


@pytest.mark.parametrize(("mode", "n_draws"), [("compiled", 300), ("python", 30)])
@pytest.mark.parametrize("kind", FACTORS.values(), ids=list(FACTORS))
def test_messages_and_values_are_those_of_the_definition(kind, mode, n_draws, rng):
    message, value = factor_message, factor_value
    if mode == "python":
        message, value = switch.switch_message.py_func, switch.switch_value.py_func
    for _ in range(n_draws):
        sizes = draw_sizes(kind, rng)
        factor = make(kind, rng, sizes)
        graph = FactorGraph([np.zeros(k) for k in sizes], factors=[factor])
        incoming = draw(rng, graph.shape.message_at[-1])
        for slot in range(len(sizes)):
            out = np.full(4, np.nan)
            message(graph.shape, graph.tables, 0, slot, incoming, out)
            expected = defined_message(graph, factor, slot, incoming)
            np.testing.assert_allclose(out[: len(expected)], expected, atol=1e-12)
            assert np.isnan(out[len(expected) :]).all()
        for labels in itertools.product(*(range(k) for k in sizes)):
            found = value(graph.shape, graph.tables, 0, np.array(labels, dtype=np.int32))
            assert found == factor.value([labels[v] for v in factor.nodes])
            assert graph.score(labels) == found


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: ExactlyOne(()), ValueError, "at least one node"),
        (lambda: ExactlyOne((0.7, 1)), TypeError, r"nodes must be whole numbers, got \(0.7, 1\)"),
        (lambda: ExactlyOne((np.inf, 1)), TypeError, "nodes must be whole numbers, got"),
        (lambda: ExactlyOne((0, np.nan)), TypeError, "nodes must be whole numbers, got"),
        (lambda: Potts("01", [1.0, 2.0]), TypeError, "nodes must be whole numbers, got '01'"),
        (
            lambda: join(Near((0, 1.5), 1.0)),
            TypeError,
            r"factors\[0\]: nodes must be whole numbers",
        ),
        (lambda: join(Near((1, 1), 1.0)), ValueError, r"factors\[0\] names node 1 twice"),
        (lambda: ExactlyOne((0, 0)), ValueError, "names node 0 twice"),
        (lambda: AtMostOne((0, 1), on=(1, 1, 1)), ValueError, "expected one label, or 2"),
        (lambda: join(AtLeastOne((0, 1), on=0.5)), TypeError, "on must be a label of the graph"),
        (lambda: join(AtLeastOne((0, 1), on="face")), TypeError, "got 'face' at node 0"),
        (lambda: Implies((0, 1, 2)), ValueError, "joins two nodes, got 3"),
        (lambda: Cardinality((0, 1), [0.0, 1.0]), ValueError, "length 2; expected 3"),
        (lambda: Cardinality((0, 1), [0.0, np.nan, 1.0]), ValueError, "NaN"),
        (lambda: Potts((0, 1), [1.0, 2.0], 1.5), ValueError, "different <= min"),
        (lambda: Potts((0, 1), [1.0, 2.0], np.nan), ValueError, "different <= min"),
        (lambda: Potts((0, 1), [1.0, 2.0], "a"), TypeError, "must be a number"),
        (lambda: Potts((0, 1), []), ValueError, "same is empty"),
        (lambda: join(Potts((0, 1), [1.0])), ValueError, "node 0 has 2 labels"),
        (lambda: join(AtMostOne((0, 1), on=2)), ValueError, "node 0 is on at label 2"),
        (lambda: join(AtMostOne((0, 2))), ValueError, "names the node 2"),
    ],
)
def test_factors_that_cannot_be_are_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()


def join(factor):
    return FactorGraph(np.zeros((2, 2)), factors=[factor])


def test_a_message_that_cannot_be_compiled_is_refused():
    class Wrong(CustomFactor):
        nodes = (0, 1)

        @staticmethod
        def message(numbers, at, member, incoming, out):
            out[0] = eval("1.0")

    class Nothing(CustomFactor):
        nodes = (0, 1)

    with pytest.raises(TypeError, match="cannot be compiled as message"):
        join(Wrong())
    with pytest.raises(TypeError, match="has no message"):
        join(Nothing())


def test_an_address_is_not_pickled():
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(join(Near((0, 1), 1.0)))
    graph = join(ExactlyOne((0, 1)))
    assert pickle.loads(pickle.dumps(graph)).score([0, 1]) == 0.0


def test_kinds_are_told_apart():
    with pytest.raises(ValueError, match="needs one of its own"):
        switch.SWITCH.kinds([Table, clash()])
    with pytest.raises(TypeError, match="must be an int"):
        switch.SWITCH.kinds([Near])


def clash():
    import sys
    import types

    module = types.ModuleType("clash")
    module.KIND = Table.kind.fget(Table((0,), [0.0]))
    sys.modules["clash"] = module
    return type("Clash", (), {"__module__": "clash"})


def test_whole_numbers_of_nodes_may_be_floats():
    assert ExactlyOne([0.0, np.float32(1.0)]).nodes == (0, 1)
    assert all(type(v) is int for v in ExactlyOne(np.array([0.0, 2.0])).nodes)
