"""Hold two trees against each other, bit for bit, on the same training problems.

    python benchmarks/golden.py OLD [NEW]        # commits or folders; NEW: this working tree
    python benchmarks/golden.py OLD --only 'chain/*' --uncompiled --keep
    python benchmarks/golden.py --store          # write results/golden.json from this tree

Every structure x cost x surrogate x solver runs as plain Python, and a larger problem of each
structure compiled, with either tree on this machine. Weights, primal, dual, status, passes and
oracle calls must be the same to the last bit, but for what `ALLOWED` lists; there intervals
[dual, primal] must overlap. Exit code 1 says that something differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import metadata
from pathlib import Path
from typing import Any

from golden_cases import Case, Vocabulary, all_cases
from golden_compare import VERDICTS, Verdict, compare, interval, outwards
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
STORE = HERE / "results" / "golden.json"

#: What may differ by its certificate only: pattern of case names -> reason. An entry goes as soon
#: as no tree from before the change is compared any more.
ALLOWED: dict[str, str] = {
    "multilabel_relaxed*": "fractional outputs are sparse differences: sums in another order",
    "*/bcfw*": "passes over known planes where they pay, over blocks that move; more certificates",
    "*/bcfw+bisecting": "a search that finds less than a known plane: bcfw steps to that plane",
    "*/bcfw+binary": "the same",
    "*/bcfw+sarawagi": "the same",
    "*/sdca*": "where outputs are not listed it is bcfw",
    "multiclass/*/sdca*": "proximal steps and jumps where passes over blocks have become slow",
    "*/one_slack:inwards*": "begins with a pass of block steps",
    "*/mmcrf*": "steps within an example move its scores instead of reading them anew",
    "graph/*": "oracles of graphs with cycles are hasty in passes",
    "graph_relaxed*": "points of the relaxation come from ADMM, not from smoothed ascent",
}

#: Processes per tree for the cases in plain Python: few, because each imports the package.
N_SHARDS = 4

#: Differences that are printed, of each kind and structure, unless --all is given.
SHOWN = 8

#: Columns of the table; the last counts what both trees refuse, which is no case.
COLUMNS = (*VERDICTS, "(unfit)")


# -- trees ---------------------------------------------------------------------------------------


@dataclass
class Tree:
    """A version of the package: a folder with src/, and what is known of its cases."""

    name: str
    folder: Path
    #: Where results are kept for the next time; of a commit, which does not change.
    kept: Path | None = None
    results: dict[str, dict[str, Any]] = field(default_factory=dict)

    def ask(self, *arguments: str) -> str:
        """Run golden_tree.py with this tree's package, in a process of its own."""
        # Compiled code is kept beside the source of each tree; nothing may mix the two.
        environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
        environment["PYTHONPATH"] = str(self.folder / "src")
        for threads in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
            environment[f"{threads}_NUM_THREADS"] = "1"
        command = [sys.executable, str(HERE / "golden_tree.py"), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{self.name}: golden_tree.py {arguments[0]} failed:\n{done.stderr}")
        return done.stdout

    def words(self) -> Vocabulary:
        """Return the names of what this tree has."""
        answer = json.loads(self.ask("words").splitlines()[-1])
        expected = str((self.folder / "src").resolve())
        if answer["source"] != expected:
            raise SystemExit(f"{self.name}: imported {answer['source']}, not {expected}.")
        return Vocabulary(*answer["words"])

    def run(self, cases: Sequence[Case], scratch: Path) -> dict[str, dict[str, Any]]:
        """Return what some cases give, run in one process."""
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            asked, answered = Path(folder, "cases.json"), Path(folder, "results.json")
            asked.write_text(json.dumps([case.as_dict() for case in cases]))
            self.ask("run", str(asked), str(answered))
            return json.loads(answered.read_text())

    def recall(self) -> None:
        """Take over the results of an earlier run of the same harness with the same packages."""
        if self.kept is not None and self.kept.exists():
            known = json.loads(self.kept.read_text())
            if known["by"] == fingerprint():
                self.results.update(known["results"])

    def keep(self) -> None:
        if self.kept is not None:
            self.kept.write_text(json.dumps({"by": fingerprint(), "results": self.results}))


def fingerprint() -> str:
    """Return a digest of all that results depend on besides the tree."""
    digest = hashlib.sha256(platform.python_version().encode())
    for name in ("golden_cases.py", "golden_tree.py"):
        digest.update((HERE / name).read_bytes())
    for package in ("numpy", "scipy", "numba", "highspy"):
        digest.update(metadata.version(package).encode())
    return digest.hexdigest()


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


@contextmanager
def tree(name: str | None, keep: bool) -> Iterator[Tree]:
    """Give the tree of a commit or folder; None is the one that this file lies in."""
    if name is None or Path(name, "src", "maxmargin").is_dir():
        folder = ROOT if name is None else Path(name).resolve()
        yield Tree(name or "this tree", folder)
        return
    commit = git("rev-parse", "--verify", f"{name}^{{commit}}")
    if keep:
        folder = ROOT / "build" / f"golden-{commit[:12]}"
        if not folder.exists():
            git("worktree", "add", "--detach", str(folder), commit)
        yield Tree(name, folder, folder.with_suffix(".json"))
        return
    with tempfile.TemporaryDirectory(prefix="maxmargin-golden-") as outer:
        folder = Path(outer, commit[:12])
        git("worktree", "add", "--detach", str(folder), commit)
        try:
            yield Tree(name, folder)
        finally:
            git("worktree", "remove", "--force", str(folder))


# -- running -------------------------------------------------------------------------------------


def chosen(cases: list[Case], only: str | None, modes: set[bool]) -> list[Case]:
    """Return the cases that were asked for; a pattern without wildcards is looked for anywhere."""
    pattern = "*" if only is None else only if set(only) & set("*?") else f"*{only}*"
    return [c for c in cases if c.compiled in modes and fnmatchcase(c.name, pattern)]


def run_all(trees: list[Tree], cases: list[Case], jobs: int, console: Console) -> None:
    """Run the cases with every tree, shards of them in processes of their own."""
    shards: list[tuple[Tree, list[Case]]] = []
    for each in trees:
        each.recall()
        left = [case for case in cases if case.name not in each.results]
        # One structure is compiled in one process; the other cases are dealt out.
        groups: dict[Any, list[Case]] = {}
        for case in left:
            if case.compiled:
                groups.setdefault(case.structure, []).append(case)
        plain = [case for case in left if not case.compiled]
        groups.update({k: plain[k::N_SHARDS] for k in range(N_SHARDS)})
        shards += [(each, group) for group in groups.values() if group]
    # Compiling takes longest, so it comes first.
    shards.sort(key=lambda shard: not shard[1][0].compiled)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        runs = [pool.submit(each.run, group, Path(scratch)) for each, group in shards]
        try:
            for k, ((each, _), run) in enumerate(zip(shards, runs, strict=True), 1):
                each.results.update(run.result())
                each.keep()
                if console.is_terminal:
                    console.print(f"\r{k} of {len(runs)} processes done", end="")
        finally:
            pool.shutdown(cancel_futures=True)  # after an error or Ctrl-C nothing more begins
    if console.is_terminal:
        console.print()


# -- reports -------------------------------------------------------------------------------------


def report(
    cases: list[Case], verdicts: dict[str, Verdict], console: Console, show_all: bool
) -> None:
    """Print one line per structure, and what is not equal."""
    table = Table(title="golden cases")
    table.add_column("structure")
    for kind in COLUMNS:
        table.add_column(kind, justify="right")
    total: Counter[str] = Counter()
    for structure in dict.fromkeys(case.structure for case in cases):
        counts = Counter(
            verdicts[case.name].kind if case.name in verdicts else COLUMNS[-1]
            for case in cases
            if case.structure == structure
        )
        table.add_row(structure, *(str(counts[kind] or "") for kind in COLUMNS))
        total += counts
    table.add_row("all", *(str(total[kind]) for kind in COLUMNS), style="bold")
    shown: Counter[tuple[str, str]] = Counter()
    for case in cases:
        verdict = verdicts.get(case.name, Verdict("equal"))
        if verdict.kind == "equal":
            continue
        shown[verdict.kind, case.structure] += 1
        if show_all or shown[verdict.kind, case.structure] <= SHOWN:
            line = f"{verdict.kind:8}{case.name}: {verdict.text}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for (kind, structure), count in shown.items():
        if count > SHOWN and not show_all:
            console.print(f"{kind:8}{structure}: {count - SHOWN} more (--all shows them)")
    console.print(table)


def intervals(cases: list[Case], results: dict[str, dict[str, Any]]) -> dict[str, list[float]]:
    """Return for every problem the highest dual and the lowest primal of all its solvers."""
    found: dict[str, tuple[float, float]] = {}
    for case in cases:
        bounds = interval(results[case.name])
        if bounds is not None:
            low, high = found.get(case.problem, bounds)
            found[case.problem] = max(low, bounds[0]), min(high, bounds[1])
    return {name: outwards(*bounds) for name, bounds in sorted(found.items())}


def store(cases: list[Case], results: dict[str, dict[str, Any]]) -> None:
    """Write the intervals, one problem per line."""
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in intervals(cases, results).items()]
    STORE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two trees; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", nargs="?", metavar="OLD", help="commit or folder to compare with")
    parser.add_argument("new", nargs="?", metavar="NEW", help="commit or folder; else this tree")
    parser.add_argument("--only", metavar="PATTERN", help="cases of such names: 'chain/*', +csr")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--compiled", action="store_true", help="only the compiled cases")
    mode.add_argument("--uncompiled", action="store_true", help="only those in plain Python")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    parser.add_argument(
        "--keep", action="store_true", help="keep the trees and results of commits in build/"
    )
    parser.add_argument("--all", action="store_true", help="print every difference")
    parser.add_argument("--store", action="store_true", help="write results/golden.json from NEW")
    options = parser.parse_args(arguments)
    if options.old is None and not options.store:
        parser.error("name a commit OLD to compare with, or --store")
    modes = {True} if options.compiled else {False} if options.uncompiled else {True, False}
    console = Console()
    with ExitStack() as stack:
        names = [options.new] if options.old is None else [options.old, options.new]
        trees = [stack.enter_context(tree(name, options.keep)) for name in names]
        words = trees[0].words()
        for each in trees[1:]:
            words = words | each.words()
        cases = chosen(all_cases(words), options.only, modes)
        run_all(trees, cases, options.jobs, console)
    new = trees[-1].results
    if options.store:
        store(cases, new)
    if options.old is None:
        return 0
    old = trees[0].results
    judged = {c.name: compare(c.name, old[c.name], new[c.name], ALLOWED) for c in cases}
    verdicts = {name: verdict for name, verdict in judged.items() if verdict is not None}
    report(cases, verdicts, console, options.all)
    kinds = {verdict.kind for verdict in verdicts.values()}
    return 1 if kinds & {"differs", "gone"} else 0


if __name__ == "__main__":
    sys.exit(main())
