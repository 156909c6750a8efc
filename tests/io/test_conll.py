import gzip
import io
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.io import atomic_write, conll_width, file_format, read_conll, write_conll
from maxmargin.io.files import numbered_lines

TEXT = "the DT B-NP\ncat NN I-NP\n\nwhy WRB O\n"


def reading(text, **options):
    return read_conll(io.StringIO(text), **options)


def test_tag_columns_and_names():
    data = reading(TEXT)
    assert data.sentences == [[("the", "DT"), ("cat", "NN")], [("why", "WRB")]]
    assert data.tags == [["B-NP", "I-NP"], ["O"]]
    assert (data.columns, data.tag_column, data.n_tokens) == (("w", "pos"), 2, 3)

    middle = reading(TEXT, tag_column=1)
    assert middle.tags == [["DT", "NN"], ["WRB"]]
    assert middle.columns == ("w", "c2") and middle.sentences[1] == [("why", "O")]

    bare = reading(TEXT, tag_column=None)
    assert bare.tags is None and bare.columns == ("w", "pos", "c2")
    assert reading(TEXT, columns=["word", "tag"]).columns == ("word", "tag")
    picked = reading(TEXT, columns={"p": 1})
    assert picked.columns == ("p",) and picked.sentences[1] == [("WRB",)]
    assert reading(TEXT, columns={"p": -2}).sentences == picked.sentences


def test_separators_and_blank_lines():
    # Two spaces are one separator; a no-break space is part of a word; "\t" alone is a blank line.
    assert reading("a\u00a0b   X\r\n \t \r\nc X").sentences == [[("a\u00a0b",)], [("c",)]]
    data = reading("New York\tB\n\t\n\n\nb\tO\n", separator="\t")
    assert data.sentences == [[("New York",)], [("b",)]]
    assert reading("a\t\tO\n", separator="\t").sentences == [[("a", "")]]
    # U+2028 ends a line for str.splitlines, and must not here.
    assert reading("a\u2028b O\n").sentences == [[("a\u2028b",)]]


def test_byte_order_mark_is_dropped(tmp_path):
    path = tmp_path / "bom.conll"
    path.write_bytes("a O\n".encode("utf-8-sig"))
    assert read_conll(path).sentences == [[("a",)]]


def test_documents():
    text = "-DOCSTART- -X- O\n\na A O\n\n-DOCSTART- -X- O\nb B O\n"
    data = reading(text)
    assert data.sentences == [[("a", "A")], [("b", "B")]] and data.document_starts == [0, 1]
    out = io.StringIO()
    write_conll(out, data.sentences, data.tags, document_starts=data.document_starts)
    assert out.getvalue().startswith("-DOCSTART- -X- O\n\na A O\n\n-DOCSTART- -X- O\n")
    again = reading(out.getvalue())
    assert (again.sentences, again.document_starts) == (data.sentences, data.document_starts)
    single = io.StringIO()
    write_conll(single, [["a"]], document_starts=[0])
    assert single.getvalue() == "-DOCSTART-\n\na\n\n"


def test_gzip_by_content_not_name(tmp_path):
    path = tmp_path / "packed.conll"
    path.write_bytes(gzip.compress(TEXT.encode()))
    assert read_conll(path).sentences == reading(TEXT).sentences
    with open(path, "rb") as file, gzip.open(file) as unpacked:
        assert read_conll(unpacked).tags == reading(TEXT).tags


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a A O\nb B\n", {}, "line 2: expected 3 columns as on line 1, got 2: 'b B'"),
        ("\na A O\n\nb B O O\n", {}, "line 4: expected 3 columns as on line 2, got 4"),
        ("", {}, "holds no token"),
        ("\n-DOCSTART- O\n", {}, "holds no token"),
        ("a O\n", {"tag_column": 2}, "tag_column=2, but the file has 2 columns"),
        ("a\n", {}, "no column is left besides the tags"),
        ("a\t\n", {"separator": "\t"}, "line 1: the tag is empty"),
        ("a O\n", {"separator": ""}, "separator must be None or a string"),
        ("a A O\n", {"columns": ["w"]}, "there are 2 columns besides the tags"),
        ("a A O\n", {"columns": ["w", "w"]}, "a name of its own"),
        ("a A O\n", {"columns": {"w": 3}}, r"columns\['w'\]=3, but the file has 3"),
        ("a A O\n", {"columns": {"w": 2}}, r"columns\['w'\]=2 is the tag column"),
    ],
)
def test_bad_files_are_named(text, options, message, tmp_path):
    path = tmp_path / "bad.conll"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        read_conll(path, **options)
    if "separator must" not in message:
        assert str(caught.value).startswith(str(path))


