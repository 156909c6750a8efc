"""The way of a fit: which modules and functions a training call passes, and which it comes back to.

    python benchmarks/way_of_a_fit.py

Counts the modules and functions of the package that `ChainSVM.fit` calls, where a compiled pass is
one call. Then it follows the data, from the moment in which the estimator begins to encode them:
the steps are the modules that those who lead the way (the estimator, its encoder, the fit) call,
one after the other. What a reader calls is a part of its step; checks of single numbers are no
step. A module is entered again if it is left for another one and comes back.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import maxmargin
from maxmargin import ChainSVM

ROOT = Path(maxmargin.__file__).parent
#: Modules that lead the way, rooms that hold the data, and helpers that hold none.
LEADERS = (
    "estimators.base", "estimators.hooks", "estimators.chain.svm", "estimators.chain.hooks",
    "estimators.chain.encoding", "training.fit", "training.task",
    # As 2cc4b70 has them, from before the recut; followed with its src in PYTHONPATH.
    "estimators.chain", "estimators.chain_encoding", "estimators.training",
)  # fmt: skip
ROOMS = ("inputs", "estimators", "training", "structures", "costs", "features")
ASIDE = ("inputs.checks", "training.settings", "estimators.settings", *LEADERS)


class Way:
    """A profiler that notes the functions of the package, and the steps of the data."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.modules: list[str] = []  # in the order in which they are first entered
        self.steps: list[str] = []
        self._begun = False

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        module = module_of(frame.f_code.co_filename) if event == "call" else None
        if module is None:
            return
        self.functions.add((module, frame.f_code.co_qualname))
        if module not in self.modules:
            self.modules.append(module)
        self._begun = self._begun or frame.f_code.co_name == "_encode"
        is_led = frame.f_back is not None and module_of(frame.f_back.f_code.co_filename) in LEADERS
        if self._begun and is_led and module not in ASIDE and self.steps[-1:] != [module]:
            self.steps.append(module)

    @property
    def again(self) -> dict[str, int]:
        """How often the data come back to a module of the rooms that hold them."""
        counts = Counter(self.steps)
        return {m: n - 1 for m, n in counts.items() if n > 1 and m.split(".")[0] in ROOMS}


def module_of(file: str) -> str | None:
    """Return the module of the package that a file is, by its name below the package."""
    path = Path(file)
    if not path.is_relative_to(ROOT):
        return None
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def follow(model: Any, X: Any, y: Any, **beside: Any) -> None:
    """Print the way of one fit."""
    model.fit(X, y, **beside)  # compiled and imported from here on
    way = Way()
    sys.setprofile(way)
    try:
        model.fit(X, y, **beside)
    finally:
        sys.setprofile(None)
    print(f"{model}.fit passes {len(way.modules)} modules and {len(way.functions)} functions.")
    print(f"Steps of the data: {', '.join(way.steps)}")
    print(f"Entered again: {way.again or 'none'}")
    for module in way.modules:
        print(f"  {module}")


def main() -> None:
    X = [[["w=a", "c=1"], ["w=b"], ["w=c", "c=1"]], [["w=b"], ["w=a", "c=1"]]] * 10
    y = [["B-X", "I-X", "O"], ["O", "B-X"]] * 10
    options = {"max_iter": 3, "tol": 0.5, "random_state": 0}
    follow(ChainSVM(**options), X, y)
    y[2] = ["B-X", None, "O"]
    fixed = [None] * 19 + [["O", None]]
    allowed = [None] * 20
    follow(ChainSVM(constraints="iob2", **options), X, y, fixed=fixed, allowed=allowed)


if __name__ == "__main__":
    main()
