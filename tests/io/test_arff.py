import gzip
import io
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_matrix, issparse

from maxmargin.datasets import MULAN_SETS
from maxmargin.io import read_arff, read_label_list, write_arff

HEADER = """% a comment
@RELATION 'two words'

@attribute tempo numeric   % beats
@Attribute "loud ness"\tREAL
@attribute 'it\\'s' integer
@attribute plain {0, 1}
@attribute a {0,1}
@attribute b {1,0}
@DATA
"""
FEATURES = ["tempo", "loud ness", "it's", "plain"]


def dense(matrix):
    return matrix.toarray() if issparse(matrix) else matrix


def read(rows, labels=-2, header=HEADER, **options):
    return read_arff(io.StringIO(header + rows), labels, **options)


def test_a_dense_file():
    data = read("% none\n1, -2.5e1 ,3,0,1,0\n\n0.5,+.5,'4',1,'1',0 % last\n")
    assert data.feature_names == FEATURES and data.label_names == ["a", "b"]
    assert data.X.tolist() == [[1, -25, 3, 0], [0.5, 0.5, 4, 1]]
    assert data.Y.tolist() == [[1, 0], [1, 0]]
    assert data.X.dtype == np.float64 and data.Y.dtype == np.int64
    assert data.X.flags.c_contiguous and data.Y.flags.c_contiguous


def test_a_sparse_file():
    header = HEADER.replace("{1,0}", "{0,1}")
    data = read("{}\n{0 2,  5 1}\n{4 1, 1 -3, 2 0}\n{3 '1', 4 ?}  % last\n", header=header)
    assert issparse(data.X) and issparse(data.Y) and data.Y.dtype == np.int64
    assert data.X.toarray().tolist() == [[0, 0, 0, 0], [2, 0, 0, 0], [0, -3, 0, 0], [0, 0, 0, 1]]
    assert data.Y.toarray().tolist() == [[0, 0], [0, 1], [1, 0], [-1, 0]]
    assert data.X.nnz == 3


def test_labels_by_place_by_name_and_by_xml(tmp_path):
    row = "1,2,3,1,0,1\n"
    assert read(row, -1).label_names == ["b"]
    assert read(row, np.int64(-1)).label_names == ["b"]
    first = read("1,0,3,1,0,1\n", 2)
    assert first.label_names == FEATURES[:2] and first.Y.tolist() == [[1, 0]]
    # A list decides the order of the columns, an xml file does not.
    named = read(row, ["b", "plain", "a"])
    assert named.label_names == ["b", "plain", "a"] and named.Y.tolist() == [[1, 1, 0]]
    assert read(row, ["b", "a"], sparse=True).Y.toarray().tolist() == [[1, 0]]
    xml = tmp_path / "tags.xml"
    xml.write_text('<labels xmlns="u"><label name="b"/><label name="a"></label></labels>')
    for path in (xml, str(xml)):
        assert read(row, path).label_names == ["a", "b"]
    nothing = read(row, None)
    assert nothing.Y is None and nothing.label_names == [] and nothing.X.shape == (1, 6)


def test_nested_labels_are_read_flat():
    text = '<labels><label name="a"><label name="b"/></label><label name="c"/></labels>'
    assert read_label_list(io.StringIO(text)) == ["a", "b", "c"]


def test_layout_can_be_asked_for():
    rows = "1,2,0,1,?,1\n0,0,0,0,0,0\n"
    a, b = read(rows), read(rows, sparse=True)
    assert issparse(b.X) and issparse(b.Y)
    assert (b.X.toarray() == a.X).all() and b.Y.toarray().tolist() == a.Y.tolist() == [
        [-1, 1],
        [0, 0],
    ]
    header = HEADER.replace("{1,0}", "{0,1}")
    c = read("{0 1, 1 2, 3 1, 4 ?, 5 1}\n{}\n", header=header, sparse=False)
    assert (c.X == a.X).all() and (c.Y == a.Y).all() and c.X.flags.c_contiguous


