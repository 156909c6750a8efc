"""Words of each format in any order: read, or refused by name; and numbers written and read."""

import io
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.io import (
    FeatureTemplate,
    read_arff,
    read_cfn,
    read_conll,
    read_dimacs,
    read_evidence,
    read_label_list,
    read_npz,
    read_qpbo,
    read_rankings,
    read_svmlight,
    read_uai,
    read_wcsp,
    write_npz,
    write_svmlight,
)
from maxmargin.io.files import Spool

NUMBERS = ["0", "1", "-1", "0.5", "1.7", "nan", "inf", "1e300", "1e999", "9" * 20, "1_0", "\u0663"]
BREAKS = ["\n", "\r\n", "\r", " ", "\t", ":", ",", "#", "%", "\0", "\ufeff", "'", '"', "\\"]
WORDS = {
    read_svmlight: ["1 ", " 1:1", " 2:0.5\n", "0:1", "qid:1", "1,2 "],
    read_rankings: ["1 qid:2", "0 qid:1 1:1\n", " 3:4", "qid:"],
    read_conll: ["a B\n", "-DOCSTART- O", "B-NP", "\n\n"],
    read_arff: ["@attribute a numeric\n", "@attribute b {0,1}\n", "@data\n", "{0 1}\n", "1,?\n"],
    read_uai: ["MARKOV ", "BAYES\n1\n2\n", "1 0\n", "2 .5 .5\n", " 2 0 1 ", "4 1 1 1 1"],
    read_evidence: ["1 ", "2 0 1 1 0", "\n0"],
    read_wcsp: ["a 1 2 1 9\n2\n", "1 0 0 1\n", "1 5\n", " -1 >= 0 1", "2 0 1 "],
    read_cfn: ["{{p <9}", "{a 2}", "{f {scope [a] costs [1 2]}}", "}", "{", '"a"', "[0]", "# "],
    read_qpbo: ["2 1\n", "1 2 3\n", "-2 ", "1 1 "],
    read_dimacs: ["p max 2 1\n", "n 1 s\n", "n 2 t\n", "a 1 2 3\n", "c ", "a "],
    read_label_list: ["<labels>", '<label name="a"/>', "</labels>", "<!DOCTYPE a>", "&amp;", "<"],
}


@contextmanager
def refusals(word):
    """Let pass a plain ValueError that names `word`, and nothing else."""
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError or word not in str(error):
            raise AssertionError(repr(error)) from error


@pytest.mark.parametrize("read", WORDS, ids=lambda read: read.__name__)
def test_words_in_any_order(read):
    words = st.sampled_from([*WORDS[read], *WORDS[read], *NUMBERS, *BREAKS])

    @settings(deadline=None, max_examples=150, derandomize=True)
    @given(st.lists(words, max_size=12).map("".join))
    def holds(text):
        with refusals("the-file"):
            read(Spool(text.encode(), "the-file"))

    holds()


@settings(deadline=None, max_examples=150, derandomize=True)
@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 60))
def test_an_archive_with_other_bytes_in_it(piece, start, length):
    out = io.BytesIO()
    np.savez(out, X=np.eye(2), y=np.array(["a", "b"]))
    whole = out.getvalue()
    damaged = whole[:start] + piece + whole[start + length :]
    with refusals("the-file"):
        X, _ = read_npz(Spool(damaged, "the-file"))
        assert isinstance(X, list) or X.ndim == 2


@settings(deadline=None, max_examples=150, derandomize=True)
@given(st.lists(st.sampled_from(["w", "[0]", "[-1]", "lower(", ")", "|", "bias", " ", "pos[1]"])))
def test_templates_in_any_order(pieces):
    with refusals("template"):
        FeatureTemplate.parse("".join(pieces)).features([("a", "b"), ("c", "d")])


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1),
            st.lists(st.floats(allow_infinity=False), min_size=3, max_size=3),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_numbers_come_back(rows, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    y, X = np.array([y for y, _ in rows]), np.array([x for _, x in rows])
    write_svmlight(folder / "a.svm", X, y)
    write_npz(folder / "a.npz", X, y)
    sparse, labels = read_svmlight(folder / "a.svm", n_features=3)
    assert np.array_equal(sparse.toarray(), X, equal_nan=True) and np.array_equal(labels, y)
    dense, labels = read_npz(folder / "a.npz")
    assert np.array_equal(dense, X, equal_nan=True) and np.array_equal(labels, y)
