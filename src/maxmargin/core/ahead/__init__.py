"""A library of compiled code that is built ahead and comes with the package."""

from __future__ import annotations

from maxmargin.core.ahead.load import Built, Library, library
from maxmargin.core.ahead.stamp import changed_files, stamp_of

__all__ = ["Built", "Library", "changed_files", "library", "stamp_of"]