def test_gzip_and_no_labels(tmp_path):
    path = tmp_path / "tiny.arff.gz"
    path.write_bytes(gzip.compress((HEADER + "1,2,3,0,1,0\n").encode()))
    data = read_arff(path, labels=-2)
    assert (data.feature_names, data.label_names) == (FEATURES, ["a", "b"])
    assert data.Y.tolist() == [[1, 0]]
    assert read_arff(path).Y is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,2,3,0,1,0\n1,x,3,0,1,0", "line 12, attribute 'loud ness': expected a number, got 'x'"),
        ("1,nan,3,0,1,0", "attribute 'loud ness': expected a number, got 'nan'"),
        ("1,1_0,3,0,1,0", "attribute 'loud ness': expected a number, got '1_0'"),
        ("1,,3,0,1,0", "attribute 'loud ness': expected a number, got ''"),
        ("1,1e999,3,0,1,0", "attribute 'loud ness': the value is not finite"),
        ("1,2,3,red,1,0", "attribute 'plain': expected 0 or 1, got 'red'"),
        ("1,2,3,2,1,0", "attribute 'plain': the value must be 0 or 1, got 2"),
        (
            "1,2,3,0,1,0\n%\n1,2,3,0,0,-1",
            "line 13, attribute 'b': the label must be 0 or 1, got -1",
        ),
        ("1,2,3,0,1", "line 11: expected 6 values, one an attribute, got 5"),
        ("1,2,3,0,1,?,?", "line 11: expected 6 values, one an attribute, got 7"),
        ("1,2,3,0,1,0\n{0 1}", "line 12: the row is sparse, but the first row is dense"),
        ("{0 1}", "line 9, attribute 'b': what a sparse row leaves out would be 1"),
        ("", "holds no sample"),
        ("% only words\n", "holds no sample"),
    ],
)
def test_bad_dense_rows(rows, message, tmp_path):
    path = tmp_path / "bad.arff"
    path.write_text(HEADER + rows)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read_arff(path, -2)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("{0 1}\n{1 x}", "line 12, attribute 'loud ness': expected a number, got 'x'"),
        ("{3 2}", "line 11, attribute 'plain': the value must be 0 or 1, got 2"),
        ("{}\n{0 3}\n{4 0.5}", "line 13, attribute 'a': the label must be 0 or 1, got 0.5"),
        ("{6 1}", "line 11: the index 6 is outside 0..5"),
        ("{6 ?}", "line 11: the index 6 is outside 0..5"),
        ("{-1 1}", "line 11: the index -1 is outside 0..5"),
        ("{1 1, 0 2, 1 3}", "line 11, attribute 'loud ness': the index 1 comes twice"),
        ("{0 1, 2}", "line 11: expected index value, got '2'"),
        ("{0 1, 2 3 4}", "attribute \"it's\": expected a number, got '3 4'"),
        ("{0 1,}", "line 11: expected index value, got ''"),
        ("{0.5 1}", "line 11: expected index value, got '0.5 1'"),
        ("{0 1", "line 11: expected a sparse row {index value, ...}, got '{0 1'"),
        ("{0 1}\n1,2,3,0,1,0", "line 12: expected a sparse row"),
        ("{0 1e999}", "line 11, attribute 'tempo': the value is not finite"),
    ],
)
def test_bad_sparse_rows(rows, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read(rows, header=HEADER.replace("{1,0}", "{0,1}"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("@attribute c {red,green}", "line 2, attribute 'c': nominal values other than {0,1}"),
        ("@attribute c {a,b,c,d,e}", "got {a,b,c,d,...}; encode them as numbers first"),
        ("@attribute c {0,1", "attribute 'c': the list of values has no closing brace"),
        ("@attribute c string", "attribute 'c': expected numeric, real, integer or {0,1}, got the"),
        ("@attribute c date 'yyyy'", "got the type 'date'"),
        ("@attribute class hierarchical a/b,a/c", "got the type 'hierarchical'"),
        ("@attribute c", "line 2: expected @attribute name type, got 'c'"),
        ("@attribute x real", "line 2: the attribute 'x' comes twice, first in line 1"),
        ("@inputs x", "line 2: expected @relation, @attribute or @data, got '@inputs x'"),
    ],
)
def test_bad_headers(line, message):
    text = f"@attribute x numeric\n{line}\n@data\n1,1\n"
    with pytest.raises(ValueError, match=re.escape(message)):
        read_arff(io.StringIO(text), 1)


def test_headers_without_data_or_attributes():
    with pytest.raises(ValueError, match="has no @data line"):
        read_arff(io.StringIO("@attribute x real\n"))
    with pytest.raises(ValueError, match="line 1: @data comes before any @attribute"):
        read_arff(io.StringIO("@data\n"))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (0, "labels=0 of 6 attributes in <stream> leaves no label"),
        (6, "labels=6 of 6 attributes in <stream> leaves no label or no feature"),
        (-7, "labels=-7 of 6"),
        ([], "labels names 0 of the 6 attributes"),
        (["c"], "labels names 'c', which is no attribute of <stream>"),
        (["a", "a"], "labels name an attribute of <stream> twice"),
        ([*FEATURES, "a", "b"], "labels names 6 of the 6 attributes of <stream>, which leaves"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read("1,2,3,0,1,0\n", labels)
    with pytest.raises(TypeError, match="got a bool"):
        read("1,2,3,0,1,0\n", True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<labels>", "not well-formed xml"),
        ("<labels></labels>", "holds no <label name=...>"),
        ("<labels><label/></labels>", "label 1 has no name"),
        ('<labels><label name="a"/><label name="a"/></labels>', "the label 'a' comes twice"),
        ('<labels><label name="z"/></labels>', "names 'z', which is no attribute of"),
    ],
)
def test_bad_label_lists(text, message, tmp_path):
    path = tmp_path / "tags.xml"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read("1,2,3,0,1,0\n", path)
    assert str(path) in str(caught.value)


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), include_characters="\n\t'\"\\%"),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60)
@given(st.data())
def test_round_trip(tmp_path_factory, data):
    n, d, q = (data.draw(st.integers(1, k)) for k in (5, 4, 3))
    numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0])
    X = data.draw(hnp.arrays(np.float64, (n, d), elements=numbers))
    Y = data.draw(hnp.arrays(np.int64, (n, q), elements=st.integers(-1, 1)))
    names = data.draw(st.lists(NAMES, min_size=d + q, max_size=d + q, unique=True))
    folder = tmp_path_factory.mktemp("arff")
    path, xml = folder / "a.arff.gz", folder / "a.xml"
    is_sparse, rows_sparse = (
        data.draw(st.booleans()),
        data.draw(st.sampled_from([None, True, False])),
    )
    write_arff(
        path,
        csr_matrix(X) if is_sparse else X,
        csr_matrix(Y) if data.draw(st.booleans()) else Y,
        feature_names=names[:d],
        label_names=names[d:],
        xml=xml,
        relation=names[0],
        sparse=rows_sparse,
    )
    for labels in (xml, -q, names[d:]):
        back = read_arff(path, labels)
        assert back.feature_names == names[:d] and back.label_names == names[d:]
        assert issparse(back.X) == (is_sparse if rows_sparse is None else rows_sparse)
        assert (dense(back.X) == X).all() and (dense(back.Y) == Y).all()


