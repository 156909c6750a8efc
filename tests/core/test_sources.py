"""What compiled code is made of: what makes a stamp another one, and what leaves it as it is."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from maxmargin.core import files as _files
from maxmargin.core import sources as _sources
from maxmargin.core.compile import jitable, kernel
from maxmargin.core.dispatch import (
    belongs,
    generic,
    generic_on_two,
    generic_with_default,
    implements,
)
from maxmargin.core.files import short_name
from maxmargin.core.problem import evaluate
from maxmargin.core.sources import UntraceableError, sources
from maxmargin.structures import STRUCTURES
from maxmargin.testing.tiny import tiny_problem
from tests.core.tiny_package import Tiny, elsewhere

# --- Edits, in new processes and a tiny package


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return Tiny(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def stamps(tiny):
    return tiny.stamps()


def test_a_stamp_is_the_same_in_every_process(tiny, stamps):
    assert tiny.stamps() == stamps
    assert len(set(stamps.values())) == 3
    assert all(len(stamp) == 64 for stamp in stamps.values())


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("maxmargin/attic/deep.py", "x *", "2 * x *", ["own"]),
        ("maxmargin/attic/constants.py", "SCALE = 1.0", "SCALE = 3.0", ["own"]),
        ("maxmargin/attic/constants.py", "LIMIT = 0.0", "LIMIT = 0.5", ["own"]),
        ("maxmargin/attic/constants.py", "LIMIT = 0.0", "LIMIT = 0", ["own"]),
        ("maxmargin/attic/constants.py", "\nSCALE", "\nUNUSED = 2\nSCALE", []),
        ("maxmargin/attic/middle.py", "more=0.0", "more=0.5", ["own"]),
        ("maxmargin/attic/inline.py", "True", "False", ["own"]),
        ("maxmargin/attic/inline.py", "\nfrom", "\n# A remark.\nfrom", []),
        ("maxmargin/attic/chosen.py", "middle as", "other as", ["own"]),
        ("maxmargin/core/contract.py", "return 0.0", "return 2.0", ["own", "uniform", "theirs"]),
        ("maxmargin/core/contract.py", "x: x +", "x: 0.0 + x +", ["own", "uniform", "theirs"]),
        ("maxmargin/structures/own.py", "+ data.n", "- data.n", ["own", "uniform"]),
        ("maxmargin/structures/far.py", "0.0", "1.0", []),
        ("maxmargin/solvers/walk.py", "0.0", "1.0", ["own", "uniform", "theirs"]),
        ("user/parts.py", "10 *", "20 *", ["theirs"]),
        ("user/types.py", "minus", "less", ["theirs"]),
        ("user/__init__.py", "", "# A remark.", ["theirs"]),
    ],
    ids=[
        "callee three calls deep",
        "constant imported by name",
        "constant of a module",
        "type of a constant",
        "another constant of the module",
        "default argument of what is inlined",
        "option of what is inlined",
        "remark where the option is set",
        "name in between",
        "default of a generic function",
        "what chooses an overload",
        "implementation",
        "another structure",
        "the pass",
        "user's implementation",
        "user's class",
        "user's package",
    ],
)
def test_an_edit_changes_the_stamps_of_what_uses_it(tiny, stamps, file, old, new, changed):
    tiny.edit(file, old, new)
    try:
        now = tiny.stamps()
        assert [kind for kind in stamps if now[kind] != stamps[kind]] == changed
    finally:
        tiny.edit(file, old, old)


@pytest.mark.parametrize(
    ("function", "module", "cls", "kind"),
    [
        ("value", "maxmargin.structures.own", "Own", "own"),
        ("bonus", "maxmargin.structures.own", "Own", "own"),
        ("value", "user.types", "Theirs", "theirs"),
        ("bonus", "maxmargin.structures.far", "Far", None),
    ],
    ids=["of ours", "in the place of a default", "of a user's", "of what is not met"],
)
def test_a_registration_by_another_file_counts(tiny, stamps, function, module, cls, kind):
    tiny.write("elsewhere.py", elsewhere(module, cls, 7.0, function))
    now = tiny.stamps("import elsewhere")
    assert [known for known in stamps if now[known] != stamps[known]] == [kind][: kind is not None]
    tiny.write("elsewhere.py", elsewhere(module, cls, 8.0, function))
    later = tiny.stamps("import elsewhere")
    assert [known for known in stamps if later[known] != now[known]] == [kind][: kind is not None]


def test_a_file_that_is_gone_is_not_vouched_for(tiny):
    before = "import os, maxmargin.attic.deep as deep; os.remove(deep.__file__)"
    try:
        now = tiny.stamps(before)
        assert "deep.py" in now["own"] or "at a prompt" in now["own"]
        assert len(now["uniform"]) == 64
    finally:
        tiny.edit("maxmargin/attic/deep.py", "x", "x")


def test_a_file_that_was_edited_while_running_is_not_vouched_for(tiny):
    before = "import maxmargin.attic.deep as deep; open(deep.__file__, 'a').write('# A remark.')"
    try:
        now = tiny.stamps(before)
        assert "edited since this process started" in now["own"]
        assert len(now["uniform"]) == 64
    finally:
        tiny.edit("maxmargin/attic/deep.py", "x", "x")


# --- Our own kernels


def classes_in(value, found):
    if isinstance(value, tuple):
        found |= {type(value)} if hasattr(value, "_fields") else set()
        for item in value:
            classes_in(item, found)
    return found


#: Rooms of other structures that one is made of: a label of a hierarchy is one of a list, as a
#: class is, and edge fields are graphs.
MADE_OF = {"hierarchy": {"classes"}, "graph_paths": {"graph"}}


@pytest.mark.parametrize("name", [name for name in STRUCTURES if name != "user"])
def test_structures_are_made_of_their_own_files(name, monkeypatch):
    """So an edit in one leaves the others warm; the registry cannot bring them together."""
    monkeypatch.setattr(_files, "STARTED", math.inf)
    problem = tiny_problem(name)
    if not problem.is_compiled:
        pytest.skip("runs as Python")
    found = sources(evaluate, classes_in((problem.view, problem.desk()), set()))
    files = {short_name(file) for file in found.files}
    assert {"core/problem.py", "core/dispatch.py", "surrogates/slack.py"} <= files
    rooms = {file.split("/")[1] for file in files if file.startswith("structures/")}
    own = type(problem.view.data).__module__.split(".")[2]
    assert rooms == {own} | MADE_OF.get(name, set())
    assert not any(file.startswith("inference/ranking") for file in files) or own == "ranking"
    assert len(found.stamp()) == 64


# Makes problems, and evaluates the first one if asked to.
SCRIPT = """
import json, sys, warnings
import numpy as np
from maxmargin.core.compile import compiled
from maxmargin.core.problem import evaluate
from maxmargin.core.sources import sources
from maxmargin.testing.tiny import tiny_problem
def classes_in(value, found):
    if isinstance(value, tuple):
        found |= {type(value)} if hasattr(value, "_fields") else set()
        for item in value:
            classes_in(item, found)
    return found
