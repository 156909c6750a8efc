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

#: Outputs remembered per example: the ends of the last edges, and the best ones.
N_REMEMBERED = 12

#: Largest number of lists of best outputs in one search.
MOST_LISTS = 64


class HullCore(NamedTuple):
    """What the kinds of hull search share.

    ``recall.numbers[i]`` is the largest cost in example i, 0 where it is not known.
    """

    recall: Recall
    max_calls: int
    is_ratio: int  # Micro-F1, where g < 0
    steps: Any  # (n_examples,): the step that all costs are multiples of, or 0 if there is none
    luck: Any  # (n_examples, 2) int64: how many searches in a row needed the fallback, and how many
    # of the next ones go straight to it


class HullSearch(NamedTuple):
    """Stops at the best corner (or the fractional output of a relaxation)."""

    core: HullCore


class HullThenProfile(NamedTuple):
    """Goes on from the hull by the best output of each cost level."""

    core: HullCore
    n_levels: int


class HullThenList(NamedTuple):
    """Goes on from the hull by the k best outputs."""

    core: HullCore
    max_k: int


class HullThenBranch(NamedTuple):
    """Goes on from the hull by branches of the outputs."""

    core: HullCore
    max_branches: int


class HullRoom(NamedTuple):
    """Room for one search: points found, which of them are corners, and lines above all outputs.

    It has few arrays, with several rows each, because every array of a NamedTuple costs compile
    time wherever the tuple is passed on.
    """

    points: Any  # (4, n): the rows are h, g, error, order
    lines: Any  # (2, n): the rows are tilts and tops
    ints: Any  # (2, n) int64: the rows are the corners of the hull by increasing g, and counts
    found: Any  # flat: output of point k at k * stride
    stride: int
    more: Any  # room of the fallback


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
    # Points: the truth, those remembered, one per call and one of the fallback. Lines: one per
    # call, and one per list of the fallback.
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
