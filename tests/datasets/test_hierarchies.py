"""Data sets with a hierarchy: what is drawn, and what the local folder has."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.datasets import (
    load_cellcycle,
    load_enzymes,
    load_imclef07,
    load_newsgroups,
    make_balanced_tree,
    make_caterpillar,
)
from maxmargin.inputs.hierarchy import Hierarchy


def test_balanced_tree_is_that_of_its_description():
    data = make_balanced_tree(300, 200, n_dev=100, n_features=20, seed=3)
    assert data.X_train.shape == (300, 20) and data.X_dev.shape == (100, 20)
    assert len(data.y_test) == 200 and len(data.classes) == 8
    assert len(Hierarchy.from_paths(data.classes)) == 14
    # The scores of leaves are sums over paths: draw the same weights and look.
    rng = np.random.default_rng(3)
    W, X = rng.standard_normal((14, 20)), rng.standard_normal((600, 20))
    names = ["0", "1"] + [f"{a}/{b}" for a in "01" for b in "01"]
    names += [f"{a}/{b}/{c}" for a in "01" for b in "01" for c in "01"]
    scores = dict(zip(names, W @ X[:300].T, strict=True))
    for i, label in enumerate(data.y_train):
        totals = {leaf: sum(scores[leaf[:k]][i] for k in (1, 3, 5)) for leaf in data.classes}
        assert max(totals, key=totals.get) == label


def test_caterpillar_halves_what_is_left():
    data = make_caterpillar(4000, 10, n_dev=10, n_features=30, seed=1)
    assert np.allclose(np.linalg.norm(data.X_train, axis=1), 1.0)
    assert len(data.classes) == 11 and len(Hierarchy.from_paths(data.classes)) == 20
    shares = [np.mean(data.y_train == label) for label in data.classes]
    assert sum(shares) == pytest.approx(1.0) and shares[0] > 0.4 > shares[2]
    again = make_caterpillar(4000, 10, n_dev=10, n_features=30, seed=1)
    assert np.array_equal(data.X_train, again.X_train) and data.y_train[0] == again.y_train[0]
    with pytest.raises(ValueError, match="n_train"):
        make_caterpillar(0)


def test_local_sets(data_dir):
    data = load_imclef07("a", scale=True)
    assert data.X_train.shape == (10000, 80) and len(data.y_test) == 1006
    assert abs(data.X_train.mean()) < 1e-9
    tree = Hierarchy.from_edges(data.extra["edges"], data.classes)
    assert len(tree) == 96 and len(tree.leaves) == 63 and set(data.y_train) <= set(tree.leaves)
    data = load_cellcycle("fun")
    assert data.X_dev.shape == (848, 77) and np.isnan(data.X_test).sum() == 5166
    data = load_cellcycle("go")
    dag = Hierarchy.from_edges(data.extra["edges"], data.classes)
    assert len(dag) == 4126 and not dag.is_forest and dag.depth == 15
    data = load_newsgroups()
    assert data.X_train.shape[0] == len(data.y_train) < 12900
    assert all(isinstance(name, str) for name in data.y_test)
    assert len(load_newsgroups(several=True).y_test) == 6400
    data = load_enzymes()
    assert len(data.X_train) == len(data.y_train) < 7757
    assert all(name.count(".") == 2 for name in data.y_train)
    assert len(load_enzymes(several=True, levels=4).y_train) == 7757


def test_wrong_names():
    for call in (
        lambda: load_imclef07("b"),
        lambda: load_cellcycle("ec"),
        lambda: load_enzymes(levels=5),
    ):
        with pytest.raises(ValueError, match=r"There are|must be"):
            call()