def test_missing_features_are_nan_and_come_back(tmp_path):
    dense = read("1,?,3,?,1,0")
    assert np.isnan(dense.X[0, [1, 3]]).all() and dense.X[0, [0, 2]].tolist() == [1, 3]
    sparse = read("{0 1}\n{1 ?, 3 ?}", header=HEADER.replace("{1,0}", "{0,1}"))
    assert np.isnan(sparse.X[1].data).all() and sparse.X[1].indices.tolist() == [1, 3]
    for data in (dense, sparse):
        write_arff(tmp_path / "a.arff", data.X, data.Y)
        again = read_arff(tmp_path / "a.arff", -2)
        X, back = (m.toarray() if data is sparse else m for m in (data.X, again.X))
        assert np.array_equal(X, back, equal_nan=True) and type(again.X) is type(data.X)


def test_values_that_are_not_declared():
    header = "@attribute x {0}\n@attribute y {1}\n@data\n"
    assert read_arff(io.StringIO(header + "0,1")).X.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="line 4, attribute 'x': the value must be 0, got 1"):
        read_arff(io.StringIO(header + "1,1"))
    with pytest.raises(ValueError, match="line 5, attribute 'y': the value must be 1, got 0"):
        read_arff(io.StringIO(header + "0,1\n0,0"))


