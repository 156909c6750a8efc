"""One module a target: `seeds() -> list[bytes]` and `run(data: bytes) -> None`."""

from __future__ import annotations
