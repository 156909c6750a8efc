"""Grids, snakes, superpixels; and the graphs of the data folder."""

import sys
from collections import Counter

import numpy as np
import pytest

from maxmargin.datasets import (
    GRID_POTENTIALS,
    MRF_INSTANCES,
    grid_edges,
    load_camvid,
    load_mrf_instance,
    load_snakes,
    make_grid,
    make_noisy_grids,
    make_snakes,
    snake_graph,
    superpixel_graph,
    superpixel_labels,
)


def pairs(edges):
    return {(int(a), int(b)) for a, b in edges}


# Grids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", [4, 8])
def test_grid_edges_are_all_neighbours(neighbours):
    height, width = 3, 4
    edges = grid_edges(height, width, neighbours)
    cells = [(i, j) for i in range(height) for j in range(width)]
    wanted = {
        (a, b)
        for a, (i, j) in enumerate(cells)
        for b, (k, l) in enumerate(cells)
        if a < b and max(abs(i - k), abs(j - l)) == 1
        if neighbours == 8 or abs(i - k) + abs(j - l) == 1
    }
    assert pairs(edges) == wanted and len(edges) == len(wanted)
    assert grid_edges(1, 1, neighbours).shape == (0, 2) == grid_edges(0, 5, neighbours).shape


@pytest.mark.parametrize("potential", GRID_POTENTIALS)
def test_scores_of_grids(potential):
    graph = make_grid((3, 4), 3, potential, strength=2.0, truncation=1.5, random_state=1)
    again = make_grid((3, 4), 3, potential, strength=2.0, truncation=1.5, random_state=1)
    assert np.array_equal(graph.unary, again.unary) and graph.n_nodes == 12
    assert graph.n_factors == 17
    labels = np.random.default_rng(0).integers(0, 3, size=12)
    unary = graph.unary.reshape(12, 3)[np.arange(12), labels].sum()
    apart = np.abs(labels[grid_edges(3, 4)] @ [1, -1])
    if potential == "gauss":
        assert len(graph.tables) == 17 * 9 and np.abs(graph.tables).max() > 3
        return
    edge = {
        "potts": 2.0 * (apart == 0),
        "linear": -2.0 * np.minimum(apart, 1.5),
        "quadratic": -2.0 * np.minimum(apart**2, 1.5),
    }[potential]
    assert graph.score(labels) == pytest.approx(unary + edge.sum())


