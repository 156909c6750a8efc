"""Sentences as users pass them, and their tokens as keys of templates.

A token is a dictionary with any of the keys "form", "lemma", "upos", "xpos" and "feats", or a row
of a CoNLL-U file, ten columns with these in its second to sixth.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.features.rows import frozen
from maxmargin.structures.parse.templates import TokenTemplates

ATTRIBUTES = ("form", "lemma", "upos", "xpos", "feats")
WORD, LEMMA, COARSE, TAG, MORPH = range(5)
WORD_TAG = 5

# Parts of an arc: the head and the word, and the tokens before and after each of them.
HEAD, WORD_OF_ARC = "head", "word"
_NEIGHBOURS = [
    ((-1, 0), (0,)),
    ((0, 1), (0,)),
    ((0,), (-1, 0)),
    ((0,), (0, 1)),
    ((0, 1), (-1, 0)),
    ((-1, 0), (-1, 0)),
    ((0, 1), (0, 1)),
    ((-1, 0), (0, 1)),
]
_ALONE = (WORD, TAG, LEMMA, MORPH, WORD_TAG)
_PAIRS = (
    (TAG, TAG), (COARSE, COARSE), (WORD, WORD), (LEMMA, LEMMA), (MORPH, MORPH), (WORD, TAG),
    (TAG, WORD), (LEMMA, TAG), (TAG, LEMMA), (WORD_TAG, TAG), (TAG, WORD_TAG),
    (WORD_TAG, WORD_TAG), (TAG, MORPH), (MORPH, TAG),
)  # fmt: skip
#: Templates: pairs (offset, attribute) of the head, and of the word. Those of the word alone come
#: first, then those of the head alone.
TEMPLATES: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]] = [
    *(([], [(0, own)]) for own in _ALONE),
    *(([(0, own)], []) for own in _ALONE),
    *(([(0, a)], [(0, b)]) for a, b in _PAIRS),
    *(([(at, TAG) for at in a], [(at, TAG) for at in b]) for a, b in _NEIGHBOURS),
    *(([(at, COARSE) for at in a], [(at, COARSE) for at in b]) for a, b in _NEIGHBOURS[4:]),
    ([(0, TAG)], [(0, TAG)]),  # with a tag between them
]
#: Templates of siblings: an attribute, or None, of the head, the sibling and the word.
SIBLING_TEMPLATES = (
    (None, TAG, TAG), (TAG, TAG, TAG), (None, WORD, TAG), (None, TAG, WORD), (None, WORD, WORD),
    (LEMMA, TAG, TAG),
)  # fmt: skip
#: Sets of tags are kept as bits: further ones share a number.
MOST_TAGS = 62

_rng = np.random.default_rng(2005)
_FACTORS = _rng.integers(1 << 40, 1 << 63, size=(len(TEMPLATES), 8), dtype=np.uint64) | np.uint64(1)
_SIBLING_FACTORS = _rng.integers(
    1 << 40, 1 << 63, size=(len(SIBLING_TEMPLATES), 4), dtype=np.uint64
) | np.uint64(1)
_TAG_KEYS = _rng.integers(1 << 31, size=MOST_TAGS)


class Tokens(NamedTuple):
    """All sentences of a request: attributes as numbers, with a row for each root."""

    offsets: np.ndarray  # (n_examples + 1,) int64: words
    codes: np.ndarray  # (n_words + n_examples, 6) uint64
    coarse: list[list[str]]  # coarse tags of the words of each sentence


def read_tokens(X: Any) -> Tokens:
    """Return the tokens of sentences; a sentence without words is refused by its number."""
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise TypeError(f"X must be a list of sentences, got {type(X).__name__}.")
    known: dict[Any, int] = {}
    seen: dict[tuple[str, ...], tuple[int, ...]] = {}  # words come again and again
    root = tuple(_code(known, own, "<root>") for own in range(5))
    rows: list[tuple[int, ...]] = []
    sizes, coarse = [], []
    for i, sentence in enumerate(X):
        words = [_attributes(token, i, t) for t, token in enumerate(_words(sentence, i))]
        if not words:
            raise ValueError(f"X[{i}] has no words; a sentence has at least one.")
        sizes.append(len(words))
        coarse.append([word[COARSE] for word in words])
        rows.append(root)
        for word in words:
            if word not in seen:
                seen[word] = tuple(_code(known, own, word[own]) for own in range(5))
            rows.append(seen[word])
    codes = np.array(rows, dtype=np.uint64).reshape(len(rows), 5)
    both = _mix(codes[:, WORD] * np.uint64(0x9E3779B1) + codes[:, TAG])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Tokens(offsets, np.concatenate([codes, both[:, None]], axis=1), coarse)


def _words(sentence: Any, i: int) -> list[Any]:
    if isinstance(sentence, (str, bytes)) or not hasattr(sentence, "__iter__"):
        raise TypeError(
            f"X[{i}] must be a sequence of tokens, got {type(sentence).__name__}: dictionaries "
            f"with {', '.join(ATTRIBUTES)}, or rows of a CoNLL-U file."
        )
    return [token for token in sentence if _is_word(token)]


def _is_word(token: Any) -> bool:
    """Tell whether a token is none of the multiword tokens and empty nodes of CoNLL-U."""
    if not _is_row(token) or len(token) != 10:
        return True
    return not isinstance(token[0], str) or token[0].isdigit()


def _is_row(token: Any) -> bool:
    # Most tokens are tuples or dictionaries, and to ask an abstract class takes longest.
    if type(token) is tuple:
        return True
    return type(token) is not dict and isinstance(token, Sequence) and not isinstance(token, str)


def _attributes(token: Any, i: int, t: int) -> tuple[str, ...]:
    if _is_row(token) and len(token) == 10:
        return tuple(map(str, token[1:6]))
    if isinstance(token, Mapping):
        strange = [key for key in token if key not in ATTRIBUTES]
        if strange:
            raise ValueError(
                f"X[{i}][{t}] has the key {strange[0]!r}; a token has {', '.join(ATTRIBUTES)}."
            )
        return tuple(str(token.get(name) or "_") for name in ATTRIBUTES)
    raise ValueError(
        f"X[{i}][{t}] must be a dictionary or a row of ten columns, got {token!r:.60}."
    )


def _code(known: dict[Any, int], own: int, text: str) -> int:
    """Return 31 bits of a text that are the same in every process."""
    if (own, text) not in known:
        known[own, text] = zlib.crc32(f"{own}:{text}".encode()) >> 1
    return known[own, text]


def _mix(values: np.ndarray) -> np.ndarray:
    """Return 31 bits of each of these numbers of 64."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return values >> np.uint64(33)


