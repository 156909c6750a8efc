"""Which search fits a surrogate, a structure and a cost; and which is the best of those."""

from __future__ import annotations

from typing import Any

from maxmargin.core.contract import capabilities, has, name_of, profile_levels, profile_price
from maxmargin.search.contract import Search
from maxmargin.search.direct import Direct
from maxmargin.search.hull.convex_hull import FALLBACKS, ConvexHull
from maxmargin.search.profile import Profile
from maxmargin.surrogates import (
    SURROGATES,
    BetaScaling,
    GeneralizedScaling,
    SlackRescaling,
    Surrogate,
)

#: A profile that takes longer than this many calls of the oracle is slower than a hull search that
#: starts from the outputs of the last pass (measured on handwritten words and on chunking).
DEAREST_PROFILE = 4.0


def bind_search(search: Any, surrogate: Surrogate, data: Any, cost: Any) -> Any:
    """Return the search as passes see it; ``search`` is "auto" or a `Search`.

    Raises ValueError where the search does not fit; it names those that do.
    """
    tilt = getattr(surrogate, "direct_tilt", None)
    if isinstance(search, str):
        if tilt is not None:
            return Direct(1.0, float(tilt))
        if not is_increasing(surrogate):
            check_surrogate_fits(surrogate, data, cost)
        search = best_search(data, cost) if is_increasing(surrogate) else Profile()
    check_search_fits(search, surrogate, data, cost)
    return search.bind(data, cost, surrogate)


def best_search(data: Any, cost: Any) -> Any:
    """Return the fastest exact search that data and cost allow.

    Where they allow none, return a hull search, which bounds what it may miss.
    """
    offered = capabilities(data, cost)
    if "relaxed" in offered:
        return ConvexHull(integral=False)
    if "profile" in offered and profile_price(data, cost) <= DEAREST_PROFILE:
        return Profile()
    return ConvexHull(integral=not offered.isdisjoint(FALLBACKS))


def check_search_fits(search: Search, surrogate: Surrogate, data: Any, cost: Any) -> None:
    """Refuse a search that the surrogate, the structure or the cost does not fit."""
    reason = why_not(search, surrogate, data, cost)
    if reason:
        from maxmargin.search import SEARCHES

        fitting = [
            name
            for name, kind in SEARCHES.items()
            if not kind().needs_slack and not why_not(kind(), surrogate, data, cost)
        ]
        more = ""
        if not is_increasing(surrogate):  # most searches are not for it, whatever the structure is
            more = f" {type(surrogate).__name__} needs one that lists the best output of each cost;"
            more += " with 'slack' or 'margin' as surrogate there are others."
        raise ValueError(
            f"search={search!r} {reason}. Searches that fit: {', '.join(fitting) or 'none'}.{more}"
        )


def check_surrogate_fits(surrogate: Surrogate, data: Any, cost: Any) -> None:
    """Refuse a surrogate that only a profile can search, where the structure has none."""
    search: Any = Profile()
    reason = why_not(search, surrogate, data, cost)
    if reason:
        names = {kind: name for name, kind in SURROGATES.items()}
        # Those that are measured by the cost itself, and grow with it: some search takes them.
        fitting = [name for name, kind in SURROGATES.items() if _grows_with_the_cost(kind)]
        raise ValueError(
            f"surrogate={names.get(type(surrogate), surrogate)!r} does not grow with the cost, so "
            "that only a search among the best outputs of every cost finds its maximum. That "
            f"{reason}. Surrogates that fit: {', '.join(fitting)}."
        )


def _grows_with_the_cost(kind: type) -> bool:
    return getattr(kind, "criteria", "cost") == "cost" and getattr(kind, "is_increasing", True)


def why_not(search: Search, surrogate: Surrogate, data: Any, cost: Any) -> str:
    """Return why a search does not fit, or "" if it fits."""
    if search.surrogates == "slack" and not _is_slack(surrogate):
        return f"is for slack rescaling only, not for {type(surrogate).__name__}"
    if not is_increasing(surrogate) and "profile" not in search.needs:
        return f"is for losses that grow with the cost, which {type(surrogate).__name__} does not"
    missing = search.needs - capabilities(data, cost)
    if not missing:
        return ""
    if "profile" in missing and has(profile_levels, type(data), type(cost)):
        try:
            profile_levels(data, cost)
        except ValueError as error:
            return f"needs a profile, but {str(error).rstrip('.')}"
    oracle = sorted(missing)[0]
    return f"needs the oracle {oracle!r}, which {name_of(data, cost)} does not have"


def is_increasing(surrogate: Surrogate) -> bool:
    """Tell whether psi grows with the cost, as searches by weighted oracles need."""
    return bool(getattr(surrogate, "is_increasing", True))


def _is_slack(surrogate: Surrogate) -> bool:
    """Tell whether psi = (h + 1) g, whatever the class of the surrogate is."""
    return isinstance(surrogate, SlackRescaling) or surrogate in (
        BetaScaling(1.0),
        GeneralizedScaling(1.0, 1.0),
    )
