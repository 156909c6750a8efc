"""Which file of tests a worker takes next, where several run them (`make test`).

Workers share the cache of compiled code. If two of them began with files that need the same
kernels, both would compile them at the same time, which is most of what the tests cost. So all
files stand in a row: in front those that compile most, in the order in which one leaves the most
to the next, at its end those that compile nothing or have a cache of their own. Every second
worker takes files from the front, the others take them from the end; where they meet, most is
compiled. A file stays with one worker.

A file that is not named here stands in the middle: it needs no line.
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling

#: In front: a folder or a file, each as its path begins.
FIRST = (
    "tests/contracts/test_contracts.py",
    "tests/contracts/",
    "tests/structures/",
    "tests/solvers/",
    "tests/search/",
    "tests/estimators/",
)
#: At the end, the very last first.
LAST = (
    "tests/recipes/",
    "tests/core/test_cache.py",
    "tests/core/test_ahead.py",
    "tests/core/test_sources.py",
    "tests/inference/test_boundscheck.py",
    "tests/test_",
    "tests/io/",
    "tests/tags/",
    "tests/datasets/",
    "tests/metrics/",
    "tests/persistence/",
    "tests/plots/",
    "tests/cli/",
)


def place(file: str) -> int:
    """Return the place of a file in the row: those of one folder have the same.

    Examples
    --------
    >>> files = ["tests/io/test_arff.py", "README.md", "tests/contracts/test_modes.py"]
    >>> sorted(files, key=place)
    ['tests/contracts/test_modes.py', 'README.md', 'tests/io/test_arff.py']
    """
    for k, start in enumerate(FIRST):
        if file.startswith(start):
            return k - len(FIRST)
    for k, start in enumerate(LAST):
        if file.startswith(start):
            return len(LAST) - k
    return 0


class FromBothEnds(LoadFileScheduling):  # type: ignore[misc]
    """Gives files from the front of the row to every second worker, from its end to the others."""

    def _assign_work_unit(self, node: Any) -> None:
        from_front = int(node.gateway.id.removeprefix("gw")) % 2 == 0
        choose = min if from_front else max
        # Of one place the longest first.
        chosen = choose(
            self.workqueue,
            key=lambda file: (place(file), len(self.workqueue[file]) * (-1 if from_front else 1)),
        )
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)
