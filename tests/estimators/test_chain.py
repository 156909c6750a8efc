"""ChainSVM: against brute force, with scikit-learn, and on bad input."""

from itertools import pairwise

import clarabel
import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import maxmargin
from maxmargin import ChainSVM, Checkpoint, Constraints
from maxmargin.costs import ClassWeighted, Hamming
from maxmargin.inputs.request import Request
from maxmargin.inputs.sequences import stack_arrays
from maxmargin.metrics import chunk_f1_scorer
from maxmargin.testing import enumerate as brute


def make_data(seed=0, n=12, n_labels=3, longest=4, noise=0.6):
    rng = np.random.default_rng(seed)
    Y = [rng.integers(0, n_labels, rng.integers(1, longest + 1)) for _ in range(n)]
    X = [np.eye(n_labels)[y] + rng.normal(0, noise, (len(y), n_labels)) for y in Y]
    return X, Y


def name(Y, names="abc"):
    return [[names[label] for label in y] for y in Y]


def same(A, B):
    return all(np.array_equal(a, b) for a, b in zip(A, B, strict=True))


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def tagger(data):
    return ChainSVM(C=0.5, tol=1e-5, random_state=0).fit(*data)


# -- the optimum, against a QP over all labellings -----------------------------------------------


def joint_feature(x, y, n_labels, starts=True, ends=True):
    """phi(x, y) as in the class text, written out."""
    unary, bias = np.zeros((x.shape[1], n_labels)), np.zeros(n_labels)
    transitions = np.zeros((n_labels, n_labels))
    start, end = np.zeros(n_labels), np.zeros(n_labels)
    for t, label in enumerate(y):
        unary[:, label] += x[t]
        bias[label] += 1
        if t > 0:
            transitions[y[t - 1], label] += 1
    start[y[0]] += starts
    end[y[-1]] += ends
    return np.concatenate([unary.ravel(), bias, transitions.ravel(), start, end])


def runs(y):
    """The runs of known labels of one sequence, as (first, last)."""
    found, first = [], None
    for t, label in enumerate([*y, -1]):
        if label == -1 and first is not None:
            found.append((first, t))
            first = None
        elif label != -1 and first is None:
            first = t
    return found


def qp_optimum(X, Y, C, cost, weight=None, allows=lambda y: True, n_labels=3):
    """min |w|^2/2 + C sum_i s_i xi_i over all labellings, divided by C n as the package does."""
    rows, offsets, owners, shares = [], [], [], []
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        for first, last in runs(y):
            borders = first == 0, last == len(y)
            truth = y[first:last]
            at_truth = joint_feature(x[first:last], truth, n_labels, *borders)
            for other in brute.labellings(last - first, n_labels):
                if allows(other):
                    at_other = joint_feature(x[first:last], other, n_labels, *borders)
                    rows.append(at_truth - at_other)
                    offsets.append(cost(truth, other, y))
                    owners.append(len(shares))
            shares.append(1.0 if weight is None else weight[i])
    d, n = len(rows[0]), len(shares)
    P = sp.diags(np.concatenate([np.ones(d), np.zeros(n)]), format="csc")
    q = np.concatenate([np.zeros(d), C * np.array(shares)])
    picks = sp.csc_matrix((np.ones(len(owners)), (np.arange(len(owners)), owners)))
    A = -sp.hstack([sp.csc_matrix(np.array(rows)), picks]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(len(rows))]
    solver = clarabel.DefaultSolver(sp.triu(P).tocsc(), q, A, -np.array(offsets), cones, settings)
    return solver.solve().obj_val / (C * n)


def hamming(truth, other, whole):
    return float(np.sum(truth != other))


def mean(truth, other, whole):
    return float(np.sum(truth != other)) / np.sum(whole != -1)


def zero_one(truth, other, whole):
    return float((truth != other).any())


def assert_at_optimum(model, optimum):
    result = model.result_
    assert result.status == "converged"
    assert result.dual <= optimum + 1e-7 <= result.primal + 2e-7
    assert result.gap <= 1e-4 * result.primal


