"""CoNLL columns: one token per line, its tags in one column, features made by a template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Self

import typer

from maxmargin.cli.formats.base import Batch, Reader
from maxmargin.cli.formats.schemes import find_scheme
from maxmargin.cli.formats.svmlight import svmlight_hint
from maxmargin.cli.options import (
    COLUMNS,
    Hashing,
    OwnOptions,
    Scheme,
    Separator,
    Strict,
    TagColumn,
)

if TYPE_CHECKING:
    from maxmargin.io import FeatureTemplate, Gazetteer
    from maxmargin.io.files import Source

_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ","}

#: What `train` can be told about a CoNLL file, for kinds that read such.
COLUMN_OPTIONS = OwnOptions(
    {
        "template": Annotated[
            str | None,
            typer.Option(
                help="Features: a preset (chunking, ner), templates such as 'w[0] w[-1]|w[0]', or "
                "a file of them. Else chunking if there is a column pos, and ner if not.",
                rich_help_panel=COLUMNS,
            ),
        ],
        "gazetteers": Annotated[
            str | None,
            typer.Option(
                help="Lists of phrases by name, 'city=cities.txt,name=people.txt', one phrase a "
                "line: templates use city[0], which is B, I or O; else before, at and after a word "
                "are used.",
                rich_help_panel=COLUMNS,
            ),
        ],
        "fold_case": Annotated[
            bool | None,
            typer.Option(
                "--fold-case",
                help="Find phrases of gazetteers in upper and lower case alike.",
                rich_help_panel=COLUMNS,
            ),
        ],
        "columns": Annotated[
            str | None,
            typer.Option(
                help="Names of the columns besides the tags; else w,pos,c2,c3,...",
                rich_help_panel=COLUMNS,
            ),
        ],
        "tag_column": TagColumn,
        "separator": Separator,
        "scheme": Scheme,
        "strict": Strict,
        "min_count": Annotated[
            int | None, typer.Option(help="Leave out rarer features.", rich_help_panel=COLUMNS)
        ],
        "hashing": Hashing,
    },
    refusal="is for CoNLL files, which `train {kind}` does not read",
    format="conll",
)


@dataclass(frozen=True)
class ConllReader(Reader):
    """CoNLL columns through a feature template.

    `tag_column` is the place of the tags in a file that has them, from 0; `columns` names the
    others. `scheme` is that of the tags, None if they follow none.
    """

    format = "conll"
    title = "CoNLL"
    makes_features = True
    template: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    tag_column: int = 0
    separator: str | None = None
    scheme: str | None = None
    gazetteers: tuple[str, ...] = ()  # texts: a line of name and case, then a phrase per line

    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file that has the columns of the training file, with or without the tags."""
        from maxmargin.io import FeatureTemplate, conll_width, read_conll
        from maxmargin.io.files import rereadable

        source = rereadable(path)
        separator = separator_for(path, self.separator)
        width, expected = conll_width(source, separator=separator), len(self.columns)
        if width not in (expected, expected + 1):
            raise ValueError(
                f"{path} has {width} columns; the model expects {expected} "
                f"({', '.join(self.columns)}), or {expected + 1} with the tags."
            )
        tag = self.tag_column if width > expected else None
        data = read_conll(source, tag, separator, self.columns)
        lists = dict(map(_from_text, self.gazetteers))
        X = FeatureTemplate.parse(self.template, self.columns, lists).transform(data.sentences)
        return Batch(path, X, data.tags, True, data)

    def settle(self, path: Path, own: Mapping[str, Any], is_named: bool) -> tuple[Self, Batch]:
        """Read a training file; its columns and tags say what the options leave open."""
        from maxmargin.io.files import rereadable

        source = rereadable(path)
        try:
            return self._settle(source, path, own)
        except ValueError as error:
            hint = "" if is_named else svmlight_hint(source)
            raise ValueError(f"{error}{hint}") from None

    def _settle(self, source: Source, path: Path, own: Mapping[str, Any]) -> tuple[Self, Batch]:
        from maxmargin.io import read_conll

        # A kind that has no such options reads the file too, to say what it holds.
        given = {name: own.get(name) for name in COLUMN_OPTIONS.options}
        columns = None if given["columns"] is None else given["columns"].split(",")
        tag_column = -1 if given["tag_column"] is None else given["tag_column"]
        data = read_conll(source, tag_column, separator_for(path, given["separator"]), columns)
        lists = _gazetteers(given["gazetteers"], bool(given["fold_case"]))
        template = _template(given["template"], data.columns, lists)
        X = template.transform(data.sentences)
        place = data.tag_column
        if data.tags is None or place is None:
            raise ValueError(f"{path} has no labels.")
        reader = replace(
            self,
            template=template.templates,
            columns=data.columns,
            tag_column=place,
            separator=given["separator"],
            scheme=given["scheme"] or find_scheme(data.tags),
            gazetteers=tuple(_as_text(*each) for each in template.gazetteers),
        )
        return reader, Batch(path, X, data.tags, True, data)

    def write(self, target: Path | IO[str], batch: Batch, predictions: Any) -> None:
        """Write the file again with the predictions as a further column."""
        from maxmargin.io import write_conll

        data = batch.source
        write_conll(
            target,
            data.sentences,
            data.tags,
            predictions,
            separator=separator_for(batch.path, self.separator) or " ",
            tag_column=data.tag_column,
            document_starts=data.document_starts,
        )

    def facts(self) -> dict[str, Any]:
        """Return what a table says of the reader."""
        return {
            **super().facts(),
            "columns": " ".join(self.columns) or None,
            "template": " ".join(self.template) or None,
            "gazetteers": " ".join(_from_text(each)[0] for each in self.gazetteers) or None,
            "tag scheme": self.scheme,
        }


