"""``maxmargin info``: versions, machine, cache, and what can be chosen."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from maxmargin.cli import console, options

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "matplotlib", "safetensors", "joblib")


def info(as_json: options.Json = False) -> None:
    """Show versions, the machine, the cache of compiled code, and what can be chosen."""
    found = {
        "versions": _versions(),
        "machine": _machine(),
        "library": _library(),
        "cache": _cache(),
        "available": _available(),
    }
    if as_json:
        console.result_json({"command": "info", **found})
        return
    for title, rows in found.items():
        shown = {
            name: ", ".join(value) if isinstance(value, list) else value
            for name, value in rows.items()
        }
        console.result(console.facts(title.capitalize(), shown))


def _versions() -> dict[str, Any]:
    from maxmargin import __version__

    found = {"maxmargin": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _machine() -> dict[str, Any]:
    import joblib

    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": joblib.cpu_count(),
    }


def _processor() -> str:
    """Return the processor's name; Linux tells it in a file only."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _library() -> dict[str, Any]:
    """Say whether code that was built ahead is used, and why if it is not."""
    from maxmargin.core.ahead import changed_files, library

    found = library()
    if not found.level:
        return {"used": False, "reason": found.reason}
    changed = changed_files(found.files)
    told = {"changed since": [*changed, "what is made of these is compiled"]} if changed else {}
    return {"used": True, "processors": found.level, "entries": len(found), **told}


def _cache() -> dict[str, Any]:
    """Say where compiled code is kept: beside the source or, if that is read-only, elsewhere."""
    import maxmargin
    from maxmargin.core.compile import compiled
    from maxmargin.core.problem import evaluate

    home = Path(maxmargin.__file__).parent
    stats = getattr(compiled(evaluate), "stats", None)
    folder = None if stats is None or stats.cache_path is None else Path(stats.cache_path)
    if folder is None:
        return {"folder": "none: everything is compiled anew", "entries": 0, "megabytes": 0.0}
    top = home if home in folder.parents else folder.parent
    sizes = [entry.stat().st_size for entry in top.rglob("*.nbc")]
    return {
        "folder": str(folder),
        "writable": os.access(folder if folder.exists() else folder.parent, os.W_OK),
        "entries": len(sizes),
        "megabytes": round(sum(sizes) / 1e6, 1),
    }


def _available() -> dict[str, list[str]]:
    from maxmargin.cli.kinds import KINDS
    from maxmargin.costs import PRICED, fitting_costs
    from maxmargin.inference.graph.public import METHODS
    from maxmargin.io import EXTENSIONS, FUNCTIONS, GRAPH_EXTENSIONS, PRESETS, SCHEMES
    from maxmargin.search import SEARCHES
    from maxmargin.solvers import SOLVERS
    from maxmargin.surrogates import SURROGATES

    return {
        "kinds": list(KINDS),
        "solvers": ["auto", *SOLVERS],
        **{f"costs of {made_of}": fitting_costs(kind) for kind, (made_of, _) in PRICED.items()},
        "surrogates": list(SURROGATES),
        "searches": ["auto", *SEARCHES],
        "templates": list(PRESETS),
        "template functions": list(FUNCTIONS),
        "tag schemes": list(SCHEMES),
        "file formats": _formats(EXTENSIONS),
        "formats of models": _formats(GRAPH_EXTENSIONS),
        "methods of inference": list(METHODS),
    }


def _formats(extensions: dict[str, str]) -> list[str]:
    """Return the formats, each with the names of its files."""
    return [
        f"{kind} ({' '.join(name for name in extensions if extensions[name] == kind)})"
        for kind in dict.fromkeys(extensions.values())
    ]
