"""Label sets whose edges form a forest: best, k best, marginals, best per number of wrong labels.

All kernels maximise ``sum_j unary[j] y_j + sum_e pair[e] y_a y_b`` over y in {0, 1}^m by passing
messages from the leaves to the roots. A unary of -inf keeps its label off; pair weights are finite.

`tree_order` is computed once per graph. Every label except the roots has a parent; a parent stands
before its children in the order. The kernels first go through the order backwards: all children of
a label have been merged into it when it is reached, and it is then merged into its parent. Then
they go forwards, so that a parent is decided before its children. Ties leave labels off; roots are
decided first, and of the children of a label those that stand earlier in the order.
"""

from __future__ import annotations

from maxmargin.inference.labels.tree.best import best_tree
from maxmargin.inference.labels.tree.kbest import best_k_tree
from maxmargin.inference.labels.tree.marginal import tree_marginals
from maxmargin.inference.labels.tree.order import TreeOrder, find_cycle, tree_order
from maxmargin.inference.labels.tree.profiles import tree_profile, write_tree_level

__all__ = [
    "TreeOrder",
    "best_k_tree",
    "best_tree",
    "find_cycle",
    "tree_marginals",
    "tree_order",
    "tree_profile",
    "write_tree_level",
]
