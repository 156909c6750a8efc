"""Building a library of the entries that were compiled in this process."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from maxmargin.core.ahead.emit import BuildError, write_library
from maxmargin.core.ahead.load import FOLDER, FORMAT, convention
from maxmargin.core.ahead.stamp import files_of, stamp_of
from maxmargin.core.erase.entries import all_entries, classes_in, is_ours

__all__ = ["build_library"]

#: Versions of the C library that a file asks for; the newest of them is needed.
_GLIBC = re.compile(rb"GLIBC_2\.(\d+)")


def build_library(level: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Write the library of one level with its manifest; return the manifest.

    It holds all entries for the package's own types that this process has compiled or read from the
    cache. NUMBA_CPU_NAME and NUMBA_CPU_FEATURES must have said, when numba was imported, for which
    processors; numba takes this processor's features if only the first is set.
    """
    import numba

    if level != numba.config.CPU_NAME or numba.config.CPU_FEATURES is None:
        raise BuildError(f"Set NUMBA_CPU_NAME={level} and NUMBA_CPU_FEATURES= before building.")
    codes: dict[str, Any] = {}
    entries: dict[str, list[str]] = {}
    files: dict[str, str] = {}
    for entry in all_entries():
        for arguments, code in entry.codes.items():
            if not all(map(is_ours, (entry.function, *classes_in(arguments)))):
                continue
            symbol, result = entry.symbol(arguments), str(code.signature.return_type)
            stamp = stamp_of(entry.run, arguments)
            if not stamp:
                raise BuildError(f"The source of {entry.name} cannot be told.")
            codes[symbol], entries[symbol] = code, [stamp, result]
            files |= files_of(entry.run, arguments)
    if not codes:
        raise BuildError("Nothing was compiled that a library could hold.")
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    path = folder / f"{level}.so"
    manifest = {
        "format": FORMAT,
        "level": level,
        "convention": convention(),
        "helpers": write_library(path, codes),
        "glibc": f"2.{max(map(int, _GLIBC.findall(path.read_bytes())), default=17)}",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "files": files,
        "entries": entries,
    }
    (folder / f"{level}.json").write_text(json.dumps(manifest, indent=0) + "\n", encoding="utf-8")
    return manifest
