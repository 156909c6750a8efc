"""Verdicts of the golden harness: whether two trees give the same bits, or intervals that overlap.

A record is what `golden_tree.run_case` returns: numbers as hexadecimal text, or a refusal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

#: Fields of a record that must be the same to the last bit.
FIELDS = ("w", "primal", "dual", "status", "passes", "calls", "outputs")

#: Verdicts, in the order of the table.
VERDICTS = ("equal", "allowed", "differs", "gone", "new")

#: What rounding may do to a bound, relatively, before two intervals count as apart.
ROOM = 1e-9

#: What has no certificate may differ by so much, relatively, where a difference is allowed.
UNCERTIFIED_ROOM = 1e-6


class Verdict(NamedTuple):
    """What is to be said of one case."""

    kind: str
    text: str = ""


def number(record: dict[str, Any], field: str) -> float:
    """Return a number of a record."""
    return float.fromhex(record[field])


def weights(record: dict[str, Any]) -> np.ndarray:
    """Return the weights of a record."""
    return np.frombuffer(bytes.fromhex(record["w"]), dtype=np.float64)


def compare(
    name: str, old: dict[str, Any], new: dict[str, Any], allowed: dict[str, str]
) -> Verdict | None:
    """Return what became of a case; None where both trees refuse it."""
    if "refused" in old and "refused" in new:
        return None
    if "refused" in old:
        return Verdict("new", f"OLD: {old['refused']}")
    reason = next((why for pattern, why in allowed.items() if fnmatchcase(name, pattern)), None)
    if "refused" in new:
        text = f"NEW: {new['refused']}"
        return Verdict("gone", text) if reason is None else Verdict("allowed", f"{reason}; {text}")
    if all(old[field] == new[field] for field in FIELDS):
        return Verdict("equal")
    said = difference(old, new)
    if reason is None:
        return Verdict("differs", said)
    broken = why_apart(old, new)
    if broken:
        return Verdict("differs", f"allowed ({reason}), but {broken}; {said}")
    return Verdict("allowed", f"{reason}; {said}")


def difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Say which fields differ, and how much."""
    said = []
    for field in FIELDS:
        if old[field] == new[field]:
            continue
        if field == "w":
            said.append(f"w by {_distance(old, new):.1e}")
        elif field in ("primal", "dual"):
            a, b = number(old, field), number(new, field)
            said.append(f"{field} {a:.6g} by {_apart(a, b):.1e}")
        elif field == "outputs":
            said.append("outputs")
        else:
            said.append(f"{field} {old[field]} -> {new[field]}")
    return ", ".join(said)


def _distance(old: dict[str, Any], new: dict[str, Any]) -> float:
    """Return how far the weights are apart, as a share of the longer ones."""
    a, b = weights(old), weights(new)
    if a.shape != b.shape:
        return math.inf
    longest = max(np.linalg.norm(a), np.linalg.norm(b))
    return float(np.linalg.norm(a - b) / longest) if longest > 0.0 else 0.0


def why_apart(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Return what contradicts that two certified runs solved one problem; nothing if they may have.

    Both have lower and upper bounds of one optimum, so these overlap; each is as far apart as its
    gap says; and a run that had converged still does. Without a dual there is no certificate: the
    primal, or of a perceptron the weights, may then differ by rounding alone.
    """
    a, b = interval(old), interval(new)
    if a is None or b is None:
        if a is not b:
            return "one of them has no certificate"
        values = [number(record, "primal") for record in (old, new)]
        apart = _apart(*values) if all(map(math.isfinite, values)) else _distance(old, new)
        return "" if apart <= UNCERTIFIED_ROOM else f"they are apart by {apart:.1e}"
    if not overlap(a, b):
        return f"intervals {a} and {b} are apart"
    for record, (dual, primal) in ((old, a), (new, b)):
        if primal - dual > number(record, "gap") + ROOM * abs(primal):
            return f"gap {number(record, 'gap'):.3g} is less than primal - dual"
    if old["status"] == "converged" and new["status"] != "converged":
        return f"status {new['status']} instead of converged"
    return ""


def _apart(a: float, b: float) -> float:
    largest = max(abs(a), abs(b))
    return abs(a - b) / largest if largest > 0.0 else 0.0


def interval(record: dict[str, Any]) -> tuple[float, float] | None:
    """Return [dual, primal] of a record; None where it has no certificate."""
    if "refused" in record:
        return None
    bounds = number(record, "dual"), number(record, "primal")
    return bounds if all(map(math.isfinite, bounds)) else None


def overlap(a: Iterable[float], b: Iterable[float], room: float = ROOM) -> bool:
    """Tell whether two intervals can hold one optimum."""
    (low_a, high_a), (low_b, high_b) = a, b
    reach = room * max(1.0, abs(high_a), abs(high_b))
    return low_a <= high_b + reach and low_b <= high_a + reach


def outwards(low: float, high: float, digits: int = 6) -> list[float]:
    """Round an interval to a few digits such that it becomes no smaller.

    >>> outwards(0.12345678, 0.12345679), outwards(-2.0, 0.0)
    ([0.123456, 0.123457], [-2.0, 0.0])
    """
    return [_rounded(low, math.floor, digits), _rounded(high, math.ceil, digits)]


def _rounded(value: float, towards: Any, digits: int) -> float:
    if value == 0.0:
        return 0.0
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return float(round(towards(value * 10.0**places) / 10.0**places, places))
