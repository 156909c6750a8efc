"""Batches of parses against one sentence after the other, which test_parse_kernels.py holds.

test_graphs_uncompiled.py runs this module once more with kernels that run as Python; compiled, it
tries more sentences.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.special import gammaln

from maxmargin.inference import parse
from maxmargin.inference._exp import LEAST, fast_exp
from maxmargin.inference.parse.projective import (
    batch_chart_room,
    batch_sums_room,
    best_projective_batch,
    projective_marginals_batch,
)
from maxmargin.inference.parse.projective.lanes import (
    WIDTH,
    best_of_runs,
    copy_cell,
    lanes_room,
    sum_of_runs,
)

IS_PYTHON = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
#: Sizes of batches: none, some lanes, all of them, one more, three groups.
SIZES = [0, 1, 7, 8, 9, 20]
LONGEST = 5 if IS_PYTHON else 12

spaces = pytest.mark.parametrize("projective", [True, False])


def drawn(rng, n_sentences, relations=()):
    """Scores of a padded batch, and lengths; each sentence has a tree, be it by the root alone."""
    lengths = rng.integers(1, LONGEST + 1, size=n_sentences)
    side = int(lengths.max(initial=1)) + 1
    shape = (n_sentences, side, side, *relations)
    kind = rng.integers(3)
    scores = rng.normal(size=shape) if kind else rng.integers(-2, 3, size=shape).astype(float)
    if kind == 2:
        walls = rng.random(shape) < 0.3
        walls[:, np.arange(side - 1), np.arange(1, side)] = False
        scores[walls] = -np.inf
    return scores, lengths


def own(scores, lengths, i):
    return scores[i, : lengths[i] + 1, : lengths[i] + 1]


@spaces
@pytest.mark.parametrize("one_root", [True, False])
def test_best_trees_are_those_of_single_sentences_to_the_bit(rng, projective, one_root):
    space = {"projective": projective, "one_root": one_root}
    for n_sentences in SIZES * (5 if IS_PYTHON else 10):
        scores, lengths = drawn(rng, n_sentences)
        found = parse.maximize_batch(scores, lengths, **space)
        assert found.relations is None
        assert found.heads.shape == (n_sentences, scores.shape[1] - 1)
        for i, n in enumerate(lengths):
            answer = parse.maximize(own(scores, lengths, i), **space)
            assert found.scores[i] == answer.score
            np.testing.assert_array_equal(found.heads[i, :n], answer.output)
            assert (found.heads[i, n:] == -1).all()


@spaces
@pytest.mark.parametrize("one_root", [True, False])
def test_marginals_are_those_of_single_sentences(rng, projective, one_root):
    space = {"projective": projective, "one_root": one_root}
    for n_sentences in SIZES * (5 if IS_PYTHON else 10):
        scores, lengths = drawn(rng, n_sentences)
        # Cold ones are left to the kernel of single sentences, some of a batch or all of it.
        temperature = float(rng.choice([1e-3, 0.01, 0.05, 0.3, 1.0, 30.0]))
        with np.errstate(all="ignore"):
            found = parse.marginals_batch(scores, lengths, temperature=temperature, **space)
            assert found.arcs.shape == scores.shape
            for i, n in enumerate(lengths):
                alone = parse.marginals(own(scores, lengths, i), temperature=temperature, **space)
                assert found.log_partition[i] == pytest.approx(alone.log_partition, rel=1e-11)
                np.testing.assert_allclose(own(found.arcs, lengths, i), alone.arcs, atol=1e-11)
                assert not found.arcs[i, n + 1 :].any() and not found.arcs[i, :, n + 1 :].any()


@spaces
def test_relations(rng, projective):
    scores, lengths = drawn(rng, 9, relations=(3,))
    found = parse.maximize_batch(scores, lengths, projective=projective)
    shares = parse.marginals_batch(scores, lengths, projective=projective, temperature=0.5)
    for i, n in enumerate(lengths):
        answer = parse.maximize(own(scores, lengths, i), projective=projective)
        assert found.scores[i] == answer.score
        np.testing.assert_array_equal(found.heads[i, :n], answer.output.heads)
        np.testing.assert_array_equal(found.relations[i, :n], answer.output.relations)
        assert (found.relations[i, n:] == -1).all()
        alone = parse.marginals(own(scores, lengths, i), projective=projective, temperature=0.5)
        assert shares.log_partition[i] == pytest.approx(alone.log_partition)
        np.testing.assert_allclose(own(shares.arcs, lengths, i), alone.arcs, atol=1e-11)
        assert not shares.arcs[i, n + 1 :].any() and not shares.arcs[i, :, n + 1 :].any()


def test_a_list_of_sentences_is_a_padded_batch(rng):
    scores, lengths = drawn(rng, 9, relations=(2,))
    listed = [own(scores, lengths, i) for i in range(9)]
    one, other = parse.maximize_batch(scores, lengths), parse.maximize_batch(listed)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    assert parse.maximize_batch([]).heads.shape == (0, 0)
    assert parse.marginals_batch([]).log_partition.shape == (0,)
    alike = scores[:, :2, :2]
    for a, b in zip(parse.maximize_batch(alike), parse.maximize_batch(list(alike)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_nothing_of_another_sentence_or_batch_is_left_in_a_workspace(rng):
    for many in (0, 1):
        scores, lengths = drawn(rng, 5)
        order = np.argsort(-lengths, kind="stable")
        heads, totals = np.full((5, scores.shape[1] - 1), -1, dtype=np.int32), np.zeros(5)
        chart, sums = batch_chart_room(LONGEST + 2), batch_sums_room(LONGEST + 2)
        chart.values[:], chart.mirror[:] = np.nan, np.nan
        for room in sums:
            room[:] = np.nan
        best_projective_batch(scores, lengths, order, many, chart, heads, totals)
        found = parse.maximize_batch(scores, lengths, one_root=not many)
        np.testing.assert_array_equal(totals, found.scores)
        np.testing.assert_array_equal(heads, found.heads)
        arcs = np.zeros_like(scores)
        projective_marginals_batch(scores, lengths, order, many, 1.0, sums, totals, arcs)
        found = parse.marginals_batch(scores, lengths, one_root=not many)
        np.testing.assert_array_equal(totals, found.log_partition)
        np.testing.assert_array_equal(arcs, found.arcs)


def test_a_tree_that_all_but_ties_is_not_lost_in_a_batch():
    # As in test_parse_kernels.py: exponentials lose it, so it is left to single sentences.
    scores = np.full((6, 6), -np.inf)
    for head, word, value in [
        (0, 4, 550.001), (0, 5, 850.001), (1, 2, 400.001), (1, 3, 50.001), (3, 1, 500.0),
        (3, 4, 850.0), (4, 1, -99.999), (5, 3, -850.0), (1, 4, -450.0), (0, 2, -650.0),
    ]:  # fmt: skip
        scores[head, word] = value
    with np.errstate(all="ignore"):
        found = parse.marginals_batch([scores, np.zeros((3, 3))], one_root=False)
    np.testing.assert_allclose(found.arcs[0, 4, 1], 1.0 / (1.0 + np.exp(-0.003)), atol=1e-9)
    assert found.log_partition[1] == pytest.approx(np.log(3.0))


@pytest.mark.skipif(IS_PYTHON, reason="takes minutes")
def test_sums_of_very_many_trees_are_left_to_logarithms():
    n = 335
    found = parse.marginals_batch(np.zeros((1, n + 1, n + 1)))
    # There are binomial(3 n - 2, n - 1) / n trees.
    expected = gammaln(3 * n - 1) - gammaln(n) - gammaln(2 * n) - np.log(n)
    assert expected > 600.0
    assert found.log_partition[0] == pytest.approx(expected)
    np.testing.assert_allclose(found.arcs[0, :, 1:].sum(axis=0), 1.0)


def test_exponential():
    x = np.random.default_rng(0).uniform(-800.0, 709.0, 1000)
    x[:4] = 0.0, LEAST + 0.01, 709.0, -1e-20
    found = np.array([fast_exp(each) for each in x])
    expected = np.where(x > LEAST, np.exp(x), 0.0)
    np.testing.assert_allclose(found, expected, rtol=5e-16, atol=0.0)
    assert fast_exp(-np.inf) == fast_exp(np.float64(-1e300)) == fast_exp(LEAST) == 0.0


def test_runs(rng):
    from maxmargin.core.compile import compiled

    room = lanes_room(40)
    assert room.shape == (40, WIDTH) and room.ctypes.data % 64 == 0
    one, other = rng.normal(size=(2, 40, WIDTH))
    one[rng.random(one.shape) < 0.2] = -np.inf
    finite = np.where(one > -np.inf, one, 0.0)
    for n_cells in (0, 1, 2, 5, 16, 31):
        results = []
        for run in (_runs, compiled(_runs)):
            results.append(np.ones((6, WIDTH)))
            run(one, finite, other, n_cells, results[-1])
        np.testing.assert_array_equal(results[0][:2], results[1][:2])
        np.testing.assert_allclose(results[0], results[1], rtol=1e-12, atol=1e-13)


def _runs(one, finite, other, n_cells, out):
    best_of_runs(one, 3, other, 7, n_cells, out, 1)
    sum_of_runs(finite, 3, other, 7, n_cells, out, 2, 0)
    sum_of_runs(finite, 3, other, 7, n_cells, out, 3, 1)
    copy_cell(one, n_cells, out, 4)


ZEROS = np.zeros((2, 4, 4))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: parse.maximize_batch(np.zeros((2, 3))), ValueError, "scores must have 3 dim"),
        (lambda: parse.maximize_batch(np.zeros((2, 3, 4))), ValueError, r"shape \(2, 3, 4\)"),
        (lambda: parse.maximize_batch(ZEROS[:, :1, :1]), ValueError, "sentence 0 has 0 words"),
        (lambda: parse.maximize_batch(ZEROS, [2, 0]), ValueError, "sentence 1 has 0 words"),
        (lambda: parse.maximize_batch(ZEROS, [4, 3]), ValueError, "sentence 0 has 4 words; exp"),
        (lambda: parse.maximize_batch(ZEROS, [3]), ValueError, "lengths must be 2 integers"),
        (lambda: parse.maximize_batch(ZEROS, [3.0, 2.0]), ValueError, "lengths must be 2 integ"),
        (lambda: parse.maximize_batch(ZEROS + np.nan), ValueError, r"scores\[0, 0, 0\] is NaN"),
        (
            lambda: parse.maximize_batch([ZEROS[0], ZEROS[0] + np.inf]),
            ValueError,
            r"scores\[1\]\[0",
        ),
        (lambda: parse.maximize_batch([ZEROS[0], ZEROS[0, :3]]), ValueError, r"scores\[1\] has sh"),
        (lambda: parse.maximize_batch([ZEROS[0], [[0.0]]]), ValueError, r"scores\[1\] has shape"),
        (lambda: parse.maximize_batch(np.zeros((1, 3, 3, 0))), ValueError, "has no relation"),
        (lambda: parse.maximize_batch([[["a"]]]), TypeError, "must hold real numbers"),
        (
            lambda: parse.maximize_batch([ZEROS[0], np.full((3, 3), -np.inf)]),
            ValueError,
            "allow no output for sentence 1",
        ),
        (
            lambda: parse.marginals_batch([ZEROS[0], np.full((3, 3), -np.inf)], projective=False),
            ValueError,
            "allow no output for sentence 1",
        ),
        (
            lambda: parse.marginals_batch([np.full((3, 3), -np.inf)]),
            ValueError,
            "allow no output for sentence 0",
        ),
        (lambda: parse.marginals_batch(ZEROS, temperature=0.0), ValueError, "temperature must be"),
        (
            lambda: parse.maximize_batch(np.eye(3)[None] * [[[0, 0, 1e290]]], projective=False),
            ValueError,
            "scores of sentence 0 differ by more than",
        ),
        (
            lambda: parse.marginals_batch(
                [np.zeros((3, 3)), [[0, 1e3, 0], [0, 0, 0], [0, 0, 0]]],
                projective=False,
                temperature=1e-11,
            ),
            ValueError,
            "scores of sentence 1 differ by 1000",
        ),
    ],
)
def test_bad_batches(call, error, message):
    with pytest.raises(error, match=message):
        call()
