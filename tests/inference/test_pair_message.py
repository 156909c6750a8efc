"""The message of a dense pair against numpy, for all remainders of rows and columns by four."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.factors.pair import pair_message


@kernel
def message(tables, table, is_row, incoming, at, n_other, out, to, n_own):
    pair_message(tables, table, is_row, incoming, at, n_other, out, to, n_own)


@pytest.mark.parametrize("is_row", [True, False], ids=["rows", "columns"])
def test_messages_are_maxima(is_row, rng):
    for n_own in (*range(1, 10), 11, 23, 24, 29):
        for n_other in (1, 2, 5, 11):
            shape = (n_own, n_other) if is_row else (n_other, n_own)
            table = rng.normal(size=shape)
            table[rng.random(size=shape) < 0.2] = -np.inf
            added = rng.normal(size=n_other)
            tables = np.concatenate([[7.0, 7.0], table.ravel(), [7.0]])
            wanted = (table + added).max(axis=1) if is_row else (table.T + added).max(axis=1)
            for way in (message, pair_message):
                out = np.full(n_own + 2, 9.0)
                way(tables, 2, is_row, np.r_[8.0, added], 1, n_other, out, 1, n_own)
                assert out[1:-1].tolist() == wanted.tolist()
                assert out[0] == out[-1] == 9.0
