"""Puts the library of compiled code into a wheel, if MAXMARGIN_WHEEL=linux asks for it.

The wheel is then for Linux on x86-64. It serves every version of Python, since the library does not
call Python. Without the variable the wheel is pure, and users compile.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = Path("src", "maxmargin", "_library")


class LibraryHook(BuildHookInterface):
    """Adds files that git ignores, and names the platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        asked = os.environ.get("MAXMARGIN_WHEEL", "pure")
        if version == "editable" or asked == "pure":
            return
        if asked != "linux":
            raise ValueError(f"MAXMARGIN_WHEEL must be pure or linux, got {asked!r}.")
        manifests = sorted((Path(self.root) / LIBRARY).glob("*.json"))
        if not manifests:
            raise FileNotFoundError("There is no library: run `make core` first.")
        glibc = [json.loads(path.read_text(encoding="utf-8"))["glibc"] for path in manifests]
        newest = max(glibc, key=lambda text: [int(part) for part in text.split(".")])
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{newest.replace('.', '_')}_x86_64"
        build_data["artifacts"] += [f"/{LIBRARY.as_posix()}/*"]
