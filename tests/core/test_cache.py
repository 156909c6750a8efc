"""The traps of compiling with a cache, each walked into, in new processes and a tiny package."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numba
import pytest

from tests.core.tiny_package import TINY, Tiny, assert_compiled, assert_loaded, elsewhere

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@pytest.fixture
def tiny(tmp_path):
    return Tiny(tmp_path)


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A tiny package whose pass was compiled and saved by a first process, to be copied."""
    tiny = Tiny(tmp_path_factory.mktemp("warm"))
    for kind, expected in (("own", 201.0), ("theirs", 12.0), ("uniform", -2.0)):
        first = tiny.run(kind)
        assert first["result"] == first["python"] == expected
        assert (first["hits"], first["misses"]) == (0, 1)
    assert len(tiny.entries()) == 3
    return tiny.root


@pytest.fixture
def warmed(warm, tmp_path):
    """A copy of the warm package, which also shows that an installation moves with its cache."""
    shutil.copytree(warm, tmp_path / "copy")
    tiny = Tiny.__new__(Tiny)
    tiny.root = tmp_path / "copy"
    return tiny


# --- Served from the cache, and never stale


@pytest.mark.parametrize(
    ("kind", "result"),
    [("own", 201.0), pytest.param("uniform", -2.0, id="all fields of one type"), ("theirs", 12.0)],
)
def test_a_second_process_compiles_nothing(warmed, kind, result):
    assert_loaded(warmed.run(kind), result)


@pytest.mark.parametrize(
    ("file", "old", "new", "kind", "result"),
    [
        ("maxmargin/structures/own.py", "+ data.n", "- data.n", "own", -199.0),
        ("maxmargin/attic/leaf.py", "x[i]", "x[i] + 0.5", "own", 202.0),
        ("user/parts.py", "10 *", "20 *", "theirs", 22.0),
        # Same type of every field, hence the same numba type by name and layout.
        (
            "user/types.py",
            "plus: float\n    minus: float",
            "minus: float\n    plus: float",
            "theirs",
            0.0,
        ),
    ],
    ids=[
        "implementation",
        "kernel it calls, in a new room",
        "user's implementation",
        "user's class",
    ],
)
def test_changed_source_is_compiled_anew(warmed, file, old, new, kind, result):
    warmed.edit(file, old, new)
    answer = warmed.run(kind)
    assert answer["python"] == result
    assert_compiled(answer, result)


def test_a_change_overwrites_its_entry_and_leaves_the_others(warmed):
    before = warmed.entries()
    warmed.edit("user/parts.py", "10 *", "20 *")
    assert_compiled(warmed.run("theirs"), 22.0)
    assert warmed.entries() == before
    assert_loaded(warmed.run("own"), 201.0)


def test_another_processor_has_entries_of_its_own(warmed):
    before = warmed.entries()
    other = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert_compiled(warmed.run("own", **other), 201.0)
    assert len(warmed.entries()) == len(before) + 1 and set(before) < set(warmed.entries())
    assert_loaded(warmed.run("own", **other), 201.0)
    assert_loaded(warmed.run("own"), 201.0)


def test_cache_works_after_a_users_package_is_gone(warmed):
    shutil.rmtree(warmed.root / "user")
    assert_loaded(warmed.run("own"), 201.0)


def test_an_edit_leaves_warm_what_does_not_use_it(warmed):
    warmed.edit("maxmargin/structures/far.py", "0.0", "1.0")
    warmed.edit("user/parts.py", "10 *", "20 *")
    assert_loaded(warmed.run("own", before="import user.parts"), 201.0)


def test_an_implementation_in_another_package_counts(warmed):
    # `elsewhere` overrides the value of a type of `user`, and is no part of it.
    warmed.write("elsewhere.py", elsewhere("user.types", "Theirs", 7.0))
    assert_compiled(warmed.run("theirs", before="import elsewhere"), 14.0)
    warmed.write("elsewhere.py", elsewhere("user.types", "Theirs", 8.0))
    assert_compiled(warmed.run("theirs", before="import elsewhere"), 16.0)


def test_an_implementation_that_comes_too_late_is_not_saved(tiny):
    # numba goes on with the implementation that it has compiled, for a new function too.
    before = (
        "compiled(walk)(data, order); import elsewhere\n"
        "import maxmargin.solvers.again as again; walk = again.walk"
    )
    tiny.write("elsewhere.py", elsewhere("maxmargin.structures.own", "Own", 7.0))
    again = TINY["maxmargin/solvers/walk.py"]
    tiny.write("maxmargin/solvers/again.py", again)
    answer = tiny.run("own", before=before)
    assert (answer["result"], answer["python"]) == (201.0, 14.0)
    assert list(tiny.root.glob("**/again.walk-*.nbc")) == []


def test_a_value_set_by_a_program_is_not_served_from_another(warmed):
    before = "import maxmargin.attic.deep; maxmargin.attic.deep.SCALE = 3.0"
    assert_compiled(warmed.run("own", before=before), 203.0)
    assert_compiled(warmed.run("own"), 201.0)


