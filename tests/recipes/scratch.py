"""A copy of the package that a recipe is followed in, and what the recipe touched there."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import maxmargin

PACKAGE = Path(maxmargin.__file__).parent
HERE = Path(__file__).parent
ROOT = HERE.parents[1]


class Scratch:
    """A copy of src/maxmargin."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "maxmargin"
        # Python's byte code comes along and still fits, as dates are kept: else every process would
        # compile the source of the whole package.
        ignored = shutil.ignore_patterns("*.nbc", "*.nbi", "_library")
        shutil.copytree(PACKAGE, self.package, ignore=ignored)

    def add_file(self, path: str) -> None:
        """Add the file that tests/recipes/new has at this path."""
        target = self.package / path
        target.parent.mkdir(exist_ok=True)
        shutil.copy(HERE / "new" / path, target)

    def add_import(self, path: str, line: str) -> None:
        """Add an import before the first of the package."""
        lines = self._lines(path)
        first = next(i for i, each in enumerate(lines) if each.startswith("from maxmargin."))
        self._write(path, [*lines[:first], line, *lines[first:]])

    def add_entry(self, path: str, registry: str, line: str) -> None:
        """Add a last line to the dictionary of this name."""
        lines = self._lines(path)
        start = next(i for i, each in enumerate(lines) if each.startswith(f"{registry}:"))
        end = next(i for i in range(start, len(lines)) if lines[i] == "}")
        self._write(path, [*lines[:end], f"    {line}", *lines[end:]])

    def add_function(self, path: str, before: str, text: str) -> None:
        """Add a function, and two empty lines, before the first line that starts so."""
        lines = self._lines(path)
        place = next(i for i, each in enumerate(lines) if each.startswith(before))
        self._write(path, [*lines[:place], *text.strip().split("\n"), "", "", *lines[place:]])

    def _lines(self, path: str) -> list[str]:
        return (self.package / path).read_text().split("\n")

    def _write(self, path: str, lines: list[str]) -> None:
        (self.package / path).write_text("\n".join(lines))

    def new_files(self) -> set[str]:
        """Return the files that the package does not have."""
        return _files(self.package) - _files(PACKAGE)

    def changes(self) -> dict[str, list[str]]:
        """Return the lines that were added to files of the package; no line may go or change."""
        added: dict[str, list[str]] = {}
        assert _files(PACKAGE) <= _files(self.package)
        for path in sorted(_files(PACKAGE)):
            before = (PACKAGE / path).read_text().split("\n")
            after = self._lines(path)
            if before != after:
                difference = list(difflib.ndiff(before, after))
                assert not [line for line in difference if line.startswith("- ")]
                new = [line[2:].strip() for line in difference if line.startswith("+ ")]
                added[path] = [line for line in new if line]
        return added

    def run(self, check: str, contracts: Sequence[str] = (), chosen: str = "") -> None:
        """Run a file of tests/recipes/checks, and those of the contract tests that are chosen.

        In a process of its own, so that nothing of the recipe is left behind; uncompiled, because
        the copy has no cache of compiled code. In every file at least one test must be found.
        """
        folder = self.package.parent
        environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_DISABLE_JIT": "1"}
        files = [f"tests/recipes/checks/{check}.py", *contracts]
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *files]
        command += ["-k", f"recipes or ({chosen})"] if contracts else []
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        passed = [line for line in done.stdout.splitlines() if " PASSED" in line]
        for file in files:
            assert any(line.startswith(file) for line in passed), done.stdout[-6000:]


def _files(package: Path) -> set[str]:
    return {
        path.relative_to(package).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
