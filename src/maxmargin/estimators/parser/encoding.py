"""From a request about sentences to what a parser is trained on, or predicts on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.costs import Cost
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.labels import Labels
from maxmargin.inputs.parses import Arcs, bring_inside, read_arcs
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.inputs.tokens import Tokens, coarse_tags, read_tokens, token_templates
from maxmargin.structures import ParseData, parse_data
from maxmargin.training.task import Task

#: Rows of weights of relations; there are as many columns as relations.
N_RELATION_ROWS = 1 << 17
PUNCTUATION = "PUNCT"


class ParserOptions(NamedTuple):
    """The parameters of an estimator that say how sentences are read."""

    projective: bool
    one_root: bool
    siblings: bool
    relations: str  # "joint", "second_stage" or "none"
    outside: str
    punctuation: bool
    n_hashed: int
    cost: Cost


class Sentences(NamedTuple):
    """The inputs of a request: tokens, or rows of features of arcs."""

    offsets: np.ndarray
    tokens: Tokens | None
    rows: Any  # (n_arcs, n_features), if there are no tokens

    def counts(self, punctuation: bool) -> np.ndarray:
        """Return which words costs count."""
        if punctuation:
            return np.ones(int(self.offsets[-1]), dtype=np.int8)
        if self.tokens is None:
            raise ValueError(
                "punctuation=False needs tokens, whose tags say what is punctuation, but X has "
                "features of arcs: take punctuation=True."
            )
        tags = [tag for sentence in self.tokens.coarse for tag in sentence]
        return np.array([tag != PUNCTUATION for tag in tags], dtype=np.int8)


def read_sentences(X: Any) -> Sentences:
    """Return sentences of tokens; or of arrays, one row of features per arc.

    Such an array has the shape (n + 1, n + 1, n_features); a sparse matrix has (n + 1)^2 rows.
    """
    if not hasattr(X, "__len__") or isinstance(X, (str, bytes)):
        raise TypeError(f"X must be a list of sentences, got {type(X).__name__}.")
    if len(X) == 0:
        raise ValueError("X is empty; there must be at least one sentence.")
    is_rows = [sp.issparse(x) or isinstance(x, np.ndarray) for x in X]
    if not any(is_rows):
        tokens = read_tokens(X)
        return Sentences(tokens.offsets, tokens, None)
    if not all(is_rows):
        raise TypeError(f"X[{is_rows.index(False)}] has tokens, but other sentences are arrays.")
    sizes, parts = [], []
    for i, x in enumerate(X):
        size = round(float(x.shape[0]) ** 0.5) if sp.issparse(x) else x.shape[0]
        n_arcs = x.shape[0] if sp.issparse(x) else size * size
        if size < 2 or n_arcs != size * size or not (
            sp.issparse(x) or (x.ndim == 3 and x.shape[1] == size)
        ):  # fmt: skip
            raise ValueError(
                f"X[{i}] has the shape {x.shape}; expected (n + 1, n + 1, n_features) for a "
                "sentence of n >= 1 words, or a sparse matrix of (n + 1)^2 rows."
            )
        if x.shape[-1] != X[0].shape[-1]:
            raise ValueError(
                f"X[{i}] has {x.shape[-1]} features per arc but X[0] has {X[0].shape[-1]}."
            )
        sizes.append(size - 1)
        parts.append(x if sp.issparse(x) else x.reshape(size * size, -1))
    is_sparse = any(map(sp.issparse, parts))
    rows: Any = sp.vstack(parts).tocsr() if is_sparse else np.vstack(parts)
    rows = rows.astype(np.float64)
    if sp.issparse(rows):
        rows.sum_duplicates()
    values = rows.data if sp.issparse(rows) else rows
    if not np.isfinite(values).all():
        raise ValueError("X has features that are NaN or infinite.")
    return Sentences(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), None, rows)


@dataclass(frozen=True)
class ParserReader:
    """All that a fit learns of sentences besides weights; it reads later requests.

    Attributes
    ----------
    relations : Labels or None, the names of relations
    tags : list of str, coarse tags that have numbers of their own
    n_features : int, the features of an arc where users give them; 0 for tokens
    """

    relations: Labels | None
    tags: list[str]
    n_features: int

    @classmethod
    def learn(cls, request: Request, options: ParserOptions) -> tuple[Self, Sentences, Arcs]:
        """Return the reader that a first request makes, and what it read."""
        sentences = read_sentences(request.X)
        arcs = read_arcs(request.y, sentences.offsets)
        tokens = sentences.tokens
        relations = None
        if options.relations != "none" and arcs.relations is not None:
            relations = Labels.learn(arcs.relations, None, lambda k: f"relation {k} of y")
        tags = [] if tokens is None else coarse_tags(tokens.coarse)
        n_features = 0 if tokens is not None else int(sentences.rows.shape[1])
        return cls(relations, tags, n_features), sentences, arcs

    def read(self, X: Any) -> Sentences:
        """Return the sentences of a later request."""
        sentences = read_sentences(X)
        if (sentences.tokens is None) != (self.n_features > 0):
            kind = "features of arcs" if self.n_features else "tokens"
            raise TypeError(f"The parser was fitted to {kind}; X has something else.")
        if self.n_features and sentences.rows.shape[1] != self.n_features:
            raise ValueError(
                f"X has {sentences.rows.shape[1]} features per arc, but the parser was fitted with "
                f"{self.n_features}."
            )
        return sentences

    def n_joint(self, options: ParserOptions) -> int:
        """Return how many relations the tree is learnt with; 1: none."""
        joint = options.relations == "joint" and self.relations is not None
        return max(len(self.relations), 1) if joint and self.relations is not None else 1

    def features(self, sentences: Sentences, options: ParserOptions) -> Any:
        """Return the features of arcs."""
        if sentences.tokens is None:
            return sentences.rows
        return token_templates(
            sentences.tokens, self.tags, options.n_hashed, N_RELATION_ROWS,
            self.n_joint(options), options.siblings,
        )  # fmt: skip

    def data(
        self,
        sentences: Sentences,
        options: ParserOptions,
        heads: np.ndarray | None = None,
        relations: np.ndarray | None = None,
    ) -> ParseData:
        """Return sentences to train on, or, without heads, to predict on."""
        return parse_data(
            self.features(sentences, options),
            sentences.offsets,
            heads,
            relations if self.n_joint(options) > 1 else None,
            n_relations=self.n_joint(options),
            counts=sentences.counts(options.punctuation),
            projective=options.projective,
            one_root=options.one_root,
            siblings=options.siblings,
        )

    def codes(self, arcs: Arcs) -> np.ndarray | None:
        """Return relations as numbers; None if they are not learnt."""
        if self.relations is None:
            return None
        if arcs.relations is None:
            raise ValueError("y has no relations, but the parser has learnt them.")
        return self.relations.encode(arcs.relations, lambda k: f"relation {k} of y")

    def task(
        self, request: Request, sentences: Sentences, arcs: Arcs, options: ParserOptions
    ) -> tuple[Task, int]:
        """Return what can be learnt from, and how many sentences were outside."""
        weight = check_weights(request.sample_weight, len(sentences.offsets) - 1)
        inside = bring_inside(
            arcs.heads, sentences.offsets, options.projective, options.one_root, options.outside
        )
        if len(inside.keep) == 0:
            raise ValueError(
                "No tree of y is an output: all have arcs that cross, or several roots. Take "
                "projective=False, one_root=False, or outside='repair'."
            )
        some, places = take_sentences(sentences, inside.keep)
        codes = self.codes(arcs)
        own = None if codes is None else codes[places]
        data = self.data(some, options, inside.heads[places], own)
        names = self.relations.classes if self.n_joint(options) > 1 else ["any"]  # type: ignore[union-attr]
        sizes = np.add.reduceat(data.counts.astype(np.int64), some.offsets[:-1])
        cost = options.cost.tabulate("arcs", names, sizes)
        return Task(data, cost, len(inside.keep), weight[inside.keep]), inside.n_outside

    # -- files -----------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays) for a model file."""
        names = None if self.relations is None else self.relations.classes
        return {"relations_": names, "tags": self.tags, "n_arc_features": self.n_features}, {}

    @classmethod
    def from_state(cls, fields: Fields, arrays: Arrays) -> Self:
        """Return what `to_state` was called on; refuse what it cannot have written."""
        names = fields.take("relations_")
        if names is not None and not (isinstance(names, np.ndarray) and names.ndim == 1):
            raise fields.refuse("relations_", "an array of relations or None", names)
        tags = fields.take("tags")
        if not isinstance(tags, list) or not all(type(tag) is str for tag in tags):
            raise fields.refuse("tags", "a list of tags", tags)
        n_features = fields.count("n_arc_features", least=0)
        return cls(None if names is None else Labels(names), tags, n_features)


def take_sentences(sentences: Sentences, keep: np.ndarray) -> tuple[Sentences, np.ndarray]:
    """Return some of the sentences, and the numbers of their words."""
    offsets, sizes = sentences.offsets, np.diff(sentences.offsets)
    places = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in keep])
    own = np.concatenate([[0], np.cumsum(sizes[keep])]).astype(np.int64)
    if len(keep) == len(sizes):
        return sentences, places
    if sentences.tokens is None:
        row_at = np.concatenate([[0], np.cumsum((sizes + 1) ** 2)])
        rows = np.concatenate([np.arange(row_at[i], row_at[i + 1]) for i in keep])
        return Sentences(own, None, sentences.rows[rows]), places
    tokens = sentences.tokens
    rows = np.concatenate([np.arange(offsets[i] + i, offsets[i + 1] + i + 1) for i in keep])
    some = Tokens(own, tokens.codes[rows], [tokens.coarse[i] for i in keep])
    return Sentences(own, some, None), places
