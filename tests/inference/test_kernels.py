"""Chain and class kernels: against enumeration, compiled and uncompiled, workspaces exactly fit.

test_boundscheck.py runs this module once more with numba's bounds checks.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest

from maxmargin.inference.chain import public as chain
from maxmargin.inference.classes import public as classes
from maxmargin.testing import enumerate as brute

BOUNDSCHECK = bool(numba.config.BOUNDSCHECK)
SIZES = [(1, 1), (1, 3), (4, 1), (2, 2), (3, 5), (5, 3), (4, 6)]


@pytest.fixture(params=SIZES, ids=str)
def potentials(request):
    """Integers, so that ties are exact, with some labels and transitions forbidden."""
    length, n_labels = request.param
    rng = np.random.default_rng(length * 10 + n_labels)
    unary = rng.integers(-3, 4, (length, n_labels)).astype(float)
    transitions = rng.integers(-3, 4, (n_labels, n_labels)).astype(float)
    start, end = rng.integers(-3, 4, (2, n_labels)).astype(float)
    if n_labels > 2:
        unary[rng.integers(length), rng.integers(n_labels)] = -np.inf
        transitions[rng.random((n_labels, n_labels)) < 0.3] = -np.inf
    return unary, transitions, start, end


@pytest.fixture(params=["compiled", "python"])
def run(request):
    """Calls a kernel either way. Bounds are a matter of compiled code alone."""
    if request.param == "compiled":
        return lambda kernel, *arguments: kernel(*arguments)
    if BOUNDSCHECK:
        pytest.skip("uncompiled code checks its bounds anyway")
    return lambda kernel, *arguments: kernel.py_func(*arguments)


def test_best_path_and_its_score(potentials, run):
    length, n_labels = potentials[0].shape
    path = np.full(length, -7, dtype=np.int32)
    score = run(chain.best_path, *potentials, np.full((length, n_labels), np.nan), path)
    outputs, scores = brute.k_best(brute.chain(*potentials), 1)
    assert score == scores[0]
    np.testing.assert_array_equal(path, outputs[0])
    assert run(chain.path_score, *potentials, path) == score


def test_best_path_leaves_the_rest_of_larger_workspaces_alone(potentials, run):
    length, n_labels = potentials[0].shape
    delta = np.full((length + 2, n_labels), 5.0)
    path = np.full(length + 2, 9, dtype=np.int32)
    run(chain.best_path, *potentials, delta, path)
    assert (delta[length:] == 5.0).all()
    assert (path[length:] == 9).all()


def test_best_path_of_nothing_feasible_is_the_first_labels(run):
    unary = np.array([[1.0, 2.0], [-np.inf, -np.inf], [0.0, 1.0]])
    path = np.full(3, 9, dtype=np.int32)
    score = run(chain.best_path, unary, np.eye(2), np.zeros(2), np.zeros(2), np.empty((3, 2)), path)
    assert score == -np.inf
    assert path.tolist() == [0, 0, 0]


@pytest.mark.parametrize("k", [1, 3, 1000])
def test_best_k_paths(potentials, run, k):
    length, n_labels = potentials[0].shape
    paths = np.full((k, length), -7, dtype=np.int32)
    scores = np.full(k, np.nan)
    count = run(
        chain.best_k_paths,
        *potentials,
        k,
        np.full((length, n_labels, k), np.nan),
        np.full((length, n_labels, k), 99, dtype=np.int32),
        np.full((length, n_labels, k), 99, dtype=np.int32),
        np.empty(n_labels, dtype=np.int32),
        np.empty(n_labels),
        paths,
        scores,
    )
    true_outputs, true_scores = brute.k_best(brute.chain(*potentials), k)
    assert count == len(true_scores)
    np.testing.assert_array_equal(scores[:count], true_scores)
    np.testing.assert_array_equal(paths[:count], true_outputs)


@pytest.mark.parametrize("temperature", [0.05, 1.0, 40.0])
def test_forward_backward(potentials, run, temperature):
    length, n_labels = potentials[0].shape
    top, log_sum, node = np.full((3, length, n_labels), np.nan)
    edge = np.full((length - 1, n_labels, n_labels), np.nan)
    log_partition = run(chain.forward_backward, *potentials, temperature, top, log_sum, node, edge)
    true_node, true_edge, true_log = brute.marginals(brute.chain(*potentials), temperature)
    np.testing.assert_allclose(node, true_node, atol=1e-12)
    np.testing.assert_allclose(edge, true_edge, atol=1e-12)
    assert log_partition == pytest.approx(true_log, rel=1e-12, abs=1e-12)


def test_forward_backward_of_nothing_feasible_is_zeros(run):
    unary = np.array([[1.0, 2.0], [-np.inf, -np.inf], [0.0, 1.0]])
    top, log_sum, node = np.full((3, 3, 2), np.nan)
    edge = np.full((2, 2, 2), np.nan)
    zeros = np.zeros(2)
    log_partition = run(
        chain.forward_backward, unary, np.eye(2), zeros, zeros, 1.0, top, log_sum, node, edge
    )
    assert log_partition == -np.inf
    assert not node.any()
    assert not edge.any()


def test_path_max_marginals(potentials, run):
    forward, result = np.full((2, *potentials[0].shape), np.nan)
    run(chain.path_max_marginals, *potentials, forward, result)
    np.testing.assert_array_equal(result, brute.max_marginals(brute.chain(*potentials)))


@pytest.mark.parametrize("unknown", [False, True])
def test_profile_by_mismatches(potentials, run, unknown):
    length, n_labels = potentials[0].shape
    reference = np.arange(length, dtype=np.int32) % n_labels
    if unknown:
        reference[length // 2] = -1
    step = np.array([[r >= 0 and r != k for k in range(n_labels)] for r in reference], np.int32)
    scores, paths = profile_all(run, potentials, step, length)
    true_scores, true_outputs = brute.profile(brute.chain(*potentials), reference)
    np.testing.assert_array_equal(scores, true_scores)
    np.testing.assert_array_equal(paths, true_outputs)


def test_profile_of_several_steps(potentials, run):
    length, n_labels = potentials[0].shape
    step = np.random.default_rng(length).integers(0, 4, size=(length, n_labels)).astype(np.int32)
    n_levels = int(step.max(axis=1).sum()) + 1
    scores, paths = profile_all(run, potentials, step, n_levels - 1)
    listed = brute.chain(*potentials)
    levels = step[np.arange(length), listed.outputs].sum(axis=1)
    for level in range(n_levels):
        best = listed.scores[levels == level].max(initial=-np.inf)
        assert scores[level] == best
        if best > -np.inf:
            assert step[np.arange(length), paths[level]].sum() == level
            assert chain.path_score(*potentials, paths[level]) == pytest.approx(best, rel=1e-12)


def test_profile_up_to_a_limit_is_the_beginning_of_the_profile(potentials, run):
    length, n_labels = potentials[0].shape
    step = np.random.default_rng(length).integers(0, 3, size=(length, n_labels)).astype(np.int32)
    most = int(step.max(axis=1).sum())
    scores, paths = profile_all(run, potentials, step, most)
    for limit in range(most):
        some, some_paths = profile_all(run, potentials, step, limit)
        np.testing.assert_array_equal(some, scores[: limit + 1])
        np.testing.assert_array_equal(some_paths, paths[: limit + 1])


def profile_all(run, potentials, step, most):
    length, n_labels = potentials[0].shape
    scores = np.full(most + 1, -np.inf)
    paths = np.full((most + 1, length), -1, dtype=np.int32)
    reach = np.zeros(length + 1, dtype=np.int64)
    delta = np.full((length, most + 1, n_labels), np.nan)
    run(chain.profile_scores, *potentials, step, most, reach, delta, np.empty(n_labels), scores)
    unary, transitions, _, end = potentials
    for level in np.flatnonzero(scores > -np.inf):
        found = scores[level], paths[level]
        run(chain.profile_path, unary, transitions, end, step, reach, delta, level, *found)
    return scores, paths


@pytest.mark.parametrize(
    "scores", [[2.0], [-np.inf, 0.0], [1.0, 3.0, 3.0], [0.0] * 5, [-np.inf] * 2], ids=str
)
def test_class_kernels(scores, run):
    scores = np.array(scores)
    assert run(classes.best_class, scores) == np.argmax(scores)
    node = np.full(len(scores), np.nan)
    log_partition = run(classes.class_marginals, scores, 0.5, node)
    if scores.max() == -np.inf:
        assert log_partition == -np.inf
        assert not node.any()
    else:
        true_node, _, true_log = brute.marginals(brute.classes(scores), 0.5)
        np.testing.assert_allclose(node, true_node[0], atol=1e-15)
        assert log_partition == pytest.approx(true_log)


def test_kernels_are_called_from_compiled_code():
    chain_best, chain_score = chain.best_path, chain.path_score

    @numba.njit
    def oracle(unary, transitions, start, end, delta, path):
        best = chain_best(unary, transitions, start, end, delta, path)
        return best - chain_score(unary, transitions, start, end, path)

    rng = np.random.default_rng(0)
    unary, transitions = rng.normal(size=(3, 4)), rng.normal(size=(4, 4))
    start, end = rng.normal(size=(2, 4))
    path = np.empty(3, dtype=np.int32)
    assert oracle(unary, transitions, start, end, np.empty((3, 4)), path) == 0.0


@pytest.mark.skipif(not BOUNDSCHECK, reason="shows that bounds are checked where they should be")
def test_a_short_workspace_is_noticed():
    with pytest.raises(IndexError):
        chain.best_path(
            np.zeros((3, 2)),
            np.zeros((2, 2)),
            np.zeros(2),
            np.zeros(2),
            np.empty((2, 2)),
            np.empty(3, dtype=np.int32),
        )
