"""The words and brackets of a CFN file: JSON in which quotes and separators may be missing."""

from __future__ import annotations

import math
import re
from typing import NoReturn

from maxmargin.io.files import Source, numbered_lines, shown, source_name

__all__ = ["CLOSE", "OPEN", "CfnWords"]

OPEN, CLOSE = "{", "}"
_TOKEN = re.compile(r'[\s,:]*+(?:([{\[])|([}\]])|"([^"]*+)"|([^\s,:{}\[\]"]++))')
_REST = re.compile(r"[\s,:]*+")
#: Numbers with commas and blanks between them, as far as they go; the last one may go on.
_NUMBERS = re.compile(r"[-+0-9.eE,\s]*+")
_NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+")


class CfnWords:
    """The tokens of a CFN file. Both kinds of brackets are alike, and given as ``{`` and ``}``.

    Attributes
    ----------
    name : str
    line : int
        The line of the token that was read last.

    Examples
    --------
    >>> import io
    >>> words = CfnWords(io.StringIO('{"a": [1 2]'))
    >>> words.opening("the file"), words.word("a name"), words.opening("a list"), words.costs("x")
    (None, 'a', None, [1.0, 2.0])
    >>> words.closing("the file")
    Traceback (most recent call last):
        ...
    ValueError: <stream>, line 1: the file ends here; expected the end of the file.
    """

    def __init__(self, source: Source) -> None:
        self.name = source_name(source)
        self.line = 0
        self._lines = numbered_lines(source)
        self._text = ""
        self._at = 0
        self._ahead: tuple[str, str] | None = None

    def fail(self, problem: str, line: int | None = None) -> NoReturn:
        """Raise the error that says what is wrong with a line, or with the one in hand."""
        raise ValueError(f"{self.name}, line {max(1, line or self.line)}: {problem}")

    def peek(self, what: str) -> tuple[str, str]:
        """Return the next token, which is read again: ("{" or "}" or "word" or "end", its text)."""
        if self._ahead is None:
            self._ahead = self._next()
        if self._ahead[0] == "end":
            self.fail(f"the file ends here; expected {what}.")
        return self._ahead

    def _next(self) -> tuple[str, str]:
        while _REST.fullmatch(self._text, self._at):
            found = next(self._lines, None)
            if found is None:
                return "end", ""
            self.line, self._text = found
            self._at = len(self._text) if self._text.startswith("#") else 0
        token = _TOKEN.match(self._text, self._at)
        if token is None:
            rest = self._text[self._at :].strip()
            self.fail(f"a quote does not end in its line: {shown(rest)}")
        self._at = token.end()
        if token[1]:
            return OPEN, token[1]
        if token[2]:
            return CLOSE, token[2]
        return "word", token[3] if token[3] is not None else token[4]

    def take(self, what: str) -> tuple[str, str]:
        """Return the next token."""
        found = self.peek(what)
        self._ahead = None
        return found

    def is_next(self, kind: str, what: str) -> bool:
        """Tell whether the next token is of a kind."""
        return self.peek(what)[0] == kind

    def word(self, what: str) -> str:
        """Return the next token, which must be a word."""
        kind, text = self.take(what)
        if kind != "word":
            self.fail(f"expected {what}, got {shown(text)}.")
        return text

    def opening(self, what: str) -> None:
        """Read a bracket that opens."""
        kind, text = self.take(what)
        if kind != OPEN:
            self.fail(f"expected {what} in brackets, got {shown(text)}.")

    def closing(self, what: str) -> None:
        """Read a bracket that closes."""
        kind, text = self.take(f"the end of {what}")
        if kind != CLOSE:
            self.fail(f"expected the end of {what}, got {shown(text)}.")

    def end(self) -> None:
        """Refuse anything that is left."""
        if self._ahead is None:
            self._ahead = self._next()
        if self._ahead[0] != "end":
            self.fail(f"expected the end of the file, got {shown(self._ahead[1])}.")

    def skip_tag(self, tag: str, what: str) -> bool:
        """Read a word if it is this tag; tell whether it was."""
        if self.peek(what) == ("word", tag):
            self._ahead = None
            return True
        return False

    def number(self, what: str) -> float:
        """Return the next token as a number, finite or infinite."""
        return self.as_number(self.word(what), what)

    def as_number(self, text: str, what: str) -> float:
        """Return a word as a number."""
        if _NUMBER.fullmatch(text):
            value = float(text)
            if math.isfinite(value):
                return value
        elif text.lower() in ("inf", "+inf", "-inf"):
            return float(text)
        self.fail(f"expected {what}, a number, got {shown(text)}.")

    def costs(self, what: str) -> list[float]:
        """Return the numbers up to the bracket that closes a list."""
        found: list[float] = []
        while True:
            if self._ahead is None:
                found += self._many()
            kind, text = self.take(f"the end of {what}")
            if kind == CLOSE:
                return found
            if kind == OPEN:
                self.fail(f"expected {what}, got {shown(text)}.")
            found.append(self.as_number(text, what))

    def _many(self) -> list[float]:
        """Return the numbers at hand in the line, up to something else; they are most of a file."""
        piece = _NUMBERS.match(self._text, self._at)
        if piece is None or piece.end() == self._at:
            return []
        end = piece.end()
        if end < len(self._text):  # the last number may go on
            end = max(piece[0].rfind(",") + self._at, piece[0].rfind(" ") + self._at, self._at)
        words = self._text[self._at : end].replace(",", " ").split()
        try:
            values = list(map(float, words))
        except ValueError:
            return []  # one by one, which finds the one that is wrong
        if not all(map(math.isfinite, values)):
            return []
        self._at = end
        return values
