"""The version, in one place: the build and the model files read it from here."""

from __future__ import annotations

__version__ = "0.1.0"
