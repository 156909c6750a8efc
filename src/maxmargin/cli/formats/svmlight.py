"""svmlight: one row per line, with one label, several, or a grade and a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from maxmargin.cli.formats.base import Batch, Reader

if TYPE_CHECKING:
    from maxmargin.io.files import Source

_INDEX_0 = re.compile(r"\s0+:")
_FEATURE = re.compile(r"(qid|\d+):\S+")
_LONGEST = 1 << 20  # characters of a line that is looked at for a hint


@dataclass(frozen=True)
class SvmlightReader(Reader):
    """svmlight, with indices from 0 or from 1 (None: as the file seems to have it).

    With `multilabel` a line has any number of labels, parted by commas; with `queries` a grade and
    a qid.
    """

    format = "svmlight"
    title = "svmlight"
    zero_based: bool | None = None
    multilabel: bool = False
    queries: bool = False

    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file; an index beyond `n_features` is refused."""
        return self._read(path, path, n_features)

    def _read(self, source: Source, path: Path, n_features: int | None = None) -> Batch:
        """Read what is called `path`, which may be a pipe whose contents are kept."""
        from maxmargin.io import read_rankings, read_svmlight

        zero_based = "auto" if self.zero_based is None else self.zero_based
        if self.queries:
            data = read_rankings(source, n_features=n_features, zero_based=zero_based)
            return Batch(path, data.X, data.grades, False, qid=data.qid)
        X, y = read_svmlight(
            source, n_features=n_features, multilabel=self.multilabel, zero_based=zero_based
        )
        return Batch(path, X, y, False)

    def settle(self, path: Path, own: Mapping[str, Any], is_named: bool) -> tuple[Self, Batch]:
        """Read a training file.

        Whether indices count from 0 is settled here: in a later file no 0 may happen to occur.
        """
        from maxmargin.io import read_svmlight
        from maxmargin.io.files import numbered_lines, rereadable

        source = rereadable(path)
        if self.queries:
            # Looked for in the text: a feature that is 0 in all rows is not stored.
            lines = (line.partition("#")[0] for _, line in numbered_lines(source))
            reader = replace(self, zero_based=any(map(_INDEX_0.search, lines)))
            return reader, reader._read(source, path)
        X, y = read_svmlight(source, multilabel=self.multilabel, zero_based=True)
        is_zero_based = bool((X.indices == 0).any())
        if not is_zero_based:
            X = X[:, 1:]
        has_qid = any(word.startswith("qid:") for word in _first_line(source).split())
        reader = replace(self, zero_based=is_zero_based)
        return reader, Batch(path, X, y, False, ignores_qid=has_qid)

    @property
    def numbering(self) -> str:  # type: ignore[override]
        """What is said where the columns of X are not numbered as in the file."""
        return "; x[0] is index 1 of the file" if self.zero_based is False else ""


def svmlight_hint(source: Source) -> str:
    """Say so if a file that was taken for CoNLL, by its name, looks like svmlight.

    Examples
    --------
    >>> import io
    >>> svmlight_hint(io.StringIO("1 qid:3 1:.5 7:2 # text"))
    ' Its first line looks like svmlight: --format svmlight reads it so.'
    >>> svmlight_hint(io.StringIO("The DT B-NP"))
    ''
    """
    try:
        features = _first_line(source, _LONGEST).split()[1:]
    except ValueError:  # no text that could be read at all
        return ""
    if not features or not all(map(_FEATURE.fullmatch, features)):
        return ""
    return " Its first line looks like svmlight: --format svmlight reads it so."


def _first_line(source: Source, longest: int | None = None) -> str:
    """Return the first line of a text file that holds more than a comment, without its comment."""
    from maxmargin.io.files import numbered_lines

    lines = (line.partition("#")[0].strip() for _, line in numbered_lines(source, longest))
    return next(filter(None, lines), "")
