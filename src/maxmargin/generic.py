"""The generic functions that structures, costs, surrogates and searches implement.

A solver pass is written once, over these functions. Each has one implementation a type, chosen by
the type of its first argument (of its first two where it says so): at compile time where these are
NamedTuples of arrays, at call time where the same pass runs as plain Python. ::

    @implements(margin_error, MyData)
    def _margin_error(data, i, theta, outputs, at): ...

serves both. The body of a declaration marked `generic_with_default` serves types without an
implementation of their own; the others have none.

Notation, as in docs/math.md: example i has the true output y_i, and Psi_i(y) = phi(x_i, y_i) -
phi(x_i, y). ``theta`` holds the potentials of one example, filled by `potentials` and read by the
rest. The output y given by ``(outputs, at)`` is the `output_size(data, i)` cells of the array
``outputs`` from cell ``at`` on: int32 for compiled structures, one object for a structure in plain
Python. (An array and a place rather than a slice: slices cost compile time.)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numba.core.errors import TypingError
from numba.extending import overload

from maxmargin._compile import add_source


def generic(declaration: Callable, n_dispatch: int = 1, has_default: bool = False) -> Callable:
    """Turn a declaration (signature and contract) into a generic function.

    Its body is not looked at, unless it is said to be the default.
    """
    table: dict[tuple[Any, ...], Callable] = {}

    def missing(names: Iterable[str]) -> str:
        name, kinds = declaration.__name__, ", ".join(names)
        return f"{name!r} is not implemented for {kinds} (see maxmargin.generic)."

    @functools.wraps(declaration)
    def call(*arguments: Any) -> Any:
        kinds = tuple(map(type, arguments[:n_dispatch]))
        implementation = table.get(kinds, declaration if has_default else None)
        if implementation is None:
            raise TypeError(missing(kind.__name__ for kind in kinds))
        return implementation(*arguments)

    @functools.wraps(declaration)
    def choose(*types: Any) -> Callable:
        # `instance_class` and not the numba type: a NamedTuple whose fields all have one type is a
        # different numba type than one whose fields do not.
        kinds = tuple(getattr(kind, "instance_class", None) for kind in types[:n_dispatch])
        implementation = table.get(kinds, declaration if has_default else None)
        if implementation is None:
            pairs = zip(kinds, types, strict=False)
            raise TypingError(missing(getattr(kind, "__name__", str(t)) for kind, t in pairs))
        return implementation

    call.implementations = table  # type: ignore[attr-defined]
    # Nobody calls these from C, and every wrapper left out is compile time saved.
    overload(call, jit_options={"error_model": "numpy", "no_cfunc_wrapper": True})(choose)
    return call


generic_on_two = functools.partial(generic, n_dispatch=2)
generic_with_default = functools.partial(generic, has_default=True)
generic_on_two_with_default = functools.partial(generic, n_dispatch=2, has_default=True)


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


def provided_by(kind: type) -> frozenset[str]:
    """Return what a type of data offers to solvers that need more than every structure has."""
    needed = (n_listed, listed_norms, few_scores, add_few, add_listed)
    is_listed = all(has(function, kind) for function in needed)
    return frozenset({"listed"} if is_listed else ())


# -- features: the rows of X ---------------------------------------------------------------------


@generic
def add_scores(features, first, n_rows, scale, W, out):
    """out[t, k] += scale * x_{first+t} . W[:, k] for the first n_rows rows of out.

    W has a row a feature (more rows are not looked at). Two-dimensional on purpose: an index summed
    from two variables may be negative for all the compiler knows, and is not vectorised.
    """


@generic
def add_row(features, row, label, scale, W):
    """W[f, label] += scale * x_row[f] for every feature f."""


@generic
def add_outer(features, row, mass, scale, W):
    """W[f, k] += scale * x_row[f] * mass[k] for every feature f and label k."""


@generic
def clear_row(features, row, label, W):
    """W[f, label] = 0 for every feature f that x_row has."""


@generic
def score_few(features, row, labels, place, n_few, W, out):
    """out[a] = x_row . W[:, labels[place, a]] for a < n_few."""


@generic
def score_rows(features, first, n_rows, scale, w, out):
    """out[t] = scale * x_{first+t} . w for t < n_rows."""


@generic
def add_combination(features, first, weights, w):
    """w += sum_t weights[t] x_{first+t}."""


@generic
def row_product(features, row, other):
    """Return x_row . x_other."""


# -- structures: in Python only, before a pass ---------------------------------------------------


@generic
def n_weights(data):
    """Return the length of w."""


@generic
def output_sizes(data):
    """Return the number of cells of an output of each example, an int64 array."""


@generic
def truths(data):
    """Return the true outputs of all examples, one after the other, as one array of cells."""


@generic
def workspace(data):
    """Return room for the potentials of any one example: a new ``theta``."""


@generic_with_default
def are_outputs(data, examples, cells):
    """Tell of each of some outputs whether its example has it: a boolean array.

    (Python only.) ``examples`` says whose outputs they are, ``cells`` has them one after the other.
    They come from a file, and compiled code does not check what it reads: a structure that says
    nothing here has them tried as Python, where an index past the end is an error.
    """
    lowest = min(0, int(truths(data).min(initial=0)))
    spare, at = np.zeros(n_weights(data)), 0
    answers = np.zeros(len(examples), dtype=bool)
    for k, i in enumerate(examples):
        size = output_size(data, i)
        own = cells[at : at + size]
        at += size
        try:
            add_difference(data, i, own, 0, 1.0, spare)
            answers[k] = own.min(initial=0) >= lowest and np.isfinite(spare.sum())
        except IndexError:
            answers[k] = False
    return answers


@generic_with_default
def score_lengths(data):
    """Return two arrays: how long phi of each example can be, and the number of terms of a score.

    The first bounds sum_j |w_j phi_j(x_i, y)| / |w| over all y and w, what a score adds several
    times being counted so. Certificates learn from it how far rounding can move them. None, the
    default, where a type does not say. (Python only.)
    """
    return None


@generic_with_default
def spare_size(data):
    """Return how many cells `difference_potentials` wants beside theta. (Python only.)"""
    return 0 if has(difference_potentials, type(data)) else n_weights(data)


# -- structures: the parts of a pass -------------------------------------------------------------


@generic
def output_size(data, i):
    """Return the number of cells of an output of example i."""


@generic
def potentials(data, i, w, scale, theta):
    """Fill theta: the scores of the outputs of example i at the weights scale * w (scale > 0)."""


@generic
def margin_error(data, i, theta, outputs, at):
    """Return h = score(y) - score(y_i) under theta."""


@generic
def add_difference(data, i, outputs, at, scale, w):
    """w += scale * Psi_i(y) = scale * (phi(x_i, y_i) - phi(x_i, y))."""


@generic_with_default
def difference_potentials(data, i, outputs, at, spare, theta):
    """Fill theta so that it scores the outputs of example i at the weights Psi_i(y).

    `margin_error` of z under these potentials is -<Psi_i(y), Psi_i(z)>. ``spare`` is a vector of
    `spare_size` cells that nobody else looks at.
    """
    spare[:] = 0.0
    add_difference(data, i, outputs, at, 1.0, spare)
    potentials(data, i, spare, 1.0, theta)


@generic_on_two
def maximize(data, cost, i, theta, score_scale, cost_scale, outputs, at):
    """Write to (outputs, at) an output maximising score_scale * score + cost_scale * cost.

    Scales are >= 0. Ties: lowest label first. By the types of data and cost. A cost with a `shift`
    adds it to the score.
    """


@generic_on_two
def output_cost(data, cost, i, outputs, at):
    """Return g = cost(y, y_i), >= 0 but for the cost of Micro-F1. By the types of data and cost."""


@generic_on_two_with_default
def shift(data, cost, i, outputs, at):
    """Return what a surrogate's h has besides the margin error of y: 0 but for Micro-F1's cost.

    (There h = Hamming + margin error and g = -(|y| + |y_i|).) By the types of data and cost.
    """
    return 0.0


@generic_on_two_with_default
def maximize_bounded(data, cost, i, theta, score_scale, cost_scale, outputs, at):
    """Do as `maximize`; return a number that score_scale * h + cost_scale * g of no y exceeds.

    The default is for oracles that are exact. By the types of data and cost.
    """
    maximize(data, cost, i, theta, score_scale, cost_scale, outputs, at)
    h = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
    return score_scale * h + cost_scale * output_cost(data, cost, i, outputs, at)


# -- structures: further oracles, which a structure may have or not ------------------------------
#
# All by the types of data and cost. `oracles` tells which there are.


@generic_on_two
def profile_levels(data, cost):
    """Return the most levels that the profile of any example has. (Python only.)

    Raises ValueError where the cost has no levels: it says why, and for which costs there are.
    """


@generic_on_two_with_default
def profile_price(data, cost):
    """Return how many calls of `maximize` a profile takes the time of, about. (Python only.)"""
    return 1.0


@generic_on_two_with_default
def cost_step(data, cost):
    """Return a step for each example that its costs are whole multiples of. (Python only.)

    None where there is no such step, or none that is known. Searches then know which costs an
    output under the hull may have.
    """
    return None


@generic_on_two
def profile_room(data, cost):
    """Return room for the profile of any one example. (Python only.)"""


@generic_on_two
def profile(data, cost, i, theta, room, h, g):
    """List outputs of example i among which every psi increasing in h has its maximum.

    h[l] and g[l] receive margin error (with `shift`) and cost of the best output of level l; h is
    -inf where there is none. Returns the number of levels.
    """


@generic_on_two_with_default
def profile_up_to(data, cost, i, theta, room, limit, h, g):
    """List what `profile` does, but for levels of a cost above ``limit``, which may be left out.

    For structures where that saves work; the default leaves none out.
    """
    return profile(data, cost, i, theta, room, h, g)


@generic_on_two
def profile_output(data, cost, i, theta, room, level, outputs, at):
    """Write to (outputs, at) the output of a level of the last `profile`, of this example."""


@generic_on_two
def k_best_room(data, cost, k):
    """Return room for the k best outputs of any one example. (Python only.)"""


@generic_on_two
def k_best(data, cost, i, theta, score_scale, cost_scale, k, room, outputs, at):
    """Write the k best outputs, one after the other from (outputs, at), best first.

    What is maximised is that of `maximize`. Returns their number, less than k where there are fewer
    outputs. ``room`` may be of a larger k.
    """


@generic_on_two
def constrained(data, cost, i, theta, tilt, low, high, is_closed, banned, n_banned, outputs, at):
    """Write to (outputs, at) a y of largest 1 + h + tilt * g within an angle; return if there is.

    The angle: 1 + h > 0, low < g / (1 + h) < high, or <= high if ``is_closed``. An infinite tilt
    asks for the largest g.

    Bounds are often the slope g / (1 + h) of an output that was found before. Where the slope of an
    output equals a bound up to rounding (an oracle may add up h in another order than
    `margin_error`), the oracle may take the output for inside or outside, but it must decide alike
    in every call under the same theta: of two angles that meet at a bound, one closed there and one
    open, exactly one holds the output. So a search that cuts angles loses no output.

    The first n_banned outputs in ``banned`` are known to the search. One whose slope is an open
    bound is never returned again: an oracle that compares the quotient of `margin_error` and
    `output_cost` itself holds to this without looking at ``banned``; any other must leave out the
    banned outputs by name.
    """


@generic_on_two
def maximize_within(data, cost, i, theta, score_scale, cost_scale, forbid, require, outputs, at):
    """Do as `maximize`, of the outputs without a part to forbid and with all those to require.

    Both are frozensets of parts, as `output_parts` names them. Returns whether there is such an
    output. (Python only.)
    """


@generic
def output_parts(data, i, outputs, at):
    """Return the parts of an output, a tuple. (Python only.)

    No output has all the parts of another.
    """


@generic
def can_require(data):
    """Tell whether `maximize_within` knows what to require, not only what to forbid."""


@generic_with_default
def mix(data, i, left, left_at, right, right_at, share, outputs, at):
    """Write to (outputs, at) the output (1 - share) * left + share * right; return if it can.

    For structures whose outputs are those of a relaxation: any mean of two is one too.
    """
    return False


def is_relaxed(kind: type) -> bool:
    """Tell whether the outputs of a type of data are those of a relaxation."""
    return has(mix, kind)


@generic_with_default
def oracles(data, cost):
    """Return the names of the oracles that data with this cost have. (Python only.)

    "weighted" is `maximize`, which all have; the others are "k_best", "constrained", "profile" and
    "forbid", which is `maximize_within`.
    """
    named = {
        "k_best": k_best,
        "constrained": constrained,
        "profile": profile,
        "forbid": maximize_within,
    }
    found = {name for name, oracle in named.items() if has(oracle, type(data), type(cost))}
    if "profile" in found:
        try:
            profile_levels(data, cost)
        except ValueError:
            found.remove("profile")
    return frozenset(found | {"weighted"})


# -- structures with few outputs, whose features are orthogonal and equally long ------------------
#
# What a solver that needs "listed" asks for besides. Output k is the one cell k, k < n_listed.


@generic
def n_listed(data):
    """Return how many outputs each example has. (Python only.)"""


@generic
def listed_norms(data):
    """Return |phi(x_i, y)|^2, the same for every y, of each example. (Python only.)"""


@generic_on_two
def list_values(data, cost, i, theta, values, costs):
    """values[k] = h + g and costs[k] = g of every output k of example i."""


@generic
def few_scores(data, i, outputs, n_few, w, scores):
    """scores[a] = w . phi(x_i, k) for the outputs k = outputs[i, a], a < n_few."""


@generic
def add_few(data, i, outputs, n_few, mass, scale, w):
    """w += scale * sum_a mass[a] phi(x_i, outputs[i, a])."""


@generic
def add_listed(data, i, mass, scale, w):
    """w += scale * sum_k mass[k] phi(x_i, k)."""


# -- surrogates and searches ---------------------------------------------------------------------


@generic
def psi(surrogate, h, g):
    """Return (psi, dpsi/dh, dpsi/dg) at margin error h and cost g."""


@generic
def conjugate(surrogate, slope, g):
    """Return psi*(slope) = max_h slope * h - psi(h, g)."""


@generic_with_default
def tilt(surrogate, h, g):
    """Return dpsi/dg / dpsi/dh, the tilt of the contour of psi at (h, g); inf where dpsi/dh is 0.

    Where a derivative only underflows, the quotient is still to be right.
    """
    _, slope_h, slope_g = psi(surrogate, h, g)
    return slope_g / slope_h if slope_h > 0.0 else math.inf


@generic_with_default
def order_value(surrogate, h, g):
    """Return a number that orders outputs as psi does, also where psi underflows."""
    return psi(surrogate, h, g)[0]


@generic
def search_room(search, problem):
    """Return room for the search of one thread. (Python only; ``problem`` is a `Problem`.)"""


@generic_with_default
def memory(search):
    """Return the arrays, by name, that a search remembers from one pass to the next.

    (Python only.) Zeros forget everything.
    """
    return {}


@generic
def find(search, problem, i, desk, outputs, at):
    """Write to (outputs, at) an output of large psi(h, g), under the potentials desk.theta.

    Returns (psi, dpsi/dh, margin error, bound) there; psi of no output exceeds the bound, which is
    psi itself where the search is exact. Adds to desk.calls[0] the oracle calls it took.
    """
