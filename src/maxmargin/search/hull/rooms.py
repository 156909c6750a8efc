"""The kinds of convex hull search, what each of them keeps, and the room that one search takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    implements,
    k_best_room,
    memory,
    profile_room,
    search_room,
)
from maxmargin.search.recall import Recall, remembered

#: Outputs remembered of an example: the ends of the last edges, and the best.
N_REMEMBERED = 12

#: How many lists of best outputs are made at the most.
MOST_LISTS = 64


class HullCore(NamedTuple):
    """What the kinds of hull search share.

    ``recall.numbers[i]`` is the largest cost in example i, 0 where it is not known.
    """

    recall: Recall
    max_calls: int
    is_ratio: int  # Micro-F1, where g < 0
    steps: Any  # (n_examples,): what the costs are multiples of, or 0
    luck: Any  # (n_examples, 2) int64: searches in a row that needed the fallback, and how many of
    # the next ones are to go to it at once


class HullSearch(NamedTuple):
    """Stops at the best corner (or the fractional output of a relaxation)."""

    core: HullCore


class HullThenProfile(NamedTuple):
    """Goes on by the best output of each cost level."""

    core: HullCore
    n_levels: int


class HullThenList(NamedTuple):
    """Goes on by the k best outputs."""

    core: HullCore
    max_k: int


class HullThenBranch(NamedTuple):
    """Goes on by branches of the outputs."""

    core: HullCore
    max_branches: int


class HullRoom(NamedTuple):
    """Room for one search: points met, which of them are the hull, and lines above all outputs.

    Few arrays with several rows, because every array of a NamedTuple costs compile time wherever it
    is handed on.
    """

    points: Any  # (4, n): a row each of h, g, error, order
    lines: Any  # (2, n): a row each of tilts and tops
    ints: Any  # (2, n) int64: the corners of the hull by rising g; counts
    labels: Any  # flat: output of point k at k * stride
    stride: int
    more: Any  # of the fallback


# A row of HullRoom.points beside H, G and ORDER: h without the shift of Micro-F1.
ERROR = 2
# Rows of HullRoom.ints.
CHAIN, COUNTS = 0, 1
# Places in the row of counts.
N_POINTS, N_CHAIN, N_LINES, BEST, IS_BOUNDED = range(5)


class ListRoom(NamedTuple):
    """Room for the k best outputs."""

    own: Any
    listed: Any  # flat


class LevelRoom(NamedTuple):
    """Room for a profile."""

    own: Any
    h: Any
    g: Any


def _room(core: HullCore, problem: Any, more: Any) -> HullRoom:
    # Points: the truth, those remembered, one a call and one of the fallback. Lines: one a call,
    # and one for each list of the fallback.
    n = core.max_calls + N_REMEMBERED + 2
    stride = int(problem.sizes.max(initial=1))
    return HullRoom(
        np.zeros((4, n)),
        np.zeros((2, n + MOST_LISTS)),
        np.zeros((2, n + 5), dtype=np.int64),
        problem.empty_outputs(n * stride),
        stride,
        more,
    )


@implements(search_room, HullSearch)
@implements(search_room, HullThenBranch)
def _search_room(search, problem):
    return _room(search.core, problem, np.zeros(0))


@implements(search_room, HullThenProfile)
def _profile_search_room(search, problem):
    own = profile_room(problem.view.data, problem.view.cost)
    return _room(search.core, problem, LevelRoom(own, *np.zeros((2, search.n_levels))))


@implements(search_room, HullThenList)
def _list_search_room(search, problem):
    k = search.max_k
    own = k_best_room(problem.view.data, problem.view.cost, k)
    listed = problem.empty_outputs(k * int(problem.sizes.max(initial=1)))
    return _room(search.core, problem, ListRoom(own, listed))


@implements(memory, HullSearch)
@implements(memory, HullThenProfile)
@implements(memory, HullThenList)
@implements(memory, HullThenBranch)
def _memory(search):
    return {**remembered(search.core.recall), "luck": search.core.luck}
