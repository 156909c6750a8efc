import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn import metrics as sk
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score

from maxmargin.metrics import (
    chunk_f1,
    chunk_f1_scorer,
    chunk_precision,
    chunk_recall,
    chunk_scores,
    entity_f1,
    entity_f1_scorer,
    example_accuracy,
    example_f1,
    hamming_error,
    hamming_loss,
    label_set_report,
    macro_f1,
    micro_f1,
    sequence_accuracy,
    sequence_error,
    subset_accuracy,
    token_accuracy,
    token_accuracy_scorer,
)


def split(*texts):
    return [text.split() for text in texts]


def test_positions_and_sequences():
    truth, guess = [[1, 2, 3], [4], [5, 6]], [[1, 0, 3], [4], [0, 0]]
    assert hamming_error(truth, guess) == 0.5 and token_accuracy(truth, guess) == 0.5
    assert sequence_error(truth, guess) == pytest.approx(2 / 3)
    assert sequence_accuracy(truth, guess) == pytest.approx(1 / 3)


@pytest.mark.parametrize("kind", [list, np.array])
def test_unknown_labels_are_left_out(kind):
    truth = [kind([1, -1, 3]), kind([-1])]
    guess = [kind([1, 7, 0]), kind([5])]
    assert hamming_error(truth, guess) == 0.5
    assert sequence_accuracy(truth, guess) == 0.5
    with pytest.raises(ValueError, match="no position with a known label"):
        hamming_error([kind([-1])], [kind([2])])


def test_only_none_and_minus_one_are_unknown():
    assert hamming_error([[None, "-1", "a"]], [["x", "y", "a"]]) == 0.5
    objects = [np.array(["a", None], dtype=object)]
    assert hamming_error(objects, [np.array(["a", "b"])]) == 0.0


