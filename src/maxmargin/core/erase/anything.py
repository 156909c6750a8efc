"""What passes and searches see in the place of a structure, a cost and a search: addresses.

These tuples are the same for every structure, so a pass is compiled once. They implement the
generic functions by calls through tables of entries. They live in compiled code alone: a problem
that runs as Python never makes one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin.core.contract import (
    add_difference,
    add_differences,
    add_few,
    add_listed,
    add_parts,
    add_prices,
    clear_difference,
    constrained,
    difference_potentials,
    difference_potentials_of,
    difference_square,
    few_scores,
    find,
    gather,
    implements,
    k_best,
    law_parts,
    lean,
    list_values,
    margin_error,
    marginals,
    maximize,
    maximize_bounded,
    mix,
    output_cost,
    output_length,
    output_size,
    parts,
    parts_square,
    potentials,
    potentials_of,
    profile,
    profile_output,
    profile_up_to,
    shift,
    spread,
)
from maxmargin.core.erase.entries import ENTRIES
from maxmargin.core.erase.native import word_at


class AnyData(NamedTuple):
    """The examples of any structure."""

    address: int  # of the packed data
    table: int  # address of the table of entries
    sizes: int  # address of the output sizes, int64
    cell: Any  # a zero of the type of a cell of an output; only its type matters


class AnyCost(NamedTuple):
    """Any cost, for the data of one problem."""

    address: int
    table: int


class AnyTheta(NamedTuple):
    """The potentials of one example, of any structure."""

    address: int


class AnyRoom(NamedTuple):
    """Scratch of any structure's oracles."""

    address: int


class AnySearch(NamedTuple):
    """Any search."""

    address: int
    table: int
    seen: int  # address of the problem as the search sees it


_potentials_entry = ENTRIES[potentials].call
_margin_error_entry = ENTRIES[margin_error].call
_add_difference_entry = ENTRIES[add_difference].call
_add_differences_entry = ENTRIES[add_differences].call
_ADD_DIFFERENCES = ENTRIES[add_differences].place
_difference_potentials_entry = ENTRIES[difference_potentials].call
_DIFFERENCE_POTENTIALS = ENTRIES[difference_potentials].place
_difference_square_entry = ENTRIES[difference_square].call
_DIFFERENCE_SQUARE = ENTRIES[difference_square].place
_potentials_of_entry, _POTENTIALS_OF = ENTRIES[potentials_of].call, ENTRIES[potentials_of].place
_difference_potentials_of_entry = ENTRIES[difference_potentials_of].call
_DIFFERENCE_POTENTIALS_OF = ENTRIES[difference_potentials_of].place
_clear_entry, _CLEAR = ENTRIES[clear_difference].call, ENTRIES[clear_difference].place
_output_length_entry, _OUTPUT_LENGTH = ENTRIES[output_length].call, ENTRIES[output_length].place
_parts_entry, _add_parts_entry = ENTRIES[parts].call, ENTRIES[add_parts].call
_mix_entry, _MIX = ENTRIES[mix].call, ENTRIES[mix].place
_maximize_entry = ENTRIES[maximize].call
_bounded_entry, _BOUNDED = ENTRIES[maximize_bounded].call, ENTRIES[maximize_bounded].place
_output_cost_entry = ENTRIES[output_cost].call
_shift_entry, _SHIFT = ENTRIES[shift].call, ENTRIES[shift].place
_profile_entry = ENTRIES[profile].call
_profile_up_to_entry, _PROFILE_UP_TO = ENTRIES[profile_up_to].call, ENTRIES[profile_up_to].place
_profile_output_entry = ENTRIES[profile_output].call
_k_best_entry = ENTRIES[k_best].call
_constrained_entry = ENTRIES[constrained].call
_list_values_entry = ENTRIES[list_values].call
_few_scores_entry = ENTRIES[few_scores].call
_add_few_entry = ENTRIES[add_few].call
_add_listed_entry = ENTRIES[add_listed].call
_find_entry = ENTRIES[find].call
_marginals_entry, _law_parts_entry = ENTRIES[marginals].call, ENTRIES[law_parts].call
_lean_entry, _add_prices_entry = ENTRIES[lean].call, ENTRIES[add_prices].call
_gather_entry, _spread_entry = ENTRIES[gather].call, ENTRIES[spread].call
_parts_square_entry = ENTRIES[parts_square].call


@implements(output_size, AnyData)
def _output_size(data, i):
    return word_at(data.sizes, i)


