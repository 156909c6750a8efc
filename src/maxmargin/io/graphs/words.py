"""The words of a text file in turn, as numbers; errors name the file and the line."""

from __future__ import annotations

import math
import re
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.files import Source, numbered_lines, shown, source_name

__all__ = ["Words"]

_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(
    r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+|[-+]?(?i:nan|inf(?:inity)?+)"
)


class Words:
    r"""What stands between the blanks of a file, one word after the other.

    Nothing is made that is longer than what the file holds: a file that announces a billion numbers
    and has three is refused at its end.

    Parameters
    ----------
    source : path or file open for reading
    comment : str or None, default None
        The first word of lines that are left out.

    Examples
    --------
    >>> import io
    >>> words = Words(io.StringIO("2 0.5\n1e3\n"))
    >>> words.whole("a count"), words.numbers(2, "numbers")
    (2, array([5.e-01, 1.e+03]))
    >>> words.whole("the number of edges")
    Traceback (most recent call last):
        ...
    ValueError: <stream>, line 2: the file ends here; expected the number of edges.
    """

    def __init__(self, source: Source, comment: str | None = None) -> None:
        self.name = source_name(source)
        self.line = 0
        self._lines = numbered_lines(source)
        self._comment = comment
        self._words: list[str] = []
        self._at = 0
        self._is_odd = False

    def fail(self, problem: str, line: int | None = None) -> NoReturn:
        """Raise the error that says what is wrong with a line, or with the one in hand."""
        raise ValueError(f"{self.name}, line {max(1, line or self.line)}: {problem}")

    def has_more(self) -> bool:
        """Tell whether there is a further word; go to its line."""
        while self._at >= len(self._words):
            found = next(self._lines, None)
            if found is None:
                return False
            self.line, text = found
            self._words = text.split()
            self._at = 0
            # float() and int() accept more than files may hold: 1_0, and digits of any script.
            self._is_odd = "_" in text or not text.isascii()
            if self._comment is not None and self._words[:1] == [self._comment]:
                self._words = []
        return True

    def word(self, what: str) -> str:
        """Return the next word; `what` says what it should be."""
        if not self.has_more():
            self.fail(f"the file ends here; expected {what}.")
        self._at += 1
        return self._words[self._at - 1]

    def back(self) -> None:
        """Give the last word back, to be read again."""
        self._at -= 1

    def whole(self, what: str, low: int = 0, high: int = 2**31 - 1) -> int:
        """Return the next word as a whole number from `low` to `high`."""
        text = self.word(what)
        if not _WHOLE.fullmatch(text):
            self.fail(f"expected {what}, a whole number, got {shown(text)}.")
        number = int(text)
        if not low <= number <= high:
            self.fail(f"expected {what} from {low} to {high}, got {number}.")
        return number

    def number(self, what: str) -> float:
        """Return the next word as a finite number."""
        return float(self.numbers(1, what)[0])

    def numbers(
        self,
        n: int,
        what: str,
        low: float = -math.inf,
        high: float = math.inf,
        *,
        is_whole: bool = False,
        minus_inf: bool = False,
    ) -> NDArray[np.float64]:
        """Return the next `n` words as finite numbers from `low` to `high`, or perhaps -inf."""
        found: list[float] = []
        marks: list[tuple[int, int]] = []  # where the numbers of each line begin
        while len(found) < n:
            if not self.has_more():
                self.fail(f"the file ends here; expected {n} {what}, got {len(found)}.")
            words = self._words[self._at : self._at + n - len(found)]
            marks.append((len(found), self.line))
            try:
                if self._is_odd:
                    words = [_plain(word) for word in words]
                found += map(float, words)
            except ValueError:
                bad = next(word for word in words if not _NUMBER.fullmatch(word))
                self.fail(f"expected {what}, got {shown(bad)}.")
            self._at += len(words)
        values = np.array(found, dtype=np.float64)
        right = np.isfinite(values) & (low <= values) & (values <= high)
        if is_whole:
            right &= values == np.floor(values)
        if minus_inf:
            right |= values == -np.inf
        if not right.all():
            at = int(np.argmin(right))
            line = next(line for start, line in reversed(marks) if start <= at)
            self.fail(f"expected {what}{_range(low, high, is_whole)}, got {values[at]:g}.", line)
        return values

    def wholes(self, n: int, what: str, low: int, high: int) -> NDArray[np.int64]:
        """Return the next `n` words as whole numbers from `low` to `high`."""
        return self.numbers(n, what, low, high, is_whole=True).astype(np.int64)

    def end(self) -> None:
        """Refuse words that are left."""
        if self.has_more():
            self.fail(f"expected the end of the file, got {shown(self._words[self._at])}.")


def _range(low: float, high: float, is_whole: bool) -> str:
    """Return what numbers may be, in words."""
    if is_whole:
        return f", whole numbers from {low:.0f} to {high:.0f}"
    return ", finite" if low == -math.inf else f", finite and at least {low:g}"


def _plain(word: str) -> str:
    """Return a number as it is; refuse what only Python takes for one."""
    if not _NUMBER.fullmatch(word):
        raise ValueError
    return word
