import gzip
import io

import numpy as np
import pytest
from scipy.sparse import random as random_sparse

from maxmargin.io import GradedRows, read_rankings, read_svmlight, write_svmlight

LETOR = """# first line
2 qid:3 1:.5 2:0 4:-1e2 #docid = GX001
0 qid:10 2:7

1 qid:3 1:1 # the query comes again
"""


def test_lines_of_letor():
    data = read_rankings(io.StringIO(LETOR))
    assert isinstance(data, GradedRows)
    assert data.X.toarray().tolist() == [[0.5, 0, 0, -100], [0, 7, 0, 0], [1, 0, 0, 0]]
    assert data.X.nnz == 4  # the zero that was written out is gone
    assert data.grades.tolist() == [2, 0, 1] and data.grades.dtype == np.int64
    assert data.qid.tolist() == [3, 10, 3] and data.qid.dtype == np.int64


def test_grades_may_be_fractions_and_queries_any_whole_number():
    text = f"0.5 qid:-4 1:1\n0 qid:{2**62} 0:1 3:1\n-0 qid:+5\n"
    X, grades, qid = read_rankings(io.StringIO(text), n_features=6)
    assert grades.tolist() == [0.5, 0, 0] and qid.tolist() == [-4, 2**62, 5]
    assert X.shape == (3, 6) and X[1].indices.tolist() == [0, 3]


@pytest.mark.parametrize("name", ["a.txt", "a.svm.gz"])
@pytest.mark.parametrize("zero_based", [False, True])
def test_round_trip(tmp_path, rng, name, zero_based):
    X = random_sparse(40, 7, density=0.3, random_state=0, format="csr")
    grades, qid = rng.integers(0, 5, size=40), rng.integers(0, 6, size=40)
    path = tmp_path / name
    write_svmlight(path, X, grades, qid=qid, zero_based=zero_based)
    back = read_rankings(path, n_features=7, zero_based=zero_based)
    assert np.allclose(back.X.toarray(), X.toarray(), rtol=1e-15, atol=0)
    assert (back.grades == grades).all() and (back.qid == qid).all()
    assert back.X.shape == (40, 7)
    # The same file without its queries.
    assert (read_svmlight(path, n_features=7, zero_based=zero_based)[1] == grades).all()


def test_other_kinds_of_arrays_are_written(tmp_path):
    path = tmp_path / "a.txt"
    for kind in (np.int32, np.uint8, np.int64):
        write_svmlight(path, np.eye(2, dtype=np.float32), [0.5, 1], qid=np.array([1, 2], kind))
        assert read_rankings(path).qid.tolist() == [1, 2]
    write_svmlight(path, [[1.0], [2.0]], [1, 0], qid=[8, 8])
    assert path.read_text() == "1 qid:8 1:1\n0 qid:8 1:2\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 qid:1 1:1\n1 1:1\n", {}, "line 2: expected qid:number after the grade, got '1:1'"),
        ("1 qid:1 1:1\n\n1 # qid:2\n", {}, "line 3: expected qid:number .* got nothing"),
        ("1 1:1 qid:1\n", {}, "line 1: expected qid:number after the grade, got '1:1'"),
        ("1 qid:1 1:1 qid:1\n", {}, "line 1: expected index:number, got 'qid:1'"),
        ("1 qid 1:1\n", {}, "line 1: expected qid:number after the grade, got 'qid'"),
        ("1 qid:1 1:1\n1 qid:1.5 1:1\n", {}, "line 2: expected a whole number .* 'qid:1.5'"),
        ("1 qid: 1:1\n", {}, "line 1: expected a whole number after qid:, got 'qid:'"),
        ("1 qid:nan 1:1\n", {}, "line 1: expected a whole number after qid:"),
        ("1 qid:99999999999999999999 1:1\n", {}, "line 1: expected a whole number after qid:"),
        ("1 qid:1 1:1\n-1 qid:1 1:1\n", {}, "line 2: the grade '-1' is below 0"),
        ("nan qid:1 1:1\n", {}, "line 1: the label 'nan' is not a finite number"),
        ("inf qid:1 1:1\n", {}, "line 1: the label 'inf' is not a finite number"),
        ("good qid:1 1:1\n", {}, "line 1: the label 'good' is not a finite number"),
        ("qid:1 1:1\n", {}, "line 1: expected a label first, got 'qid:1'"),
        ("1 qid:1 1:1\n1 qid:1 2:na\n", {}, "line 2: expected index:number, got '2:na'"),
        ("1 qid:1 1:-inf\n", {}, "line 1: the value of '1:-inf' is not finite"),
        ("1 qid:1 2:1 1:1\n", {}, "line 1: the index of '1:1' does not exceed"),
        ("1 qid:1 9:1\n", {"n_features": 4}, "line 1: the index of '9:1' is outside 0..4"),
        ("# nothing\n", {}, "holds no sample"),
    ],
)
def test_errors_name_the_line(text, options, message, tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_rankings(path, **options)
    assert str(caught.value).startswith(str(path))


def test_a_query_is_passed_over_where_none_is_wanted():
    X, y = read_svmlight(io.StringIO("1 qid:x 1:5\n-1 2:1\n"))
    assert X.toarray().tolist() == [[5, 0], [0, 1]] and y.tolist() == [1, -1]
    with pytest.raises(ValueError, match="line 1: expected index:number, got 'qid:1'"):
        read_svmlight(io.StringIO("1 1:5 qid:1\n"))


@pytest.mark.parametrize(
    ("grades", "options", "message"),
    [
        ([1, 0], {"qid": [1]}, r"qid must be whole numbers .* \(2,\), got int64 of shape \(1,\)"),
        ([1, 0], {"qid": [1.0, 2.0]}, "qid must be whole numbers .* got float64"),
        ([1, -2], {"qid": [1, 1]}, r"y\[1\] is -2; the grade"),
        ([1, 0], {"qid": [1, 1], "multilabel": True}, "exclude each other"),
    ],
)
def test_what_is_not_written(grades, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_svmlight(tmp_path / "bad.txt", np.eye(2), grades, **options)
    assert not list(tmp_path.iterdir())


def test_broken_gzip_is_named(tmp_path):
    path = tmp_path / "cut.txt.gz"
    path.write_bytes(gzip.compress(b"1 qid:1 1:1\n" * 1000)[:-12])
    with pytest.raises(ValueError, match=r"cut.txt.gz, after line \d+: broken gzip"):
        read_rankings(path)