def test_noisy_grids():
    data = make_noisy_grids(40, (8, 9), 4, noise=0.1, void=0.25, random_state=2)
    assert (len(data.X_train), len(data.X_test)) == (30, 10) and data.extra["shape"] == (8, 9)
    assert data.classes == [0, 1, 2, 3]
    agree, n = 0, 0
    for (features, edges), y in zip(data.X_train, data.y_train, strict=True):
        assert features.shape == (72, 4) and y.dtype == np.int32 and pairs(edges)
        known = y >= 0
        assert (features.argmax(axis=1) == y)[known].all()  # the noise is small
        labels = features.argmax(axis=1)
        agree, n = agree + (labels[edges[:, 0]] == labels[edges[:, 1]]).sum(), n + len(edges)
    share = np.mean([np.mean(y == -1) for y in data.y_train])
    assert 0.2 < share < 0.3 and agree / n > 0.6
    rough = make_noisy_grids(10, (8, 9), 4, noise=0, smoothness=0, random_state=2)
    x, edges = rough.X_train[0]
    labels = x.argmax(axis=1)
    assert (labels[edges[:, 0]] == labels[edges[:, 1]]).mean() < 0.5
    other = make_noisy_grids(40, (8, 9), 4, noise=0.1, void=0.25, random_state=3)
    assert not np.array_equal(data.X_train[0][0], other.X_train[0][0])


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_grid, {"potential": "ising"}, "potential='ising' is unknown"),
        (make_grid, {"n_labels": 0}, "n_labels must be at least 1"),
        (make_grid, {"strength": np.inf}, "strength must be finite"),
        (make_grid, {"neighbours": 6}, "neighbours must be 4 or 8"),
        (make_grid, {"shape": (-1, 2)}, "a grid of -1 x 2 nodes is none"),
        (make_noisy_grids, {"n_samples": 0}, "leaves no image"),
        (make_noisy_grids, {"noise": -1}, "noise must be at least 0"),
        (make_noisy_grids, {"void": 2}, "void must be from 0 to 1"),
        (make_noisy_grids, {"n_labels": 0}, "expected a label and a pixel"),
        (make_snakes, {"length": 0}, "length must be at least 1"),
        (make_snakes, {"test_size": 1.0}, "leaves no snake"),
        (make_snakes, {"edge_features": "all"}, "edge_features='all' is unknown"),
    ],
)
def test_bad_options(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


# Snakes -----------------------------------------------------------------------------------------


def colours_of(features, shape):
    """The colours of the cells, from the middle of their windows."""
    return features.reshape(*shape, 9, 5)[:, :, 4].argmax(axis=-1)


def check_snakes(X, Y, shapes, length):
    steps = {1: (-1, 0), 2: (0, 1), 3: (1, 0), 4: (0, -1)}
    for (features, *_), y, shape in zip(X, Y, shapes, strict=True):
        colours, labels = colours_of(features, shape), y.reshape(shape)
        assert ((colours == 0) == (labels == 0)).all()
        places = {int(labels[cell]): cell for cell in zip(*np.nonzero(labels), strict=True)}
        assert sorted(places) == list(range(1, length + 1))
        for k in range(1, length):
            (i, j), (down, right) = places[k], steps[int(colours[places[k]])]
            assert places[k + 1] == (i + down, j + right)
        # Ground all around, and no row or column more.
        rows, columns = np.nonzero(labels)
        assert (rows.min(), rows.max()) == (1, shape[0] - 2)
        assert (columns.min(), columns.max()) == (1, shape[1] - 2)


def test_snakes_are_paths_that_their_colours_follow():
    data = make_snakes(30, 10, random_state=4)
    assert (len(data.X_train), len(data.X_test)) == (20, 10)
    check_snakes(data.X_train, data.y_train, data.extra["shapes_train"], 10)
    check_snakes(data.X_test, data.y_test, data.extra["shapes_test"], 10)
    assert data.classes == list(range(11))
    one = make_snakes(2, 1, test_size=0)
    assert [y.tolist() for y in one.y_train] == [[0, 0, 0, 0, 1, 0, 0, 0, 0]] * 2


def test_features_of_snakes():
    colours = np.array([[0, 2, 3], [0, 0, 1]])
    nodes, edges, ends = snake_graph(colours, "ends")
    windows = nodes.reshape(6, 3, 3, 5)
    assert (windows.sum(axis=-1) == 1).all() and windows[1, 1, 1, 2] == 1
    assert windows[1, 1, 2, 3] == 1 and windows[1, 2, 2, 1] == 1 and windows[1, 0, :, 0].all()
    assert pairs(edges) == {(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)}
    directions = snake_graph(colours, "directions")[2]
    assert (
        directions[:, 0].tolist() == [1, 1, 1, 1, 0, 0, 0] and (directions.sum(axis=1) == 1).all()
    )
    both = ends.reshape(7, 2, 2, 45)
    for e, (a, b) in enumerate(edges):
        kind = int(directions[e, 1])
        assert (both[e, kind, 0] == nodes[a]).all() and (both[e, kind, 1] == nodes[b]).all()
        assert not both[e, 1 - kind].any()
    assert len(snake_graph(colours, "none")) == 2


def test_snakes_of_the_folder(data_dir):
    if not (data_dir / "snakes").is_dir():
        pytest.skip(f"no data set snakes in {data_dir}")
    data = load_snakes(data_home=data_dir)
    assert (len(data.X_train), len(data.X_test)) == (200, 100) and len(data.classes) == 11
    check_snakes(data.X_train, data.y_train, data.extra["shapes_train"], 10)
    check_snakes(data.X_test, data.y_test, data.extra["shapes_test"], 10)
    assert sum(map(len, data.y_test)) == 3750 and data.X_train[0][2].shape[1] == 180


# The folder -------------------------------------------------------------------------------------


def test_camvid(data_dir):
    if not (data_dir / "camvid").is_dir():
        pytest.skip(f"no data set camvid in {data_dir}")
    data = load_camvid(dtype=np.float32, data_home=data_dir)
    parts = ((data.X_train, data.y_train), (data.X_dev, data.y_dev), (data.X_test, data.y_test))
    counts = [(len(X), sum(map(len, y)), sum(len(x[1]) for x in X)) for X, y in parts]
    assert counts == [(367, 76536, 203069), (101, 21449, 57403), (233, 48416, 129073)]
    for X, y in parts:
        for (nodes, edges, features), labels in zip(X, y, strict=True):
            assert nodes.shape == (len(labels), 45) and nodes.dtype == np.float32
            assert features.shape == (len(edges), 4) and edges.max() < len(labels)
            assert labels.dtype == np.int32 and labels.min() >= -1 and labels.max() <= 10
    found = Counter(np.concatenate(data.y_test).tolist())
    assert found[-1] == 1603 and found[10] == 102 and len(data.classes) == 11
    assert len(data.extra["ids"]["dev"]) == 101


def test_mrf_instances(data_dir):
    if not (data_dir / "mrf_instances").is_dir():
        pytest.skip(f"no data set mrf_instances in {data_dir}")
    found = load_mrf_instance("network.uai", data_home=data_dir)
    assert found.graph.n_nodes == 120 and found.energy == -362 and found.is_proved
    with pytest.raises(ValueError, match=r"name='a\.uai' is unknown\. There are: network\.uai"):
        load_mrf_instance("a.uai")
    for name in MRF_INSTANCES:
        folder = data_dir / "mrf_instances"
        assert (folder / name).is_file() or (folder / f"{name}.gz").is_file()


# Superpixels ------------------------------------------------------------------------------------


def test_superpixels_that_touch_are_joined(rng):
    image = np.zeros((6, 8, 3), dtype=np.uint8)
    image[:, 4:] = (255, 255, 255)
    segments = np.zeros((6, 8), dtype=int)
    segments[:, 4:], segments[4:, :4], segments[:1, :1] = 1, 2, 3
    graph = superpixel_graph(image, segments=segments)
    assert graph.node_features.shape == (4, 41) and np.isfinite(graph.node_features).all()
    assert pairs(graph.edges) == {(0, 1), (0, 2), (0, 3), (1, 2)}
    borders = {(0, 1): 4, (0, 2): 4, (0, 3): 2, (1, 2): 2}
    for pair, features in zip(graph.edges, graph.edge_features, strict=True):
        assert features[0] == 1 and features[2] == pytest.approx(borders[tuple(pair)] / 3)
        same = tuple(pair) in {(0, 2), (0, 3)}
        assert features[1] == pytest.approx(1.0 if same else np.exp(-(100.0**2) / 200), abs=1e-6)
    nodes = graph.node_features
    assert nodes[0, :3] == pytest.approx([0, 0, 0], abs=1e-3)
    assert nodes[1, :3] == pytest.approx([100, 0, 0], abs=0.02)
    assert nodes[1, 3:6] == pytest.approx([0, 0, 0], abs=1e-6)
    assert nodes[1, 6:9] == pytest.approx([0.5, 5.5 / 7, 24 / 12])
    assert graph.edge_features[1, 3] == pytest.approx(nodes[2, 6] - nodes[0, 6])
    assert nodes[:, 17:].reshape(4, 3, 8).sum(axis=-1) == pytest.approx(np.ones((4, 3)))


def test_lab_of_known_colours():
    known = {(255, 0, 0): (53.24, 80.09, 67.20), (0, 0, 255): (32.30, 79.19, -107.86),
             (0, 128, 0): (46.23, -51.70, 49.90)}  # fmt: skip
    for colour, lab in known.items():
        image = np.full((2, 2, 3), colour, dtype=np.uint8)
        graph = superpixel_graph(image, segments=np.zeros((2, 2), dtype=int))
        assert graph.node_features[0, :3] == pytest.approx(lab, abs=0.05)
        assert graph.edges.shape == (0, 2) and graph.edge_features.shape == (0, 4)


def test_labels_of_superpixels():
    segments = np.array([[0, 0, 1, 2], [0, 0, 1, 2]])
    labels = np.array([[1, 2, 0, 255], [2, 1, -1, 0]])
    assert superpixel_labels(segments, labels, void=255).tolist() == [1, -1, -1]
    assert superpixel_labels(segments, np.abs(labels)).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("image", "segments", "message"),
    [
        (np.zeros((2, 2)), None, r"image has shape \(2, 2\); expected \(height, width, 3\)"),
        (np.zeros((0, 2, 3)), None, r"image has shape \(0, 2, 3\)"),
        (np.full((2, 2, 3), 7.0), None, "image holds 7.0 to 7.0; expected numbers from 0 to 1, as"),
        (np.full((2, 2, 3), np.nan), None, "image holds nan"),
        (np.full((2, 2, 3), -1), None, "image holds -1 to -1; expected numbers from 0 to 255"),
        (np.zeros((2, 2, 3)), np.zeros((2, 3), int), r"segments has shape \(2, 3\); expected"),
        (np.zeros((2, 2, 3)), np.full((2, 2), 3), "segments holds 1 numbers from 3 to 3; expected"),
    ],
)
def test_bad_images(image, segments, message):
    with pytest.raises(ValueError, match=message):
        superpixel_graph(image, segments=segments)


def test_without_scikit_image_cutting_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(ImportError, match=r"pip install 'maxmargin\[images\]'.*segments="):
        superpixel_graph(np.zeros((4, 4, 3)))


def test_an_image_is_cut(rng):
    image = rng.random((40, 60, 3)) * 0.1
    image[:, 30:] += 0.8
    graph = superpixel_graph(image, n_segments=20)
    n = len(graph.node_features)
    assert 4 <= n <= 40 and graph.segments.shape == (40, 60)
    assert sorted(np.unique(graph.segments)) == list(range(n))
    # Superpixels end at the border of the halves, but for a few pixels that were joined to others.
    assert np.mean(graph.segments[:, 29] != graph.segments[:, 30]) > 0.8
    halves = superpixel_labels(graph.segments, np.tile(np.arange(60) >= 30, (40, 1)).astype(int))
    assert set(halves.tolist()) == {0, 1}
    with pytest.raises(ValueError, match="n_segments must be at least 1"):
        superpixel_graph(image, 0)
