"""What comes out of a model file, held against what an estimator would have put in.

The hooks of an estimator take each value and array from here, see
`maxmargin.solvers.restore.checked`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.inputs.labels import Labels
from maxmargin.solvers.restore import checked
from maxmargin.solvers.restore.checked import Arrays, check_options, read_history
from maxmargin.solvers.result import STATUSES, Result

__all__ = ["Arrays", "Fields", "check_options", "read_result"]


class Fields(checked.Fields):
    """Values by name, each taken once and checked; it also reads labels and names of features."""

    def labels(self, name: str, least: int) -> Labels:
        """Return distinct labels, in the form that `Labels` gives them."""
        value = self.take(name)
        if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) < least:
            raise self.refuse(name, f"an array of {least} labels or more", value)
        return Labels(value)

    def some_labels(self, name: str, labels: Labels) -> list[Any]:
        """Return a list of labels, all of them known and distinct."""
        value = self.take(name)
        if not isinstance(value, list) or not all(_known(item, labels) for item in value):
            raise self.refuse(name, "a list of classes", value)
        if len({labels.index[item] for item in value}) < len(value):
            raise self.refuse(name, "a list of distinct classes", value)
        return value

    def names(self, name: str, length: int) -> np.ndarray:
        """Return the names of columns, as scikit-learn has them."""
        value = self.take(name)
        is_array = isinstance(value, np.ndarray) and value.dtype == object
        if not is_array or value.shape != (length,) or not all(type(x) is str for x in value):
            raise self.refuse(name, f"the names of {length} features", value)
        return value


def _known(item: Any, labels: Labels) -> bool:
    try:
        return item in labels.index
    except TypeError:
        return False


def read_result(values: Any, w: np.ndarray) -> Result:
    """Return the result of a run; refuse numbers that are none, and a status that no run has."""
    values = check_options(Result, values, "result")
    if "w" in values:
        raise ValueError("result has weights of its own")
    if values.get("status") not in STATUSES:
        known = ", ".join(map(repr, STATUSES))
        raise ValueError(f"result['status'] must be one of {known}, got {values.get('status')!r}")
    counts = "n_iter", "n_oracle_calls", "n_open"
    for name in (*counts, "seconds", "gap", "rounding", "search_gap"):
        if name in values and values[name] < 0:
            raise ValueError(f"result[{name!r}] must be >= 0, got {values[name]!r}")
    values["history"] = read_history(values.get("history"), "result['history']")
    return Result(w=w, **values)
