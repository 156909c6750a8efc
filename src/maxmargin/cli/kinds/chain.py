"""Chains: one label per position of a sequence, which may be tags of segments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maxmargin.cli import console
from maxmargin.cli.console import percent
from maxmargin.cli.formats import Batch, ConllReader, Reader
from maxmargin.cli.formats.conll import COLUMN_OPTIONS
from maxmargin.cli.formats.schemes import check_scheme, find_scheme, readable
from maxmargin.cli.kinds.base import NOTHING, Kind, noise
from maxmargin.cli.options import OwnOptions, Scheme, Strict

if TYPE_CHECKING:
    from maxmargin.cli.models import Model

_MOST_LABELS = 24  # labels up to which a transition matrix fits a terminal

_TAGS = OwnOptions(
    {"scheme": Scheme, "strict": Strict},
    refusal="is for sequences, but {file} holds single samples",
)


class Chain(Kind):
    """Sequences, each with one label per position."""

    name = "chain"
    estimator = "ChainSVM"
    about = "a label for each position of a sequence"
    is_sequence = True
    options = {"train": (COLUMN_OPTIONS,), "evaluate": (_TAGS,)}
    parameters = {"scheme": "constraints", "min_count": "min_count", "hashing": "n_hashed_features"}
    blocks = ("intercept_", "transitions_", "start_", "end_")
    told = {
        "train": "With --scheme predictions keep to it; training tags that break it are named, and "
        "what they do is allowed (--strict refuses them).",
        "scoring": "F1 of segments where tags have a scheme, token accuracy of other sequences",
        "evaluate": "Sequences: token and sequence accuracy and, where labels are tags such as "
        "B-NP and O, precision, recall and F1 of segments as conlleval counts them, whether or not "
        "all tags keep to the scheme.",
    }

    def check_training(self, reader: Reader, batch: Batch, own: Mapping[str, Any]) -> None:
        """Warn of tags that break the scheme of the training file, or refuse them if --strict."""
        check_scheme(batch, _scheme_of(reader), bool(own["strict"]))

    def scoring(self, estimator: Any, held_out: Batch) -> Any:
        """Return what was asked for, or what the table at the end shows.

        Without a wish that is F1 of segments where there are some (None: the estimator's own
        choice), else the accuracy of tokens, where the cost counts them.
        """
        from maxmargin.costs import Hamming
        from maxmargin.estimators.chain.scores import looks_like_chunks
        from maxmargin.training.settings import resolve_cost

        if estimator.scoring is not None or not isinstance(
            resolve_cost(estimator.cost, "positions"), Hamming
        ):
            return estimator.scoring
        labels = [label for sequence in held_out.y for label in sequence]
        return None if looks_like_chunks(labels) else "token_accuracy"

    def content(self, reader: Reader | None, batch: Batch) -> str:
        """Say how many sequences there are, and the scheme of their tags."""
        scheme = _scheme_of(reader)
        return super().content(reader, batch) + ("" if scheme is None else f", tags in {scheme}")

    def check_evaluation(self, reader: Reader, batch: Batch, own: Mapping[str, Any]) -> None:
        """Warn of tags that break the scheme by which they are compared, or refuse them."""
        scheme = own["scheme"] or _scheme_of(reader) or find_scheme(batch.y)
        check_scheme(batch, scheme, bool(own["strict"]))

    def measure(
        self, model: Model, batch: Batch, guess: Any, own: Mapping[str, Any] = NOTHING
    ) -> dict[str, Any]:
        """Return the share of tokens and sequences that are right, and scores of segments."""
        scheme = own.get("scheme") or _scheme_of(model.reader) or find_scheme(batch.y)
        return measure_sequences(batch.y, guess, scheme)

    def tables(
        self, found: dict[str, Any], title: str, own: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return a table of accuracies and, where there are segments, one of their types."""
        rows = {
            "sequences": found["n_sequences"],
            "tokens": found["n_tokens"],
            "token accuracy": percent(found["token_accuracy"]),
            "sequence accuracy": percent(found["sequence_accuracy"]),
        }
        if "chunks" not in found:
            return [console.facts(title, rows)]
        n_off = found["n_off_scheme"]
        rows |= {
            "chunk F1": percent(found["chunks"]["f1"]),
            "tag scheme": found["scheme"],
            "true tags off it": n_off["true"] or None,
            "predicted tags off it": n_off["predicted"] or None,
        }
        scores = {**found["chunks_by_type"], "all": found["chunks"]}
        heads = ["type", "precision", "recall", "F1", "true", "predicted", "correct"]
        cells = [_chunk_row(name, score) for name, score in scores.items()]
        segments = console.grid(f"Segments ({found['scheme']})", heads, cells)
        return [console.facts(title, rows), segments]

    def weight_tables(self, estimator: Any, top: int) -> list[Any]:
        """Return the matrix of transitions or, where it would be too large, its largest cells."""
        import numpy as np

        names = [str(label) for label in estimator.classes_]
        matrix = estimator.transitions_
        if len(names) <= _MOST_LABELS:
            body = [*zip(names, matrix, strict=True), ("(start)", estimator.start_)]
            rows = [[name, *(f"{value:+.2f}" for value in row)] for name, row in body]
            ends = zip(rows, [*estimator.end_, None], strict=True)
            rows = [[*row, "" if end is None else f"{end:+.2f}"] for row, end in ends]
            return [console.grid("Transitions", ["from \\ to", *names, "(end)"], rows)]
        order = np.argsort(-np.abs(matrix), axis=None, kind="stable")[: 5 * top]
        pairs = [divmod(int(cell), len(names)) for cell in order]
        cells = [[names[a], names[b], f"{matrix[a, b]:+.4f}"] for a, b in pairs]
        return [console.grid("Largest transitions", ["from", "to", "weight"], cells, n_text=2)]

    def sample(self, storage: str, dtype: str) -> tuple[Any, Any]:
        """Return two sequences of six."""
        X, y = noise(storage, dtype)
        return [X[:6], X[6:]], [y[:6], y[6:]]


