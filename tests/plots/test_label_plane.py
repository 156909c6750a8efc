"""The trace of a search is the search, and its picture shows what the trace says."""

from __future__ import annotations

import io
import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from sklearn.exceptions import NotFittedError

from maxmargin import ChainSVM, MulticlassSVM, MultilabelSVM, StructuredSVM, plots
from maxmargin.core.contract import (
    add_difference,
    margin_error,
    maximize,
    maximize_bounded,
    n_weights,
    output_cost,
    potentials,
    psi,
    workspace,
)
from maxmargin.costs import CostMatrix
from maxmargin.inputs.request import Request
from maxmargin.look.example import example_problem, trace_example
from maxmargin.look.points import label_points, upper_right
from maxmargin.look.scene import make_scene
from maxmargin.plots._half_planes import clip, segment
from maxmargin.search import (
    SEARCHES,
    Angular,
    BinarySearch,
    Bisecting,
    ConvexHull,
    Profile,
    SarawagiGupta,
)
from maxmargin.search.trace import trace_search
from maxmargin.surrogates import SlackRescaling
from maxmargin.testing import all_outputs, cloud_problem
from maxmargin.testing.cloud_data import CloudCost, CloudData
from maxmargin.testing.clouds import hull_corners
from maxmargin.testing.tiny import Agreement

EVERY_SEARCH = [
    Profile(),
    ConvexHull(),
    ConvexHull(integral=False),
    ConvexHull(fallback="k_best"),
    Angular(),
    Bisecting(),
    BinarySearch(),
    SarawagiGupta(),
]


def random_clouds(rng, n, sizes=(1, 9)):
    """Clouds with ties: few different costs."""
    lengths = rng.integers(*sizes, size=n)
    return (
        [rng.normal(-0.5, 0.7, size=k).round(2) for k in lengths],
        [rng.integers(1, 7, size=k).astype(float) for k in lengths],
    )


def as_fitted(model, X, Y, seed=0, size=0.3):
    """Return an estimator with random weights, as if these had been learnt: nothing compiles."""
    training = model._encode(Request(X, Y), reset=True)
    w = np.random.default_rng(seed).normal(scale=size, size=int(n_weights(training.data)))
    model.result_ = SimpleNamespace(w=w)
    return model


def label_sets(n_labels=5, seed=0, **options):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(6, 3)), rng.integers(2, size=(6, n_labels))
    options = {"surrogate": "slack", "pairwise": "full", **options}
    return as_fitted(MultilabelSVM(**options), X, Y, seed), X[0], Y[0]


def chains(length=4, n_labels=3, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(length, 3)) for _ in range(2)]
    Y = [rng.integers(n_labels, size=length) for _ in range(2)]
    model = ChainSVM(**{"surrogate": "slack", "classes": range(n_labels), **options})
    return as_fitted(model, X, Y, seed), X[0], Y[0]


def classes(seed=0, **options):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 6
    cost = CostMatrix(np.abs(np.arange(6)[:, None] - np.arange(6)))
    model = MulticlassSVM(**{"surrogate": "slack", "cost": cost, **options})
    return as_fitted(model, X, y, seed), X[1], y[1]


EVERY_MODEL = {
    "classes": classes,
    "chain": chains,
    "labels listed": label_sets,
    "labels alone": lambda **more: label_sets(pairwise="none", **more),
}


# -- the trace --------------------------------------------------------------------------------


@pytest.mark.parametrize("search", EVERY_SEARCH, ids=repr)
def test_the_trace_is_what_the_search_did(search, rng):
    h, g = random_clouds(rng, 60)
    problem = cloud_problem(h, g, SlackRescaling(), search, compile=False)
    for i in range(problem.n_examples):
        trace = trace_search(problem, i, problem.weights)
        alone = cloud_problem([h[i]], [g[i]], SlackRescaling(), search, compile=False)
        losses, bounds = alone.losses(alone.weights)
        assert (trace.psi, max(trace.bound, trace.psi)) == (losses[0], bounds[0])
        assert trace.n_calls == len(trace.queries) == alone.n_oracle_calls
        if trace.psi > 0.0:
            assert psi(problem.view.surrogate, trace.h, trace.g)[0] == pytest.approx(trace.psi)
        else:
            assert trace.found.tolist() == [0] and (trace.h, trace.g) == (0.0, 0.0)
        assert trace.psi >= max((q.psi for q in trace.queries if q.psi > 0.0), default=0.0) - 1e-12