def coarse_tags(coarse: list[list[str]]) -> list[str]:
    """Return the coarse tags that get numbers of their own, the most frequent first."""
    found, counts = np.unique([tag for tags in coarse for tag in tags], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [str(found[k]) for k in order[: MOST_TAGS - 1]]


def token_templates(
    tokens: Tokens,
    tags: list[str],
    n_hashed: int,
    n_relation_rows: int,
    n_relations: int,
    siblings: bool,
) -> TokenTemplates:
    """Return tokens as templates read them.

    Parameters
    ----------
    tokens : Tokens
    tags : coarse tags with numbers of their own, see `coarse_tags`
    n_hashed, n_relation_rows : powers of 2, the number of cells of arcs and of rows of relations
    n_relations : int
    siblings : bool, whether siblings have templates
    """
    n_rows, n_examples = len(tokens.codes), len(tokens.offsets) - 1
    roots = tokens.offsets[:-1] + np.arange(n_examples)
    # What stands before the root and after the last word of a sentence has codes of its own.
    border = np.arange(6, dtype=np.uint64) + np.uint64(77)
    is_first, is_last = np.zeros(n_rows, dtype=bool), np.zeros(n_rows, dtype=bool)
    is_first[roots] = True
    is_last[np.append(roots[1:], n_rows) - 1] = True
    before, after = np.roll(tokens.codes, 1, axis=0), np.roll(tokens.codes, -1, axis=0)
    before[is_first], after[is_last] = border, border
    around = {-1: before, 0: tokens.codes, 1: after}
    heads, words = (np.zeros((n_rows, len(TEMPLATES)), dtype=np.int32) for _ in range(2))
    with np.errstate(over="ignore"):
        for q, (of_head, of_word) in enumerate(TEMPLATES):
            for side, (keys, own) in enumerate(((heads, of_head), (words, of_word))):
                total = np.full(n_rows, _FACTORS[q, 4 * side], dtype=np.uint64)
                for k, (at, code) in enumerate(own):
                    total += around[at][:, code] * _FACTORS[q, 4 * side + 1 + k]
                keys[:, q] = _mix(total)
        pairs = np.zeros((n_rows if siblings else 0, 3, len(SIBLING_TEMPLATES)), dtype=np.int32)
        for q, parts in enumerate(SIBLING_TEMPLATES if siblings else ()):
            for part, own_code in enumerate(parts):
                total = np.full(n_rows, _SIBLING_FACTORS[q, part], dtype=np.uint64)
                if own_code is not None:
                    total += tokens.codes[:, own_code] * _SIBLING_FACTORS[q, 3]
                pairs[:, part, q] = _mix(total)
    number = {tag: k for k, tag in enumerate(tags)}
    small = np.zeros(n_rows, dtype=np.int32)
    is_word = np.ones(n_rows, dtype=bool)
    is_word[roots] = False
    small[is_word] = [
        number.get(tag, MOST_TAGS - 1) for sentence in tokens.coarse for tag in sentence
    ]
    return TokenTemplates(
        frozen(heads, np.int32),
        frozen(words, np.int32),
        frozen(pairs, np.int32),
        frozen(small, np.int32),
        frozen(_TAG_KEYS, np.int32),
        len(_ALONE),
        len(_ALONE),
        n_hashed - 1,
        n_relation_rows - 1,
        n_relations,
    )
