"""Pictures of graphs show the labels, the errors and the numbers they were given."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from maxmargin import plots
from maxmargin.inference import FactorGraph, solve_graph

Y = np.array([0, 0, 1, 1, 2, -1])
SEEN = np.array([0, 1, 1, 1, 0, 2])


def render(figure):
    """Draw for real; a collapsed layout or a missing glyph is a warning, and here an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=50)
    return buffer.getvalue()


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes]


def test_a_grid_is_an_image_with_a_dot_at_every_error():
    figure = plots.labelled_graph({"y": Y, "seen": SEEN}, shape=(2, 3), truth="y")
    truth, seen = figure.axes
    assert titles(figure) == ["y", "seen: 2 of 5 wrong"]  # the unknown node does not count
    np.testing.assert_array_equal(truth.images[0].get_array(), Y.reshape(2, 3) + 1)
    np.testing.assert_array_equal(seen.images[0].get_array(), SEEN.reshape(2, 3) + 1)
    assert len(truth.collections[0].get_offsets()) == 0
    # Node 1 is in row 0, column 1; node 4 in row 1, column 1.
    assert seen.collections[0].get_offsets().tolist() == [[1, 0], [1, 1]]
    # Both panels give a label the same colour.
    colours = [ax.images[0].cmap(ax.images[0].norm(1)) for ax in figure.axes]
    assert colours[0] == colours[1]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["unknown", "0", "1", "2"]
    assert render(figure)


def test_a_graph_has_its_nodes_in_place_and_its_edges_between(rng):
    places, edges = rng.normal(size=(6, 2)), [(0, 1), (4, 2)]
    figure = plots.labelled_graph(
        {"y": Y, "seen": SEEN}, positions=places, edges=edges, truth="y", labels="abc"
    )
    lines, nodes, wrong = figure.axes[1].collections
    np.testing.assert_allclose(np.array(lines.get_segments()), places[np.array(edges)])
    np.testing.assert_allclose(nodes.get_offsets(), places)
    np.testing.assert_allclose(wrong.get_offsets(), places[[1, 4]])
    shades = [tuple(colour[:3]) for colour in nodes.get_facecolors()]
    assert [shades.index(shade) for shade in shades] == [0, 1, 1, 1, 0, 5]
    assert tuple(figure.axes[0].collections[1].get_facecolors()[5][:3]) == to_rgb("#E4E4E4")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["unknown", *"abc"]
    assert render(figure)


@pytest.mark.parametrize("n_labels", [1, 6, 11, 20, 40])
def test_labels_differ_in_colour(n_labels):
    figure = plots.labelled_graph({"y": np.arange(n_labels)}, shape=(1, n_labels))
    image = figure.axes[0].images[0]
    shades = {tuple(image.cmap(image.norm(k + 1))) for k in range(n_labels)}
    assert len(shades) == n_labels
    assert len(figure.legends) == (n_labels <= 24)
    assert render(figure)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"labellings": [0, 1]}, TypeError, "labellings must be a dict of title to labels"),
        ({"labellings": {}}, ValueError, "labellings is empty"),
        ({"labellings": {"y": [[0]]}}, ValueError, r"labellings\['y'\] has shape \(1, 1\)"),
        ({"labellings": {"y": [0.5]}}, TypeError, r"labellings\['y'\] must hold integers"),
        ({"labellings": {"y": [-2]}}, ValueError, "holds -2; -1 stands for unknown"),
        ({"labellings": {"y": Y, "z": [1]}}, ValueError, "must be of one graph"),
        ({"truth": "z"}, ValueError, "truth is 'z'; expected one of 'y'"),
        ({"shape": None}, ValueError, "give either shape"),
        ({"positions": np.zeros((6, 2))}, ValueError, "give either shape"),
        ({"shape": (2, 2)}, ValueError, r"shape is \(2, 2\), but the labellings have 6 nodes"),
        ({"shape": None, "positions": [[0, 0]]}, ValueError, r"expected \(6, 2\)"),
        (
            {"shape": None, "positions": [[0, 0]] * 5 + [[np.nan, 0]]},
            ValueError,
            r"positions\[5\] is \[nan, 0.0\]",
        ),
        ({"edges": [(0, 1, 2)]}, ValueError, r"edges has shape \(1, 3\)"),
        ({"edges": [(0.0, 1.0)]}, TypeError, "edges must hold integers"),
        ({"edges": [(0, 1), (0, 6)]}, ValueError, r"edges\[1\] is \[0, 6\]"),
        ({"labels": ["a"]}, ValueError, "labels must name the 3 labels shown, got 1"),
    ],
)
def test_labelling_refusals(change, error, message):
    with pytest.raises(error, match=message):
        plots.labelled_graph(**{"labellings": {"y": Y}, "shape": (2, 3), **change})


def test_bounds_are_what_the_solver_told(rng):
    n = 6
    edges = [(a, b) for a in range(n) for b in range(a)]
    graph = FactorGraph(rng.normal(size=(n, 3)), edges, 2 * rng.normal(size=(len(edges), 3, 3)))
    told = []
    answer = solve_graph(graph, "srmp", callback=lambda *row: told.append(row))
    ax = plots.graph_bounds(told, optimum=1.0)
    bound, score, optimum = ax.get_lines()
    assert [line.get_label() for line in ax.get_lines()] == ["bound", "score", "optimum"]
    rows = np.array(told)
    np.testing.assert_array_equal(bound.get_xdata(), rows[:, 0])
    np.testing.assert_array_equal(bound.get_ydata(), rows[:, 1])
    np.testing.assert_array_equal(score.get_ydata(), rows[:, 2])
    assert list(optimum.get_ydata()) == [1.0, 1.0]
    assert bound.get_ydata()[-1] >= answer.score
    assert render(ax.figure)


def test_infinite_numbers_are_left_out_and_runs_have_names():
    rows = [(1, np.inf, -np.inf), (2, 5.0, -np.inf), (3, 4.0, 3.0)]
    ax = plots.graph_bounds({"a": rows, "b": [(1, np.inf, 2.0)]})
    lines = {line.get_label(): line.get_xdata().tolist() for line in ax.get_lines()}
    assert lines == {"a: bound": [2, 3], "a: score": [3], "b: score": [1]}
    assert render(ax.figure)
    assert render(plots.graph_bounds([(1, np.inf, -np.inf)]).figure)
    assert plots.graph_bounds(rows, ax=ax) is ax


@pytest.mark.parametrize(
    ("progress", "optimum", "message"),
    [
        ({}, None, "progress is empty"),
        ([], None, r"progress must be a sequence of \(iteration, bound, score\)"),
        ({"a": [(1, 2)]}, None, r"progress\['a'\] must be a sequence"),
        ([(1, 2, "x")], None, "progress must be a sequence"),
        ([(1, 2, 1)], np.inf, "optimum must be finite"),
    ],
)
def test_progress_refusals(progress, optimum, message):
    with pytest.raises(ValueError, match=message):
        plots.graph_bounds(progress, optimum=optimum)