@pytest.mark.parametrize(
    ("cost", "reference"),
    [("hamming", hamming), (Hamming("mean"), mean), ("zero_one", zero_one)],
    ids=["hamming", "mean", "zero_one"],
)
@pytest.mark.parametrize("partial", [False, True], ids=["full", "partial"])
def test_optimum_is_that_of_a_qp_over_all_labellings(cost, reference, partial):
    X, Y = make_data(n=6)
    weight = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    if partial:
        Y = [np.where(np.arange(len(y)) == 1, -1, y) for y in Y]
        Y[0] = np.full(len(Y[0]), -1)
    model = ChainSVM(C=0.7, cost=cost, tol=1e-4, random_state=0, classes=[0, 1, 2])
    model.fit(X, Y, sample_weight=weight)
    assert_at_optimum(model, qp_optimum(X, Y, 0.7, reference, weight))


def test_optimum_under_constraints_counts_allowed_labellings_only():
    def allows(y):
        return (0, 1) not in pairwise(np.asarray(y).tolist())

    X, Y = make_data(n=16, longest=3, noise=1.5)
    X = [x for x, y in zip(X, Y, strict=True) if allows(y)]
    Y = [y for y in Y if allows(y)]
    free = ChainSVM(C=0.7, tol=1e-4, random_state=0).fit(X, Y)
    model = clone(free).set_params(constraints=Constraints(forbidden=[(0, 1)])).fit(X, Y)
    assert_at_optimum(model, qp_optimum(X, Y, 0.7, hamming, allows=allows))
    assert free.result_.dual > model.result_.primal


@pytest.mark.parametrize("off", ["fit_intercept", "fit_transitions", "fit_start", "fit_end"])
def test_blocks_of_weights_can_be_switched_off(data, off):
    model = ChainSVM(random_state=0, tol=1e-2, **{off: False}).fit(*data)
    blocks = {
        "fit_intercept": model.intercept_,
        "fit_transitions": model.transitions_,
        "fit_start": model.start_,
        "fit_end": model.end_,
    }
    assert [name for name, block in blocks.items() if not block.any()] == [off]
    assert model.coef_.shape == (3, 3)


# -- outputs, against enumeration ----------------------------------------------------------------


def enumeration(model, x):
    unary = x @ model.coef_.T + model.intercept_
    return brute.chain(unary, model.transitions_, model.start_, model.end_)


def test_outputs_are_those_of_enumeration(tagger, data):
    X, _ = data
    topk = zip(*tagger.predict_topk(X, 4), strict=True)
    marginals = tagger.predict_marginals(X, temperature=0.5)
    decisions = tagger.decision_function(X)
    for x, labels, best, node, decision in zip(
        X, tagger.predict(X), topk, marginals, decisions, strict=True
    ):
        everything = enumeration(tagger, x)
        outputs, scores = brute.k_best(everything, 4)
        assert labels.tolist() == outputs[0].tolist()
        assert [y.tolist() for y in best[0]] == outputs.tolist()
        assert best[1].tolist() == pytest.approx(scores.tolist())
        np.testing.assert_allclose(node, brute.marginals(everything, 0.5)[0], atol=1e-9)
        np.testing.assert_allclose(decision, brute.max_marginals(everything), atol=1e-9)


def test_fixed_labels_are_completed_as_best_fits(tagger, data):
    X, _ = data
    fixed = [[1 if t == 1 else None for t in range(len(x))] for x in X]
    fixed[0] = None
    for x, limits, labels in zip(X, fixed, tagger.predict(X, fixed=fixed), strict=True):
        everything = enumeration(tagger, x)
        if limits is None or len(x) < 2:
            fits = np.ones(len(everything.scores), dtype=bool)
        else:
            fits = everything.outputs[:, 1] == 1
        best = everything.outputs[fits][np.argmax(everything.scores[fits])]
        assert labels.tolist() == best.tolist()


def test_score_is_one_less_the_mean_share_of_cost(tagger, data):
    X, Y = data
    wrong = [np.mean(y != p) for y, p in zip(Y, tagger.predict(X), strict=True)]
    assert tagger.score(X, Y) == pytest.approx(1 - np.mean(wrong))
    weight = np.arange(1, len(X) + 1)
    expected = 1 - np.average(wrong, weights=weight)
    assert tagger.score(X, Y, sample_weight=weight) == pytest.approx(expected)


