"""The zero-one cost on chains against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.core.contract import margin_error, maximize, output_cost, potentials, workspace
from maxmargin.costs import WholeCost
from maxmargin.inference.chain.best import path_score
from maxmargin.inference.chain.other import best_other_path
from maxmargin.structures import chain_data, chain_layout
from maxmargin.testing import enumerate as brute


@st.composite
def chains(draw):
    """Potentials of small integers, so that ties are common, some of them forbidden."""
    length, n_labels = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    cell = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 1.0, 2.0, -np.inf])

    def table(*shape):
        n = int(np.prod(shape))
        return np.array(draw(st.lists(cell, min_size=n, max_size=n))).reshape(shape)

    reference = draw(st.lists(st.integers(0, n_labels - 1), min_size=length, max_size=length))
    parts = table(length, n_labels), table(n_labels, n_labels), table(n_labels), table(n_labels)
    return parts, np.array(reference, dtype=np.int32)


@settings(max_examples=50)
@given(chains())
def test_best_other_path_is_the_best_of_all_others(chain):
    parts, reference = chain
    length, n_labels = parts[0].shape
    path = np.full(length, -7, dtype=np.int32)
    score = best_other_path(*parts, reference, np.empty(length), np.empty((length, n_labels)), path)
    everything = brute.chain(*parts)
    is_other = (everything.outputs != reference).any(axis=1)
    expected = everything.scores[is_other].max(initial=-np.inf)
    assert score == expected
    if expected > -np.inf:
        assert path_score(*parts, path) == expected
        first = np.flatnonzero(is_other & (everything.scores == expected))[0]
        assert path.tolist() == everything.outputs[first].tolist()
    else:
        assert path.tolist() == reference.tolist()


def _one_sequence(rng, length=3, n_labels=3):
    layout = chain_layout(2, n_labels)
    X = rng.integers(-1, 2, (length, 2)).astype(float)
    labels = rng.integers(0, n_labels, length)
    data = chain_data(X, [0, length], labels, layout)
    w = rng.integers(-1, 2, layout.n_rows * n_labels).astype(float)
    theta, room = workspace(data)
    potentials(data, 0, w, 1.0, theta)
    return data, theta, room


@pytest.mark.parametrize("scales", [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (2.0, 5.0)])
def test_oracle_finds_the_best_of_score_and_cost(rng, scales):
    score_scale, cost_scale = scales
    cost = WholeCost(np.array([1.5]))
    wrong = 0
    for _ in range(60):
        data, theta, room = _one_sequence(rng)
        found = np.zeros(3, dtype=np.int32)
        maximize(data, cost, 0, theta, room, score_scale, cost_scale, found, 0)
        values = [
            score_scale * margin_error(data, 0, theta, y, 0)
            + cost_scale * output_cost(data, cost, 0, y, 0)
            for y in brute.labellings(3, 3)
        ]
        value = score_scale * margin_error(data, 0, theta, found, 0)
        value += cost_scale * output_cost(data, cost, 0, found, 0)
        assert value == pytest.approx(max(values), abs=1e-9)
        wrong += found.tolist() != data.labels.tolist()
    assert wrong > 10


def test_ties_do_not_favour_the_truth():
    # At w = 0 all labellings tie: an oracle that then named the truth would make every fit perfect.
    layout = chain_layout(1, 2)
    data = chain_data(np.ones((3, 1)), [0, 3], [1, 0, 1], layout)
    theta, room = workspace(data)
    potentials(data, 0, np.zeros(layout.n_rows * 2), 1.0, theta)
    found = np.zeros(3, dtype=np.int32)
    maximize(data, WholeCost(np.ones(1)), 0, theta, room, 1.0, 0.0, found, 0)
    assert found.tolist() == [0, 0, 0]
    data = data._replace(labels=np.array([0, 0, 0], dtype=np.int32))
    maximize(data, WholeCost(np.ones(1)), 0, theta, room, 1.0, 0.0, found, 0)
    assert found.tolist() == [0, 0, 0]


def test_cost_is_the_price_of_any_mistake():
    data = chain_data(np.ones((2, 1)), [0, 2], [1, 0], chain_layout(1, 2))
    cost = WholeCost(np.array([3.0]))
    costs = [output_cost(data, cost, 0, y, 0) for y in brute.labellings(2, 2)]
    assert costs == [3.0, 0.0, 3.0, 3.0]