@implements(output_length, AnyData)
def _output_length(data, i, outputs, at):
    if word_at(data.table, _OUTPUT_LENGTH) == 0:  # all outputs use all their cells
        return word_at(data.sizes, i)
    return _output_length_entry(data.table, data.cell, (data.address, i, outputs, at))


@implements(potentials, AnyData)
def _potentials(data, i, w, scale, theta):
    _potentials_entry(data.table, data.cell, (data.address, i, w, scale, theta.address))


@implements(margin_error, AnyData)
def _margin_error(data, i, theta, outputs, at):
    return _margin_error_entry(data.table, data.cell, (data.address, i, theta.address, outputs, at))


@implements(add_difference, AnyData)
def _add_difference(data, i, outputs, at, scale, w):
    _add_difference_entry(data.table, data.cell, (data.address, i, outputs, at, scale, w))


@implements(add_differences, AnyData)
def _add_differences(data, i, outputs, places, scales, n_outputs, w):
    if word_at(data.table, _ADD_DIFFERENCES) == 0:  # the default
        for k in range(n_outputs):
            add_difference(data, i, outputs, places[k], scales[k], w)
        return
    _add_differences_entry(
        data.table, data.cell, (data.address, i, outputs, places, scales, n_outputs, w)
    )


@implements(clear_difference, AnyData)
def _clear_difference(data, i, outputs, at, w):
    if word_at(data.table, _CLEAR) == 0:
        for k in range(w.shape[0]):
            w[k] = 0.0
        return
    _clear_entry(data.table, data.cell, (data.address, i, outputs, at, w))


@implements(difference_potentials, AnyData)
def _difference_potentials(data, i, outputs, at, spare, theta):
    if word_at(data.table, _DIFFERENCE_POTENTIALS) == 0:  # the default
        add_difference(data, i, outputs, at, 1.0, spare)
        potentials(data, i, spare, 1.0, theta)
        clear_difference(data, i, outputs, at, spare)
        return
    _difference_potentials_entry(
        data.table, data.cell, (data.address, i, outputs, at, spare, theta.address)
    )


@implements(difference_square, AnyData)
def _difference_square(data, i, outputs, at, spare, theta):
    if word_at(data.table, _DIFFERENCE_SQUARE) == 0:  # the default
        difference_potentials(data, i, outputs, at, spare, theta)
        return -margin_error(data, i, theta, outputs, at)
    return _difference_square_entry(
        data.table, data.cell, (data.address, i, outputs, at, spare, theta.address)
    )


@implements(potentials_of, AnyData)
def _potentials_of(data, i, w, outputs, spans, first, count, theta):
    if word_at(data.table, _POTENTIALS_OF) == 0:  # the default
        potentials(data, i, w, 1.0, theta)
        return
    _potentials_of_entry(
        data.table, data.cell, (data.address, i, w, outputs, spans, first, count, theta.address)
    )


@implements(difference_potentials_of, AnyData)
def _difference_potentials_of(data, i, outputs, at, spans, first, count, spare, theta):
    if word_at(data.table, _DIFFERENCE_POTENTIALS_OF) == 0:  # the default
        difference_potentials(data, i, outputs, at, spare, theta)
        return
    _difference_potentials_of_entry(
        data.table,
        data.cell,
        (data.address, i, outputs, at, spans, first, count, spare, theta.address),
    )


@implements(parts, AnyData)
def _parts(data, i, outputs, at, scale, mu):
    _parts_entry(data.table, data.cell, (data.address, i, outputs, at, scale, mu.address))


@implements(add_parts, AnyData)
def _add_parts(data, i, mu, scale, w):
    _add_parts_entry(data.table, data.cell, (data.address, i, mu.address, scale, w))


@implements(mix, AnyData)
def _mix(data, i, left, left_at, right, right_at, share, outputs, at):
    if word_at(data.table, _MIX) == 0:  # outputs are integral
        return False
    return _mix_entry(
        data.table, data.cell, (data.address, i, left, left_at, right, right_at, share, outputs, at)
    )


@implements(maximize, AnyData, AnyCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    _maximize_entry(
        cost.table,
        data.cell,
        (
            data.address, cost.address, i, theta.address, room.address, score_scale, cost_scale,
            outputs, at,
        ),
    )  # fmt: skip


@implements(maximize_bounded, AnyData, AnyCost)
def _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    if word_at(cost.table, _BOUNDED) == 0:  # the default, for oracles that are exact
        maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)
        h = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
        return score_scale * h + cost_scale * output_cost(data, cost, i, outputs, at)
    return _bounded_entry(
        cost.table,
        data.cell,
        (
            data.address, cost.address, i, theta.address, room.address, score_scale, cost_scale,
            outputs, at,
        ),
    )  # fmt: skip


