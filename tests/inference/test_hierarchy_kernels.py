"""Kernels of hierarchies against the list of all sets of nodes, on thousands of hierarchies.

test_graphs_uncompiled.py runs this module once more with kernels that run as Python.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from maxmargin.inference.hierarchy.closure import best_closure, closure_room
from maxmargin.inference.hierarchy.closure_kbest import best_closures_room, best_k_closures
from maxmargin.inference.hierarchy.forest import (
    best_k_sets,
    best_set,
    best_sets_room,
    set_levels_room,
    set_marginals,
    set_max_marginals,
    set_profile,
    write_ranked_set,
    write_set_level,
)
from maxmargin.inference.hierarchy.shape import ancestors, parents_of
from maxmargin.testing.enumerate import node_sets
from tests.hierarchies import random_scores, random_shape, values

SPACES = ["closed", "paths"]
NONE = np.zeros(0, dtype=np.int8)


class Forest:
    """A random forest with scores and all its sets of nodes."""

    def __init__(self, rng, space):
        self.shape = random_shape(rng)
        self.parent = parents_of(self.shape)
        self.n = len(self.parent)
        self.n_children = np.diff(self.shape.child_at).astype(np.int32)
        self.to_leaves = int(space == "paths")
        self.scores = random_scores(rng, self.n)
        self.must = NONE
        if rng.random() < 0.3:
            self.must = ancestors(self.shape, [rng.integers(self.n)]).astype(np.int8)
        self.sets = node_sets(self.shape, space)
        self.values = values(self.sets, self.scores)
        self.y = np.full(self.n, -7, dtype=np.int8)

    def holds_must(self):
        return (
            (self.sets[:, self.must == 1] == 1).all(axis=1)
            if len(self.must)
            else self.sets[:, 0] >= 0
        )

    def check_written(self, value, among):
        """The set in y is one of those listed, and has this score."""
        assert (self.sets[among] == self.y).all(axis=1).any()
        assert values(self.y[None], self.scores)[0] == pytest.approx(value, abs=1e-11)


@pytest.fixture(params=SPACES)
def forests(request):
    rng = np.random.default_rng(0)
    return (Forest(rng, request.param) for _ in range(600))


def test_best_set(forests):
    for forest in forests:
        among = forest.holds_must()
        below, single = np.full(forest.n + 1, np.nan), np.full(forest.n + 1, 9, dtype=np.int32)
        found = best_set(
            forest.scores, forest.parent, forest.to_leaves, forest.must, below, single, forest.y
        )
        best = forest.values[among].max(initial=-np.inf)
        assert found == pytest.approx(best, abs=1e-11)
        if best > -np.inf:
            forest.check_written(best, among)
            equal = forest.sets[among][forest.values[among] >= best - 1e-11]
            assert forest.to_leaves or forest.y.sum() == equal.sum(axis=1).min()


def test_k_best_sets(forests):
    for k, forest in zip(np.resize([1, 2, 3, 7], 600), forests, strict=True):
        among = forest.holds_must() & (forest.values > -np.inf)
        room = best_sets_room(forest.n, int(k))
        count = best_k_sets(
            forest.scores, forest.parent, forest.n_children, forest.to_leaves, forest.must,
            int(k), room,
        )  # fmt: skip
        expected = np.sort(forest.values[among])[::-1][:k]
        assert room.scores[:count].tolist() == pytest.approx(expected.tolist(), abs=1e-11)
        seen = set()
        for rank in range(count):
            write_ranked_set(
                rank, forest.parent, forest.n_children, forest.to_leaves, room, forest.y
            )
            forest.check_written(expected[rank], among)
            seen.add(forest.y.tobytes())
        assert len(seen) == count == len(expected)


def test_marginals(forests):
    for temperature, forest in zip(np.resize([0.002, 0.5, 1.0, 100.0], 600), forests, strict=True):
        if forest.values.max(initial=-np.inf) == -np.inf:
            continue
        logs = forest.values / temperature
        expected = logsumexp(logs)
        node = np.full(forest.n, np.nan)
        found = set_marginals(
            forest.scores, forest.parent, forest.n_children, forest.to_leaves, temperature,
            *np.full((3, forest.n + 1), np.nan), node,
        )  # fmt: skip
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(node, np.exp(logs - expected) @ forest.sets, atol=1e-10)


def test_max_marginals(forests):
    for forest in forests:
        out = np.full((forest.n, 2), np.nan)
        found = set_max_marginals(
            forest.scores, forest.parent, forest.n_children, forest.to_leaves,
            np.full((3, forest.n + 1), np.nan), *np.full((2, forest.n + 1), np.nan), out,
        )  # fmt: skip
        assert found == pytest.approx(forest.values.max(initial=-np.inf), abs=1e-11)
        for n in range(forest.n):
            for state in (0, 1):
                best = forest.values[forest.sets[:, n] == state].max(initial=-np.inf)
                assert out[n, state] == pytest.approx(best, abs=1e-11)


def test_profile(forests):
    rng = np.random.default_rng(1)
    for forest in forests:
        truth = forest.sets[rng.integers(len(forest.sets))]
        prices = (
            rng.integers(0, 3, size=(2, forest.n))
            if rng.random() < 0.6
            else np.ones((2, forest.n), int)
        )
        taken = np.where(truth == 0, prices[0], 0).astype(np.int32)
        left = np.where(truth == 1, prices[1], 0).astype(np.int32)
        room = set_levels_room(forest.parent, prices.max(axis=0))
        best = np.full(room.size[-1] + 1, np.nan)
        n_levels = set_profile(
            forest.scores,
            forest.parent,
            forest.n_children,
            forest.to_leaves,
            taken,
            left,
            room,
            best,
        )
        costs = forest.sets @ taken + (1 - forest.sets) @ left
        assert n_levels == len(best) > costs.max()
        for level in range(n_levels):
            among = costs == level
            expected = forest.values[among].max(initial=-np.inf)
            assert best[level] == pytest.approx(expected, abs=1e-11)
            if expected > -np.inf:
                write_set_level(forest.parent, taken, left, level, room, forest.y)
                forest.check_written(expected, among)


def random_closures(seed, n_trials):
    """Yield shapes, three of four DAGs, with scores, nodes that must be in, and all closed sets."""
    rng = np.random.default_rng(seed)
    for trial in range(n_trials):
        shape = random_shape(rng, 8, is_dag=trial % 4 > 0)
        n = len(shape.parent_at) - 1
        scores, must = random_scores(rng, n), NONE
        if rng.random() < 0.3:
            must = ancestors(shape, [rng.integers(n)]).astype(np.int8)
        sets = node_sets(shape, "closed")
        if len(must):
            sets = sets[(sets[:, must == 1] == 1).all(axis=1)]
        yield shape, scores, must, sets, values(sets, scores)


def test_best_closure():
    """The smallest of the best, on DAGs and forests."""
    for shape, scores, must, sets, all_values in random_closures(2, 1500):
        y = np.full(len(scores), -7, dtype=np.int8)
        found = best_closure(scores, shape, must, closure_room(shape), y)
        best = all_values.max()
        assert found == pytest.approx(best, abs=1e-11)
        if best > -np.inf:
            best_sets = sets[all_values >= best - 1e-11]
            assert (best_sets == y).all(axis=1).any()
            assert y.sum() == best_sets.sum(axis=1).min()


def test_k_best_closures():
    """The k best of all sets, all different; equal scores, one node and nodes kept out too."""
    for trial, case in enumerate(random_closures(3, 1500)):
        shape, scores, must, sets, all_values = case
        if trial % 10 == 0:
            scores, all_values = np.zeros(len(scores)), np.zeros(len(sets))
        k = (1, 2, 3, 7, 40)[trial % 5]
        room = best_closures_room(len(scores), k)
        count = best_k_closures(scores, shape, must, k, closure_room(shape), room)
        expected = np.sort(all_values[all_values > -np.inf])[::-1][:k]
        assert room.scores[:count].tolist() == pytest.approx(expected.tolist(), abs=1e-11)
        found = room.sets[:count]
        assert len({y.tobytes() for y in found}) == count == len(expected)
        for y, value in zip(found, expected, strict=True):
            assert all_values[(sets == y).all(axis=1)] == pytest.approx([value], abs=1e-11)
