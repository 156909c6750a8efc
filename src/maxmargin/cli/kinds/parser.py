"""Parsers: the dependency tree of a sentence, read from CoNLL-U."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import console
from maxmargin.cli.console import percent
from maxmargin.cli.formats import Batch, ConlluReader, Reader
from maxmargin.cli.kinds.base import NOTHING, Kind
from maxmargin.cli.options import LEARNING, Hashing, OwnOptions

if TYPE_CHECKING:
    from maxmargin.cli.models import Model

_TREES = OwnOptions(
    {
        "projective": Annotated[
            bool | None,
            typer.Option(
                "--projective/--crossing",
                help="Whether arcs of trees must not cross; else they must not.",
                rich_help_panel=LEARNING,
            ),
        ],
        "siblings": Annotated[
            bool | None,
            typer.Option(
                "--siblings",
                help="Neighbouring children of one head have weights (trees).",
                rich_help_panel=LEARNING,
            ),
        ],
        "relations": Annotated[
            str | None,
            typer.Option(
                help="How relations of trees are learnt: second_stage, joint or none; else "
                "second_stage.",
                rich_help_panel=LEARNING,
            ),
        ],
        "one_root": Annotated[
            bool | None,
            typer.Option(
                "--one-root/--many-roots",
                help="Whether exactly one word of a tree hangs on the root; else exactly one.",
                rich_help_panel=LEARNING,
            ),
        ],
        "outside": Annotated[
            str | None,
            typer.Option(
                help="What becomes of true trees that are no outputs (crossing arcs, several "
                "roots): drop or repair; else drop.",
                rich_help_panel=LEARNING,
            ),
        ],
        "punctuation": Annotated[
            bool | None,
            typer.Option(
                "--punctuation/--no-punctuation",
                help="Whether words tagged PUNCT count in cost and score of trees; else they do.",
                rich_help_panel=LEARNING,
            ),
        ],
        "hashing": Hashing,
    },
    refusal="is not for {estimator}, which has no such parameter",
)


class Parser(Kind):
    """Sentences, each with a dependency tree."""

    name = "parser"
    estimator = "ParserSVM"
    about = "a head for each word of a sentence"
    is_sequence = True
    options = {"train": (_TREES,)}
    parameters = {
        "projective": "projective",
        "siblings": "siblings",
        "relations": "relations",
        "one_root": "one_root",
        "outside": "outside",
        "punctuation": "punctuation",
        "hashing": "n_hashed_features",
    }
    readers = {"conllu": ConlluReader()}
    blocks = ()
    told = {
        "solver": "mira for trees",
        "max_iter": "10 for trees",
        "scoring": "the share of words with the right head (uas) of sentences",
        "evaluate": "Sentences: attachment scores with and without punctuation, as the script of "
        "CoNLL 2018 counts them.",
        "predict": "Trees: the CoNLL-U file with heads and relations.",
    }

    def format_of(self, path: Path) -> str:
        """Return the only format that there is."""
        return "conllu"

    def content(self, reader: Reader | None, batch: Batch) -> str:
        """Say how many sentences and words there are."""
        return f"{batch.n_samples} sentences of {sum(map(len, batch.X))} words in all"

    def sizes(self, estimator: Any, batch: Batch) -> dict[str, int]:
        """Return what was learnt from, in numbers."""
        return {**super().sizes(estimator, batch), "n_outside": int(estimator.n_outside_)}

    def measure(
        self, model: Model, batch: Batch, guess: Any, own: Mapping[str, Any] = NOTHING
    ) -> dict[str, Any]:
        """Return attachment scores, with and without punctuation."""
        from maxmargin.metrics import parse_scores

        counts = [[row[3] != "PUNCT" for row in sentence] for sentence in batch.X]
        guess = [list(tree) for tree in guess]
        return {
            "n_sentences": len(batch.y),
            "n_words": sum(map(len, batch.y)),
            **parse_scores(batch.y, guess),
            "without_punctuation": parse_scores(batch.y, guess, counts),
            "without_subtypes": parse_scores(batch.y, guess, subtypes=False),
        }

    def tables(
        self, found: dict[str, Any], title: str, own: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return a table of attachment scores."""
        rows: dict[str, Any] = {"sentences": found["n_sentences"], "words": found["n_words"]}
        for name in ("uas", "las"):
            if name in found:
                rows[name.upper()] = percent(found[name])
                rows[f"{name.upper()} without punctuation"] = percent(
                    found["without_punctuation"][name]
                )
        if "las" in found:
            rows["LAS without subtypes"] = percent(found["without_subtypes"]["las"])
        return [console.facts(title, rows)]

    def weights(self, path: Path, estimator: Any, labels: list[str] | None) -> Any:
        """Refuse: hashed weights have no names."""
        raise ValueError(f"{path} has hashed weights, which have no names to list.")

    def facts(self, estimator: Any) -> dict[str, Any]:
        """Return what a table says of a model, besides its result."""
        return {
            "relations": len(estimator.classes_) or None,
            "trees outside": estimator.n_outside_ or None,
        }

    def sample(self, storage: str, dtype: str) -> tuple[Any, Any]:
        """Return three short sentences with relations."""
        words = [{"form": form, "upos": "X"} for form in "abcd"]
        trees = [(2, "a"), (0, "b"), (2, "a"), (3, "c")]
        return [words, words[:2], words[:3]], [trees, trees[:2], trees[:3]]
