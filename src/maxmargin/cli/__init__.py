"""The command line: every command builds the objects that a script would, and prints what they say.

Results go to stdout, everything else to stderr. Bad input ends with exit code 2 and the sentence
that Python would raise, and leaves no file behind; Ctrl-C ends with 130. Commands import what they
need when they run, so that ``maxmargin --help`` does not load a compiler.
"""

from __future__ import annotations

from maxmargin.cli.main import main

__all__ = ["main"]
