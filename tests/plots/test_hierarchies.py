"""Pictures of hierarchies: what they show, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import Hierarchy, HierarchySVM, plots
from maxmargin.estimators.hierarchy import FlatSVM, LocalRidge, LocalSVM
from maxmargin.plots._hierarchy_layout import lay_out


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    y = rng.choice(["top/a/b", "top/a/c", "top/d/e", "top/d/f"], size=40)
    X = np.array([[name.count(c) for c in "abcdef"] for name in y]) + rng.normal(size=(40, 6)) / 9
    return HierarchySVM(C=1.0, random_state=0).fit(X, y), X, y


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_weights_are_drawn_into_the_tree(model):
    found, _, _ = model
    ax = plots.hierarchy_weights(found)
    assert sorted(texts(ax)) == ["a", "b", "c", "d", "e", "f", "top"]
    assert len(ax.collections[1].get_offsets()) == 7
    sizes = dict(zip(texts(ax), ax.collections[1].get_sizes(), strict=True))
    norms = dict(zip(found.nodes_, np.linalg.norm(found.coef_, axis=1), strict=True))
    longest = max(norms, key=norms.get).split("/")[-1]
    assert sizes[longest] == max(sizes.values()) and sizes["top"] == min(sizes.values())


def test_many_nodes_are_summarised():
    names = [f"{a}/{b}/{c}" for a in range(5) for b in range(6) for c in range(7)]
    tree = Hierarchy.from_paths(names)
    layout = lay_out(tree, most=120)
    assert len(layout.nodes) == 35 and layout.hidden.sum() == 210
    assert (layout.hidden[layout.is_end] == 7).all()
    assert len(lay_out(tree, most=1000).nodes) == len(tree)
    lines = lay_out(tree, most=1000)
    assert sorted(lines.y[lines.is_end]) == list(range(210))
    for k, up in enumerate(lines.parent):
        if up >= 0:
            assert lines.x[k] == lines.x[up] + 1


def test_one_example(model):
    found, X, y = model
    ax = plots.hierarchy_example(found, X[0], y[0])
    assert any(text.startswith("top") for text in texts(ax))
    other = next(name for name in y if name != found.predict(X[:1])[0])
    ax = plots.hierarchy_example(found, X[0], other)
    assert "wrong" in ax.get_title(loc="left")
    labels = {text.get_text() for text in ax.get_legend().get_texts()}
    assert {"true alone", "predicted alone"} <= labels
    assert "predicted" in plots.hierarchy_example(found, X[0]).get_title(loc="left")
    with pytest.raises(ValueError, match="no node"):
        plots.hierarchy_example(found, X[0], "top/zebra")


def test_sets_of_a_dag_have_no_numbers():
    edges = [("b", "a"), ("c", "a"), ("d", "b"), ("d", "c")]
    X = np.eye(4)
    y = [{"b"}, {"c"}, {"d"}, set()]
    found = HierarchySVM(hierarchy=edges, C=1.0, random_state=0).fit(X, y)
    ax = plots.hierarchy_example(found, X[2], {"d"})
    assert sorted(texts(ax)) == ["a", "b", "c", "d"]


def test_confusion_is_in_the_order_of_the_tree(model):
    found, X, y = model
    ax = plots.hierarchy_confusion(y, found.predict(X), found.hierarchy_)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["top/a/b", "top/a/c", "top/d/e", "top/d/f"]
    image = ax.images[0].get_array()
    np.testing.assert_allclose(image.sum(axis=1), 1.0)
    upper = plots.hierarchy_confusion(y, y, found.hierarchy_, most=3)
    assert [tick.get_text() for tick in upper.get_yticklabels()] == ["top/a", "top/d"]
    np.testing.assert_allclose(upper.images[0].get_array(), np.eye(2))
    with pytest.raises(ValueError, match="several paths or none"):
        plots.hierarchy_confusion([{"top/a/b", "top/d"}], [{"top"}], found.hierarchy_)


@pytest.mark.parametrize("kind", [FlatSVM, LocalSVM, LocalRidge])
def test_baselines_are_drawn_too(model, kind):
    _, X, y = model
    found = kind().fit(X, y)
    assert len(texts(plots.hierarchy_example(found, X[0], y[0]))) > 4
    if kind is LocalRidge:
        with pytest.raises(TypeError, match="LocalRidge keeps no weights of nodes to draw"):
            plots.hierarchy_weights(found)
    else:
        assert len(texts(plots.hierarchy_weights(found))) == 7


def test_what_is_no_hierarchy():
    with pytest.raises(TypeError, match="fitted HierarchySVM"):
        plots.hierarchy_weights(HierarchySVM())
