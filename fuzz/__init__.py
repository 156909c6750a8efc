"""Fuzzing of everything that reads a file. `python fuzz/run.py --help`; see README.md here."""

from __future__ import annotations
