"""The oracles that a user's structure in plain Python may have beside `maximize`.

=================  ================================================================================
`profile(x, w, y_true)`
                   outputs among which every psi increasing in the score has its maximum: a best
                   one for each cost there is
`k_best(x, w, y_true, score_scale, cost_scale, k)`
                   the k best outputs of what `maximize` maximises, best first; fewer where there
                   are fewer
`constrained(x, w, y_true, tilt, low, high, is_closed, banned)`
                   an output of largest 1 + h + tilt * cost, h its score less that of y_true, among
                   those with 1 + h > 0 and low < cost / (1 + h) < high (<= high if is_closed) that
                   are not in the list ``banned``; None where there is none
=================  ================================================================================

A structure that has one of them can be trained with the searches that need it.
"""

from __future__ import annotations

from typing import Any

from maxmargin.generic import (
    constrained,
    implements,
    k_best,
    k_best_room,
    margin_error,
    oracles,
    output_cost,
    profile,
    profile_levels,
    profile_output,
    profile_room,
)
from maxmargin.structures.user import Box, OwnCost, UserData, read_only

OPTIONAL = ("k_best", "constrained", "profile")


@implements(oracles, UserData)
def _oracles(data, cost):
    named = {name for name in OPTIONAL if callable(getattr(data.structure, name, None))}
    return frozenset(named | {"weighted"})


def _boxes(name: str, listed: Any, i: int, most: int) -> list[Box]:
    outputs = list(listed)
    if len(outputs) > most or any(y is None for y in outputs) or not outputs:
        raise ValueError(
            f"{name} must return a list of 1 to {most} outputs, but for sample {i} it returned "
            f"{len(outputs)}" + (", one of them None." if None in outputs else ".")
        )
    return [Box(y) for y in outputs]


#: Most outputs that the profile of an example may have.
MOST_LEVELS = 10_000


@implements(profile_levels, UserData, OwnCost)
def _profile_levels(data, cost):
    return MOST_LEVELS


@implements(profile_room, UserData, OwnCost)
def _profile_room(data, cost):
    return []


@implements(profile, UserData, OwnCost)
def _profile(data, cost, i, theta, room, h, g):
    w = read_only(theta.scale * theta.w)
    listed = data.structure.profile(data.X[i], w, data.truths[i].value)
    room[:] = _boxes("profile", listed, i, MOST_LEVELS)
    for level in range(len(room)):
        h[level] = margin_error(data, i, theta, room, level)
        g[level] = output_cost(data, cost, i, room, level)
    return len(room)


@implements(profile_output, UserData, OwnCost)
def _profile_output(data, cost, i, theta, room, level, outputs, at):
    outputs[at] = room[level]


@implements(k_best_room, UserData, OwnCost)
def _k_best_room(data, cost, k):
    return None


@implements(k_best, UserData, OwnCost)
def _k_best(data, cost, i, theta, score_scale, cost_scale, k, room, outputs, at):
    listed = data.structure.k_best(
        data.X[i],
        read_only(theta.w),
        data.truths[i].value,
        float(score_scale * theta.scale),
        float(cost_scale),
        int(k),
    )
    boxes = _boxes("k_best", listed, i, int(k))
    for rank, box in enumerate(boxes):
        outputs[at + rank] = box
    return len(boxes)


@implements(constrained, UserData, OwnCost)
def _constrained(data, cost, i, theta, tilt, low, high, is_closed, banned, n_banned, outputs, at):
    y = data.structure.constrained(
        data.X[i],
        read_only(theta.scale * theta.w),
        data.truths[i].value,
        float(tilt),
        float(low),
        float(high),
        bool(is_closed),
        [banned[k].value for k in range(n_banned)],
    )
    if y is not None:
        outputs[at] = Box(y)
    return y is not None
