"""Learnt rounding: its expected score, what it returns, what it refuses."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra torch")

import numpy as np  # noqa: E402

from maxmargin.inference import FactorGraph  # noqa: E402
from maxmargin.rounding import Complete, expected_score  # noqa: E402
from maxmargin.rounding.learnt import _instance, expected_score_of, learn_rounding  # noqa: E402


def grid(rng, height=3, width=3, K=3):
    node = np.arange(height * width).reshape(height, width)
    edges = [*zip(node[:, :-1].ravel(), node[:, 1:].ravel(), strict=True),
             *zip(node[:-1].ravel(), node[1:].ravel(), strict=True)]  # fmt: skip
    edges = np.array(edges)
    return FactorGraph(rng.normal(size=(node.size, K)), edges, rng.normal(size=(len(edges), K, K)))


def marginals(rng, n, K):
    mu = rng.random((n, K))
    return mu / mu.sum(axis=1, keepdims=True)


def test_the_expected_score_is_that_of_complete_rounding(rng):
    graph = grid(rng)
    net = learn_rounding([graph], [marginals(rng, 9, 3)], n_steps=1, hidden=4, latent=2)
    for _ in range(5):
        mu = marginals(rng, 9, 3)
        instance = _instance(graph, mu, net, None)
        ours = expected_score_of(instance, instance.y).item()
        assert ours == pytest.approx(expected_score(graph, mu.ravel(), Complete()), abs=1e-4)


@pytest.mark.parametrize("is_grid", [False, True])
def test_the_best_of_all_is_returned_and_training_helps(is_grid, rng):
    graph, mu = grid(rng), np.full((9, 3), 1.0 / 3.0)
    sizes, size = ([(3, 3)], {"size": (3, 3)}) if is_grid else (None, {})
    before = learn_rounding([graph], [mu], sizes=sizes, n_steps=1).round(graph, mu, **size)
    net = learn_rounding([graph], [mu], sizes=sizes, n_steps=150)
    found = net.round(graph, mu, **size)
    assert found.mean > before.mean
    assert found.score == max(found.scores.values()) == found.scores[found.method]
    assert found.score == pytest.approx(graph.score(found.labels.tolist()))
    assert found.scores["learnt+local"] >= found.scores["learnt"]
    net = learn_rounding([graph], [mu], sizes=sizes, n_steps=1)
    tuned = net.fine_tuned(graph, mu, **size)
    weights = [next(iter(each.decoder.parameters())) for each in (net, tuned)]
    assert not torch.equal(*weights)  # a copy was trained, and the net is as it was


def test_bad_input(rng):
    graph, mu = grid(rng), marginals(rng, 9, 3)
    net = learn_rounding([graph], [mu], n_steps=1, hidden=4, latent=2)
    with pytest.raises(ValueError, match="the net is for 9 nodes and 3 labels, the graph has 4"):
        net.round(grid(rng, 2, 2), marginals(rng, 4, 3))
    with pytest.raises(ValueError, match="size must be given"):
        net.round(graph, mu, size=(3, 3))
    with pytest.raises(ValueError, match="a grid of 2 x 3 has not 9 nodes"):
        learn_rounding([graph], [mu], sizes=[(2, 3)])
    with pytest.raises(ValueError, match="there must be one entry of mus per graph"):
        learn_rounding([graph], [])
    with pytest.raises(ValueError, match="all nodes must have one number of labels"):
        learn_rounding([FactorGraph([[0.0], [0.0, 1.0]])], [[[1.0], [0.5, 0.5]]])
    with pytest.raises(ValueError, match="must be finite"):
        learn_rounding([FactorGraph([[0.0, -np.inf]])], [[[1.0, 0.0]]])