@pytest.mark.parametrize("score", [hamming_error, sequence_accuracy, chunk_f1, entity_f1])
def test_what_does_not_match_is_named(score):
    with pytest.raises(ValueError, match="y_true has 2 sequences but y_pred has 1"):
        score([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match=r"y_pred\[1\] has 1 labels but y_true\[1\] has 2"):
        score([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(TypeError, match=r"y_true\[0\] must be a sequence of labels, got 'O'"):
        score(["O"], ["O"])
    with pytest.raises(TypeError, match=r"y_pred\[0\] must be a sequence of labels, got 3"):
        score([[3]], [3])
    with pytest.raises(ValueError, match="y_true holds no sequence"):
        score([], [])


def test_chunks_by_hand():
    truth = split("B-NP I-NP O B-VP", "B-NP B-NP I-NP", "O B-PP")
    guess = split("B-NP I-NP O B-NP", "B-NP I-NP I-NP", "B-PP O")
    # right: the first NP. truth: NP 3, VP 1, PP 1. prediction: NP 3, PP 1.
    scores = chunk_scores(truth, guess)
    assert list(scores) == ["NP", "PP", "VP"]
    assert (scores["NP"].n_true, scores["NP"].n_pred, scores["NP"].n_correct) == (3, 3, 1)
    assert (scores["VP"].n_true, scores["VP"].n_pred) == (1, 0) and scores["VP"].precision == 0.0
    assert chunk_precision(truth, guess) == pytest.approx(1 / 4)
    assert chunk_recall(truth, guess) == pytest.approx(1 / 5)
    assert chunk_f1(truth, guess) == pytest.approx(2 / 9)
    assert chunk_f1(truth, guess, average="macro") == pytest.approx(1 / 9)
    assert chunk_recall(truth, guess, average=None) == {"NP": 1 / 3, "PP": 0.0, "VP": 0.0}


@pytest.mark.parametrize(
    ("truth", "guess", "correct_true_pred"),
    [
        # A type that changes within a run of I ends one segment and opens another.
        ("B-NP I-NP", "B-NP I-VP", (0, 1, 2)),
        # I after O opens a segment.
        ("O B-NP I-NP", "O I-NP I-NP", (1, 1, 1)),
        # A segment that is too long is wrong although it holds the right one.
        ("B-NP O", "B-NP I-NP", (0, 1, 1)),
        # Two touching segments are not one.
        ("B-NP B-NP", "B-NP I-NP", (0, 2, 1)),
        ("O O", "O O", (0, 0, 0)),
    ],
)
def test_conventions_of_conlleval(truth, guess, correct_true_pred):
    total = [0, 0, 0]
    for s in chunk_scores(split(truth), split(guess)).values():
        total = [a + b for a, b in zip(total, (s.n_correct, s.n_true, s.n_pred), strict=True)]
    assert tuple(total) == correct_true_pred


def conlleval_counts(truth, guess):
    """conlleval.pl's own loop, token by token, over a pair of tag sequences."""

    def split_tag(tag):
        return ("O", "") if tag == "O" else tuple(tag.split("-", 1))

    def ends(a, ta, b, tb):
        pairs = {"BB", "BS", "BO", "IB", "IS", "IO", "EE", "EI", "EO", "SE", "SI", "SO"}
        pairs |= {"EB", "ES", "SB", "SS"}
        return a + b in pairs or (a != "O" and ta != tb)

    def starts(a, ta, b, tb):
        pairs = {"BB", "IB", "OB", "SB", "EB", "OI", "OE", "EE", "EI", "SE", "SI"}
        pairs |= {"BS", "IS", "OS", "SS", "ES"}
        return a + b in pairs or (b != "O" and ta != tb)

    correct = found_true = found_pred = 0
    inside = False
    g, tg, p, tp = "O", "", "O", ""
    for tag_g, tag_p in [*zip(truth, guess, strict=True), ("O", "O")]:
        (ng, ntg), (np_, ntp) = split_tag(tag_g), split_tag(tag_p)
        end_g, end_p = ends(g, tg, ng, ntg), ends(p, tp, np_, ntp)
        start_g, start_p = starts(g, tg, ng, ntg), starts(p, tp, np_, ntp)
        if inside:
            if end_g and end_p and tg == tp:
                inside = False
                correct += 1
            elif end_g != end_p or ntg != ntp:
                inside = False
        if start_g and start_p and ntg == ntp:
            inside = True
        found_true += start_g
        found_pred += start_p
        g, tg, p, tp = ng, ntg, np_, ntp
    return correct, found_true, found_pred


tags = st.sampled_from(["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in "XY")])


@settings(deadline=None, max_examples=50)
@given(pairs=st.lists(st.tuples(tags, tags), min_size=1, max_size=12))
def test_counts_are_those_of_conlleval(pairs):
    truth, guess = [a for a, _ in pairs], [b for _, b in pairs]
    scores = chunk_scores([truth], [guess], scheme="bioes").values()
    ours = tuple(sum(getattr(s, n) for s in scores) for n in ("n_correct", "n_true", "n_pred"))
    assert ours == conlleval_counts(truth, guess)


def test_entities_are_strict():
    truth = split("B-PER I-PER O", "B-LOC O O")
    guess = split("I-PER I-PER O", "B-LOC O I-LOC")
    assert chunk_f1(truth, guess) == pytest.approx(4 / 5)
    assert entity_f1(truth, guess) == pytest.approx(2 / 3)
    assert entity_f1(split("B-X E-X"), split("B-X I-X"), scheme="bioes") == 0.0


def test_bad_tags_and_averages_are_named():
    with pytest.raises(ValueError, match=r"y_pred\[1\], position 0: 'NP' is not a tag"):
        chunk_f1([["O"], ["O"]], [["O"], ["NP"]])
    with pytest.raises(TypeError, match=r"y_true\[0\], position 0: a tag must be a string"):
        chunk_f1([[None]], [["O"]])
    with pytest.raises(ValueError, match="average='weighted' is unknown"):
        chunk_f1([["O"]], [["O"]], average="weighted")
    with pytest.raises(ValueError, match="scheme='x' is unknown"):
        chunk_f1([["O"]], [["O"]], scheme="x")


class Echo(BaseEstimator):
    """Predicts what X says, or O throughout if it is `deaf`.

    Not a ClassifierMixin: for those cross-validation refuses y that is a list of lists.
    """

    def __init__(self, deaf=False):
        self.deaf = deaf

    def fit(self, X, y):
        self.classes_ = np.unique(np.concatenate([np.asarray(s) for s in y]))
        return self

    def predict(self, X):
        return [["O"] * len(x) if self.deaf else list(x) for x in X]


def test_scorers_in_a_grid_search():
    y = split("B-NP I-NP", "B-NP O O", "O", "B-VP B-NP", "O B-VP O O", "B-NP")
    search = GridSearchCV(
        Echo(), {"deaf": [True, False]}, scoring=chunk_f1_scorer, cv=2, error_score="raise"
    )
    search.fit(y, y)
    assert search.best_params_ == {"deaf": False} and search.best_score_ == 1.0
    assert search.cv_results_["mean_test_score"][0] == 0.0
    for scorer in (entity_f1_scorer, token_accuracy_scorer):
        scores = cross_val_score(Echo(), y, y, scoring=scorer, cv=3, error_score="raise")
        assert (scores == 1.0).all()
        assert pickle.loads(pickle.dumps(scorer))(Echo(), y, y) == 1.0


LABEL_SET_SCORES = (
    example_accuracy,
    example_f1,
    hamming_loss,
    macro_f1,
    micro_f1,
    subset_accuracy,
)


def sets_of(Y):
    return [frozenset(np.flatnonzero(row).tolist()) for row in Y]


def test_label_set_scores_are_those_of_scikit_learn(rng):
    for _ in range(150):
        shape = rng.integers(1, 7, size=2)
        truth, guess = ((rng.random(shape) < rng.random()).astype(int) for _ in range(2))
        # One column is given to scikit-learn as a binary problem otherwise.
        if shape[1] == 1:
            continue
        zero = float(rng.integers(2))
        expected = {
            "example_accuracy": sk.jaccard_score(truth, guess, average="samples", zero_division=1),
            "hamming_loss": sk.hamming_loss(truth, guess),
            "micro_f1": sk.f1_score(truth, guess, average="micro", zero_division=zero),
            "macro_f1": sk.f1_score(truth, guess, average="macro", zero_division=zero),
            "subset_accuracy": sk.accuracy_score(truth, guess),
            "example_f1": sk.f1_score(truth, guess, average="samples", zero_division=1),
        }
        found = label_set_report(truth, guess, zero_division=zero)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)
        assert example_f1(truth, guess, zero_division=zero) == pytest.approx(
            sk.f1_score(truth, guess, average="samples", zero_division=zero)
        )
        nan = macro_f1(truth, guess, zero_division=np.nan)
        theirs = sk.f1_score(truth, guess, average="macro", zero_division=np.nan)
        assert nan == pytest.approx(theirs, nan_ok=True)


def test_label_sets_come_in_four_forms(rng):
    truth, guess = ((rng.random((9, 5)) < 0.4).astype(int) for _ in range(2))
    classes = list(range(5))
    expected = label_set_report(truth, guess)
    forms = [
        (csr_matrix(truth), csr_matrix(guess)),
        (truth, csr_matrix(guess.astype(bool))),
        (truth.astype(float), guess.astype(bool)),
        (sets_of(truth), sets_of(guess)),
        ([tuple(s) for s in sets_of(truth)], csr_matrix(guess)),
    ]
    for a, b in forms:
        assert label_set_report(a, b, classes=classes) == expected
    for score in LABEL_SET_SCORES:
        assert expected[score.__name__] == score(truth, guess)
        assert type(expected[score.__name__]) is float


def test_lists_without_classes_know_only_the_labels_that_occur():
    truth, guess = [["a"], []], [["b"], []]
    assert hamming_loss(truth, guess) == 0.5
    assert hamming_loss(truth, guess, classes="abcd") == 0.25
    assert label_set_report([[], []], [[], []]) == {
        "example_accuracy": 1.0,
        "hamming_loss": 0.0,
        "micro_f1": 0.0,
        "macro_f1": pytest.approx(np.nan, nan_ok=True),
        "subset_accuracy": 1.0,
        "example_f1": 1.0,
    }


@pytest.mark.parametrize("kind", [np.array, csr_matrix])
def test_unknown_cells_are_left_out(kind, rng):
    truth = rng.integers(-1, 2, size=(40, 4))
    truth[3] = -1  # a sample of which nothing is known
    guess = rng.integers(0, 2, size=(40, 4))
    found = label_set_report(kind(truth), kind(guess))
    rows = [(t[t >= 0], g[t >= 0]) for t, g in zip(truth, guess, strict=True) if (t >= 0).any()]
    assert len(rows) < 40
    jaccard, f1 = [], []
    for t, g in rows:
        jaccard.append((t & g).sum() / (t | g).sum() if (t | g).any() else 1.0)
        f1.append(2 * (t & g).sum() / (t.sum() + g.sum()) if (t | g).any() else 1.0)
    known = truth >= 0
    assert found == pytest.approx(
        {
            "example_accuracy": np.mean(jaccard),
            "hamming_loss": (truth != guess)[known].mean(),
            "micro_f1": sk.f1_score(truth[known], guess[known]),
            "macro_f1": np.mean(
                [sk.f1_score(truth[known[:, k], k], guess[known[:, k], k]) for k in range(4)]
            ),
            "subset_accuracy": np.mean([(t == g).all() for t, g in rows]),
            "example_f1": np.mean(f1),
        }
    )
    # Nor does it matter what is predicted there.
    other = np.where(known, guess, 1 - guess)
    assert label_set_report(kind(truth), kind(other)) == found


def test_a_label_of_which_nothing_is_known_is_left_out():
    truth, guess = np.array([[1, -1], [1, -1]]), np.array([[1, 1], [1, 0]])
    assert macro_f1(truth, guess) == 1.0 and hamming_loss(truth, guess) == 0.0


@pytest.mark.parametrize("score", [*LABEL_SET_SCORES, label_set_report])
@pytest.mark.parametrize(
    ("truth", "guess", "options", "message"),
    [
        (np.eye(2), np.eye(3), {}, "y_true has 2 samples but y_pred has 3"),
        (np.eye(2), np.ones((2, 3)), {}, "y_true has 2 labels but y_pred has 3"),
        (np.zeros((0, 2)), np.zeros((0, 2)), {}, "y_true holds no sample"),
        ([], [], {}, "y_true holds no sample"),
        (np.array([1, 0]), np.array([1, 0]), {}, "y_true must be an indicator matrix of shape"),
        (np.array([[0, 2]]), np.eye(1, 2), {}, r"y_true\[0, 1\] is 2; expected 0 or 1 or -1"),
        (np.eye(1, 2), np.array([[0, -1]]), {}, r"y_pred\[0, 1\] is -1; expected 0 or 1\."),
        (np.eye(1, 2), np.array([[0, np.nan]]), {}, r"y_pred\[0, 1\] is nan"),
        (np.full((1, 2), -1), np.eye(1, 2), {}, "y_true has no known label"),
        ([[1, 0, 1]], [[0]], {}, r"y_true\[0\] holds the label 1 twice; an indicator matrix must"),
        ([["a"]], [["z"]], {"classes": ["a"]}, r"y_pred\[0\] holds the label 'z', which is not in"),
        ([["a"]], np.eye(1), {}, "classes must say which label each column is"),
        ([["a"]], np.eye(1), {"classes": ["a", "b"]}, "y_pred has 1 columns but classes has 2"),
        (np.eye(2), np.eye(2), {"classes": ["a", "a"]}, "classes hold a label twice"),
    ],
)
def test_bad_label_sets(score, truth, guess, options, message):
    with pytest.raises(ValueError, match=message):
        score(truth, guess, **options)


def test_bad_kinds_of_label_sets():
    with pytest.raises(TypeError, match=r"y_pred\[0\] must be a collection of labels, got 'ab'"):
        micro_f1([["a"]], ["ab"])
    with pytest.raises(TypeError, match=r"y_true\[0\] must be a collection of labels, got 1"):
        micro_f1([1, 0], [1, 0])
    with pytest.raises(TypeError, match="y_true must be an indicator matrix or a list of label"):
        micro_f1(None, [["a"]])
    for score in (micro_f1, macro_f1, example_f1, label_set_report):
        with pytest.raises(ValueError, match="zero_division must be 0, 1 or nan"):
            score([["a"]], [["a"]], zero_division=0.5)
