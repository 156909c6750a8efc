"""Marginals of batches of chains by products, against those by logarithms."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.inference import chain
from maxmargin.inference.chain.scaled import scaled_batch


def solved(kernel, unary, edges, lengths):
    """Return totals, nodes and shared parts; None where the kernel leaves it to others."""
    n, longest, n_labels = unary.shape
    kept = np.flatnonzero(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths[kept])])
    totals, node = np.zeros(n), np.zeros(unary.shape)
    shared = np.zeros((n, n_labels + 2, n_labels))
    room = np.full((2, n_labels, n_labels), np.nan), np.full((4, longest, n_labels), np.nan)
    if kernel(unary, edges, kept, offsets, *room, totals, node, shared):
        return totals, node, shared
    return None


def check(found, unary, edges, lengths):
    """Compare with `chain.marginals` of each sequence."""
    n_labels = unary.shape[2]
    for i, length in enumerate(lengths):
        totals, node, shared = (array[i] for array in found)
        assert (node[length:] == 0.0).all()
        if length == 0:
            assert totals == 0.0 and (shared == 0.0).all()
            continue
        own = chain.marginals(unary[i, :length], edges[:n_labels], *edges[n_labels:])
        assert totals == pytest.approx(own.log_partition, rel=1e-12, abs=1e-10)
        np.testing.assert_allclose(node[:length], own.node, atol=1e-10)
        np.testing.assert_allclose(shared[:n_labels], own.edge.sum(axis=0), atol=1e-9)
        np.testing.assert_allclose(shared[n_labels:], own.node[[0, -1]], atol=1e-10)


def drawn(rng, scale, walls, n_labels=3, longest=6):
    unary = rng.normal(scale=scale, size=(4, longest, n_labels))
    edges = rng.normal(scale=scale, size=(n_labels + 2, n_labels))
    edges[rng.random(edges.shape) < walls] = -np.inf
    unary[rng.random(unary.shape) < walls / 3.0] = -np.inf
    return unary, edges, rng.integers(longest + 1, size=4)


@pytest.mark.parametrize("walls", [0.0, 0.3])
@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0, 300.0])
def test_products_are_right_or_refused(scale, walls, rng):
    n_found = 0
    for _ in range(60):
        batch = drawn(rng, scale, walls)
        found = solved(scaled_batch.py_func, *batch)
        if found is not None:
            n_found += 1
            check(found, *batch)
    assert n_found > 0 or scale > 3.0


@pytest.mark.filterwarnings("error")
def test_numbers_that_would_be_lost_are_left_to_others():
    # Labels that do not mix: 1 falls behind by e^-90 a step, and comes back at the end.
    edges = np.array([[0.0, -np.inf], [-np.inf, 0.0], [0.0, 0.0], [0.0, 0.0]])
    for n_back, is_left in ((3, False), (12, True)):
        unary = np.zeros((1, 2 * n_back, 2))
        unary[0, :n_back, 1], unary[0, n_back:, 1] = -90.0, 90.0
        lengths = np.array([2 * n_back])
        found = solved(scaled_batch.py_func, unary, edges, lengths)
        assert (found is None) == is_left
        if found is not None:
            check(found, unary, edges, lengths)
    # And what allows nothing at all.
    assert solved(scaled_batch.py_func, unary, np.full((4, 2), -np.inf), lengths) is None


def test_compiled(rng):
    batch = drawn(rng, 1.0, 0.1, 5, 40)
    one, other = (solved(each, *batch) for each in (scaled_batch, scaled_batch.py_func))
    check(one, *batch)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.filterwarnings("error")
def test_labels_that_nothing_reaches_do_not_overflow():
    # From label 0 only 1 follows, by a factor of e^-99 a step; label 0 goes on from nowhere.
    edges = np.array([[0.0, 0.0], [-np.inf, -99.0], [-np.inf, 0.0], [0.0, 0.0]])
    unary, lengths = np.zeros((1, 12, 2)), np.array([12])
    found = solved(scaled_batch.py_func, unary, edges, lengths)
    assert found is not None
    check(found, unary, edges, lengths)
    # Nor does what is forbidden at the last position count there.
    unary[0, -1, 0] = -np.inf
    found = solved(scaled_batch.py_func, unary, edges, lengths)
    assert found is not None
    check(found, unary, edges, lengths)
