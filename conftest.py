"""What is left out where torch is not installed: the examples of the layers over nets."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent

#: What needs torch: folders and files with examples. Tests in tests/deep skip themselves, by name.
NEED_TORCH = [
    ROOT / name
    for name in (
        "src/maxmargin/deep",
        "src/maxmargin/rounding/learnt.py",
        "docs/deep.md",
        "tests/deep/listing.py",
        "tests/deep/switches.py",
    )
]
HAS_TORCH = find_spec("torch") is not None


def pytest_report_header(config):  # noqa: ANN201
    """Say what is left out."""
    if HAS_TORCH:
        return None
    names = ", ".join(str(path.relative_to(ROOT)) for path in NEED_TORCH)
    return f"torch is not installed: {names} and tests/deep are left out (make test-deep has it)"


def pytest_ignore_collect(collection_path, config):  # noqa: ANN201
    """Leave out what needs torch, where there is none."""
    if not HAS_TORCH and any(
        collection_path == path or path in collection_path.parents for path in NEED_TORCH
    ):
        return True
    return None
