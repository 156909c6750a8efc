"""What a search offers: the output of largest psi(h, g) of one example."""

from __future__ import annotations

from maxmargin.core.dispatch import generic, generic_with_default


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
