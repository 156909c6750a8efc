"""What compiling costs: the first fit ever, the next ones, from the cache, an import, the demo.

A copy of the package has no cache and no library that was built ahead. In fresh processes the same
small fit and prediction are made twice; the difference of their CPU seconds is what compiling, or
reading the cache, took; what the imports left is collected before. The import of numba, which
happens then, is part of it; where the library serves, numba is imported too (to name types), and
counted with the imports.

    python benchmarks/run.py --only compile_time
    python benchmarks/compile_time.py --only import,warm
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import json
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness import Check, Console, Line, cells
from subprocesses import SOURCE, ask

PARTS = ("import", "first", "next", "warm", "demo", "library")
#: CPU seconds that are aimed at.
IMPORT, FIRST, FIRST_RANKING, NEXT, WARM, LIBRARY, DEMO = 1.2, 10.0, 15.0, 4.0, 0.3, 0.1, 3.0


class Case(NamedTuple):
    """One kind of fit."""

    estimator: str
    features: str = "dense"
    surrogate: str = "margin"

    def __str__(self) -> str:
        return f"{self.estimator}, {self.features}, {self.surrogate}"


ESTIMATORS = (
    "chain",
    "classes",
    "label sets",
    "label sets, all pairs",
    "rankings",
    "trees",
    "graphs",
    "graphs, relaxed",
    "hierarchies, one path",
    "hierarchies, sets of nodes",
)
PARSES = "parses"
OWN = "a user's compiled structure"
CASES = [
    Case(estimator, features, surrogate)
    for estimator in ESTIMATORS
    for surrogate in ("margin", "slack")
    for features in ("dense", "CSR")
]
CASES += [Case(PARSES, "hashed"), Case(PARSES, "hashed", "slack")]
CASES += [Case(OWN), Case(OWN, surrogate="slack")]

_FIT = """
import gc, json, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import scipy.sparse
import maxmargin
from maxmargin import ChainSVM, GraphSVM, HierarchySVM, MulticlassSVM, MultilabelSVM, ParserSVM
from maxmargin import RankingSVM, StructuredSVM, TreeSVM

estimator, features, surrogate = json.loads({case!r})
rng = np.random.default_rng(0)
rows, labels = rng.random((80, 5)), rng.integers(0, 3, 80)
sets, queries = (rng.random((80, 3)) < 0.5).astype(int), np.repeat(np.arange(16), 5)
form = scipy.sparse.csr_matrix if features == "CSR" else np.asarray
X, beside = form(rows), {{}}
given = dict(surrogate=surrogate, random_state=0)
if estimator == "chain":
    X, Y = [form(rows[k : k + 4]) for k in range(0, 80, 4)], list(labels.reshape(20, 4))
    make = lambda: ChainSVM(**given)
elif estimator in ("trees", "graphs", "graphs, relaxed"):
    edges = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])[: 3 if estimator == "trees" else 4]
    X, Y = [(form(rows[k : k + 4]), edges) for k in range(0, 80, 4)], list(labels.reshape(20, 4))
    own = dict(training="relaxed") if "relaxed" in estimator else dict()
    make = lambda: (TreeSVM if estimator == "trees" else GraphSVM)(**own, **given)
elif estimator.startswith("hierarchies"):
    own = dict(hierarchy=[("b", "a"), ("c", "a"), ("d", "c"), ("e", "c")])
    Y = [str(name) for name in np.array(["b", "d", "e"])[labels]]
    if "sets" in estimator:
        Y = [["b", leaf] if k % 2 else [leaf] for k, leaf in enumerate(Y)]
    make = lambda: HierarchySVM(**own, **given)
elif estimator == "parses":
    X = [[dict(form=str(k), upos=str(k)) for k in row] for row in labels.reshape(20, 4)]
    own = dict(n_hashed_features=256, solver="mira" if surrogate == "margin" else "bcfw")
    Y, make = [[2, 0, 2, 3]] * 20, lambda: ParserSVM(**own, **given)
elif estimator == "classes":
    make, Y = lambda: MulticlassSVM(**given), labels
elif estimator == "label sets":
    make, Y = lambda: MultilabelSVM(**given), sets
elif estimator == "label sets, all pairs":
    make, Y = lambda: MultilabelSVM(pairwise="full", **given), sets
