"""Feature templates: a line such as ``w[-1]|w[0]`` becomes one binary feature a position.

The language, smallest things first::

    column[offset]       the value of a column, `offset` positions to the right: w[0], pos[-1]
    gazetteer[offset]    B, I or O: where a phrase of a gazetteer begins, goes on, or is not
    function(value)      lower(w[0]), shape(w[1]), prefix3(w[0]), suffix2(lower(w[0]))
    value|value|...      a conjunction: all the values together
    bias                 the same feature everywhere
    chunking, ner        a preset: the templates of `PRESETS` in its place

Templates are parted by white space, commas or semicolons; ``#`` starts a comment. A template whose
offset falls outside the sentence gives no feature there. Features are named after their template,
``"w[-1]|w[0]=in|the"``, so they read well in a table of weights.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from maxmargin.io.files import shown
from maxmargin.io.gazetteers import Gazetteer

__all__ = ["FUNCTIONS", "PRESETS", "FeatureTemplate"]

Sentence = Sequence[Sequence[str]] | Sequence[str]


def _map_characters(word: str) -> str:
    return "".join(
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word
    )


def _shape(word: str) -> str:
    return re.sub(r"(.)\1{3,}", r"\1\1\1\1", _map_characters(word))


def _short_shape(word: str) -> str:
    return re.sub(r"(.)\1+", r"\1", _map_characters(word))


def _prefix(n: int, word: str) -> str:
    return word[:n]


def _suffix(n: int, word: str) -> str:
    return word[-n:]


FUNCTIONS: dict[str, str] = {
    "lower": "in lower case",
    "shape": "X, x and d for upper case, lower case and digits; runs cut after four",
    "short_shape": "the same with runs cut after one",
    "prefixN": "the first N characters, or all of a shorter word",
    "suffixN": "the last N characters, or all of a shorter word",
}
"""The functions of the language and what they make of a value."""

_PLAIN: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "shape": _shape,
    "short_shape": _short_shape,
}
_COUNTED: dict[str, Callable[[int, str], str]] = {"prefix": _prefix, "suffix": _suffix}

PRESETS: dict[str, tuple[str, ...]] = {
    "chunking": (
        "bias",
        *(f"w[{k}]" for k in (-2, -1, 0, 1, 2)),
        *(f"pos[{k}]" for k in (-2, -1, 0, 1, 2)),
        *(f"{affix}{n}(w[0])" for affix in ("prefix", "suffix") for n in (2, 3)),
        "lower(w[0])",
        "shape(w[0])",
        "short_shape(w[0])",
        "w[-1]|w[0]",
        "w[0]|w[1]",
    ),
    "ner": (
        "bias",
        *(f"w[{k}]" for k in (-2, -1, 0, 1, 2)),
        *(f"lower(w[{k}])" for k in (-1, 0, 1)),
        *(f"{affix}{n}(w[0])" for affix in ("prefix", "suffix") for n in (1, 2, 3, 4)),
        *(f"shape(w[{k}])" for k in (-1, 0, 1)),
        "short_shape(w[0])",
        "short_shape(w[-1])|short_shape(w[0])|short_shape(w[1])",
        "w[-1]|w[0]",
        "w[0]|w[1]",
    ),
}
"""Sets of templates by name: "chunking" for words with parts of speech, "ner" for words alone."""

_MAX_CACHED = 1 << 18
_COLUMN = re.compile(r"([^\W\d]\w*)\[([+-]?[0-9]{1,9})\]")
_CALL = re.compile(r"([^\W\d]\w*)\(")
_DEEPEST = 20  # functions of functions


@dataclass(frozen=True)
class _Atom:
    """One value: a column at an offset, and what the functions around it make of it."""

    column: int  # gazetteers stand after all columns: -1 is the last one
    offset: int
    functions: tuple[Callable[[str], str], ...]

    def value(self, raw: str) -> str:
        """Apply the functions to the value of the column."""
        for function in self.functions:
            raw = function(raw)
        return raw


class _Cache(dict[Any, str]):
    """Feature strings by raw value.

    Words repeat, so nearly every look-up finds its string. Equal features are one object, which
    takes less memory and is hashed once.
    """

    def __init__(self, make: Callable[..., str]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: Any) -> str:
        if len(self) >= _MAX_CACHED:
            self.clear()
        made = self[key] = self.make(key)
        return made


class _Compiled:
    """One template, ready to run down the columns of a sentence."""

    def __init__(self, text: str, atoms: list[_Atom]) -> None:
        self.text = text
        self.atoms = atoms
        self.n_columns = max([0] + [a.column + 1 for a in atoms])
        self.low = max([0] + [-a.offset for a in atoms])
        self.high = min([0] + [-a.offset for a in atoms])
        self.cache = _Cache(self._single if len(atoms) == 1 else self._joint)

    def _single(self, raw: str) -> str:
        return f"{self.text}={self.atoms[0].value(raw)}"

    def _joint(self, raws: tuple[str, ...]) -> str:
        values = (atom.value(raw) for atom, raw in zip(self.atoms, raws, strict=True))
        return f"{self.text}={'|'.join(values)}"

    def run(self, columns: Sequence[Sequence[str]], n: int) -> list[str | None]:
        """The feature at each of `n` positions; None where an offset falls outside."""
        if not self.atoms:
            return [self.text] * n
        start, stop = self.low, n + self.high
        if start >= stop:
            return [None] * n
        slices = [columns[a.column][start + a.offset : stop + a.offset] for a in self.atoms]
        keys = slices[0] if len(slices) == 1 else zip(*slices, strict=True)
        return [None] * start + list(map(self.cache.__getitem__, keys)) + [None] * (n - stop)


def _unknown(kind: str, name: str, text: str, known: Iterable[str]) -> ValueError:
    return ValueError(
        f"template {shown(text)}: unknown {kind} {shown(name)}. There are: {', '.join(known)}."
    )


def _find_function(name: str, text: str) -> Callable[[str], str]:
    if name in _PLAIN:
        return _PLAIN[name]
    counted = re.fullmatch(r"([a-z]+)([1-9][0-9]{0,8})", name)
    if counted and counted[1] in _COUNTED:
        return partial(_COUNTED[counted[1]], int(counted[2]))
    raise _unknown("function", name, text, FUNCTIONS)


def _find_column(
    name: str, text: str, columns: tuple[str, ...] | None, lists: tuple[str, ...]
) -> int:
    if name in lists:
        return lists.index(name) - len(lists)
    if columns is not None:
        if name not in columns:
            raise _unknown("column", name, text, (*columns, *lists))
        return columns.index(name)
    if name in ("w", "pos"):
        return ("w", "pos").index(name)
    if re.fullmatch(r"c(0|[1-9][0-9]{0,8})", name):
        return int(name[1:])
    raise _unknown("column", name, text, ("w", "pos", "c2", "c3, ...", *lists))


def _parse_atom(
    piece: str, text: str, columns: tuple[str, ...] | None, lists: tuple[str, ...]
) -> _Atom:
    functions: list[Callable[[str], str]] = []
    start, stop = 0, len(piece)
    while piece.endswith(")", start, stop) and (call := _CALL.match(piece, start, stop)):
        functions.append(_find_function(call[1], text))
        start, stop = call.end(), stop - 1
        if len(functions) > _DEEPEST:
            raise ValueError(
                f"template {shown(text)}: more than {_DEEPEST} functions of one another."
            )
    functions.reverse()  # the innermost is applied first
    leaf = _COLUMN.fullmatch(piece, start, stop)
    if leaf is None:
        raise ValueError(
            f"template {shown(text)}: {shown(piece[start:stop])} is not a value; expected a column "
            "with an offset such as w[0] or pos[-1], a function of one such as shape(w[0]), or "
            "bias."
        )
    return _Atom(_find_column(leaf[1], text, columns, lists), int(leaf[2]), tuple(functions))


def _checked_gazetteers(
    gazetteers: Mapping[str, Gazetteer] | None, columns: Sequence[str] | None
) -> tuple[tuple[str, Gazetteer], ...]:
    """Return gazetteers with their names; refuse names that mean something else."""
    lists = tuple((gazetteers or {}).items())
    for name, gazetteer in lists:
        if not isinstance(gazetteer, Gazetteer):
            raise TypeError(f"gazetteers[{name!r}] must be a Gazetteer, got {gazetteer!r:.60}.")
        if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name):
            raise ValueError(f"a gazetteer must be named by one word of letters, got {name!r}.")
        is_column = re.fullmatch(r"w|pos|c\d+", name) if columns is None else name in columns
        if is_column or name == "bias" or name in PRESETS:
            raise ValueError(
                f"a gazetteer cannot be called {name!r}: that is a column, a preset or bias."
            )
    return lists


def _split_text(text: str) -> list[str]:
    text = re.sub(r"#.*", "", text)
    text = "|".join(piece.strip() for piece in text.split("|"))
    return [piece for piece in re.split(r"[\s,;]+", text) if piece]


@dataclass(frozen=True)
class FeatureTemplate:
    """A list of feature templates, checked and compiled. Make one with :meth:`parse`.

    Attributes
    ----------
    templates : tuple of str
        The templates, presets written out.
    columns : tuple of str or None
        Names of the columns of a row. None: "w", "pos", "c2", "c3", ... after their place.
    gazetteers : tuple of (str, Gazetteer)
        Lists of phrases by name. They are looked for in the column w, or in the first if none is
        called so.

    Examples
    --------
    >>> template = FeatureTemplate.parse("w[0] pos[-1]|pos[0] suffix2(lower(w[0]))")
    >>> for features in template.features([("The", "DT"), ("cat", "NN")]):
    ...     print(features)
    ['w[0]=The', 'suffix2(lower(w[0]))=he']
    ['w[0]=cat', 'pos[-1]|pos[0]=DT|NN', 'suffix2(lower(w[0]))=at']
    >>> FeatureTemplate.parse("tag[0]", columns=["w", "pos"])
    Traceback (most recent call last):
        ...
    ValueError: template 'tag[0]': unknown column 'tag'. There are: w, pos.
    """

    templates: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    gazetteers: tuple[tuple[str, Gazetteer], ...] = ()
    _compiled: tuple[_Compiled, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        compiled, lists = [], tuple(name for name, _ in self.gazetteers)
        for text in self.templates:
            pieces = [] if text == "bias" else text.split("|")
            atoms = [_parse_atom(piece, text, self.columns, lists) for piece in pieces]
            compiled.append(_Compiled(text, atoms))
        object.__setattr__(self, "_compiled", tuple(compiled))

    @classmethod
    def parse(
        cls,
        text: str | Iterable[str] | FeatureTemplate,
        columns: Sequence[str] | None = None,
        gazetteers: Mapping[str, Gazetteer] | None = None,
    ) -> FeatureTemplate:
        """Read templates from a text, or from a list of texts such as :meth:`to_list` gives.

        Parameters
        ----------
        text : str or iterable of str
            Templates or names of presets. One that stands twice is refused.
        columns : sequence of str or None, default None
            Names of the columns of a row, for instance `ConllData.columns`.
        gazetteers : mapping from names to Gazetteer, or None
            Templates use their names like those of columns. One that is in no template adds three:
            before, at and after a word.

        Returns
        -------
        FeatureTemplate

        Examples
        --------
        >>> FeatureTemplate.parse("bias, w[0]; w[-1] | w[0]  # a comment").to_list()
        ['bias', 'w[0]', 'w[-1]|w[0]']
        >>> len(FeatureTemplate.parse("chunking").to_list())
        20
        >>> cities = {"city": Gazetteer(["New York", "Paris"])}
        >>> FeatureTemplate.parse("city[0]|w[1]", gazetteers=cities).features(["New", "York", "is"])
        [['city[0]|w[1]=B|York'], ['city[0]|w[1]=I|is'], []]
        """
        if isinstance(text, FeatureTemplate):
            gazetteers = dict(text.gazetteers) if gazetteers is None else gazetteers
            text = text.to_list()
        texts = [text] if isinstance(text, str) else list(text)
        for item in texts:
            if not isinstance(item, str):
                raise TypeError(f"a template must be a string, got {item!r}.")
        found: list[str] = []
        for piece in [piece for item in texts for piece in _split_text(item)]:
            if re.fullmatch(r"[^\W\d]\w*", piece) and piece != "bias" and piece not in PRESETS:
                raise _unknown("preset", piece, piece, [*PRESETS, "bias"])
            found += PRESETS.get(piece, (piece,))
        if not found:
            raise ValueError("the template is empty: it would give no feature.")
        lists = _checked_gazetteers(gazetteers, columns)
        for name, _ in lists:
            if not any(re.search(rf"(?<!\w){name}\[", piece) for piece in found):
                found += [f"{name}[{k}]" for k in (-1, 0, 1)]
        if len(set(found)) < len(found):
            twice = next(piece for piece, count in Counter(found).items() if count > 1)
            raise ValueError(f"template {shown(twice)} stands twice.")
        return cls(tuple(found), None if columns is None else tuple(columns), lists)

    def to_list(self) -> list[str]:
        """The templates as strings, from which :meth:`parse` makes an equal object."""
        return list(self.templates)

    def features(self, sentence: Sentence) -> list[list[str]]:
        """Names of the binary features of every position, in the order of the templates.

        Parameters
        ----------
        sentence : sequence of rows
            A row is a tuple of str, or one str where words are all there is.

        Returns
        -------
        list of list of str
        """
        return self._features(sentence, "sentence")

    def transform(self, sentences: Iterable[Sentence]) -> list[list[list[str]]]:
        """:meth:`features` of every sentence.

        Examples
        --------
        >>> FeatureTemplate.parse("w[0] shape(w[0])").transform([["Mr.", "Smith"]])
        [[['w[0]=Mr.', 'shape(w[0])=Xx.'], ['w[0]=Smith', 'shape(w[0])=Xxxxx']]]
        """
        return [self._features(s, f"sentences[{i}]") for i, s in enumerate(sentences)]

    def _features(self, sentence: Sentence, where: str) -> list[list[str]]:
        n = len(sentence)
        columns = self._split_columns(sentence, where)
        found = zip(*[compiled.run(columns, n) for compiled in self._compiled], strict=True)
        out: list[list[str]] = list(map(list, found))  # type: ignore[arg-type]
        # Only positions near the ends can miss a feature.
        left = min(n, max(compiled.low for compiled in self._compiled))
        right = max(left, n + min(compiled.high for compiled in self._compiled))
        for t in [*range(left), *range(right, n)]:
            out[t] = [feature for feature in out[t] if feature is not None]
        return out

    def _split_columns(self, sentence: Sentence, where: str) -> Sequence[Sequence[str]]:
        if isinstance(sentence, str):
            raise TypeError(f"{where} must be a sequence of rows, got the string {sentence!r}.")
        if len(sentence) == 0:
            return []
        if all(isinstance(row, str) for row in sentence):
            columns: list[Sequence[str]] = [sentence]  # type: ignore[list-item]
        else:
            widths = {len(row) if not isinstance(row, str) else 1 for row in sentence}
            if len(widths) > 1:
                raise ValueError(
                    f"{where} has rows of {sorted(widths)} columns; expected one number."
                )
            columns = list(zip(*sentence, strict=True))
        for compiled in self._compiled:
            if compiled.n_columns > len(columns):
                raise ValueError(
                    f"{where}: template {compiled.text!r} needs {compiled.n_columns} columns, but "
                    f"its rows have {len(columns)}."
                )
        if not self.gazetteers:
            return columns
        names = self.columns or ("w",)
        words = columns[names.index("w") if "w" in names else 0]
        return [*columns, *(each.find(words) for _, each in self.gazetteers)]

    def __getstate__(self) -> dict[str, object]:
        return {
            "templates": self.templates,
            "columns": self.columns,
            "gazetteers": self.gazetteers,
        }

    def __setstate__(self, state: dict[str, object]) -> None:
        for key, value in state.items():
            object.__setattr__(self, key, value)
        self.__post_init__()
