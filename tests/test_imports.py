"""What an import loads: neither a compiler nor a picture is paid for by those who need none."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

# Packages of which nothing is needed before something is compiled, drawn, solved or printed, and
# the parts of scikit-learn that load half of it.
HEAVY = (
    "cffi", "highspy", "jinja2", "llvmlite", "matplotlib", "networkx", "numba", "pandas", "rich",
    "torch", "typer", "sklearn.ensemble", "sklearn.feature_extraction", "sklearn.linear_model",
    "sklearn.metrics", "sklearn.model_selection", "sklearn.preprocessing",
)  # fmt: skip


def loaded(code, heavy):
    """Run code in a new process; return which of the heavy modules it imports."""
    code = f"import sys\n{code}\nimport json; print(json.dumps(sorted(set(sys.modules) - before)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    modules = json.loads(done.stdout.splitlines()[-1])
    assert modules
    return [name for name in heavy if name in modules]


@pytest.mark.parametrize(
    "name", ["ChainSVM", "MulticlassSVM", "MultilabelSVM", "RankingSVM", "StructuredSVM", "load"]
)
def test_an_estimator_is_imported_without_what_only_some_need(name):
    # What the base class of estimators imports is none of our choice.
    code = f"import sklearn.base; before = set(sys.modules)\nfrom maxmargin import {name}"
    assert loaded(code, HEAVY) == []


def test_the_help_of_the_command_line_loads_no_library_of_numbers():
    code = (
        "before = set(sys.modules)\nfrom maxmargin.cli.main import run\n"
        "assert run(['--help']) == 0; assert run(['train', '--help']) == 0"
    )
    light = ("rich", "typer")  # these write the help
    heavy = ("numpy", "scipy", "sklearn", *(name for name in HEAVY if name not in light))
    assert loaded(code, heavy) == []


def test_the_compiler_is_loaded_when_something_is_compiled():
    """The tests above can fail."""
    code = (
        "before = set(sys.modules)\nfrom maxmargin.core.compile import compiled\n"
        "assert compiled(lambda x: x + 1)(2) == 3"
    )
    assert loaded(code, ("numba",)) == ["numba"]


def imports(tree):
    """Yield the full names that the statements of a tree import."""
    for node in tree:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_numba_is_imported_where_something_is_compiled_and_told_of_functions_in_one_module():
    """What numba is told of elsewhere, the cache would not know of (see core/sources.py)."""
    package = Path(maxmargin.__file__).parent
    files = list(package.rglob("*.py"))
    assert len(files) > 100
    for file in files:
        place = file.relative_to(package).as_posix()
        tree = ast.parse(file.read_text(encoding="utf-8"))
        at_once = {name.partition(".")[0] for name in imports(tree.body)}
        may = place.startswith(
            ("core/cache.py", "core/callee.py", "core/erase/", "core/ahead/emit.py")
        )
        assert may or not at_once & {"numba", "llvmlite"}, place
        told = {"numba.extending.overload", "numba.extending.register_jitable"}
        assert place == "core/compile.py" or not told & set(imports(ast.walk(tree))), place
