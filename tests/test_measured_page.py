"""docs/measured.md is what benchmarks/page.py writes from benchmarks/results."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("page", ROOT / "benchmarks" / "page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_that_of_the_results(page, monkeypatch, tmp_path):
    names = ("PAGE", "CHOOSING", "GRAPHS", "LEARNT", "KERNELS", "SEARCHED", "SOLVERS")
    for name in names:
        path = getattr(page, name)
        shutil.copy(path, tmp_path)
        monkeypatch.setattr(page, name, tmp_path / path.name)
    page.main()
    for path in tmp_path.iterdir():
        name = path.name
        written, kept = path.read_text(), (ROOT / "docs" / name).read_text()
        assert written == kept, f"docs/{name} is old: python benchmarks/page.py"


def test_goals_are_explained_before_any_table_and_those_missed_are_named(page):
    text = (ROOT / "docs" / "measured.md").read_text()
    assert text.index('"Goals" are') < text.index("| goals |")
    line = {"what": "a", "ours": 2.0, "peer": 1.0, "unit": "s", "ratio": 2.0, "checks": [
        {"name": "ratio", "value": 2.0, "relation": "<=", "bound": 1.0, "is_met": False},
        {"name": "gap", "value": 0.0, "relation": "<=", "bound": 1.0, "is_met": True},
    ]}  # fmt: skip
    page.lines = lambda topic: [
        line,
        {**line, "checks": line["checks"][1:]},
        {**line, "checks": []},
    ]
    goals = [row[-1] for row in page.plain("words")[1]]
    assert goals == ["MISSED: ratio 2.00, not <= 1.00", "met", ""]
