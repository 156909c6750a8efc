"""The way of ``maxmargin train chain``: the modules and functions it passes, and where data return.

    python benchmarks/way_of_a_train.py

Counts the modules and functions of the package that the command calls once all is imported and
compiled, where a compiled pass is one call. Then it follows the samples of the training file: the
steps are the modules of other rooms that those of the command line call, one after the other, from
reading the file to writing the model. A module is entered again if it is left for another one and
comes back. What a module of another room calls is a part of its step (benchmarks/way_of_a_fit.py
follows the fit); checks and texts of messages are no step.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import maxmargin
from maxmargin.cli.main import run

ROOT = Path(maxmargin.__file__).parent
TEXT = "the DT B-NP\ncat NN I-NP\nsees VB B-VP\n. . O\n\ndogs NN B-NP\nbark VB B-VP\n\n" * 10
#: Modules that hold no samples: checks, settings, registries, messages.
ASIDE = ("checks", "settings", "progress", "news", "registry", "files", "replace", "__init__")


class Way:
    """A profiler that notes the functions of the package, and the steps of the data."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.modules: list[str] = []  # in the order in which they are first entered
        self.steps: list[str] = []

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        module = module_of(frame.f_code.co_filename) if event == "call" else None
        if module is None:
            return
        self.functions.add((module, frame.f_code.co_qualname))
        if module not in self.modules:
            self.modules.append(module)
        caller = frame.f_back and module_of(frame.f_back.f_code.co_filename)
        is_step = bool(caller) and str(caller).startswith("cli.") and not module.startswith("cli.")
        if is_step and module.split(".")[-1] not in ASIDE and self.steps[-1:] != [module]:
            self.steps.append(module)

    @property
    def again(self) -> dict[str, int]:
        """How often the data come back to a module."""
        return {module: n - 1 for module, n in Counter(self.steps).items() if n > 1}


def module_of(file: str) -> str | None:
    """Return the module of the package that a file is, by its name below the package."""
    path = Path(file)
    if not path.is_relative_to(ROOT):
        return None
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def follow(*arguments: str) -> None:
    """Print the way of one command."""
    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        run(arguments)  # compiled and imported from here on
        way = Way()
        sys.setprofile(way)
        try:
            code = run(arguments)
        finally:
            sys.setprofile(None)
    if code:
        raise SystemExit(silent.getvalue())
    in_cli = sum(module.startswith("cli") for module in way.modules)
    n_cli = sum(module.startswith("cli") for module, _ in way.functions)
    print(f"maxmargin {' '.join(a for a in arguments if '/' not in a)}")
    print(f"passes {len(way.modules)} modules and {len(way.functions)} functions,")
    print(f"of which {in_cli} and {n_cli} are of the command line.")
    print(f"Steps of the data: {', '.join(way.steps)}")
    print(f"Entered again: {way.again or 'none'}")
    for module in way.modules:
        print(f"  {module}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, model = str(Path(folder, "train.conll")), str(Path(folder, "a.mm"))
        Path(file).write_text(TEXT, encoding="utf-8")
        options = ("--model", model, "--max-iter", "3", "--tol", "0.5")
        follow("train", "chain", file, *options)
        follow("train", "chain", file, *options, "--dev", file)


if __name__ == "__main__":
    main()
