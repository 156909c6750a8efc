"""Kernels of parses against the list of all trees, on thousands of sentences.

test_graphs_uncompiled.py runs this module once more with kernels that run as Python; compiled, it
tries fewer sentences.
"""

from __future__ import annotations

import functools
import os

import numpy as np
import pytest
from scipy.special import logsumexp

from maxmargin.inference.parse import siblings_of
from maxmargin.inference.parse.projective import (
    best_k_projective,
    best_projective,
    chart_room,
    projective_profile,
    tree_levels_room,
    tree_lists_room,
    tree_marginals,
    tree_sums_room,
    write_projective_level,
)
from maxmargin.inference.parse.spanning import (
    best_k_spanning,
    best_spanning,
    contraction_room,
    reduction_room,
    spanning_lists_room,
    spanning_marginals,
)
from maxmargin.testing.enumerate import trees

IS_PYTHON = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
N_CASES = 1000 if IS_PYTHON else 100
NONE = np.zeros((0, 0, 0))
SPACES = ["projective", "siblings", "spanning"]

trees = functools.cache(trees)


@functools.cache
def all_siblings(n, one_root):
    return np.array([siblings_of(tree) for tree in trees(n, True, one_root)])


class Sentence:
    """Random scores, and all trees with theirs."""

    def __init__(self, rng, space):
        # Few sentences have six words: in Python a list of 728 or 7776 trees takes its time.
        self.n = n = int(rng.choice([1, 2, 3, 4, 5, 6], p=[0.05, 0.15, 0.3, 0.3, 0.18, 0.02]))
        self.space, self.many = space, int(rng.integers(2))
        self.scores = random_scores(rng, (n + 1, n + 1))
        if rng.random() < 0.4:
            self.scores[rng.random((n + 1, n + 1)) < 0.3] = -np.inf
        self.siblings = random_scores(rng, (n + 1,) * 3) if space == "siblings" else NONE
        self.trees = trees(n, space != "spanning", not self.many)
        self.words = np.arange(1, n + 1)
        self.values = self.scores[self.trees, self.words].sum(axis=1)
        if space == "siblings":
            before = all_siblings(n, not self.many)
            self.values = self.values + self.siblings[self.trees, self.words, before].sum(axis=1)
        self.finite = np.sort(self.values[self.values > -np.inf])[::-1]

    def value(self, heads):
        """The score of a tree, which must be one of those listed."""
        (place,) = np.flatnonzero((self.trees == heads).all(axis=1))
        return self.values[place]

    def best(self, heads):
        if self.space == "spanning":
            return best_spanning(self.scores, self.many, contraction_room(self.n + 1), heads)
        room = chart_room(self.n + 1)
        room.values[:] = room.mirror[:] = np.nan
        return best_projective(self.scores, self.siblings, self.many, room, heads)

    def k_best(self, k, heads, totals):
        if self.space == "spanning":
            room = spanning_lists_room(self.n + 1, k)
            return best_k_spanning(self.scores, self.many, k, room, heads, totals)
        room = tree_lists_room(self.n + 1, k)
        count = best_k_projective(self.scores, self.siblings, self.many, k, room, heads, totals)
        assert (room.place == -1).all()  # as the next call wants it
        return count

    def marginals(self, temperature, arcs, pairs):
        if self.space == "spanning":
            room = reduction_room(self.n + 1)
            return spanning_marginals(self.scores, self.many, temperature, room, arcs)
        room = tree_sums_room(self.n + 1)
        return tree_marginals(self.scores, self.siblings, self.many, temperature, room, arcs, pairs)


def random_scores(rng, shape):
    """Scores of any size, or few values, so that many trees are equal."""
    if rng.random() < 0.5:
        return rng.normal(size=shape) * rng.choice([1e-9, 1.0, 10.0, 100.0])
    return rng.integers(-2, 3, size=shape).astype(float)


@pytest.fixture(params=SPACES)
def sentences(request):
    rng = np.random.default_rng(0)
    return (Sentence(rng, request.param) for _ in range(N_CASES))


def test_best_tree(sentences):
    for sentence in sentences:
        heads = np.full(sentence.n, -9, dtype=np.int32)
        best = sentence.best(heads)
        assert best == pytest.approx(sentence.finite[0] if len(sentence.finite) else -np.inf)
        if len(sentence.finite):
            assert sentence.value(heads) == pytest.approx(best, abs=1e-11)


def test_k_best_trees(sentences):
    for k, sentence in zip(np.resize([1, 2, 5, 40], N_CASES).tolist(), sentences, strict=True):
        heads = np.full((k, sentence.n), -9, dtype=np.int32)
        totals = np.full(k, np.nan)
        count = sentence.k_best(k, heads, totals)
        expected = sentence.finite[:k]
        assert totals[:count].tolist() == pytest.approx(expected.tolist(), abs=1e-11)
        assert len({tree.tobytes() for tree in heads[:count]}) == count
        for tree, total in zip(heads[:count], totals[:count], strict=True):
            assert sentence.value(tree) == pytest.approx(total, abs=1e-11)


