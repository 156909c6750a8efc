"""Every registered structure with each of its costs: compiled code gives what Python gives."""

from __future__ import annotations

import numba
import pytest

from maxmargin.testing import check_structure
from maxmargin.testing.tiny import tiny_data, tiny_tables
from tests.helpers import registered_cases

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

# Compiled code differs by the types of features and by those of costs: not every pair needs it.
CASES = [case for case in registered_cases() if case[1] == "dense"]
CASES += [("chain", "csr", "hamming"), ("multiclass", "float32", "hamming")]


@pytest.mark.parametrize(("structure", "features", "cost"), CASES)
def test_compiled_structures_meet_the_contract(structure, features, cost):
    tiny = tiny_data(structure, features)
    check_structure(tiny.data, cost=tiny_tables(tiny, cost))