def _scheme_of(reader: Reader | None) -> str | None:
    """Return the scheme of the tags that a model was trained on, if they follow one."""
    return reader.scheme if isinstance(reader, ConllReader) else None


def measure_sequences(truth: Any, guess: Any, scheme: str | None = None) -> dict[str, Any]:
    """Return the scores of labelled sequences, as JSON shows them.

    Parameters
    ----------
    truth, guess : labels, sequence by sequence
    scheme : str or None
        Scheme of the tags; None: there are no segments to be counted. What is no tag counts as O.

    Examples
    --------
    >>> measure_sequences([["a", "b"]], [["a", "a"]])
    {'n_sequences': 1, 'n_tokens': 2, 'token_accuracy': 0.5, 'sequence_accuracy': 0.0}
    """
    from maxmargin.metrics import ChunkScore, chunk_scores, sequence_accuracy, token_accuracy
    from maxmargin.tags import find_violations

    found: dict[str, Any] = {
        "n_sequences": len(truth),
        "n_tokens": sum(map(len, truth)),
        "token_accuracy": token_accuracy(truth, guess),
        "sequence_accuracy": sequence_accuracy(truth, guess),
    }
    if scheme is None:
        return found
    scores = chunk_scores(readable(truth), readable(guess), scheme=scheme)
    counts = [(s.n_true, s.n_pred, s.n_correct) for s in scores.values()] or [(0, 0, 0)]
    total = ChunkScore(*map(sum, zip(*counts, strict=True)))
    found["scheme"] = scheme
    found["n_off_scheme"] = {
        "true": len(find_violations(truth, scheme)),
        "predicted": len(find_violations(guess, scheme)),
    }
    found["chunks"] = _chunk(total)
    found["chunks_by_type"] = {name: _chunk(score) for name, score in scores.items()}
    return found


def _chunk(score: Any) -> dict[str, Any]:
    names = ("precision", "recall", "f1", "n_true", "n_pred", "n_correct")
    return {name: getattr(score, name) for name in names}


def _chunk_row(name: str, score: dict[str, Any]) -> list[Any]:
    shares = [percent(score[key]) for key in ("precision", "recall", "f1")]
    return [name, *shares, *(score[key] for key in ("n_true", "n_pred", "n_correct"))]