def test_undecodable_and_truncated_files_are_named(tmp_path):
    path = tmp_path / "latin.conll"
    path.write_bytes(b"a O\n\xe9t\xe9 O\n")
    with pytest.raises(ValueError, match=r"latin.conll, line 2: not UTF-8"):
        read_conll(path)
    path = tmp_path / "cut.conll.gz"
    path.write_bytes(gzip.compress(TEXT.encode() * 1000)[:-20])
    with pytest.raises(ValueError, match=r"cut.conll.gz, after line \d+: broken gzip"):
        read_conll(path)
    with pytest.raises(FileNotFoundError):
        read_conll(tmp_path / "none.conll")
    with pytest.raises(TypeError, match="expected a path or an open file, got list"):
        list(numbered_lines([b"a"]))


words = st.text(st.characters(exclude_characters=" \t\r\n", codec="utf-8"), min_size=1, max_size=5)
rows = st.tuples(words, words).filter(lambda row: " ".join(row).strip() != "")
corpora = st.lists(st.lists(rows, min_size=1, max_size=4), min_size=1, max_size=4)


@settings(deadline=None, max_examples=50)
@given(sentences=corpora, separator=st.sampled_from([" ", "\t"]), place=st.sampled_from([0, 1, 2]))
def test_what_is_written_is_read_back(sentences, separator, place, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "round.conll.gz"
    tags = [[f"B-{t}" for t in range(len(s))] for s in sentences]
    write_conll(path, sentences, tags, separator=separator, tag_column=place)
    for given_separator in (None, separator):
        data = read_conll(path, tag_column=place, separator=given_separator)
        assert data.sentences == sentences and data.tags == tags
    assert path.read_bytes()[:2] == b"\x1f\x8b"


def test_predictions_become_the_last_column(tmp_path):
    data = reading(TEXT)
    path = tmp_path / "out.conll"
    write_conll(path, data.sentences, data.tags, [["B-NP", "O"], ["O"]])
    assert path.read_text() == "the DT B-NP B-NP\ncat NN I-NP O\n\nwhy WRB O O\n\n"
    assert read_conll(path).tags == [["B-NP", "O"], ["O"]]
    assert conll_width(path) == 4
    out = io.StringIO()
    write_conll(out, [["the", "cat"]], predictions=[[1, 2]])
    assert out.getvalue() == "the 1\ncat 2\n\n"


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([["a"]], [["O"], ["O"]]), {}, "tags has 2 sequences, but there are 1"),
        (([["a"]], None, [["O", "O"]]), {}, r"predictions\[0\] has 2 entries but sentences\[0\]"),
        (([["a"], []],), {}, r"sentences\[1\] is empty"),
        (([["a b"]],), {}, r"sentences\[0\]\[0\]: the field 'a b' cannot be written"),
        (([["a\tb"]],), {}, "cannot be written"),
        (([["a"], ["b", "c\nd"]],), {"separator": "\t"}, r"sentences\[1\]\[1\]: the field"),
        (([[("a", "")]],), {}, "the field '' cannot be written"),
        (([[("", "")]],), {"separator": "\t"}, "would not be read back as a token"),
        (([["-DOCSTART-"]],), {}, "would not be read back as a token"),
    ],
)
def test_what_cannot_be_read_back_is_not_written(arguments, options, message, tmp_path):
    path = tmp_path / "out.conll"
    path.write_text("before")
    with pytest.raises(ValueError, match=message):
        write_conll(path, *arguments, **options)
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["out.conll"]


def test_a_failed_write_leaves_nothing(tmp_path):
    path = tmp_path / "out.bin"

    def write_half():
        with atomic_write(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert os.listdir(tmp_path) == []
    with (
        pytest.raises(FileNotFoundError, match="does not exist"),
        atomic_write(tmp_path / "no" / "x"),
    ):
        pass


def test_tabs_in_a_gzipped_file(tmp_path):
    path = tmp_path / "a.tsv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"New York\tB\n")
    data = read_conll(path, separator="\t")
    assert (data.sentences, data.tags, data.columns) == ([[("New York",)]], [["B"]], ("w",))
    assert read_conll(path, separator="\t", tag_column=None).tags is None
    assert file_format(path) == "conll"
    with pytest.raises(ValueError, match=r"extension '\.xls' names no format\. There are: \.conll"):
        file_format(tmp_path / "a.xls")
