"""Parses: the best tree at each number of wrong words, for projective trees without siblings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    implements,
    profile,
    profile_levels,
    profile_output,
    profile_price,
    profile_room,
    profile_up_to,
)
from maxmargin.costs.attachment import ArcCost
from maxmargin.inference.parse.projective import (
    TreeLevels,
    projective_profile,
    tree_levels_room,
    write_projective_level,
)
from maxmargin.structures.parse.data import ParseData

#: The longest sentence that a profile is made of; its tables then take 2 GB.
LONGEST = 500


class ProfileRoom(NamedTuple):
    """Room for the profile of one sentence."""

    levels: TreeLevels
    right: Any  # ((n + 1)^2,): scores of arcs without a step
    wrong: Any  # ((n + 1)^2,): with a step
    right_at: Any  # ((n + 1)^2,) int32: their relations
    wrong_at: Any  # ((n + 1)^2,) int32
    totals: Any  # (n + 1,)
    steps: Any  # (n,) int32


@implements(profile_levels, ParseData, ArcCost)
def _profile_levels(data, cost):
    """Return 1 + the number of words of the longest sentence."""
    longest = int(np.diff(data.offsets).max(initial=1))
    if not data.is_projective:
        raise ValueError("there is no profile of trees that need not be projective.")
    if data.second:
        raise ValueError("there is no profile of trees whose siblings have weights.")
    if longest > LONGEST:
        raise ValueError(f"a sentence of {longest} words is too long for one; at most {LONGEST}.")
    return longest + 1


@implements(profile_price, ParseData, ArcCost)
def _profile_price(data, cost):
    """Return about so many calls: 5, 27 and 68 at 10, 25 and 50 words."""
    sizes = np.diff(data.offsets).astype(np.float64)
    # Scores take longer than Eisner's algorithm: both are in a call, a profile is beside them.
    work = 60.0 * sizes**2 + sizes**3 / 2.0
    return float(1.0 + (sizes**3 / 2.0 * sizes**1.5 / 3.0).sum() / max(work.sum(), 1.0))


@implements(profile_room, ParseData, ArcCost)
def _profile_room(data, cost):
    """Return room for the longest sentence."""
    longest = int(np.diff(data.offsets).max(initial=1))
    square = (longest + 1) ** 2
    return ProfileRoom(
        tree_levels_room(longest),
        np.zeros(square),
        np.zeros(square),
        np.zeros(square, dtype=np.int32),
        np.zeros(square, dtype=np.int32),
        np.zeros(longest + 1),
        np.zeros(longest, dtype=np.int32),
    )


@implements(profile, ParseData, ArcCost)
def _profile(data, cost, i, theta, room, own, h, g):
    """List all levels."""
    return profile_up_to(data, cost, i, theta, room, own, np.inf, h, g)


@implements(profile_up_to, ParseData, ArcCost)
def _profile_up_to(data, cost, i, theta, room, own, limit, h, g):
    """List the best score of every level: level l has the trees with l wrong words."""
    first, n = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    n_relations = data.n_relations
    place = first * (2 if n_relations > 1 else 1)
    size = (n + 1) * (n + 1)
    truth = 0.0
    for head in range(n + 1):
        for m in range(1, n + 1):
            at = head * (n + 1) + m
            own.right[at] = own.wrong[at] = -np.inf
            own.right_at[at] = own.wrong_at[at] = 0
            is_counted = data.counts[first + m - 1] != 0
            is_true = data.cells[place + m - 1] == head
            true_label = data.cells[place + n + m - 1] if n_relations > 1 else 0
            for label in range(n_relations):
                score = theta.arcs[at * n_relations + label]
                is_right = is_true and (label == true_label or not cost.is_labelled)
                if is_true and label == true_label:
                    truth += score
                if is_right or not is_counted:
                    if score > own.right[at]:
                        own.right[at], own.right_at[at] = score, label
                elif score > own.wrong[at]:
                    own.wrong[at], own.wrong_at[at] = score, label
    unit = cost.scale[i]
    most = n
    if limit < unit * n:
        most = int(limit / unit + 1e-9)
    n_levels = projective_profile(
        own.right[:size].reshape((n + 1, n + 1)), own.wrong[:size].reshape((n + 1, n + 1)),
        data.many, most, own.levels, own.totals,
    )  # fmt: skip
    for level in range(n_levels):
        h[level] = own.totals[level] - truth
        g[level] = unit * level
    return n_levels


@implements(profile_output, ParseData, ArcCost)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Trace back the tree of a level, from the tables of the last profile."""
    n = data.offsets[i + 1] - data.offsets[i]
    size = (n + 1) * (n + 1)
    heads = outputs[at : at + n]
    write_projective_level(
        own.right[:size].reshape((n + 1, n + 1)), own.wrong[:size].reshape((n + 1, n + 1)),
        data.many, own.levels, level, own.totals[level], heads, own.steps,
    )  # fmt: skip
    if data.n_relations > 1:
        for m in range(1, n + 1):
            arc = heads[m - 1] * (n + 1) + m
            label = own.wrong_at[arc] if own.steps[m - 1] else own.right_at[arc]
            outputs[at + n + m - 1] = label
