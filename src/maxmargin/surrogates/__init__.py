"""Surrogates: what is minimised in the place of the cost."""

from __future__ import annotations

from maxmargin.surrogates.base import BuiltinSurrogate, Surrogate
from maxmargin.surrogates.beta import BetaScaling
from maxmargin.surrogates.generalized import GeneralizedScaling
from maxmargin.surrogates.log import LogLoss
from maxmargin.surrogates.margin import MarginRescaling
from maxmargin.surrogates.micro_f1 import MicroF1
from maxmargin.surrogates.normalized import NormalizedMargin
from maxmargin.surrogates.prob import ProbLoss
from maxmargin.surrogates.slack import SlackRescaling

#: Surrogates by name. A new surrogate is one file and one line here.
SURROGATES: dict[str, type] = {
    "margin": MarginRescaling,
    "slack": SlackRescaling,
    "beta": BetaScaling,
    "generalized": GeneralizedScaling,
    "log": LogLoss,
    "prob": ProbLoss,
    "micro_f1": MicroF1,
    "normalized": NormalizedMargin,
}

# This import comes last, because `switch` reads the registry.
from maxmargin.surrogates import switch as _switch  # noqa: E402, F401

__all__ = [
    "SURROGATES",
    "BetaScaling",
    "BuiltinSurrogate",
    "GeneralizedScaling",
    "LogLoss",
    "MarginRescaling",
    "MicroF1",
    "NormalizedMargin",
    "ProbLoss",
    "SlackRescaling",
    "Surrogate",
]
