"""Features of arcs from templates over tokens, hashed: computed anew at every look, never stored.

A template names attributes of the head and of the word of an arc, or of their neighbours. Each
token has one key per template as a head and one as a word (inputs/tokens.py makes them, random
numbers of 31 bits); the sum of the two, multiplied, gives the cell of w. Every template stands
plain, and once more with the direction and the distance of the arc: 1, 2, 3, 4, 5, 6 to 10, more.
The second cell is near the first, with other low bits, so that both are mostly in one line of the
cache: most of the time of training is waiting for such lines. Coarse tags between head and word are
a set, each a feature with the tags of both ends.

Relations have rows of their own behind these cells: a row has one weight per relation.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.dispatch import implements
from maxmargin.inference._inline import inlined
from maxmargin.structures.parse.arcs import (
    add_arc,
    add_sibling,
    clear_arc,
    clear_sibling,
    fill_arcs,
    fill_siblings,
    score_arc,
    score_sibling,
)

#: An odd number below 2^30: a key, or the sum of four, times it stays below 2^63.
FACTOR = 0x2545F491
RELATION_FACTOR = 0x1B873593
#: What is added to keys by direction, left and right.
_LEFT, _RIGHT = 0x13198A2E, 0x03707344
_MORE = 0x1F83D9AB


class TokenTemplates(NamedTuple):
    """Tokens as templates read them: keys of the roots and the words of all sentences.

    Row first + i is the root of sentence i, before which there are ``first`` words; its words
    follow. The last column of ``heads`` and ``words`` is for tags between. Of the templates the
    first ``n_word`` are of the word alone, the next ``n_head`` of the head alone.
    """

    heads: Any  # (n_words + n_examples, n_templates + 1) int32, >= 0
    words: Any  # the same
    siblings: Any  # (rows or 0, 3, n_sibling_templates) int32: as a head, a sibling, a word
    tags: Any  # (n_words + n_examples,) int32: small numbers of coarse tags, for sets of them
    tag_keys: Any  # (n_tags,) int32
    n_word: int
    n_head: int
    mask: int  # the number of cells for arcs, a power of 2, minus 1
    relation_mask: int  # the number of rows for relations, a power of 2, minus 1
    n_relations: int  # 1: none


@inlined
def _near(h, m):
    """Return direction and distance as low bits: 1 to 7, from the right 9 to 15."""
    distance = abs(h - m)
    bucket = distance if distance < 6 else (6 if distance < 11 else 7)
    return bucket if h < m else bucket + 8


@inlined
def _cell(key, mask):
    return ((key * FACTOR) >> 20) & mask


@implements(fill_arcs, TokenTemplates)
def _fill_arcs(features, i, first, n, scale, w, arcs):
    heads, words, tags, tag_keys = features.heads, features.words, features.tags, features.tag_keys
    mask, n_word = features.mask, features.n_word
    n_alone = n_word + features.n_head
    n_templates = heads.shape[1] - 1
    n_relations = arcs.shape[2]
    base = first + i
    for h in range(n + 1):
        plain = 0.0
        for q in range(n_word, n_alone):
            plain += w[_cell(np.int64(heads[base + h, q]) + words[base, q], mask)]
        for side in range(2):
            step = 1 if side == 0 else -1
            seen = np.int64(0)
            m = h + step
            while 1 <= m <= n:
                near = _near(h, m)
                total = plain
                for q in range(n_alone):
                    cell = _cell(np.int64(heads[base + h, q]) + words[base + m, q], mask)
                    total += w[cell ^ near]
                for q in range(n_alone, n_templates):
                    cell = _cell(np.int64(heads[base + h, q]) + words[base + m, q], mask)
                    total += w[cell] + w[cell ^ near]
                ends = np.int64(heads[base + h, n_templates]) + words[base + m, n_templates]
                ends += _RIGHT if h < m else _LEFT
                left = seen
                tag = 0
                while left != 0:
                    if left & 1:
                        total += w[_cell(ends + tag_keys[tag], mask)]
                    left >>= 1
                    tag += 1
                for label in range(n_relations):
                    arcs[h, m, label] = scale * total
                if n_relations > 1:
                    _add_relation_scores(features, base, h, m, scale, w, arcs)
                seen |= np.int64(1) << tags[base + m]
                m += step


@inlined
def relation_row(features, base, h, m, q, more):
    """Return the row of weights of relations of one template of an arc, joined with a number.

    The number is below 32: so no product leaves 63 bits.
    """
    key = np.int64(features.heads[base + h, q]) + features.words[base + m, q]
    key += (_RIGHT if h < m else _LEFT) + np.int64(more) * _MORE
    return ((key * RELATION_FACTOR) >> 22) & features.relation_mask


@inlined
def _relation_row(features, base, h, m, q):
    """Return where this row begins in w."""
    return features.mask + 1 + relation_row(features, base, h, m, q, 0) * features.n_relations


@inlined
def _add_relation_scores(features, base, h, m, scale, w, arcs):
    for q in range(features.heads.shape[1] - 1):
        at = _relation_row(features, base, h, m, q)
        for label in range(features.n_relations):
            arcs[h, m, label] += scale * w[at + label]


@inlined
def _visit(features, base, h, m, relation, scale, is_cleared, w):
    """Add scale to all cells of an arc, or clear them."""
    keep = 0.0 if is_cleared else 1.0
    mask, n_templates = features.mask, features.heads.shape[1] - 1
    near = _near(h, m)
    for q in range(n_templates):
        cell = _cell(np.int64(features.heads[base + h, q]) + features.words[base + m, q], mask)
        w[cell ^ near] = keep * w[cell ^ near] + scale
        if q >= features.n_word:
            w[cell] = keep * w[cell] + scale
    ends = np.int64(features.heads[base + h, n_templates]) + features.words[base + m, n_templates]
    ends += _RIGHT if h < m else _LEFT
    seen = np.int64(0)
    for between in range(min(h, m) + 1, max(h, m)):
        tag = np.int64(features.tags[base + between])
        if (seen >> tag) & 1 == 0:
            seen |= np.int64(1) << tag
            cell = _cell(ends + features.tag_keys[tag], mask)
            w[cell] = keep * w[cell] + scale
    if features.n_relations > 1:
        for q in range(n_templates):
            at = _relation_row(features, base, h, m, q) + relation
            w[at] = keep * w[at] + scale


@implements(score_arc, TokenTemplates)
def _score_arc(features, i, first, n, h, m, relation, w, out):
    base, near = first + i, _near(h, m)
    mask, n_templates = features.mask, features.heads.shape[1] - 1
    total = 0.0
    for q in range(n_templates):
        cell = _cell(np.int64(features.heads[base + h, q]) + features.words[base + m, q], mask)
        total += w[cell ^ near]
        if q >= features.n_word:
            total += w[cell]
        if features.n_relations > 1:
            total += w[_relation_row(features, base, h, m, q) + relation]
    ends = np.int64(features.heads[base + h, n_templates]) + features.words[base + m, n_templates]
    ends += _RIGHT if h < m else _LEFT
    seen = np.int64(0)
    for between in range(min(h, m) + 1, max(h, m)):
        tag = np.int64(features.tags[base + between])
        if (seen >> tag) & 1 == 0:
            seen |= np.int64(1) << tag
            total += w[_cell(ends + features.tag_keys[tag], mask)]
    return total


@implements(add_arc, TokenTemplates)
def _add_arc(features, i, first, n, h, m, relation, scale, w):
    _visit(features, first + i, h, m, relation, scale, False, w)


@implements(clear_arc, TokenTemplates)
def _clear_arc(features, i, first, n, h, m, relation, w):
    _visit(features, first + i, h, m, relation, 0.0, True, w)


@inlined
def _sibling_cell(features, base, h, m, s, q):
    key = np.int64(features.siblings[base + h, 0, q]) + features.siblings[base + m, 2, q]
    # The first child has no sibling: the key of the root as a sibling stands for that.
    key += features.siblings[base + s if s != h else base, 1, q]
    return _cell(key + (_RIGHT if h < m else _LEFT), features.mask)


@implements(fill_siblings, TokenTemplates)
def _fill_siblings(features, i, first, n, scale, w, siblings):
    base = first + i
    for h in range(n + 1):
        for m in range(1, n + 1):
            if m == h:
                continue
            step = 1 if m > h else -1
            s = h
            while s != m:
                total = 0.0
                for q in range(features.siblings.shape[2]):
                    total += w[_sibling_cell(features, base, h, m, s, q)]
                siblings[h, m, s] = scale * total
                s += step


@implements(add_sibling, TokenTemplates)
def _add_sibling(features, i, first, n, h, m, s, scale, w):
    for q in range(features.siblings.shape[2]):
        w[_sibling_cell(features, first + i, h, m, s, q)] += scale


@implements(clear_sibling, TokenTemplates)
def _clear_sibling(features, i, first, n, h, m, s, w):
    for q in range(features.siblings.shape[2]):
        w[_sibling_cell(features, first + i, h, m, s, q)] = 0.0


@implements(score_sibling, TokenTemplates)
def _score_sibling(features, i, first, n, h, m, s, w):
    total = 0.0
    for q in range(features.siblings.shape[2]):
        total += w[_sibling_cell(features, first + i, h, m, s, q)]
    return total
