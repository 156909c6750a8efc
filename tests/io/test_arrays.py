import gzip
import io
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import random as random_sparse

from maxmargin.io import read_npz, read_svmlight, write_npz, write_svmlight
from maxmargin.io.npz import cut, read_npz_queries, stack


def test_svmlight_round_trip(tmp_path, rng):
    X = random_sparse(30, 7, density=0.3, random_state=0, format="csr")
    y = rng.integers(0, 4, size=30)
    for name in ("a.svm", "a.svmlight.gz"):
        write_svmlight(tmp_path / name, X, y)
        back, labels = read_svmlight(tmp_path / name, n_features=7)
        assert back.shape == (30, 7)
        assert np.allclose(back.toarray(), X.toarray(), rtol=1e-15, atol=0)
        assert labels.dtype == np.int64 and (labels == y).all()


def test_svmlight_labels():
    _, y = read_svmlight(io.BytesIO(b"0.5 1:1\n2 1:1\n"))
    assert y.tolist() == [0.5, 2.0]
    X, y = read_svmlight(io.BytesIO(b"2,0 1:1\n 2:1 # no label\n"), multilabel=True)
    assert y == [(0, 2), ()] and X.shape == (2, 2)
    X, _ = read_svmlight(io.StringIO("1 0:1 2:5\n"))
    assert X.toarray().tolist() == [[1, 0, 5]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 1:1\nB-NP 1:1\n", {}, "line 2: the label 'B-NP' is not a finite number"),
        ("1 1:1\nnan 1:1\n", {}, "line 2: the label 'nan'"),
        ("1 1:1\n\n1 1:one\n", {}, "line 3: expected index:number, got '1:one'"),
        ("1 1:1\n1 2\n", {}, "line 2: expected index:number, got '2'"),
        ("1 1:1\n1 x:2\n", {}, "line 2: expected index:number, got 'x:2'"),
        ("1 1:nana\n", {}, "line 1: expected index:number, got '1:nana'"),
        ("# c\n1 1:inf\n", {}, "line 2: the value of '1:inf' is not finite"),
        ("1 3:1 2:1\n", {}, "line 1: the index of '2:1' does not exceed the one before, 3"),
        ("1 3:1 3:1\n", {}, "line 1: the index of '3:1' does not exceed"),
        ("1 1:1\n1 9:1\n", {"n_features": 4}, "line 2: the index of '9:1' is outside 0..4"),
        ("1 0:1\n", {"zero_based": False}, "line 1: the index of '0:1' is outside 1.."),
        ("1 1:1\n1:1\n", {}, "line 2: expected a label first, got '1:1'"),
        ("", {}, "holds no sample"),
        ("# nothing\n", {}, "holds no sample"),
    ],
)
def test_svmlight_errors_name_the_line(text, options, message, tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_svmlight(path, **options)
    assert str(caught.value).startswith(str(path))


def test_broken_gzip_is_named(tmp_path):
    path = tmp_path / "cut.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:1\n" * 1000)[:-12])
    with pytest.raises(ValueError, match=r"cut.svm.gz, after line \d+: broken gzip"):
        read_svmlight(path)


arrays = st.integers(1, 4).flatmap(
    lambda d: st.lists(
        hnp.arrays(
            st.sampled_from([np.float64, np.float32]),
            st.tuples(st.integers(1, 5), st.just(d)),
            elements=st.floats(-9, 9, width=16),
        ),
        min_size=1,
        max_size=5,
    )
)


