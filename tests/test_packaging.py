"""What pyproject.toml promises about versions, beside what is installed for the tests of them."""

from __future__ import annotations

import tomllib

import pytest

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def lower_bounds():
    """The lowest versions that are admitted, by name: what the package needs and what tests do."""
    needs = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]
    return dict(need.partition(",")[0].split(">=") for need in needs)


def pins(name):
    lines = (ROOT / name).read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_the_oldest_versions_tested_are_the_lowest_admitted():
    pinned = pins("constraints-oldest.txt")
    assert {name: pinned.get(name) for name in lower_bounds()} == lower_bounds()


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_everything_that_can_be_installed_is_pinned(extra):
    needs = PROJECT["dependencies"] + PROJECT["optional-dependencies"][extra]
    assert {need.split(">=")[0] for need in needs} <= set(pins("constraints.txt"))