def test_score_leaves_unknown_labels_out(tagger, data):
    X, Y = data
    Y = [y.copy() for y in Y]
    Y[0][:] = -1
    long = next(i for i, y in enumerate(Y) if len(y) > 1 and i > 0)
    Y[long][0] = -1
    shares = [
        np.mean((y != p)[y >= 0]) for y, p in zip(Y, tagger.predict(X), strict=True) if max(y) >= 0
    ]
    assert tagger.score(X, Y) == pytest.approx(1 - np.mean(shares))


def test_number_of_threads_changes_nothing():
    X, Y = make_data(n=600, longest=3)
    one = ChainSVM(random_state=0, tol=1e-2).fit(X, Y)
    two = ChainSVM(random_state=0, tol=1e-2, n_jobs=2).fit(X, Y)
    assert np.array_equal(one.result_.w, two.result_.w)
    assert same(one.predict(X), two.predict(X))
    assert same(one.decision_function(X), two.decision_function(X))
    assert same(one.predict_marginals(X), two.predict_marginals(X))


# -- what X and Y may be -------------------------------------------------------------------------


def test_any_kind_of_array_gives_the_same_model(tagger, data):
    X, Y = data
    objects = np.empty(len(X), dtype=object)
    objects[:] = X
    for kind in (objects, [x.tolist() for x in X], [np.asfortranarray(x) for x in X]):
        assert np.array_equal(clone(tagger).fit(kind, Y).coef_, tagger.coef_)
    sparse = clone(tagger).fit([sp.csr_matrix(x) for x in X], Y)
    np.testing.assert_allclose(sparse.coef_, tagger.coef_, atol=0.05)
    assert sparse.result_.primal == pytest.approx(tagger.result_.primal, rel=2e-5)


def test_float32_trains_close_to_float64(tagger, data):
    X, Y = data
    model = clone(tagger).fit([x.astype(np.float32) for x in X], Y)
    assert model.result_.primal == pytest.approx(tagger.result_.primal, rel=1e-4)
    assert model.coef_.dtype == np.float64


def test_three_dimensional_array_is_a_list_of_sequences():
    X, Y = make_data(n=40, longest=1)
    X, Y = np.array(X).reshape(10, 4, 3), np.array(Y).reshape(10, 4)
    model = ChainSVM(random_state=0, tol=1e-2).fit(X, Y)
    again = ChainSVM(random_state=0, tol=1e-2).fit(list(X), Y.tolist())
    assert np.array_equal(model.coef_, again.coef_)