@pytest.mark.parametrize("search", EVERY_SEARCH, ids=repr)
def test_no_query_excludes_an_output(search, rng):
    h, g = random_clouds(rng, 60)
    problem = cloud_problem(h, g, SlackRescaling(), search, compile=False)
    for i in range(problem.n_examples):
        points = np.column_stack([[0.0, *h[i]], [0.0, *g[i]]])
        for query in trace_search(problem, i, problem.weights).queries:
            excluded = query.excludes(*points.T)
            if query.kind == "k_best":  # which excludes none but the others
                excluded &= ~(points[:, None] == query.points[None]).all(axis=2).any(axis=1)
            value = points[:, 1] if query.tilt == math.inf else points @ (1.0, query.tilt)
            assert not (excluded & (value > query.top + 1e-9)).any()
            if query.kind == "weighted":
                assert query.excludes(query.h + 1e-6, query.g + 1e-6)
            if query.kind == "profile":
                assert query.excludes(query.h + 1e-6, query.g)


def test_a_trace_of_the_exact_searches_leaves_nothing_better(rng):
    h, g = random_clouds(rng, 40, (4, 12))
    for search in (Angular(), ConvexHull(fallback="k_best")):
        problem = cloud_problem(h, g, SlackRescaling(), search, compile=False)
        for i in range(problem.n_examples):
            trace = trace_search(problem, i, problem.weights)
            best = max(0.0, *((1.0 + h[i]) * g[i]))
            assert trace.psi == pytest.approx(best) and trace.bound == pytest.approx(best)


def test_a_trace_changes_nothing_and_starts_from_what_is_remembered(rng):
    h, g = random_clouds(rng, 5, (6, 9))
    problem = cloud_problem(h, g, SlackRescaling(), ConvexHull(), compile=False)
    problem.losses(problem.weights)
    calls = problem.n_oracle_calls
    kept = {name: array.copy() for name, array in problem.memory().items()}
    first = [trace_search(problem, i, problem.weights) for i in range(5)]
    again = [trace_search(problem, i, problem.weights) for i in range(5)]
    assert problem.n_oracle_calls == calls
    for name, array in problem.memory().items():
        np.testing.assert_array_equal(array, kept[name])
    assert [t.n_calls for t in first] == [t.n_calls for t in again]
    assert sum(t.n_calls for t in first) < calls  # warm


def test_a_trace_knows_the_slack(rng):
    h, g = [[1.0, 0.2, -0.5]], [[1.0, 2.0, 4.0]]
    problem = cloud_problem(h, g, SlackRescaling(), SarawagiGupta(), compile=False)
    tilts = [
        [query.tilt for query in trace_search(problem, 0, problem.weights, slack=slack).queries]
        for slack in (0.5, 2.0)
    ]
    assert tilts[0] != tilts[1]


def test_the_line_of_an_oracle_that_only_bounds_is_the_bound(monkeypatch, rng):
    def inexact(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
        maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)
        h = margin_error(data, i, theta, outputs, at)
        g = output_cost(data, cost, i, outputs, at)
        return score_scale * h + cost_scale * g + 0.25 * (score_scale + cost_scale)

    monkeypatch.setitem(maximize_bounded.implementations, (CloudData, CloudCost), inexact)
    h, g = random_clouds(rng, 20)
    search = ConvexHull(integral=False)
    problem = cloud_problem(h, g, SlackRescaling(), search, compile=False)
    for i in range(20):
        trace = trace_search(problem, i, problem.weights)
        for query in trace.queries:
            value = query.g if query.tilt == math.inf else query.h + query.tilt * query.g
            slack = 0.25 if query.tilt == math.inf else 0.25 * (1.0 + query.tilt)
            assert query.top == pytest.approx(value + slack)
        assert trace.bound > trace.psi


