"""The recipes of CONTRIBUTING, followed: what each touches, and that it works then.

The new files are in `new`, what they must be able to do is in `checks`.
"""

from __future__ import annotations

import pytest

from tests.recipes.scratch import ROOT, Scratch

CONTRACTS = "tests/contracts/test_contracts.py"


@pytest.fixture
def scratch(tmp_path):
    return Scratch(tmp_path)


def one_file_and_one_line(scratch, file, registry, name, line, import_line):
    """Add a file, its import and its line in the registry; nothing else is touched."""
    home = f"{file.rpartition('/')[0]}/__init__.py"
    scratch.add_file(file)
    scratch.add_import(home, import_line)
    scratch.add_entry(home, registry, f'"{name}": {line},')
    assert scratch.new_files() == {file}
    assert scratch.changes() == {home: [import_line, f'"{name}": {line},']}


def test_add_a_cost(scratch):
    one_file_and_one_line(
        scratch, "costs/capped.py", "COSTS", "capped", "Capped",
        "from maxmargin.costs.capped import Capped",
    )  # fmt: skip
    chosen = "capped and (oracles or refused or registered or (trains and bcfw and slack))"
    scratch.run("cost", [CONTRACTS, "tests/costs/test_costs.py"], chosen)


def test_add_a_solver(scratch):
    one_file_and_one_line(
        scratch, "solvers/subgradient.py", "SOLVERS", "subgradient", "Subgradient",
        "from maxmargin.solvers.subgradient import Subgradient",
    )  # fmt: skip
    chosen = "subgradient and (refused or (trains and (multiclass-hamming or chain-hamming)))"
    scratch.run("solver", [CONTRACTS], chosen)


def test_add_a_surrogate(scratch):
    one_file_and_one_line(
        scratch, "surrogates/squared.py", "SURROGATES", "squared", "SquaredHinge",
        "from maxmargin.surrogates.squared import SquaredHinge",
    )  # fmt: skip
    chosen = "squared and trains and (multiclass or multilabel_tree) and (bcfw or sgd)"
    chosen = f"({chosen}) or (squared and registered)"
    scratch.run("surrogate", [CONTRACTS, "tests/surrogates/test_surrogates.py"], chosen)


def test_add_a_search(scratch):
    one_file_and_one_line(
        scratch, "search/one_call.py", "SEARCHES", "one_call", "OneCall",
        "from maxmargin.search.one_call import OneCall",
    )  # fmt: skip
    scratch.run("search", ["tests/search/test_search.py"], "one_call or OneCall")


TINY_GRADES = """
def _tiny_grades(kind: str, rng: np.random.Generator) -> TinyData:
    grades = rng.permutation(np.arange(6) % N_LABELS)
    return TinyData(grades_data(_features(6, kind, rng), grades, N_LABELS), np.ones(6, np.int64))
"""

ALL_GRADES = """
def _of_grades(data: GradesData, i: int) -> np.ndarray:
    return labellings(1, data.n_grades)
"""


def test_add_a_structure(scratch):
    """One package and one line; and its tiny examples, with the list of their outputs."""
    package = {f"structures/grades/{name}.py" for name in ("__init__", "data", "oracles")}
    for file in package:
        scratch.add_file(file)
    line, home = "from maxmargin.structures.grades import GradesData", "structures/__init__.py"
    scratch.add_import(home, line)
    scratch.add_entry(home, "STRUCTURES", '"grades": GradesData,')
    tiny, maker = "testing/tiny.py", "from maxmargin.structures.grades import grades_data"
    scratch.add_import(tiny, maker)
    scratch.add_function(tiny, "#: How a tiny instance", TINY_GRADES)
    scratch.add_entry(tiny, "TINY", '"grades": _tiny_grades,')
    listing = "testing/outputs.py"
    scratch.add_import(listing, line)
    scratch.add_function(listing, "#: How the outputs", ALL_GRADES)
    scratch.add_entry(listing, "ENUMERATORS", "GradesData: _of_grades,")
    assert scratch.new_files() == package
    changes = scratch.changes()
    assert set(changes) == {home, tiny, listing}
    assert changes[home] == [line, '"grades": GradesData,']
    files = [CONTRACTS, "tests/structures/test_structures.py", "tests/structures/test_parts.py"]
    chosen = "oracles or refused or parts or (meets and bcfw) or (registered and dense)"
    scratch.run("structure", files, f"grades and ({chosen})")


def test_add_features(scratch):
    """A line more: a matrix that is held so, for the contract tests."""
    line = "from maxmargin.features.ones import Ones"
    form = '"ones": lambda X: sp.csr_matrix((X != 0.0).astype(np.float64)),'
    scratch.add_file("features/ones.py")
    scratch.add_import("features/__init__.py", line)
    scratch.add_entry("features/__init__.py", "FEATURES", '"ones": Ones,')
    scratch.add_entry("testing/tiny.py", "FORMS", form)
    assert scratch.new_files() == {"features/ones.py"}
    assert scratch.changes() == {
        "features/__init__.py": [line, '"ones": Ones,'],
        "testing/tiny.py": [form],
    }
    files = ["tests/features/test_features.py", "tests/structures/test_structures.py"]
    scratch.run("features", files, "contract and ones and (features or multiclass or chain)")


def test_add_an_estimator(scratch):
    """Its registry is that of model files, which the decorator enters it in at its import."""
    line = "from maxmargin.estimators.sign import SignSVM"
    scratch.add_file("estimators/sign.py")
    scratch.add_import("estimators/__init__.py", line)
    assert scratch.new_files() == {"estimators/sign.py"}
    assert scratch.changes() == {"estimators/__init__.py": [line]}
    scratch.run("estimator")


def test_add_a_kind_to_the_command_line(scratch):
    one_file_and_one_line(
        scratch, "cli/kinds/stars.py", "KINDS", "stars", "Stars()",
        "from maxmargin.cli.kinds.stars import Stars",
    )  # fmt: skip
    scratch.run("kind")


@pytest.mark.parametrize(
    "file",
    [
        "costs/capped.py",
        "solvers/subgradient.py",
        "structures/grades/data.py",
        "surrogates/squared.py",
        "search/one_call.py",
        "features/ones.py",
        "estimators/sign.py",
        "cli/kinds/stars.py",
    ],
)
def test_the_page_speaks_of_the_same_files(file):
    assert f"`{file}`" in (ROOT / "CONTRIBUTING.md").read_text()
