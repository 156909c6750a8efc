"""What a search offers: the output of largest psi(h, g) of one example."""

from __future__ import annotations

from maxmargin.core.dispatch import generic, generic_with_default


@generic
def search_room(search, problem):
    """Return the scratch arrays of the search, for one thread. (Python only.)

    ``problem`` is a `Problem`.
    """


@generic_with_default
def memory(search):
    """Return the arrays, by name, that a search remembers from one pass to the next.

    (Python only.) Filling them with zeros makes the search forget everything.
    """
    return {}


@generic
def find(search, problem, i, desk, outputs, at):
    """Write to (outputs, at) an output of large psi(h, g), under the potentials desk.theta.

    Returns (psi, dpsi/dh, margin error, bound) of that output. No output has a psi above the bound;
    if the search is exact, the bound is psi. Adds the number of oracle calls to desk.calls[0].
    """
