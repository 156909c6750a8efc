"""Maxima of four rows, or of four columns, of a dense table at once, as vector instructions.

The compiler does not find them by itself: tables have few labels, so that a loop over one row is
over before vectors pay off, and it takes loops for long ones. So the vectors are spelled out here,
four numbers wide; the compiler cuts them in two where a processor has shorter ones. Functions
without underscores are what Python runs, and say what is computed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from maxmargin.core.compile import overloads

WIDTH = 4


def best_of_rows(tables, first, stride, incoming, at, n, out, to):
    """out[to + k] = max over y < n of tables[first + k stride + y] + incoming[at + y]; n >= 4."""
    for k in range(WIDTH):
        row = first + k * stride
        out[to + k] = np.max(tables[row : row + n] + incoming[at : at + n])


def best_of_columns(tables, first, stride, incoming, at, n, out, to):
    """out[to + k] = max over y < n of tables[first + k + y stride] + incoming[at + y]."""
    for k in range(WIDTH):
        last = first + k + n * stride
        out[to + k] = np.max(tables[first + k : last : stride] + incoming[at : at + n])


@overloads(best_of_rows)
def _best_of_rows(tables, first, stride, incoming, at, n, out, to):
    rows, _ = _vectors()

    def call(tables, first, stride, incoming, at, n, out, to):
        rows(tables, first, stride, incoming, at, n, out, to)

    return call


@overloads(best_of_columns)
def _best_of_columns(tables, first, stride, incoming, at, n, out, to):
    _, columns = _vectors()

    def call(tables, first, stride, incoming, at, n, out, to):
        columns(tables, first, stride, incoming, at, n, out, to)

    return call


@cache
def _vectors() -> tuple[Any, Any]:
    """Return both functions as code for the compiler, which is not imported before."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    double, index, lane = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
    four = ir.VectorType(double, WIDTH)
    lanes = ir.VectorType(lane, WIDTH)
    nothing = ir.Constant(four, ir.Undefined)
    least = ir.Constant(four, [ir.Constant(double, -np.inf)] * WIDTH)

    def address(builder: Any, data: Any, at: Any) -> Any:
        return builder.bitcast(builder.gep(data, [at]), four.as_pointer())

    def load(builder: Any, data: Any, at: Any) -> Any:
        return builder.load(address(builder, data, at), align=8)

    def store(builder: Any, value: Any, data: Any, at: Any) -> None:
        builder.store(value, address(builder, data, at), align=8)

    def larger(builder: Any, one: Any, other: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", one, other), one, other)

    def pick(builder: Any, one: Any, other: Any, places: list[int]) -> Any:
        return builder.shuffle_vector(one, other, ir.Constant(lanes, places))

    def arrays(context: Any, builder: Any, signature: Any, given: Any) -> list[Any]:
        return [make_array(signature.args[k])(context, builder, given[k]).data for k in (0, 3, 6)]

    def signature_of(tables: Any, incoming: Any, out: Any) -> Any:
        i = types.int64
        return types.void(tables, i, i, incoming, i, i, out, i)

    @intrinsic
    def rows(typing, tables, first, stride, incoming, at, n, out, to):
        def generate(context, builder, signature, given):
            table, added, target = arrays(context, builder, signature, given)
            _, first, stride, _, at, n, _, to = given
            starts = [first]
            for _ in range(WIDTH - 1):
                starts.append(builder.add(starts[-1], stride))
            best = [cgutils.alloca_once_value(builder, least) for _ in starts]

            def look(y: Any) -> None:
                message = load(builder, added, builder.add(at, y))
                for start, place in zip(starts, best, strict=True):
                    entries = load(builder, table, builder.add(start, y))
                    value = builder.fadd(entries, message)
                    builder.store(larger(builder, value, builder.load(place)), place)

            # The last four may have been seen in part: a maximum does not mind.
            zero, width = ir.Constant(index, 0), ir.Constant(index, WIDTH)
            last = builder.sub(n, width)
            with cgutils.for_range_slice(builder, zero, last, width, index) as (y, _):
                look(y)
            look(last)
            # One maximum of four lanes each: lanes in pairs, then pairs of pairs.
            a, b, c, d = (builder.load(place) for place in best)
            even, odd, low, high = [0, 4, 2, 6], [1, 5, 3, 7], [0, 1, 4, 5], [2, 3, 6, 7]
            ab = larger(builder, pick(builder, a, b, even), pick(builder, a, b, odd))
            cd = larger(builder, pick(builder, c, d, even), pick(builder, c, d, odd))
            of_all = larger(builder, pick(builder, ab, cd, low), pick(builder, ab, cd, high))
            store(builder, of_all, target, to)
            return context.get_dummy_value()

        return signature_of(tables, incoming, out), generate

    @intrinsic
    def columns(typing, tables, first, stride, incoming, at, n, out, to):
        def generate(context, builder, signature, given):
            table, added, target = arrays(context, builder, signature, given)
            _, first, stride, _, at, n, _, to = given
            best = cgutils.alloca_once_value(builder, least)
            with cgutils.for_range(builder, n) as loop:
                row = builder.add(first, builder.mul(loop.index, stride))
                message = builder.load(builder.gep(added, [builder.add(at, loop.index)]))
                alone = builder.insert_element(nothing, message, ir.Constant(lane, 0))
                entries = load(builder, table, row)
                value = builder.fadd(entries, pick(builder, alone, nothing, [0] * WIDTH))
                builder.store(larger(builder, value, builder.load(best)), best)
            store(builder, builder.load(best), target, to)
            return context.get_dummy_value()

        return signature_of(tables, incoming, out), generate

    return rows, columns