def test_a_value_set_after_compiling_is_not_saved(tiny):
    before = "compiled(walk)(data, order); import maxmargin.attic.deep as deep; deep.SCALE = 3.0"
    tiny.run("own", [0, 1], before=before + "; order = order.astype('int32')")
    assert len(tiny.entries()) == 1  # the second has the code of the first, and the value of now


def test_overloads_by_numba_in_a_users_package_count(tiny):
    tiny.write(
        "user/raw.py",
        "from numba.extending import overload\nfrom user.chosen import CHOSEN\n"
        "def raw(x):\n    return CHOSEN['raw'](x)\n"
        "@overload(raw)\ndef _raw(x):\n    return CHOSEN['raw']\n",
    )
    tiny.write("user/chosen.py", "def once(x):\n    return x\nCHOSEN = {'raw': once}\n")
    parts = TINY["user/parts.py"].replace("10 *", "10 * raw(1.0) *")
    tiny.write("user/parts.py", "from user.raw import raw\n" + parts)
    assert_compiled(tiny.run("theirs"), 12.0)
    assert_loaded(tiny.run("theirs"), 12.0)
    tiny.write("user/chosen.py", "def once(x):\n    return 2 * x\nCHOSEN = {'raw': once}\n")
    assert_compiled(tiny.run("theirs"), 22.0)


def test_code_that_no_name_leads_to_is_not_saved(tiny):
    # The table of a user's overload has a function of a package that nothing mentions.
    tiny.write("hidden.py", "import user.raw\ndef once(x):\n    return x\nuser.raw.C['raw'] = once")
    tiny.write(
        "user/raw.py",
        "from numba.extending import overload\nC = {}\n"
        "def raw(x):\n    return C['raw'](x)\n"
        "@overload(raw)\ndef _raw(x):\n    return C['raw']\n",
    )
    parts = TINY["user/parts.py"].replace("10 *", "10 * raw(1.0) *")
    tiny.write("user/parts.py", "from user.raw import raw\n" + parts)
    answer = tiny.run("theirs", before="import hidden", flags=["-W", "always"])
    assert_compiled(answer, 12.0)
    assert "hidden.py was compiled, but named nowhere" in tiny.stderr
    assert tiny.entries() == []


def test_two_processes_that_compile_at_once_leave_one_good_entry(tiny):
    both = [tiny.start("own"), tiny.start("own")]
    assert [tiny.report(process)["result"] for process in both] == [201.0, 201.0]
    assert len(tiny.entries()) == 1
    assert_loaded(tiny.run("own"), 201.0)


def test_source_edited_while_running_is_not_saved(tiny):
    # The process runs the old text; a hash of the new one would pass its code off as current.
    edit = (
        "from maxmargin.structures import own; text = open(own.__file__).read();"
        "open(own.__file__, 'w').write(text.replace('+ data.n', '- data.n'))"
    )
    assert_compiled(tiny.run("own", before=edit), 201.0)
    assert tiny.entries() == []
    assert_compiled(tiny.run("own"), -199.0)


def test_a_damaged_entry_is_replaced(warmed):
    for path in warmed.entries():
        path.write_bytes(path.read_bytes()[:1000])
    answer = warmed.run("own", flags=["-W", "always"])
    assert_compiled(answer, 201.0)
    assert warmed.stderr.count("RuntimeWarning: The cache of compiled code could not be read") == 1
    assert_loaded(warmed.run("own"), 201.0)


# --- Bounds


def test_boundscheck_checks_despite_a_warm_cache(warmed):
    assert warmed.run("own", [5], NUMBA_BOUNDSCHECK="1")["result"] == "IndexError"
    assert_loaded(warmed.run("own", [5]), 105.0)  # unchecked: memory behind the array


def test_boundscheck_does_not_poison_a_cold_cache(tiny):
    assert tiny.run("own", [5], NUMBA_BOUNDSCHECK="1")["result"] == "IndexError"
    assert_compiled(tiny.run("own", [5]), 105.0)
    checked = tiny.run("own", [5], NUMBA_BOUNDSCHECK="1")
    assert (checked["result"], checked["hits"]) == ("IndexError", 1)


# --- Only what nobody else can have written

PLANT = """
import pickle, sys
class Planted:
    def __reduce__(self):
        return open, (sys.argv[2], "w")
for path in sys.argv[3:]:
    stamp = open(path, "rb").readline()
    open(path, "wb").write(stamp + pickle.dumps(Planted()))
"""


def plant(tiny):
    """Put code into all entries of the cache; return the file that it makes where it runs."""
    mark = tiny.root / "it ran"
    command = [sys.executable, "-c", PLANT, "-", mark, *tiny.root.glob("**/*.nbc")]
    subprocess.run(command, check=True)
    return mark


