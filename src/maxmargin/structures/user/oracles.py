"""The oracles of a user's structure in plain Python: `maximize`, and the optional ones.

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
                   are not in the list ``banned``; None where there is none. An output that lies on
                   a bound up to rounding may count as in or out, but in every call alike
`maximize(..., forbid=(), require=())` and `parts(y)`
                   as `maximize`, of the outputs that have none of the parts in ``forbid`` and all
                   of those in ``require``, two frozensets, None where there is none; and the parts
                   of an output, which are hashable and tell outputs apart. ``require`` may be
                   missing: then no output may have all the parts of another
=================  ================================================================================

A structure that has one of them can be trained with the searches that need it.
"""

from __future__ import annotations

import inspect
from typing import Any

from maxmargin.core.contract import (
    can_require,
    capabilities,
    constrained,
    implements,
    k_best,
    k_best_room,
    margin_error,
    maximize,
    maximize_within,
    output_cost,
    output_parts,
    profile,
    profile_levels,
    profile_output,
    profile_room,
)
from maxmargin.structures.user.boxes import Box
from maxmargin.structures.user.data import UserData
from maxmargin.structures.user.structure import ask_maximize, read_only

OPTIONAL = ("k_best", "constrained", "profile")


class OwnCost:
    """Stands for the cost that a user's structure brings along."""


@implements(maximize, UserData, OwnCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Ask `maximize` of the structure."""
    x, truth, scale = data.X[i], data.truths[i].value, score_scale * theta.scale
    outputs[at] = Box(ask_maximize(data.structure, i, x, theta.w, truth, scale, cost_scale))


@implements(output_cost, UserData, OwnCost)
def _output_cost(data, cost, i, outputs, at):
    """Ask `cost` of the structure."""
    return data.cost(i, outputs[at])


@implements(capabilities, UserData)
def _capabilities(data, cost):
    """Name the optional oracles that the structure has."""
    named = {name for name in OPTIONAL if callable(getattr(data.structure, name, None))}
    if "forbid" in _options(data.structure):
        if not callable(getattr(data.structure, "parts", None)):
            raise TypeError(
                f"maximize of {type(data.structure).__name__} takes forbid, but there is no method "
                "parts(y) that says which parts an output has."
            )
        named.add("forbid")
    return frozenset(named | {"weighted"})


def _options(structure: Any) -> frozenset[str]:
    """Return which of forbid and require `maximize` takes, by name."""
    try:
        known = inspect.signature(structure.maximize).parameters
    except (TypeError, ValueError):  # a callable of another language
        return frozenset()
    return frozenset({"forbid", "require"} & known.keys())


def _boxes(name: str, listed: Any, i: int, most: int) -> list[Box]:
    """Return listed outputs in boxes; refuse None, no output, and more than ``most``."""
    outputs = list(listed)
    if len(outputs) > most or any(y is None for y in outputs) or not outputs:
        raise ValueError(
            f"{name} must return a list of 1 to {most} outputs, but for sample {i} it returned "
            f"{len(outputs)}" + (", one of them None." if None in outputs else ".")
        )
    return [Box(y) for y in outputs]


#: The most outputs that the profile of one example may have.
MOST_LEVELS = 10_000


@implements(profile_levels, UserData, OwnCost)
def _profile_levels(data, cost):
    """Return MOST_LEVELS: a structure does not say how many there are."""
    return MOST_LEVELS


@implements(profile_room, UserData, OwnCost)
def _profile_room(data, cost):
    """Return a list for the outputs of the last profile."""
    return []


@implements(profile, UserData, OwnCost)
def _profile(data, cost, i, theta, room, own, h, g):
    """Ask `profile` of the structure; each output that it lists is a level."""
    w = read_only(theta.scale * theta.w)
    listed = data.structure.profile(data.X[i], w, data.truths[i].value)
    own[:] = _boxes("profile", listed, i, MOST_LEVELS)
    for level in range(len(own)):
        h[level] = margin_error(data, i, theta, own, level)
        g[level] = output_cost(data, cost, i, own, level)
    return len(own)


@implements(profile_output, UserData, OwnCost)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Write the output that the last profile listed at this place."""
    outputs[at] = own[level]


@implements(k_best_room, UserData)
def _k_best_room(data, cost, k):
    """Return nothing: `k_best` of the structure needs no room of ours."""
    return None


@implements(k_best, UserData, OwnCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Ask `k_best` of the structure."""
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
def _constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    """Ask `constrained` of the structure."""
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


# -- branches --------------------------------------------------------------------------------------


@implements(can_require, UserData)
def _can_require(data):
    """Tell whether `maximize` of the structure takes ``require``."""
    return "require" in _options(data.structure)


@implements(output_parts, UserData)
def _output_parts(data, i, outputs, at):
    """Ask `parts` of the structure; refuse parts that are not hashable."""
    listed = data.structure.parts(outputs[at].value)
    try:
        parts = tuple(listed)
        frozenset(parts)
    except TypeError:
        raise TypeError(
            "parts must return a collection of hashable parts (numbers, strings, tuples), but for "
            f"sample {i} it returned {listed!r}."
        ) from None
    return parts


@implements(maximize_within, UserData, OwnCost)
def _maximize_within(
    data, cost, i, theta, room, score_scale, cost_scale, forbid, require, outputs, at
):
    """Ask `maximize` of the structure with limits; refuse an output that breaks them."""
    # Pass ``require`` only if it is not empty: a structure without that argument never sees it.
    limits = {"forbid": forbid, "require": require} if require else {"forbid": forbid}
    x, truth, scale = data.X[i], data.truths[i].value, score_scale * theta.scale
    y = ask_maximize(data.structure, i, x, theta.w, truth, scale, cost_scale, **limits)
    if y is None:
        return False
    outputs[at] = Box(y)
    parts = frozenset(_output_parts(data, i, outputs, at))
    if not (require <= parts and forbid.isdisjoint(parts)):
        wrong = next(iter(parts & forbid or require - parts))
        raise ValueError(
            f"maximize was told to {'forbid' if wrong in forbid else 'require'} the part "
            f"{wrong!r}, but for sample {i} it returned {y!r}, which has "
            f"{'it' if wrong in forbid else 'it not'}."
        )
    return True
