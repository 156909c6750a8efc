"""True trees are brought into the space of outputs, whatever that space is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from maxmargin.inputs.parses import bring_inside
from maxmargin.structures.parse.data import tree_fault


def trees(n):
    """All trees of n words, with any number of roots and crossing arcs."""
    every = product(range(n + 1), repeat=n)
    return [heads for heads in every if not tree_fault(heads, projective=False, one_root=False)]


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("one_root", [True, False])
def test_repaired_trees_are_outputs(projective, one_root):
    # From five words on a tree with two roots and crossing arcs has no other fault.
    cases = [heads for n in range(1, 6) for heads in trees(n)]
    heads = np.concatenate([np.array(tree) for tree in cases])
    offsets = np.concatenate([[0], np.cumsum([len(tree) for tree in cases])])
    found = bring_inside(heads, offsets, projective, one_root, "repair")
    assert found.keep.tolist() == list(range(len(cases)))
    n_changed = 0
    for tree, a, b in zip(cases, offsets, offsets[1:], strict=False):
        own = found.heads[a:b].tolist()
        assert not tree_fault(own, projective, one_root)
        if tree_fault(tree, projective, one_root):
            n_changed += 1
        else:
            assert own == list(tree)
    assert found.n_outside == n_changed
    dropped = bring_inside(heads, offsets, projective, one_root, "drop")
    assert dropped.n_outside == n_changed == len(cases) - len(dropped.keep)
