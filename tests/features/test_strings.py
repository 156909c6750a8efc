"""Maps and kernels of strings, held against a list of all words and all places."""

from __future__ import annotations

import pickle
import warnings
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from maxmargin.features import GramRows
from maxmargin.features.strings import (
    GappyFeatures,
    MismatchFeatures,
    SpectrumFeatures,
    SubsequenceKernel,
)
from maxmargin.features.strings.subsequence import MANY, subsequence_products

RAW = {"log": False, "normalised": False}
MAPS = (SpectrumFeatures(2, 1), GappyFeatures(3, 5, 0.7), MismatchFeatures(3, 2))


def draw(rng, n, letters="abc", longest=9):
    return ["".join(rng.choice(list(letters), rng.integers(0, longest + 1))) for _ in range(n)]


def spectrum(string, k, min_k):
    lengths = range(min_k, k + 1)
    return Counter(string[i : i + m] for m in lengths for i in range(len(string) - m + 1))


def gappy(string, p, window, decay):
    found = Counter()
    for places in combinations(range(len(string)), p):
        span = places[-1] - places[0] + 1
        if span <= window:
            found["".join(string[i] for i in places)] += decay ** (span - p)
    return found


def mismatch(string, k, m, letters):
    found = Counter()
    for word in ("".join(word) for word in product(letters, repeat=k)):
        for i in range(len(string) - k + 1):
            found[word] += sum(a != b for a, b in zip(word, string[i:], strict=False)) <= m
    return found


def as_counters(features, strings):
    names = features.get_feature_names_out()
    rows = features.transform(strings).toarray()
    return [{name: x for name, x in zip(names, row, strict=True) if x} for row in rows]


@pytest.mark.parametrize("seed", range(3))
def test_maps_count_what_a_list_of_words_counts(seed):
    rng = np.random.default_rng(seed)
    strings = [*draw(rng, 12), "", "abcabcabc"]
    cases = [
        (SpectrumFeatures(3, 1, **RAW), lambda s: spectrum(s, 3, 1)),
        (SpectrumFeatures(2, **RAW), lambda s: spectrum(s, 2, 2)),
        (GappyFeatures(3, 5, 0.7, **RAW), lambda s: gappy(s, 3, 5, 0.7)),
        (GappyFeatures(1, 4, 0.7, **RAW), lambda s: gappy(s, 1, 1, 0.7)),
        (MismatchFeatures(3, 1, **RAW), lambda s: mismatch(s, 3, 1, "abc")),
        (MismatchFeatures(3, 2, **RAW), lambda s: mismatch(s, 3, 2, "abc")),
        (MismatchFeatures(2, 0, **RAW), lambda s: spectrum(s, 2, 2)),
    ]
    for features, count in cases:
        rows = as_counters(features.fit(strings), strings)
        for string, row in zip(strings, rows, strict=True):
            expected = {word: x for word, x in count(string).items() if x}
            assert row == pytest.approx(expected), (features, string)


@pytest.mark.parametrize("features", MAPS, ids=lambda features: type(features).__name__)
def test_rows_have_length_one_and_products_of_hashed_rows_are_close(features):
    strings = [s for s in draw(np.random.default_rng(0), 30, longest=30) if len(s) > 3]
    rows = features.fit_transform(strings)
    assert (rows != features.transform(strings)).nnz == 0
    assert np.allclose(rows.multiply(rows).sum(axis=1), 1.0)
    hashed = clone(features).set_params(n_features=1 << 16).fit(strings[:2]).transform(strings)
    assert hashed.shape == (len(strings), 1 << 16)
    # 39 words at most in 65536 columns: none of them share one, with these numbers for ever.
    same = clone(features).set_params(alphabet="abc").fit(strings).transform(strings)
    assert np.allclose((hashed @ hashed.T).toarray(), (same @ same.T).toarray())
    few = clone(features).set_params(n_features=3).fit_transform(strings)
    assert few.shape[1] == 3 and few.has_canonical_format


def test_unknown_letters_are_refused_or_their_words_are_left_out():
    features = SpectrumFeatures(2, **RAW).fit(["abab"])
    with pytest.raises(
        ValueError, match=r"X\[1\] has the letter 'x' at 2, which is not among 'ab'"
    ):
        features.transform(["ab", "abxab"])
    skipping = SpectrumFeatures(2, unknown="skip", **RAW).fit(["abab"])
    assert skipping.transform(["abxab"]).toarray().tolist() == [[2.0, 0.0]]
    with pytest.raises(ValueError, match="not among 'bc'"):
        SpectrumFeatures(2, alphabet="cb").fit(["abab"])
    assert MismatchFeatures(1, 0, alphabet="zab", **RAW).fit(["ab"]).letters_ == "abz"


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (SpectrumFeatures(0), "k must be an integer >= 1, got 0"),
        (SpectrumFeatures(2, 3), "min_k=3 is more than k=2"),
        (SpectrumFeatures(2, n_features=0), "n_features must be an integer >= 1"),
        (SpectrumFeatures(2, alphabet="aa"), "different letters, got 'aa'"),
        (SpectrumFeatures(2, unknown="drop"), "'error' or 'skip', got 'drop'"),
        (SpectrumFeatures(50), "too many to number in 63 bits"),
        (GappyFeatures(3, 2), "window must be an integer >= 3, got 2"),
        (GappyFeatures(3, 4, 0.0), r"decay must be a number in \(0, 1\], got 0.0"),
        (MismatchFeatures(2, 2), "mismatches=2 must be less than k=2"),
        (SubsequenceKernel(p=1.5), "p must be an integer"),
        (SubsequenceKernel(decay=2), r"decay must be a number in \(0, 1\], got 2"),
        (SubsequenceKernel(n_jobs=0), "n_jobs must be None or an integer other than 0"),
    ],
)
def test_parameters_are_refused_by_name(features, message):
    with pytest.raises(ValueError, match=message):
        features.fit(["abc", "ab"])