@pytest.mark.parametrize("opened", ["file", "folder"])
def test_an_entry_that_others_can_write_never_runs(warmed, opened):
    mark = plant(warmed)
    for entry in warmed.root.glob("**/*.nbc"):
        (entry if opened == "file" else entry.parent).chmod(0o777)
    home = str(warmed.root / "home")
    answer = warmed.run("own", flags=("-W", "ignore"), XDG_CACHE_HOME=home, LOCALAPPDATA=home)
    assert_compiled(answer, 201.0)
    assert not mark.exists()
    assert (answer["path"].startswith(home)) == (opened == "folder")


def test_what_was_planted_would_run_if_it_were_ours(warmed):
    """The test above can fail."""
    mark = plant(warmed)
    warmed.run("own", flags=("-W", "ignore"))
    assert mark.exists()


def test_without_a_safe_folder_nothing_is_cached(tiny):
    for folder in ("solvers", "inference"):
        tiny.write(f"maxmargin/{folder}/__pycache__/x", "")
        (tiny.root / f"maxmargin/{folder}/__pycache__").chmod(0o777)
    before = "import os; assert not os.path.exists('~')"
    code = "import os.path; os.path.expanduser = lambda path: path"
    tiny.write("sitecustomize.py", code)  # no HOME, and a user whom the system does not know
    answer = tiny.run("own", before=before, flags=("-W", "ignore"), XDG_CACHE_HOME="")
    assert_compiled(answer, 201.0)
    assert answer["path"] is None
    assert tiny.entries() == []
    assert not (tiny.root / "~").exists()


# --- No cache, no compiler


def test_nowhere_to_write_compiles_uncached(tiny):
    # A file where a folder should be stops even root, whom permissions do not.
    for folder in ("solvers", "inference"):
        tiny.write(f"maxmargin/{folder}/__pycache__", "")
    tiny.write("home", "")
    home = str(tiny.root / "home")
    answer = tiny.run("own", HOME=home, XDG_CACHE_HOME=home, LOCALAPPDATA=home)
    assert_compiled(answer, 201.0)
    assert answer["path"] is None
    assert tiny.entries() == []


#: Permissions do not stop root, so the folder beside the source refuses as such a disk does.
READ_ONLY = """
from maxmargin.core.cache import _Locator
ensure = _Locator.ensure_cache_path
def refuse(self):
    if self._cache_path.endswith("__pycache__"):
        raise OSError(30, "Read-only file system")
    ensure(self)
_Locator.ensure_cache_path = refuse
"""


def test_a_read_only_cache_serves_and_what_is_new_goes_to_the_users_folder(warmed):
    home = str(warmed.root / "home")
    env = {"XDG_CACHE_HOME": home, "LOCALAPPDATA": home}
    assert_loaded(warmed.run("own", before=READ_ONLY, **env), 201.0)
    before = warmed.entries()
    warmed.edit("maxmargin/attic/leaf.py", "x[i]", "x[i] + 0.5")
    answer = warmed.run("own", before=READ_ONLY, **env)
    assert_compiled(answer, 202.0)
    assert answer["path"].startswith(home)
    new = set(warmed.entries()) - set(before)
    assert len(new) == 1 and str(new.pop()).startswith(home)
    assert_loaded(warmed.run("own", before=READ_ONLY, **env), 202.0)


def test_a_bad_entry_that_cannot_be_replaced_does_not_hide_a_good_one(warmed):
    home = str(warmed.root / "home")
    env = {"XDG_CACHE_HOME": home, "LOCALAPPDATA": home, "flags": ("-W", "ignore")}
    for entry in warmed.entries():
        entry.write_bytes(entry.read_bytes()[:200])
    assert_compiled(warmed.run("own", before=READ_ONLY, **env), 201.0)
    assert_loaded(warmed.run("own", before=READ_ONLY, **env), 201.0)


def test_a_read_only_cache_serves_where_nothing_can_be_written(warmed):
    warmed.write("home", "")
    home = str(warmed.root / "home")
    env = {"HOME": home, "XDG_CACHE_HOME": home, "LOCALAPPDATA": home}
    assert_loaded(warmed.run("own", before=READ_ONLY, **env), 201.0)
    entries = [(entry, entry.read_bytes()) for entry in warmed.entries()]
    warmed.edit("maxmargin/attic/leaf.py", "x[i]", "x[i] + 0.5")
    answer = warmed.run("own", before=READ_ONLY, **env)
    assert_compiled(answer, 202.0)
    assert answer["path"] is None
    assert [(entry, entry.read_bytes()) for entry in warmed.entries()] == entries


def test_disabled_jit_gives_plain_functions(tiny):
    before = (
        "from maxmargin.attic.leaf import leaf; from types import FunctionType;"
        "assert type(leaf) is FunctionType; assert compiled(walk) is walk"
    )
    assert tiny.run("own", before=before, NUMBA_DISABLE_JIT="1")["result"] == 201.0
    assert tiny.entries() == []
