"""CoNLL-U: sentences with tags, heads and relations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from maxmargin.cli.formats.base import Batch, Reader, write_text


@dataclass(frozen=True)
class ConlluReader(Reader):
    """CoNLL-U files; predictions are written into a copy, comments and all."""

    format = "conllu"
    title = "CoNLL-U"
    holds = "sentences with heads"
    makes_features = True

    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file; it has no labels if a head is unknown."""
        from maxmargin.io import read_conllu

        sentences = read_conllu(path)
        is_known = all(row[6] != "_" for sentence in sentences for row in sentence)
        trees = [sentence.arcs for sentence in sentences] if is_known else None
        return Batch(path, sentences, trees, True, sentences)

    def write(self, target: Path | IO[str], batch: Batch, predictions: Any) -> None:
        """Write the sentences with the predicted heads and relations."""
        from maxmargin.io import format_conllu

        pairs = zip(batch.source, predictions, strict=True)
        text = format_conllu(sentence.with_arcs(list(arcs)) for sentence, arcs in pairs)
        write_text(target, text)
