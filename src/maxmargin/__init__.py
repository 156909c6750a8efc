"""Max-margin learning of structured outputs, with a certificate of optimality.

Names are imported at their first use, so that ``import maxmargin.io`` does not load a compiler.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from maxmargin._version import __version__

if TYPE_CHECKING:
    from maxmargin.estimators import (
        ChainSVM,
        GraphSVM,
        HierarchySVM,
        LatentSVM,
        MulticlassSVM,
        MultilabelSVM,
        ParserSVM,
        RankingSVM,
        StructuredSVM,
        TreeSVM,
    )
    from maxmargin.inputs.chain_graphs import chain_graph
    from maxmargin.inputs.constraints import Constraints
    from maxmargin.inputs.graphs import Graph
    from maxmargin.inputs.hierarchy import Hierarchy
    from maxmargin.solvers import Result
    from maxmargin.training.checkpoint import Checkpoint

#: Costs, surrogates, searches, solvers and the rest are imported from the rooms of these names.
_HOME = {
    "ChainSVM": "estimators",
    "Checkpoint": "training.checkpoint",
    "Constraints": "inputs.constraints",
    "Graph": "inputs.graphs",
    "GraphSVM": "estimators",
    "Hierarchy": "inputs.hierarchy",
    "HierarchySVM": "estimators",
    "LatentSVM": "estimators",
    "MulticlassSVM": "estimators",
    "MultilabelSVM": "estimators",
    "ParserSVM": "estimators",
    "RankingSVM": "estimators",
    "Result": "solvers",
    "StructuredSVM": "estimators",
    "TreeSVM": "estimators",
    "chain_graph": "inputs.chain_graphs",
}

__all__ = [
    "ChainSVM",
    "Checkpoint",
    "Constraints",
    "Graph",
    "GraphSVM",
    "Hierarchy",
    "HierarchySVM",
    "LatentSVM",
    "MulticlassSVM",
    "MultilabelSVM",
    "ParserSVM",
    "RankingSVM",
    "Result",
    "StructuredSVM",
    "TreeSVM",
    "__version__",
    "chain_graph",
    "load",
]


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted estimator that ``estimator.save(path)`` wrote.

    Examples
    --------
    >>> import os, tempfile
    >>> import maxmargin
    >>> model = maxmargin.MulticlassSVM(random_state=0).fit([[0.0], [1.0], [2.0]], [3, 5, 5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.mm"))
    ...     again = maxmargin.load(os.path.join(folder, "model.mm"))
    >>> again.predict([[0.0], [2.0]])
    array([3, 5])
    """
    from maxmargin.training import storage

    return storage.load(path)[0]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")
    return getattr(import_module(f"maxmargin.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
