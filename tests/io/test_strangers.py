"""Files that a stranger made: refused by name and place, within a few times their length."""

import gzip
import io
import os
import struct
import subprocess
import sys
import threading
import tracemalloc
import zipfile

import numpy as np
import pytest

from maxmargin.io import (
    FeatureTemplate,
    atomic_write,
    file_format,
    read_arff,
    read_conll,
    read_label_list,
    read_npz,
    read_rankings,
    read_svmlight,
    write_npz,
    write_svmlight,
)
from maxmargin.io.files import Spool, numbered_lines, rereadable


def refused(read, path, content, *options, **named):
    """Read a file that must be refused by its name; return the rest of the sentence."""
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"(?s).") as caught:
        read(path, *options, **named)
    assert type(caught.value) is ValueError
    message = str(caught.value)
    assert message.startswith(str(path)) and len(message) < len(str(path)) + 400
    return message.removeprefix(str(path))


def peak(work):
    """The most memory that `work` takes at once, and what it raises."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"(?s).") as caught:
            work()
        return tracemalloc.get_traced_memory()[1], str(caught.value)
    finally:
        tracemalloc.stop()


# -- svmlight --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 1:1\n1e300 1:1\n", {}, ", line 2: the label '1e300' is beyond what 64 bits hold."),
        ("9223372036854775808 1:1\n", {}, ", line 1: the label '9223372036854775808' is beyond"),
        ("-1e19 1:1\n0.5 1:1\n", {}, ", line 1: the label '-1e19' is beyond what 64 bits hold."),
        ("1,2 1:1\n1,1.7 1:1\n", {"multilabel": True}, ", line 2: the label '1.7', one of a set,"),
        ("1,1e300 1:1\n", {"multilabel": True}, ", line 1: the label '1e300' is beyond"),
        ("1,2,1 1:1\n", {"multilabel": True}, ", line 1: a label of '1,2,1' comes twice."),
        ("1, 1:1\n", {"multilabel": True}, ", line 1: the label '' is not a finite number."),
        ("1 1:1 1000000000000000000:1\n", {}, ", line 1: the index of '1000000000000000000:1' is"),
        (f"1 {'9' * 5000}:1\n", {}, ", line 1: the index of"),
        ("1 4294967297:1\n", {}, ", line 1: the index of '4294967297:1' is above 134217728"),
        ("1 4294967297:1\n", {"n_features": 2**33}, ", line 1: the index of '4294967297:1' is out"),
        ("1 -1:1\n", {}, ", line 1: the index of '-1:1' is outside 0.."),
        ("1 1_0:1\n", {}, ", line 1: expected index:number, got '1_0:1'."),
        ("1 1:1_0\n", {}, ", line 1: expected index:number, got '1:1_0'."),
        ("1_0 1:1\n", {}, ", line 1: the label '1_0' is not a finite number."),
        ("1 \u0661:1\n", {}, ", line 1: expected index:number, got '\u0661:1'."),
        ("1 1:1:1\n", {}, ", line 1: expected index:number, got '1:1:1'."),
        ("1 1:1 qidx:1\n", {}, ", line 1: expected index:number, got 'qidx:1'."),
        ("1 1:1e999\n", {}, ", line 1: the value of '1:1e999' is not finite."),
        ("1 1:1\0 2:1\n", {}, ", line 1: holds a zero byte"),
        ("1 1:1\n1 1:1\u00a02:1\n", {}, ", line 2: expected index:number"),
        ("1 0:1\n1 4:1\n", {"n_features": 4}, ": has the indices 0 and 4, so more than the 4"),
        ("", {}, ": holds no sample."),
        ("\n\r\n# words\n", {}, ": holds no sample."),
    ],
)
def test_svmlight(tmp_path, text, options, message):
    found = refused(read_svmlight, tmp_path / "bad.svm", text.encode(), **options)
    assert found.startswith(message), found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e300 qid:1 1:1\n", ", line 1: the label '1e300' is beyond what 64 bits hold."),
        ("99999999999999999999 qid:1 1:1\n", ", line 1: the label '99999999999999999999' is"),
        ("1 qid:9223372036854775808 1:1\n", ", line 1: expected a whole number after qid:"),
        ("1 qid:1_0 1:1\n", ", line 1: expected a whole number after qid:, got 'qid:1_0'."),
        ("1 qid7:1 1:1\n", ", line 1: expected qid:number after the grade, got 'qid7:1'."),
    ],
)
def test_rankings(tmp_path, text, message):
    found = refused(read_rankings, tmp_path / "bad.svm", text.encode())
    assert found.startswith(message), found


def test_labels_are_read_to_the_last_digit():
    largest = 2**63 - 1
    _, y = read_svmlight(io.StringIO(f"{largest} 1:1\n-9007199254740993 1:1\n1e3 1:1\n"))
    assert y.dtype == np.int64 and y.tolist() == [largest, -9007199254740993, 1000]
    _, y = read_svmlight(io.StringIO(f"{largest},0 1:1\n2.0 1:1\n"), multilabel=True)
    assert y == [(0, largest), (2,)]
    data = read_rankings(io.StringIO(f"{largest} qid:{-(2**63)} 1:1\n"))
    assert data.grades.tolist() == [largest] and data.qid.tolist() == [-(2**63)]


def test_missing_values_are_nan_and_absent_ones_zero(tmp_path):
    X, _ = read_svmlight(io.StringIO("1 1:nan 3:2\n0 2:NaN\n"))
    assert np.array_equal(X.toarray(), [[np.nan, 0, 2], [0, np.nan, 0]], equal_nan=True)
    write_svmlight(tmp_path / "a.svm", X, [1, 0], qid=[3, 3])
    back = read_rankings(tmp_path / "a.svm").X
    assert np.array_equal(X.toarray(), back.toarray(), equal_nan=True)


def test_numbers_come_back_to_the_last_bit(tmp_path, rng):
    X = rng.normal(size=(50, 3)) * 10.0 ** rng.integers(-300, 300, size=(50, 3))
    y = rng.normal(size=50)
    write_svmlight(tmp_path / "a.svm", X, y)
    back, labels = read_svmlight(tmp_path / "a.svm")
    assert np.array_equal(back.toarray(), X) and np.array_equal(labels, y)
    sets = np.array([[0, 0], [1, 1]])
    write_svmlight(tmp_path / "b.svm", [[0.0, 0.0], [0.0, 1.0]], sets, multilabel=True)
    X, y = read_svmlight(tmp_path / "b.svm", multilabel=True)
    assert y == [(), (0, 1)] and X.toarray().tolist() == [[0, 0], [0, 1]]


def test_many_short_lines_and_one_long_one_take_little_memory(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1\n" * 50_000 + b"x\n")
    used, message = peak(lambda: read_svmlight(path))
    assert "line 50001: the label 'x'" in message and used < 30 * path.stat().st_size
    path.write_bytes(b"1" + b" 1:2" * 100_000)
    used, message = peak(lambda: read_svmlight(path))
    assert "line 1: the index of '1:2' does not exceed" in message
    assert used < 30 * path.stat().st_size


# -- npz -------------------------------------------------------------------------------------------


def npy(header, data=b"", version=1):
    text = header if isinstance(header, bytes) else header.encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(text)) + text + data


def packed(method=zipfile.ZIP_STORED, **members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for key, content in members.items():
            archive.writestr(f"{key}.npy", content)
    return out.getvalue()


def described(descr, shape):
    return f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n"


GOOD = npy(described("<f8", (2, 1)), bytes(16))


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (npy(described("<f8", (10**12, 8))), "its header says <f8 of shape (1000000000000, 8)"),
        (npy(described("<f8", (2, 2)), bytes(16)), "32 bytes, but it holds 16"),
        (npy(described("<f8", (1, 1)), bytes(16)), "8 bytes, but it holds 16"),
        (npy(described("<f8", (10**15, 0))), "its header says <f8 of shape (1000000000000000, 0)"),
        (npy(described("<f8", (-1, 2))), "its shape (-1, 2) is none"),
        (npy(described("<f8", "(2**70, 0)")), "its header cannot be read"),
        (npy(described("<U500000000", (2,))), "it holds '<U500000000'; expected"),
        (npy(described("<f8", (1,) * 64), bytes(8)), "it has 64 axes"),
        (npy(described("|O", (1,)), b"cos\nsystem\n"), "it holds objects; expected"),
        (npy(described([("a", "<f8")], (1,)), bytes(8)), "it holds objects; expected"),
        (npy(described("<c16", (1, 1)), bytes(16)), "it holds '<c16'; expected"),
        (npy(described("(1000000,)f8", (0, 0))), "it holds"),
        (npy(described("x" * 99, (0,))), "is none of numpy's"),
        (npy("(" * 5000), "its header cannot be read"),
        (npy("__import__('os').system('false')"), "its header cannot be read"),
        (npy(described("<f8", (2, 1)), bytes(16))[:30], "its header is cut: 20 bytes of"),
        (npy(b"x" * 20_000), "its header has 20000 bytes; expected 10000 at most"),
        (npy(described("<f8", (2, 1)), bytes(16), version=9), "it is no array"),
        (b"\x93NUM", "it is no array"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_npz_members(tmp_path, member, message):
    path = tmp_path / "bad.npz"
    found = refused(read_npz, path, packed(X=member))
    assert "X.npy: " in found and message in found, found
    used, _ = peak(lambda: read_npz(path))
    assert used < 1 << 20


def test_npz_files(tmp_path):
    path = tmp_path / "bad.npz"
    whole = packed(X=GOOD, y=npy(described("<i8", (2,)), bytes(16)))
    path.write_bytes(whole)
    assert read_npz(path)[1].tolist() == [0, 0]
    at = whole.index(b"PK\x01\x02")  # the first entry of the directory
    odd = bytearray(whole)
    odd[at + 10] = 14
    assert "X.npy: it is packed by method 14" in refused(read_npz, path, bytes(odd))
    secret = bytearray(whole)
    secret[at + 8] |= 1
    assert "X.npy: it is encrypted" in refused(read_npz, path, bytes(secret))
    lying = bytearray(whole)
    lying[at + 24 : at + 28] = struct.pack("<I", 2**31)
    assert "cannot hold the 2147483648" in refused(read_npz, path, bytes(lying))
    damaged = whole.replace(bytes(16), b"\1" + bytes(15), 1)
    assert "X.npy: Bad CRC-32" in refused(read_npz, path, damaged)
    for end in range(0, len(whole), 13):
        assert "is not an npz file" in refused(read_npz, path, whole[:end])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", GOOD)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("X.npy", GOOD)
    assert "the array 'X' is in it twice" in refused(read_npz, path, path.read_bytes())


def test_npz_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.io.unpack._FLOOR", 1 << 20)
    n = 1 << 19
    bomb = packed(zipfile.ZIP_DEFLATED, X=npy(described("<f8", (n, 1)), bytes(8 * n)))
    assert len(bomb) < 20_000
    found = refused(read_npz, tmp_path / "bomb.npz", bomb)
    assert "X.npy: it unpacks from" in found and "np.savez" in found
    # What we write ourselves we read, however well it packs.
    write_npz(tmp_path / "zeros.npz", np.zeros((n, 1)))
    assert read_npz(tmp_path / "zeros.npz")[0].shape == (n, 1)


@pytest.mark.parametrize(
    "offsets",
    [
        np.array([0, 2**64 - 1, 2], dtype=np.uint64),
        np.array([0, 2**63, 2], dtype=np.uint64),
        np.array([0, 2, 1, 2], dtype=np.uint64),
        np.array([0, 200, 2], dtype=np.uint8),
        np.array([0, -1, 2]),
    ],
    ids=str,
)
def test_offsets_do_not_wrap(tmp_path, offsets):
    np.savez(tmp_path / "a.npz", X=np.zeros((2, 1)), offsets=offsets)
    found = refused(read_npz, tmp_path / "a.npz", (tmp_path / "a.npz").read_bytes())
    assert "offsets must be whole numbers that rise from 0 to the 2 rows" in found


def test_strings_hold_characters(tmp_path):
    data = np.array([65, 0x110000], dtype="<u4").tobytes()
    found = refused(
        read_npz, tmp_path / "a.npz", packed(X=GOOD, y=npy(described("<U1", (2,)), data))
    )
    assert "y.npy: element 1 holds 1114112, which is no character" in found


def test_other_orders_of_bytes_and_axes(tmp_path):
    X = np.asfortranarray(np.arange(6.0).reshape(2, 3).astype(">f8"))
    np.savez(tmp_path / "a.npz", X=X, y=np.array(["a", "bc"], dtype=">U2"), other=np.eye(2))
    back, y = read_npz(tmp_path / "a.npz")
    assert np.array_equal(back, X) and back.dtype.isnative and y.tolist() == ["a", "bc"]


# -- xml -------------------------------------------------------------------------------------------

LABELS = '<labels xmlns="http://mulan.sourceforge.net/labels">{}</labels>'
LAUGHS = "".join(f'<!ENTITY l{k + 1} "{f"&l{k};" * 10}">' for k in range(20))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<?xml version="1.0" encoding="klingon"?><labels/>', ", line 1: unknown encoding"),
        ('<?xml version="1.0" encoding="utf-7"?><labels/>', ", line 1:"),
        (f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><a>&l20;</a>', ", line 1: holds a document"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', ", line 1: holds a"),
        ("<labels>\n<label name='a'/>\n<label/></labels>", ", line 3: label 2 has no name."),
        ("<labels>\n<label name='a'/><label name='a'/></labels>", ", line 2: the label 'a' comes"),
        ("<labels>" * 40_000, ", line 1: more than 1000 elements within one another."),
        ("", ": not well-formed xml"),
        ("\0\0", ": not well-formed xml"),
    ],
    ids=range(9),
)
def test_label_lists(tmp_path, text, message):
    found = refused(read_label_list, tmp_path / "bad.xml", text.encode())
    assert found.startswith(message), found


def test_label_lists_say_their_encoding(tmp_path):
    label = '<label name="Caf\u00e9"/>'
    for encoding in ("utf-8", "latin-1", "utf-16", "cp1252"):
        text = f'<?xml version="1.0" encoding="{encoding}"?>' + LABELS.format(label)
        (tmp_path / "a.xml").write_bytes(text.encode(encoding))
        assert read_label_list(tmp_path / "a.xml") == ["Caf\u00e9"]
    assert read_label_list(io.StringIO(LABELS.format(label))) == ["Caf\u00e9"]
    cut = gzip.compress(LABELS.format(label).encode())[:-9]
    assert "broken gzip" in refused(read_label_list, tmp_path / "a.xml.gz", cut)


# -- CoNLL, ARFF, templates ------------------------------------------------------------------------


def test_long_lines_of_conll(tmp_path):
    path = tmp_path / "long.conll"
    for line in (b"a " * 10_000_000, b"a" * 20_000_000, "\U0001f600".encode() * 5_000_000):
        path.write_bytes(b"the DT O\n" + line + b"\n")
        used, message = peak(lambda: read_conll(path))
        assert message.startswith(f"{path}, line 2: the line is longer than 1048576 characters")
        assert used < 2 * path.stat().st_size and len(message) < 400
    path.write_bytes(b"w " + b"a" * 1_000_000 + b"\n")
    assert len(read_conll(path).tags[0][0]) == 1_000_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a B\nb\0 B\n", ", line 2: holds a zero byte"),
        ("a B\n".encode("utf-16"), ", line 1: not UTF-8"),
        (b"a B\ncaf\xe9 B\n", ", line 2: not UTF-8 (invalid continuation byte at byte 4"),
        (b"a B\n\xff", ", line 2: not UTF-8"),
        (b"a B\rb B\r", ", line 1: holds a carriage return"),
        (b"BZh91AY&SY more", " is packed by bzip2; unpack it first, or pack it by gzip."),
        (b"PK\x03\x04 more", " is packed by zip"),
        (gzip.compress(b"a B\n" * 99)[:-9], ", after line"),
        (gzip.compress(b"a B\n")[:5], ", after line 0: broken gzip file: it ends before"),
        (gzip.compress(b"a B\n") + b"words", ", after line 1: broken gzip file"),
        (b"\x1f\x8bwords", ", after line 0: broken gzip file"),
        (b"", ": holds no token."),
    ],
    ids=range(12),
)
def test_bytes_that_are_no_text(tmp_path, content, message):
    found = refused(read_conll, tmp_path / "bad.conll", content)
    assert found.startswith(message), found


def test_other_ends_of_lines(tmp_path):
    path = tmp_path / "a.conll"
    parts = (b"\xef\xbb\xbfa B\r\n", b"b I")
    for content in (
        b"".join(parts),
        gzip.compress(b"".join(parts)),
        parts[0] + b"\xef\xbb\xbf" + parts[1],
        gzip.compress(parts[0]) + gzip.compress(b"") + gzip.compress(parts[1]) + bytes(100),
    ):
        path.write_bytes(content)
        data = read_conll(path)
        assert data.sentences == [[("a",), ("b",)]] and data.tags == [["B", "I"]]


def test_gzip_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.io.unpack._FLOOR", 1 << 20)
    bomb = gzip.compress(b"1 1:1\n" * 10**6)
    found = refused(read_svmlight, tmp_path / "bomb.svm.gz", bomb)
    assert "broken gzip file: it unpacks to more than 100 times its length" in found
    (tmp_path / "a.svm").write_bytes(b"1 1:1\n" * 10**4)
    assert read_svmlight(tmp_path / "a.svm")[0].shape == (10**4, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@attribute 'a numeric\n@data\n1", ", line 1: the quote has no end"),
        ("@attribute a {0,1\n@data\n1", ", line 1, attribute 'a': the list of values has no"),
        ("@attribute a {red,'blue, or so'}\n@data\nred", ", line 1, attribute 'a': nominal values"),
        ("@attribute a {}\n@data\n1", ", line 1, attribute 'a': nominal values other"),
        (f"@attribute {'a' * 10**6} date\n@data\n1", ", line 1, attribute 'aaa"),
        ("@attribute a numeric\n@data\n{99999999999999999999 1}", ", line 3: the index 9999999999"),
        (f"@attribute a numeric\n@data\n{{{'9' * 9999} 1}}", ", line 3: expected index value"),
        ("@attribute a numeric\n@data\n{\u0660 1}", ", line 3: expected index value"),
        ("@attribute a numeric\n@data\n1\0", ", line 3: holds a zero byte"),
        (f"@attribute a numeric\n@data\n{{{'0 1,' * 99999}0 1}}", ", line 3, attribute 'a': the"),
        ("@data\n", ", line 1: @data comes before any @attribute."),
        ("% words\n", ": has no @data line."),
    ],
    ids=range(12),
)
def test_arff(tmp_path, text, message):
    found = refused(read_arff, tmp_path / "bad.arff", text.encode())
    assert found.startswith(message), found


def test_a_sparse_file_is_not_made_dense_at_any_price():
    header = "".join(f"@attribute a{k} numeric\n" for k in range(4000)) + "@data\n"
    text = header + "{1 1}\n" * 20_000
    with pytest.raises(ValueError, match=r"20000 rows of 4000 columns would take 0\.64 GB"):
        read_arff(io.StringIO(text), sparse=False)
    assert read_arff(io.StringIO(text)).X.shape == (20_000, 4000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lower(" * 40_000 + "w[0]" + ")" * 40_000, "more than 20 functions of one another"),
        ("lower(" * 40_000 + "w[0]", "is not a value"),
        (" " * 10**6 + "w[x]", "is not a value"),
        (f"w[{'9' * 9999}]", "is not a value"),
        (f"prefix{'9' * 9999}(w[0])", "unknown function"),
        (f"c{'9' * 9999}[0]", "unknown column"),
        ("w[0]" + "|w[0]" * 99_999 + " " + "w[0]" + "|w[0]" * 99_999, "stands twice"),
    ],
    ids=range(7),
)
def test_templates(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        FeatureTemplate.parse(text)
    assert len(str(caught.value)) < 500


def test_templates_may_nest_a_little():
    nested = "lower(" * 20 + "w[0]" + ")" * 20
    assert FeatureTemplate.parse(nested).features([("Ab",)]) == [[f"{nested}=ab"]]


# -- paths -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "read", [read_svmlight, read_rankings, read_conll, read_arff, read_npz, read_label_list]
)
def test_paths_that_are_no_files(tmp_path, read):
    with pytest.raises(FileNotFoundError, match=r"^no such file: .*none\.x$"):
        read(tmp_path / "none.x")
    with pytest.raises(IsADirectoryError, match=r"is a folder, not a file$"):
        read(tmp_path)


def test_unknown_extensions_name_the_way_out():
    with pytest.raises(ValueError, match=r"a\.data: the extension '\.data' .*--format"):
        file_format("a.data")


def pipe(path, content):
    """Write `content` to a new pipe called `path`, once it is opened for reading."""
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_bytes, args=(content,), daemon=True)
    thread.start()
    return thread


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_pipes_are_read_once_and_looked_at_twice(tmp_path):
    thread = pipe(tmp_path / "a", gzip.compress(b"the O\n"))
    source = rereadable(tmp_path / "a")
    assert isinstance(source, Spool) and source.name == str(tmp_path / "a")
    assert list(numbered_lines(source)) == list(numbered_lines(source)) == [(1, "the O")]
    thread.join()
    thread = pipe(tmp_path / "b", packed(X=GOOD))
    assert read_npz(tmp_path / "b")[0].shape == (2, 1)
    thread.join()
    thread = pipe(tmp_path / "c", b"1 1:x\n")
    with pytest.raises(ValueError, match=r"c, line 1: expected index:number, got '1:x'"):
        read_svmlight(tmp_path / "c")
    thread.join()


def test_what_is_no_file_is_written_to_and_stays(tmp_path):
    os.symlink("/dev/null", tmp_path / "null")
    with atomic_write(tmp_path / "null") as file:
        file.write(b"gone")
    assert os.readlink(tmp_path / "null") == "/dev/null"
    with atomic_write("/dev/null") as file:
        file.write(b"gone")
    code = (
        "from maxmargin.io import atomic_write\n"
        "with atomic_write('/dev/stdout') as file: file.write(b'x')"
    )
    with open(tmp_path / "out.txt", "w+b") as out:
        out.write(b"before ")
        out.flush()
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, env=os.environ)
    assert (tmp_path / "out.txt").read_bytes() == b"before x"
    assert os.path.exists("/dev/stdout") and not os.path.isfile("/dev/null")


def test_links_are_followed_and_modes_kept(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    os.chmod(tmp_path / "real", 0o600)
    os.symlink("real", tmp_path / "link")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"new")
    assert os.path.islink(tmp_path / "link") and (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]


def test_what_a_killed_process_left_is_removed(tmp_path):
    code = (
        "import os, sys\nfrom maxmargin.io import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file:\n    file.write(b'half'); file.flush()\n"
        "    os._exit(9)"
    )
    path = tmp_path / "out.npz"
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == 9
    (tmp_path / ".other.npz.0123456789abcdef.tmp").write_bytes(b"of another file")
    assert len(os.listdir(tmp_path)) == 2
    with atomic_write(path) as first:
        first.write(b"slow")
        with atomic_write(path) as second:  # does not take the first, which is at work, for dead
            second.write(b"quick")
    assert sorted(os.listdir(tmp_path)) == [".other.npz.0123456789abcdef.tmp", "out.npz"]
    assert path.read_bytes() == b"slow"
