"""Model files of RankingSVM: rows and lists, with samples on their side and without."""

from __future__ import annotations

from typing import Any

from fuzz import models
from fuzz.models import mutate

__all__ = ["mutate", "run", "seeds"]

ROWS, GRADES, QUERIES = [[0.0], [1.0], [2.0], [0.5]], [0, 1, 1, 0], [1, 1, 2, 2]


def seeds() -> list[bytes]:
    from maxmargin import RankingSVM
    from maxmargin.costs import PrecisionAtK

    options: dict[str, Any] = {"max_iter": 2, "tol": 0.9, "random_state": 0}
    names = [{"a": row[0]} for row in ROWS]
    return models.saved(
        RankingSVM(**options).fit(ROWS, GRADES, qid=QUERIES),
        RankingSVM(cost=PrecisionAtK(1), normalize_queries="minmax", **options).fit(
            [ROWS[:2], ROWS[2:]], [GRADES[:2], GRADES[2:]]
        ),
        RankingSVM(cost="ap", two_stage=True, **options).fit(ROWS, GRADES, qid=QUERIES),
        RankingSVM(cost="auc", **options).fit(names, GRADES, qid=QUERIES),
    )


def _inputs(model: Any) -> Any:
    if model.features_ is not None:
        return [{"a": 1.0}, {"b": 2.0}] if model.features_.kind == "dict" else [["a"], []]
    return [[0.5] * model.n_features_in_, [1.0] * model.n_features_in_]


def run(data: bytes) -> None:
    models.run(data, _inputs)
