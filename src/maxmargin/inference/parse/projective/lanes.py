"""Runs of cells of eight charts at once, as vector instructions.

A batch has the charts of eight sentences interleaved: eight numbers, one lane of each sentence, are
a cell, a row of an array of shape (n_cells, 8), and a run is cells one after the other. What fills
a chart is the maximum of the sum, or the sum of the product, of two runs; all eight sentences have
the same two. The compiler does not find that by itself: its loops are over cells, and it looks for
vectors along them. So the vectors are spelled out here, eight numbers wide; the compiler cuts them
where a processor has shorter ones. Functions without underscores are what Python runs, and say what
is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import overloads

WIDTH = 8


def lanes_room(n_cells: int) -> npt.NDArray[np.float64]:
    """Return room for cells; every cell is one line of the cache.

    numpy begins arrays at multiples of 16 bytes: then most cells would lie in two lines.
    """
    room = np.empty(WIDTH * (n_cells + 1))
    skipped = -room.ctypes.data % 64 // 8
    return room[skipped : skipped + WIDTH * n_cells].reshape(n_cells, WIDTH)


def best_of_runs(one, i, other, j, n_cells, out, to):
    """out[to] = max over c < n_cells of one[i + c] + other[j + c], in all lanes; -inf of none."""
    sums = one[i : i + n_cells] + other[j : j + n_cells]
    out[to] = sums.max(axis=0, initial=-np.inf)


def sum_of_runs(one, i, other, j, n_cells, out, to, kept):
    """out[to] = sum over c < n_cells of one[i + c] * other[j + c], in all lanes.

    If ``kept`` is 1 and not 0, that is added to what out[to] holds.
    """
    own = out[to] if kept else 0.0
    out[to] = own + (one[i : i + n_cells] * other[j : j + n_cells]).sum(axis=0)


def copy_cell(one, i, out, to):
    """out[to] = one[i], in all lanes."""
    out[to] = one[i]


@overloads(best_of_runs)
def _best_of_runs(one, i, other, j, n_cells, out, to):
    best, _, _ = _vectors()

    def call(one, i, other, j, n_cells, out, to):
        best(one, i, other, j, n_cells, out, to)

    return call


@overloads(sum_of_runs)
def _sum_of_runs(one, i, other, j, n_cells, out, to, kept):
    _, total, _ = _vectors()

    def call(one, i, other, j, n_cells, out, to, kept):
        total(one, i, other, j, n_cells, out, to, kept)

    return call


@overloads(copy_cell)
def _copy_cell(one, i, out, to):
    _, _, copy = _vectors()

    def call(one, i, out, to):
        copy(one, i, out, to)

    return call


@cache
def _vectors() -> tuple[Any, Any, Any]:
    """Return the functions as code for the compiler, which is not imported before."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    double, index = ir.DoubleType(), ir.IntType(64)
    eight = ir.VectorType(double, WIDTH)

    def address(builder: Any, data: Any, cell: Any) -> Any:
        at = builder.mul(cell, ir.Constant(index, WIDTH))
        return builder.bitcast(builder.gep(data, [at]), eight.as_pointer())

    def generator(start: float, join: Callable[[Any, Any, Any], Any], add: Any) -> Any:
        """Return what writes the code: values are joined in pairs, and added to what there is."""
        first = ir.Constant(eight, [ir.Constant(double, start)] * WIDTH)

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            one, other, out = (
                make_array(signature.args[k])(context, builder, given[k]).data for k in (0, 2, 5)
            )
            _, i, _, j, n_cells, _, to, *kept = given
            # Two cells a turn, each with a sum of its own: one need not wait for the other.
            found = [cgutils.alloca_once_value(builder, first) for _ in range(2)]
            for each in found:  # a loop around the call comes here again
                builder.store(first, each)
            for flag in kept:
                with builder.if_then(builder.icmp_signed("!=", flag, ir.Constant(index, 0))):
                    builder.store(builder.load(address(builder, out, to), align=8), found[1])

            def look(cell: Any, place: Any) -> None:
                a = builder.load(address(builder, one, builder.add(i, cell)), align=8)
                b = builder.load(address(builder, other, builder.add(j, cell)), align=8)
                builder.store(join(builder, builder.load(place), add(builder, a, b)), place)

            zero, unit, two = (ir.Constant(index, k) for k in range(3))
            even = builder.and_(n_cells, ir.Constant(index, -2))
            with cgutils.for_range_slice(builder, zero, even, two, index) as (cell, _):
                look(cell, found[0])
                look(builder.add(cell, unit), found[1])
            with builder.if_then(builder.icmp_signed("<", even, n_cells)):
                look(even, found[0])
            both = join(builder, builder.load(found[0]), builder.load(found[1]))
            builder.store(both, address(builder, out, to), align=8)
            return context.get_dummy_value()

        return generate

    def larger(builder: Any, one: Any, other: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", one, other), one, other)

    def plus(builder: Any, one: Any, other: Any) -> Any:
        return builder.fadd(one, other, flags=("contract",))

    def times(builder: Any, one: Any, other: Any) -> Any:
        return builder.fmul(one, other, flags=("contract",))

    def signature_of(one: Any, other: Any, out: Any, *kept: Any) -> Any:
        i = types.int64
        return types.void(one, i, other, i, i, out, i, *(i for _ in kept))

    @intrinsic
    def best(typing, one, i, other, j, n_cells, out, to):
        return signature_of(one, other, out), generator(-np.inf, larger, plus)

    @intrinsic
    def total(typing, one, i, other, j, n_cells, out, to, kept):
        return signature_of(one, other, out, kept), generator(0.0, plus, times)

    @intrinsic
    def copy(typing, one, i, out, to):
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            source, target = (
                make_array(signature.args[k])(context, builder, given[k]).data for k in (0, 2)
            )
            cell = builder.load(address(builder, source, given[1]), align=8)
            builder.store(cell, address(builder, target, given[3]), align=8)
            return context.get_dummy_value()

        return types.void(one, types.int64, out, types.int64), generate

    return best, total, copy
