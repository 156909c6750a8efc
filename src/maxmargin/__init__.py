"""Max-margin learning of structured outputs, with a certificate of optimality.

Names are imported at their first use, so that ``import maxmargin.io`` does not load a compiler.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from maxmargin._version import __version__

if TYPE_CHECKING:
    from maxmargin.costs import (
        AUC,
        NDCG,
        AveragePrecision,
        ClassWeighted,
        CostMatrix,
        ExampleF1,
        Hamming,
        NDCGAtK,
        NDCGPairs,
        Ordinal,
        PrecisionAtK,
        RankingCost,
        ZeroOne,
    )
    from maxmargin.estimators import (
        ChainSVM,
        Checkpoint,
        Constraints,
        MulticlassSVM,
        MultilabelSVM,
        PathResult,
        RankingSVM,
        StructuredSVM,
        register_structure,
    )
    from maxmargin.search import (
        Angular,
        BinarySearch,
        Bisecting,
        ConvexHull,
        Profile,
        SarawagiGupta,
    )
    from maxmargin.solvers import (
        SDCA,
        SGD,
        SOLVERS,
        BlockFrankWolfe,
        NSlack,
        OneSlack,
        Perceptron,
        Result,
    )
    from maxmargin.surrogates import (
        BetaScaling,
        GeneralizedScaling,
        LogLoss,
        MarginRescaling,
        MicroF1,
        ProbLoss,
        SlackRescaling,
    )

_HOME = {
    "ChainSVM": "estimators",
    "Checkpoint": "estimators",
    "Constraints": "estimators",
    "MulticlassSVM": "estimators",
    "MultilabelSVM": "estimators",
    "PathResult": "estimators",
    "RankingSVM": "estimators",
    "StructuredSVM": "estimators",
    "register_structure": "estimators",
    "AUC": "costs",
    "AveragePrecision": "costs",
    "ClassWeighted": "costs",
    "CostMatrix": "costs",
    "ExampleF1": "costs",
    "Hamming": "costs",
    "NDCG": "costs",
    "NDCGAtK": "costs",
    "NDCGPairs": "costs",
    "Ordinal": "costs",
    "PrecisionAtK": "costs",
    "RankingCost": "costs",
    "ZeroOne": "costs",
    "SDCA": "solvers",
    "SGD": "solvers",
    "SOLVERS": "solvers",
    "BlockFrankWolfe": "solvers",
    "NSlack": "solvers",
    "OneSlack": "solvers",
    "Perceptron": "solvers",
    "Result": "solvers",
    "BetaScaling": "surrogates",
    "GeneralizedScaling": "surrogates",
    "LogLoss": "surrogates",
    "MarginRescaling": "surrogates",
    "MicroF1": "surrogates",
    "ProbLoss": "surrogates",
    "SlackRescaling": "surrogates",
    "Angular": "search",
    "BinarySearch": "search",
    "Bisecting": "search",
    "ConvexHull": "search",
    "Profile": "search",
    "SarawagiGupta": "search",
}

__all__ = [
    "AUC",
    "NDCG",
    "SDCA",
    "SGD",
    "SOLVERS",
    "Angular",
    "AveragePrecision",
    "BetaScaling",
    "BinarySearch",
    "Bisecting",
    "BlockFrankWolfe",
    "ChainSVM",
    "Checkpoint",
    "ClassWeighted",
    "Constraints",
    "ConvexHull",
    "CostMatrix",
    "ExampleF1",
    "GeneralizedScaling",
    "Hamming",
    "LogLoss",
    "MarginRescaling",
    "MicroF1",
    "MulticlassSVM",
    "MultilabelSVM",
    "NDCGAtK",
    "NDCGPairs",
    "NSlack",
    "OneSlack",
    "Ordinal",
    "PathResult",
    "Perceptron",
    "PrecisionAtK",
    "ProbLoss",
    "Profile",
    "RankingCost",
    "RankingSVM",
    "Result",
    "SarawagiGupta",
    "SlackRescaling",
    "StructuredSVM",
    "ZeroOne",
    "__version__",
    "load",
    "register_structure",
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
    import_module("maxmargin.estimators")  # registers the classes that a file may name
    from maxmargin.persistence import load_estimator

    return load_estimator(path)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")
    return getattr(import_module(f"maxmargin.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