def test_sparse_indices_may_be_unsorted_or_double():
    good = sp.csr_matrix(np.array([[1.0, 2.0], [0.0, 3.0]]))
    odd = sp.csr_matrix(
        (np.array([2.0, 0.5, 0.5, 3.0]), np.array([1, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 2)
    )
    before = odd.data.copy(), odd.indices.copy()
    stacked = stack_arrays([odd, good]).matrix
    assert stacked.toarray().tolist() == [[1, 2], [0, 3], [1, 2], [0, 3]]
    assert stacked.has_canonical_format
    assert np.array_equal(odd.data, before[0]) and np.array_equal(odd.indices, before[1])


def test_views_of_one_array_are_not_copied(tmp_path):
    base = np.arange(24.0).reshape(8, 3)
    cuts = [(2, 4), (4, 5), (5, 8)]
    stack = stack_arrays([base[a:b] for a, b in cuts])
    assert np.shares_memory(stack.matrix, base)
    assert np.array_equal(stack.matrix, base[2:8])
    assert np.shares_memory(stack_arrays(list(base.reshape(4, 2, 3))).matrix, base)
    mapped = np.memmap(tmp_path / "x", dtype=np.float32, mode="w+", shape=(8, 3))
    mapped[:] = base
    assert np.shares_memory(stack_arrays([mapped[a:b] for a, b in cuts]).matrix, mapped)
    # Neither a gap nor another order is taken for neighbours.
    for order in ([(0, 2), (3, 5)], [(2, 4), (0, 2)]):
        stack = stack_arrays([base[a:b] for a, b in order])
        expected = np.concatenate([base[a:b] for a, b in order])
        assert np.array_equal(stack.matrix, expected)
    columns = np.arange(24.0).reshape(4, 6)
    assert np.array_equal(stack_arrays([columns[:, :3]]).matrix, columns[:, :3])


def test_read_only_memory_maps_from_joblib(tmp_path, data):
    X, Y = data
    stacked = np.concatenate(X)
    joblib.dump(stacked, tmp_path / "X.joblib")
    mapped = joblib.load(tmp_path / "X.joblib", mmap_mode="r")
    ends = np.cumsum([len(x) for x in X])
    views = [mapped[end - len(x) : end] for x, end in zip(X, ends, strict=True)]
    model = ChainSVM(random_state=0, tol=1e-2).fit(views, Y)
    expected = ChainSVM(random_state=0, tol=1e-2).fit(X, Y)
    assert np.array_equal(model.coef_, expected.coef_)
    assert same(model.predict(views), expected.predict(X))


def test_labels_of_any_type(tagger, data):
    X, Y = data
    for names in ("abc", [2.5, 3.5, 7.0], [("x", 1), ("x", 2), ("y", 1)], [False, True, 2]):
        labels = [[names[label] for label in y] for y in Y]
        model = clone(tagger).fit(X, labels)
        assert model.classes_.tolist() == list(names)
        assert np.array_equal(model.coef_, tagger.coef_)
        found = [[names[label] for label in y] for y in tagger.predict(X)]
        assert [labels.tolist() for labels in model.predict(X)] == found


def test_classes_may_name_more_labels_in_any_order(data):
    X, Y = data
    model = ChainSVM(classes=["z", "c", "b", "a"], random_state=0, tol=1e-2).fit(X, name(Y))
    assert model.classes_.tolist() == ["z", "c", "b", "a"]
    assert model.coef_.shape == (4, 3) and model.transitions_.shape == (4, 4)


def test_minus_one_is_a_label_where_classes_say_so(data):
    X, Y = data
    signs = [np.where(y == 0, -1, 1) for y in Y]
    model = ChainSVM(classes=[-1, 1], random_state=0, tol=1e-2).fit(X, signs)
    assert model.classes_.tolist() == [-1, 1]
    assert model.score(X, signs) > 0.8
    with pytest.raises(ValueError, match=r"one label only, 1; .*-1 mean unknown"):
        ChainSVM().fit(X, signs)


@pytest.mark.parametrize("number", [float, np.float32, np.float64])
def test_minus_one_of_any_type_of_number_is_unknown(data, number):
    X, Y = data
    Y = [y.copy() for y in Y]
    Y[0][:] = -1
    whole = ChainSVM(random_state=0, tol=1e-2).fit(X, Y)
    model = ChainSVM(random_state=0, tol=1e-2).fit(X, [[number(label) for label in y] for y in Y])
    assert model.classes_.tolist() == [0.0, 1.0, 2.0]
    assert np.array_equal(model.coef_, whole.coef_)
    named = ChainSVM(classes=[-1.0, 0.0, 1.0, 2.0], random_state=0, tol=1e-2)
    assert named._encode(Request(X, Y), reset=True).n_examples == len(X)


def test_unknown_labels_cut_a_sequence_in_training():
    X, Y = make_data(n=5, longest=4)
    Y = [y.astype(object) for y in Y]
    long = next(i for i, y in enumerate(Y) if len(y) == 4)
    Y[long][1] = None
    training = ChainSVM()._encode(Request(X, Y, np.arange(1.0, 6.0)), reset=True)
    lengths = [len(y) for y in Y]
    expected = lengths[:long] + [1, 2] + lengths[long + 1 :]
    assert np.diff(training.data.offsets).tolist() == expected
    assert training.data.borders.tolist()[long : long + 2] == [[1, 0], [0, 1]]
    assert training.weight.tolist()[long : long + 2] == [long + 1, long + 1]


def test_sequence_without_known_label_counts_for_nothing(data):
    X, Y = data
    padded = ChainSVM(random_state=0, tol=1e-2).fit([*X, X[0]], [*Y, [-1] * len(X[0])])
    plain = ChainSVM(random_state=0, tol=1e-2).fit(X, Y)
    assert np.array_equal(padded.coef_, plain.coef_)


# -- feature dictionaries ------------------------------------------------------------------------

WORDS = [["the", "cat", "sat"], ["a", "dog"], ["the", "dog", "sat"], ["cat", "sat"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["D", "N", "V"], ["N", "V"]]


def as_dicts(words):
    return [{"w": word, "first": t == 0} for t, word in enumerate(words)]


def as_lists(words):
    return [["w=" + word] + ["first"] * (t == 0) for t, word in enumerate(words)]


@pytest.mark.parametrize("positions", [as_dicts, as_lists])
def test_feature_dictionaries_and_lists_of_names(positions, tmp_path):
    X = [positions(words) for words in WORDS]
    model = ChainSVM(C=10, random_state=0).fit(X, TAGS)
    assert [labels.tolist() for labels in model.predict(X)] == TAGS
    assert model.coef_.shape == (3, 6) and len(model.features_.names) == 6
    unseen = [positions(["the", "wombat", "sat"])]
    assert model.predict(unseen)[0].tolist() == ["D", "N", "V"]
    model.save(tmp_path / "tagger.mm")
    again = maxmargin.load(tmp_path / "tagger.mm")
    assert again.features_.names == model.features_.names
    assert again.predict(unseen)[0].tolist() == ["D", "N", "V"]
    assert again.score(X, TAGS) == 1.0


def test_min_count_and_hashing_of_features():
    X = [as_dicts(words) for words in WORDS]
    model = ChainSVM(min_count=3, random_state=0, tol=1e-2).fit(X, TAGS)
    assert model.features_.names == ["first", "w=sat"]
    hashed = ChainSVM(n_hashed_features=64, random_state=0, tol=1e-2).fit(X, TAGS)
    assert hashed.coef_.shape == (3, 64) and hashed.features_.names is None
    assert hashed.score(X, TAGS) > 0.5


# -- with the base class -------------------------------------------------------------------------


def test_class_weight_multiplies_the_cost_of_positions(data):
    X, Y = data
    weighted = ChainSVM(class_weight={1: 3.0}, random_state=0).fit(X, Y)
    costed = ChainSVM(cost=ClassWeighted({1: 3.0}), random_state=0).fit(X, Y)
    assert np.array_equal(weighted.coef_, costed.coef_)
    positions = np.concatenate(Y)
    share = len(positions) / (3 * np.bincount(positions))
    balanced = ChainSVM(class_weight="balanced", random_state=0).fit(X, Y)
    named = ChainSVM(class_weight=dict(enumerate(share)), random_state=0).fit(X, Y)
    assert np.array_equal(balanced.coef_, named.coef_)


def test_class_weights_that_leave_nothing(data):
    X, Y = data
    with pytest.raises(ValueError, match=r"class_weight .* every position"):
        ChainSVM(class_weight=dict.fromkeys(range(3), 0.0)).fit(X, Y)
    one = [i for i, y in enumerate(Y) if set(y.tolist()) == {1}]
    weight = np.isin(np.arange(len(X)), one)
    with pytest.raises(ValueError, match=r"class_weight .* every position"):
        ChainSVM(class_weight={1: 0.0}).fit(X, Y, sample_weight=weight)


def test_sample_weight_counts_an_example_as_often(data):
    X, Y = data
    n = len(X)
    twice = ChainSVM(tol=1e-4, random_state=0).fit([*X, X[0]], [*Y, Y[0]])
    weighted = ChainSVM(tol=1e-4, random_state=0).fit(X, Y, sample_weight=[2.0] + [1.0] * (n - 1))
    # Both are |w|^2/2 + C sum, divided by C times their number of examples.
    assert weighted.result_.primal * n == pytest.approx(twice.result_.primal * (n + 1), rel=1e-3)


def test_warm_start_keeps_the_dual_on_the_same_data(data):
    model = ChainSVM(warm_start=True, random_state=0, tol=1e-2).fit(*data)
    first = model.result_.dual
    model.set_params(tol=1e-4).fit(*data)
    assert model.result_.history[0].dual >= first
    cold = ChainSVM(random_state=0, tol=1e-4).fit(*data)
    assert model.result_.primal == pytest.approx(cold.result_.primal, rel=2e-4)


def test_warm_start_after_a_change_of_the_layout_starts_anew(data):
    model = ChainSVM(warm_start=True, random_state=0, tol=1e-2).fit(*data)
    with pytest.warns(UserWarning, match="starting anew"):
        model.set_params(fit_transitions=False).fit(*data)
    assert not model.transitions_.any()


def test_prediction_follows_the_fitted_layout(data):
    model = ChainSVM(random_state=0, tol=1e-2).fit(*data)
    expected = model.predict(data[0])
    model.set_params(fit_transitions=False)
    assert same(model.predict(data[0]), expected)


def test_eval_set_and_patience(data):
    model = ChainSVM(tol=0.0, random_state=0, max_iter=50)
    model.fit(*data, eval_set=make_data(1), patience=2)
    scores = [record.validation_score for record in model.result_.history]
    assert model.result_.status == "patience"
    assert model.score(*make_data(1)) == pytest.approx(max(scores))


def test_partial_fit_goes_batch_by_batch(data):
    X, Y = data
    model = ChainSVM(solver="perceptron", random_state=0)
    with pytest.raises(ValueError, match="classes must be given"):
        model.partial_fit(X, Y)
    for _ in range(3):
        model.partial_fit(X[:6], Y[:6], classes=[0, 1, 2])
        model.partial_fit(X[6:], Y[6:])
    assert model.score(X, Y) > 0.7
    with pytest.raises(ValueError, match="label never seen"):
        model.partial_fit(X[:1], [[9] * len(X[0])])


def test_path_reuses_the_dual_and_chooses_by_folds(data):
    X, Y = data
    path = ChainSVM(random_state=0, tol=1e-2).path(X, Y, [0.1, 1.0], cv=3)
    assert path.scores.shape == (2, 3)
    direct = ChainSVM(C=1.0, random_state=0, tol=1e-2).fit(X, Y)
    assert path.results[1].primal == pytest.approx(direct.result_.primal, rel=2e-2)


def test_save_and_load_give_the_same_model(tmp_path, data):
    X, Y = data
    model = ChainSVM(
        cost=Hamming("mean"),
        constraints=Constraints(forbidden=[("a", "zz")], forbidden_end=["zz"]),
        classes=["a", "b", "c", "zz"],
        random_state=0,
        fit_transitions=True,
        fit_end=False,
    ).fit(X, name(Y))
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert again.get_params() == model.get_params()
    assert again.result_.gap == model.result_.gap
    assert same(again.predict(X), model.predict(X))
    assert same(again.decision_function(X), model.decision_function(X))
    again.fit(X, name(Y))
    assert np.array_equal(again.coef_, model.coef_)


def test_model_file_whose_classes_do_not_fit_the_weights(tagger):
    meta, arrays = tagger.to_state()
    meta["fitted"]["classes_"] = meta["fitted"]["classes_"][:2]
    with pytest.raises(ValueError, match="2 classes, but weights for 3"):
        ChainSVM.from_state(meta, arrays)


def test_resumed_run_ends_where_an_uninterrupted_one_does(tmp_path, data):
    path = tmp_path / "run.mm"
    whole = ChainSVM(tol=1e-4, random_state=0).fit(*data)
    short = ChainSVM(tol=1e-4, random_state=0, max_iter=3)
    with pytest.warns(UserWarning, match="stopped after 3 passes"):
        short.fit(*data, callbacks=[Checkpoint(path, every=3)])
    resumed = ChainSVM(tol=1e-4, random_state=0).fit(*data, resume=path)
    assert np.array_equal(resumed.result_.w, whole.result_.w)


# -- with scikit-learn ---------------------------------------------------------------------------


def test_clone_and_params(tagger):
    copy = clone(tagger)
    assert copy.get_params() == tagger.get_params()
    with pytest.raises(NotFittedError):
        copy.predict([np.ones((1, 3))])


def test_grid_search_over_lists(data):
    X, Y = data
    search = GridSearchCV(ChainSVM(random_state=0, tol=1e-2), {"C": [0.01, 1.0]}, cv=3)
    search.fit(X, name(Y))
    assert search.best_params_["C"] in (0.01, 1.0)
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert len(search.predict(X)) == len(X)


def test_pipeline_and_cross_validation(data):
    X, Y = data
    scale = FunctionTransformer(lambda sequences: [2.0 * x for x in sequences])
    model = make_pipeline(scale, ChainSVM(random_state=0, tol=1e-2))
    scores = cross_val_score(model, X, Y, cv=3)
    assert scores.shape == (3,) and np.isfinite(scores).all()


def test_chunk_f1_scorer(data):
    X, Y = data
    tags = name(Y, ["B-X", "I-X", "O"])
    model = ChainSVM(random_state=0, tol=1e-2)
    scores = cross_val_score(model, X, tags, cv=3, scoring=chunk_f1_scorer)
    assert ((scores >= 0) & (scores <= 1)).all() and scores.any()


def test_prediction_from_several_threads_at_once(tagger, data):
    X, _ = data
    with joblib.parallel_config(backend="threading"):
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(tagger.predict)([x]) for x in X)
    assert same([each[0] for each in found], tagger.predict(X))


def test_tags_say_what_x_and_y_are(tagger):
    tags = tagger.__sklearn_tags__()
    assert tags.estimator_type is None
    assert not tags.input_tags.two_d_array and tags.target_tags.required


# -- bad input -----------------------------------------------------------------------------------


def changed(values, i, value):
    return [value if j == i else each for j, each in enumerate(values)]


def with_bad_value(x, value):
    x = x.copy()
    x[-1, 1] = value
    return x


X0, Y0 = make_data()
LONG = next(i for i, y in enumerate(Y0) if len(y) == 3)
BAD_X = {
    "ragged": (changed(X0, LONG, [[1, 2, 3], [1, 2]]), rf"X\[{LONG}\] is not a rectangular array"),
    "empty": (changed(X0, LONG, np.zeros((0, 3))), rf"X\[{LONG}\] is empty"),
    "no positions": (changed(X0, LONG, []), rf"X\[{LONG}\] is empty"),
    "nan": (changed(X0, LONG, with_bad_value(X0[LONG], np.nan)), rf"X\[{LONG}\]\[2\] has nan"),
    "inf": (changed(X0, LONG, with_bad_value(X0[LONG], np.inf)), rf"X\[{LONG}\]\[2\] has inf"),
    "features": (
        changed(X0, LONG, X0[LONG][:, :2]),
        rf"X\[{LONG}\] has 2 features but X\[0\] has 3",
    ),
    "flat": (np.concatenate(X0), r"X\[0\] must have two dimensions .* got shape \(3,\)"),
    "one sparse": (
        changed(X0, LONG, sp.csr_matrix(X0[LONG])),
        rf"X\[{LONG}\] is sparse but X\[0\]",
    ),
    "text": (
        changed(X0, LONG, [["a"] * 3] * 3),
        r"X\[0\] is of type ndarray; expected a list of lists",
    ),
    "numbers and names": (
        changed([x.tolist() for x in X0], LONG, [["a"]] * 3),
        r"X\[0\]\[0\] has the feature .*; expected text",
    ),
    "words": ([["the", "cat"]] * len(X0), r"X\[0\] must hold real numbers, or feature dict"),
    "zero features": ([x[:, :0] for x in X0], "0 features"),
    "nothing": ([], "X holds no sequence"),
    "sparse matrix": (sp.csr_matrix(np.eye(3)), "X must be a list of sequences"),
    "complex": ([x + 1j for x in X0], r"X\[0\] must hold real numbers.*complex"),
}


@pytest.mark.parametrize("case", BAD_X)
def test_bad_x_is_refused_at_fit(case):
    X, message = BAD_X[case]
    with pytest.raises((TypeError, ValueError), match=message):
        ChainSVM().fit(X, Y0)


@pytest.mark.parametrize("case", ["ragged", "empty", "nan", "inf", "nothing", "flat"])
def test_bad_x_is_refused_at_prediction(case, tagger):
    X, message = BAD_X[case]
    with pytest.raises((TypeError, ValueError), match=message):
        tagger.predict(X)


BAD_Y = {
    "shorter": (
        changed(Y0, LONG, Y0[LONG][:2]),
        rf"y\[{LONG}\] has 2 labels but X\[{LONG}\] has 3",
    ),
    "fewer": (Y0[:-1], "y has 11 sequences but X has 12"),
    "a number": (changed(Y0, LONG, 1), rf"y\[{LONG}\] must be a sequence of labels, got 1"),
    "a string": (changed(Y0, LONG, "abc"), rf"y\[{LONG}\] must be a sequence of labels"),
    "one label": ([np.zeros_like(y) for y in Y0], "one label only, 0"),
    "no label": ([[None] * len(y) for y in Y0], "no known label"),
    "nan": (changed(Y0, LONG, [0.0, float("nan"), 1.0]), rf"y\[{LONG}\]\[1\] is nan"),
    "a list": (changed(Y0, LONG, [[0], [1], [2]]), rf"y\[{LONG}\]\[0\] is a list"),
    "none at all": (None, "y must be a list of sequences"),
}


@pytest.mark.parametrize("case", BAD_Y)
def test_bad_y_is_refused(case):
    Y, message = BAD_Y[case]
    with pytest.raises((TypeError, ValueError), match=message):
        ChainSVM().fit(X0, Y)


def test_label_never_seen(tagger):
    Y = changed(Y0, LONG, [0, 1, 7])
    with pytest.raises(ValueError, match=rf"y\[{LONG}\]\[2\] is 7, a label never seen"):
        tagger.score(X0, Y)
    with pytest.raises(ValueError, match=rf"y\[{LONG}\]\[2\] is 7"):
        ChainSVM(classes=[0, 1, 2]).fit(X0, Y)


BAD_PARAMETERS = {
    "negative C": ({"C": -1.0}, "C must be a number > 0"),
    "class_weight": ({"class_weight": {0: 2.0}, "cost": "zero_one"}, "class_weight .*zero_one"),
    "weight of no class": ({"class_weight": {"z": 2.0}}, "class_weight names 'z'"),
    "transitions": ({"fit_transitions": "no"}, "fit_transitions must be True or False, got 'no'"),
    "constraints": ({"constraints": 3}, "constraints must be None, the name of a tag scheme"),
    "scheme": ({"constraints": "iob7"}, "scheme='iob7' is unknown"),
    "classes": ({"classes": [0, 0, 1]}, "classes names 0 twice"),
    "cost": ({"cost": "haming"}, "cost='haming' is not known"),
    "n_hashed_features": ({"n_hashed_features": 0}, None),
    "solver": (
        {"solver": "partial_linearization", "cost": "zero_one"},
        "PartialLinearization needs expectations of outputs .marginals., which ChainData does not "
        "provide. Solvers that fit: bcfw, ",
    ),
}


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters_are_refused(case):
    params, message = BAD_PARAMETERS[case]
    X = X0 if message else [as_dicts(words) for words in WORDS]
    Y = Y0 if message else TAGS
    with pytest.raises((TypeError, ValueError), match=message or "n_hashed_features must be"):
        ChainSVM(**params).fit(X, Y)


def test_wrong_number_of_features_at_prediction(tagger):
    with pytest.raises(ValueError, match=r"X\[1\] has 2 features but expected 3"):
        tagger.predict([np.ones((2, 3)), np.ones((2, 2))])
    with pytest.raises(
        TypeError, match="dictionaries of features, but the model was fitted on arr"
    ):
        tagger.predict([[{"a": 1}]])


def test_arrays_for_a_model_of_dictionaries():
    model = ChainSVM(random_state=0, tol=1e-2).fit([as_dicts(words) for words in WORDS], TAGS)
    with pytest.raises(
        TypeError, match=r"X\[0\] is of type ndarray; expected a list of dictionaries"
    ):
        model.predict([np.ones((2, 6))])


def test_failed_fit_leaves_the_model_as_it_was(tagger, data):
    X, _ = data
    expected = tagger.predict(X)
    with pytest.raises(ValueError, match="no known label"):
        tagger.fit([x[:, :2] for x in X], [[None] * len(x) for x in X])
    assert same(tagger.predict(X), expected)