def separator_for(path: Path, separator: str | None) -> str | None:
    """Return what parts the columns of a file: what was asked for, and a tab in .tsv files."""
    if separator is not None:
        return _SEPARATORS.get(separator, separator)
    return "\t" if ".tsv" in path.suffixes else None


def _gazetteers(given: str | None, fold_case: bool) -> dict[str, Gazetteer]:
    """Return the lists of phrases that `--gazetteers` names."""
    from maxmargin.io import Gazetteer

    if given is None:
        if fold_case:
            raise ValueError("--fold-case is for phrases of --gazetteers, of which there are none.")
        return {}
    found: dict[str, Gazetteer] = {}
    for piece in given.split(","):
        name, sign, path = piece.strip().partition("=")
        if not (name and sign and path):
            raise ValueError(
                f"--gazetteers must be names and files such as 'city=cities.txt', got {piece!r}."
            )
        if name in found:
            raise ValueError(f"--gazetteers has two lists called {name!r}.")
        found[name] = Gazetteer.read(Path(path), fold_case)
    return found


def _as_text(name: str, gazetteer: Gazetteer) -> str:
    return "\n".join([f"{name} {'fold' if gazetteer.ignore_case else 'keep'}", *gazetteer.phrases])


def _from_text(text: str) -> tuple[str, Gazetteer]:
    from maxmargin.io import Gazetteer

    head, *phrases = text.split("\n")
    name, _, case = head.partition(" ")
    return name, Gazetteer(phrases, case == "fold")


def _template(
    given: str | None, columns: tuple[str, ...], lists: Mapping[str, Gazetteer]
) -> FeatureTemplate:
    """Return the template that a file holds, that is given itself, or a preset that fits."""
    from maxmargin.io import FeatureTemplate
    from maxmargin.io.files import numbered_lines

    if given is None:
        given = "chunking" if {"w", "pos"} <= set(columns) else "ner"
    file = Path(given)
    # A template may be too long to be a file's name, which the system says by an error.
    try:
        is_file = file.is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        return FeatureTemplate.parse(given, columns, lists)
    text = "\n".join(line for _, line in numbered_lines(file))
    try:
        return FeatureTemplate.parse(text, columns, lists)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
