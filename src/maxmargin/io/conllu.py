"""CoNLL-U: sentences with lemmas, tags, heads and relations, one word per line, ten columns.

Comments, multiword tokens (``3-4``) and empty nodes (``3.1``) are no words. They are kept, in their
places, and written again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin.io.files import Source, numbered_lines, source_name
from maxmargin.io.replace import atomic_write
from maxmargin.metrics.parses import read_arc

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_HEAD, _DEPREL = COLUMNS.index("head"), COLUMNS.index("deprel")
#: Numbers of words, of tokens of several words, and of empty nodes.
_ID = re.compile(r"[0-9]+([-.][0-9]+)?")
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Sentence:
    r"""One sentence of a CoNLL-U file; in the place of X it is the sequence of its words.

    Attributes
    ----------
    lines : tuple of str or of rows
        All lines in their order: comments as text, others as tuples of ten columns.

    Examples
    --------
    >>> text = "# text = Go on\n1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n"
    >>> text += "2\ton\ton\tADP\t_\t_\t1\tcompound:prt\t_\t_\n\n"
    >>> sentence = parse_conllu(text)[0]
    >>> [row[1] for row in sentence], sentence.heads, sentence.arcs[1]
    (['Go', 'on'], [0, 1], (1, 'compound:prt'))
    """

    lines: tuple[Any, ...]

    @property
    def words(self) -> list[tuple[str, ...]]:
        """The rows of words: neither comments, nor multiword tokens, nor empty nodes."""
        return [row for row in self.lines if _is_word(row)]

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.words)

    @property
    def heads(self) -> list[int]:
        """The head of each word; 0 is the root."""
        for row in self.words:
            if row[_HEAD] == "_":
                raise ValueError(
                    f"word {row[0]} of the sentence, {row[1]!r}, has no head: the file has '_' "
                    f"there. The sentence begins {' '.join(own[1] for own in self.words)!r:.60}."
                )
        return [int(row[_HEAD]) for row in self.words]

    @property
    def relations(self) -> list[str]:
        """The relation of each word to its head."""
        return [row[_DEPREL] for row in self.words]

    @property
    def arcs(self) -> list[tuple[int, str]]:
        """Head and relation of each word: what `ParserSVM` takes as y."""
        return list(zip(self.heads, self.relations, strict=True))

    def with_arcs(self, arcs: Sequence[Any]) -> Sentence:
        """Return the sentence with other heads, or heads and relations; all else is kept.

        arcs has a head for each word, or a pair (head, relation).
        """
        n_words = len(self)
        if len(arcs) != n_words:
            raise ValueError(f"The sentence has {n_words} words, but {len(arcs)} arcs are given.")
        rest, lines = iter(arcs), []
        for line in self.lines:
            if _is_word(line):
                where = f"arcs[{int(line[0]) - 1}]"
                head, relation = read_arc(next(rest), where)
                if not 0 <= head <= n_words:
                    raise ValueError(
                        f"{where} has the head {head}, which is no word; expected 0 for the root, "
                        f"or 1 to {n_words}."
                    )
                name = line[_DEPREL] if relation is None else str(relation)
                if "\t" in name or "\n" in name:
                    raise ValueError(
                        f"{where} has the relation {name!r}: a column has neither tabs nor line "
                        "ends."
                    )
                line = (*line[:_HEAD], str(head), name, *line[_DEPREL + 1 :])
            lines.append(line)
        return Sentence(tuple(lines))


def read_conllu(source: Source) -> list[Sentence]:
    """Return the sentences of a CoNLL-U file, packed by gzip or not.

    Raises ValueError, with the number of the line, for a line that has not ten columns, an id that
    is no number, a word out of order, and a head that is no word.
    """
    return list(_sentences((line for _, line in numbered_lines(source)), source_name(source)))


def parse_conllu(text: str) -> list[Sentence]:
    r"""Return the sentences of a text in CoNLL-U.

    Examples
    --------
    >>> parse_conllu("1\tGo\tgo\n")
    Traceback (most recent call last):
    ValueError: text, line 1: expected 10 columns separated by tabs, got 3: '1\tGo\tgo'.
    """
    # Not splitlines, which also cuts at characters that a word may have, such as \x0b or \u2028.
    return list(_sentences(text.split("\n"), "text"))


def write_conllu(path: str | os.PathLike[str], sentences: Iterable[Sentence]) -> None:
    """Write sentences, comments and all."""
    with atomic_write(path) as file:
        file.write(format_conllu(sentences).encode())


def format_conllu(sentences: Iterable[Sentence]) -> str:
    r"""Return sentences as the text of a CoNLL-U file.

    Examples
    --------
    >>> text = "# no words\n1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    >>> format_conllu(parse_conllu(text)) == text
    True
    """
    parts = []
    for sentence in sentences:
        for line in sentence.lines:
            parts.append("\t".join(line) if isinstance(line, tuple) else line)
        parts.append("")
    return "\n".join(parts) + "\n" if parts else ""


def _sentences(lines: Iterable[str], name: str) -> Iterator[Sentence]:
    held: list[Any] = []
    begin = 1
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")
        if line.strip():
            if not held:
                begin = number
            held.append(line if line.startswith("#") else _row(line, f"{name}, line {number}"))
        elif held:
            yield _checked(held, name, begin)
            held = []
    if held:
        yield _checked(held, name, begin)


def _row(line: str, where: str) -> tuple[str, ...]:
    columns = tuple(line.split("\t"))
    if len(columns) != len(COLUMNS):
        raise ValueError(
            f"{where}: expected {len(COLUMNS)} columns separated by tabs, got {len(columns)}: "
            f"{line!r:.80}."
        )
    if not _ID.fullmatch(columns[0]):
        raise ValueError(
            f"{where}: expected the number of a word, a range such as 3-4, or an empty node such "
            f"as 3.1 in the first column, got {columns[0]!r:.80}."
        )
    return columns


def _is_word(line: Any) -> bool:
    """Tell whether a line is that of a word: no comment, range or empty node."""
    return isinstance(line, tuple) and _NUMBER.fullmatch(line[0]) is not None


def _checked(lines: list[Any], name: str, begin: int) -> Sentence:
    """Return a sentence whose words are numbered from 1 and whose heads are words, or unknown."""
    n_words = sum(map(_is_word, lines))
    if n_words == 0:
        raise ValueError(f"{name}, line {begin}: a sentence without a word.")
    expected = 1
    for number, row in enumerate(lines, start=begin):
        if not _is_word(row):
            continue
        if row[0] != str(expected):
            raise ValueError(
                f"{name}, line {number}: expected word {expected} of the sentence, got "
                f"{row[0]!r:.80}."
            )
        expected += 1
        head = row[_HEAD]
        # A number of many digits is no word, and int() takes its time with it.
        is_short = _NUMBER.fullmatch(head) is not None and len(head.lstrip("0")) <= 9
        if head != "_" and not (is_short and int(head) <= n_words):
            raise ValueError(
                f"{name}, line {number}: the head {head!r:.80} is no word; expected 0 for the "
                f"root, or 1 to {n_words}."
            )
    return Sentence(tuple(lines))