@pytest.mark.parametrize("n", [8, 13, 20])
def test_k_best_spanning_trees_of_longer_sentences(n):
    # Here most arcs are left out, which sentences that can be listed are too short for.
    rng, k = np.random.default_rng(n), 12
    for _ in range(N_CASES // 50 if IS_PYTHON else 20):
        many, scores = int(rng.integers(2)), random_scores(rng, (n + 1, n + 1))
        if rng.random() < 0.4:
            scores[rng.random((n + 1, n + 1)) < 0.6] = -np.inf
        heads, totals = np.zeros((k, n), dtype=np.int32), np.zeros(k)
        count = best_k_spanning(scores, many, k, spanning_lists_room(n, k), heads, totals)
        expected = best_by_division(scores, many, k)
        assert totals[:count].tolist() == pytest.approx(expected, abs=1e-11)
        assert len({tree.tobytes() for tree in heads[:count]}) == count
        words = np.arange(1, n + 1)
        for tree, total in zip(heads[:count], totals[:count], strict=True):
            assert scores[tree, words].sum() == pytest.approx(total, abs=1e-11)
            assert many or (tree == 0).sum() == 1
            assert is_tree(tree)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e20])
def test_one_root_however_large_scores_are(size):
    # What the arcs of the root are lowered by must neither round scores nor be rounded away.
    scores = np.full((6, 6), size)
    heads, totals = np.zeros((700, 5), dtype=np.int32), np.zeros(700)
    assert best_spanning(scores, 0, contraction_room(5), heads[0]) == pytest.approx(5 * size)
    count = best_k_spanning(scores, 0, 700, spanning_lists_room(5, 700), heads, totals)
    assert count == len({tree.tobytes() for tree in heads[:count]}) == 625
    assert ((heads[:count] == 0).sum(axis=1) == 1).all()


def best_by_division(scores, many, k):
    """The scores of the k best trees: all others differ from the best in a first word."""
    n = len(scores) - 1
    found, parts = [], [(scores, 1)]
    waiting = []
    while True:
        for part, first in parts:
            heads = np.zeros(n, dtype=np.int32)
            total = best_spanning(part, many, contraction_room(n), heads)
            if total > -np.inf:
                waiting.append((total, part, first, heads))
        if len(found) == k or not waiting:
            return found
        at = max(range(len(waiting)), key=lambda place: waiting[place][0])
        total, part, first, heads = waiting.pop(at)
        found.append(total)
        parts = []
        for word in range(first, n + 1):
            other, part = part.copy(), part.copy()
            other[heads[word - 1], word] = -np.inf
            part[np.arange(n + 1) != heads[word - 1], word] = -np.inf
            parts.append((other, word))


def is_tree(heads):
    """Whether every word comes to the root in so many steps as there are words."""
    at = np.arange(1, len(heads) + 1)
    for _ in heads:
        at = np.where(at == 0, 0, heads[at - 1])
    return not at.any()


def test_marginals(sentences):
    temperatures = np.resize([0.002, 0.5, 1.0, 30.0], N_CASES).tolist()
    for temperature, sentence in zip(temperatures, sentences, strict=True):
        arcs = np.full_like(sentence.scores, np.nan)
        pairs = np.full_like(sentence.siblings, np.nan)
        with np.errstate(all="ignore"):  # overflow is looked for afterwards
            found = sentence.marginals(temperature, arcs, pairs)
        if len(sentence.finite) == 0:
            assert found == -np.inf
            assert (arcs == 0.0).all()
            continue
        logs = sentence.values / temperature
        expected = logsumexp(logs)
        chance = np.exp(logs - expected)[:, None] + np.zeros_like(sentence.trees)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)
        expected_arcs = np.zeros_like(arcs)
        words = np.broadcast_to(sentence.words, sentence.trees.shape)
        np.add.at(expected_arcs, (sentence.trees, words), chance)
        np.testing.assert_allclose(arcs, expected_arcs, atol=1e-9)
        if sentence.space == "siblings":
            expected_pairs = np.zeros_like(pairs)
            before = all_siblings(sentence.n, not sentence.many)
            np.add.at(expected_pairs, (sentence.trees, words, before), chance)
            np.testing.assert_allclose(pairs, expected_pairs, atol=1e-9)