def test_write_without_labels(tmp_path):
    write_arff(tmp_path / "a.arff", [[1, 2], [3, 4]])
    data = read_arff(tmp_path / "a.arff")
    assert data.X.tolist() == [[1, 2], [3, 4]] and data.feature_names == ["x0", "x1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": [[1.0, np.inf]]}, "X[0, 1] is inf, which is not a finite number"),
        ({"X": [1.0]}, "X must hold samples and features in two dimensions, got (1,)"),
        ({"Y": [[1], [0]]}, "Y must be an indicator matrix of 1 rows, as X, got (2, 1)"),
        ({"Y": [[0, 2]]}, "Y[0, 1] is 2; expected 0, 1 or -1"),
        ({"label_names": ["a"]}, "label_names has 1 names for 2 columns"),
        ({"label_names": ["a", "a"]}, "label_names holds a name twice"),
        ({"label_names": ["a", ""]}, "label_names must be strings that are not empty, got ''"),
        ({"feature_names": ["y1", "b"]}, "'y1' is in feature_names and in label_names"),
        ({"Y": None}, "xml is given, but there are no labels"),
        ({"label_names": ["a", "\x01"]}, "label_names hold a control character"),
    ],
)
def test_bad_writes_leave_nothing(options, message, tmp_path):
    arguments = {"X": [[1.0, 2.0]], "Y": [[0, 1]], "xml": tmp_path / "a.xml"} | options
    with pytest.raises(ValueError, match=re.escape(message)):
        write_arff(tmp_path / "a.arff", **arguments)
    assert os.listdir(tmp_path) == []


def test_neither_file_is_written_if_one_cannot_be(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_arff(tmp_path / "a.arff", [[1.0]], [[1]], xml=tmp_path / "no" / "a.xml")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", MULAN_SETS)
def test_real_files_hold_what_their_note_says(name, data_dir):
    folder = data_dir / f"ml_{name}"
    if not folder.is_dir():
        pytest.skip(f"no data set in {folder}")
    note = (folder / "SOURCE.txt").read_text()
    pattern = r"(\w+): (\d+) rows, (\d+) features, (\d+) labels .*cardinality ([\d.]+), (\w+) ARFF"
    found = re.findall(pattern, note)
    assert [part for part, *_ in found] == ["train", "test"]
    for part, n, d, q, cardinality, layout in found:
        path = next(folder.glob(f"{name}-{part}.arff*"))
        data = read_arff(path, folder / f"{name}.xml")
        assert data.X.shape == (int(n), int(d)) and data.Y.shape == (int(n), int(q))
        assert data.Y.sum() / int(n) == pytest.approx(float(cardinality), abs=5.1e-4)
        assert issparse(data.X) == (layout == "sparse")
    # The xml file of yeast has another order than its ARFF files.
    assert read_arff(path, -int(q)).label_names == data.label_names


def test_a_real_file_with_missing_values_is_refused(data_dir):
    path = data_dir / "hmc_cellcycle_fun" / "cellcycle_FUN.test.arff.gz"
    if not path.is_file():
        pytest.skip(f"no file {path}")
    with pytest.raises(ValueError, match=r"line \d+, attribute 'class': .* type 'hierarchical'"):
        read_arff(path, -1)
