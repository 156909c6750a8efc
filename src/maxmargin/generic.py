"""The generic functions that structures, costs, surrogates and searches implement.

A solver pass is written once, over these functions. Each has one implementation a type, chosen by
the type of its first argument (of its first two where it says so): at compile time where these are
NamedTuples of arrays, at call time where the same pass runs as plain Python. ::

    @implements(margin_error, MyData)
    def _margin_error(data, i, theta, outputs, at): ...

serves both. The body of a declaration, where it has one, is the default for types without an
implementation of their own.

Notation, as in docs/math.md: example i has the true output y_i, and Psi_i(y) = phi(x_i, y_i) -
phi(x_i, y). ``theta`` holds the potentials of one example, filled by `potentials` and read by the
rest. The output y given by ``(outputs, at)`` is the `output_size(data, i)` cells of the array
``outputs`` from cell ``at`` on: int32 for compiled structures, one object for a structure in plain
Python. (An array and a place rather than a slice: slices cost compile time.)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba.extending import overload

from maxmargin._compile import add_source


def generic(declaration: Callable, n_dispatch: int = 1) -> Callable:
    """Turn a declaration (signature, contract, perhaps a default body) into a generic function."""
    table: dict[tuple[type, ...], Callable] = {}

    @functools.wraps(declaration)
    def call(*arguments: Any) -> Any:
        return table.get(tuple(map(type, arguments[:n_dispatch])), declaration)(*arguments)

    @functools.wraps(declaration)
    def choose(*types: Any) -> Callable:
        # `instance_class` and not the numba type: a NamedTuple whose fields all have one type is a
        # different numba type than one whose fields do not.
        classes = (getattr(kind, "instance_class", None) for kind in types[:n_dispatch])
        return table.get(tuple(classes), declaration)

    call.implementations = table  # type: ignore[attr-defined]
    # Nobody calls these from C, and every wrapper left out is compile time saved.
    overload(call, jit_options={"error_model": "numpy", "no_cfunc_wrapper": True})(choose)
    return call


generic_on_two = functools.partial(generic, n_dispatch=2)


def implements(function: Callable, *kinds: type) -> Callable[[Callable], Callable]:
    """Register the decorated function as the implementation of `function` for these types."""

    def register(implementation: Callable) -> Callable:
        function.implementations[kinds] = implementation  # type: ignore[attr-defined]
        for kind in kinds:
            add_source(kind, implementation)
        return implementation

    return register


def has(function: Callable, *kinds: type) -> bool:
    """Tell whether types have an implementation of their own of a generic function."""
    return kinds in function.implementations  # type: ignore[attr-defined]


def _missing(name: str, *arguments: Any) -> TypeError:
    kinds = ", ".join(type(argument).__name__ for argument in arguments)
    return TypeError(f"{name!r} is not implemented for {kinds} (see maxmargin.generic).")


# -- features: the rows of X ---------------------------------------------------------------------


@generic
def add_scores(features, first, n_rows, scale, W, out):
    """out[t, k] += scale * x_{first+t} . W[:, k] for the first n_rows rows of out.

    W has a row a feature (more rows are not looked at). Two-dimensional on purpose: an index summed
    from two variables may be negative for all the compiler knows, and is not vectorised.
    """
    raise _missing("add_scores", features)


@generic
def add_row(features, row, label, scale, W):
    """W[f, label] += scale * x_row[f] for every feature f."""
    raise _missing("add_row", features)


@generic
def row_product(features, row, other):
    """Return x_row . x_other."""
    raise _missing("row_product", features)


# -- structures: in Python only, before a pass ---------------------------------------------------


@generic
def n_weights(data):
    """Return the length of w."""
    raise _missing("n_weights", data)


@generic
def output_sizes(data):
    """Return the number of cells of an output of each example, an int64 array."""
    raise _missing("output_sizes", data)


@generic
def truths(data):
    """Return the true outputs of all examples, one after the other, as one array of cells."""
    raise _missing("truths", data)


@generic
def workspace(data):
    """Return room for the potentials of any one example: a new ``theta``."""
    raise _missing("workspace", data)


# -- structures: the parts of a pass -------------------------------------------------------------


@generic
def output_size(data, i):
    """Return the number of cells of an output of example i."""
    raise _missing("output_size", data)


@generic
def potentials(data, i, w, scale, theta):
    """Fill theta so that it scores the outputs of example i at the weights scale * w (scale > 0)."""
    raise _missing("potentials", data)


@generic
def margin_error(data, i, theta, outputs, at):
    """Return h = score(y) - score(y_i) under theta."""
    raise _missing("margin_error", data)


@generic
def add_difference(data, i, outputs, at, scale, w):
    """w += scale * Psi_i(y) = scale * (phi(x_i, y_i) - phi(x_i, y))."""
    raise _missing("add_difference", data)


@generic
def difference_potentials(data, i, outputs, at, spare, theta):
    """Fill theta so that it scores the outputs of example i at the weights Psi_i(y).

    `margin_error` of z under these potentials is -<Psi_i(y), Psi_i(z)>. ``spare`` is a vector of
    n_weights cells for the default below, and empty where the type implements this itself.
    """
    spare[:] = 0.0
    add_difference(data, i, outputs, at, 1.0, spare)
    potentials(data, i, spare, 1.0, theta)


@generic_on_two
def maximize(data, cost, i, theta, score_scale, cost_scale, outputs, at):
    """Write to (outputs, at) an output maximising score_scale * score + cost_scale * cost.

    Scales are >= 0. Ties: lowest label first. By the types of data and cost.
    """
    raise _missing("maximize", data, cost)


@generic_on_two
def output_cost(data, cost, i, outputs, at):
    """Return g = cost(y, y_i) >= 0. By the types of data and cost."""
    raise _missing("output_cost", data, cost)


# -- surrogates and searches ---------------------------------------------------------------------


@generic
def psi(surrogate, h, g):
    """Return (psi, dpsi/dh, dpsi/dg) at margin error h and cost g."""
    raise _missing("psi", surrogate)


@generic
def conjugate(surrogate, slope, g):
    """Return psi*(slope) = max_h slope * h - psi(h, g)."""
    raise _missing("conjugate", surrogate)


@generic
def find(search, problem, i, theta, outputs, at):
    """Write to (outputs, at) an output maximising psi(h, g); return (psi, dpsi/dh, h) there."""
    raise _missing("find", search)