@pytest.mark.parametrize("second", [False, True])
def test_marginals_of_ties_however_cold_and_hot(second):
    # Whole numbers, of which many trees have the same sum. Those of size 50 make arcs that beside
    # the best tree's weigh e^-750, and others that make up for them.
    rng, n_cases = np.random.default_rng(2), N_CASES if IS_PYTHON else 20 * N_CASES
    temperatures = [1e-10, 1e-6, 0.01, 1.0, 1.0, 1.0, 1e6]
    for temperature in np.resize(temperatures, n_cases).tolist():
        n, many = int(rng.integers(1, 6)), int(rng.integers(2))
        scores = rng.integers(-18, 19, size=(n + 1, n + 1)) * float(rng.choice([0, 1, 50, 2**40]))
        scores[rng.random(scores.shape) < rng.choice([0.0, 0.5])] = -np.inf
        siblings = rng.integers(-1, 2, size=(n + 1,) * 3).astype(float) if second else NONE
        listed, words = trees(n, True, not many), np.arange(1, n + 1)
        values = scores[listed, words].sum(axis=1)
        if second:
            values += siblings[listed, words, all_siblings(n, not many)].sum(axis=1)
        best = values.max()
        if best == -np.inf:
            continue
        weights = np.exp((values - best) / temperature)
        arcs, expected = np.full_like(scores, np.nan), np.zeros_like(scores)
        chance = (weights / weights.sum())[:, None] + np.zeros_like(listed)
        np.add.at(expected, (listed, np.broadcast_to(words, listed.shape)), chance)
        room, pairs = tree_sums_room(n), np.zeros_like(siblings)
        with np.errstate(all="ignore"):
            found = tree_marginals(scores, siblings, many, temperature, room, arcs, pairs)
        assert found == pytest.approx(best / temperature + np.log(weights.sum()), rel=1e-12)
        np.testing.assert_allclose(arcs, expected, atol=1e-11)


def test_a_tree_that_all_but_ties_is_not_lost():
    # Beside the best tree, 4 1 1 0 0, an arc of 3 1 5 3 0 weighs e^-750 in all, and the others make
    # up for it. Exponentials lost it, and all else added up.
    scores = np.full((6, 6), -np.inf)
    for head, word, value in [
        (0, 4, 550.001), (0, 5, 850.001), (1, 2, 400.001), (1, 3, 50.001), (3, 1, 500.0),
        (3, 4, 850.0), (4, 1, -99.999), (5, 3, -850.0), (1, 4, -450.0), (0, 2, -650.0),
    ]:  # fmt: skip
        scores[head, word] = value
    arcs = np.zeros_like(scores)
    tree_marginals(scores, NONE, 1, 1.0, tree_sums_room(5), arcs, NONE)
    np.testing.assert_allclose(arcs[4, 1], 1.0 / (1.0 + np.exp(-0.003)), atol=1e-9)


def test_profile():
    rng = np.random.default_rng(1)
    for _ in range(2 * N_CASES):
        sentence = Sentence(rng, "projective")
        n, words = sentence.n, sentence.words
        truth = sentence.trees[rng.integers(len(sentence.trees))]
        right, wrong = np.full_like(sentence.scores, -np.inf), sentence.scores.copy()
        right[truth, words] = sentence.scores[truth, words]
        # Without relations a true arc is never a step; with them its best other relation is one.
        wrong[truth, words] += -np.inf if rng.random() < 0.5 else rng.normal(size=n)
        for word in words[rng.random(n) < 0.2]:  # not counted
            right[:, word], wrong[:, word] = sentence.scores[:, word], -np.inf
        limit = int(rng.choice([0, 1, 2, 99]))
        room, totals = tree_levels_room(n + 1), np.full(n + 1, np.nan)
        n_levels = projective_profile(right, wrong, sentence.many, limit, room, totals)
        assert n_levels == min(limit, n) + 1
        expected = best_per_level(sentence.trees, right, wrong)[:n_levels]
        assert totals[:n_levels].tolist() == pytest.approx(expected.tolist(), abs=1e-11)
        for level in np.flatnonzero(expected > -np.inf):
            heads, steps = np.full((2, n), -9, dtype=np.int32)
            write_projective_level(
                right, wrong, sentence.many, room, level, totals[level], heads, steps
            )
            assert (sentence.trees == heads).all(axis=1).any()
            assert steps.sum() == level
            value = np.where(steps == 1, wrong[heads, words], right[heads, words]).sum()
            assert value == pytest.approx(totals[level], abs=1e-11)


def best_per_level(trees, right, wrong):
    """The best score of any listed tree with each number of steps."""
    n = trees.shape[1]
    best = np.full((len(trees), n + 1), -np.inf)
    best[:, 0] = 0.0
    for word in range(1, n + 1):
        one_more = np.full_like(best, -np.inf)
        one_more[:, 1:] = best[:, :-1] + wrong[trees[:, word - 1], word][:, None]
        best = np.maximum(best + right[trees[:, word - 1], word][:, None], one_more)
    return best.max(axis=0)
