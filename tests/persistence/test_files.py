"""Model files: what goes in comes out with its type; other files are refused by name."""

from __future__ import annotations

import datetime
import enum
import json
import math
import os
import re
import resource
import stat
import subprocess
import sys
import tracemalloc
from collections import OrderedDict

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from maxmargin import persistence
from maxmargin.persistence import (
    decode_value,
    encode_value,
    read,
    register,
    restore_rng,
    rng_state,
    write,
)
from maxmargin.persistence import replacing as replacing_module
from maxmargin.persistence.replacing import replacing

NUMPY_SCALARS = [
    np.float64(0.1), np.float32(0.1), np.float16(0.5), np.int64(-(2**63)), np.int32(3),
    np.int16(-4), np.int8(5), np.uint64(2**64 - 1), np.uint32(6), np.uint16(7), np.uint8(255),
    np.bool_(True), np.str_("é"), np.bytes_(b"\x00a"), np.float64("nan"), np.float32("-inf"),
]  # fmt: skip


def same(a, b):
    """Equality of value and of type, all the way down; NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return (
            a.dtype == b.dtype
            and a.shape == b.shape
            and same(a.ravel().tolist(), b.ravel().tolist())
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, (float, np.floating)) and math.isnan(a):
        return math.isnan(b)
    if isinstance(a, float) and a == 0:
        return math.copysign(1, a) == math.copysign(1, b) and b == 0
    return bool(a == b)


hashables = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.sampled_from(NUMPY_SCALARS[:-2]),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
values = st.recursive(
    hashables | st.floats() | st.sampled_from(NUMPY_SCALARS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(hashables | st.just("$type"), inner, max_size=4)
        | st.sets(hashables, max_size=3)
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=50)
@given(values)
def test_any_value_survives_json_with_its_type(value):
    text = json.dumps(encode_value(value), allow_nan=False)
    assert same(decode_value(json.loads(text)), value)


@pytest.mark.parametrize("value", NUMPY_SCALARS, ids=lambda v: type(v).__name__)
def test_numpy_scalars_keep_their_type(value):
    assert same(decode_value(json.loads(json.dumps(encode_value(value)))), value)


def object_array():
    array = np.empty((2, 2), dtype=object)
    array[0, 0], array[0, 1], array[1, 0], array[1, 1] = (1, "a"), None, np.int64(2), [1.5]
    return array


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a", "longer", ""]),
        np.array([b"x", b"yz"]),
        np.array([True, False]),
        np.array([[1.5, np.nan], [-np.inf, 0.1]]),
        np.array([], dtype=np.float32).reshape(0, 3),
        np.array(3, dtype=np.int16),
        np.array([2**64 - 1], dtype=np.uint64),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        object_array(),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_arrays_among_values_keep_dtype_and_shape(array):
    assert same(decode_value(json.loads(json.dumps(encode_value(array)))), array)


def test_plain_json_is_stored_as_it_is():
    plain = {"C": 1.5, "names": ["a", None, True, 3], "deep": {"x": {}}}
    assert encode_value(plain) == plain


def test_equal_sets_encode_equally():
    assert encode_value({"b", "a", "c"}) == encode_value({"c", "b", "a"})


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (datetime.date(2020, 1, 1), "datetime.date"),
        (Colour.RED, "Colour"),
        (OrderedDict(a=1), "collections.OrderedDict"),
        (1j, "complex"),
        (len, "builtin_function_or_method"),
        (np.datetime64("2020-01-01"), "numpy.datetime64"),
        (np.longdouble(1), "numpy.longdouble"),
        (np.zeros(2, dtype=complex), "numpy.ndarray of dtype complex128"),
        (np.ma.masked_array([1], [True]), "MaskedArray"),
    ],
)
def test_other_types_are_refused_by_name_and_place(value, name):
    with pytest.raises(TypeError, match=re.escape(name)) as caught:
        encode_value({"labels": [0, value]}, "meta")
    assert str(caught.value).startswith("meta['labels'][1] is of type")


@pytest.mark.parametrize(
    "data",
    [
        {"$type": "code", "value": "import os"},
        {"$type": "tuple"},
        {"$type": ["tuple"], "value": []},
        {"$type": "tuple", "value": 3},
        {"$type": "dict", "value": [[1]]},
        {"$type": "dict", "value": [[[], 1]]},
        {"$type": "bytes", "value": "zz"},
        {"$type": "int8", "value": 300},
        {"$type": "ndarray", "value": [1, 2], "dtype": "<f8", "shape": [3]},
        {"$type": "ndarray", "value": [], "dtype": "<f8", "shape": [10**15]},
        {"$type": "ndarray", "value": [], "dtype": "nonsense", "shape": [0]},
        {"$type": "ndarray", "value": [1, 2], "dtype": "<f8", "shape": [-1, -2]},
        {"$type": "ndarray", "value": [1], "dtype": "(9,)f8", "shape": [1]},
        {"$type": "ndarray", "value": [1], "dtype": "V9", "shape": [1]},
        {"$type": "ndarray", "value": [1], "dtype": "<U1", "shape": [1]},
        {"$type": "float64", "value": [1.0, 2.0]},
        {"$type": "tuple", "value": "ab"},
        {"$type": "float", "value": [1]},
    ],
)
def test_malformed_values_are_value_errors(data):
    with pytest.raises(ValueError, match="stored"):
        decode_value(data)


@pytest.mark.parametrize(
    "data",
    [
        {"$type": "ndarray", "value": ["a", "b"], "dtype": "<U500000000", "shape": [2]},
        {"$type": "ndarray", "value": ["a"] * 9, "dtype": "<U1000000", "shape": [9]},
        {"$type": "bytes_", "value": 10**9},
    ],
)
def test_a_few_characters_do_not_ask_for_much_memory(data):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="stored"):
            decode_value(data)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_text_in_cells_much_too_wide_comes_back_narrower():
    wide = np.array(["a", "bc"], dtype="<U100000")
    again = decode_value(encode_value(wide))
    assert again.tolist() == ["a", "bc"] and again.dtype == "<U2"
    kept = np.array(["a", "bc"], dtype="<U9")
    assert decode_value(encode_value(kept)).dtype == "<U9"


# ---------------------------------------------------------------- files


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mm"


ARRAYS = {
    "w": np.linspace(-1, 1, 12).reshape(3, 4),
    "x": np.array([0.1, -np.inf, np.nan], dtype=np.float32),
    "offsets": np.array([0, 2**40], dtype=np.int64),
    "labels": np.array([-1, 3], dtype=np.int32),
    "small": np.array([[-7]], dtype=np.int16),
    "bytes": np.arange(5, dtype=np.uint8),
    "mask": np.array([True, False, True]),
    "empty": np.empty((0, 4)),
    "scalar": np.array(2.5),
}


def assert_same_arrays(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype, name
        np.testing.assert_array_equal(found[name], array, strict=True)


def test_round_trip(path):
    meta = {
        "classes": ("B", 1, np.int64(2), None),
        "gap": float("nan"),
        3: {"a"},
        "odd": "\ud800é\0",
    }
    assert write(path, "model", meta, ARRAYS) is None
    document = read(path)
    assert (document.kind, document.version) == ("model", 1)
    assert same(document.meta, meta)
    assert_same_arrays(document.arrays, ARRAYS)
    assert all(array.flags.writeable for array in document.arrays.values())


def test_strided_and_foreign_byte_orders(path):
    w = np.arange(12.0).reshape(3, 4)
    write(path, "model", {}, {"t": w.T, "s": w[:, ::2], "b": w.astype(">f8")})
    arrays = read(path).arrays
    assert_same_arrays(arrays, {"t": w.T, "s": w[:, ::2], "b": w})
    assert arrays["t"].flags.c_contiguous


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_csr(path, make):
    dense = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, 3]], dtype=np.float32)
    write(path, "model", {}, {"X": make(dense), "none": make((0, 4))})
    arrays = read(path).arrays
    assert type(arrays["X"]) is make
    assert arrays["X"].dtype == np.float32
    np.testing.assert_array_equal(arrays["X"].toarray(), dense)
    assert arrays["none"].shape == (0, 4)


def test_a_csr_that_points_outside_is_refused(path):
    matrix = scipy.sparse.csr_array(np.eye(3))
    matrix.indices[1] = 7
    write(path, "model", {}, {"X": matrix})
    with pytest.raises(ValueError, match="damaged"):
        read(path)


def test_long_meta_leaves_the_header(path):
    names = [f"w[-1]=naïve{i}" for i in range(20_000)]
    write(path, "model", {"vocabulary": names, "by": {n: i for i, n in enumerate(names)}}, {})
    with open(path, "rb") as file:
        assert int.from_bytes(file.read(8), "little") < 1000
    document = read(path)
    assert document.meta["vocabulary"] == names
    assert document.meta["by"][names[-1]] == 19_999
    assert document.arrays == {}


def test_equal_contents_make_equal_files(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name, "model", {"s": {"x", "y", "z"}}, ARRAYS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_every_truncation_is_a_value_error(path, tmp_path):
    write(path, "model", {"C": 1.0}, {"w": np.arange(5.0)})
    whole = path.read_bytes()
    cut = tmp_path / "cut.mm"
    for length in range(len(whole)):
        cut.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="truncated") as caught:
            read(cut)
        assert "cut.mm" in str(caught.value)


def test_trailing_bytes_are_damage(path):
    write(path, "model", {}, {"w": np.arange(5.0)})
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(ValueError, match="is damaged"):
        read(path)


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_a_changed_byte_is_never_another_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("flip") / "f.mm"
    write(path, "model", {"C": (1.0, np.int8(3))}, {"w": np.arange(2.0)})
    raw = bytearray(path.read_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    try:
        read(path, kind="model")
    except ValueError as error:
        assert "f.mm" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "content",
    [b"word tag\n" * 50, b"PK\x03\x04" + bytes(100), b"\x80\x04\x95" + bytes(60), b'{"a": 1}' * 9,
     (40).to_bytes(8, "little") + b"{" + b"x" * 60],
    ids=["text", "zip", "pickle", "json", "almost"],
)  # fmt: skip
def test_foreign_files(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a maxmargin file"):
        read(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_safetensors_of_others(path, metadata):
    save_file({"w": np.zeros(3)}, path, metadata)
    with pytest.raises(ValueError, match="not one that maxmargin wrote"):
        read(path)


def test_a_newer_format(path):
    # Its kind and layout may mean anything, so the version is what the error is about.
    save_file({}, path, {"maxmargin": json.dumps({"format": 2, "kind": "hologram", "new": []})})
    with pytest.raises(
        ValueError, match="written by a newer maxmargin: format 2, this one reads up to 1"
    ):
        read(path, kind="model")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "{}", '{"format": "new", "kind": "model"}', '{"format": 1, "kind": "model"}',
     '{"format": 0, "kind": "model", "meta": {}}', '{"format": 1, "kind": "model", "meta": []}',
     '{"format": 1, "kind": "model", "meta": {}, "csr": {"X": [1, 1, "csr_array"]}}',
     '{"format": 1, "kind": "model", "meta": {}, "csr": {"X": [1, 1, "eval"]}}',
     '{"format": 1, "kind": "model", "meta": ' + "[" * 100_000 + "]" * 100_000 + "}"],
    ids=range(11),
)  # fmt: skip
def test_damaged_headers(path, text):
    save_file({}, path, {"maxmargin": text})
    with pytest.raises(ValueError, match="damaged maxmargin file"):
        read(path)


def test_wrong_kind(path):
    write(path, "checkpoint", {}, {})
    with pytest.raises(ValueError, match="holds a checkpoint, but a model is expected"):
        read(path, kind="model")
    assert read(path, kind="checkpoint").kind == "checkpoint"


def test_places_that_hold_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.mm")
    with pytest.raises(IsADirectoryError):
        read(tmp_path)
    with pytest.raises(IsADirectoryError):
        write(tmp_path, "model", {}, {})
    with pytest.raises(FileNotFoundError, match="absent"):
        write(tmp_path / "absent" / "m.mm", "model", {}, {})
    with pytest.raises(ValueError, match="not a regular file"):
        write("/dev/null", "model", {}, {})
    with pytest.raises(ValueError, match="not a regular file"):
        read("/dev/null")
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------- atomic writing


@pytest.mark.parametrize(
    ("meta", "arrays", "error"),
    [
        ({"when": datetime.date(2020, 1, 1)}, {}, TypeError),
        ({}, {"w": [1.0, 2.0]}, TypeError),
        ({}, {"w": np.array(["a"])}, TypeError),
        ({}, {"w": np.zeros(2, dtype=complex)}, TypeError),
        ({}, {"w": scipy.sparse.csc_array(np.eye(2))}, TypeError),
        ({}, {"maxmargin.meta": np.zeros(2)}, ValueError),
        ({}, {"__metadata__": np.zeros(2)}, ValueError),
        ({}, {"X": scipy.sparse.csr_array(np.eye(2)), "X.data": np.zeros(1)}, ValueError),
    ],
)
def test_what_cannot_be_stored_leaves_the_old_file(path, meta, arrays, error):
    write(path, "model", {"old": True}, {})
    with pytest.raises(error):
        write(path, "model", meta, arrays)
    assert read(path).meta == {"old": True}
    assert os.listdir(path.parent) == ["model.mm"]


@pytest.mark.parametrize("stage", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk gone"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_the_old_file(path, monkeypatch, stage, error):
    write(path, "model", {"old": True}, {})

    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, stage, fail)
        with pytest.raises(type(error)):
            write(path, "model", {"old": False}, ARRAYS)
    assert read(path).meta == {"old": True}
    assert os.listdir(path.parent) == ["model.mm"]


def test_a_full_disk_is_an_os_error_and_leaves_nothing(path):
    # A limit on the size of files stands in for the disk; it would bind pytest too, hence a child.
    code = (
        "import resource, sys, numpy as np\n"
        "from maxmargin.persistence import write\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: write(sys.argv[1], 'model', {}, {'w': np.zeros(1_000_000)})\n"
        "except OSError as error: print('OSError', error)\n"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] in (resource.RLIM_INFINITY, -1)
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("OSError")
    assert "model.mm" in done.stdout
    assert os.listdir(path.parent) == []


def test_the_file_is_synced_before_it_takes_its_name(path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("replace"), replace(a, b)))
    write(path, "model", {}, {})
    assert calls[:2] == ["fsync", "replace"]


def test_permissions_follow_the_umask_or_the_old_file(path):
    old = os.umask(0o027)
    try:
        write(path, "model", {}, {})
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    write(path, "model", {}, {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


KILLED = """
import os, signal, sys
import numpy as np
from maxmargin.persistence import write
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
write(sys.argv[1], "model", {}, {"w": np.zeros(1000)})
"""


def test_what_a_killed_save_left_is_removed_by_the_next(path):
    write(path, "model", {"old": True}, {})
    done = subprocess.run([sys.executable, "-B", "-c", KILLED, path])
    assert done.returncode != 0
    left = [name for name in os.listdir(path.parent) if name.endswith(".tmp")]
    assert len(left) == 1
    assert read(path).meta == {"old": True}
    write(path, "model", {"old": False}, {})
    assert os.listdir(path.parent) == ["model.mm"]


def test_a_save_that_runs_and_files_of_others_are_left_alone(path):
    others = [
        ".model.mm.notes.tmp", ".other.mm.0123456789abcdef.tmp", "model.mm.0123456789abcdef.tmp",
    ]  # fmt: skip
    for name in others:
        (path.parent / name).write_text("not ours")
    with replacing(path) as file:
        file.write(b"half")
        write(path, "model", {"of": "another"}, {})
        running = [name for name in os.listdir(path.parent) if name.startswith(".model.mm")]
        assert len(running) == 2
    assert path.read_bytes() == b"half"
    assert sorted(os.listdir(path.parent)) == sorted([*others, "model.mm"])


def test_without_locks_only_old_files_are_left_overs(path, monkeypatch):
    monkeypatch.setattr(replacing_module, "_LOCKS", None)
    left = path.parent / ".model.mm.0123456789abcdef.tmp"
    left.write_text("half")
    write(path, "model", {}, {})
    assert left.exists()
    os.utime(left, (0, 0))
    write(path, "model", {}, {})
    assert os.listdir(path.parent) == ["model.mm"]


def test_a_left_over_that_is_a_link_is_not_followed(path, tmp_path):
    target = tmp_path / "precious"
    target.write_text("keep")
    (tmp_path / ".model.mm.0123456789abcdef.tmp").symlink_to(target)
    write(path, "model", {}, {})
    assert target.read_text() == "keep"


def test_a_link_stays_a_link(path, tmp_path):
    write(path, "model", {"n": 1}, {})
    link = tmp_path / "latest.mm"
    link.symlink_to(path.name)
    write(link, "model", {"n": 2}, {})
    assert link.is_symlink()
    assert read(path).meta == {"n": 2}


def test_the_file_is_plain_safetensors(path):
    write(path, "model", {}, {"w": np.arange(3.0)})
    np.testing.assert_array_equal(load_file(path)["w"], [0, 1, 2])


# ---------------------------------------------------------------- estimators


class Mean:
    def __init__(self, power=1):
        self.power = power

    def to_state(self):
        return {"params": {"power": self.power}, "classes": self.classes}, {"w": self.w}

    @classmethod
    def from_state(cls, meta, arrays):
        self = cls(**meta["params"])
        self.classes, self.w = meta["classes"], arrays["w"]
        return self


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(persistence.registry, "ESTIMATORS", {})
    return persistence.registry.ESTIMATORS


def test_estimators_come_back(path, registry):
    assert register(Mean) is Mean
    assert register(Mean) is Mean
    assert registry == {"Mean": Mean}
    model = Mean(power=np.int64(2))
    model.classes, model.w = np.array(["a", "b"]), np.arange(3.0)
    persistence.save_estimator(path, model)
    again, _ = persistence.read_estimator(path)
    assert type(again) is Mean
    assert same(vars(again), vars(model))


def test_registry_refusals(path, registry):
    with pytest.raises(TypeError, match="no method to_state"):
        register(type("Empty", (), {}))
    with pytest.raises(TypeError, match="Mean is not registered"):
        persistence.save_estimator(path, Mean())
    register(Mean)
    twin = type("Mean", (Mean,), {"__module__": "elsewhere"})
    with pytest.raises(ValueError, match="already registered by"):
        register(twin)
    with pytest.raises(ValueError, match=r"no estimator called 'Median' here. Known: Mean"):
        persistence.estimator_class("Median")
    write(path, "model", {"estimator": "Mean"}, {})
    with pytest.raises(ValueError, match="names no estimator"):
        persistence.read_estimator(path)
    write(path, "checkpoint", {}, {})
    with pytest.raises(ValueError, match="a model is expected"):
        persistence.read_estimator(path)


# ---------------------------------------------------------------- random generators


@pytest.mark.parametrize("bits", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
@pytest.mark.parametrize("face", [np.random.Generator, np.random.RandomState])
def test_a_restored_generator_draws_on(path, bits, face):
    rng = face(getattr(np.random, bits)(7))
    rng.standard_normal(3)  # an odd number: RandomState keeps the second of each pair
    if face is np.random.Generator:
        rng.integers(10, dtype=np.uint32)  # half of a 64 bit draw is kept for the next
    write(path, "checkpoint", {"rng": rng_state(rng)}, {})
    twin = restore_rng(read(path).meta["rng"])
    assert type(twin) is face
    for _ in range(3):
        np.testing.assert_array_equal(twin.standard_normal(5), rng.standard_normal(5))
        np.testing.assert_array_equal(twin.permutation(9), rng.permutation(9))


def test_rng_refusals():
    with pytest.raises(TypeError, match="got int"):
        rng_state(3)
    good = rng_state(np.random.default_rng(0))
    for bad in ({}, {**good, "bit_generator": "Dice"}, {**good, "rng": "os"}, {**good, "state": 3}):
        with pytest.raises(ValueError, match="not one that rng_state returned"):
            restore_rng(bad)
