"""The library that is built ahead: that it gives the same bits, and when it is not used."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from maxmargin.cli.kinds import KINDS
from maxmargin.core.ahead import Library, changed_files, library, load
from maxmargin.core.ahead.load import LEVELS
from maxmargin.core.erase import entries_of
from maxmargin.structures import STRUCTURES
from maxmargin.testing import tiny_problem

#: No folder can be made there, so that there is no cache.
NOWHERE = os.path.join(os.devnull, "none")
HERE = Path(__file__).resolve().parents[2]


def host_level():
    own = load._host_features()
    return next((level for level in LEVELS if all(own.get(name) for name in LEVELS[level])), None)


LEVEL = host_level()
pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT)
    or LEVEL is None
    or not sys.platform.startswith("linux")
    or platform.machine() != "x86_64",
    reason="libraries are for Linux on x86-64",
)
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="cc links libraries")


def case(*arguments, **settings):
    """Run ahead_case.py in a process that compiles for the level of the library."""
    own = {"NUMBA_CPU_NAME": LEVEL, "NUMBA_CPU_FEATURES": "", "MAXMARGIN_LIBRARY": "1"}
    command = [sys.executable, "-m", "tests.core.ahead_case", *map(str, arguments)]
    environment = os.environ | own | {name: str(value) for name, value in settings.items()}
    done = subprocess.run(
        command, cwd=HERE, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the folder of a library of one small fit, and what that fit gave."""
    folder = tmp_path_factory.mktemp("library")
    return folder, case("build", folder, LEVEL, MAXMARGIN_LIBRARY=0, NUMBA_CACHE_DIR=NOWHERE)[
        "found"
    ]


@pytest.fixture
def folder(built, tmp_path):
    """Return a copy of the library, to be spoilt."""
    for file in built[0].iterdir():
        shutil.copy2(file, tmp_path)
    return tmp_path


def manifest(folder, **changes):
    path = folder / f"{LEVEL}.json"
    content = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(content))
    return content


# -- the same bits ---------------------------------------------------------------------------------


@needs_cc
def test_nothing_is_compiled_and_no_bit_differs(built):
    used = case("use", built[0], "erased", NUMBA_CACHE_DIR=NOWHERE)
    assert used["level"] == LEVEL
    assert used["compiled"] == used["others"] == []
    typed = case("use", "", "typed", MAXMARGIN_LIBRARY=0)
    assert built[1] == used["found"] == typed["found"]


@needs_cc
def test_what_the_library_lacks_is_compiled(built):
    """Passes come from the library, and call what was compiled for another structure."""
    used = case("use", built[0], "erased", "multiclass", "multilabel")
    other = case("use", "", "erased", "multilabel", MAXMARGIN_LIBRARY=0)
    assert "maximize" in used["others"] and "predict_examples" not in used["others"]
    assert used["found"]["multiclass"] == built[1]["multiclass"]
    assert used["found"]["multilabel"] == other["found"]["multilabel"]


def test_every_kind_of_the_command_line_is_built():
    place = importlib.util.spec_from_file_location("core_tool", HERE / "tools" / "core.py")
    tool = importlib.util.module_from_spec(place)
    place.loader.exec_module(tool)
    assert set(KINDS) <= set(tool.CASES)


@pytest.mark.skipif(not load.FOLDER.exists(), reason="make core has not been run")
def test_the_library_of_the_package_gives_the_same_bits():
    assert library().level, library().reason
    own = {"NUMBA_CPU_NAME": library().level, "MAXMARGIN_LIBRARY": 1}
    used = case("use", "", "erased", *STRUCTURES, **own)
    own |= {"MAXMARGIN_LIBRARY": 0}
    erased = case("use", "", "erased", *STRUCTURES, **own)
    assert used["level"] and used["found"] == erased["found"]
    assert used["found"] == case("use", "", "typed", *STRUCTURES, **own)["found"]


@needs_cc
def test_it_names_no_folder_of_the_machine_it_was_built_on(built):
    from maxmargin.core.ahead.emit import BuildError, _below_a_folder, _check_folders

    for file in built[0].iterdir():
        content = file.read_bytes()
        for folder in (HERE, load.FOLDER.parents[1], sys.prefix):
            assert os.fsencode(folder) not in content, file.name
    assert _below_a_folder(load.__file__) == "maxmargin/core/ahead/load.py"
    assert _below_a_folder("/nowhere/at/all.py") == "all.py"
    spoilt = built[0] / "spoilt"
    spoilt.write_bytes(b"..." + os.fsencode(load.__file__))
    with pytest.raises(BuildError, match="a folder of this machine"):
        _check_folders(spoilt)
    spoilt.unlink()


# -- when it is not used ---------------------------------------------------------------------------


def test_there_is_none(tmp_path):
    found = Library(tmp_path / "nowhere")
    assert (found.level, found.reason, len(found)) == ("", "none was built", 0)


@needs_cc
def test_it_is_loaded(folder):
    found = Library(folder)
    assert (found.level, found.reason) == (LEVEL, "")
    symbol, (stamp, result) = next(iter(manifest(folder)["entries"].items()))
    entry = found.find(symbol, stamp)
    assert entry.address != 0 and entry.result == result
    assert found.find(symbol, stamp[::-1]) is None  # the source has changed
    assert found.find(symbol, "") is None  # the source cannot be told
    assert found.find("mm_other", stamp) is None


