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
import warnings
from typing import Any

MODES = ("typed", "erased", "python")

#: The mode of a problem that is given none.
DEFAULT = "erased"


def choose_mode(mode: str | None, parts: dict[str, Any], cells: Any) -> tuple[str, str]:
    """Return the mode that a problem runs in, and why it is not "erased" ("" if it is).

    Where "erased" is the default and does not fit, NamedTuples run typed and objects as Python. If
    the argument `mode` is "erased", TypeError says instead why it does not fit.

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
    if asked == "python":
        return "python", "it runs as Python"
    objects = [name for name, part in parts.items() if not isinstance(part, tuple)]
    reason = "it runs typed"
    if asked == "erased":
        reason = _why_not(parts, cells)
        if reason and mode == "erased":
            raise TypeError(f"This problem cannot run in the mode 'erased': {reason}.")
        if not reason:
            return "erased", ""
    return ("python" if objects else "typed"), reason


def _why_not(parts: dict[str, Any], cells: Any) -> str:
    """Return why a problem cannot be erased, or "" if it can."""
    if cells.hasobject:  # known without the compiler, which takes a while to load
        return "the cells of outputs are objects"
    try:
        from maxmargin.core.erase import why_not_erased
    except ImportError as error:
        reason = f"this version of numba lacks private parts that it needs ({error})"
        message = f"Passes are compiled for each structure, which takes longer: {reason}."
        warnings.warn(message, RuntimeWarning, stacklevel=3)
        return reason
    return why_not_erased(parts, cells)
