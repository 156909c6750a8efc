"""Constraints on labellings: what they forbid, at fit and at prediction, against enumeration."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import ChainSVM, Constraints, load
from maxmargin.inputs.constraints import find_breach, node_barrier, resolve_constraints
from maxmargin.inputs.labels import Labels
from maxmargin.inputs.widening import checked_steps
from maxmargin.tags import check_tags
from maxmargin.testing import enumerate as brute

TAGS = ["B-X", "B-Y", "I-X", "I-Y", "O"]
CLASSES = np.array(TAGS)


def make_tags(seed=0, n=12, scheme_valid=True):
    """Sequences of valid IOB2 tags with noisy features."""
    rng = np.random.default_rng(seed)
    Y = []
    while len(Y) < n:
        y = [TAGS[k] for k in rng.integers(0, 5, rng.integers(1, 5))]
        if is_valid(y, "iob2") or not scheme_valid:
            Y.append(y)
    X = [np.eye(5)[[TAGS.index(tag) for tag in y]] + rng.normal(0, 1.0, (len(y), 5)) for y in Y]
    return X, Y


def is_valid(tags, scheme):
    try:
        check_tags(tags, scheme)
    except ValueError:
        return False
    return True


@pytest.fixture(scope="module")
def tagger():
    return ChainSVM(constraints="iob2", classes=TAGS, random_state=0, tol=1e-2).fit(*make_tags())


def best_of(model, x, fits):
    """The best labelling of x among those that `fits`, by listing all."""
    unary = x @ model.coef_.T + model.intercept_
    everything = brute.chain(unary, model.transitions_, model.start_, model.end_)
    labels = model.classes_[everything.outputs]
    keep = [i for i, y in enumerate(labels) if fits(y.tolist())]
    return labels[keep][np.argmax(everything.scores[keep])].tolist()


# -- at prediction -------------------------------------------------------------------------------


def test_scheme_predicts_the_best_valid_tags(tagger):
    X, _ = make_tags(1, n=30, scheme_valid=False)
    free = tagger.set_params(constraints=None).predict(X)
    found = tagger.set_params(constraints="iob2").predict(X)
    for x, labels in zip(X, found, strict=True):
        assert labels.tolist() == best_of(tagger, x, lambda y: is_valid(y, "iob2"))
    assert not all(is_valid(labels.tolist(), "iob2") for labels in free)


def test_constraints_hold_for_every_kind_of_answer(tagger):
    X, _ = make_tags(1, n=10, scheme_valid=False)
    for x, best, node, scores in zip(
        X,
        tagger.predict_topk(X, 5).outputs,
        tagger.predict_marginals(X),
        tagger.decision_function(X),
        strict=True,
    ):
        assert all(is_valid(labels.tolist(), "iob2") for labels in best)
        np.testing.assert_allclose(node.sum(axis=1), 1.0)
        assert (node[0, [2, 3]] == 0).all() and np.isneginf(scores[0, [2, 3]]).all()
        assert len(x) == len(node)


def test_forbidden_pairs_starts_and_ends():
    X, Y = make_tags()
    limits = Constraints(forbidden=[("O", "O")], forbidden_start=["B-Y"], forbidden_end=["I-X"])

    def fits(y):
        return ("O", "O") not in pairwise(y) and y[0] != "B-Y" and y[-1] != "I-X"

    model = ChainSVM(random_state=0, classes=TAGS, tol=1e-2).fit(X, Y)
    model.set_params(constraints=limits)
    found = model.predict(X)
    assert [labels.tolist() for labels in found] == [best_of(model, x, fits) for x in X]
    assert not all(
        fits(labels.tolist()) for labels in model.set_params(constraints=None).predict(X)
    )


@settings(max_examples=25)
@given(st.data())
def test_allowed_and_fixed_labels_against_enumeration(tagger, data):
    x = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=15, max_size=15))).reshape(3, 5)
    allowed = data.draw(
        st.lists(st.sets(st.sampled_from(TAGS), min_size=1), min_size=3, max_size=3)
    )
    fixed = [data.draw(st.sampled_from([None, *sorted(allowed[0])])), None, None]

    def fits(y):
        in_place = all(tag in choice for tag, choice in zip(y, allowed, strict=True))
        return in_place and is_valid(y, "iob2") and fixed[0] in (None, y[0])

    possible = [y for y in CLASSES[brute.labellings(3, 5)].tolist() if fits(y)]
    if possible:
        (found,) = tagger.predict([x], allowed=[allowed], fixed=[fixed])
        assert found.tolist() == best_of(tagger, x, fits)
    else:
        with pytest.raises(ValueError, match=r"X\[0\]: the constraints allow no labelling"):
            tagger.predict([x], allowed=[allowed], fixed=[fixed])


def test_allowed_as_a_boolean_array(tagger):
    X, _ = make_tags(2, n=2)
    mask = np.ones((len(X[1]), 5), dtype=bool)
    mask[0, [1, 2, 3, 4]] = False
    found = tagger.predict(X, allowed=[None, mask])
    named = tagger.predict(X, allowed=[None, [["B-X"]] + [None] * (len(X[1]) - 1)])
    assert [y.tolist() for y in found] == [y.tolist() for y in named]
    assert found[1][0] == "B-X"


# -- at fit --------------------------------------------------------------------------------------


def test_allowed_labels_at_fit_change_what_competes():
    X, Y = make_tags()
    allowed = [[{tag} for tag in y] for y in Y]
    model = ChainSVM(random_state=0, tol=1e-2, classes=TAGS).fit(X, Y, allowed=allowed)
    # Nothing but the truth is possible, so nothing is to be learnt.
    assert not model.coef_.any() and model.result_.primal == 0.0
    allowed[0] = None
    assert ChainSVM(random_state=0, tol=1e-2, classes=TAGS).fit(X, Y, allowed=allowed).coef_.any()


@pytest.mark.parametrize("cost", ["hamming", "zero_one"])
def test_fixed_labels_at_fit_are_those_that_alone_are_allowed(cost):
    X, Y = make_tags()
    fixed = [[tag if t % 2 else None for t, tag in enumerate(y)] for y in Y]
    allowed = [[{tag} if t % 2 else None for t, tag in enumerate(y)] for y in Y]
    fixed[0] = allowed[0] = None
    fixed[1] = Y[1]
    allowed[1] = [{tag} for tag in Y[1]]
    model = ChainSVM(random_state=0, tol=1e-2, classes=TAGS, cost=cost)
    by_fixed = model.fit(X, Y, fixed=fixed).result_
    by_allowed = model.fit(X, Y, allowed=allowed).result_
    assert np.array_equal(by_fixed.w, by_allowed.w)
    assert not np.array_equal(by_fixed.w, model.fit(X, Y).result_.w)
    assert not model.fit(X, Y, fixed=Y).coef_.any()


def test_fixed_labels_that_are_not_the_true_ones():
    X, Y = make_tags()
    i = next(i for i, y in enumerate(Y) if len(y) > 1)
    fixed = [None] * len(Y)
    fixed[i] = [None, "B-X" if Y[i][1] != "B-X" else "O", *[None] * (len(Y[i]) - 2)]
    message = rf"fixed\[{i}\]\[1\] is '{fixed[i][1]}', but y\[{i}\]\[1\] is '{Y[i][1]}'"
    with pytest.raises(ValueError, match=message):
        ChainSVM(classes=TAGS).fit(X, Y, fixed=fixed)
    fixed[i][1] = "Q"
    with pytest.raises(ValueError, match=rf"fixed\[{i}\]\[1\] is 'Q', a label never seen"):
        ChainSVM(classes=TAGS).fit(X, Y, fixed=fixed)
    unknown = [*Y[:i], [Y[i][0], None, *Y[i][2:]], *Y[i + 1 :]]
    fixed[i][1] = "O"
    ChainSVM(classes=TAGS, tol=0.1).fit(X, unknown, fixed=fixed)


def test_score_under_limits_is_that_of_predictions_under_them(tagger):
    X, Y = make_tags(2, n=20)
    fixed = [[tag if t == 0 else None for t, tag in enumerate(y)] for y in Y]
    allowed = [[None if t == 0 else {tag, "O"} for t, tag in enumerate(y)] for y in Y]
    for limits in ({}, {"fixed": fixed}, {"allowed": allowed}):
        pairs = zip(Y, tagger.predict(X, **limits), strict=True)
        wrong = [np.mean(np.array(y) != found) for y, found in pairs]
        assert tagger.score(X, Y, **limits) == pytest.approx(1 - np.mean(wrong))
    assert tagger.score(X, Y, fixed=Y) == 1.0


def test_true_labels_that_are_forbidden_are_named():
    X, Y = make_tags()
    Y[3] = ["O", "I-X", "O"]
    X[3] = np.ones((3, 5))
    strict = Constraints("iob2", strict=True)
    with pytest.raises(
        ValueError, match=r"y\[3\]\[1\]: .*forbid the true labels: 'I-X' may not follow"
    ):
        ChainSVM(constraints=strict, classes=TAGS).fit(X, Y)
    Y[3] = ["I-X", "O", "O"]
    with pytest.raises(ValueError, match=r"y\[3\]\[0\]: .* 'I-X' may not start a sequence"):
        ChainSVM(constraints=strict, classes=TAGS).fit(X, Y)
    Y[3] = ["O", "O", "B-X"]
    limits = Constraints(forbidden_end=["B-X"], strict=True)
    Y = [y if y[-1] != "B-X" or i == 3 else ["O"] * len(y) for i, y in enumerate(Y)]
    with pytest.raises(ValueError, match=r"y\[3\]\[2\]: .* 'B-X' may not end a sequence"):
        ChainSVM(constraints=limits, classes=TAGS).fit(X, Y)
    allowed = [None, None, None, [["O"], ["B-Y"], None], *[None] * 8]
    with pytest.raises(ValueError, match=r"y\[3\]\[1\]: .* 'O' is not allowed there"):
        ChainSVM(classes=TAGS).fit(X, Y, allowed=allowed)


def test_constraints_are_widened_by_true_labels_and_say_so(tmp_path):
    """True labels that break the scheme are learnt, allowed at prediction, and told of."""
    X, Y = make_tags(n=40)
    broken = {3: ["O", "I-X", "O"], 5: ["I-Y"], 7: ["O", "I-X"]}
    for i, y in broken.items():
        Y[i] = y
        X[i] = 3.0 * np.eye(5)[[TAGS.index(tag) for tag in y]]
    model = ChainSVM(constraints="iob2", classes=TAGS, random_state=0, tol=1e-2)
    with pytest.warns(UserWarning, match=r"'I-X' after 'O' \(2 times\), 'I-Y' at the start \(once"):
        model.fit(X, Y)
    assert model.widened_ == [("O", "I-X", 2), (None, "I-Y", 1)]
    assert model.result_.status == "converged"

    def fits(y):
        steps = list(pairwise([None, *y]))
        off = [b for a, b in steps if b[0] == "I" and (a is None or a == "O" or a[2:] != b[2:])]
        return len(off) == sum((a, b) in {("O", "I-X"), (None, "I-Y")} for a, b in steps)

    others, _ = make_tags(1, n=20, scheme_valid=False)
    for x, labels in zip([*X, *others], model.predict([*X, *others]), strict=True):
        assert labels.tolist() == best_of(model, x, fits)
    model.save(tmp_path / "a.mm")
    again = load(tmp_path / "a.mm")
    assert again.widened_ == model.widened_
    for a, b in zip(again.predict(others), model.predict(others), strict=True):
        assert a.tolist() == b.tolist()
    Y[3] = Y[7] = ["O", "O", "O"][: len(Y[3])]
    X[7] = X[3]
    Y[5] = ["O"]
    assert model.fit(X, Y).widened_ == []


def test_a_stray_label_of_another_scheme_is_widened_and_many_are_refused():
    X, Y = make_tags(n=40)
    X[3], Y[3] = np.ones((2, 5)), ["B-X", "E-X"]
    tags = [*TAGS, "E-X"]
    with pytest.warns(UserWarning, match=r"'E-X' after 'B-X' \(once\), 'E-X' at the end \(once\)"):
        model = ChainSVM(constraints="iob2", classes=tags, tol=0.1, random_state=0).fit(X, Y)
    assert set(model.widened_) == {("B-X", "E-X", 1), ("E-X", None, 1)}
    with pytest.raises(ValueError, match=r"not tags of 'io'.*'B-Y'"):
        model.set_params(constraints="io").predict(X)
    with pytest.raises(ValueError, match=r"these classes are not tags of 'iob2': 'E-X'\."):
        ChainSVM(constraints="iob2", classes=tags).fit(*make_tags())
    with pytest.raises(ValueError, match=r"not tags of 'iob2': 'E-X' \(7 of 7 labels"):
        ChainSVM(constraints="iob2", classes=tags).fit(X[:4], [["E-X"] * len(y) for y in Y[:4]])


def test_forbidden_pairs_are_widened_too_and_later_batches_add():
    X, Y = [np.eye(2), np.eye(2)], [["a", "b"], ["b", "a"]]
    model = ChainSVM(
        constraints=Constraints(forbidden=[("a", "b"), ("b", "a")]),
        solver="perceptron",
        classes=["a", "b"],
    )
    with pytest.warns(UserWarning, match=r"'b' after 'a' \(once\)"):
        model.partial_fit(X[:1], Y[:1])
    with pytest.warns(UserWarning, match=r"'a' after 'b' \(once\)"):
        model.partial_fit(X[1:], Y[1:])
    model.partial_fit(X, Y)
    assert {step[:2] for step in model.widened_} == {("a", "b"), ("b", "a")}


@pytest.mark.parametrize(
    "steps", [[[0, 5, 1]], [[7, 0, 1]], [[-1, 0, 1]], [[0, 0, 0]], [[0, 0]], [[0.5, 0, 1]]]
)
def test_widened_steps_of_a_model_file_are_checked(steps):
    with pytest.raises(ValueError, match="damaged"):
        checked_steps(np.array(steps), 5)


def test_unknown_labels_break_no_constraint():
    X, Y = make_tags()
    X[3], Y[3] = np.ones((3, 5)), ["O", None, "I-X"]
    model = ChainSVM(constraints="iob2", classes=TAGS, random_state=0, tol=1e-2).fit(X, Y)
    assert model.result_.status == "converged"


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scheme": "iob9"}, "scheme='iob9' is unknown"),
        ({"forbidden": ["ab"]}, r"forbidden\[0\] must be a pair \(from, to\), got 'ab'"),
        ({"forbidden": [("a", "b", "c")]}, r"forbidden\[0\] must be a pair"),
        ({"forbidden": "ab"}, "forbidden must be a list, got 'ab'"),
        ({"forbidden_start": "a"}, "forbidden_start must be a list"),
        ({"strict": "yes"}, "strict must be True or False"),
    ],
)
def test_bad_constraints_are_refused_when_made(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Constraints(**arguments)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Constraints(forbidden=[("O", "Z")]), r"forbidden\[0\] names 'Z', which is no class"),
        (Constraints(forbidden_end=["Z"]), r"forbidden_end\[0\] names 'Z'"),
        ("bioes", None),
        ("io", "not tags of 'io'.*'B-X'"),
    ],
)
def test_constraints_that_do_not_fit_the_classes(limits, message):
    if message is None:
        assert resolve_constraints(limits).barrier(CLASSES).shape == (7, 5)
        return
    with pytest.raises(ValueError, match=message):
        ChainSVM(constraints=limits, classes=TAGS).fit(*make_tags())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"allowed": [None]}, "allowed has 1 entries but X has 2 sequences"),
        ({"allowed": [[None], None]}, r"allowed\[0\] has 1 entries but X\[0\] has 2 positions"),
        ({"allowed": [["O", None], None]}, r"allowed\[0\]\[0\] must be a collection of labels"),
        ({"allowed": [[["Q"], None], None]}, r"allowed\[0\]\[0\] names 'Q', which is no class"),
        ({"allowed": [[None, []], None]}, r"allowed\[0\]\[1\] allows no label"),
        ({"allowed": ["OO", None]}, r"allowed\[0\] must be None, a boolean array or a list"),
        ({"allowed": [np.ones((1, 5), dtype=bool), None]}, r"allowed\[0\] has shape \(1, 5\)"),
        ({"fixed": [["O"], None]}, r"fixed\[0\] has 1 labels but X\[0\] has 2 positions"),
        ({"fixed": [["O", "Q"], None]}, r"fixed\[0\]\[1\] is 'Q', a label never seen"),
        ({"fixed": [["O", "I-X"], None]}, r"X\[0\]: the constraints allow no labelling"),
        ({"fixed": [None, ["I-Y"]]}, r"X\[1\]: the constraints allow no labelling"),
    ],
)
def test_bad_limits_are_refused(tagger, arguments, message):
    X = [np.ones((2, 5)), np.ones((1, 5))]
    with pytest.raises((TypeError, ValueError), match=message):
        tagger.predict(X, **arguments)


def test_impossible_limits_are_refused_by_every_kind_of_answer(tagger):
    X, fixed = [np.ones((1, 5)), np.ones((2, 5))], [None, ["O", "I-X"]]
    calls = (
        lambda: tagger.predict_topk(X, 2, fixed=fixed),
        lambda: tagger.predict_marginals(X, fixed=fixed),
        lambda: tagger.decision_function(X, fixed=fixed),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"X\[1\]: the constraints allow no output"):
            call()


def test_constraints_that_allow_no_labelling_at_all(tagger):
    everything = [(a, b) for a in TAGS for b in TAGS]
    tagger = ChainSVM(classes=TAGS, random_state=0, tol=1e-2).fit(*make_tags())
    tagger.set_params(constraints=Constraints(forbidden=everything))
    assert len(tagger.predict([np.ones((1, 5))])) == 1
    X = [np.ones((1, 5)), np.ones((2, 5))]
    with pytest.raises(ValueError, match=r"X\[1\]: the constraints allow no labelling"):
        tagger.predict(X)
    with pytest.raises(ValueError, match=r"X\[1\]: the constraints allow no labelling"):
        tagger.score(X, [["O"], ["O", "O"]])


# -- the parts -----------------------------------------------------------------------------------


def test_no_limits_make_no_barrier():
    assert node_barrier(np.array([0, 2]), Labels(CLASSES)) is None
    assert resolve_constraints(None) is None


def test_fixed_and_allowed_hold_together():
    labels, fixed = Labels(["a", "b"]), np.array([1])
    barrier = node_barrier(np.array([0, 1]), labels, allowed=[[["a"]]], fixed=fixed)
    assert np.isneginf(barrier).all()


def test_first_breach_is_found():
    edges = Constraints(forbidden=[("O", "O")]).barrier(CLASSES)
    codes = np.array([4, 0, 4, -1, 4, 4])
    breach = find_breach(codes, np.array([0, 2, 6]), CLASSES, edges, None)
    assert breach == (1, 3, "'O' may not follow 'O'")
    assert find_breach(codes[:5], np.array([0, 2, 5]), CLASSES, edges, None) is None


def test_equal_constraints_are_equal():
    a = Constraints("iob2", forbidden=[["O", "B-X"]])
    assert a == Constraints(**a.parameters()) and hash(a) == hash(Constraints(**a.parameters()))