def test_bad_arguments_of_a_trace_are_refused():
    problem = cloud_problem([[1.0]], [[1.0]], SlackRescaling(), ConvexHull(), compile=False)
    with pytest.raises(ValueError, match=r"i must be an example, 0 to 0; got 3\."):
        trace_search(problem, 3, problem.weights)
    with pytest.raises(ValueError, match=r"w must have shape \(2,\), got \(5,\)\."):
        trace_search(problem, 0, np.zeros(5))


@pytest.mark.parametrize("kind", EVERY_MODEL)
@pytest.mark.parametrize("search", ["auto", "hull"])
def test_the_trace_of_an_example_has_its_loss(kind, search):
    for seed in range(3):
        model, x, y = EVERY_MODEL[kind](seed=seed)
        trace = trace_example(model, x, y, search)
        problem = example_problem(model, x, y, search)
        listed = listed_points(problem, model.result_.w)
        best = max(0.0, *((1.0 + listed[:, 0]) * listed[:, 1]))
        assert trace.psi == pytest.approx(best, abs=1e-9)
        assert trace.bound == pytest.approx(best, abs=1e-9)


def listed_points(problem, w):
    """(h, g) of all outputs, by the lists of maxmargin.testing."""
    data = problem.view.data
    theta, _ = workspace(data)
    potentials(data, 0, w, 1.0, theta)
    return np.array(
        [
            (margin_error(data, 0, theta, y, 0), output_cost(data, problem.view.cost, 0, y, 0))
            for y in all_outputs(data, 0)
        ]
    )


def test_examples_may_be_given_in_every_form():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(6, 4)), rng.integers(2, size=(6, 3))
    dense = trace_example(as_fitted(MultilabelSVM(surrogate="slack"), X, Y), X[1], Y[1])
    sparse = as_fitted(MultilabelSVM(surrogate="slack"), sp.csr_matrix(X), sp.csr_matrix(Y))
    row, labels = sp.csr_matrix(X)[1], sp.csr_matrix(Y)[1]
    assert trace_example(sparse, row, labels).psi == pytest.approx(dense.psi)
    sets = [tuple(np.flatnonzero(row).tolist()) for row in Y]
    by_name = as_fitted(MultilabelSVM(surrogate="slack", classes=range(3)), X, sets)
    assert trace_example(by_name, X[1], sets[1]).psi == pytest.approx(dense.psi)
    words = [{"a": 1.0}, {"b": 2.0}, {"a": 1.0, "b": 1.0}]
    model = as_fitted(MulticlassSVM(surrogate="slack"), words, ["x", "y", "x"])
    assert trace_example(model, {"b": 1.0}, "x").n_calls >= 1


# -- the points ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERY_MODEL)
def test_all_outputs_are_points(kind):
    model, x, y = EVERY_MODEL[kind](seed=1)
    problem = example_problem(model, x, y)
    points = label_points(problem, 0, model.result_.w, 10_000)
    expected = listed_points(problem, model.result_.w)
    assert points.is_complete and points.n_outputs == len(expected)
    found = np.column_stack([points.h, points.g])
    np.testing.assert_allclose(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])
    np.testing.assert_allclose(points.psi, (1.0 + points.h) * points.g)


def test_many_outputs_are_measured_by_compiled_code():
    model, x, y = label_sets(n_labels=10)
    points = label_points(example_problem(model, x, y), 0, model.result_.w, 10_000)
    problem = example_problem(model, x, y)
    expected = listed_points(problem, model.result_.w)
    assert points.n_outputs == 1024
    np.testing.assert_allclose(np.sort(points.h), np.sort(expected[:, 0]))


def test_outputs_that_constraints_forbid_are_no_points():
    X = [np.random.default_rng(0).normal(size=(3, 2))]
    Y = [["O", "B-X", "I-X"]]
    tags = ["B-X", "I-X", "O"]
    model = as_fitted(ChainSVM(surrogate="slack", classes=tags, constraints="iob2"), X, Y)
    problem = example_problem(model, X[0], Y[0])
    points = label_points(problem, 0, model.result_.w, 100)
    # Of 27: an inside tag neither begins nor follows an outside one.
    assert points.n_outputs == len(points.h) == len(all_outputs(problem.view.data, 0)) < 27
    assert np.isfinite(points.h).all()
    assert np.isfinite(label_points(problem, 0, model.result_.w, 9).h).all()


