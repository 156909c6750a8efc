"""Gazetteers: lists of phrases, such as names of cities, that are looked for in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from maxmargin.io.files import Source, numbered_lines, source_name

__all__ = ["Gazetteer"]

_LONGEST = 1 << 16  # characters of a line
_END = ""  # the key under which a node says that a phrase ends there; no word is empty


@dataclass(frozen=True)
class Gazetteer:
    """Phrases, and where they stand in a sentence.

    A sentence is read from left to right, and at each word the longest phrase that begins there is
    taken; the next one begins after it.

    Parameters
    ----------
    phrases : iterable of str
        Words are parted by white space.
    ignore_case : bool, default False
        Whether upper and lower case are the same.

    Examples
    --------
    >>> cities = Gazetteer(["New York", "York", "Paris"])
    >>> cities.find(["From", "New", "York", "to", "York"])
    ['O', 'B', 'I', 'O', 'B']
    >>> len(cities)
    3
    """

    phrases: tuple[str, ...]
    ignore_case: bool = False
    _root: dict[str, Any] = field(init=False, repr=False, compare=False)

    def __init__(self, phrases: Iterable[str], ignore_case: bool = False) -> None:
        if isinstance(phrases, str):
            raise TypeError(f"phrases must be a list of phrases, got the string {phrases!r:.60}.")
        if not isinstance(ignore_case, bool):
            raise TypeError(f"ignore_case must be True or False, got {ignore_case!r}.")
        known = set()
        for i, phrase in enumerate(phrases):
            if not isinstance(phrase, str):
                raise TypeError(f"phrases[{i}] must be a string, got {phrase!r:.60}.")
            plain = " ".join((phrase.lower() if ignore_case else phrase).split())
            if not plain:
                raise ValueError(f"phrases[{i}] has no word.")
            known.add(plain)
        if not known:
            raise ValueError("a gazetteer needs one phrase at least.")
        object.__setattr__(self, "phrases", tuple(sorted(known)))
        object.__setattr__(self, "ignore_case", ignore_case)
        object.__setattr__(self, "_root", _tree(self.phrases))

    @classmethod
    def read(cls, source: Source, ignore_case: bool = False) -> Gazetteer:
        r"""Read phrases from a file, one per line, plain or gzipped; empty lines are left out.

        Examples
        --------
        >>> import io
        >>> Gazetteer.read(io.StringIO("New York\n\nParis\n")).phrases
        ('New York', 'Paris')
        """
        lines = [line for _, line in numbered_lines(source, _LONGEST) if line.strip()]
        if not lines:
            raise ValueError(f"{source_name(source)}: holds no phrase.")
        return cls(lines, ignore_case)

    def __len__(self) -> int:
        """Return the number of different phrases."""
        return len(self.phrases)

    def find(self, words: Sequence[str]) -> list[str]:
        """Return for each word whether a phrase begins there (B), goes on (I) or neither (O)."""
        if self.ignore_case:
            words = [word.lower() for word in words]
        found, t = ["O"] * len(words), 0
        while t < len(words):
            length = self._match(words, t)
            if length:
                found[t : t + length] = ["B"] + ["I"] * (length - 1)
            t += max(length, 1)
        return found

    def _match(self, words: Sequence[str], start: int) -> int:
        """Return the length of the longest phrase that begins at a word; 0: none does."""
        node, longest = self._root, 0
        for t in range(start, len(words)):
            word = words[t] or " "  # an empty word is in no phrase
            if word not in node:
                break
            node = node[word]
            if _END in node:
                longest = t + 1 - start
        return longest

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.phrases, self.ignore_case)


def _tree(phrases: Iterable[str]) -> dict[str, Any]:
    """Return the phrases as a tree of words: a path from the root for each."""
    root: dict[str, Any] = {}
    for phrase in phrases:
        node = root
        for word in phrase.split():
            node = node.setdefault(word, {})
        node[_END] = {}
    return root
