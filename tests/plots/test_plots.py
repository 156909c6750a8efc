"""Pictures show the numbers they were given, and change nothing else."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch

from maxmargin import plots


def make_run(gaps, solver="bcfw", status="converged", primal=2.0):
    history = [
        SimpleNamespace(
            pass_=i,
            primal=primal if np.isfinite(gap) else np.nan,
            dual=primal - gap,
            gap=gap,
            oracle_calls=50 * i,
            seconds=0.25 * i,
            validation_score=np.nan,
        )
        for i, gap in enumerate(gaps)
    ]
    return SimpleNamespace(history=history, solver=solver, status=status)


@pytest.fixture
def run():
    return make_run([1.0, np.nan, 0.1, np.nan, 0.01])


@pytest.fixture
def model(rng, run):
    return SimpleNamespace(
        coef_=rng.normal(size=(3, 8)),
        transitions_=rng.normal(size=(3, 3)),
        classes_=np.array(["a", "b", "c"]),
        result_=run,
    )


def render(figure):
    """Draw for real; a collapsed layout or a missing glyph is a warning, and here an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=50)
    return buffer.getvalue()


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# ---------------------------------------------------------------- convergence


@pytest.mark.parametrize(
    ("x", "unit"), [("passes", 1), ("oracle_calls", 50), ("seconds", 0.25)], ids=str
)
@pytest.mark.parametrize("relative", [True, False])
def test_the_line_is_the_computed_gaps(run, x, unit, relative):
    ax = plots.convergence(run, x=x, relative=relative)
    (line,) = ax.get_lines()
    np.testing.assert_allclose(line.get_xdata(), np.array([0, 2, 4]) * unit)
    np.testing.assert_allclose(line.get_ydata(), np.array([1, 0.1, 0.01]) / (2 if relative else 1))
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel().startswith("Relative" if relative else "Duality gap")


def test_all_points_are_within_the_limits(run):
    ax = plots.convergence([run, make_run([3.0, 0.7])], tol=1e-4)
    low, high = ax.get_ylim()
    assert low < 1e-4
    assert high > 1.5


def test_a_narrow_range_still_has_two_labelled_decades():
    low, high = plots.convergence(make_run([0.5, 0.4])).get_ylim()
    assert np.log10(high / low) >= 1 - 1e-12


def test_gaps_without_a_logarithm_lie_on_the_edge():
    ax = plots.convergence(make_run([1.0, 0.1, 0.0, -1e-17]))
    line, edge = ax.get_lines()
    assert list(line.get_xdata()) == [0, 1]
    assert list(edge.get_xdata()) == [2, 3]
    assert edge.get_transform() == ax.get_xaxis_transform()
    assert list(edge.get_ydata()) == [0, 0]


def test_a_primal_of_zero_divides_nothing():
    ax = plots.convergence(make_run([0.0], primal=0.0))
    assert [list(line.get_xdata()) for line in ax.get_lines()] == [[], [0]]
    assert render(ax.figure)


def test_legend_says_how_runs_ended(run):
    stopped = make_run([1.0, 0.5], "sgd", "time_budget")
    blind = make_run([np.nan, np.nan], "perceptron", "max_iter")
    ax = plots.convergence([run, stopped, blind])
    assert legend_texts(ax) == [
        "bcfw",
        "sgd (stopped: time budget)",
        "perceptron (no gap computed)",
    ]
    assert render(ax.figure)


def test_names_of_runs(run):
    assert legend_texts(plots.convergence([run, run])) == ["bcfw 1", "bcfw 2"]
    assert legend_texts(plots.convergence({"C=1": run, "C=9": run})) == ["C=1", "C=9"]
    assert legend_texts(plots.convergence([run, run], labels=["x", "y"])) == ["x", "y"]
    single = plots.convergence(run)
    assert single.get_legend() is None
    assert single.get_title(loc="left") == "Convergence of bcfw"


