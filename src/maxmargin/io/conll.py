"""Column files of the CoNLL shared tasks: one token per line, an empty line after each sentence."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from maxmargin.io.files import Source, numbered_lines, shown, source_name
from maxmargin.io.replace import atomic_write

__all__ = ["ConllData", "conll_width", "read_conll", "write_conll"]

Row = tuple[str, ...]
_DOCSTART = "-DOCSTART-"
_LONGEST = 1 << 20  # characters of a line; templates would copy a longer token many times


@dataclass
class ConllData:
    """Sentences of a column file.

    Attributes
    ----------
    sentences : list of list of tuple of str
        The rows of every sentence, without the tag column, so that no feature can see it.
    tags : list of list of str, or None
        The tags of every sentence; None where the file was read without.
    columns : tuple of str
        Names of the columns of a row.
    tag_column : int or None
        Where the tags stood in the file, counted from 0.
    document_starts : list of int
        Sentences before which a ``-DOCSTART-`` line stood.
    first_lines : list of int
        The line of the file, from 1, on which each sentence begins; its rows follow line by line.
    """

    sentences: list[list[Row]]
    tags: list[list[str]] | None
    columns: tuple[str, ...]
    tag_column: int | None
    document_starts: list[int] = field(default_factory=list)
    first_lines: list[int] = field(default_factory=list, compare=False)

    @property
    def n_tokens(self) -> int:
        """Number of rows over all sentences."""
        return sum(map(len, self.sentences))


def _fields(line: str, separator: str | None) -> list[str]:
    if separator is None:
        # Not str.split(): a no-break space is part of a word.
        return [piece for piece in line.replace("\t", " ").split(" ") if piece]
    return line.split(separator)


def _check_separator(separator: str | None) -> None:
    if separator is not None and (not isinstance(separator, str) or separator in ("", "\n")):
        raise ValueError(f"separator must be None or a string such as '\\t', got {separator!r}.")


def conll_width(source: Source, *, separator: str | None = None) -> int:
    r"""Number of columns of a CoNLL file, from its first token.

    Parameters
    ----------
    source : path or open file
    separator : str or None, default None
        None: spaces and tabs.

    Examples
    --------
    >>> import io
    >>> conll_width(io.StringIO("the DT B-NP\n"))
    3
    """
    _check_separator(separator)
    for _, line in numbered_lines(source, _LONGEST):
        if line.strip() and not line.startswith(_DOCSTART):
            return len(_fields(line, separator))
    raise ValueError(f"{source_name(source)}: holds no token.")


def _choose_columns(
    columns: Sequence[str] | Mapping[str, int] | None, n: int, tag: int | None, name: str
) -> dict[str, int]:
    """Column names and their places in the file."""
    places = [j for j in range(n) if j != tag]
    if columns is None:
        chosen = {{0: "w", 1: "pos"}.get(j, f"c{j}"): j for j in places}
    elif isinstance(columns, Mapping):
        chosen = {}
        for key, j in columns.items():
            if not -n <= j < n:
                raise ValueError(f"{name}: columns[{key!r}]={j}, but the file has {n} columns.")
            if j % n == tag:
                raise ValueError(f"{name}: columns[{key!r}]={j} is the tag column.")
            chosen[key] = j % n
    else:
        if isinstance(columns, str):
            raise TypeError(f"columns must be a sequence of names or a mapping, got {columns!r}.")
        if len(columns) != len(places) or len(set(columns)) != len(columns):
            raise ValueError(
                f"{name}: columns names {list(columns)}, but there are {len(places)} columns "
                "besides the tags, each of which needs a name of its own."
            )
        chosen = dict(zip(columns, places, strict=True))
    if not chosen:
        raise ValueError(
            f"{name}: no column is left besides the tags; for a file without tags say "
            "tag_column=None."
        )
    return chosen


def read_conll(
    source: Source,
    tag_column: int | None = -1,
    separator: str | None = None,
    columns: Sequence[str] | Mapping[str, int] | None = None,
) -> ConllData:
    r"""Sentences and tags of a CoNLL column file, plain or gzipped.

    Parameters
    ----------
    source : path or open file
        UTF-8. Lines of white space end a sentence; ``-DOCSTART-`` lines are noted and left out.
    tag_column : int or None, default -1
        The column of the tags, negative from the end. None: there are none.
    separator : str or None, default None
        None: spaces and tabs, several counting as one. A string such as ``"\t"``: exactly that, so
        that fields may be empty (a tag may not).
    columns : sequence of str, mapping or None, default None
        Names of the columns besides the tags, in order; or a mapping from names to columns, which
        keeps only those. None: "w", "pos", "c2", "c3", ... after the place in the file.

    Returns
    -------
    ConllData

    Raises
    ------
    ValueError
        For a line with fewer or more columns than the first one, or of more than a million
        characters, naming file and line; for a file that holds no token, is not UTF-8 or lacks the
        column asked for.

    Examples
    --------
    >>> import io
    >>> data = read_conll(io.StringIO("the DT B-NP\ncat NN I-NP\n\nwhy WRB O\n"))
    >>> data.sentences
    [[('the', 'DT'), ('cat', 'NN')], [('why', 'WRB')]]
    >>> data.tags
    [['B-NP', 'I-NP'], ['O']]
    >>> data.columns
    ('w', 'pos')
    >>> data.first_lines
    [1, 4]
    """
    _check_separator(separator)
    name = source_name(source)
    sentences: list[list[Row]] = [[]]
    tags: list[list[str]] = [[]]
    starts: list[int] = []
    first_lines: list[int] = []
    chosen: dict[str, int] = {}
    tag: int | None = None
    known: dict[str, str] = {}  # words and tags repeat: each string is kept once
    width = first = 0
    for number, line in numbered_lines(source, _LONGEST):
        is_start = line.startswith(_DOCSTART)
        if is_start or not line.strip():
            if sentences[-1]:
                sentences.append([])
                tags.append([])
            if is_start:
                starts.append(len(sentences) - 1)
            continue
        if "\r" in line:
            raise ValueError(
                f"{name}, line {number}: holds a carriage return; lines end in \\n or \\r\\n: "
                f"{shown(line)}"
            )
        row = _fields(line, separator)
        if not width:
            width, first = len(row), number
            tag = _tag_place(tag_column, width, name)
            chosen = _choose_columns(columns, width, tag, name)
            places = list(chosen.values())
        if len(row) != width:
            raise ValueError(
                f"{name}, line {number}: expected {width} columns as on line {first}, "
                f"got {len(row)}: {shown(line)}"
            )
        if tag is not None:
            if not row[tag]:
                raise ValueError(f"{name}, line {number}: the tag is empty: {shown(line)}")
            tags[-1].append(known.setdefault(row[tag], row[tag]))
        if not sentences[-1]:
            first_lines.append(number)
        sentences[-1].append(tuple([known.setdefault(row[j], row[j]) for j in places]))
    if not width:
        raise ValueError(f"{name}: holds no token.")
    if not sentences[-1]:
        del sentences[-1], tags[-1]
    return ConllData(
        sentences, None if tag is None else tags, tuple(chosen), tag, starts, first_lines
    )


def _tag_place(tag_column: int | None, width: int, name: str) -> int | None:
    if tag_column is None:
        return None
    if not -width <= tag_column < width:
        raise ValueError(f"{name}: tag_column={tag_column}, but the file has {width} columns.")
    return tag_column % width


def write_conll(
    target: str | os.PathLike[str] | IO[str],
    sentences: Sequence[Sequence[Row] | Sequence[str]],
    tags: Sequence[Sequence[Any]] | None = None,
    predictions: Sequence[Sequence[Any]] | None = None,
    *,
    separator: str = " ",
    tag_column: int | None = None,
    document_starts: Iterable[int] = (),
) -> None:
    """Write sentences with their tags and, as a last column, predictions.

    With both, the last two columns are the truth and the prediction, as conlleval reads them.

    Parameters
    ----------
    target : path or file open for text
        A path is replaced in one step once everything is written; ``.gz`` compresses.
    sentences : sequence of sequences of rows
        A row is a tuple of str, or one str.
    tags, predictions : sequence of sequences, or None
        One for every row; None leaves the column out.
    separator : str, default " "
    tag_column : int or None, default None
        Where `tags` go in the row, counted from 0; None: after its columns.
    document_starts : iterable of int
        Sentences before which a ``-DOCSTART-`` line is written.

    Examples
    --------
    >>> import sys
    >>> write_conll(sys.stdout, [[("the", "DT"), ("cat", "NN")]], predictions=[["B-NP", "I-NP"]])
    the DT B-NP
    cat NN I-NP
    <BLANKLINE>
    """
    _check_separator(separator)
    for what, given in (("tags", tags), ("predictions", predictions)):
        _check_lengths(what, given, sentences)
    starts = set(document_starts)
    blocks = []
    for i, sentence in enumerate(sentences):
        lines = []
        for t, row in enumerate(sentence):
            out = [row] if isinstance(row, str) else list(row)
            if tags is not None:
                out.insert(len(out) if tag_column is None else tag_column, str(tags[i][t]))
            if predictions is not None:
                out.append(str(predictions[i][t]))
            lines.append(_join(out, separator, f"sentences[{i}][{t}]"))
        if not lines:
            raise ValueError(f"sentences[{i}] is empty, which a CoNLL file cannot hold.")
        if i in starts:
            width = lines[0].count(separator)
            blocks.append(separator.join([_DOCSTART, *["-X-"] * (width - 1), "O"][: width + 1]))
            blocks.append("")
        blocks += [*lines, ""]
    text = "\n".join(blocks) + "\n" if blocks else ""
    if isinstance(target, (str, os.PathLike)):
        with atomic_write(target) as file:
            file.write(text.encode("utf-8"))
    else:
        target.write(text)


def _check_lengths(what: str, given: Sequence[Sequence[Any]] | None, sentences: Any) -> None:
    if given is None:
        return
    if len(given) != len(sentences):
        raise ValueError(f"{what} has {len(given)} sequences, but there are {len(sentences)}.")
    for i, (sequence, sentence) in enumerate(zip(given, sentences, strict=True)):
        if len(sequence) != len(sentence):
            raise ValueError(
                f"{what}[{i}] has {len(sequence)} entries but sentences[{i}] has "
                f"{len(sentence)} rows."
            )


def _join(fields: list[str], separator: str, where: str) -> str:
    """One line; a field that would be read back as something else is refused, not written."""
    forbidden = [separator, "\n", "\r"] + (["\t"] if separator == " " else [])
    for piece in fields:
        if any(mark in piece for mark in forbidden) or (separator == " " and not piece):
            raise ValueError(
                f"{where}: the field {piece!r} cannot be written with separator={separator!r}."
            )
    line = separator.join(fields)
    if not line.strip() or line.startswith((_DOCSTART, "\ufeff")):
        raise ValueError(f"{where}: the line {line!r} would not be read back as a token.")
    return line