def test_the_hull_is_that_of_the_clouds(rng):
    for h, g in zip(*random_clouds(rng, 300), strict=True):
        corners = upper_right(np.array([0.0, *h]), np.array([0.0, *g]))
        assert [tuple(corner) for corner in corners.tolist()] == hull_corners(h, g)


@pytest.mark.parametrize("make", [chains, label_sets], ids=["chain", "labels"])
def test_a_sample_has_the_whole_hull_and_says_that_it_is_one(make):
    for seed in range(4):
        model, x, y = make(seed=seed)
        problem = example_problem(model, x, y)
        everything = label_points(problem, 0, model.result_.w, 10_000)
        some = label_points(problem, 0, model.result_.w, 20)
        assert not some.is_complete and some.n_outputs == everything.n_outputs
        assert len(some.h) < len(everything.h)
        np.testing.assert_allclose(some.hull, everything.hull)
        assert some.truth == everything.truth == (0.0, 0.0)
        scene = make_scene(model, x, y, "hull", 20, 0.0)
        assert scene.best.psi == pytest.approx(max(0.0, everything.psi.max()))
        assert scene.is_best_known and "of one example: near the hull" in scene.title()


# -- the picture --------------------------------------------------------------------------------


def render(figure):
    """Draw for real; a collapsed layout or a missing glyph is a warning, and here an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(io.BytesIO(), format="png", dpi=40)


def named(ax, label):
    return [artist for artist in (*ax.lines, *ax.collections) if artist.get_label() == label]


def test_the_picture_has_what_it_promises():
    model, x, y = label_sets(seed=2)
    ax = plots.label_plane(model, x, y, search=ConvexHull(integral=False))
    trace = trace_example(model, x, y, ConvexHull(integral=False))
    points = label_points(example_problem(model, x, y), 0, model.result_.w, 1000)
    (low, high), (left, right) = ax.get_ylim(), ax.get_xlim()
    shown = points.h + 1.0 >= low
    (dots,) = named(ax, "outputs")
    np.testing.assert_allclose(
        dots.get_offsets(), np.column_stack([points.g, points.h + 1.0])[shown]
    )
    (hull,) = named(ax, "hull")
    np.testing.assert_allclose(hull.get_xydata(), points.hull[:, ::-1] + (0.0, 1.0))
    (truth,) = named(ax, "true output")
    assert truth.get_xydata().tolist() == [[0.0, 1.0]]
    (found,) = named(ax, "found")
    np.testing.assert_allclose(found.get_xydata(), [[trace.g, 1.0 + trace.h]])
    assert left < 0.0 < trace.g < right and low < 0.0 < 1.0 < high
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    for place, query in enumerate(trace.queries):
        assert any(entry.startswith(f"{place + 1}.  ") for entry in entries), query
    assert ax.get_title(loc="left").startswith("Hull search, slack rescaling: ")
    hidden = np.count_nonzero(~shown | (points.g > right))
    note = f" ({hidden} out of sight below)" if hidden else ""
    assert ax.get_title(loc="left").endswith(f"all 32 outputs of one example{note}")
    render(ax.figure)


def missed_example():
    """Label sets of which the hull search misses the best."""
    for seed in range(50):
        model, x, y = label_sets(seed=seed)
        scene = make_scene(model, x, y, ConvexHull(integral=False), 1000, 0.0)
        if scene.is_missed and scene.found.psi > 0.0:
            return model, x, y, scene
    raise AssertionError("no such example")


def test_a_star_marks_what_the_hull_search_missed():
    model, x, y, scene = missed_example()
    ax = plots.label_plane(model, x, y, search=ConvexHull(integral=False))
    (star,) = named(ax, "best")
    np.testing.assert_allclose(star.get_xydata(), [[scene.best.g, 1.0 + scene.best.h]])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(text.startswith("not ruled out") for text in texts)
    # Below every line and above the contour: where a better output could be, and is.
    assert not any(query.excludes(scene.best.h, scene.best.g) for query in scene.queries)
    for exact in ("angular", "profile", "hull", ConvexHull(fallback="k_best")):
        ax = plots.label_plane(model, x, y, search=exact)
        assert not named(ax, "best")
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert not any(text.startswith("not ruled out") for text in texts)
        render(ax.figure)


def test_shades_cover_what_queries_exclude_and_no_more(rng):
    model, x, y, _ = missed_example()
    for search in ("angular", "bisecting", ConvexHull(integral=False)):
        ax = plots.label_plane(model, x, y, search=search)
        queries = trace_example(model, x, y, search).queries
        shades = [patch for patch in ax.patches if isinstance(patch, Polygon)]
        places = rng.uniform(
            (ax.get_xlim()[0], ax.get_ylim()[0]), (ax.get_xlim()[1], ax.get_ylim()[1]), (2000, 2)
        )
        is_shaded = np.zeros(len(places), dtype=bool)
        for shade in shades:
            is_shaded |= shade.get_path().contains_points(places)
        g, h = places[:, 0], places[:, 1] - 1.0
        is_excluded = np.any([query.excludes(h, g) for query in queries], axis=0)
        np.testing.assert_array_equal(is_shaded, is_excluded)


@pytest.mark.parametrize("surrogate", ["margin", "beta", "log", "prob", "micro_f1"])
def test_every_surrogate_has_its_plane(surrogate):
    model, x, y = label_sets(surrogate=surrogate, seed=1)
    for search in (None, "hull"):
        ax = plots.label_plane(model, x, y, search=search)
        scene = make_scene(model, x, y, search, 1000, 0.0)
        assert not scene.is_missed and scene.is_settled
        assert "1 +" not in ax.get_ylabel()
    render(ax.figure)
    names = {"micro_f1": ("g = −(labels of output and truth)", "h = wrong labels + margin error")}
    expected = names.get(surrogate, ("cost g", "margin error h"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == expected


@pytest.mark.parametrize("kind", ["classes", "chain", "labels listed"])
@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_is_drawn_where_it_fits(kind, search):
    model, x, y = EVERY_MODEL[kind](seed=3)
    try:
        example_problem(model, x, y, search)
    except ValueError:
        with pytest.raises(ValueError, match="Searches that fit"):
            plots.label_plane(model, x, y, search=search)
        return
    ax = plots.label_plane(model, x, y, search=search, slack=0.2, legend=False)
    assert ax.get_legend() is None
    assert ax.get_title(loc="left").startswith(search.capitalize())


def test_fractional_outputs_are_drawn_beside_the_others():
    model, x, y = label_sets(inference="relaxed", seed=4)
    ax = plots.label_plane(model, x, y)
    scene = make_scene(model, x, y, None, 1000, 0.0)
    assert scene.is_relaxed and scene.found.psi >= scene.best.psi - 1e-9
    assert len(named(ax, "outputs")) == 1 and scene.points.n_outputs == 32
    render(ax.figure)


def test_the_first_queries_alone():
    model, x, y, scene = missed_example()
    search = ConvexHull(integral=False)
    ax = plots.label_plane(model, x, y, search=search, n_queries=1)
    assert f"the first 1 of {scene.n_all} queries" in ax.get_title(loc="left")
    whole = plots.label_plane(model, x, y, search=search, n_queries=1000)
    assert whole.get_title(loc="left") == scene.title()
    none = plots.label_plane(model, x, y, search=search, n_queries=0)
    assert not [patch for patch in none.patches if isinstance(patch, Polygon)]
    render(none.figure)


def test_steps_are_panels():
    model, x, y, scene = missed_example()
    figure = plots.label_plane_steps(model, x, y, search="bisecting", max_panels=4)
    assert isinstance(figure, Figure) and len(figure.axes) == 4
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    n_all = trace_example(model, x, y, "bisecting").n_calls
    assert [title.split(".")[0] for title in titles] == ["1", "2", "3", str(n_all)]
    few = plots.label_plane_steps(model, x, y, search=ConvexHull(integral=False), max_panels=100)
    assert len(few.axes) == scene.n_all
    render(figure)


def test_an_example_without_a_violation():
    model, x, y = classes()
    model.result_.w[:] = 0.0
    data = example_problem(model, x, y).view.data
    for k in range(6):  # weights that score the truth far above all others
        cells = np.array([k], dtype=np.int32)
        add_difference(data, 0, cells, 0, 5.0, model.result_.w)
    ax = plots.label_plane(model, x, y, search="hull")
    assert "find no violation, and there is none" in ax.get_title(loc="left")
    assert not named(ax, "found") and not named(ax, "best")
    render(ax.figure)


def test_a_structure_that_lists_its_outputs():
    X = np.random.default_rng(0).normal(size=(4, 2))
    model = StructuredSVM(Agreement(4, 2), surrogate="slack")
    as_fitted(model, list(X), [0, 1, 2, 3])
    ax = plots.label_plane(model, X[0], 0)
    assert "all 4 outputs" in ax.get_title(loc="left")
    with pytest.raises(ValueError, match=r"has 4 outputs, more than max_outputs=3\."):
        plots.label_plane(model, X[0], 0, max_outputs=3)

    class Unlisted(Agreement):
        outputs = None

    model = as_fitted(StructuredSVM(Unlisted(4, 2), surrogate="slack"), list(X), [0, 1, 2, 3])
    with pytest.raises(ValueError, match="The outputs of Unlisted cannot be listed"):
        plots.label_plane(model, X[0], 0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"search": "bisect"},
            ValueError,
            "search='bisect' is not known. There are: 'auto', 'profile'",
        ),
        ({"search": 3}, TypeError, "search must be a name"),
        ({"max_outputs": 1}, ValueError, "max_outputs must be an integer >= 2"),
        ({"max_outputs": 2.5}, TypeError, "max_outputs must be an integer"),
        ({"n_queries": -1}, ValueError, "n_queries must be an integer >= 0"),
        ({"slack": -1.0}, ValueError, "slack must be a number >= 0"),
    ],
    ids=str,
)
def test_bad_options_are_refused(options, error, message):
    model, x, y = classes()
    with pytest.raises(error, match=message):
        plots.label_plane(model, x, y, **options)


def test_what_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        plots.label_plane(MulticlassSVM(), np.zeros(3), 0)
    with pytest.raises(TypeError, match=r"estimator must be one of maxmargin's, got dict\."):
        plots.label_plane({}, np.zeros(3), 0)
    model, x, y = classes()
    with pytest.raises(ValueError, match="max_panels must be an integer >= 1"):
        plots.label_plane_steps(model, x, y, max_panels=0)
    with pytest.raises(ValueError, match="features"):
        plots.label_plane(model, np.zeros(7), y)


def test_a_search_for_another_surrogate_is_refused():
    model, x, y = classes(surrogate="log")
    with pytest.raises(ValueError, match=r"for slack rescaling only.*Searches that fit: "):
        plots.label_plane(model, x, y, search="angular")


# -- half-planes --------------------------------------------------------------------------------


def test_polygons_and_lines_are_cut_where_half_planes_end(rng):
    box = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])
    sides = [(1.0, 0.0, 0.0), (-1.0, 0.0, -1.0), (0.0, 1.0, 0.0), (0.0, -1.0, -1.0)]
    for _ in range(200):
        limits = [tuple(rng.normal(size=3) * (1.0, 1.0, 0.5)) for _ in range(2)]
        region = box
        for limit in limits:
            region = clip(region, limit)
        for x, y in region:
            assert -1e-9 <= x <= 1 + 1e-9 and -1e-9 <= y <= 1 + 1e-9
            assert all(a * x + b * y >= c - 1e-9 for a, b, c in limits)
        a, b, c = limits[0]
        ends = segment(limits[0], [*sides, limits[1]])
        if ends is not None:
            np.testing.assert_allclose(ends @ (a, b), c, atol=1e-9)
            along = ends[0] + np.linspace(0, 1, 5)[:, None] * (ends[1] - ends[0])
            inside = [p @ (s[0], s[1]) >= s[2] - 1e-9 for p in along for s in (*sides, limits[1])]
            assert all(inside)
