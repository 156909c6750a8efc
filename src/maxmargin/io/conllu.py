"""CoNLL-U: sentences with lemmas, tags, heads and relations, one word per line, ten columns.

Comments, multiword tokens (``3-4``) and empty nodes (``3.1``) are no words. They are kept, in their
places, and written again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin.io.files import Source, numbered_lines, source_name
from maxmargin.io.replace import atomic_write

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_HEAD, _DEPREL = COLUMNS.index("head"), COLUMNS.index("deprel")


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
        return [row for row in self.lines if isinstance(row, tuple) and row[0].isdigit()]

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.words)

    @property
    def heads(self) -> list[int]:
        """The head of each word; 0 is the root."""
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
        """Return the sentence with other heads, or heads and relations; all else is kept."""
        if len(arcs) != len(self):
            raise ValueError(f"The sentence has {len(self)} words, but {len(arcs)} arcs are given.")
        rest, lines = iter(arcs), []
        for line in self.lines:
            if isinstance(line, tuple) and line[0].isdigit():
                arc = next(rest)
                head, relation = arc if isinstance(arc, tuple) else (arc, line[_DEPREL])
                line = (*line[:_HEAD], str(int(head)), str(relation), *line[_DEPREL + 1 :])
            lines.append(line)
        return Sentence(tuple(lines))


def read_conllu(source: Source) -> list[Sentence]:
    """Return the sentences of a CoNLL-U file, packed by gzip or not.

    Raises ValueError, with the number of the line, for a line that has not ten columns, a word out
    of order, and a head that is no word.
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
    return list(_sentences(text.splitlines(), "text"))


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
    return columns


def _checked(lines: list[Any], name: str, begin: int) -> Sentence:
    """Return a sentence whose words are numbered from 1 and whose heads are words, or unknown."""
    n_words = sum(isinstance(row, tuple) and row[0].isdigit() for row in lines)
    if n_words == 0:
        raise ValueError(f"{name}, line {begin}: a sentence without a word.")
    expected = 1
    for number, row in enumerate(lines, start=begin):
        if not isinstance(row, tuple) or not row[0].isdigit():
            continue
        if row[0] != str(expected):
            raise ValueError(
                f"{name}, line {number}: expected word {expected} of the sentence, got {row[0]!r}."
            )
        expected += 1
        head = row[_HEAD]
        if head != "_" and not (head.isdigit() and int(head) <= n_words):
            raise ValueError(
                f"{name}, line {number}: the head {head!r} is no word; expected 0 for the root, or "
                f"1 to {n_words}."
            )
    return Sentence(tuple(lines))
