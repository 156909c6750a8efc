"""Lines of svmlight files: what one may look like, and what is wrong with one that does not."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from maxmargin.io.files import shown

WHOLE = re.compile(r"[-+]?[0-9]{1,19}")
# Possessive (++): no backtracking, so refusing a long line takes little time and memory.
_FLOAT = r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+"
_VALUE = rf"(?:{_FLOAT}|[-+]?(?i:nan|inf(?:inity)?+))"
PAIRS = re.compile(rf"(?:[ \t]++[0-9]{{1,10}}+:{_VALUE}(?![^ \t]))*+[ \t]*+")
_PAIR = re.compile(rf"(-?[0-9]+):({_VALUE})")
_NUMBER = re.compile(_VALUE)
HEAD = re.compile(r"(?:[ \t]++([^ \t:]++)(?![^ \t]))?([ \t]++qid:[^ \t]*+)?")
#: The highest index: indices are int32 in a csr matrix, and no known file is as wide as this.
_WIDEST, _WIDEST_SAID = 1 << 27, (1 << 31) - 1


@dataclass(frozen=True)
class Dialect:
    """What a line may look like."""

    n_features: int | None
    zero_based: bool | str
    multilabel: bool = False
    has_queries: bool = False

    @property
    def lowest(self) -> int:
        """The lowest index there may be."""
        return 1 if self.zero_based is False else 0

    @property
    def top(self) -> int:
        """The highest index that can be accepted by looking at one line only."""
        if self.n_features is None:
            return _WIDEST
        # Whether index n_features is too high may depend on an index 0 in another line.
        top = self.n_features - (1 if self.zero_based is True else 0)
        return min(top, _WIDEST_SAID)


def label_of(text: str) -> int | float | None:
    """A label: int where it is whole, None where it is no label."""
    if WHOLE.fullmatch(text):
        number: int | float = int(text)
    elif _NUMBER.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            return None
        if number == math.floor(number):
            number = int(number)
    else:
        return None
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        return None
    return number


def fault(name: str, number: int, line: str, dialect: Dialect) -> ValueError:
    """What is wrong with a line."""
    problem = _head_fault(line, dialect) or _pair_fault(line, dialect)
    problem = problem or f"cannot be read: {shown(line.strip())}."
    return ValueError(f"{name}, line {number}: {problem}")


def _pieces(line: str) -> Iterator[str]:
    """The fields between spaces and tabs; one by one, as a line may be as long as the file."""
    return (piece.group() for piece in re.finditer(r"[^ \t]+", line))


def _head_fault(line: str, dialect: Dialect) -> str | None:
    pieces = _pieces(line)
    first = next(pieces)
    if ":" not in first:
        problem = _label_fault(first, dialect)
        if problem:
            return problem
        first = next(pieces, "")
    elif not dialect.multilabel:
        return f"expected a label first, got {shown(first)}."
    if not dialect.has_queries:
        return None
    if not first.startswith("qid:"):
        found = shown(first) if first else "nothing"
        return f"expected qid:number after the grade, got {found}."
    if not WHOLE.fullmatch(first[4:]) or not -(2**63) <= int(first[4:]) < 2**63:
        return f"expected a whole number after qid:, got {shown(first)}."
    return None


def _pair_fault(line: str, dialect: Dialect) -> str | None:
    head = HEAD.match(line)
    before = -1
    for piece in _pieces(line[head.end() :] if head else line):
        pair = _PAIR.fullmatch(piece)
        if pair is None:
            return f"expected index:number, got {shown(piece)}."
        index = int(pair[1]) if len(pair[1]) < 20 else _WIDEST_SAID + 1
        if not dialect.lowest <= index <= dialect.top:
            return _index_fault(piece, index, dialect)
        if index <= before:
            return f"the index of {shown(piece)} does not exceed the one before, {before}."
        if math.isinf(float(pair[2])):
            return f"the value of {shown(piece)} is not finite."
        before = index
    return None


def _label_fault(text: str, dialect: Dialect) -> str | None:
    labels = text.split(",") if dialect.multilabel else [text]
    for label in labels:
        if not _NUMBER.fullmatch(label) or not math.isfinite(float(label)):
            return f"the label {shown(label)} is not a finite number."
        found = label_of(label)
        if found is None:
            return f"the label {shown(label)} is beyond what 64 bits hold."
        if dialect.multilabel and not isinstance(found, int):
            return f"the label {shown(label)}, one of a set, is not a whole number."
        if dialect.has_queries and found < 0:
            return f"the grade {shown(label)} is below 0."
    if len({label_of(label) for label in labels}) < len(labels):
        return f"a label of {shown(text)} comes twice."
    return None


def _index_fault(piece: str, index: int, dialect: Dialect) -> str:
    if dialect.n_features is None and index > 0:
        return (
            f"the index of {shown(piece)} is above {_WIDEST}, which would make a matrix of absurd "
            "width; say n_features if it is meant."
        )
    top = "" if dialect.n_features is None else str(dialect.top)
    return f"the index of {shown(piece)} is outside {dialect.lowest}..{top}."
