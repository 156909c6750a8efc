"""What ParserSVM does, run as Python by test_parser.py in a process of its own."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import ParserSVM, load
from maxmargin.estimators.parser.relations import arc_rows, name_relations
from maxmargin.look.example import example_problem
from maxmargin.metrics import las, uas

TAGS = {"d": "DET", "n": "NOUN", "v": "VERB", ".": "PUNCT"}


def words(text):
    return [{"form": letter, "upos": TAGS[letter], "xpos": TAGS[letter]} for letter in text]


X = [words("dnv."), words("nvdn"), words("dnvdn."), words("v")]
HEADS = [[2, 3, 0, 3], [2, 0, 4, 2], [2, 3, 0, 5, 3, 3], [0]]
NAMES = {"d": "det", "n": "arg", "v": "root", ".": "punct"}
ARCS = [
    [(head, NAMES[word["form"]]) for head, word in zip(tree, sentence, strict=True)]
    for tree, sentence in zip(HEADS, X, strict=True)
]
#: Arcs that cross, and two roots.
OUTSIDE = [words("dnvn"), words("nv")], [[3, 0, 2, 1], [0, 0]]


def parser(**options):
    return ParserSVM(**{"n_hashed_features": 1024, "random_state": 0, **options})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"projective": False},
        {"siblings": True},
        {"one_root": False},
        {"relations": "joint"},
        {"relations": "joint", "cost": "las"},
        {"relations": "none"},
        {"solver": "perceptron"},
        {"solver": "sgd", "C": 1.0},
    ],
    ids=str,
)
def test_trees_are_learnt_kept_and_listed(options, tmp_path):
    model = parser(**options).fit(X, ARCS)
    found = model.predict(X)
    assert [[_head(arc) for arc in tree] for tree in found] == HEADS
    has_relations = options.get("relations") != "none"
    assert model.score(X, ARCS if has_relations else HEADS) == 1.0
    if has_relations:
        assert found == ARCS
        assert las(ARCS, found) == 1.0
        assert sorted(model.classes_) == ["arg", "det", "punct", "root"]
    top = model.predict_topk(X, k=3)
    for best, others, totals in zip(found, top.outputs, top.scores, strict=True):
        assert [_head(arc) for arc in others[0]] == [_head(arc) for arc in best]
        assert (np.diff(totals) <= 1e-12).all()
        assert len({tuple(map(_head, tree)) for tree in others}) == len(others)
    for tree, arcs in zip(HEADS, model.predict_marginals(X, temperature=0.5), strict=True):
        plain = arcs if arcs.ndim == 2 else arcs.sum(axis=2)
        np.testing.assert_allclose(plain[:, 1:].sum(axis=0), 1.0)
        assert plain.shape == (len(tree) + 1,) * 2
    model.save(tmp_path / "model.mm")
    again = load(tmp_path / "model.mm")
    assert list(map(list, again.predict(X))) == list(map(list, found))
    assert again.n_outside_ == 0


def test_to_look_at_an_example_changes_nothing():
    model = parser().fit(X, ARCS)
    left_out = model.n_outside_
    example_problem(model, X[1], ARCS[1])
    assert model.predict(X) == ARCS
    assert model.score(X, ARCS) == 1.0
    assert model.n_outside_ == left_out


@pytest.mark.parametrize("names", [("only",), ("a", "b")], ids=len)
def test_few_relations(names, tmp_path):
    sentences = [words("nv"), words("vn")]
    arcs = [[(2, names[0]), (0, names[-1])], [(0, names[-1]), (1, names[0])]]
    for relations in ("second_stage", "joint"):
        model = parser(relations=relations).fit(sentences, arcs)
        assert model.predict(sentences) == arcs
        assert model.predict_topk(sentences, k=2).outputs[0][0] == arcs[0]
        model.save(tmp_path / "model.mm")
        assert load(tmp_path / "model.mm").predict(sentences) == arcs


def _head(arc):
    return int(arc[0]) if isinstance(arc, tuple) else int(arc)


@pytest.mark.parametrize(
    ("surrogate", "projective"), [("margin", True), ("slack", True), ("prob", True), ("log", False)]
)
def test_certificates(surrogate, projective):
    model = parser(solver="bcfw", surrogate=surrogate, projective=projective, max_iter=500)
    model.fit(X, HEADS)
    assert model.result_.status == "converged"
    assert model.result_.relative_gap <= 1e-2


@pytest.mark.parametrize("surrogate", ["slack", "prob"])
@pytest.mark.parametrize(
    "options",
    [
        {"siblings": True, "relations": "none"},
        {"projective": False, "relations": "none"},
        {"projective": False, "relations": "joint", "cost": "las"},
    ],
    ids=str,
)
def test_certificates_without_a_profile(surrogate, options):
    # Lists of 64 trees leave a gap of .87 for siblings under slack rescaling.
    # Relations make lists in Python slow: there only the shorter sentences.
    rows = [1, 3] if "cost" in options else range(4)
    model = parser(solver="bcfw", surrogate=surrogate, max_iter=100, **options)
    model.fit([X[i] for i in rows], [ARCS[i] for i in rows])
    assert model.result_.status == "converged"
    assert model.result_.search_gap <= 1e-2 * model.result_.primal


def test_trees_that_are_no_outputs_are_counted():
    more = X + OUTSIDE[0], HEADS + OUTSIDE[1]
    for outside in ("drop", "repair"):
        model = parser(outside=outside).fit(*more)
        assert model.n_outside_ == 2
        assert 0.0 < model.score(*more) < 1.0  # they are scored all the same
    assert parser(projective=False).fit(*more).n_outside_ == 1
    assert parser(projective=False, one_root=False).fit(*more).n_outside_ == 0
    with pytest.raises(ValueError, match="No tree of y is an output"):
        parser().fit(*OUTSIDE)


def test_punctuation_may_be_left_out():
    model = parser(punctuation=False, relations="none", max_iter=3).fit(X, HEADS)
    wrong = [list(tree) for tree in model.predict(X)]
    wrong[0][3] = 1 if wrong[0][3] != 1 else 2
    assert model.score(X[:1], [[int(h) for h in wrong[0]]]) == 1.0


def test_las_of_held_out_sentences():
    held_out = X[:2], ARCS[:2]
    joint = parser(relations="joint", scoring="las", max_iter=5).fit(X, ARCS, eval_set=held_out)
    assert joint.result_.validation_measure == "las"
    assert joint.result_.history[-1].validation_score == joint.score(*held_out)
    # A second stage is not learnt yet, and that of a fit before is another one.
    for model in (parser(scoring="las"), parser().fit(X, ARCS).set_params(scoring="las")):
        with pytest.raises(ValueError, match="eval_set: relations='second_stage' are learnt after"):
            model.fit(X, ARCS, eval_set=held_out)
    assert model.score(*held_out) == 1.0  # and it is as it was
    joint.set_params(relations="second_stage", scoring=None).fit(X, ARCS, eval_set=held_out)
    assert joint.relation_coef_ is not None
    joint.set_params(relations="joint").fit(X, ARCS)
    assert joint.relation_coef_ is None and joint.predict(X) == ARCS


def test_relations_are_named_by_the_largest_sum():
    model = parser().fit(X, ARCS)
    data, heads = model._encode_inputs(model._question(X)), np.concatenate(HEADS)
    sums = arc_rows(data.features, data.offsets, heads) @ model.relation_coef_
    found = name_relations(data.features, data.offsets, heads, model.relation_coef_)
    assert found.tolist() == sums.argmax(axis=1).tolist()


def test_features_of_arcs():
    rng = np.random.default_rng(0)
    dense = []
    for tree in HEADS:
        n = len(tree)
        x = rng.normal(size=(n + 1, n + 1, 3)) * 0.1
        x[tree, np.arange(1, n + 1), 1] += 1.0
        dense.append(x)
    sparse = [sp.csr_matrix(x.reshape(-1, 3)) for x in dense]
    for inputs in (dense, sparse):
        model = parser(relations="joint", solver="bcfw", max_iter=1000).fit(inputs, ARCS)
        assert uas(HEADS, [[h for h, _ in tree] for tree in model.predict(inputs)]) == 1.0
        assert model.result_.status == "converged"
        assert len(model.coef_) == 3 * 4
    with pytest.raises(TypeError, match="fitted to features of arcs"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"X\[0\] has the shape \(3, 4, 3\)"):
        parser().fit([np.zeros((3, 4, 3))], [[0, 1]])
    with pytest.raises(ValueError, match="siblings=True needs tokens"):
        parser(siblings=True, relations="none").fit(dense, ARCS)
    with pytest.raises(ValueError, match="punctuation=False needs tokens"):
        parser(punctuation=False, relations="none").fit(dense, ARCS)
    with pytest.raises(ValueError, match="second_stage' needs tokens"):
        parser().fit(dense, ARCS)


def test_rows_of_conllu_are_tokens():
    row = ("1", "n", "_", "NOUN", "NOUN", "_", "0", "root", "_", "_")
    rows = [[row, ("1-2", *row[1:]), ("2", *row[1:])]]
    model = parser(max_iter=1).fit(rows, [[0, 1]])
    assert len(model.predict(rows)[0]) == 2


def test_batches():
    model = parser(relations="none")
    for _ in range(10):
        model.partial_fit(X, HEADS)
    assert [tree.tolist() for tree in model.predict(X)] == HEADS
    with pytest.raises(ValueError, match="second_stage' needs all examples"):
        parser().partial_fit(X, ARCS)


@pytest.mark.parametrize(
    ("inputs", "trees", "error", "message"),
    [
        (X[:1], [[2, 3, 0, 9]], ValueError, r"y\[0\] is no tree: word 4 has the head 9"),
        (X[:1], [[2, 1, 0, 3]], ValueError, r"y\[0\] is no tree: word 1 is below itself"),
        (X[:1], [[2, 3, 0]], ValueError, r"X\[0\] has 4 words but y\[0\] has 3 heads"),
        (X[:1], [[2, 3, 0, "b"]], TypeError, r"y\[0\]\[3\] has the head 'b'"),
        (X[:1], [[(2, "a"), 3, 0, 3]], ValueError, r"y\[0\] must have a head for each word"),
        (X[:2], HEADS[:1], ValueError, "X has 2 sentences but y has 1 trees"),
        ([[]], [[]], ValueError, r"X\[0\] has no words"),
        ([], [], ValueError, "X is empty"),
        (["text"], [[0]], TypeError, r"X\[0\] must be a sequence of tokens"),
        ([[{"from": "a"}]], [[0]], ValueError, r"X\[0\]\[0\] has the key 'from'"),
        ([[("1", "a")]], [[0]], ValueError, r"X\[0\]\[0\] must be a dictionary or a row of ten"),
    ],
)
def test_bad_input(inputs, trees, error, message):
    with pytest.raises(error, match=message):
        parser().fit(inputs, trees)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost": "las"}, "needs relations='joint'"),
        ({"cost": "hamming"}, "no cost of parses"),
        ({"siblings": True, "projective": False}, "needs projective=True"),
        ({"siblings": True, "relations": "joint"}, "cannot be combined"),
        ({"relations": "later"}, "relations='later' is not known"),
        ({"outside": "keep"}, "outside='keep' is not known"),
        ({"n_hashed_features": 1000}, "power of 2"),
        ({"solver": "mira", "surrogate": "slack"}, "MIRA"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        parser(**options).fit(X, ARCS)