found = {}
for name in ("chain", "ranking", "multiclass"):
    problem = tiny_problem(name)
    found[name] = sources(evaluate, classes_in((problem.view, problem.desk()), set())).stamp()
    if name == sys.argv[1]:
        problem.losses(np.ones(problem.n_weights))
        found["hits"] = sum(compiled(evaluate).stats.cache_hits.values())
json.dump(found, sys.stdout)
"""


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")
def test_an_edit_of_rankings_leaves_others_warm_and_one_of_a_surrogate_does_not(tmp_path):
    """Classes are compiled, which takes the least; that chains stay warm is told by their stamp."""
    package = tmp_path / "maxmargin"
    # Byte code comes along and still fits, as dates are kept; compiled code does not.
    ignored = shutil.ignore_patterns("*.nbc", "*.nbi", "_library")
    shutil.copytree(Path(_sources.__file__).parents[1], package, ignore=ignored)
    env = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    env["MAXMARGIN_MODE"] = "typed"  # then the whole pass is one entry
    env.pop("NUMBA_CACHE_DIR", None)

    def run(compiled):
        command = [sys.executable, "-c", SCRIPT, compiled]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def append(file, text="# A remark."):
        (package / file).write_text((package / file).read_text() + f"\n{text}\n")

    first = run("multiclass")
    assert first["hits"] == 0
    append("inference/ranking/places.py")
    second = run("multiclass")
    assert second["hits"] == 1
    assert {name for name in first if first[name] != second[name]} == {"hits", "ranking"}
    append("surrogates/slack.py")
    third = run("none")
    assert all(third[name] != second[name] for name in third)


# --- Values


LIMIT, TABLE, PRICES = 2.5, (1, (2.0, "a")), np.array([1.0, 2.0])
SECRET = object()


class Metres(NamedTuple):
    x: float
    scale: float = LIMIT


class Feet(NamedTuple):
    x: float


@generic
def length(data):
    """Return a length."""


@generic_with_default
def twice(data):
    return 2 * length(data)


class Units:
    """A family."""


@belongs(Units)
class Miles(NamedTuple):
    x: float


@generic_on_two
def total(a, b):
    """Return the sum of two lengths."""


@implements(total, Units, Feet)
def _units_and_feet(a, b):
    return 0.0


@implements(total, Units, Metres)
def _units_and_metres(a, b):
    return 1.0


def totals(a, b):
    return total(a, b)


@implements(length, Metres)
def _metres(data):
    return data.x * PRICES[0]


@jitable
def inner(x):
    return min(x, LIMIT) + TABLE[0]


@kernel(fastmath=True)
def middle(x):
    return inner(x)


def outer(data):
    return twice(Metres(middle(data.x)))


def secretive(x):
    return SECRET.y


@pytest.fixture
def anew(monkeypatch):
    """A process in which nothing was noted yet."""
    for name in ("_KNOWN", "_CHOSEN", "_MET"):
        monkeypatch.setattr(_sources, name, {})
    monkeypatch.setattr(_files, "STARTED", math.inf)


def test_facts_name_values_classes_and_choices(anew):
    facts = dict(sources(outer, [Feet]).facts)
    assert facts[f"{__name__}.LIMIT"] == "2.5 float"
    assert facts[f"{__name__}.TABLE[1][1]"] == "'a' str"
    assert facts[f"{__name__}.PRICES"].startswith("[('', '<f8')](2,) ")
    assert facts[f"{__name__}.Metres(scale)"] == "2.5 float"
    assert facts[f"{__name__}.middle:<fastmath>"] == "True"
    assert facts[f"class {__name__}.Feet"] == "('x',) []"
    # Metres are in no signature, but the code makes them.
    assert facts[f"{__name__}.length({__name__}.Metres)"] == f"{__name__}._metres"


def test_types_that_were_met_apart_may_meet_later(anew):
    """It is no new implementation that they choose, though none has chosen it before."""
    apart = sources(totals, [Miles]), sources(totals, [Feet])
    assert not any("_units_and_feet" in fact for found in apart for _, fact in found.facts)
    facts = sources(totals, [Miles, Feet]).facts
    assert any(fact.endswith("_units_and_feet") for _, fact in facts)


def test_an_implementation_for_a_family_counts_where_its_types_are_met(anew):
    """So one that a user writes for his own types leaves the code for others as it is."""
    facts = dict(sources(totals, [Miles, Feet]).facts)
    assert facts[f"class {__name__}.Miles"] == f"('x',) ['{__name__}.Units']"
    assert facts[f"{__name__}.total({__name__}.Units, {__name__}.Feet)"].endswith("_units_and_feet")
    assert not any("_units_and_metres" in fact for fact in facts.values())
    assert not any("_units" in fact for _, fact in sources(totals, [Metres, Feet]).facts)


@pytest.mark.parametrize(
    ("name", "other"),
    [("LIMIT", 3.5), ("LIMIT", 2), ("TABLE", (1, (2.0, "b"))), ("PRICES", np.array([1.0, 3.0]))],
    ids=["number", "type", "tuple", "array"],
)
def test_another_value_is_another_stamp_and_no_second_one(anew, monkeypatch, name, other):
    before = sources(outer, []).stamp()
    monkeypatch.setitem(globals(), name, other)
    with pytest.raises(UntraceableError, match=f"{name}.* has changed since"):
        sources(outer, [])
    _sources._KNOWN.clear()  # as in the next process
    assert sources(outer, []).stamp() != before


def test_an_implementation_that_changes_or_comes_late_is_refused(anew, monkeypatch):
    before = sources(outer, [Feet]).stamp()
    table = dict(length.implementations)
    monkeypatch.setattr(length, "implementations", table)
    table[Feet,] = lambda data: 0.3
    with pytest.raises(UntraceableError, match=r"length\(.*Feet\) was implemented after"):
        sources(outer, [Feet])
    del table[Feet,]
    assert sources(outer, [Feet]).stamp() == before
    table[Metres,] = inner
    with pytest.raises(UntraceableError, match=r"length\(.*Metres\) was implemented after"):
        sources(outer, [Feet])


def test_what_nobody_can_follow_is_refused(anew):
    with pytest.raises(UntraceableError, match="SECRET"):
        sources(secretive, [])
    scope = {}
    exec("def typed(x):\n    return x", scope)
    with pytest.raises(UntraceableError, match="entered at a prompt"):
        sources(scope["typed"], [])


def test_functions_within_functions_are_told_apart_by_what_they_hold(anew):
    def adder(number):
        def add(x):
            return x + number

        return add

    one, two, again = (sources(adder(number), []).stamp() for number in (1, 2, 1))
    assert one == again != two
