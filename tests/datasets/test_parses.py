"""Treebanks of the local data folder, where it is."""

from __future__ import annotations

import pytest

from maxmargin.datasets import load_treebank
from maxmargin.io import format_conllu, parse_conllu


def test_atis(data_dir):
    if not (data_dir / "ud_english_atis").is_dir():
        pytest.skip(f"no data set ud_english_atis in {data_dir}")
    data = load_treebank("atis", data_home=data_dir)
    assert len(data.X_train) == len(data.y_train) > 4000
    assert "nsubj" in data.classes
    assert all(len(x) == len(y) for x, y in zip(data.X_dev, data.y_dev, strict=True))
    text = format_conllu(data.X_dev[:50])
    assert parse_conllu(text) == data.X_dev[:50]


def test_unknown_treebanks_are_refused():
    with pytest.raises(ValueError, match="name='ptb' is not known"):
        load_treebank("ptb")
