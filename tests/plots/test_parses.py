"""Pictures of parses."""

from __future__ import annotations

import pytest

from maxmargin import plots


def test_wrong_arcs_are_marked():
    words, truth = ["a", "b", "c"], [(2, "x"), (0, "root"), (2, "y")]
    right = plots.parse_tree(words, truth, truth)
    wrong = plots.parse_tree(words, [(3, "x"), (0, "root"), (2, "z")], truth)
    assert len(wrong.lines) == len(right.lines) + 1  # the true arc, below the words
    assert wrong.lines[0].get_color() != right.lines[0].get_color()
    assert [text.get_text() for text in wrong.texts] == ["a", "b", "c", "x", "root", "z"]
    with pytest.raises(ValueError, match="3 words, 2 heads"):
        plots.parse_tree(words, [2, 0])