def test_ten_runs_look_different(run):
    lines = plots.convergence([run] * 10).get_lines()
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}
    assert len(looks) == 10


@pytest.mark.parametrize("gaps", [[], [np.nan, np.nan]])
def test_no_gap_at_all_is_said(gaps):
    ax = plots.convergence(make_run(gaps))
    assert [text.get_text() for text in ax.texts] == ["no gap was computed"]
    assert render(plots.convergence_panels(make_run(gaps)))


def test_an_estimator_stands_for_its_result(model):
    assert len(plots.convergence(model).get_lines()) == 1
    assert len(plots.convergence([model, model]).get_lines()) == 2


def test_panels(run):
    figure = plots.convergence_panels([run, make_run([np.nan], "perceptron")], tol=0.02)
    assert [ax.get_xlabel() for ax in figure.axes] == [
        "Passes over the data",
        "Oracle calls",
        "Time (s)",
    ]
    assert len(figure.legends) == 1
    assert render(figure)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"x": "epochs"}, ValueError, "x must be one of 'passes', 'oracle_calls', 'seconds'"),
        ({"tol": 0.0}, ValueError, "tol must be positive"),
        ({"labels": ["a", "b"]}, ValueError, "must name the 1 results, got 2"),
        ({"results": []}, ValueError, "results is empty"),
        ({"results": 3}, TypeError, "got int"),
        ({"results": [3.0]}, TypeError, r"results\[0\] must be a Result, got float"),
    ],
)
def test_convergence_refusals(run, arguments, error, message):
    with pytest.raises(error, match=message):
        plots.convergence(**{"results": run, **arguments})


# ---------------------------------------------------------------- transitions


def test_heat_map_shows_the_matrix_with_zero_in_the_middle(model):
    ax = plots.transitions(model)
    (image,) = ax.get_images()
    np.testing.assert_array_equal(image.get_array(), model.transitions_)
    low, high = image.get_clim()
    assert low == -high
    assert high == np.abs(model.transitions_).max()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b", "c"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b", "c"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("from label", "to label")


def test_cells_hold_their_rounded_numbers():
    ax = plots.transitions([[1.25, -0.001], [-2.0, np.nan]])
    found = {text.get_position(): text.get_text() for text in ax.texts}
    assert found == {(0, 0): "1.2", (1, 0): "0.0", (0, 1): "−2.0"}


def test_forbidden_cells_are_hatched_and_only_they():
    matrix = np.array([[0.5, -np.inf, 0.1], [np.nan, -0.2, 0.3], [0.0, 0.4, -np.inf]])
    ax = plots.transitions(matrix)
    (patch,) = [p for p in ax.patches if isinstance(p, PathPatch)]
    path = patch.get_path()
    inside = [[path.contains_point((b, a)) for b in range(3)] for a in range(3)]
    np.testing.assert_array_equal(inside, ~np.isfinite(matrix))
    assert patch.get_hatch()
    assert legend_texts(ax) == ["forbidden"]
    assert ax.get_images()[0].get_clim() == (-0.5, 0.5)
    assert render(ax.figure)


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.full((3, 3), -np.inf), [[1.0]]])
def test_degenerate_matrices_are_drawn(matrix):
    ax = plots.transitions(matrix)
    low, high = ax.get_images()[0].get_clim()
    assert low < 0 < high
    assert render(ax.figure)


def test_many_and_long_labels_stay_legible(rng):
    ax = plots.transitions(rng.normal(size=(120, 120)), labels=["x" * 40] * 120)
    texts = [tick.get_text() for tick in ax.get_xticklabels()]
    assert len(texts) <= 50
    assert max(map(len, texts)) == 16
    assert len(ax.texts) == 0  # numbers would not be readable
    assert render(ax.figure)