@implements(output_cost, AnyData, AnyCost)
def _output_cost(data, cost, i, outputs, at):
    return _output_cost_entry(cost.table, data.cell, (data.address, cost.address, i, outputs, at))


@implements(shift, AnyData, AnyCost)
def _shift(data, cost, i, outputs, at):
    if word_at(cost.table, _SHIFT) == 0:
        return 0.0
    return _shift_entry(cost.table, data.cell, (data.address, cost.address, i, outputs, at))


@implements(profile, AnyData, AnyCost)
def _profile(data, cost, i, theta, room, own, h, g):
    return _profile_entry(
        cost.table,
        data.cell,
        (data.address, cost.address, i, theta.address, room.address, own.address, h, g),
    )


@implements(profile_up_to, AnyData, AnyCost)
def _profile_up_to(data, cost, i, theta, room, own, limit, h, g):
    if word_at(cost.table, _PROFILE_UP_TO) == 0:  # it would leave out no level
        return profile(data, cost, i, theta, room, own, h, g)
    return _profile_up_to_entry(
        cost.table,
        data.cell,
        (data.address, cost.address, i, theta.address, room.address, own.address, limit, h, g),
    )


@implements(profile_output, AnyData, AnyCost)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    _profile_output_entry(
        cost.table,
        data.cell,
        (
            data.address, cost.address, i, theta.address, room.address, own.address, level, outputs,
            at,
        ),
    )  # fmt: skip


@implements(k_best, AnyData, AnyCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    return _k_best_entry(
        cost.table,
        data.cell,
        (
            data.address, cost.address, i, theta.address, room.address, score_scale, cost_scale, k,
            own.address, outputs, at,
        ),
    )  # fmt: skip


@implements(constrained, AnyData, AnyCost)
def _constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    return _constrained_entry(
        cost.table,
        data.cell,
        (
            data.address, cost.address, i, theta.address, room.address, tilt, low, high, is_closed,
            banned, n_banned, outputs, at,
        ),
    )  # fmt: skip


@implements(list_values, AnyData, AnyCost)
def _list_values(data, cost, i, theta, values, costs):
    _list_values_entry(
        cost.table,
        data.cell,
        (data.address, cost.address, i, theta.address, values, costs),
    )


@implements(few_scores, AnyData)
def _few_scores(data, i, outputs, n_few, w, scores):
    _few_scores_entry(data.table, data.cell, (data.address, i, outputs, n_few, w, scores))


@implements(add_few, AnyData)
def _add_few(data, i, outputs, n_few, mass, scale, w):
    _add_few_entry(data.table, data.cell, (data.address, i, outputs, n_few, mass, scale, w))


@implements(add_listed, AnyData)
def _add_listed(data, i, mass, scale, w):
    _add_listed_entry(data.table, data.cell, (data.address, i, mass, scale, w))


@implements(find, AnySearch)
def _find(search, problem, i, desk, outputs, at):
    # The desk of the pass has, as its search room, the address of the desk that the search sees.
    return _find_entry(
        search.table,
        problem.data.cell,
        (search.address, search.seen, i, desk.search_room.address, outputs, at),
    )


@implements(marginals, AnyData)
def _marginals(data, i, theta, own, temperature, prior, prior_at, law, at):
    _marginals_entry(
        data.table,
        data.cell,
        (
            data.address, i, theta.address, own.address, temperature, prior, prior_at, law, at,
        ),
    )  # fmt: skip


@implements(law_parts, AnyData)
def _law_parts(data, i, law, at, scale, mu):
    _law_parts_entry(data.table, data.cell, (data.address, i, law, at, scale, mu.address))


@implements(lean, AnyData)
def _lean(data, i, scale, theta):
    _lean_entry(data.table, data.cell, (data.address, i, scale, theta.address))


@implements(add_prices, AnyData, AnyCost)
def _add_prices(data, cost, i, scale, theta):
    _add_prices_entry(cost.table, data.cell, (data.address, cost.address, i, scale, theta.address))


@implements(gather, AnyData)
def _gather(data, i, theta, counts, scale, flat, at):
    _gather_entry(data.table, data.cell, (data.address, i, theta.address, counts, scale, flat, at))


@implements(spread, AnyData)
def _spread(data, i, flat, at, counts, theta):
    _spread_entry(data.table, data.cell, (data.address, i, flat, at, counts, theta.address))


@implements(parts_square, AnyData)
def _parts_square(data, i, mu, spare, theta):
    return _parts_square_entry(
        data.table, data.cell, (data.address, i, mu.address, spare, theta.address)
    )
