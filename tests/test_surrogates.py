"""Surrogates: the registry against the contract, and a user's own, linear and not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.generic import conjugate, implements, psi
from maxmargin.surrogates import SURROGATES, MarginRescaling
from maxmargin.testing import check_surrogate

finite = st.floats(-1e6, 1e6)


@pytest.mark.parametrize("name", SURROGATES)
def test_registered_surrogates_meet_the_contract(name):
    check_surrogate(SURROGATES[name]())


@given(h=finite, g=st.floats(0, 1e6))
def test_margin_rescaling_is_the_sum(h, g):
    form = MarginRescaling().compiled()
    assert psi(form, h, g) == (h + g, 1.0, 1.0)
    # Its plane a = -Psi, b = g: the offset is -psi*(1).
    assert conjugate(form, 1.0, g) == -g


class LogForm(NamedTuple):
    scale: float
    convex: int  # a second type, as numba tells tuples of one type apart


@implements(psi, LogForm)
def _psi_log(surrogate, h, g):
    share = 1.0 / (1.0 + math.exp(-h))
    value = math.log1p(math.exp(h)) / math.log(2.0)
    return (
        surrogate.scale * g * value,
        surrogate.scale * g * share / math.log(2.0),
        (surrogate.scale * value),
    )


@implements(conjugate, LogForm)
def _conjugate_log(surrogate, slope, g):
    q = slope * math.log(2.0) / (surrogate.scale * g)
    return surrogate.scale * g * (q * math.log(q) + (1 - q) * math.log(1 - q)) / math.log(2.0)


@dataclass(frozen=True)
class Logarithmic:
    """psi = scale g log2(1 + e^h): convex, not linear."""

    scale: float = 1.0
    is_convex: bool = True
    is_linear: bool = False

    def compiled(self):
        return LogForm(self.scale, 1)

    def parameters(self):
        return {"scale": self.scale, "is_convex": self.is_convex, "is_linear": self.is_linear}


def test_a_surrogate_of_ones_own_passes():
    check_surrogate(Logarithmic())
    check_surrogate(Logarithmic(2.5))


def test_a_wrong_claim_is_found():
    with pytest.raises(AssertionError, match="says it is linear, but at g="):
        check_surrogate(Logarithmic(is_linear=True))


class Plain:
    """A surrogate in plain Python, broken on demand."""

    is_convex = True
    is_linear = False

    def __init__(self, how="none"):
        self.how = how

    def __eq__(self, other):
        return self.how == other.how

    __hash__ = None

    def compiled(self):
        return self

    def parameters(self):
        return {"how": self.how}


@implements(psi, Plain)
def _psi_plain(surrogate, h, g):
    how = surrogate.how
    value, slope_h, slope_g = h + g, 1.0, 1.0
    if how == "zero":
        value += 1.0
    elif how == "slope_h":
        slope_h = 1.5
    elif how == "slope_g":
        slope_g = 0.5
    elif how == "falling":
        value, slope_h = g - h, -1.0
    elif how == "concave":
        value, slope_h = g + 20.0 * (1.0 - math.exp(-h / 20.0)), math.exp(-h / 20.0)
    elif how == "infinite":
        value = math.inf if h > 1.0 else h + g
    return value, slope_h, slope_g


@implements(conjugate, Plain)
def _conjugate_plain(surrogate, slope, g):
    return g if surrogate.how == "conjugate" else -g


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("zero", r"psi\(0, 0\) must be 0"),
        ("slope_h", "dpsi/dh at .* is said to be 1.5 but finite differences give 1"),
        ("slope_g", "dpsi/dg at .* is said to be 0.5 but finite differences give 1"),
        ("falling", "psi falls in h"),
        ("concave", "says it is convex, but"),
        ("infinite", "must be finite"),
        ("conjugate", r"conjugate\(slope=1, .* must be slope\*h - psi"),
    ],
)
def test_the_check_finds_what_is_wrong(how, message):
    check_surrogate(Plain())
    with pytest.raises(AssertionError, match=message):
        check_surrogate(Plain(how))


def test_convexity_is_only_asked_of_those_that_claim_it():
    concave = Plain("concave")
    concave.is_convex = False
    check_surrogate(concave)
    assert np.isfinite(psi(concave, 3.0, 1.0)).all()