@pytest.mark.parametrize(
    ("matrix", "labels", "error", "message"),
    [
        (np.zeros((2, 3)), None, ValueError, r"square matrix, got shape \(2, 3\)"),
        (np.zeros(3), None, ValueError, "must be 2-d"),
        (np.zeros((0, 0)), None, ValueError, "not empty"),
        (np.zeros((2, 2)), "abc", ValueError, "2 labels shown, got 3"),
        ([[0, np.inf], [0, 0]], None, ValueError, r"from label 0 to label 1 is \+inf"),
        (SimpleNamespace(), None, TypeError, "fitted estimator with transitions_"),
    ],
)
def test_transition_refusals(matrix, labels, error, message):
    with pytest.raises(error, match=message):
        plots.transitions(matrix, labels=labels)


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize(
    ("n_labels", "shape"), [(1, (3, 3)), (2, (16, 8)), (10, (8, 8)), (7, (1, 5))]
)
def test_every_label_has_its_image_on_one_scale(rng, n_labels, shape):
    coef = rng.normal(size=(n_labels, shape[0] * shape[1]))
    figure = plots.weights(coef, shape)
    *panels, bar = figure.axes
    assert len(panels) == n_labels
    for i, (ax, row) in enumerate(zip(panels, coef, strict=True)):
        (image,) = ax.get_images()
        np.testing.assert_array_equal(image.get_array(), row.reshape(shape))
        assert image.get_clim() == (-np.abs(coef).max(), np.abs(coef).max())
        assert ax.get_title() == str(i)
    assert bar.get_ylabel() == "weight"
    if n_labels == 7:  # the one with empty places in its grid
        assert render(figure)


def test_weights_take_the_estimators_classes(model):
    assert [ax.get_title() for ax in plots.weights(model, (2, 4)).axes[:3]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("coef", "shape", "message"),
    [
        (np.zeros((2, 6)), (2, 4), r"rows \* columns = 6, the number of features, got \(2, 4\)"),
        (np.zeros((2, 6)), (-2, -3), r"rows \* columns = 6"),
        (np.zeros((2, 6)), 6, r"shape must be \(rows, columns\)"),
        (np.zeros((2, 6)), (1, 2, 3), r"shape must be \(rows, columns\)"),
        (np.array([[0, 0, 1.0, np.nan]]), (2, 2), "feature 3 for label 0 is not finite"),
    ],
)
def test_weight_refusals(coef, shape, message):
    with pytest.raises(ValueError, match=message):
        plots.weights(coef, shape)


# ---------------------------------------------------------------- pages, and what is left alone


def test_demo_page_has_all_three(model):
    figure = plots.demo_figure(model, (2, 4), tol=0.01, title="Digits")
    titles = [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes]
    assert {"Convergence of bcfw", "Transition weights", "a", "b", "c"} <= set(titles)
    assert figure.get_suptitle() == "Digits"
    assert render(figure)


def test_demo_page_compares_runs(model, run):
    figure = plots.demo_figure(model, (2, 4), results={"ours": run, "theirs": run})
    assert legend_texts(figure.axes[0]) == ["ours", "theirs"]


def test_given_axes_are_drawn_on(run, model):
    left, right = Figure().subplots(1, 2)
    assert plots.convergence(run, ax=left) is left
    assert plots.transitions(model, ax=right) is right
    top, bottom = Figure(layout="constrained").subfigures(2, 1)
    assert plots.weights(model, (2, 4), figure=bottom) is bottom
    assert top.axes == []


def test_what_comes_back(run, model):
    assert isinstance(plots.convergence(run), Axes)
    assert isinstance(plots.transitions(model), Axes)
    assert isinstance(plots.weights(model, (2, 4)), Figure)


def test_no_setting_changes(model):
    before = dict(matplotlib.rcParams)
    plots.demo_figure(model, (2, 4))
    assert dict(matplotlib.rcParams) == before


def test_pyplot_is_not_imported():
    code = "import sys, maxmargin.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