elif estimator == "rankings":
    make, Y, beside = lambda: RankingSVM(cost="ap", **given), sets[:, 0], dict(qid=queries)
else:
    from grades import Grades

    make, Y = lambda: StructuredSVM(Grades([0, 1, 2]), **given), list(labels)

start = time.process_time()
import numba
numba = time.process_time() - start

# What the imports left is collected now. It takes 85 ms, and would come somewhere in the first fit.
gc.collect()

def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start

fits, predicts = [], []
for _ in range(2):
    model = make()
    fits.append(seconds(lambda: model.fit(X, Y, **beside)))
    predicts.append(seconds(lambda: model.predict(X, **beside)))
print(json.dumps(dict(fits=fits, predicts=predicts, numba=numba, place=maxmargin.__file__)))
"""

_IMPORT = """
import time
import sklearn.base
of_sklearn = time.process_time()
from maxmargin import ChainSVM
seconds = time.process_time()
import json, sys, maxmargin
ours = sum(name.partition(".")[0] == "maxmargin" for name in sys.modules)
print(json.dumps(dict(
    seconds=seconds, of_sklearn=of_sklearn, modules=ours, numba="numba" in sys.modules,
    place=maxmargin.__file__,
)))
"""

_DEMO = """
import contextlib, io, time
from maxmargin.cli.main import run
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    status = run(["demo", "--quiet", "--output", {picture!r}])
seconds = time.process_time()
import json, maxmargin
print(json.dumps(dict(seconds=seconds, status=status, place=maxmargin.__file__)))
"""


class Copy:
    """A copy of the package, which has a cache for each name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(SOURCE / "maxmargin", folder / "maxmargin", ignore=ignored)
        shutil.copy(SOURCE.parent / "tests" / "grades.py", folder)
        compileall.compile_dir(folder, quiet=2)

    def ask(self, code: str, cache: str) -> dict[str, Any]:
        """Run code in a fresh process; check that it imports this copy."""
        seen = ask(code, self.folder, NUMBA_CACHE_DIR=str(self.folder / "caches" / cache))
        if Path(seen.pop("place")).resolve().parents[1] != self.folder.resolve():
            raise RuntimeError("The measured process imported another copy of maxmargin.")
        return seen

    def fit(self, case: Case, cache: str) -> dict[str, Any]:
        """Fit and predict twice; ``compiling`` is what the first times took longer, with numba."""
        seen = self.ask(_FIT.format(case=json.dumps(case)), cache)
        seen["compiling"] = seen["numba"] + longer(seen)
        return seen


def longer(seen: dict[str, Any]) -> float:
    """Return how much longer the first fit and prediction took than the second."""
    return sum(first - again for first, again in (seen["fits"], seen["predicts"]))


@contextlib.contextmanager
def copied() -> Iterator[Copy]:
    with tempfile.TemporaryDirectory() as folder:
        yield Copy(Path(folder))


def lines(parts: Sequence[str] = PARTS) -> Iterator[Line]:
    with copied() as copy:
        if "import" in parts:
            yield importing(copy)
        shared: dict[Case, dict[str, Any]] = {}
        if {"first", "next", "warm"} & set(parts):
            shared[CASES[0]] = copy.fit(CASES[0], "shared")
        if "first" in parts:
            yield first(CASES[0], shared[CASES[0]])
            for case in CASES[1:]:
                yield first(case, copy.fit(case, str(case)))
        if "next" in parts:
            for case in CASES[1:]:
                shared[case] = copy.fit(case, "shared")
                yield following(case, shared[case])
        if "warm" in parts:
            yield warm({case: copy.fit(case, "shared") for case in shared})
        if "demo" in parts:
            yield demo(copy, "cold", "the first time ever")
            yield demo(copy, "cold", "from the cache")
    if "library" in parts:
        yield from with_library()


def importing(copy: Copy) -> Line:
    seen = [copy.ask(_IMPORT, "import") for _ in range(6)][1:]
    value = statistics.median(each["seconds"] for each in seen)
    of_sklearn = statistics.median(each["of_sklearn"] for each in seen)
    return Line(
        "from maxmargin import ChainSVM",
        value,
        checks=[Check("seconds", value, "<=", IMPORT)],
        note="All of a fresh process, median of 5; the files are in the memory of the system. "
        f"Python and sklearn.base, from which estimators derive, take {of_sklearn:.2f} s; the "
        f"{seen[0]['modules']} modules of ours have the rest.",
        facts={"runs": seen},
    )