@pytest.mark.parametrize("features", [SpectrumFeatures(2), SubsequenceKernel()])
def test_inputs_are_refused_with_their_place(features):
    with pytest.raises(TypeError, match="a sequence of strings, got one str"):
        features.fit("abc")
    with pytest.raises(TypeError, match=r"X\[1\] must be a string, got float"):
        features.fit(["abc", 1.0])
    with pytest.raises(ValueError, match="at least one string, got none"):
        features.fit([])
    with pytest.raises(ValueError, match="one dimension, a string each; got 2"):
        features.fit(np.array([["a"], ["b"]]))
    with pytest.raises(TypeError, match="a sequence of strings, got int"):
        features.fit(3)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_the_subsequence_kernel_sums_over_all_places(p):
    rng = np.random.default_rng(p)
    left, right = ["", "abcabcab", *draw(rng, 20)], draw(rng, 5, "abcd")
    counts = [[gappy(s, p, len(s), 0.6) for s in strings] for strings in (left, right)]
    expected = [[sum(a[u] * b[u] for u in a) for b in counts[1]] for a in counts[0]]
    own = [sum(x * x for x in a.values()) for a in counts[0]]
    raw = SubsequenceKernel(p, 0.6, normalised=False)
    assert np.allclose(raw(left, right), expected, rtol=1e-12)
    assert np.allclose(raw.diagonal(left), own, rtol=1e-12)
    square = SubsequenceKernel(p, 0.6)(left)
    assert np.array_equal(square, square.T)
    assert np.allclose(np.diag(square), [float(k > 0) for k in own])
    assert np.linalg.eigvalsh(square)[0] > -1e-12
    assert np.array_equal(square, SubsequenceKernel(p, 0.6, n_jobs=3)(left))
    assert np.allclose(SubsequenceKernel(p, 0.6).fit(left).transform(left), square)


def test_the_compiled_recursion_is_its_own_python():
    rng = np.random.default_rng(0)
    letters = rng.integers(0, 3, 9).astype(np.int32)
    places = np.array([0, 4, 4, 9])
    lanes = rng.integers(-1, 3, (5, 16)).astype(np.int32)
    found = []
    for function in (subsequence_products, subsequence_products.py_func):
        out = np.zeros((3, 16))
        function(letters, places, lanes, 0.5, np.zeros((3, 6, 16)), out)
        found.append(out)
    assert np.allclose(*found, rtol=1e-14)
    assert found[0].any() and not found[0][1].any()


def test_tiny_decays_and_large_sums_are_told_apart():
    strings = ["ab" * 30, "a" * 60 + "b", "ba" * 30]
    tiny = SubsequenceKernel(3, 1e-6)(strings)
    # With no decay worth the name only words without gaps are left: those of the spectrum.
    rows = SpectrumFeatures(3, **RAW).fit_transform(strings)
    plain = (rows @ rows.T).toarray()
    lengths = np.sqrt(np.diag(plain))
    assert np.allclose(tiny, plain / np.outer(lengths, lengths), atol=1e-5)
    with pytest.raises(ValueError, match="too large for a double"):
        SubsequenceKernel(270, 1.0)(["a" * 540])


def test_many_strings_are_warned_of_and_the_features_named():
    with pytest.warns(UserWarning, match=r"501 strings.*GappyFeatures\(p=1, decay=0.5\)"):
        SubsequenceKernel(1)(["a"] * (MANY + 1))


def test_a_large_matrix_is_warned_of_once_and_asks_for_its_diagonal_once(monkeypatch):
    strings = [f"{k:03d}" for k in range(MANY + 1)]
    kernel, asked = SubsequenceKernel(1), []
    own = SubsequenceKernel._own

    def counted(self, some):
        asked.append(len(some))
        return own(self, some)

    monkeypatch.setattr(SubsequenceKernel, "_own", counted)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        held = GramRows(strings, kernel.bound(strings), 8 * 3 * len(strings))
        for row in range(4):
            held.make_ready(np.array([row]))
    assert [str(one.message)[:17] for one in said] == ["SubsequenceKernel", "The Gram matrix o"]
    assert asked == [MANY + 1, 1, 1, 1, 1]
    assert np.allclose(held._values[held._place[3]], kernel.gram(strings[3:4], strings))
    again = pickle.loads(pickle.dumps(kernel))
    assert not hasattr(again, "_remembered") and again.get_params() == kernel.get_params()
    assert clone(kernel).set_params(p=2).diagonal(["abab"]).tolist() == [1.0]
    kernel.set_params(p=4)  # what is remembered goes by the parameters
    assert not kernel.diagonal(strings).any()


def test_both_stand_in_a_pipeline():
    strings, y = ["abab", "abba", "cdcd", "ccdd"], [0, 0, 1, 1]
    for model in (
        make_pipeline(SpectrumFeatures(2, unknown="skip"), SVC(kernel="linear")),
        make_pipeline(SubsequenceKernel(2), SVC(kernel="precomputed")),
    ):
        fitted = clone(model).fit(strings, y)
        assert fitted.predict(["baba", "dc"]).tolist() == [0, 1]