@needs_cc
def test_an_entry_with_an_older_stamp_is_compiled(built, folder):
    entries = manifest(folder)["entries"]
    older = {symbol for symbol in entries if "_maximize_" in symbol}
    assert older
    manifest(folder, entries=entries | {name: ["0" * 64, entries[name][1]] for name in older})
    used = case("use", folder, "erased")
    assert used["level"] == LEVEL and used["others"] == ["maximize"]
    assert used["found"] == built[1]


@needs_cc
def test_changed_files_are_named(folder):
    files = Library(folder).files
    assert "structures/classes/data.py" in files and "structures/chain/data.py" not in files
    assert changed_files(files) == []
    assert changed_files(files | {"core/gone.py": "1"}) == ["core/gone.py"]


@needs_cc
def test_a_file_that_was_cut_off_is_not_loaded(folder):
    path = folder / f"{LEVEL}.so"
    path.write_bytes(path.read_bytes()[:5000])
    assert "not the file" in Library(folder).reason
    path.unlink()
    assert "cannot be loaded" in Library(folder).reason


@needs_cc
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format": 0}, "another version"),
        ({"convention": "numba 0.1"}, "built with numba 0.1"),
        ({"helpers": ["numba_no_such_thing"]}, "no function numba_no_such_thing"),
        ({"entries": None}, "damaged"),
        ({"helpers": 3}, "damaged"),
    ],
)
def test_a_manifest_that_does_not_fit(folder, changes, reason):
    manifest(folder, **changes)
    assert reason in Library(folder).reason


@needs_cc
def test_a_manifest_that_is_none(folder):
    (folder / f"{LEVEL}.json").write_text("{")
    assert "cannot be read" in Library(folder).reason


@needs_cc
def test_what_others_can_write_is_not_loaded(folder):
    folder.chmod(0o777)
    assert "others" in Library(folder).reason
    folder.chmod(0o755)
    (folder / f"{LEVEL}.so").chmod(0o666)
    assert "others" in Library(folder).reason


@needs_cc
def test_a_processor_without_avx2_gets_the_lower_level(folder):
    for end in ("json", "so"):
        for level in set(LEVELS) - {LEVEL}:
            shutil.copy2(folder / f"{LEVEL}.{end}", folder / f"{level}.{end}")

    def features(without=()):
        return lambda: {name: name not in without for name in LEVELS["x86-64-v3"]}

    assert Library(folder, features()).level == "x86-64-v3"
    assert Library(folder, features({"avx2"})).level == "x86-64-v2"
    oldest = Library(folder, features({"avx2", "popcnt"}))
    assert oldest.level == "" and "none for this processor" in oldest.reason


@needs_cc
def test_it_is_not_used_where_other_code_is_asked_for(folder, monkeypatch):
    monkeypatch.setattr(numba.config, "CPU_NAME", "x86-64")
    assert "none for this processor" in Library(folder).reason
    monkeypatch.setattr(numba.config, "CPU_NAME", None)
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert "NUMBA_BOUNDSCHECK" in Library(folder).reason
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", None)
    monkeypatch.setenv("MAXMARGIN_LIBRARY", "0")
    assert "MAXMARGIN_LIBRARY" in Library(folder).reason


@needs_cc
def test_a_type_that_shadows_ours_gets_none_of_our_code(built, monkeypatch):
    monkeypatch.setattr(load, "_LOADED", [Library(built[0])])
    view = tiny_problem("multiclass").view
    ours = type(view.data)
    shadow = type(ours.__name__, (ours,), {"__module__": ours.__module__, "__slots__": ()})
    shadow.__qualname__ = ours.__qualname__
    entry, kind = entries_of(view.data, view.cost)[0]
    other = _retyped(kind, ours, shadow)
    assert entry.find_built(kind) is not None
    assert entry.symbol(other) == entry.symbol(kind) and other != kind
    assert entry.find_built(other) is None


def _retyped(kind, ours, other):
    """Return a type with another class in the place of ours."""
    from maxmargin.core.erase.native import Address

    if isinstance(kind, Address):
        return Address(_retyped(kind.inner, ours, other))
    if isinstance(kind, numba.types.BaseTuple):
        own = getattr(kind, "instance_class", None)
        items = [_retyped(item, ours, other) for item in kind.types]
        return numba.types.BaseTuple.from_types(items, other if own is ours else own)
    return kind


@needs_cc
def test_an_implementation_in_the_place_of_ours_is_used(built, tmp_path):
    """The stamp names the implementations that are chosen."""
    module = tmp_path / "elsewhere.py"
    module.write_text(
        """
from maxmargin.core.contract import implements, maximize
from maxmargin.testing import tiny_problem
view = tiny_problem("multiclass").view

@implements(maximize, type(view.data), type(view.cost))
def first(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    outputs[at] = 0

from tests.core.ahead_case import main
import sys
main(*sys.argv[1:])
"""
    )
    own = {"NUMBA_CPU_NAME": LEVEL, "NUMBA_CPU_FEATURES": "", "MAXMARGIN_LIBRARY": "1"}
    done = subprocess.run(
        [sys.executable, str(module), "use", str(built[0]), "erased"],
        cwd=HERE,
        env=os.environ
        | own
        | {"PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["others"] == ["maximize"]
    assert found["found"] != built[1]
