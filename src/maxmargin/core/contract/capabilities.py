"""The names of the optional oracles that data with a cost offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxmargin.core.contract.kernel import kernel_use
from maxmargin.core.contract.laws import add_prices, has_laws, law_parts, law_sizes, lean, marginals
from maxmargin.core.contract.listed import (
    add_few,
    add_listed,
    few_scores,
    list_values,
    listed_norms,
    n_listed,
)
from maxmargin.core.contract.oracles import (
    constrained,
    k_best,
    maximize_within,
    profile,
    profile_levels,
)
from maxmargin.core.contract.paths import has_paths
from maxmargin.core.contract.structure import add_parts, mix, parts
from maxmargin.core.dispatch import generic_with_default, has

#: Data offer a capability if their type implements all its functions in BY_DATA, and if their type
#: together with the type of the cost implements all its functions in BY_COST.
BY_DATA: dict[str, tuple[Callable, ...]] = {
    "parts": (parts, add_parts),
    "relaxed": (mix,),
    "marginals": (parts, add_parts, law_sizes, marginals, law_parts, lean),
    "listed": (n_listed, listed_norms, few_scores, add_few, add_listed),
}
BY_COST: dict[str, tuple[Callable, ...]] = {
    "listed": (list_values,),
    "k_best": (k_best,),
    "constrained": (constrained,),
    "profile": (profile,),
    "forbid": (maximize_within,),
    "marginals": (add_prices,),
}


@generic_with_default
def capabilities(data, cost):
    """Return the names of what data with this cost offer, by type and by value. (Python only.)

    ===============  ===============================================================================
    "weighted"       `maximize`, which all have
    "k_best"         the k best outputs
    "constrained"    the best output whose slope g / (1 + h) lies between two bounds
    "profile"        the best output of every level of the cost, if the cost has levels
    "forbid"         `maximize_within`
    "listed"         all outputs can be enumerated, see `maxmargin.core.contract.listed`
    "paths"          the listed outputs are paths of a forest
    "parts"          an output is a sum of parts; a structure in plain Python has none
    "marginals"      laws of outputs and their expected parts, see `maxmargin.core.contract.laws`
    "relaxed"        outputs are those of a relaxation: every mean of two outputs is an output
    "kernel"         features are known by a kernel alone: a solver must take that
    ===============  ===============================================================================

    Once the data are known, the ``needs`` of solvers and searches are compared with these names.
    """
    kind, price = type(data), type(cost)
    found = {"weighted"} if kernel_use(data) is None else {"weighted", "kernel"}
    for name in BY_DATA.keys() | BY_COST.keys():
        of_data = all(has(function, kind) for function in BY_DATA.get(name, ()))
        if of_data and all(has(function, kind, price) for function in BY_COST.get(name, ())):
            found.add(name)
    if has_paths(data):
        found.add("paths")
    if "profile" in found:
        try:
            profile_levels(data, cost)
        except ValueError:
            found.remove("profile")
    if "marginals" in found and not has_laws(data):
        found.remove("marginals")
    return frozenset(found)


def name_of(data: Any, cost: Any = None) -> str:
    """Return the name of the data in error messages; for a user's structure, that of its class."""
    if hasattr(data, "structure"):
        return type(data.structure).__name__
    kind = type(data).__name__
    return kind if cost is None else f"{kind} with {type(cost).__name__}"
