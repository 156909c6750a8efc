"""Measures of label sets by name."""

from __future__ import annotations

from collections.abc import Callable

from maxmargin import metrics

#: What label sets can be scored by, by name; larger is better.
SET_METRICS: dict[str, Callable[..., float]] = {
    "example_accuracy": metrics.example_accuracy,
    "example_f1": metrics.example_f1,
    "macro_f1": metrics.macro_f1,
    "micro_f1": metrics.micro_f1,
    "subset_accuracy": metrics.subset_accuracy,
}