def first(case: Case, seen: dict[str, Any]) -> Line:
    goal = FIRST_RANKING if case.estimator == "rankings" else FIRST
    return compiling(f"{case}: compiling, the first of all", seen, goal)


def following(case: Case, seen: dict[str, Any]) -> Line:
    return compiling(f"{case}: compiling, after those above", seen, NEXT)


def compiling(what: str, seen: dict[str, Any], goal: float, beside: str = "") -> Line:
    return Line(
        what,
        seen["compiling"],
        checks=[Check("seconds", seen["compiling"], "<=", goal)],
        note=f"The same fit again takes {seen['fits'][1]:.3f} s; of the first prediction "
        f"{seen['predicts'][0] - seen['predicts'][1]:.2f} s are compiling.{beside}",
        facts=seen,
    )


def warm(seen: dict[Case, dict[str, Any]]) -> Line:
    case, slowest = max(seen.items(), key=lambda item: item[1]["compiling"])
    middle = statistics.median(each["compiling"] for each in seen.values())
    return Line(
        f"from the cache, the slowest of {len(seen)}: {case}",
        slowest["compiling"],
        checks=[Check("seconds", slowest["compiling"], "<=", WARM)],
        note=f"What the first fit and prediction of a process take longer than the second, with "
        f"the import of numba; the median of all is {middle:.2f} s.",
        facts={str(each): value for each, value in seen.items()},
    )


def demo(copy: Copy, cache: str, when: str) -> Line:
    seen = copy.ask(_DEMO.format(picture=str(copy.folder / "demo.png")), f"demo {cache}")
    return Line(f"maxmargin demo, {when}", seen["seconds"], facts=seen)


def with_library() -> Iterator[Line]:
    """Measure the package as it is, with the library that was built ahead, if there is one."""
    if not list((SOURCE / "maxmargin").rglob("*.so")):
        note = "There is no library that was built ahead in this copy of the package."
        yield Line("with the library: compiling", None, note=note)
        return
    yield from built()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(SOURCE.parent / "tests" / "grades.py", folder)
        for case in CASES:
            cache = str(Path(folder) / str(CASES.index(case)))
            seen = ask(_FIT.format(case=json.dumps(case)), SOURCE, folder, NUMBA_CACHE_DIR=cache)
            del seen["place"]  # a folder of this machine
            seen["compiling"] = longer(seen)
            goal = NEXT if case.estimator == OWN else LIBRARY
            apart = f"{seen['numba']:.2f} s"
            beside = f" The import of numba, which names types, is not counted: {apart}."
            yield compiling(f"{case}: with the library", seen, goal, beside)
        code = _DEMO.format(picture=str(Path(folder) / "demo.png"))
        seen = ask(code, SOURCE, NUMBA_CACHE_DIR=str(Path(folder) / "demo"))
        del seen["place"]
        yield Line(
            "maxmargin demo, with the library",
            seen["seconds"],
            checks=[Check("seconds", seen["seconds"], "<=", DEMO)],
            facts=seen,
        )


def built() -> Iterator[Line]:
    """Tell what `make core` wrote down when it built the library."""
    for path in sorted((SOURCE.parent / "build" / "core").glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        parts = [f"{what} {n} in {seconds} s" for what, n, seconds in report["parts"] if n]
        yield Line(
            f"make core, {report['level']}: building the library",
            report["seconds"],
            note=f"{report['entries']} entries, {report['bytes'] / 1e6:.2f} MB. Entries by what "
            f"compiled them first, so the first structure has the passes too: {', '.join(parts)}. "
            "The rest is linking.",
            facts=report,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    parts = parser.parse_args().only.split(",")
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        parser.error(f"--only: {unknown[0]!r} is not known. There are: {', '.join(PARTS)}.")
    console = Console(soft_wrap=True, highlight=False)
    for line in lines(parts):
        console.print(*cells(line), sep="  ")


if __name__ == "__main__":
    main()
