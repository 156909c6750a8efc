"""How passes run: compiled for the types of one problem, compiled for all, or as Python.

========  ==========================================================================================
"erased"  a pass is compiled once; it calls structure, cost and search through addresses
"typed"   a pass is compiled for the types of structure, cost and search, which it inlines
"python"  nothing is compiled
========  ==========================================================================================

All three run the same source. `MAXMARGIN_MODE` in the environment replaces the default.
"""

from __future__ import annotations

import os
from typing import Any

MODES = ("typed", "erased", "python")

#: The mode of a problem that is given none.
DEFAULT = "typed"


def choose_mode(mode: str | None, parts: dict[str, Any], cells: Any) -> tuple[str, str]:
    """Return the mode that a problem runs in, and why it is not "erased" ("" if it is).

    Objects run as Python in every mode. NamedTuples that cannot be packed run typed; but if the
    argument `mode` is "erased", TypeError says which item cannot be packed.

    Parameters
    ----------
    mode : one of MODES, or None for the default
    parts : data, cost and others by name
    cells : dtype of the cells of outputs

    Examples
    --------
    >>> import numpy as np
    >>> choose_mode("python", {"data": (np.zeros(3),)}, np.dtype(np.int32))
    ('python', 'it runs as Python')
    """
    asked = mode or os.environ.get("MAXMARGIN_MODE") or DEFAULT
    if asked not in MODES:
        raise ValueError(f"mode must be one of {list(MODES)}, got {asked!r}.")
    objects = [name for name, part in parts.items() if not isinstance(part, tuple)]
    if asked == "python":
        return "python", "it runs as Python"
    if objects:
        return "python", f"{objects[0]} is an object, not a NamedTuple of arrays"
    if asked == "typed":
        return "typed", "it runs typed"
    from maxmargin.core.erase import why_not_erased

    reason = why_not_erased(parts, cells)
    if reason and mode == "erased":
        raise TypeError(f"This problem cannot run in the mode 'erased': {reason}.")
    return ("typed", reason) if reason else ("erased", "")