@settings(deadline=None, max_examples=30)
@given(X=arrays, as_strings=st.booleans())
def test_sequences_come_back(X, as_strings, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "sequences.npz"
    y = [np.arange(len(x)) for x in X]
    if as_strings:
        y = [labels.astype(str) for labels in y]
    write_npz(path, X, y)
    back, labels = read_npz(path)
    assert len(back) == len(X) and isinstance(back, list)
    for a, b, c, d in zip(X, back, y, labels, strict=True):
        assert np.array_equal(a, b) and np.array_equal(c, d)
    assert all(x.base is back[0].base for x in back)


def test_flat_arrays_come_back(tmp_path):
    write_npz(tmp_path / "flat.npz", np.eye(3), np.array(["a", "b", "a"]))
    X, y = read_npz(tmp_path / "flat.npz")
    assert np.array_equal(X, np.eye(3)) and y.tolist() == ["a", "b", "a"]
    write_npz(tmp_path / "bare.npz", np.eye(3))
    assert read_npz(tmp_path / "bare.npz")[1] is None


def test_stack_and_cut():
    stacked, offsets = stack([[1, 2], [], [3]])
    assert offsets.tolist() == [0, 2, 2, 3]
    assert [part.tolist() for part in cut(stacked, offsets)] == [[1, 2], [], [3]]


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ([], None, ValueError, "X holds no sequence"),
        ([np.eye(2), np.eye(3)], None, ValueError, r"X\[1\] has shape \(3, 3\)"),
        ([np.eye(2)], [[1, 2, 3]], ValueError, r"y\[0\] has 3 labels but X\[0\] has 2 positions"),
        ([np.eye(2)], [[1, 2], [3]], ValueError, "y has 2 sequences but X has 1"),
        (np.eye(2), [1, 2, 3], ValueError, r"y has shape \(3,\) but X has 2 rows"),
        (np.zeros(3), None, ValueError, r"X must have two axes, got shape \(3,\)"),
        (np.eye(2), np.array([1, None]), TypeError, "y holds Python objects"),
    ],
)
def test_bad_arrays_are_not_written(X, y, error, message, tmp_path):
    with pytest.raises(error, match=message):
        write_npz(tmp_path / "bad.npz", X, y)
    assert os.listdir(tmp_path) == []


def test_bad_npz_files_are_named(tmp_path):
    path = tmp_path / "bad.npz"
    for keys, message in (
        ({"Z": np.eye(2)}, r"has no key 'X'; its keys are \['Z'\]"),
        ({"X": np.eye(2), "offsets": np.array([0, 1])}, "offsets must be whole numbers that rise"),
        ({"X": np.eye(2), "offsets": np.array([0, 3, 2])}, "offsets must be"),
        ({"X": np.eye(2), "offsets": np.array([0.0, 2.0])}, "offsets must be"),
        ({"X": np.eye(2), "y": np.arange(3)}, "but X has 2 rows"),
        ({"X": np.array([1, None])}, "is not an npz file of plain arrays"),
    ):
        np.savez(path, **keys)
        with pytest.raises(ValueError, match=message) as caught:
            read_npz(path)
        assert str(path) in str(caught.value)
    for content in (b"", b"not a zip", b"PK\x03\x04broken"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not an npz file"):
            read_npz(path)
    np.save(tmp_path / "one.npy", np.eye(2))
    with pytest.raises(ValueError, match="it is a single array"):
        read_npz(tmp_path / "one.npy")


def test_npz_keeps_the_numbers_of_queries(tmp_path):
    path = tmp_path / "queries.npz"
    X, y = [np.zeros((2, 3)), np.ones((1, 3))], [[0, 1], [2]]
    write_npz(path, X, y, qid=[70, 7])
    back, grades, qid = read_npz_queries(path)
    assert qid.tolist() == [70, 7] and qid.dtype == np.int64
    assert [part.tolist() for part in grades] == y and len(back) == 2
    assert len(read_npz(path)) == 2
    write_npz(path, X, y)
    assert read_npz_queries(path)[2] is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"offsets": [0, 2, 3], "qid": [1]}, "qid must have a number of its own for each sequence"),
        ({"offsets": [0, 2, 3], "qid": [1, 1]}, "qid must have a number of its own"),
        ({"offsets": [0, 2, 3], "qid": [[1], [2]]}, "qid must have a number of its own"),
        ({"qid": [1, 2, 3]}, "qid must have a number of its own"),
        ({"offsets": [0, 2, 3], "qid": [0.5, 1.0]}, "qid.npy: it holds"),
        ({"offsets": [0, 2, 3], "qid": np.array([1, 2**64 - 1], dtype=np.uint64)}, "beyond int64"),
    ],
)
def test_numbers_of_queries_are_checked(tmp_path, arrays, message):
    path = tmp_path / "bad.npz"
    np.savez(path, X=np.ones((3, 2)), y=np.zeros(3), **arrays)
    with pytest.raises(ValueError, match=message):
        read_npz(path)
