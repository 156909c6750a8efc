"""The page about the house names every file."""

from __future__ import annotations

from pathlib import Path

import maxmargin
from tests.conftest import ROOT

PACKAGE = Path(maxmargin.__file__).parent


def test_every_module_is_named_on_the_page_and_no_other():
    named: set[str] = set()
    room = ""
    for line in (ROOT / "docs" / "architecture.md").read_text().splitlines():
        if line.startswith("### `"):
            room = line.split("`")[1]
        elif room and line.startswith("| `"):
            named.add(room + line.split("`")[1])
    there = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py" and path.parent != PACKAGE
    }
    assert named == there
